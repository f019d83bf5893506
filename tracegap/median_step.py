"""What happens when in the median step: its stages, and when each device works, as a chart.

In: a `Timeline` and a `Window`. Out: a `Chart`, or None where there is no step.
"""

import numpy as np

from tracegap.report import Bar, Chart
from tracegap.timeline import Timeline, Window
from tracegap.units import duration

_DETAIL = 100
"""Pauses of a device under one part in this many of the step are drawn over: a page has no more pixels to show them."""
_DEVICES = 4
_BARS = 24


def chart(timeline: Timeline, window: Window) -> Chart | None:
    """Draw the step of median length of the window; None where it has no steps, or nothing to draw in one."""
    rows = np.array(window.steps, np.int64)
    if not len(rows):
        return None
    steps = timeline.steps
    spans = (steps.end - steps.start)[rows]
    row = int(rows[np.argsort(spans, kind="stable")[(len(rows) - 1) // 2]])
    start = int(steps.start[row])
    end = max(int(steps.end[row]), int(steps.device_end[row]))
    bars = [*_stages(timeline, row, start), *_devices(timeline, row, start, end)]
    title = f"step {steps.number[row]}, the median one, {duration(end - start)}"
    return Chart(title, tuple(bars)) if bars else None


def _stages(timeline: Timeline, step: int, origin: int) -> list[Bar]:
    stages = timeline.stages
    rows = np.flatnonzero((stages.step == step) & (stages.parent < 0))[:_BARS].tolist()
    return [
        Bar("host", timeline.names[stages.name[row]], int(stages.start[row]) - origin, int(stages.end[row]) - origin)
        for row in rows
    ]


def _devices(timeline: Timeline, step: int, origin: int, end: int) -> list[Bar]:
    slices, tracks = timeline.slices, timeline.tracks
    mine = np.flatnonzero(slices.runs & (slices.step == step) & (tracks.device[slices.track] >= 0))
    device = tracks.device[slices.track[mine]]
    bars: list[Bar] = []
    for number in np.unique(device).tolist()[:_DEVICES]:
        rows = mine[device == number]
        for first, last in _runs(slices.start[rows], slices.end[rows], end - origin):
            bars.append(Bar(timeline.devices[number].label, "busy", max(first - origin, 0), last - origin))
    return bars


def _runs(start: np.ndarray, end: np.ndarray, length: int) -> list[tuple[int, int]]:
    """Join what is busy into at most `_BARS` runs, longest pauses kept."""
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    pause = start[1:] - reach[:-1]
    least = max(length // _DETAIL, int(np.partition(pause, -_BARS)[-_BARS]) if len(pause) >= _BARS else 0)
    cuts = np.flatnonzero(pause > least)
    firsts = start[np.concatenate(([0], cuts + 1))]
    lasts = reach[np.concatenate((cuts, [len(reach) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))

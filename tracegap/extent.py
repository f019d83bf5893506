"""The stretch of time that is analysed.

In: a `Timeline` and what the user asked for. Out: a `Window`.
"""

from dataclasses import replace

import numpy as np

from tracegap.errors import UsageError
from tracegap.timeline import Timeline, Window


def choose_window(
    timeline: Timeline,
    *,
    steps: tuple[int, int] | None = None,
    between: tuple[int, int] | None = None,
    whole: bool = False,
) -> Window:
    """Return the window of a timeline, as DESIGN section 3 defines it.

    With steps: from the first one's start to the end of the last one's work, its own or that of the last plausible device
    slice it launched. Without: first to last slice that runs. Cut steps are left out unless there are no others.

    Parameters
    ----------
    steps : (int, int), optional
        First and last step number, as in the trace, both inclusive.
    between : (int, int), optional
        ns from the trace's start, ``[start, end)``; clips what it cuts.
    whole : bool
        First to last slice that runs, whatever the steps are.

    Raises
    ------
    UsageError
        When two of the options are given, or one finds nothing.
    """
    if (steps is not None) + (between is not None) + whole > 1:
        raise UsageError("--steps, --between and --whole exclude each other: give one")
    if between is not None:
        return _between(timeline, *between)
    if whole or (steps is None and not len(timeline.steps)):
        return _whole(timeline)
    table = timeline.steps
    if steps is None:
        rows = np.flatnonzero(~table.cut)
        return _of_steps(timeline, rows if len(rows) else np.arange(len(table)), "steps")
    if not len(table):
        raise UsageError("--steps: the trace has no steps; name them with --step-name, or use --between")
    first, last = steps
    rows = np.flatnonzero((table.number >= first) & (table.number <= last))
    if not len(rows):
        there = f"{table.number.min()} to {table.number.max()}"
        raise UsageError(f"--steps {first}:{last}: no such step; the trace has steps {there}")
    return _of_steps(timeline, rows, "user")


def _whole(timeline: Timeline) -> Window:
    slices = timeline.slices
    rows = np.flatnonzero(slices.runs)
    if not len(rows):
        rows = np.flatnonzero(slices.plausible) if slices.plausible.any() else np.arange(len(slices))
    window = Window(int(slices.start[rows].min()), int(slices.end[rows].max()), "whole")
    return replace(window, steps=_inside(timeline, window.start, window.end))


def _between(timeline: Timeline, start: int, end: int) -> Window:
    if not start < end:
        raise UsageError(f"--between: the end ({end:,} ns) must lie behind the start ({start:,} ns)")
    first, last = max(start, timeline.start), min(end, timeline.end)
    if not first < last:
        raise UsageError(
            f"--between: nothing is there; the trace runs from {timeline.start / 1e6:.3f} to {timeline.end / 1e6:.3f} ms"
        )
    return Window(first, last, "user", _inside(timeline, first, last))


def _of_steps(timeline: Timeline, rows: np.ndarray, basis: str) -> Window:
    table = timeline.steps
    end = np.maximum(table.end[rows], table.device_end[rows])
    return Window(int(table.start[rows].min()), int(end.max()), basis, tuple(rows.tolist()))


def _inside(timeline: Timeline, start: int, end: int) -> tuple[int, ...]:
    table = timeline.steps
    return tuple(np.flatnonzero((table.start >= start) & (table.end <= end) & ~table.cut).tolist())

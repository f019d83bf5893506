"""Steps: how long an iteration takes, and why the slowest one takes longer.

**What it shows.** Count, median, 99th percentile, least and greatest time of the steps in the window, each step in a row, and the
slowest step less the median one, by cause and operator.

**Why it costs time.** The median is what training or serving costs; the tail is what a latency target breaks on. The first step
often pays for compilation, autotuning and caches: one that takes more than 1.5 medians of the others is set apart.

**How it is computed.** A step has two clocks. Its span is its annotation on the host. Its device step runs from the last device
end of the step before to its own last device end: what an iteration costs when the host runs ahead. Where most steps end later
on the device than on the host, the statistics use the device's clock. Under 100 steps the 99th percentile is the greatest.
The slowest step and the median one (the lower of the two middle ones) are each divided among owners: with the device's clock
what the devices ran, then what the step's thread did while they were idle; with the span what the step's thread did, then
operators of other threads. The differences of the shares add up to the difference of the steps.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.analyses.contract import Model
from tracegap.analyses.slowest import Slowest, find_slowest
from tracegap.kinds import Kind
from tracegap.report import Column, Section, Table
from tracegap.timeline import Timeline
from tracegap.units import Unit, count, duration, number, ratio

NAME = "steps"
TITLE = "How long a step takes"

SET_APART = 1.5
"""A first step of more than so many medians of the others is kept out of the statistics."""
NOTABLE = 0.01
"""Share of the window that must lie in no step before a sentence is spent on it."""
RELIABLE = 100
"""From so many values on a 99th percentile is more than the greatest of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``wall_ns`` is its span, ``device_ns`` its device step.

    ``carried_in_ns`` is device time inside the span that earlier work launched.
    """

    number: int
    start_ns: int
    end_ns: int
    wall_ns: int
    device_ns: int | None = None
    carried_in_ns: int | None = None
    kernels: int | None = None
    may_be_cut: bool | None = None
    track: int | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """Result of the analysis. The statistics leave the first step out where it is set apart.

    ``between_steps_ns`` is the window less the union of the steps' spans.
    """

    clock: str
    count: int
    median_ns: int
    p99_ns: int
    p99_reliable: bool
    min_ns: int
    max_ns: int
    first_ns: int
    items: tuple[Step, ...]
    slowest: Slowest | None
    first_apart: bool
    between_steps_ns: int


def run(model: Model) -> Steps | None:
    """Measure the steps of the window; None where it has none."""
    timeline = model.timeline
    rows = np.array(model.window.steps, np.intp)
    if not len(rows):
        return None
    clock, begin, finish = clocks(timeline, rows)
    time = finish - begin
    apart = is_first_apart(time)
    counted = np.arange(len(rows))[1 if apart else 0 :]
    values = time[counted]
    return Steps(
        clock=clock,
        count=len(rows),
        median_ns=median(values),
        p99_ns=percentile99(values),
        p99_reliable=len(values) >= RELIABLE,
        min_ns=int(values.min()),
        max_ns=int(values.max()),
        first_ns=int(time[0]),
        items=_items(timeline, rows),
        slowest=find_slowest(timeline, rows[counted], begin[counted], finish[counted], clock),
        first_apart=apart,
        between_steps_ns=_between(model, rows),
    )


def clocks(timeline: Timeline, rows: NDArray[np.intp]) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Return the clock that the statistics use, ``span`` or ``device``, and the begin and end of each step on it."""
    steps = timeline.steps
    ends = steps.device_end[rows]
    begin, finish = _device_steps(timeline)
    if (ends >= 0).all() and 2 * np.count_nonzero(ends > steps.end[rows]) > len(rows):
        return "device", begin[rows], finish[rows]
    return "span", steps.start[rows], steps.end[rows]


def is_first_apart(time: NDArray[np.int64]) -> bool:
    """Whether the first of these times is more than `SET_APART` medians of the others.

    Examples
    --------
    >>> is_first_apart(np.array([340, 12, 13])), is_first_apart(np.array([18, 12, 13])), is_first_apart(np.array([340]))
    (True, False, False)
    """
    return len(time) > 1 and int(time[0]) > SET_APART * median(time[1:])


def median(values: NDArray[np.int64]) -> int:
    """Return the middle value, or the mean of the two middle ones rounded down.

    Examples
    --------
    >>> median(np.array([9, 1, 4])), median(np.array([1, 4]))
    (4, 2)
    """
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))
    return (int(ordered[low]) + int(ordered[high])) // 2


def percentile99(values: NDArray[np.int64]) -> int:
    """Return the least value that 99 % of the values do not exceed: under 100 values the greatest.

    Examples
    --------
    >>> percentile99(np.arange(1, 201)), percentile99(np.arange(1, 51))
    (198, 50)
    """
    place = -(-99 * len(values) // 100) - 1 if len(values) >= RELIABLE else len(values) - 1
    return int(np.partition(values, place)[place])


def section(result: Steps) -> Section:
    """Say how long steps take, and what the slowest one has more of."""
    others = result.count - result.first_apart
    tail = "99th percentile" if result.p99_reliable else f"max of {count(others)}"
    first = f", first {duration(result.first_ns)}"
    if result.first_apart:
        times = f"{number(round(result.first_ns / result.median_ns, 2))} × the median: " if result.median_ns else ""
        first += f" ({times}set apart)"
    line = (
        f"The one step of the window takes {duration(result.first_ns)}."
        if result.count == 1
        else f"median {duration(result.median_ns)} · p99 {duration(result.p99_ns)} ({tail})"
        f" · min {duration(result.min_ns)}{first.replace(', ', ' · ', 1)}"
    )
    lines = [line] if result.slowest is None else [line, result.slowest.sentence()]
    # Device steps tile the window: what lies outside of the host's spans is in one of them.
    between = result.between_steps_ns if result.clock == "span" else 0
    whole = between + _in_steps(result)
    if result.count > 1 and between >= NOTABLE * whole:
        lines.append(
            f"{duration(between)} of the window ({ratio(between / whole)}) lie in no step: between steps, or after the last."
        )
    tables = [] if result.slowest is None else [result.slowest.table()]
    notes = []
    if result.clock == "device":
        notes.append(
            "Times are device steps: from the last device end of the step before to this step's last device end."
        )
    if any(item.may_be_cut for item in result.items):
        notes.append("The last step is used, though nothing in the trace proves that it is whole.")
    return Section(NAME, TITLE, tuple(lines), (*tables, _items_table(result)), tuple(notes))


def _in_steps(result: Steps) -> int:
    start, end = (np.array([getattr(item, edge) for item in result.items], np.int64) for edge in ("start_ns", "end_ns"))
    return intervals.total(intervals.union(start, end))


def _between(model: Model, rows: NDArray[np.intp]) -> int:
    steps, window = model.timeline.steps, model.window
    spans = intervals.clip(intervals.union(steps.start[rows], steps.end[rows]), window.start, window.end)
    return window.wall - intervals.total(spans)


def _device_steps(timeline: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return begin and end of every step on the device's clock; thread by thread they tile the time."""
    steps = timeline.steps
    begin, finish = steps.start.copy(), steps.device_end.copy()
    for track in np.unique(steps.track).tolist():
        mine = np.flatnonzero((steps.track == track) & (steps.device_end >= 0))
        finish[mine] = np.maximum.accumulate(steps.device_end[mine])
        begin[mine[1:]] = finish[mine[:-1]]
    return begin, np.maximum(begin, finish)


def _items(timeline: Timeline, rows: NDArray[np.intp]) -> tuple[Step, ...]:
    steps, slices = timeline.steps, timeline.slices
    work = activity.device_rows(timeline)
    begin, finish = _device_steps(timeline)
    has_device = len(work) > 0
    launched = slices.step[work]
    kernel = (launched >= 0) & (slices.kind[work] != Kind.COPY)
    kernels = np.bincount(launched[kernel], minlength=len(steps))
    carried = carried_in(timeline) if has_device else np.zeros(len(steps), np.int64)
    several = len(np.unique(steps.track[rows])) > 1
    return tuple(
        Step(
            number=int(steps.number[row]),
            start_ns=int(steps.start[row]),
            end_ns=int(steps.end[row]),
            wall_ns=int(steps.end[row] - steps.start[row]),
            device_ns=int(finish[row] - begin[row]) if steps.device_end[row] >= 0 else None,
            carried_in_ns=int(carried[row]) if has_device else None,
            kernels=int(kernels[row]) if has_device else None,
            may_be_cut=True if steps.may_be_cut[row] else None,
            track=int(steps.track[row]) if several else None,
        )
        for row in rows.tolist()
    )


def carried_in(timeline: Timeline) -> NDArray[np.int64]:
    """Return for each step how long devices ran, inside its span, what other steps of its thread or no step had launched."""
    steps, slices = timeline.steps, timeline.slices
    work = activity.device_rows(timeline)
    owner, sets = intervals.union_by(slices.step[work], slices.start[work], slices.end[work])
    total = np.zeros(len(steps), np.int64)
    for track in np.unique(steps.track).tolist():
        mine = np.flatnonzero(steps.track == track)
        ours = (owner < 0) | (steps.track[owner] == track)
        start, end, who = sets.start[ours], sets.end[ours], owner[ours]
        # steps of a thread are apart, so those that an interval touches are consecutive
        first = np.searchsorted(steps.end[mine], start, side="right")
        touched = np.maximum(np.searchsorted(steps.start[mine], end) - first, 0)
        which = np.repeat(np.arange(len(start)), touched)
        inside = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(touched) - touched, touched)
        step = mine[inside]
        foreign = who[which] != step
        step, which = step[foreign], which[foreign]
        low, high = np.maximum(start[which], steps.start[step]), np.minimum(end[which], steps.end[step])
        host, clipped = intervals.union_by(step, low, high)
        np.add.at(total, host, clipped.end - clipped.start)
    return total


def _items_table(result: Steps) -> Table:
    items = result.items
    columns = [
        Column("step", Unit.COUNT, tuple(item.number for item in items)),
        Column("starts", Unit.NANOSECONDS, tuple(item.start_ns for item in items)),
        Column("span", Unit.NANOSECONDS, tuple(item.wall_ns for item in items), bar=result.clock == "span"),
    ]
    if any(item.device_ns is not None for item in items):
        columns += [
            Column(
                "device step", Unit.NANOSECONDS, tuple(item.device_ns for item in items), bar=result.clock == "device"
            ),
            Column("carried in", Unit.NANOSECONDS, tuple(item.carried_in_ns for item in items)),
            Column("kernels", Unit.COUNT, tuple(item.kernels for item in items)),
        ]
    return Table("Steps", tuple(columns), total=len(items), brief=0)

"""Gaps: when nothing was running, what was waiting then, and why.

**What it shows.** For every device how long it ran and how long it was idle in the window, and the causes of that; each gap with
the slice that ended just before it, the slice that was waiting behind it, and what exposed it: the blocking call, the loading of
input or the hand-over between threads that left the device without work. Gaps that are alike in both neighbours are grouped.
Beside the devices stands ``everything``: the time in which neither a device nor a thread of the host ran.

**Why it costs time.** While a device is idle the window passes and nothing gets done on the dearest part of the machine. What
waits behind a gap, who launched it, and what the host did meanwhile, says where to look.

**How it is computed.** A device is busy in the union of its plausible compute, communication and copies over all its streams;
annotations and synchronisation rows never count. Its gaps are the rest of the window, so busy and idle add up to the window.
Among slices that end (or start) at the same moment the longest is named. The first gap has no slice before it if it begins
with the window, the last none behind it if it ends with it. A thread that blocks on a device does not run.
A gap's causes are found by walking the critical path back from the slice that was waiting (the last gap: from the window's end) to
the gap's start, each part owned by what ran then: operators are ``dispatch``, a thread in no slice is ``untraced_host``, named by
the innermost range or frame it is in. The parts add up to the gap, and ``causes`` to the idle time, to the nanosecond.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.contract import Model
from tracegap.analyses.gap_causes import Pieces, explain
from tracegap.analyses.gap_results import TOP, DeviceGaps, Everything, Exposed, Gap, Gaps, Group, Part, Share, Slice
from tracegap.analyses.gap_words import TITLE, section
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.kinds import CALLS, Kind, is_any
from tracegap.timeline import Timeline, Window

__all__ = [
    "NAME",
    "TITLE",
    "DeviceGaps",
    "Gap",
    "Gaps",
    "Group",
    "Idle",
    "Slice",
    "device_busy",
    "idle_causes",
    "idle_devices",
    "run",
    "section",
]

NAME = "gaps"


def run(model: Model) -> Gaps | None:
    """Find the gaps of every device and of the whole; None for an empty window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    near = activity.overlapping(timeline, window.start, window.end)
    launches, unseen = _launches(timeline, near)
    return Gaps(
        everything=_everything(timeline, window, near),
        devices=tuple(_told(timeline, window, one) for one in idle_devices(model)),
        launches=launches if unseen else None,
        unseen_launches=unseen or None,
    )


class Idle(NamedTuple):
    """The k gaps of a device and why they are.

    Attributes
    ----------
    device : int
        Row of ``timeline.devices``.
    gaps : Intervals
        Inside the window, in order.
    before, after : int[k]
        The slice that ended last before each gap and the one that starts behind it; −1 at the window's edges.
    pieces : Pieces
        What the time of the gaps was spent on.
    exposed_by : int32[k]
        The slice that left the device without work; −1 where there is none.
    """

    device: int
    gaps: Intervals
    before: Rows
    after: Rows
    pieces: Pieces
    exposed_by: NDArray[np.int32]


def idle_devices(model: Model) -> Iterator[Idle]:
    """Yield the gaps of each device that runs anything in the window."""
    timeline, window = model.timeline, model.window
    near = activity.overlapping(timeline, window.start, window.end)
    for device in range(len(timeline.devices)):
        rows = activity.device_rows(timeline, device)
        rows = rows[near[rows]]
        if len(rows):
            idle = intervals.gaps(device_busy(timeline, window, device), window.start, window.end)
            before, after = _neighbours(timeline, window, rows, idle)
            yield Idle(device, idle, before, after, *explain(model.dag, idle, after))


def device_busy(timeline: Timeline, window: Window, device: int) -> Intervals:
    """Return when a device ran inside the window."""
    return activity.covered(timeline, activity.device_rows(timeline, device), window)


def idle_causes(model: Model, rows: Rows, idle: Intervals) -> dict[str, int]:
    """Return the causes of gaps and their times, the most first; `rows` are the slices between the gaps."""
    _, after = _neighbours(model.timeline, model.window, rows, idle)
    pieces, _ = explain(model.dag, idle, after)
    return _causes(pieces)


def _everything(timeline: Timeline, window: Window, near: NDArray[np.bool_]) -> Everything:
    _, busy = activity.busy_by_track(timeline, window.start, window.end)
    idle = intervals.gaps(intervals.union(busy.start, busy.end), window.start, window.end)
    before, after = _neighbours(timeline, window, np.flatnonzero(near & timeline.slices.runs), idle)
    length = intervals.total(idle)
    return Everything(
        idle_ns=length,
        idle_ratio=length / window.wall,
        count=len(idle.start),
        top=_longest(timeline, idle, before, after),
        groups=_groups(timeline, before, after, idle),
    )


def _told(timeline: Timeline, window: Window, one: Idle) -> DeviceGaps:
    length = intervals.total(one.gaps)
    return DeviceGaps(
        device=timeline.devices[one.device].label,
        window_ns=window.wall,
        busy_ns=window.wall - length,
        idle_ns=length,
        idle_ratio=length / window.wall,
        count=len(one.gaps.start),
        top=_longest(timeline, one.gaps, one.before, one.after, (one.pieces, one.exposed_by)),
        groups=_groups(timeline, one.before, one.after, one.gaps, one.pieces),
        causes=_causes(one.pieces),
        by_name=_by_name(timeline, one.pieces),
        exposed=_exposed(timeline, one.gaps, one.exposed_by),
    )


def _launches(timeline: Timeline, near: NDArray[np.bool_]) -> tuple[int, int]:
    """Count the calls of the names that launch kernels, and those of them that nothing on a device is linked to."""
    slices = timeline.slices
    launched = np.zeros(len(slices), np.bool_)
    launched[slices.launch[slices.launch >= 0]] = True
    names = slices.name[slices.launch[(slices.kind == Kind.KERNEL) & (slices.launch >= 0)]]
    calls = near & is_any(slices.kind, CALLS) & np.isin(slices.name, names)
    return int(np.count_nonzero(calls)), int(np.count_nonzero(calls & ~launched))


def _neighbours(timeline: Timeline, window: Window, rows: Rows, idle: Intervals) -> tuple[Rows, Rows]:
    """Return what ended just before each gap and what starts behind it, of the given rows; −1 at the window's edges."""
    before = np.where(idle.start > window.start, _last_ended(timeline, rows, idle.start), -1)
    after = np.where(idle.end < window.end, _first_started(timeline, rows, idle.end), -1)
    return before, after


def _longest(
    timeline: Timeline,
    idle: Intervals,
    before: Rows,
    after: Rows,
    explained: tuple[Pieces, NDArray[np.int32]] | None = None,
) -> tuple[Gap, ...]:
    length = idle.end - idle.start
    return tuple(
        Gap(
            start_ns=int(idle.start[gap]),
            duration_ns=int(length[gap]),
            before=_slice(timeline, int(before[gap])),
            after=_slice(timeline, int(after[gap]), launched=True),
            exposed_by=None if explained is None else _blamed(timeline, int(explained[1][gap])),
            parts=None if explained is None else _parts(timeline, explained[0], gap),
        )
        for gap in np.lexsort((idle.start, -length))[:TOP].tolist()
    )


def _parts(timeline: Timeline, pieces: Pieces, gap: int) -> tuple[Part, ...]:
    """Return what owns one gap, the most first."""
    mine = pieces.take(np.arange(*np.searchsorted(pieces.gap, (gap, gap + 1))))
    return tuple(Part(one.cause, one.duration_ns, one.name) for one in _by_name(timeline, mine))


def device_number(timeline: Timeline, device: DeviceGaps) -> int:
    """Return which device of the timeline the gaps are of."""
    return [one.label for one in timeline.devices].index(device.device)


def _by_name(timeline: Timeline, pieces: Pieces) -> tuple[Share, ...]:
    key = pieces.charge.astype(np.int64) << 32 | (pieces.name.astype(np.int64) + 1)
    owners, place = np.unique(key, return_inverse=True)
    total = np.zeros(len(owners), np.int64)
    np.add.at(total, place, pieces.end - pieces.start)
    gaps = np.unique(place.astype(np.int64) << 32 | pieces.gap) >> 32
    counts = np.bincount(gaps, minlength=len(owners))
    told = zip((owners >> 32).tolist(), (owners & 0xFFFFFFFF).tolist(), total.tolist(), counts.tolist(), strict=True)
    shares = [
        Share(Charge(cause).word, duration, number, timeline.names[name - 1] if name else None)
        for cause, name, duration, number in told
    ]
    return tuple(sorted(shares, key=lambda one: (-one.duration_ns, one.cause, one.name or "")))


def _causes(pieces: Pieces) -> dict[str, int]:
    """Return the time of each cause, the most first."""
    sums = np.zeros(len(Charge), np.int64)
    np.add.at(sums, pieces.charge, pieces.end - pieces.start)
    return _in_words(sums)


def _in_words(sums: NDArray[np.int64]) -> dict[str, int]:
    order = np.argsort(-sums, kind="stable")
    return {Charge(cause).word: int(sums[cause]) for cause in order.tolist() if sums[cause]}


def _exposed(timeline: Timeline, idle: Intervals, exposed_by: NDArray[np.int32]) -> tuple[Exposed, ...]:
    """Group the gaps by what exposed them, the most time first."""
    found: dict[tuple[str, str | None], list[int]] = {}
    known = np.flatnonzero(exposed_by >= 0)
    length = (idle.end - idle.start)[known]
    for row, time in zip(exposed_by[known].tolist(), length.tolist(), strict=True):
        name = _name(timeline, int(timeline.slices.name[row])) or ""
        sums = found.setdefault((name, called_operator(timeline, row)), [0, 0])
        sums[0] += 1
        sums[1] += time
    told = [Exposed(name, number, total, operator) for (name, operator), (number, total) in found.items()]
    return tuple(sorted(told, key=lambda one: (-one.total_ns, one.name, one.operator or "")))


def _last_ended(timeline: Timeline, rows: Rows, times: NDArray[np.int64]) -> Rows:
    """Return for each of the ascending times which of `rows` ended last by then, the longest of several; −1 where none did."""
    slices = timeline.slices
    return _latest(rows, slices.end[rows], slices.end[rows] - slices.start[rows], times)


def _first_started(timeline: Timeline, rows: Rows, times: NDArray[np.int64]) -> Rows:
    """Return for each of the ascending times which of `rows` starts first from then on, the longest of several; −1 if none."""
    slices = timeline.slices
    return _latest(rows, -slices.start[rows], slices.end[rows] - slices.start[rows], -times[::-1])[::-1]


def _latest(rows: Rows, at: NDArray[np.int64], length: NDArray[np.int64], times: NDArray[np.int64]) -> Rows:
    never = np.iinfo(np.int64).min
    latest = np.full(len(times) + 1, never)
    np.maximum.at(latest, np.searchsorted(times, at), at)
    latest = np.maximum.accumulate(latest[:-1])
    # Few end or start at the latest of their moments, and sorting these is all that ties need.
    near = np.flatnonzero(np.append(latest, never)[np.searchsorted(latest, at)] == at)
    order = near[np.lexsort((length[near], at[near]))]
    place = np.searchsorted(at[order], latest, side="right") - 1
    found: Rows = np.where(latest > never, np.append(rows[order], -1)[place], -1)
    return found


def _groups(
    timeline: Timeline, before: Rows, after: Rows, idle: Intervals, pieces: Pieces | None = None
) -> tuple[Group, ...]:
    name = np.append(timeline.slices.name, np.int32(-2)).astype(np.int64) + 2  # the last place: the edge of the window
    size = len(timeline.names) + 2
    pairs, group = np.unique(name[before] * size + name[after], return_inverse=True)
    first, second = pairs // size - 2, pairs % size - 2
    counts = np.bincount(group, minlength=len(pairs))
    totals = np.zeros(len(pairs), np.int64)
    np.add.at(totals, group, idle.end - idle.start)
    causes = np.zeros((len(pairs), len(Charge)), np.int64)
    if pieces is not None:
        np.add.at(causes, (group[pieces.gap], pieces.charge), pieces.end - pieces.start)
    told = [
        Group(
            count=int(counts[one]),
            total_ns=int(totals[one]),
            before=_name(timeline, int(first[one])),
            after=_name(timeline, int(second[one])),
            causes=None if pieces is None else _in_words(causes[one]),
        )
        for one in range(len(pairs))
    ]
    return tuple(sorted(told, key=lambda group: (-group.total_ns, group.before or "", group.after or "")))


def _name(timeline: Timeline, name: int) -> str | None:
    return None if name == -2 else timeline.names[name] if name >= 0 else ""


def _slice(timeline: Timeline, row: int, *, launched: bool = False) -> Slice | None:
    if row < 0:
        return None
    slices, names = timeline.slices, timeline.names
    launch = int(slices.launch[row]) if launched else -1
    maker = int(slices.parent[launch]) if launch >= 0 else -1
    while maker >= 0 and slices.kind[maker] != Kind.OP:
        maker = int(slices.parent[maker])
    return Slice(
        name=_name(timeline, int(slices.name[row])) or "",
        launch=names[slices.name[launch]] if launch >= 0 else None,
        operator=names[slices.name[maker]] if maker >= 0 else None,
    )


def _blamed(timeline: Timeline, row: int) -> Slice | None:
    if row < 0:
        return None
    return Slice(_name(timeline, int(timeline.slices.name[row])) or "", operator=called_operator(timeline, row))


def called_operator(timeline: Timeline, row: int) -> str | None:
    """Return the operator that the program called and in which a slice stands, itself left out; None where it stands in none.

    Operators of a framework's own (``aten::``) call one another: the outermost of them is what was called (``aten::item``).
    """
    slices, names = timeline.slices, timeline.names
    found, at = None, int(slices.parent[row])
    while at >= 0 and slices.kind[at] == Kind.OP and (found is None or names[slices.name[at]].startswith("aten::")):
        found, at = names[slices.name[at]], int(slices.parent[at])
    return found

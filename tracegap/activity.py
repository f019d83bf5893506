"""What was going on when: busy times of devices and threads, and a stretch of time divided among its owners.

In: a `Timeline`. Out: `Intervals`, and `Layer` values, which say of every stretch which cause and name it belongs to.
Every nanosecond gets one owner: of a thread the innermost slice, of overlapping device work the kind that comes first
in `DEVICE_PRECEDENCE`, then the earlier start.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.calls import manages_memory
from tracegap.charges import Charge
from tracegap.columns import Columns, Int32, Int64, UInt8
from tracegap.intervals import Intervals
from tracegap.kinds import Kind, Role
from tracegap.timeline import Timeline, Window

Rows = NDArray[np.intp]

DEVICE_PRECEDENCE = (Kind.KERNEL, Kind.COMM, Kind.COPY)
"""Who owns time in which several kinds run: compute hides communication, communication hides copies."""

_OF_KIND = {
    Kind.OP: Charge.OPERATOR,
    Kind.RUNTIME: Charge.RUNTIME,
    Kind.SYNC: Charge.SYNC,
    Kind.INPUT: Charge.INPUT,
    Kind.OTHER: Charge.UNATTRIBUTED,
    Kind.FRAME: Charge.UNTRACED_HOST,
    Kind.ANNOTATION: Charge.UNTRACED_HOST,
    Kind.STEP: Charge.UNTRACED_HOST,
    Kind.PROFILER: Charge.PROFILER,
    Kind.KERNEL: Charge.KERNEL,
    Kind.COMM: Charge.COMMUNICATION,
    Kind.COPY: Charge.COPY,
}


@dataclass(frozen=True, eq=False)
class Layer(Columns):
    """Stretches of time that do not overlap, ascending, each with its owner.

    Attributes
    ----------
    start, end : int64[k]
        ``[start, end)`` in ns.
    cause : uint8[k]
        A `tracegap.charges.Charge`.
    name : int32[k]
        Id into `Timeline.names`; −1 for none.
    """

    start: Int64
    end: Int64
    cause: UInt8
    name: Int32


@dataclass(frozen=True, slots=True)
class Share:
    """Time of one owner: ``name`` is an id into `Timeline.names`, −1 for none."""

    cause: Charge
    name: int
    duration: int


def overlapping(timeline: Timeline, start: int, end: int) -> NDArray[np.bool_]:
    """Mark the plausible slices that have time or, being of zero length, a place in ``[start, end)``: bool[n slices]."""
    slices = timeline.slices
    inside = (slices.start < end) & ((slices.end > start) | (slices.start >= start))
    marked: NDArray[np.bool_] = inside & slices.plausible
    return marked


def covered(timeline: Timeline, rows: NDArray[Any], window: Window) -> Intervals:
    """Return the time in the window that slices cover together; `rows` are row numbers or a mask."""
    slices = timeline.slices
    return intervals.clip(intervals.union(slices.start[rows], slices.end[rows]), window.start, window.end)


def busy_by_track(timeline: Timeline, start: int, end: int) -> tuple[NDArray[np.int32], Intervals]:
    """Return when each track ran inside ``[start, end)``: the track of every interval, and the intervals.

    A thread that blocks on a device waits, also inside an operator: that time is taken out.
    """
    slices = timeline.slices
    near = overlapping(timeline, start, end)
    runs = near & slices.runs
    track, busy = intervals.union_by(
        slices.track[runs], np.maximum(slices.start[runs], start), np.minimum(slices.end[runs], end)
    )
    blocked = near & (slices.kind == Kind.SYNC)
    if not blocked.any():
        return track, busy
    tracks, starts, ends = [], [], []
    waiting = np.unique(slices.track[blocked])
    untouched = ~np.isin(track, waiting)
    for one in waiting.tolist():
        mine, waits = track == one, blocked & (slices.track == one)
        left = intervals.subtract(
            Intervals(busy.start[mine], busy.end[mine]), intervals.union(slices.start[waits], slices.end[waits])
        )
        tracks.append(np.full(len(left.start), one, np.int32))
        starts.append(left.start)
        ends.append(left.end)
    merged = np.concatenate((track[untouched], *tracks)).astype(np.int32)
    sets = Intervals(np.concatenate((busy.start[untouched], *starts)), np.concatenate((busy.end[untouched], *ends)))
    order = np.lexsort((sets.start, merged))
    return merged[order], Intervals(sets.start[order], sets.end[order])


def device_rows(timeline: Timeline, device: int | None = None) -> Rows:
    """Return the rows of what ran on a device, or on any: work that is plausible."""
    slices, tracks = timeline.slices, timeline.tracks
    rows = np.flatnonzero(slices.runs & (tracks.role[slices.track] == Role.DEVICE))
    return rows if device is None else rows[tracks.device[slices.track[rows]] == device]


def host_tracks(timeline: Timeline) -> list[int]:
    """Return the threads that carry the program: those with operators or steps, not those that only poll or serve."""
    slices, tracks = timeline.slices, timeline.tracks
    leading = np.zeros(len(tracks), np.bool_)
    leading[slices.track[(slices.kind == Kind.OP) | (slices.kind == Kind.STEP)]] = True
    leading &= tracks.role == Role.HOST
    return [int(row) for row in np.flatnonzero(leading)]


def innermost(
    start: NDArray[np.int64], end: NDArray[np.int64], depth: NDArray[np.int32], parent: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Rows]:
    """Cut properly nested intervals into the stretches in which each is the innermost: starts, ends and rows.

    `parent` holds rows of the same arrays, −1 for a root. O(n log n).

    Examples
    --------
    >>> columns = np.array([0, 2, 5]), np.array([9, 4, 5]), np.array([0, 1, 1], np.int32), np.array([-1, 0, 0])
    >>> [column.tolist() for column in innermost(*columns)]
    [[0, 2, 4], [2, 4, 9], [0, 1, 0]]
    """
    rows = np.flatnonzero(end > start)
    time = np.concatenate((end[rows], start[rows]))
    opens = np.repeat((False, True), len(rows))
    level = depth[rows].astype(np.int64)
    # At one moment ends come before starts, inner ends before outer ones, outer starts before inner ones; what is
    # innermost after the moment is then what its last boundary says.
    order = np.lexsort((np.concatenate((-level, level)), opens, time))
    owner = np.concatenate((parent[rows], rows))[order]
    time = time[order]
    real = (owner[:-1] >= 0) & (time[1:] > time[:-1])
    return time[:-1][real], time[1:][real], owner[:-1][real]


def host_layer(timeline: Timeline, track: int, start: int, end: int, *, waiting_device: bool = False) -> Layer:
    """Say what a thread worked on: of each moment in which it has a work slice, the innermost one.

    With `waiting_device`, operators count as `Charge.DISPATCH`: that is what they are while a device has nothing to do.
    """
    first = int(timeline.tracks.context_lanes[track])
    layer = _thread_layer(timeline, track, range(first, first + int(timeline.tracks.work_lanes[track])), start, end)
    if not waiting_device:
        return layer
    operator, dispatch = np.uint8(Charge.OPERATOR), np.uint8(Charge.DISPATCH)
    return replace(layer, cause=np.where(layer.cause == operator, dispatch, layer.cause))


def context_layer(timeline: Timeline, track: int, start: int, end: int) -> Layer:
    """Say in which annotation or frame a thread was, as the name of its time in no work slice."""
    slices = timeline.slices
    layer = _thread_layer(timeline, track, range(int(timeline.tracks.context_lanes[track])), start, end)
    is_step = np.zeros(len(timeline.names) + 1, np.bool_)
    is_step[slices.name[slices.kind == Kind.STEP]] = True
    name = np.where(is_step[layer.name], -1, layer.name).astype(np.int32)
    return replace(layer, name=name)


def profiler_layer(timeline: Timeline, start: int, end: int) -> Layer:
    """Say when the profiler's own rows stand."""
    rows = np.flatnonzero(overlapping(timeline, start, end) & (timeline.slices.kind == Kind.PROFILER))
    return _first_come(timeline, rows, timeline.slices.name[rows])


def device_layers(timeline: Timeline, start: int, end: int, names: NDArray[np.int32]) -> list[Layer]:
    """Say what the devices ran, one layer for each of `DEVICE_PRECEDENCE`; `names` int32[n slices] gives the names."""
    rows = device_rows(timeline)
    rows = rows[overlapping(timeline, start, end)[rows]]
    kinds = timeline.slices.kind[rows]
    return [_first_come(timeline, rows[kinds == kind], names[rows[kinds == kind]]) for kind in DEVICE_PRECEDENCE]


def divide(time: Intervals, layers: Iterable[Layer]) -> tuple[list[Share], Intervals]:
    """Divide a set of time among the owners of the layers, the first layer first; return shares and what is left.

    The shares and the length of the rest add up to the length of `time`.

    Examples
    --------
    >>> one = Layer(np.array([2]), np.array([5]), np.array([0], np.uint8), np.array([7], np.int32))
    >>> shares, rest = divide(intervals.union(np.array([0]), np.array([9])), [one])
    >>> shares, intervals.total(rest)
    ([Share(cause=<Charge.OPERATOR: 0>, name=7, duration=3)], 6)
    """
    sums: dict[tuple[int, int], int] = {}
    for layer in layers:
        spent = intervals.covered(time, layer.end) - intervals.covered(time, layer.start)
        key = layer.cause.astype(np.int64) << 32 | (layer.name.astype(np.int64) + 1)
        owner, place = np.unique(key, return_inverse=True)
        length = np.zeros(len(owner), np.int64)
        np.add.at(length, place, spent)
        for code, duration in zip(owner.tolist(), length.tolist(), strict=True):
            if duration:
                one = code >> 32, (code & 0xFFFFFFFF) - 1
                sums[one] = sums.get(one, 0) + duration
        time = intervals.subtract(time, intervals.union(layer.start, layer.end))
    return [Share(Charge(cause), name, duration) for (cause, name), duration in sums.items()], time


def is_allocator(timeline: Timeline) -> NDArray[np.bool_]:
    """Mark the names of calls that allocate or free: bool[n names + 1], the last place for "no name"."""
    marks = np.zeros(len(timeline.names) + 1, np.bool_)
    called = np.unique(timeline.slices.name[timeline.slices.kind == Kind.RUNTIME])
    marks[[name for name in called.tolist() if name >= 0 and manages_memory(timeline.names[name])]] = True
    return marks


def operator_of(timeline: Timeline) -> NDArray[np.int32]:
    """Return the innermost operator around each slice on its lane, itself included: int32[n slices], −1 for none."""
    slices = timeline.slices
    return enclosing(slices.parent, slices.kind == Kind.OP)


def enclosing_operator(timeline: Timeline) -> NDArray[np.int32]:
    """Return the innermost operator around each slice on its lane, itself left out: int32[n slices], −1 for none."""
    parent = timeline.slices.parent
    around: NDArray[np.int32] = np.where(parent >= 0, operator_of(timeline)[parent], -1).astype(np.int32)
    return around


def enclosing(parent: NDArray[np.int32], wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the nearest wanted row on the way from each row to its root, itself included; −1 for none.

    Pointer jumping: O(n log depth).

    Examples
    --------
    >>> enclosing(np.array([-1, 0, 1], np.int32), np.array([True, False, False])).tolist()
    [0, 0, 0]
    """
    nowhere = len(parent)
    jump = np.append(np.where(parent >= 0, parent, nowhere), nowhere).astype(np.int32)
    here = np.flatnonzero(wanted)
    jump[here] = here
    for _ in range(nowhere.bit_length()):
        further = jump[jump]
        if np.array_equal(further, jump):
            break
        jump = further
    found = jump[:nowhere]
    return np.where((found < nowhere) & np.append(wanted, False)[found], found, -1).astype(np.int32)


def _thread_layer(timeline: Timeline, track: int, lanes: range, start: int, end: int) -> Layer:
    slices, tracks = timeline.slices, timeline.tracks
    first, last = int(tracks.first[track]), int(tracks.last[track])
    starts, ends, rows = [], [], []
    for lane in lanes:
        low, high = first + np.searchsorted(slices.lane[first:last], (lane, lane + 1))
        mine = np.arange(low, high)
        mine = mine[(slices.start[mine] < end) & (slices.end[mine] > start)]
        place = np.searchsorted(mine, slices.parent[mine])
        parent = np.where(slices.parent[mine] >= 0, place, -1)
        begin, finish, row = innermost(slices.start[mine], slices.end[mine], slices.depth[mine], parent)
        starts.append(begin)
        ends.append(finish)
        rows.append(mine[row])
    begin, finish, row = _one_at_a_time(
        np.concatenate((*starts, np.empty(0, np.int64))),
        np.concatenate((*ends, np.empty(0, np.int64))),
        np.concatenate((*rows, np.empty(0, np.int64))).astype(np.intp),
    )
    return Layer(start=begin, end=finish, cause=_causes(timeline, row), name=slices.name[row])


def _first_come(timeline: Timeline, rows: Rows, names: NDArray[np.int32]) -> Layer:
    """Give overlapping slices' time to the one that started first."""
    slices = timeline.slices
    begin, finish, place = _one_at_a_time(slices.start[rows], slices.end[rows], np.arange(len(rows)))
    return Layer(start=begin, end=finish, cause=_causes(timeline, rows[place]), name=names[place])


def _one_at_a_time(
    start: NDArray[np.int64], end: NDArray[np.int64], row: Rows
) -> tuple[NDArray[np.int64], NDArray[np.int64], Rows]:
    order = np.argsort(start, kind="stable")
    start, end, row = start[order], end[order], row[order]
    if len(start) > 1:
        start = np.maximum(start, np.append(start[0], np.maximum.accumulate(end)[:-1]))
    real = end > start
    return start[real], end[real], row[real]


def _causes(timeline: Timeline, rows: Rows) -> NDArray[np.uint8]:
    table = np.full(256, Charge.UNATTRIBUTED, np.uint8)
    for kind, cause in _OF_KIND.items():
        table[kind] = cause
    kinds = timeline.slices.kind[rows]
    causes = table[kinds]
    causes[(kinds == Kind.RUNTIME) & is_allocator(timeline)[timeline.slices.name[rows]]] = Charge.ALLOCATOR
    out: NDArray[np.uint8] = causes
    return out

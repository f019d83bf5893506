"""A stretch of time divided among its owners: of every moment one cause and one name.

In: a `Timeline`. Out: `Layer` values, which say of every stretch which cause and name it belongs to, and what each got.
Every nanosecond gets one owner: of a thread the innermost slice, of overlapping device work the kind that comes first
in `DEVICE_PRECEDENCE`, then the earlier start.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.activity import Rows, device_rows, innermost, is_allocator, overlapping
from tracegap.charges import Charge
from tracegap.columns import Columns, Int32, Int64, UInt8
from tracegap.intervals import Intervals
from tracegap.kinds import Kind
from tracegap.timeline import Timeline

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
    of_step = np.isin(layer.name, slices.name[timeline.steps.slice])
    name = np.where(of_step, -1, layer.name).astype(np.int32)
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
        if not len(time.start):
            break
        if not len(layer):
            continue
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


def _thread_layer(timeline: Timeline, track: int, lanes: range, start: int, end: int) -> Layer:
    slices, tracks = timeline.slices, timeline.tracks
    first, last = int(tracks.first[track]), int(tracks.last[track])
    starts, ends, rows = [], [], []
    bounds = first + np.searchsorted(slices.lane[first:last], np.arange(lanes.start, lanes.stop + 1, dtype=np.int32))
    for low, high in pairwise(bounds.tolist()):
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
    calls = kinds == Kind.RUNTIME
    if calls.any():
        causes[calls & is_allocator(timeline, rows[calls])[timeline.slices.name[rows]]] = Charge.ALLOCATOR
    out: NDArray[np.uint8] = causes
    return out

"""What ran when: busy times of devices and threads, and the slices around each slice.

In: a `Timeline`. Out: `Intervals`, rows of slices, and columns that say of every slice what it stands in.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.calls import manages_memory
from tracegap.intervals import Intervals
from tracegap.kinds import Kind, Role
from tracegap.timeline import Timeline, Window

Rows = NDArray[np.intp]


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


def is_allocator(timeline: Timeline, calls: Rows) -> NDArray[np.bool_]:
    """Mark the names of those calls that allocate or free: bool[n names + 1], the last place for "no name"."""
    marks = np.zeros(len(timeline.names) + 1, np.bool_)
    called = np.unique(timeline.slices.name[calls])
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

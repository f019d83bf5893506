"""Which slice stands in which: lanes, parents and depths, from arrays of one track and layer after the other.

Knows intervals only, no trace words. Intervals are half-open; one of length zero at the end of another is outside it.
"""

from array import array
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import row_by_row

TOLERANCE = 1_000
"""ns by which an inner interval may stick out of the one around it and still be clipped: profilers round both ends to 1 µs."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """Where each of n intervals stands.

    ``lane`` int32[n], counted from 0 in each group · ``parent`` int32[n], a row of the input in the same lane, −1 for a
    root · ``depth`` int32[n] · ``end`` int64[n], clipped · ``clipped`` and ``unfinished`` int: how many ends were moved.
    """

    lane: NDArray[np.int32]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    end: NDArray[np.int64]
    clipped: int
    unfinished: int


def nest(
    group: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64], open_ended: NDArray[np.bool_]
) -> Nesting:
    """Nest intervals that are sorted by (start, −end) in each group, whose rows stand together.

    An interval goes to the first lane of its group where it is apart from the others or inside one of them. One that sticks
    out by less than `TOLERANCE`, or that is `open_ended` (closed only by the end of the recording), is clipped to the
    interval around it. By columns where nothing sticks out; other groups take one pass, O(n log n).

    Examples
    --------
    >>> n = nest(np.zeros(4, np.int32), np.array([0, 0, 3000, 7000]), np.array([9000, 2000, 9400, 12000]), np.zeros(4, bool))
    >>> n.parent.tolist(), n.lane.tolist(), n.end.tolist(), n.clipped
    ([-1, 0, 0, -1], [0, 0, 0, 1], [9000, 2000, 9000, 12000], 1)
    """
    regular = enclosed(group, start, end)
    if regular is None:
        return _one_by_one(group, start, end, open_ended)
    depth, parent, out = regular
    lane, moved = np.zeros(len(start), np.int32), end.copy()
    if not len(out):
        return Nesting(lane, parent, depth, moved, 0, 0)
    rows = np.flatnonzero(np.isin(group, group[out]))
    some = _one_by_one(group[rows], start[rows], end[rows], open_ended[rows])
    lane[rows], depth[rows], moved[rows] = some.lane, some.depth, some.end
    parent[rows] = np.where(some.parent >= 0, rows[some.parent], -1)
    return Nesting(lane, parent, depth, moved, some.clipped, some.unfinished)


def enclosed(
    group: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]] | None:
    """Return depth and parent of intervals sorted as for `nest`, and which stick out of their parents; None where columns cannot say.

    What depth and parent say holds for the groups in which none sticks out.

    Examples
    --------
    >>> depth, parent, out = enclosed(np.zeros(4, np.int32), np.array([0, 1, 2, 7]), np.array([9, 5, 3, 12]))
    >>> depth.tolist(), parent.tolist(), out.tolist()
    ([0, 1, 2, 1], [-1, 0, 1, 0], [3])
    """
    count = len(start)
    if not count:
        return None
    # One axis of time for all groups, each behind the one before.
    number = np.cumsum(np.diff(group, prepend=group[0]) != 0)
    first = int(start.min())
    width = int(end.max()) - first + 1
    if (int(number[-1]) + 1) * width >= _ALL:
        return None
    shift = number * width - first
    rows = np.arange(count)
    # Rows up to `stop` start in an interval; how many intervals are not over at a row is its depth.
    stop = np.maximum(np.searchsorted(start + shift, end + shift), rows + 1)
    depth = (rows - np.cumsum(np.bincount(stop, minlength=count + 1))[:count]).astype(np.int32)
    deepest = int(depth.max())
    if deepest > _LEVELS:
        return None
    levels = np.argsort(depth.astype(np.int16), kind="stable")
    bounds = np.searchsorted(depth[levels], np.arange(deepest + 2, dtype=np.int32))
    parent = np.full(count, -1, np.int32)
    for level in range(1, deepest + 1):  # the last row above the level is the one around
        above, here = (levels[bounds[one] : bounds[one + 1]] for one in (level - 1, level))
        parent[here] = above[np.searchsorted(above, here) - 1]
    inner = np.flatnonzero(parent >= 0)
    return depth, parent, inner[end[parent[inner]] < end[inner]]


_LEVELS = 2_000
"""What nests deeper is sooner done in one pass than level by level."""


def _one_by_one(
    group: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64], open_ended: NDArray[np.bool_]
) -> Nesting:
    lane = np.zeros(len(start), np.int32)
    depth, parent = array("i"), array("i")
    moved = end.copy()
    clipped = unfinished = 0
    loose = set(np.flatnonzero(open_ended).tolist())
    current = None
    first = _Lane([], [])
    further = FurtherLanes()
    for row, (key, begin, finish) in enumerate(row_by_row(group, start, end)):
        if key != current:
            current = key
            first, further = _Lane([], []), FurtherLanes()
        rows, ends = first.rows, first.ends
        while ends and ends[-1] <= begin:
            rows.pop()
            ends.pop()
        if ends and finish > ends[-1]:
            if finish - ends[-1] < TOLERANCE:
                clipped += 1
                moved[row] = finish = ends[-1]
            elif row in loose:
                unfinished += 1
                moved[row] = finish = ends[-1]
            else:
                lane[row], taken = further.take(begin, finish)
                rows, ends = taken.rows, taken.ends
        depth.append(len(rows))
        parent.append(rows[-1] if rows else -1)
        rows.append(row)
        ends.append(finish)
    return Nesting(lane, np.array(parent, np.int32), np.array(depth, np.int32), moved, clipped, unfinished)


@dataclass(slots=True)
class _Lane:
    """The open intervals of a lane, the innermost last: their rows and their ends."""

    rows: list[int]
    ends: list[int]


class FurtherLanes:
    """The lanes of a group behind its first, which grow in number with the intervals that cross at one moment.

    A heap tells which intervals have ended, and a tree of maxima over the lanes which is the first with room: O(log n).
    """

    def __init__(self) -> None:
        self._lanes: list[_Lane] = []
        self._ended: list[tuple[int, int]] = []
        self._width = 1
        self._room = [_NONE, _NONE]  # node k has children 2k and 2k + 1, lanes stand from `_width` on

    def take(self, begin: int, finish: int) -> tuple[int, _Lane]:
        """Find the first lane that takes ``[begin, finish)``, or open one; the caller puts it there. Lanes count from 1."""
        while self._ended and self._ended[0][0] <= begin:
            self._close(heappop(self._ended)[1], begin)
        place = self._first(finish) if self._room[1] >= finish else self._open()
        heappush(self._ended, (finish, place))
        self._set(place, finish)
        return place + 1, self._lanes[place]

    def _first(self, finish: int) -> int:
        at = 1
        while at < self._width:
            at = 2 * at if self._room[2 * at] >= finish else 2 * at + 1
        return at - self._width

    def _close(self, place: int, now: int) -> None:
        lane = self._lanes[place]
        while lane.ends and lane.ends[-1] <= now:
            lane.rows.pop()
            lane.ends.pop()
        self._set(place, lane.ends[-1] if lane.ends else _ALL)

    def _open(self) -> int:
        self._lanes.append(_Lane([], []))
        if len(self._lanes) > self._width:
            leaves = self._room[self._width :] + [_NONE] * self._width
            self._width *= 2
            self._room = [_NONE] * self._width + leaves
            for at in range(self._width - 1, 0, -1):
                self._room[at] = max(self._room[2 * at], self._room[2 * at + 1])
        return len(self._lanes) - 1

    def _set(self, place: int, room: int) -> None:
        """Say until when an interval in this lane may last."""
        at = place + self._width
        self._room[at] = room
        while at := at // 2:
            self._room[at] = max(self._room[2 * at], self._room[2 * at + 1])


_NONE, _ALL = -(1 << 63) - 1, (1 << 63) - 1


def innermost(start: NDArray[np.int64], end: NDArray[np.int64], holds: NDArray[np.bool_]) -> NDArray[np.int32]:
    """For each interval, sorted by (start, −end), the last-started one that `holds` and is still open at its start.

    Itself left out; −1 where none. Holders may cross each other: then it takes one pass, O(n); else it goes by columns.

    Examples
    --------
    >>> innermost(np.array([0, 2, 4]), np.array([9, 3, 5]), np.array([True, True, False])).tolist()
    [-1, 0, 0]
    """
    holders = np.flatnonzero(holds)
    regular = enclosed(np.zeros(len(holders), np.int32), start[holders], end[holders])
    if regular is not None and not len(regular[2]):
        _, parent, _ = regular
        place = np.searchsorted(holders, np.arange(len(start))) - 1
        late = np.flatnonzero(place >= 0)
        while len(late := late[end[holders[place[late]]] <= start[late]]):
            place[late] = parent[place[late]]
            late = late[place[late] >= 0]
        return np.where(place >= 0, holders[place], -1).astype(np.int32)
    found = array("i")
    rows: list[int] = []
    ends: list[int] = []
    for row, (begin, finish, can_hold) in enumerate(row_by_row(start, end, holds)):
        while ends and ends[-1] <= begin:
            rows.pop()
            ends.pop()
        found.append(rows[-1] if rows else -1)
        if can_hold:
            rows.append(row)
            ends.append(finish)
    return np.array(found, np.int32)


def self_times(start: NDArray[np.int64], end: NDArray[np.int64], parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return each interval's length less its children's, int64[n]; never negative when children lie inside.

    Examples
    --------
    >>> self_times(np.array([0, 1, 5]), np.array([9, 4, 9]), np.array([-1, 0, 0], np.int32)).tolist()
    [2, 3, 4]
    """
    own = end - start
    inner = parent >= 0
    np.subtract.at(own, parent[inner], (end - start)[inner])
    return np.asarray(own)

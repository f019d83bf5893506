"""Sets of time as arrays: union, intersection, difference and measure of half-open intervals, exact in int64 ns.

In: starts and ends as int64 arrays. Out: `Intervals`, which are sorted, apart and not empty. Nothing is known here of
slices or tracks. Every function is O(n log n) at worst and holds no Python loop over rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]


class Intervals(NamedTuple):
    """A set of time: k intervals ``[start, end)``, ascending, each of positive length, none touching the next.

    Attributes
    ----------
    start, end : int64[k]
        Nanoseconds.
    """

    start: Times
    end: Times


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(start: Times, end: Times) -> Intervals:
    """Return the set that the intervals cover together; empty ones cover nothing, touching ones become one.

    Examples
    --------
    >>> both = union(np.array([5, 0, 3, 9]), np.array([7, 3, 4, 9]))
    >>> both.start.tolist(), both.end.tolist()
    ([0, 5], [4, 7])
    """
    real = end > start
    start, end = start[real], end[real]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.ones(len(start), np.bool_)
    np.greater(start[1:], end[:-1], out=first[1:])
    return Intervals(start[first], end[_last_of_each(first)])


def union_by(group: NDArray[Any], start: Times, end: Times) -> tuple[NDArray[Any], Intervals]:
    """Return the union of each group's intervals: the group of every interval, ascending, and the intervals.

    Within a group they are as `union` makes them; intervals of different groups may overlap.

    Examples
    --------
    >>> group, sets = union_by(np.array([1, 0, 1]), np.array([0, 1, 2]), np.array([3, 2, 5]))
    >>> group.tolist(), sets.start.tolist(), sets.end.tolist()
    ([0, 1], [1, 0], [2, 5])
    """
    real = end > start
    group, start, end = group[real], start[real], end[real]
    order = np.lexsort((start, group))
    group, start, end = group[order], start[order], end[order]
    # The running maximum of `end` may not leak from group to group. Ranks by (group, end) grow from group to group by
    # themselves, so one accumulate over them serves all groups, and no offset can overflow.
    by_end = np.lexsort((end, group))
    rank = np.empty(len(end), np.int64)
    rank[by_end] = np.arange(len(end))
    end = end[by_end][np.maximum.accumulate(rank)] if len(end) else end
    first = np.ones(len(start), np.bool_)
    first[1:] = (start[1:] > end[:-1]) | (group[1:] != group[:-1])
    return group[first], Intervals(start[first], end[_last_of_each(first)])


def total(intervals: Intervals) -> int:
    """Return the length of the set in ns.

    Examples
    --------
    >>> total(union(np.array([0, 2]), np.array([3, 5])))
    5
    """
    return int((intervals.end - intervals.start).sum())


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """Return the time that is in both sets.

    Examples
    --------
    >>> both = intersect(union(np.array([0, 6]), np.array([4, 9])), union(np.array([2]), np.array([7])))
    >>> both.start.tolist(), both.end.tolist()
    ([2, 6], [4, 7])
    """
    return _sweep(a, b, _IN_A | _IN_B)


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """Return the time that is in `a` and not in `b`.

    Examples
    --------
    >>> rest = subtract(union(np.array([0]), np.array([9])), union(np.array([2, 7]), np.array([4, 20])))
    >>> rest.start.tolist(), rest.end.tolist()
    ([0, 4], [2, 7])
    """
    return _sweep(a, b, _IN_A)


def clip(intervals: Intervals, start: int, end: int) -> Intervals:
    """Return the part of the set inside ``[start, end)``.

    Examples
    --------
    >>> part = clip(union(np.array([0, 6]), np.array([4, 9])), 3, 6)
    >>> part.start.tolist(), part.end.tolist()
    ([3], [4])
    """
    low, high = np.maximum(intervals.start, start), np.minimum(intervals.end, end)
    real = high > low
    return Intervals(low[real], high[real])


def gaps(intervals: Intervals, start: int, end: int) -> Intervals:
    """Return the part of ``[start, end)`` outside the set.

    Examples
    --------
    >>> idle = gaps(union(np.array([2, 6]), np.array([4, 9])), 0, 8)
    >>> idle.start.tolist(), idle.end.tolist()
    ([0, 4], [2, 6])
    """
    inside = clip(intervals, start, end)
    low, high = np.append(np.int64(start), inside.end), np.append(inside.start, np.int64(end))
    real = high > low
    return Intervals(low[real], high[real])


def covered(intervals: Intervals, times: Times) -> Times:
    """Return how much of the set lies before each of the times: int64, one a time.

    The part of the set inside ``[a, b)`` is ``covered(b) - covered(a)``: this measures many overlaps at once.

    Examples
    --------
    >>> covered(union(np.array([2, 6]), np.array([4, 9])), np.array([0, 3, 5, 100])).tolist()
    [0, 1, 2, 5]
    """
    before = np.append(np.int64(0), np.cumsum(intervals.end - intervals.start))
    place = np.searchsorted(intervals.start, times, side="right")
    if not len(intervals.start):
        return np.zeros(len(times), np.int64)
    after = np.maximum(0, intervals.end[place - 1] - times)
    measured: Times = np.where(place > 0, before[place] - after, 0)
    return measured


def holding(intervals: Intervals, times: Times) -> NDArray[np.intp]:
    """Return which interval each of the times lies in: int[n], −1 for none. They need be ascending and apart, and may touch.

    Examples
    --------
    >>> holding(union(np.array([2, 6]), np.array([4, 9])), np.array([0, 3, 4, 6])).tolist()
    [-1, 0, -1, 1]
    """
    place = np.searchsorted(intervals.start, times, side="right") - 1
    inside = (place >= 0) & (times < np.append(intervals.end, 0)[place])
    return np.where(inside, place, -1)


def cut(intervals: Intervals, moments: Times) -> tuple[NDArray[np.intp], Intervals]:
    """Cut intervals, ascending and apart or touching, at the moments inside them; return the row of each piece, and the pieces.

    Examples
    --------
    >>> row, pieces = cut(Intervals(np.array([0, 5]), np.array([5, 9])), np.array([7, 2, 5]))
    >>> row.tolist(), pieces.start.tolist(), pieces.end.tolist()
    ([0, 0, 1, 1], [0, 2, 5, 7], [2, 5, 7, 9])
    """
    at = holding(intervals, moments)
    inside = at >= 0
    inside[inside] = moments[inside] > intervals.start[at[inside]]
    start = np.sort(np.concatenate((intervals.start, moments[inside])), kind="stable")
    start = start[np.diff(start, prepend=start[:1] - 1) > 0]
    row = np.searchsorted(intervals.start, start, side="right") - 1
    return row, Intervals(start, np.minimum(np.append(start[1:], intervals.end[-1:]), intervals.end[row]))


_IN_A, _IN_B = 1, 2


def _sweep(a: Intervals, b: Intervals, wanted: int) -> Intervals:
    """Keep the time whose membership (bit `_IN_A`, bit `_IN_B`) is exactly `wanted`."""
    time = np.concatenate((a.start, a.end, b.start, b.end))
    change = np.repeat((_IN_A, -_IN_A, _IN_B, -_IN_B), (len(a.start), len(a.end), len(b.start), len(b.end)))
    order = np.argsort(time, kind="stable")
    time, state = time[order], np.cumsum(change[order])
    keep = (state[:-1] == wanted) & (time[1:] > time[:-1])
    return union(time[:-1][keep], time[1:][keep])


def _last_of_each(first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the last row of each run, given the marks of the first rows."""
    last = np.ones(len(first), np.bool_)
    last[:-1] = first[1:]
    return last

"""Which slice stands in which: lanes, parents and depths, from arrays of one track and layer after the other.

Knows intervals only, no trace words. Intervals are half-open; one of length zero at the end of another is outside it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1_000
"""ns by which an inner interval may stick out of the one around it and still be clipped: profilers round both ends to 1 µs."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """Where each of n intervals stands.

    ``lane`` int16[n], counted from 0 in each group · ``parent`` int32[n], a row of the input in the same lane, −1 for a
    root · ``depth`` int16[n] · ``end`` int64[n], clipped · ``clipped`` and ``unfinished`` int: how many ends were moved.
    """

    lane: NDArray[np.int16]
    parent: NDArray[np.int32]
    depth: NDArray[np.int16]
    end: NDArray[np.int64]
    clipped: int
    unfinished: int


def nest(
    group: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64], open_ended: NDArray[np.bool_]
) -> Nesting:
    """Nest intervals that are sorted by (group, start, −end).

    An interval goes to the first lane of its group where it is apart from the others or inside one of them. One that sticks
    out by less than `TOLERANCE`, or that is `open_ended` (closed only by the end of the recording), is clipped to the
    interval around it. One pass, O(n · lanes); well-formed groups have one lane.

    Examples
    --------
    >>> n = nest(np.zeros(4, np.int32), np.array([0, 0, 3000, 7000]), np.array([9000, 2000, 9400, 12000]), np.zeros(4, bool))
    >>> n.parent.tolist(), n.lane.tolist(), n.end.tolist(), n.clipped
    ([-1, 0, 0, -1], [0, 0, 0, 1], [9000, 2000, 9000, 12000], 1)
    """
    count = len(start)
    lane = np.zeros(count, np.int16)
    depth = np.zeros(count, np.int16)
    parents: list[int] = [-1] * count
    ends: list[int] = end.tolist()
    clipped = unfinished = 0
    loose = set(np.flatnonzero(open_ended).tolist())
    current = -1
    lanes: list[list[int]] = []
    depths: list[int] = [0] * count
    for row, (key, begin) in enumerate(zip(group.tolist(), start.tolist(), strict=True)):
        if key != current:
            current = key
            stack: list[int] = []
            lanes = [stack]
        stack = lanes[0]
        while stack and ends[stack[-1]] <= begin:
            stack.pop()
        if stack and ends[row] > ends[stack[-1]]:
            top = stack[-1]
            if ends[row] - ends[top] < TOLERANCE:
                clipped += 1
                ends[row] = ends[top]
            elif row in loose:
                unfinished += 1
                ends[row] = ends[top]
            else:
                place, stack = _spill(lanes, ends, begin, ends[row])
                lane[row] = place
        if stack:
            top = stack[-1]
            parents[row] = top
            depths[row] = depths[top] + 1
        stack.append(row)
    depth[:] = depths
    return Nesting(lane, np.array(parents, np.int32), depth, np.array(ends, np.int64), clipped, unfinished)


def _spill(lanes: list[list[int]], ends: list[int], begin: int, finish: int) -> tuple[int, list[int]]:
    """Find the first further lane that takes ``[begin, finish)``, or open one."""
    for place, stack in enumerate(lanes[1:], start=1):
        while stack and ends[stack[-1]] <= begin:
            stack.pop()
        if not stack or finish <= ends[stack[-1]]:
            return place, stack
    lanes.append([])
    return len(lanes) - 1, lanes[-1]


def innermost(
    group: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64], holds: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """For each interval, sorted by (group, start, −end), the last-started one that `holds` and is still open at its start.

    Itself left out; −1 where none. Holders may cross each other. One pass, O(n).

    Examples
    --------
    >>> innermost(np.zeros(3, np.int32), np.array([0, 2, 4]), np.array([9, 3, 5]), np.array([True, True, False])).tolist()
    [-1, 0, 0]
    """
    found: list[int] = [-1] * len(start)
    if not holds.any():
        return np.array(found, np.int32)
    current = -1
    stack: list[int] = []
    ends: list[int] = end.tolist()
    flags: list[bool] = holds.tolist()
    for row, (key, begin) in enumerate(zip(group.tolist(), start.tolist(), strict=True)):
        if key != current:
            current = key
            stack = []
        while stack and ends[stack[-1]] <= begin:
            stack.pop()
        if stack:
            found[row] = stack[-1]
        if flags[row]:
            stack.append(row)
    return np.array(found, np.int32)


def self_times(start: NDArray[np.int64], end: NDArray[np.int64], parent: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return each interval's length less its children's, int64[n]; never negative when children lie inside.

    Examples
    --------
    >>> self_times(np.array([0, 1, 5]), np.array([9, 4, 9]), np.array([-1, 0, 0], np.int32)).tolist()
    [2, 3, 4]
    """
    length = end - start
    inner = np.flatnonzero(parent >= 0)
    children = np.zeros(len(start), np.int64)
    np.add.at(children, parent[inner], length[inner])
    return np.asarray(length - children)

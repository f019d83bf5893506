"""Nesting of one track's slices as Perfetto's importer does it: a stack, ends that match by name, spilled overlaps.

In: the operations of one track in import order. Out: for each its depth, parent, duration and lane. The rules are those
of Perfetto's ``slice_tracker.cc`` as of v57, where a complete slice that partly overlaps an open one goes to a further
track; they differ from those of `tracegap.nesting`, which keeps true intervals and splits context from work.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64, UInt8

COMPLETE, BEGIN, END = range(3)
PENDING = -1


@dataclass(frozen=True, eq=False)
class Operations(Columns):
    """The events of one track that touch its stack, in import order.

    Attributes
    ----------
    kind : uint8[n]
        `COMPLETE`, `BEGIN` or `END`.
    start : int64[n]
    duration : int64[n]
        0 and more for complete slices, −1 for others.
    name, category : int32[n]
        Ids, −1 where missing: what an end is matched by.
    """

    kind: UInt8
    start: Int64
    duration: Int64
    name: Int32
    category: Int32


class Nested(NamedTuple):
    """What became of n operations; rows are positions among them.

    ``top`` is the open slice that a flow right after the operation binds to; ``begin`` is the slice that an end closed
    (−1 for other operations and ends without a begin).
    """

    depth: NDArray[np.int32]
    parent: NDArray[np.int64]
    duration: NDArray[np.int64]
    lane: NDArray[np.int32]
    top: NDArray[np.int64]
    begin: NDArray[np.int64]
    misplaced: int


def nest(operations: Operations) -> Nested:
    """Nest the operations of one track; O(n log n), by columns where all slices are complete and none overlap."""
    if len(operations) > 32 and not operations.kind.any():
        fast = _nest_regular(operations.start, operations.duration)
        if fast is not None:
            return fast
    return _nest_any(operations)


def _nest_regular(start: NDArray[np.int64], duration: NDArray[np.int64]) -> Nested | None:
    """Nest complete slices that do not partly overlap; None when some do.

    A slice's depth is the number of slices before it less those that are over: one of no length is over only after its
    instant, which doubling all times writes as an odd number.
    """
    n = len(start)
    end = start + duration
    over = np.sort(2 * end + (duration == 0))
    depth = np.arange(n) - np.searchsorted(over, 2 * start, side="right")
    if depth[0] != 0 or (depth < 0).any() or (depth.max() > 2000):
        return None
    parent = np.full(n, -1, np.int64)
    by_depth = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[by_depth], np.arange(depth.max() + 2))
    for level in range(1, len(bounds) - 1):
        above = by_depth[bounds[level - 1] : bounds[level]]
        here = by_depth[bounds[level] : bounds[level + 1]]
        parent[here] = above[np.searchsorted(above, here) - 1]
    inner = parent >= 0
    if (end[parent[inner]] < end[inner]).any():
        return None
    none = np.full(n, -1, np.int64)
    lane = np.zeros(n, np.int32)
    return Nested(depth.astype(np.int32), parent, duration, lane, np.arange(n), none, 0)


def _nest_any(operations: Operations) -> Nested:
    """Nest by a stack for each lane; one pass, each operation scanning the open slices of its lane."""
    n = len(operations)
    kind, start = operations.kind.tolist(), operations.start.tolist()
    name, category = operations.name.tolist(), operations.category.tolist()
    track = _Track(start, operations.duration.tolist(), ordered=not operations.kind.any())
    depth, parent, lane, top, begin = [0] * n, [-1] * n, [0] * n, [-1] * n, [-1] * n
    main = track.lanes[0]
    for row in range(n):
        if kind[row] == END:
            track.close(main, start[row], PENDING)
            begin[row] = track.end(main, row, name, category)
        else:
            place = 0
            while track.close(track.lane(place), start[row], track.duration[row]):
                place += 1
            stack = track.lane(place)
            depth[row], parent[row], lane[row] = len(stack), stack[-1] if stack else -1, place
            stack.append(row)
        top[row] = main[-1] if main else -1
    return Nested(
        np.array(depth, np.int32),
        np.array(parent, np.int64),
        np.array(track.duration, np.int64),
        np.array(lane, np.int32),
        np.array(top, np.int64),
        np.array(begin, np.int64),
        track.misplaced,
    )


class _Track:
    """The stacks of one track while it is read; ``duration`` fills as ends come.

    ``ordered`` says that all slices are complete: then what lies under a slice that is not over is not over either.
    """

    def __init__(self, start: list[int], duration: list[int], *, ordered: bool) -> None:
        self.start = start
        self.duration = duration
        self.ordered = ordered
        self.lanes: list[list[int]] = [[]]
        self.misplaced = 0

    def lane(self, place: int) -> list[int]:
        if place == len(self.lanes):
            self.lanes.append([])
        return self.lanes[place]

    def close(self, stack: list[int], now: int, length: int) -> bool:
        """Take off the stack what is over at `now`; whether a new slice of that length would overlap what stays."""
        pending = False
        for place in range(len(stack) - 1, -1, -1):
            row = stack[place]
            duration = self.duration[row]
            if duration == PENDING:
                pending = True
                continue
            end = self.start[row] + duration
            if pending:
                if now > end:  # all that still stands on a finished slice ends with it
                    self.misplaced += 1
                    for above in stack[place + 1 :]:
                        self.duration[above] = end - self.start[above]
                    del stack[place:]
                    pending = False
            elif end < now or (end == now and (duration or length)):
                stack.pop()  # the topmost, as there: another one only if an end closed a slice under it
            elif length >= 0 and end < now + length:
                return True
            elif self.ordered:
                return False
        return False

    def end(self, stack: list[int], row: int, name: list[Any], category: list[Any]) -> int:
        """Close the topmost pending slice that the end's name and category fit; −1 if there is none."""
        for place in range(len(stack) - 1, -1, -1):
            begun = stack[place]
            if self.duration[begun] != PENDING:
                continue
            if category[row] >= 0 and category[row] != category[begun]:
                continue
            if name[row] >= 0 and name[begun] >= 0 and name[row] != name[begun]:
                continue
            self.duration[begun] = self.start[row] - self.start[begun]
            if place == len(stack) - 1:
                stack.pop()
            return begun
        return -1

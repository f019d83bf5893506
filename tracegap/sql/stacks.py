"""Nesting of one track's slices as Perfetto's importer does it: a stack, ends that match by name, spilled overlaps.

In: the operations of one track in import order. Out: for each its depth, parent, duration and lane. The rules are those
of Perfetto's ``slice_tracker.cc`` as of v57, where a complete slice that partly overlaps an open one goes to a further
track; they differ from those of `tracegap.nesting`, which keeps true intervals and splits context from work.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64, UInt8
from tracegap.nesting import FurtherLanes, enclosed

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

    A slice of no length is over only after its instant, which doubling all times writes as an odd number.
    """
    count = len(start)
    begin = 2 * (start - start[0])
    found = enclosed(np.zeros(count, np.int32), begin, begin + 2 * duration + (duration == 0))
    if found is None or len(found[2]):
        return None
    depth, parent, _ = found
    none, lane = np.full(count, -1, np.int64), np.zeros(count, np.int32)
    return Nested(depth, parent.astype(np.int64), duration, lane, np.arange(count), none, 0)


def _nest_any(operations: Operations) -> Nested:
    """Nest by a stack for each lane; one pass, O(n log n) but for slices that stick out of one that an end closed late."""
    n = len(operations)
    kind, start = operations.kind.tolist(), operations.start.tolist()
    main = _MainLane(start, operations.duration.tolist(), operations.name.tolist(), operations.category.tolist())
    further = FurtherLanes()
    depth, parent, lane, top, begin = [0] * n, [-1] * n, [0] * n, [-1] * n, [-1] * n
    stack = main.stack
    for row in range(n):
        length = main.duration[row]
        crosses = main.close(start[row], length)
        if kind[row] == END:
            begin[row] = main.end(row)
        elif crosses:
            over = _over(start[row], length)
            lane[row], taken = further.take(2 * start[row], over)
            depth[row], parent[row] = len(taken.rows), taken.rows[-1] if taken.rows else -1
            taken.rows.append(row)
            taken.ends.append(over)
        else:
            depth[row], parent[row] = len(stack), stack[-1] if stack else -1
            main.begin(row)
        top[row] = stack[-1] if stack else -1
    return Nested(
        np.array(depth, np.int32),
        np.array(parent, np.int64),
        np.array(main.duration, np.int64),
        np.array(lane, np.int32),
        np.array(top, np.int64),
        np.array(begin, np.int64),
        main.misplaced,
    )


def _over(start: int, duration: int) -> int:
    """Return twice the time from which a slice is over; one of no length is over only after its instant."""
    return 2 * (start + duration) + (duration == 0)


class _MainLane:
    """The stack of a track's first lane while it is read; ``duration`` fills as ends come.

    On the stack stand begun slices that are pending and slices whose end is known. The places of those are in ``_known``,
    and in ``_soonest`` when the first of them, from the bottom of the stack up to there, is over: so that what is over is
    found without a look at what is not.
    """

    def __init__(self, start: list[int], duration: list[int], name: list[int], category: list[int]) -> None:
        self.start, self.duration, self.name, self.category = start, duration, name, category
        self.stack: list[int] = []
        self.misplaced = 0
        self._known: list[int] = []
        self._soonest: list[int] = []
        self._pending: dict[int, list[int]] = {}  # begun slices by name, in their order; also some that are over
        self._gone: set[int] = set()  # what ended with a finished slice under it, perhaps before it began

    def close(self, now: int, length: int) -> bool:
        """Take off the stack what is over at `now`; whether a new slice of that length would overlap what stays."""
        stack, known = self.stack, self._known
        soon, then = 2 * now + (length != 0), 2 * (now + length)
        pending, above = False, len(stack)
        for at in range(len(known) - 1, -1, -1):
            place = known[at]
            pending |= place < above - 1
            above = place
            soonest = self._soonest[at]
            if soonest > soon and (pending or length < 0 or soonest >= then):
                return False
            over = _over(self.start[stack[place]], self.duration[stack[place]])
            if pending:
                if over < 2 * now:  # all that still stands on a finished slice ends with it
                    self.misplaced += 1
                    for row in stack[place + 1 :]:
                        self.duration[row] = (over >> 1) - self.start[row]
                    self._gone.update(stack[place + 1 :])
                    del stack[place:], known[at:], self._soonest[at:]
                    pending = False
            elif over <= soon:
                stack.pop()  # the topmost, as there: another one only if an end closed a slice under it
                known.pop()
                self._soonest.pop()
            elif length >= 0 and over < then:
                return True
        return False

    def begin(self, row: int) -> None:
        """Put a slice on the stack."""
        if self.duration[row] == PENDING:
            self._pending.setdefault(self.name[row], []).append(row)
        else:
            self._know(len(self.stack), row)
        self.stack.append(row)

    def _know(self, place: int, row: int) -> None:
        """Note where on the stack a slice stands whose end is known, above all others that are."""
        over = _over(self.start[row], self.duration[row])
        self._known.append(place)
        self._soonest.append(min(over, self._soonest[-1]) if self._soonest else over)

    def end(self, row: int) -> int:
        """Close the topmost pending slice that the end's name and category fit; −1 if there is none."""
        name = self.name[row]
        begun = (
            max(self._last(self._pending.get(one, []), row) for one in {name, -1})
            if name >= 0
            else self._last(self.stack, row)
        )
        if begun < 0:
            return -1
        self.duration[begun] = self.start[row] - self.start[begun]
        place = bisect_left(self.stack, begun)  # rows stand on the stack in their order
        if place == len(self.stack) - 1:
            self.stack.pop()
        else:
            at = bisect_left(self._known, place)
            above = self._known[at:]
            del self._known[at:], self._soonest[at:]
            for known in (place, *above):
                self._know(known, self.stack[known])
        return begun

    def _last(self, rows: list[int], end: int) -> int:
        """Return the last of the rows that is pending and of the end's category; −1 if there is none."""
        while rows is not self.stack and rows and not self._is_pending(rows[-1]):
            rows.pop()
        category = self.category[end]
        for row in reversed(rows):
            if self._is_pending(row) and (category < 0 or category == self.category[row]):
                return row
        return -1

    def _is_pending(self, row: int) -> bool:
        return self.duration[row] == PENDING and row not in self._gone

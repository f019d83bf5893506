"""Nesting a track: the fast way by columns, the one by stacks and a plain one agree, and the work grows with the track."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import lines_run
from tracegap import nesting
from tracegap.sql import stacks
from tracegap.sql.stacks import BEGIN, COMPLETE, END, PENDING, Operations, _nest_any, _nest_regular


def operations(spans: list[tuple[int, int]]) -> Operations:
    """Complete slices in import order: by start, from the longest."""
    spans = sorted(spans, key=lambda span: (span[0], -span[1]))
    n = len(spans)
    return Operations(
        kind=np.full(n, COMPLETE, np.uint8),
        start=np.array([start for start, _ in spans], np.int64),
        duration=np.array([length for _, length in spans], np.int64),
        name=np.zeros(n, np.int32),
        category=np.zeros(n, np.int32),
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=25))
def test_both_ways_agree_or_the_fast_one_declines(spans: list[tuple[int, int]]) -> None:
    track = operations(spans)
    slow = _nest_any(track)
    fast = _nest_regular(track.start, track.duration)
    assert (fast is None) == bool(slow.lane.any())
    if fast is not None:
        assert fast.depth.tolist() == slow.depth.tolist()
        assert fast.parent.tolist() == slow.parent.tolist()
        assert fast.top.tolist() == slow.top.tolist()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=25))
def test_slices_of_a_lane_never_partly_overlap(spans: list[tuple[int, int]]) -> None:
    track = operations(spans)
    nested = _nest_any(track)
    end = track.start + nested.duration
    for row, parent in enumerate(nested.parent.tolist()):
        if parent >= 0:
            assert nested.lane[parent] == nested.lane[row]
            assert track.start[parent] <= track.start[row] <= end[row] <= end[parent]
    assert nested.duration.tolist() == track.duration.tolist()


Row = tuple[int, int, int, int, int]
"""kind, start, duration, name, category."""


def track_of(rows: list[Row]) -> Operations:
    """Operations in import order: at one time ends, then complete slices from the longest, then the rest."""
    if any(kind == COMPLETE and duration > 0 for kind, _, duration, _, _ in rows):
        rank = {END: 0, COMPLETE: 1, BEGIN: 2}
        rows = sorted(rows, key=lambda row: (row[1], rank[row[0]] if row[2] else 2, -max(row[2], 0)))
    else:
        rows = sorted(rows, key=lambda row: row[1])
    kind, start, duration, name, category = np.array(rows, np.int64).T
    return Operations(
        kind=kind.astype(np.uint8), start=start, duration=duration, name=name.astype(np.int32), category=category.astype(np.int32)
    )  # fmt: skip


class Plain:
    """The importer's rules as it applies them: every operation looks at all that is open, lane after lane."""

    def __init__(self, track: Operations) -> None:
        self.kind, self.start, self.duration = track.kind.tolist(), track.start.tolist(), track.duration.tolist()
        self.name, self.category = track.name.tolist(), track.category.tolist()
        self.lanes: list[list[int]] = [[]]
        self.misplaced = 0
        self.rows = [self.place(row) for row in range(len(self.kind))]

    def place(self, row: int) -> tuple[int, int, int, int, int]:
        """Return depth, parent, lane, top and begin of an operation."""
        main, here = self.lanes[0], (0, -1, 0)
        begin = -1
        if self.kind[row] == END:
            self.close(main, self.start[row], PENDING)
            begin = self.end(main, row)
        else:
            lane = 0
            while self.close(self.lanes[lane], self.start[row], self.duration[row]):
                lane += 1
                if lane == len(self.lanes):
                    self.lanes.append([])
            stack = self.lanes[lane]
            here = len(stack), stack[-1] if stack else -1, lane
            stack.append(row)
        return (*here, main[-1] if main else -1, begin)

    def close(self, stack: list[int], now: int, length: int) -> bool:
        pending = False
        for place in range(len(stack) - 1, -1, -1):
            duration = self.duration[stack[place]]
            end = self.start[stack[place]] + duration
            if duration == PENDING:
                pending = True
            elif pending and now > end:
                self.misplaced += 1
                for above in stack[place + 1 :]:
                    self.duration[above] = end - self.start[above]
                del stack[place:]
                pending = False
            elif not pending and (end < now or (end == now and (duration or length))):
                stack.pop()
            elif not pending and length >= 0 and end < now + length:
                return True
        return False

    def end(self, stack: list[int], row: int) -> int:
        for place in range(len(stack) - 1, -1, -1):
            begun = stack[place]
            other_name = self.name[row] >= 0 and self.name[begun] >= 0 and self.name[row] != self.name[begun]
            other_category = self.category[row] >= 0 and self.category[row] != self.category[begun]
            if self.duration[begun] != PENDING or other_name or other_category:
                continue
            self.duration[begun] = self.start[row] - self.start[begun]
            if place == len(stack) - 1:
                stack.pop()
            return begun
        return -1


COMPLETES = st.tuples(st.just(COMPLETE), st.integers(0, 30), st.integers(0, 12), st.integers(-1, 1), st.integers(-1, 0))
BOUNDS = st.tuples(
    st.sampled_from([BEGIN, END]), st.integers(0, 30), st.just(-1), st.integers(-1, 1), st.integers(-1, 0)
)


@settings(max_examples=500, deadline=None)
@given(st.lists(COMPLETES | BOUNDS, min_size=1, max_size=30))
def test_any_track_is_nested_as_by_a_look_at_all_that_is_open(rows: list[Row]) -> None:
    track = track_of(rows)
    nested, plain = _nest_any(track), Plain(track)
    columns = nested.depth, nested.parent, nested.lane, nested.top, nested.begin
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == plain.rows
    assert nested.duration.tolist() == plain.duration
    assert nested.misplaced == plain.misplaced


@pytest.mark.parametrize(
    "rows",
    [
        lambda n: [(COMPLETE, at, n, 0, 0) for at in range(n)],
        lambda n: [(BEGIN, 0, -1, 0, 0), *((COMPLETE, at, n, 0, 0) for at in range(n))],
        lambda n: [*((BEGIN, at, -1, 0, 0) for at in range(n)), *((END, n + at, -1, -1, -1) for at in range(n))],
        lambda n: [*((BEGIN, at, -1, 0, 0) for at in range(n)), *((END, n + at, -1, 1, -1) for at in range(n))],
        lambda n: [(BEGIN, 0, -1, 0, 0), *((COMPLETE, 5, 0, 0, 0) for _ in range(n))],
    ],
    ids=["all cross", "all cross in a begun one", "deep", "ends without a begin", "instants of one time"],
)
def test_twice_the_slices_are_hardly_more_than_twice_the_work(rows: Callable[[int], list[Row]]) -> None:
    once, twice = (lines_run([stacks, nesting], _nest_any, track_of(rows(size))) for size in (300, 600))
    assert twice < 2.5 * once

"""Interval sets against a plain set of integers, and on cases small enough to read."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracegap import intervals
from tracegap.intervals import Intervals

spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), max_size=12)


def made(pairs: list[tuple[int, int]]) -> Intervals:
    start = np.array([start for start, _ in pairs], np.int64)
    return intervals.union(start, start + np.array([length for _, length in pairs], np.int64))


def points(pairs: list[tuple[int, int]]) -> set[int]:
    return {time for start, length in pairs for time in range(start, start + length)}


def inside(sets: Intervals) -> set[int]:
    return {time for start, end in zip(*sets, strict=True) for time in range(int(start), int(end))}


def is_canonical(sets: Intervals) -> bool:
    return bool((sets.end > sets.start).all() and (sets.start[1:] > sets.end[:-1]).all())


@given(spans, spans)
def test_set_operations_agree_with_sets_of_integers(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    first, second = made(a), made(b)
    for result, expected in (
        (first, points(a)),
        (intervals.intersect(first, second), points(a) & points(b)),
        (intervals.subtract(first, second), points(a) - points(b)),
        (intervals.clip(first, 4, 20), points(a) & set(range(4, 20))),
        (intervals.gaps(first, 4, 20), set(range(4, 20)) - points(a)),
    ):
        assert inside(result) == expected
        assert is_canonical(result)
        assert intervals.total(result) == len(expected)


@given(spans, st.lists(st.integers(-2, 45)))
def test_covered_counts_what_lies_before_each_time(a: list[tuple[int, int]], times: list[int]) -> None:
    measured = intervals.covered(made(a), np.array(times, np.int64))
    assert measured.tolist() == [sum(point < time for point in points(a)) for time in times]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 8)), max_size=20))
def test_union_by_is_the_union_of_each_group(rows: list[tuple[int, int, int]]) -> None:
    group, start, length = (np.array([row[column] for row in rows], np.int64) for column in range(3))
    owner, sets = intervals.union_by(group, start, start + length)
    assert owner.tolist() == sorted(owner.tolist())
    for one in range(4):
        alone = made([(row[1], row[2]) for row in rows if row[0] == one])
        assert sets.start[owner == one].tolist() == alone.start.tolist()
        assert sets.end[owner == one].tolist() == alone.end.tolist()


def test_touching_intervals_are_one_and_empty_ones_none() -> None:
    # A slice that ends where the next begins leaves no gap; one of zero length neither fills nor makes one.
    assert made([(0, 5), (5, 0), (5, 4)])[0].tolist() == [0]
    assert intervals.gaps(made([(0, 5), (7, 0)]), 0, 9).start.tolist() == [5]


def test_lengths_beyond_the_reach_of_float64_stay_exact() -> None:
    long = 2**60 + 1
    assert intervals.total(intervals.union(np.array([0, long + 2]), np.array([long, long + 3]))) == long + 1


@given(spans, st.lists(st.integers(-2, 45)))
def test_holding_finds_the_interval_that_each_time_lies_in(a: list[tuple[int, int]], times: list[int]) -> None:
    sets = made(a)
    found = intervals.holding(sets, np.array(times, np.int64)).tolist()
    bounds = list(zip(sets.start.tolist(), sets.end.tolist(), strict=True))
    assert found == [
        next((row for row, (start, end) in enumerate(bounds) if start <= time < end), -1) for time in times
    ]


@given(spans, st.lists(st.integers(-2, 45)))
def test_cutting_leaves_the_time_as_it_is_and_no_moment_inside_a_piece(a: list[tuple[int, int]], at: list[int]) -> None:
    sets = made(a)
    row, pieces = intervals.cut(sets, np.array(at, np.int64))
    assert inside(pieces) == points(a)
    assert intervals.total(pieces) == len(points(a))
    assert row.tolist() == intervals.holding(sets, pieces.start).tolist()
    assert not any(start < moment < end for start, end in zip(*pieces, strict=True) for moment in at)

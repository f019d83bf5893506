"""Lanes, parents and depths of intervals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracegap import nesting
from tracegap.nesting import innermost, nest, self_times


def nested(*spans, group=None, open_ended=()):
    start = np.array([a for a, _ in spans], np.int64)
    end = np.array([b for _, b in spans], np.int64)
    flags = np.isin(np.arange(len(spans)), open_ended)
    return nest(np.array(group if group else [0] * len(spans), np.int32), start, end, flags)


def test_a_slice_inside_another_is_its_child():
    result = nested((0, 9000), (1000, 4000), (2000, 3000), (5000, 9000))
    assert result.parent.tolist() == [-1, 0, 1, 0]
    assert result.depth.tolist() == [0, 1, 2, 1]


def test_a_slice_that_starts_where_another_ends_is_its_neighbour():
    result = nested((0, 5000), (5000, 9000), (5000, 5000))
    assert result.parent.tolist() == [-1, -1, 1]


def test_a_zero_length_slice_at_the_end_of_another_is_outside_it():
    assert nested((0, 5000), (5000, 5000)).parent.tolist() == [-1, -1]


def test_a_child_that_sticks_out_by_less_than_a_microsecond_is_clipped():
    result = nested((0, 5000), (1000, 5999))
    assert (result.end.tolist(), result.clipped) == ([5000, 5000], 1)


def test_a_child_that_sticks_out_by_a_microsecond_spills_to_a_further_lane():
    result = nested((0, 5000), (1000, 6000), (2000, 7000))
    assert result.lane.tolist() == [0, 1, 2]
    assert result.end.tolist() == [5000, 6000, 7000]


def test_an_open_ended_frame_is_clipped_to_the_frame_around_it():
    result = nested((0, 10_000), (2_000, 1_000_000), open_ended=(1,))
    assert (result.end.tolist(), result.unfinished, result.lane.tolist()) == ([10_000, 10_000], 1, [0, 0])


def test_forty_thousand_intervals_in_one_another_are_as_deep() -> None:
    count = 40_000
    result = nested(*((at, 2 * count - at) for at in range(count)))
    assert result.depth.tolist() == list(range(count))


def test_forty_thousand_intervals_that_all_cross_have_a_lane_each() -> None:
    count = 40_000
    result = nested(*((at * 2_000, (count + at) * 2_000) for at in range(count)), (2 * count * 2_000, 2**40))
    assert result.lane.tolist() == [*range(count), 0]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=40))
def test_an_interval_takes_the_first_lane_with_room(spans):
    spans = sorted(((start * 2_000, (start + length) * 2_000) for start, length in spans), key=lambda s: (s[0], -s[1]))
    lanes: list[list[tuple[int, int]]] = []
    expected = []
    for start, end in spans:
        around = [[(a, b) for a, b in lane if b > start] for lane in lanes]
        place = next((n for n, held in enumerate(around) if all(end <= b for _, b in held)), len(lanes))
        if place == len(lanes):
            lanes.append([])
        lanes[place].append((start, end))
        expected.append(place)
    assert nested(*spans).lane.tolist() == expected


ROWS = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 20), st.integers(0, 12), st.booleans(), st.sampled_from([0, 400, 1_400])
    ),
    min_size=1,
    max_size=40,
)


@given(ROWS)
def test_by_columns_and_in_one_pass_intervals_nest_alike(rows):
    spans = [(group, 1_000 * at, 1_000 * (at + length) + more, ends) for group, at, length, ends, more in rows]
    spans.sort(key=lambda span: (span[0], span[1], -span[2]))
    group, start, end, open_ended = (np.array(column) for column in zip(*spans, strict=True))
    group = group.astype(np.int32)
    found, expected = nest(group, start, end, open_ended), nesting._one_by_one(group, start, end, open_ended)
    for one, other in ((found.lane, expected.lane), (found.parent, expected.parent), (found.depth, expected.depth)):
        assert (one.tolist(), one.dtype) == (other.tolist(), other.dtype)
    assert found.end.tolist() == expected.end.tolist()
    assert (found.clipped, found.unfinished) == (expected.clipped, expected.unfinished)


def test_times_too_far_apart_to_stand_on_one_axis_nest_all_the_same():
    far = 2**62
    result = nested((0, far), (1, 2), (-far, far), (5, 9), group=[0, 0, 1, 1])
    assert result.parent.tolist() == [-1, 0, -1, 2]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.booleans()), min_size=1, max_size=40))
def test_the_innermost_holder_is_the_last_to_start_of_those_that_are_open(rows):
    rows = sorted(((start, start + length, holds) for start, length, holds in rows), key=lambda row: (row[0], -row[1]))
    expected = []
    stack: list[int] = []
    for row, (start, _, holds) in enumerate(rows):
        while stack and rows[stack[-1]][1] <= start:
            stack.pop()
        expected.append(stack[-1] if stack else -1)
        stack += [row] * holds
    columns = zip(*rows, strict=True)
    assert innermost(*(np.array(column) for column in columns)).tolist() == expected


def test_groups_do_not_see_each_other():
    result = nested((0, 9000), (1000, 2000), group=[0, 1])
    assert result.parent.tolist() == [-1, -1]


def test_innermost_holder_may_cross_an_earlier_one():
    found = innermost(np.array([0, 2, 6, 11]), np.array([10, 12, 7, 12]), np.array([True, True, False, False]))
    assert found.tolist() == [-1, 0, 1, 1]


spans = st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)), min_size=1, max_size=30)


@given(spans)
def test_slices_of_a_lane_nest_or_are_apart_and_self_times_sum_to_the_union(pairs):
    rows = sorted(((a, a + d) for a, d in pairs), key=lambda span: (span[0], -span[1]))
    start = np.array([a for a, _ in rows], np.int64)
    result = nested(*rows)
    assert (result.end >= start).all()
    for row, parent in enumerate(result.parent.tolist()):
        if parent >= 0:
            assert result.lane[row] == result.lane[parent]
            assert start[parent] <= start[row]
            assert result.end[row] <= result.end[parent]
    own = self_times(start, result.end, result.parent)
    assert (own >= 0).all()
    for lane in set(result.lane.tolist()):
        mine = np.flatnonzero(result.lane == lane)
        covered = 0
        reach = -1
        for row in mine.tolist():
            covered += max(0, int(result.end[row]) - max(int(start[row]), reach))
            reach = max(reach, int(result.end[row]))
        assert int(own[mine].sum()) == covered

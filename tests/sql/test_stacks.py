"""Nesting a track: the fast way by columns and the one by stacks agree wherever the fast one dares."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegap.sql.stacks import COMPLETE, Operations, _nest_any, _nest_regular


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

"""The pipelined prediction."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tracegap.pipelining import predict


def test_three_steps_of_load_and_compute_take_the_maximum_and_one_fill():
    found = predict(np.array([[500, 200]] * 3))
    assert (found.wall, found.steady, found.bottleneck) == (1700, 500, 0)


def test_fourteen_and_nine_milliseconds_predict_fourteen():
    assert predict(np.array([[14_000_000, 9_000_000]] * 20)).steady == 14_000_000


def test_one_slow_step_delays_the_others_only_through_its_own_stage():
    assert predict(np.array([[1, 1], [9, 1], [1, 5]])).finish.tolist() == [[1, 2], [10, 11], [11, 16]]


@given(arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(0, 1000)))
def test_a_pipeline_lies_between_its_slowest_stage_and_the_sum(duration):
    found = predict(duration)
    assert found.wall <= duration.sum()
    assert found.wall >= duration.sum(axis=0).max()
    assert found.wall >= duration.sum(axis=1).max()

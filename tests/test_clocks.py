"""Time stamps that cannot be right, and processes with a zero of their own."""

import numpy as np

from tracegap.clocks import sort_out

HOUR = 3_600_000_000_000


def sorted_out(spans, process=None):
    start = np.array([a for a, _ in spans], np.int64)
    end = np.array([b for _, b in spans], np.int64)
    owner = np.array(process if process else [0] * len(spans), np.int32)
    return sort_out(start, end, owner, int(owner.max()) + 1)


def test_a_kernel_without_a_time_stamp_is_implausible():
    base = 1_600_000 * HOUR // 3600
    clocks = sorted_out([(0, 0), (base, base + 10), (base + 20, base + 30)])
    assert clocks.plausible.tolist() == [False, True, True]


def test_an_event_years_in_the_future_is_implausible():
    base = 1_530_000 * HOUR // 3600
    clocks = sorted_out([(base, base + 5), (base + 10, base + 20), (base + 30, base + 40), (base * 13, base * 13 + 5)])
    assert clocks.plausible.tolist() == [True, True, True, False]


def test_a_hole_of_some_minutes_is_only_a_hole():
    clocks = sorted_out([(0, 10), (81_000_000_000, 81_000_000_010), (300_000_000_000, 300_000_000_005)])
    assert clocks.plausible.all()


def test_a_slice_that_ends_far_behind_every_start_is_implausible():
    clocks = sorted_out([(0, 10), (20, 30), (25, 500 * HOUR)])
    assert clocks.plausible.tolist() == [True, True, False]


def test_two_long_slices_alone_are_plausible():
    assert sorted_out([(0, 2 * HOUR), (0, HOUR)]).plausible.all()


def test_a_process_with_its_own_zero_is_moved_to_begin_with_the_trace():
    base = 400 * HOUR
    spans = [
        (base, base + 1),
        (base + 5, base + 6),
        (base + 7, base + 8),
        (base + 9, base + 10),
        (3, 4),
        (5, 6),
        (8, 9),
    ]
    clocks = sorted_out(spans, [0, 0, 0, 0, 1, 1, 1])
    assert clocks.plausible.all()
    assert clocks.moved == 1
    assert clocks.shift.tolist() == [0, 3 - base]

"""Decimal microseconds become nanoseconds exactly, however they are written."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegap.decimals import far_origin, times
from tracegap.events import NO_TIME


def one(start: str, duration: str = "") -> tuple[int, int]:
    read = times([start.encode()], [duration.encode()])
    return int(read.start[0]), int(read.duration[0])


def test_what_touches_in_the_file_touches_in_nanoseconds() -> None:  # B24
    read = times([b"1722505412345678.901", b"1722505412345679.413"], [b"0.512", b"1"])
    assert read.start.tolist() == [1722505412345678901, 1722505412345679413]
    assert read.duration.tolist() == [512, 1_000]


def test_short_durations_survive() -> None:  # B25, F7
    assert one("100.7", "0.2") == (100_700, 200)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0.5", -500),
        ("1e3", 1_000_000),
        ("1.5E-3", 2),
        ("2.5e-3", 2),
        ("0.0005", 0),
        ("0.0015", 2),
        ("0.00250000000000001", 3),
        ('"12.5"', 12_500),
        ('" 7 "', 7_000),
        ("9223372036854775.807", 2**63 - 1),
        ("9223372036854775.808", NO_TIME),
        ("1e300", NO_TIME),
        ("1e999999999", NO_TIME),
        ("0e999999999", 0),
        ("99999999999999999999", NO_TIME),
        ("null", NO_TIME),
        ('"soon"', NO_TIME),
        ("", NO_TIME),
        ("true", NO_TIME),
        ("[1]", NO_TIME),
    ],
)
def test_every_way_to_write_a_time(text: str, nanoseconds: int) -> None:
    assert one(text) == (nanoseconds, -1)


def test_start_and_end_are_rounded_each_from_the_exact_decimal() -> None:
    assert one("0.0004", "0.0004") == (0, 1)
    assert one("0.0006", "0.0006") == (1, 0)


def test_unreadable_and_negative_durations_are_none() -> None:
    read = times([b"1", b"x", b"1", b"", b"null", b"1e30"], [b"-1", b"1", b"1e30", b"1", b"", b""])
    assert read.start.tolist() == [1_000, NO_TIME, 1_000, NO_TIME, NO_TIME, NO_TIME]
    assert read.duration.tolist() == [-1] * 6


def test_no_times_at_all() -> None:
    assert len(times([], []).start) == 0


def test_clocks_beyond_int64_are_counted_from_their_first_event() -> None:
    starts = [b"13984392629999074", b"13984392629999075.5", b"5"]
    origin = far_origin(starts)
    assert origin == 13984392629999074000
    read = times(starts, [b"1", b"", b""], origin=origin)
    assert read.start.tolist() == [0, 1_500, NO_TIME]
    assert read.duration.tolist() == [1_000, -1, -1]


def test_one_time_far_in_the_future_does_not_move_the_others() -> None:  # B11
    starts = [b"1530000000000000", b"19900000000000000", b"1530000000000001"]
    assert far_origin(starts) == 0
    assert times(starts, [b""] * 3).start.tolist() == [1530000000000000000, NO_TIME, 1530000000000001000]


NUMBER = st.decimals(-(10**16), 10**16, allow_nan=False, allow_infinity=False) | st.decimals(
    0, 1000, places=4, allow_nan=False, allow_infinity=False
)


@given(st.lists(st.tuples(NUMBER, NUMBER), max_size=8))
def test_all_numbers_at_once_are_as_exact_as_decimals(numbers: list[tuple[Decimal, Decimal]]) -> None:
    read = times([str(start).encode() for start, _ in numbers], [str(length).encode() for _, length in numbers])
    for row, (start, length) in enumerate(numbers):
        first = round(start * 1000)
        if abs(first) >= 2**63:
            assert read.start[row] == NO_TIME
            continue
        assert read.start[row] == first
        last = round((start + length) * 1000)
        if length < 0 or last >= 2**63 or last - first >= 2**63:
            assert read.duration[row] == -1
        else:
            assert read.duration[row] == last - first
    assert read.start.dtype == read.duration.dtype == np.int64

"""Numbers as people read them, and times as people type them."""

import pytest

from tracegap.units import Unit, cells, duration, nanoseconds, ratio, size


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (999_999_999, "1.00 s"),
        (-2_500_000, "−2.50 ms"),
        (3_600_000_000_000, "3,600 s"),
    ],
)
def test_a_duration_has_three_digits_and_never_a_thousand_of_a_unit(ns: int, text: str) -> None:
    assert duration(ns) == text


def test_a_column_of_times_has_one_unit_and_one_precision() -> None:
    assert cells(Unit.NANOSECONDS, (1_923_000_000, 41_700_000, 20_000)) == ("1,923.0 ms", "41.7 ms", "<0.1 ms")
    assert cells(Unit.NANOSECONDS, (12_000_000_000, 4_000_000)) == ("12.00 s", "<0.01 s")
    assert cells(Unit.NANOSECONDS, (900, 7)) == ("900 ns", "7 ns")
    assert cells(Unit.NANOSECONDS, ()) == ()
    assert cells(Unit.NANOSECONDS, (None, 5_000)) == ("", "5.00 µs")
    assert cells(Unit.NANOSECONDS, (-40_000_000, 10)) == ("−40.00 ms", "<0.01 ms")


def test_every_unit_can_be_written() -> None:
    values = {Unit.TEXT: "a", Unit.RATIO: 0.5}
    for unit in Unit:
        assert cells(unit, (values.get(unit, 5), None))[1] == ""


def test_a_small_share_is_not_nothing() -> None:
    assert ratio(0.0004) == "<0.1 %"
    assert ratio(0.0) == "0.0 %"


def test_sizes_round_up_into_the_next_unit() -> None:
    assert size(999_600) == "1.00 MB"


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("10ms", 10_000_000),
        ("1.5 s", 1_500_000_000),
        ("40", 40_000_000),
        ("0.1us", 100),
        ("250µs", 250_000),
        ("7ns", 7),
        (".5ms", 500_000),
    ],
)
def test_a_typed_time_is_read_exactly(text: str, ns: int) -> None:
    assert nanoseconds(text) == ns


@pytest.mark.parametrize("text", ["9999999999s", "-9999999999s", "9" * 40])
def test_a_time_beyond_a_hundred_years_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="longer than a hundred years"):
        nanoseconds(text)


@pytest.mark.parametrize("text", ["", "ms", "10 h", "1e3ms", "10ms 5ms", "٣ms", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        nanoseconds(text)

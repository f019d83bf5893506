"""Numbers as people read them: the only place that writes units, and that knows a microsecond from a nanosecond."""

import re
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any


class Unit(StrEnum):
    """What a column of a table holds."""

    NANOSECONDS = "ns"
    COUNT = "count"
    RATIO = "ratio"
    BYTES = "bytes"
    RATE_FLOPS = "flop/s"
    RATE_BYTES = "bytes/s"
    NUMBER = "number"
    TEXT = "text"


_SCALES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_TYPED = re.compile(r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*(?P<unit>ns|us|µs|μs|ms|s)?", re.ASCII)
_TYPED_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_CENTURY = 100 * 365 * 86_400 * 1_000_000_000
_ROUNDS_UP = 0.9995
"""From this part of a unit on, three digits round up to one of it."""


def duration(ns: int) -> str:
    """Write a time with three significant digits and its unit.

    Examples
    --------
    >>> [duration(ns) for ns in (0, 512, 5_200_000, 41_700_000, 999_600_000, 1_923_000_000, -1_500)]
    ['0 ns', '512 ns', '5.20 ms', '41.7 ms', '1.00 s', '1.92 s', '−1.50 µs']
    """
    sign, ns = ("−", -ns) if ns < 0 else ("", ns)
    for scale, unit in _SCALES:
        if ns >= scale * _ROUNDS_UP:
            return f"{sign}{_three(ns / scale)} {unit}"
    return f"{sign}{ns} ns"


def nanoseconds(text: str) -> int:
    """Read a time that a person typed: ``10ms``, ``1.5 s``, ``250us``, ``40``; a bare number is milliseconds.

    Raises
    ------
    ValueError
        When it is no such time, or one of over a hundred years, which 64 bits would not hold for long.

    Examples
    --------
    >>> nanoseconds("10ms"), nanoseconds("1.5s"), nanoseconds("0.25us"), nanoseconds("25")
    (10000000, 1500000000, 250, 25000000)
    """
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no time: write 10ms, 1.5s, 250us or 800ns")
    time = Decimal(match["number"]) * _TYPED_UNITS[match["unit"] or "ms"]
    if abs(time) > _CENTURY:
        raise ValueError(f"{text!r} is longer than a hundred years")
    return round(time)


def ratio(share: float) -> str:
    """Write a share as per cent with one decimal.

    Examples
    --------
    >>> ratio(0.4561), ratio(0.00001), ratio(0.0)
    ('45.6 %', '<0.1 %', '0.0 %')
    """
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{share * 100:.1f} %"


def count(number: int) -> str:
    """Write a count, thousands separated."""
    return f"{number:,}"


def size(number: float) -> str:
    """Write bytes in decimal units.

    Examples
    --------
    >>> size(117_400_000), size(12)
    ('117 MB', '12 B')
    """
    return _scaled(number, ("B", "kB", "MB", "GB", "TB", "PB"))


def flops(rate: float) -> str:
    """Write a rate of arithmetic.

    Examples
    --------
    >>> flops(74.8e9)
    '74.8 GFLOP/s'
    """
    return _scaled(rate, ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"))


def bandwidth(rate: float) -> str:
    """Write a rate of bytes.

    Examples
    --------
    >>> bandwidth(12.6e9)
    '12.6 GB/s'
    """
    return _scaled(rate, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"))


def cells(unit: Unit, values: Sequence[Any]) -> tuple[str, ...]:
    """Write the values of a column; None is a blank.

    Times share one unit and one number of decimals, so that they can be compared by eye; a time too small to show is
    written as less than the last decimal, never as 0.

    Examples
    --------
    >>> cells(Unit.NANOSECONDS, (118_230_000, 6_020_000, 3_000, 0, None))
    ('118.2 ms', '6.0 ms', '<0.1 ms', '0.0 ms', '')
    >>> cells(Unit.COUNT, (1200, 7)), cells(Unit.RATIO, (0.061, 1.0))
    (('1,200', '7'), ('6.1 %', '100.0 %'))
    """
    if unit is Unit.NANOSECONDS:
        return _times(values)
    write = _WRITERS[unit]
    return tuple("" if value is None else write(value) for value in values)


def number(value: float) -> str:
    """Write a plain number: an integer in full, another with three significant digits.

    Examples
    --------
    >>> number(1200), number(1.2345)
    ('1,200', '1.23')
    """
    return f"{value:,}" if isinstance(value, int) else ("−" if value < 0 else "") + _three(abs(value))


def _times(values: Sequence[int | None]) -> tuple[str, ...]:
    longest = max((abs(value) for value in values if value is not None), default=0)
    # Seconds only from 10 s on: below, a column in ms still shows its small rows.
    scale, unit = next(
        ((scale, unit) for scale, unit in _SCALES if longest >= (10 * scale if unit == "s" else scale)), (1, "ns")
    )
    decimals = 0 if scale == 1 else 1 if longest >= 100 * scale else 2
    least = 0.5 * scale / 10**decimals

    def write(value: int) -> str:
        if 0 < abs(value) < least:
            return f"<{1 / 10**decimals:.{decimals}f} {unit}"
        return f"{'−' if value < 0 else ''}{abs(value) / scale:,.{decimals}f} {unit}"

    return tuple("" if value is None else write(value) for value in values)


def _scaled(number: float, units: tuple[str, ...]) -> str:
    place = 0
    while abs(number) >= 999.5 and place < len(units) - 1:
        number /= 1000
        place += 1
    text = f"{number:.0f}" if place == 0 and number == int(number) else _three(number)
    return f"{text} {units[place]}"


def _three(number: float) -> str:
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


_WRITERS: dict[Unit, Any] = {
    Unit.COUNT: count,
    Unit.RATIO: ratio,
    Unit.BYTES: size,
    Unit.RATE_FLOPS: flops,
    Unit.RATE_BYTES: bandwidth,
    Unit.NUMBER: number,
    Unit.TEXT: str,
}

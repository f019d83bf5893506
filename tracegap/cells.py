"""The cells of a decoded chunk, Python values as the file has them, to columns of one type.

In: tuples of what msgspec decoded. Out: arrays; what is of an odd type is read as it was meant, or counts as missing.
"""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import repeat
from operator import is_not
from typing import Any, overload

import msgspec
import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

Scalar = int | str | float | None
"""What a process, a thread or an id may be."""

_INTEGER = re.compile(r"\s*[+-]?\d+\s*\Z")
_HEX = re.compile(r"\s*0[xX][0-9a-fA-F]+\s*\Z")
_FAR = re.compile(r"-?\d+(?:\.\d+)?[eE]\+?\d{3,}\Z")
_LONGEST = 400
"""Digits: Python reads longer ones in quadratic time."""
_BEYOND = 1 << 64
"""Stands for a number that does not fit."""


def transposed(names: Iterable[str], structs: Iterable[Any]) -> dict[str, tuple[Any, ...]]:
    """Return the fields of structs as columns; whole tuples take a third of the time of one attribute after the other."""
    columns = tuple(zip(*map(astuple, structs), strict=True))
    return {name: columns[place] if columns else () for place, name in enumerate(names)}


def present(cells: Sequence[Any]) -> NDArray[np.bool_]:
    """Return which cells are not None.

    Examples
    --------
    >>> present((0, None, "")).tolist()
    [True, False, True]
    """
    return np.fromiter(map(is_not, cells, repeat(None)), np.bool_, len(cells))


def copies(texts: list[msgspec.Raw]) -> list[bytes]:
    """Return JSON texts as bytes. JSON holds no zero byte, and one join and split beats many calls of ``bytes``."""
    return b"\0".join(texts).split(b"\0")


def identities(ids: tuple[Scalar, ...], others: tuple[Any, ...]) -> Sequence[Scalar]:
    """Return the ids of events: ``id``, else the local or global part of ``id2``."""
    if others.count(None) == len(others):
        return ids
    return [
        (other.globally if other.local is None else other.local) if one is None and other is not None else one
        for one, other in zip(ids, others, strict=True)
    ]


@overload
def whole(number: int | str | float) -> int | str: ...
@overload
def whole(number: None) -> None: ...
def whole(number: Scalar) -> int | str | None:
    """Return an id that a writer gave as ``1.0`` as the integer it is.

    Examples
    --------
    >>> whole(1.0), whole("7"), whole(0.5)
    (1, '7', '0.5')
    """
    if isinstance(number, float):
        return int(number) if number.is_integer() else repr(number)
    return number


def integers(cells: Sequence[Any]) -> tuple[NDArray[np.int64], list[int]]:
    """Read whole numbers, texts and truth values among them; −1 where a cell is none.

    Returns
    -------
    values : int64[n]
    long : list of int
        The places whose number does not fit; their value is −1.

    Examples
    --------
    >>> values, long = integers([7, "0x10", 2.0, "stream", 2**70])
    >>> values.tolist(), long
    ([7, 16, 2, -1, -1], [4])
    """
    if set(map(type, cells)) == {int}:
        try:
            return np.array(cells, np.int64), []
        except OverflowError:
            pass
    numbers = [_integer(cell) for cell in cells]
    long = [place for place, number in enumerate(numbers) if not -(2**63) <= number < 2**63]
    for place in long:
        numbers[place] = -1
    return np.array(numbers, np.int64), long


def _integer(cell: Any) -> int:
    if isinstance(cell, str):
        base = 10 if _INTEGER.match(cell) else 16 if _HEX.match(cell) else 0
        if base:
            return int(cell, base) if len(cell) < _LONGEST else _BEYOND
        return _BEYOND if _FAR.match(cell) else -1
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else -1
    return int(cell)


def reals(cells: Sequence[Any]) -> tuple[NDArray[np.float64], list[int]]:
    """Read numbers, texts among them; −1 where a cell is none.

    Returns
    -------
    values : float64[n]
    long : list of int
        The places whose number does not fit; their value is −1.

    Examples
    --------
    >>> values, long = reals([0.5, "2", "many", 10**400])
    >>> values.tolist(), long
    ([0.5, 2.0, -1.0, -1.0], [3])
    """
    try:
        values = np.array(cells, np.float64)
    except (ValueError, OverflowError):
        values = np.array([_real(cell) for cell in cells], np.float64)
    long = np.flatnonzero(np.isinf(values)).tolist()
    values[~np.isfinite(values)] = -1
    return values, long


def _real(cell: Any) -> float:
    try:
        return float(cell)
    except ValueError:
        return -1.0
    except OverflowError:
        return math.inf

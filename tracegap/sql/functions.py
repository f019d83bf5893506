"""Functions of PerfettoSQL that SQLite lacks, as Python functions."""

import json
import math
import sqlite3
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import regex

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "hours": 3600 * 10**9}
_NANOSECONDS["days"] = 24 * _NANOSECONDS["hours"]

_LONGEST_MATCH_S = 0.5
"""CPU seconds for one text: some patterns take for ever on a few dozen letters. Less than `guard` waits."""
_LONGEST_PATTERN = 1_000
"""Letters of a pattern: to prepare the search for a literal that repeats itself takes the cube of that, and looks at no clock."""
_MOST_COMPARED = 100_000_000
"""Letters of a pattern times those of a text: the search for a literal looks at no clock, and lets nobody else run."""


def register(connection: sqlite3.Connection, bounds: Callable[[], tuple[int, int]]) -> None:
    """Add the functions that need nothing of the trace but its `bounds` (ns)."""
    simple: list[tuple[str, int, Callable[..., Any]]] = [
        ("regexp", 2, _regexp),
        ("str_split", 3, _str_split),
        ("ln", 1, lambda x: math.log(x) if x is not None and x > 0 else None),
        ("exp", 1, _exp),
        ("sqrt", 1, lambda x: math.sqrt(x) if x is not None and x >= 0 else None),
        ("trace_start", 0, lambda: bounds()[0]),
        ("trace_end", 0, lambda: bounds()[1]),
        ("trace_dur", 0, lambda: bounds()[1] - bounds()[0]),
    ]
    for unit, size in _NANOSECONDS.items():
        simple.append((f"time_from_{unit}", 1, lambda x, size=size: None if x is None else _number(x) * size))
        simple.append((f"time_to_{unit}", 1, lambda x, size=size: None if x is None else _number(x) // size))
    for name, count, function in simple:
        connection.create_function(name, count, function, deterministic=True)
    connection.create_aggregate("percentile", 2, _Percentile)  # type: ignore[arg-type]  # typeshed wants one argument
    connection.create_aggregate("median", 1, _Median)  # type: ignore[arg-type]


def register_relatives(connection: sqlite3.Connection, relatives: "Relatives") -> None:
    """Add the functions behind ``ancestor_slice(…)`` and its like; each answers ids as a JSON array."""
    table: dict[str, Callable[[int], Iterable[int]]] = {
        "__ancestors": lambda one: relatives.ancestors(one),
        "__ancestors_and_self": lambda one: [one, *relatives.ancestors(one)],
        "__descendants": lambda one: relatives.descendants(one),
        "__descendants_and_self": lambda one: [one, *relatives.descendants(one)],
        "__following": lambda one: relatives.flows(one, out=True, into=False),
        "__preceding": lambda one: relatives.flows(one, out=False, into=True),
        "__connected": lambda one: relatives.flows(one, out=True, into=True),
    }
    for name, function in table.items():

        def answer(one: int | None, function: Callable[[int], Iterable[int]] = function) -> str:
            return "[]" if one is None else json.dumps(list(function(one)))

        connection.create_function(name, 1, answer, deterministic=True)


class Relatives:
    """Who stands on whom, and which flows touch a slice; both are asked of `connection` when first needed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def ancestors(self, one: int) -> list[int]:
        """Return the slices around a slice, from the inside out."""
        return self._column(
            "WITH RECURSIVE up(id) AS (SELECT parent_id FROM slice WHERE id = ? UNION ALL "
            "SELECT s.parent_id FROM slice s JOIN up ON s.id = up.id) SELECT id FROM up WHERE id IS NOT NULL",
            one,
        )

    def descendants(self, one: int) -> list[int]:
        """Return the slices inside a slice, by id."""
        return self._column(
            "WITH RECURSIVE down(id) AS (SELECT id FROM slice WHERE parent_id = ? UNION ALL "
            "SELECT s.id FROM slice s JOIN down ON s.parent_id = down.id) SELECT id FROM down ORDER BY id",
            one,
        )

    def flows(self, one: int, *, out: bool, into: bool) -> list[int]:
        """Return the flows that can be reached from a slice, in the given directions.

        Forwards the slices inside a reached one count as reached too, backwards those around it; both ways neither, and
        a slice that was reached backwards is not left forwards, nor the other way round.
        """
        relatives = self.descendants if out and not into else self.ancestors if into and not out else None
        found: list[int] = []
        known = {one}
        waiting = [(one, out, into)]
        for at, forwards, backwards in waiting:  # grows while it is read: breadth first
            steps: list[tuple[int | None, int, bool, bool]] = []
            if relatives is not None:
                steps += ((None, slice_id, out, into) for slice_id in relatives(at))
            if backwards:
                steps += self._steps("SELECT id, slice_out, 0, 1 FROM flow WHERE slice_in = ?", at)
            if forwards:
                steps += self._steps("SELECT id, slice_in, 1, 0 FROM flow WHERE slice_out = ?", at)
            for flow, slice_id, further, back in steps:
                if flow is not None:
                    found.append(flow)
                if slice_id not in known:
                    known.add(slice_id)
                    waiting.append((slice_id, bool(further), bool(back)))
        return found

    def _steps(self, sql: str, one: int) -> list[Any]:
        return self._connection.execute(sql, (one,)).fetchall()

    def _column(self, sql: str, one: int) -> list[int]:
        return [row[0] for row in self._connection.execute(sql, (one,))]


def _number(value: Any) -> int | float:
    if not isinstance(value, int | float):  # a text times a billion would be a very long one
        raise TypeError(value)
    return value


def _exp(x: float | None) -> float | None:
    try:
        return None if x is None else math.exp(x)
    except OverflowError:
        return math.inf


def _regexp(pattern: str | None, text: str | None) -> int | None:
    """Search, and let others run meanwhile."""
    if pattern is None or text is None:
        return None
    text = str(text)
    if len(pattern) > _LONGEST_PATTERN or len(pattern) * len(text) > _MOST_COMPARED:
        raise ValueError("too long")
    return int(_pattern(pattern).search(text, concurrent=True, timeout=_LONGEST_MATCH_S) is not None)


@lru_cache(maxsize=32)
def _pattern(pattern: str) -> Any:
    return regex.compile(pattern)


def _str_split(text: str | None, by: str | None, which: int | None) -> str | None:
    if text is None or not by or which is None:
        return None
    parts = text.split(by)
    return parts[which] if 0 <= which < len(parts) else None


class _Percentile:
    """SQLite's ``percentile(x, p)``: linear between the two nearest values, p in 0…100."""

    def __init__(self) -> None:
        self._values = array("d")
        self._share = 50.0

    def step(self, value: float | None, share: float) -> None:
        self._share = share
        if value is not None:
            self._values.append(value)

    def finalize(self) -> float | None:
        if not self._values:
            return None
        values = np.sort(np.frombuffer(self._values))
        place = self._share / 100 * (len(values) - 1)
        low = int(place)
        high = min(low + 1, len(values) - 1)
        return float(values[low] + (values[high] - values[low]) * (place - low))


class _Median(_Percentile):
    """SQLite's ``median(x)``."""

    def step(self, value: float | None) -> None:  # type: ignore[override]
        super().step(value, 50.0)

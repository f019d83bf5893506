"""Arguments of slices and values of counters: further readings of the file, event by event.

In: a `Source` and its `Import`. Out: rows for the tables ``args``, ``slice`` (``arg_set_id`` and the thread times) and
``counter``, and the values of single arguments. Equal argument sets share one number; the arguments of an end event are merged into its slice's and win.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import count
from typing import Any

import msgspec
import numpy as np

from tracegap.decode import iterate
from tracegap.events import NO_TIME
from tracegap.source import Source
from tracegap.sql.importing import SPILLED, THREAD, Import

Value = int | float | str | None

ArgRow = tuple[int, str, str, str, Value]
"""arg_set_id, flat_key, key, value_type and value."""

_Flat = dict[str, tuple[str, Any]]
"""Arguments by key: flat_key and value."""

_ENCODER = msgspec.msgpack.Encoder()
_NESTED = frozenset((dict, list))

_OF_A_THREAD = (THREAD, SPILLED)
_INT64 = range(-(2**63), 2**63)
_LONGEST_US = 4e15
"""The difference of two thread times up to this fits 64 bits of nanoseconds."""


@dataclass(frozen=True, slots=True)
class CounterValues:
    """Rows of ``counter`` (ts, track, value; by time) and the tracks: (name, upid), numbered from 0."""

    rows: list[tuple[int, int, float]]
    tracks: list[tuple[str, int]]


class Details:
    """What the events say beside times and names; every reading is one pass over the text.

    Parameters
    ----------
    source : Source
    imported : Import
        The slices of that file, n of them.
    """

    def __init__(self, source: Source, imported: Import) -> None:
        self._source = source
        self._imported = imported
        self._arg_set, self._thread_start, self._thread_duration = np.full((3, len(imported)), NO_TIME, np.int64)

    def values(self, keys: Iterable[str]) -> dict[str, dict[int, Value]]:
        """Return the values of some keys, by the number of the set.

        Raises
        ------
        SourceError, FormatError
            When the file cannot be read any more; of `rows`, while they are taken.
        """
        found: dict[str, dict[int, Value]] = {key: {} for key in keys}
        for set_id, flat in self._sets():
            for key, values in found.items():
                leaf = flat.get(key)
                if leaf is not None:
                    values[set_id] = typed(leaf[1])[1]
        for set_id, key, text in self._flow_rows():
            if key in found:
                found[key][set_id] = text
        return found

    def rows(self) -> Iterator[ArgRow]:
        """Yield the arguments of all sets."""
        for set_id, flat in self._sets():
            for key, (flat_key, value) in flat.items():
                kind, stored = typed(value)
                yield set_id, flat_key, key, kind, stored
        for set_id, key, text in self._flow_rows():
            yield set_id, key, key, "string", text

    def slice_columns(self) -> tuple[list[int | None], list[int | None], list[int | None]]:
        """Return arg_set_id, thread_ts and thread_dur (ns) of all slices; of use when a reading has ended."""
        columns = (self._arg_set, self._thread_start, self._thread_duration)
        sets, starts, durations = ([None if one == NO_TIME else one for one in column.tolist()] for column in columns)
        return sets, starts, durations

    @cached_property
    def flow_sets(self) -> dict[tuple[int, int], int]:
        """Numbers of the argument sets of flows, by the ids of name and category: they follow those of slices."""
        events, flows = self._imported.events, self._imported.flow_event
        names = zip(events.name[flows].tolist(), events.category[flows].tolist(), strict=True)
        return dict(zip(dict.fromkeys(names), count(int(self._arg_set.max(initial=-1)) + 1), strict=False))

    def _flow_rows(self) -> Iterator[tuple[int, str, str | None]]:
        strings = self._imported.events.strings
        for texts, set_id in self.flow_sets.items():
            for key, text in zip(("name", "cat"), texts, strict=True):
                yield set_id, key, strings[text] if text >= 0 else None

    def _sets(self) -> Iterator[tuple[int, _Flat]]:
        """Yield each set with its number, equal ones once; no more of it is kept than that."""
        numbers: dict[bytes, int] = {}
        for slice_id, flat in self._arguments():
            known = len(numbers)
            set_id = self._arg_set[slice_id] = numbers.setdefault(_digest(flat), known)
            if set_id == known:
                yield known, flat

    def _arguments(self) -> Iterator[tuple[int, _Flat]]:
        """Yield the slices that have arguments, with them: those of an end event are added and win; note thread times."""
        imported = self._imported
        waiting: dict[int, _Flat] = {}  # slices of two events of which one is read
        ends: dict[int, int] = {}
        begun, ended = imported.slice_of(imported.event).tolist(), imported.slice_of(imported.end_event).tolist()
        two_events = (imported.end_event >= 0).tolist()
        of_thread = np.isin(np.array(imported.track_kind)[imported.track], _OF_A_THREAD).tolist()
        for event, begin, end in zip(iterate(self._source), begun, ended, strict=False):  # the file may have grown
            slice_id = max(begin, end)
            if slice_id < 0:
                continue
            arguments = event.get("args")
            flat = _flatten(arguments) if arguments and isinstance(arguments, dict) else {}
            if begin < 0:
                ended_at = _nanoseconds(event.get("tts"))
                if ended_at is not None:
                    ends[slice_id] = ended_at
            elif of_thread[slice_id]:
                self._note_times(slice_id, event)
            if two_events[slice_id]:
                if slice_id not in waiting:
                    waiting[slice_id] = flat
                    continue
                other = waiting.pop(slice_id)
                flat = {**other, **flat} if begin < 0 else {**flat, **other}
            if flat:
                yield slice_id, flat
        for slice_id, ended_at in ends.items():
            if self._thread_start[slice_id] != NO_TIME:
                self._thread_duration[slice_id] = ended_at - self._thread_start[slice_id]

    def _note_times(self, slice_id: int, event: Mapping[str, Any]) -> None:
        for name, column in (("tts", self._thread_start), ("tdur", self._thread_duration)):
            value = _nanoseconds(event[name]) if name in event else None
            if value is not None:
                column[slice_id] = value


def _digest(flat: _Flat) -> bytes:
    """Return 16 bytes that are equal for equal arguments in the same order and, but for chance, for no others."""
    try:
        text = _ENCODER.encode(flat)
    except OverflowError:  # integers of more than 64 bits
        text = repr(flat).encode()
    return blake2b(text, digest_size=16).digest()


def read_counters(source: Source, imported: Import) -> CounterValues:
    """Read the values of counter events: one track for each process, id and argument; one pass over the text."""
    events = imported.events
    wanted = (events.phase == ord("C")) & (events.start >= 0)
    found: list[tuple[int, int, str, int, float]] = []
    numbers = range(len(events) if wanted.any() else 0)
    for row, event in zip(numbers, iterate(source), strict=False):  # the file may have grown
        arguments = event.get("args")
        if not wanted[row] or not isinstance(arguments, dict):
            continue
        name = events.strings[events.name[row]] if events.name[row] >= 0 else ""
        if isinstance(event.get("id"), str):
            name += f" id: {event['id']}"
        upid = int(imported.threads.upid[imported.threads.utid[events.thread[row]]])
        for key, value in arguments.items():
            number = _number_of(value)
            if number is not None:
                found.append((int(events.start[row]), len(found), f"{name} {key}", upid, number))
    found.sort()
    tracks: dict[tuple[str, int], int] = {}
    rows = [(ts, tracks.setdefault((name, upid), len(tracks)), value) for ts, _, name, upid, value in found]
    return CounterValues(rows, list(tracks))


def _number_of(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _nanoseconds(value: Any) -> int | None:
    """Turn microseconds into ns, half away from zero as Perfetto rounds thread times."""
    number = _number_of(value)
    if number is None or abs(number) > _LONGEST_US:
        return None
    return int(abs(number) * 1000 + 0.5) * (1 if number >= 0 else -1)


def _flatten(arguments: Mapping[str, Any]) -> _Flat:
    """Write nested arguments as one key each: ``args.shape[0][1]``, ``args.a.b``; empty ones and nulls are left out.

    Examples
    --------
    >>> _flatten({"shape": [[8, 2.5]], "in[0]": True})
    {'args.shape[0][0]': ('args.shape', 8), 'args.shape[0][1]': ('args.shape', 2.5), 'args.in[0]': ('args.in[0]', True)}
    """
    flat: _Flat = {}
    for name, value in arguments.items():
        key = f"args.{name}"
        if type(value) in _NESTED:
            _spread(key, value, flat)
        elif value is not None:
            flat[key] = key, value
    return flat


def _spread(name: str, value: Any, flat: _Flat) -> None:
    stack = [(name, name, value)]
    while stack:
        key, flat_key, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{key}.{name}", f"{flat_key}.{name}", one) for name, one in reversed(value.items()))
        elif not isinstance(value, list):
            if value is not None:
                flat[key] = flat_key, value
        elif not _NESTED.isdisjoint(map(type, value)):
            stack.extend((f"{key}[{place}]", flat_key, value[place]) for place in reversed(range(len(value))))
        else:
            for place, one in enumerate(value):
                if one is not None:
                    flat[f"{key}[{place}]"] = flat_key, one


def typed(value: Any) -> tuple[str, Value]:
    """Return what ``args.value_type`` says, and what SQLite holds.

    Integers beyond int64 are reals, and texts where no float holds them.
    """
    if isinstance(value, str):
        return "string", value
    if isinstance(value, bool):
        return "bool", int(value)
    if isinstance(value, float) or value in _INT64:
        return ("real" if isinstance(value, float) else "int"), value
    return ("real", float(value)) if abs(value) <= sys.float_info.max else ("string", str(value))

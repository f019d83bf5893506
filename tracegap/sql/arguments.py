"""Arguments of slices and values of counters: the second reading of the file, event by event.

In: a `Source` and its `Import`. Out: rows for the tables ``args``, ``slice`` (``arg_set_id`` and the thread times) and
``counter``. Equal argument sets share one number; the arguments of an end event are merged into its slice's and win.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracegap.decode import iterate
from tracegap.source import Source
from tracegap.sql.importing import SPILLED, THREAD, Import

ArgRow = tuple[int, str, str, int | None, str | None, float | None, str]
"""arg_set_id, flat_key, key, int_value, string_value, real_value, value_type."""

_Leaf = tuple[str, str, Any]
"""flat_key, value_type and value of one argument."""

_OF_A_THREAD = (THREAD, SPILLED)
_INT64 = range(-(2**63), 2**63)
_LONGEST_US = 4e15
"""The difference of two thread times up to this fits 64 bits of nanoseconds."""


@dataclass(frozen=True, slots=True)
class Details:
    """What the events say beside times and names.

    Attributes
    ----------
    sets : list of tuple
        Rows of ``args``.
    of_slice : list of (int, int or None, int or None, int)
        arg_set_id, thread_ts, thread_dur (ns) and the slice, for slices that have any of them.
    of_flow : dict of (int, int) to int
        arg_set_id by the name and category id of a flow.
    """

    sets: list[ArgRow] = field(default_factory=list)
    of_slice: list[tuple[int | None, int | None, int | None, int]] = field(default_factory=list)
    of_flow: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CounterValues:
    """Rows of ``counter`` (ts, track, value; by time) and the tracks: (name, upid), numbered from 0."""

    rows: list[tuple[int, int, float]]
    tracks: list[tuple[str, int]]


def read_details(source: Source, imported: Import) -> Details:
    """Read arguments and thread times of all slices; one pass over the text."""
    slice_of: dict[int, int] = dict(zip(imported.event.tolist(), range(len(imported)), strict=True))
    ended = np.flatnonzero(imported.end_event >= 0)
    end_of: dict[int, int] = dict(zip(imported.end_event[ended].tolist(), ended.tolist(), strict=True))
    track = imported.track.tolist()
    own: dict[int, dict[str, _Leaf]] = {}
    times: dict[int, tuple[int | None, int | None]] = {}
    ends: dict[int, int] = {}
    for row, event in enumerate(iterate(source)):
        number = slice_of.get(row)
        if number is None:
            number = end_of.get(row)
            if number is not None:
                if isinstance(event.get("args"), dict):
                    own[number] = {**own.get(number, {}), **_flatten(event["args"])}
                ended_at = _nanoseconds(event.get("tts"))
                if ended_at is not None:
                    ends[number] = ended_at
            continue
        arguments = event.get("args")
        if arguments and isinstance(arguments, dict):
            own[number] = {**_flatten(arguments), **own.get(number, {})}
        if ("tts" in event or "tdur" in event) and imported.track_kind[track[number]] in _OF_A_THREAD:
            times[number] = _nanoseconds(event.get("tts")), _nanoseconds(event.get("tdur"))
    for number, end in ends.items():
        begin = times.get(number, (None, None))[0]
        times[number] = begin, None if begin is None else end - begin
    return _number(imported, own, times)


def _number(
    imported: Import, own: Mapping[int, dict[str, _Leaf]], times: Mapping[int, tuple[int | None, int | None]]
) -> Details:
    """Give equal argument sets one number, in order of their first slice."""
    details = Details()
    numbers: dict[tuple[Any, ...], int] = {}
    for slice_id in sorted(own.keys() | times.keys()):
        flat = own.get(slice_id)
        set_id = None
        if flat:
            key = tuple(flat.items())
            set_id = numbers.get(key)
            if set_id is None:
                set_id = numbers[key] = len(numbers)
                details.sets.extend(_row(set_id, key, *leaf) for key, leaf in flat.items())
        details.of_slice.append((set_id, *times.get(slice_id, (None, None)), slice_id))
    events = imported.events
    names = zip(events.name[imported.flow_event].tolist(), events.category[imported.flow_event].tolist(), strict=True)
    for set_id, (name, category) in enumerate(dict.fromkeys(names), len(numbers)):
        details.of_flow[name, category] = set_id
        for what, text in (("name", name), ("cat", category)):
            value = events.strings[text] if text >= 0 else None
            details.sets.append((set_id, what, what, None, value, None, "string"))
    return details


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


def _flatten(arguments: Mapping[str, Any]) -> dict[str, _Leaf]:
    """Write nested arguments as one key each: ``args.shape[0][1]``, ``args.a.b``; empty ones and nulls are left out.

    Examples
    --------
    >>> _flatten({"shape": [[8, 2.5]], "in[0]": True})
    {'args.shape[0][0]': ('args.shape', 'int', 8), 'args.shape[0][1]': ('args.shape', 'real', 2.5),
     'args.in[0]': ('args.in[0]', 'bool', True)}
    """
    flat: dict[str, _Leaf] = {}
    for name, value in arguments.items():
        key = f"args.{name}"
        if isinstance(value, dict | list):
            flat.update(_leaves(key, value))
        elif value is not None:
            flat[key] = key, _type_of(value), value
    return flat


def _leaves(name: str, value: Any) -> Iterator[tuple[str, _Leaf]]:
    stack = [(name, name, value)]
    while stack:
        key, flat, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((f"{key}.{name}", f"{flat}.{name}", one) for name, one in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((f"{key}[{place}]", flat, value[place]) for place in reversed(range(len(value))))
        elif value is not None:
            yield key, (flat, _type_of(value), value)


def _type_of(value: Any) -> str:
    """Return what ``args.value_type`` says; integers beyond int64 are reals, and texts where no float holds them."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if value in _INT64 else "real" if abs(value) <= sys.float_info.max else "string"
    return "real" if isinstance(value, float) else "string"


def _row(set_id: int, key: str, flat: str, kind: str, value: Any) -> ArgRow:
    if kind == "string":
        return set_id, flat, key, None, str(value), None, kind
    if kind == "real":
        return set_id, flat, key, None, None, float(value), kind
    return set_id, flat, key, int(value), None, None, kind

"""What is in a trace, for ``tracegap info``: the file, its steps, devices, tracks, slices and events.

In: a `Timeline`. Out: the keys of the JSON inventory, and its sections.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from tracegap import facts
from tracegap.kinds import Kind
from tracegap.problems import Severity
from tracegap.report import Column, Section, Table, named
from tracegap.timeline import Timeline
from tracegap.units import Unit, count, duration, size

_HEADER_ROWS = 40

_PHASES = {
    "X": "complete", "B": "begin", "E": "end", "i": "instant", "I": "instant", "R": "mark", "C": "counter",
    "b": "asynchronous begin", "n": "asynchronous instant", "e": "asynchronous end",
    "S": "asynchronous start", "T": "asynchronous step", "p": "asynchronous step", "F": "asynchronous finish",
    "s": "flow start", "t": "flow step", "f": "flow end", "P": "sample", "M": "metadata", "c": "clock synchronisation",
    "N": "object created", "O": "object snapshot", "D": "object destroyed", "V": "memory dump", "v": "memory dump",
    "(": "context entered", ")": "context left",
}  # fmt: skip
"""The phases of the Trace Event Format."""

_KINDS = {
    Kind.OP: "operator",
    Kind.RUNTIME: "host API call",
    Kind.SYNC: "host call that blocks on a device",
    Kind.INPUT: "data loading",
    Kind.OTHER: "other host work",
    Kind.FRAME: "Python frame",
    Kind.ANNOTATION: "range that somebody named",
    Kind.STEP: "one iteration",
    Kind.PROFILER: "the profiler's own work",
    Kind.KERNEL: "device compute",
    Kind.COMM: "communication on a device",
    Kind.COPY: "copy or set on a device",
    Kind.WAIT: "waiting on a device",
}


def keys(timeline: Timeline) -> dict[str, Any]:
    """Return ``header``, ``phases``, ``kinds``, ``categories`` and ``steps`` of the JSON inventory."""
    census, steps = timeline.census, timeline.steps
    return {
        "header": None if census is None else [{"key": key, "value": value} for key, value in census.header],
        "phases": None if census is None else [{"phase": key, "events": number} for key, number in _phases(timeline)],
        "kinds": [{"kind": kind.name.lower(), "slices": n, "self_ns": ns} for kind, n, ns in _kinds(timeline)],
        "categories": [
            {"category": name, "events": events, "slices": n, "self_ns": ns}
            for name, events, n, ns in _categories(timeline)
        ],
        "steps": {
            "count": len(steps),
            "cut": int(steps.cut.sum()),
            "first": int(steps.number.min()) if len(steps) else None,
            "last": int(steps.number.max()) if len(steps) else None,
        },
    }


def sections(timeline: Timeline) -> tuple[Section, ...]:
    """Return what is in a trace as sections."""
    found = (
        Section("file", "Who wrote the file, and what its header says", (_damage(timeline),), (_file(timeline),)),
        Section("steps", "The steps that are marked", _steps(timeline)),
        Section("devices", "Devices that were handed work", tables=(_devices(timeline),)),
        Section("tracks", "Tracks, where slices happen", tables=(_tracks(timeline),)),
        Section("kinds", "What the slices are", tables=(_kind_table(timeline),)),
        Section("events", "Events as the file has them", tables=(_category_table(timeline), _phase_table(timeline))),
    )
    return tuple(one for one in found if one.lines or any(table.rows for table in one.tables))


def _damage(timeline: Timeline) -> str:
    if not timeline.problems:
        return "Nothing was lost or repaired."
    losses = sum(one.severity is Severity.LOSS for one in timeline.problems)
    told = f"{count(losses)} may have changed what is reported" if losses else "none changed what is reported"
    return f"Problems, listed at the end: {count(len(timeline.problems))}, of which {told}."


def _file(timeline: Timeline) -> Table:
    header = () if timeline.census is None else timeline.census.header
    known, packed = timeline.producer, timeline.file.get("bytes")
    rows = [
        ("producer", f"{known} (dialect {timeline.dialect})" if known else f"dialect {timeline.dialect}"),
        *([("size", f"{size(packed)}, as stored")] if isinstance(packed, int) else []),
        ("length", duration(timeline.end - timeline.start)),
        ("time 0 is", f"{Decimal(timeline.origin).scaleb(-9):,.9f} s of the file's clock"),
        *header[:_HEADER_ROWS],
    ]
    return Table(
        "", _columns(("", Unit.TEXT), ("", Unit.TEXT), rows=rows), total=len(rows) + max(len(header) - _HEADER_ROWS, 0)
    )


def _steps(timeline: Timeline) -> tuple[str, ...]:
    steps = timeline.steps
    if not len(steps):
        return ("None are marked, so the whole trace is looked at; --step-name says which slices are steps.",)
    spans = np.sort(steps.end - steps.start)
    cut = int(steps.cut.sum())
    tracks = sorted({timeline.tracks.label[row] for row in steps.track.tolist()})
    where = named(tracks[0]) if len(tracks) == 1 else f"{count(len(tracks))} tracks"
    if len(steps) == 1:
        told = f"1 step on {where}, number {steps.number[0]}: {duration(int(spans[0]))}."
    else:
        told = f"{count(len(steps))} steps on {where}, numbered {steps.number.min()} to {steps.number.max()}: "
        told += f"median {duration(int(np.median(spans)))}, {duration(int(spans[0]))} to {duration(int(spans[-1]))}."
    return (told, f"The recording cut {count(cut)} of these off.") if cut else (told,)


def _devices(timeline: Timeline) -> Table:
    tracks = timeline.tracks
    rows = []
    for place, device in enumerate(timeline.devices):
        own = tracks.device == place
        memory, processors = (device.properties.get(key) for key in ("totalGlobalMem", "numSms"))
        rows.append(
            (
                device.label,
                device.name or None,
                int(np.count_nonzero(own & (tracks.last > tracks.first))),
                int((tracks.last - tracks.first)[own].sum()),
                memory if isinstance(memory, int) else None,
                processors if isinstance(processors, int) else None,
            )
        )
    columns = (("device", Unit.TEXT), ("", Unit.TEXT), ("tracks", Unit.COUNT), ("slices", Unit.COUNT))
    return Table("", _columns(*columns, ("memory", Unit.BYTES), ("processors", Unit.COUNT), rows=rows))


def _tracks(timeline: Timeline) -> Table:
    slices, tracks = timeline.slices, timeline.tracks
    told = facts.tracks(timeline)
    alike = len({track["name"] for track in told}) < len(told)  # only then is it worth the width
    rows = []
    for track in told:
        part = slice(int(tracks.first[track["track"]]), int(tracks.last[track["track"]]))
        extent = int(slices.end[part].max() - slices.start[part].min())
        process = track["process"] if alike else None
        rows.append((track["name"], track["role"], track["device"], track["slices"], extent, process))
    columns = (("track", Unit.TEXT), ("role", Unit.TEXT), ("device", Unit.TEXT), ("slices", Unit.COUNT))
    return Table("", _columns(*columns, ("from first to last", Unit.NANOSECONDS), ("process", Unit.TEXT), rows=rows))


def _kind_table(timeline: Timeline) -> Table:
    rows = [(kind.name.lower(), number, time, _KINDS[kind]) for kind, number, time in _kinds(timeline)]
    columns = (("kind", Unit.TEXT), ("slices", Unit.COUNT), ("self time", Unit.NANOSECONDS), ("", Unit.TEXT))
    return Table("", _columns(*columns, rows=rows))


def _category_table(timeline: Timeline) -> Table:
    rows = [
        (name, events, slices or None, time if slices else None) for name, events, slices, time in _categories(timeline)
    ]
    columns = (("category", Unit.TEXT), ("events", Unit.COUNT), ("slices", Unit.COUNT), ("self time", Unit.NANOSECONDS))
    return Table("", _columns(*columns, rows=rows))


def _phase_table(timeline: Timeline) -> Table:
    rows = [(phase, number, _PHASES.get(phase)) for phase, number in _phases(timeline)]
    return Table("", _columns(("phase", Unit.TEXT), ("events", Unit.COUNT), ("", Unit.TEXT), rows=rows))


def _columns(*headings: tuple[str, Unit], rows: Sequence[tuple[Any, ...]]) -> tuple[Column, ...]:
    return tuple(
        Column(heading, unit, tuple(row[place] for row in rows)) for place, (heading, unit) in enumerate(headings)
    )


def _phases(timeline: Timeline) -> list[tuple[str, int]]:
    """Return phase and events, the most frequent first."""
    found = {} if timeline.census is None else timeline.census.phases
    return [(phase or "(none)", number) for phase, number in sorted(found.items(), key=lambda one: -one[1])]


def _kinds(timeline: Timeline) -> list[tuple[Kind, int, int]]:
    """Return kind, slices and self time."""
    slices = timeline.slices
    numbers = np.bincount(slices.kind, minlength=256)
    times = _sums(slices.kind, slices.self_time, 256)
    return [(kind, int(numbers[kind]), int(times[kind])) for kind in Kind if numbers[kind]]


def _categories(timeline: Timeline) -> list[tuple[str, int | None, int, int]]:
    """Return category, events (None where nobody counted them), slices and self time, that of most slices first."""
    slices = timeline.slices
    ids, place = np.unique(slices.category, return_inverse=True)
    numbers = np.bincount(place, minlength=len(ids))
    times = _sums(place, slices.self_time, len(ids))
    found: dict[str, tuple[int, int]] = {}
    for one, number, time in zip(ids.tolist(), numbers.tolist(), times.tolist(), strict=True):
        name = timeline.names[one] if one >= 0 else ""
        others = found.get(name, (0, 0))  # of events whose category is empty, beside those that have none
        found[name] = others[0] + number, others[1] + time
    events = timeline.census.categories if timeline.census is not None else None
    rows = [
        (name or "(none)", None if events is None else events.get(name, 0), *found.get(name, (0, 0)))
        for name in {**found, **(events or {})}
    ]
    return sorted(rows, key=lambda row: (-row[2], -(row[1] or 0)))


def _sums(groups: np.ndarray, values: np.ndarray, number: int) -> np.ndarray:
    """Add int64 `values` by group, exactly: ``bincount`` with weights would go through float64."""
    out = np.zeros(number, np.int64)
    np.add.at(out, groups, values)
    return out

"""What a report says of the trace itself: where it is from, what is in it, and the few words of the headline.

In: a `Timeline` and a `Window`. Out: the keys ``tool``, ``trace`` and ``window`` of the JSON report, and the sections of the inventory.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tracegap
from tracegap.kinds import Kind, Role
from tracegap.report import Column, Section, Table
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, count, duration


def trace_facts(timeline: Timeline) -> dict[str, Any]:
    """Return ``trace`` of the JSON report."""
    return {
        **timeline.file,
        "dialect": timeline.dialect,
        "producer": timeline.producer or None,
        "slices": len(timeline.slices),
        "origin_ns": timeline.origin,
        "duration_ns": timeline.end - timeline.start,
        "devices": [{"device": device.label, "name": device.name or None} for device in timeline.devices],
        "tracks": _tracks(timeline),
    }


def tool_facts(command: Sequence[str]) -> dict[str, str]:
    """Return ``tool`` of the JSON report: the version, and the command line where there was one."""
    return (
        {"version": tracegap.__version__, "command": shlex.join(command)}
        if command
        else {"version": tracegap.__version__}
    )


def window_facts(window: Window) -> dict[str, Any]:
    """Return ``window`` of the JSON report."""
    return {"start_ns": window.start, "end_ns": window.end, "wall_ns": window.wall, "basis": window.basis}


def headline(timeline: Timeline, window: Window) -> tuple[str, ...]:
    """Return what was recorded on what, how much of it is looked at, and how many events that took."""
    steps = len(window.steps)
    extent = duration(window.wall)
    if steps:
        extent = f"{count(steps)} step{'s' if steps > 1 else ''}, {extent}"
    elif window.basis == "user":
        extent = f"{extent} of {duration(timeline.end - timeline.start)}"
    events = timeline.file.get("events")
    sizes = f"{count(events)} events" if isinstance(events, int) else f"{count(len(timeline.slices))} slices"
    return (_machine(timeline), extent, sizes)


def contents(timeline: Timeline) -> dict[str, Any]:
    """Return ``kinds``, ``categories`` and ``steps`` of the JSON inventory."""
    return {
        "kinds": [
            {"kind": name, "slices": number, "self_ns": time} for name, number, time in _rows(_by_kind(timeline))
        ],
        "categories": [
            {"category": name, "slices": number, "self_ns": time}
            for name, number, time in _rows(_by_category(timeline))
        ],
        "steps": {
            "count": len(timeline.steps),
            "cut": int(timeline.steps.cut.sum()),
            "first": int(timeline.steps.number.min()) if len(timeline.steps) else None,
            "last": int(timeline.steps.number.max()) if len(timeline.steps) else None,
        },
    }


def _rows(table: Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.values for column in table.columns), strict=True))


def inventory(timeline: Timeline) -> tuple[Section, ...]:
    """Return the contents of a trace as sections: its tracks, its slices by kind and by category."""
    slices = timeline.slices
    extents = [int(slices.end[part].max() - slices.start[part].min()) for part in _parts(timeline)]
    facts = _tracks(timeline)
    tracks = Table(
        "Tracks",
        (
            Column("", Unit.TEXT, tuple(track["name"] for track in facts)),
            Column("role", Unit.TEXT, tuple(track["role"] for track in facts)),
            Column("device", Unit.TEXT, tuple(track["device"] for track in facts)),
            Column("slices", Unit.COUNT, tuple(track["slices"] for track in facts)),
            Column("extent", Unit.NANOSECONDS, tuple(extents)),
        ),
        brief=20,
    )
    return (
        Section("tracks", "Tracks", tables=(tracks,)),
        Section("kinds", "What the slices are", tables=(_by_kind(timeline), _by_category(timeline))),
    )


def _parts(timeline: Timeline) -> list[slice]:
    tracks = timeline.tracks
    return [
        slice(first, last)
        for first, last in zip(tracks.first.tolist(), tracks.last.tolist(), strict=True)
        if last > first
    ]


def _tracks(timeline: Timeline) -> list[dict[str, Any]]:
    tracks = timeline.tracks
    out = []
    for row in np.flatnonzero(tracks.last > tracks.first).tolist():
        device, process = int(tracks.device[row]), int(tracks.process[row])
        out.append(
            {
                "track": row,
                "name": tracks.label[row],
                "role": Role(int(tracks.role[row])).name.lower(),
                "ordered": bool(tracks.ordered[row]),
                "device": timeline.devices[device].label if device >= 0 else None,
                "process": timeline.processes[process] if 0 <= process < len(timeline.processes) else None,
                "slices": int(tracks.last[row] - tracks.first[row]),
            }
        )
    return out


def _machine(timeline: Timeline) -> str:
    """``PyTorch on 8 × NVIDIA A100``; the label where the trace does not name the device."""
    producer = timeline.producer or timeline.dialect
    names = Counter(device.name for device in timeline.devices if device.name)
    if not timeline.devices:
        return producer
    if not names:
        labels = [device.label for device in timeline.devices]
        return f"{producer} on {', '.join(labels) if len(labels) <= 2 else f'{len(labels)} devices'}"
    told = [name if number == 1 else f"{number} × {name}" for name, number in names.most_common(2)]
    return f"{producer} on {', '.join(told)}{' and others' if len(names) > 2 else ''}"


def _by_kind(timeline: Timeline) -> Table:
    slices = timeline.slices
    numbers = np.bincount(slices.kind, minlength=256)
    times = _sums(slices.kind, slices.self_time, 256)
    kinds = [kind for kind in Kind if numbers[kind]]
    return Table(
        "Slices by kind",
        (
            Column("", Unit.TEXT, tuple(kind.name.lower() for kind in kinds)),
            Column("slices", Unit.COUNT, tuple(int(numbers[kind]) for kind in kinds)),
            Column("self time", Unit.NANOSECONDS, tuple(int(times[kind]) for kind in kinds)),
        ),
        brief=20,
    )


def _by_category(timeline: Timeline) -> Table:
    slices = timeline.slices
    ids, place = np.unique(slices.category, return_inverse=True)
    numbers = np.bincount(place, minlength=len(ids))
    times = _sums(place, slices.self_time, len(ids))
    order = np.argsort(-numbers, kind="stable").tolist()
    return Table(
        "Slices by category",
        (
            Column("", Unit.TEXT, tuple(timeline.names[ids[row]] if ids[row] >= 0 else "(none)" for row in order)),
            Column("slices", Unit.COUNT, tuple(int(numbers[row]) for row in order)),
            Column("self time", Unit.NANOSECONDS, tuple(int(times[row]) for row in order)),
        ),
        brief=20,
    )


def _sums(groups: np.ndarray, values: np.ndarray, number: int) -> np.ndarray:
    """Add int64 `values` by group, exactly: ``bincount`` with weights would go through float64."""
    out = np.zeros(number, np.int64)
    np.add.at(out, groups, values)
    return out


def reproduce(command: tuple[str, ...], file: Mapping[str, object]) -> tuple[str, ...]:
    """Return the command line that makes the report again, without where it was written."""
    if command:
        return command
    return ("tracegap", "analyze", str(file.get("source", "TRACE")))

"""What a report says of the trace itself: where it is from, what is in it, and the few words of the headline.

In: a `Timeline` and a `Window`. Out: the keys ``tool``, ``trace`` and ``window`` of the JSON report.
"""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import tracegap
from tracegap.kinds import Role
from tracegap.timeline import Timeline, Window
from tracegap.units import count, duration


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
        "tracks": tracks(timeline),
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


def tracks(timeline: Timeline) -> list[dict[str, Any]]:
    """Return ``trace.tracks`` of the JSON report: those with slices."""
    every = timeline.tracks
    out = []
    for row in np.flatnonzero(every.last > every.first).tolist():
        device, process = int(every.device[row]), int(every.process[row])
        out.append(
            {
                "track": row,
                "name": every.label[row],
                "role": Role(int(every.role[row])).name.lower(),
                "ordered": bool(every.ordered[row]),
                "device": timeline.devices[device].label if device >= 0 else None,
                "process": timeline.processes[process] if 0 <= process < len(timeline.processes) else None,
                "slices": int(every.last[row] - every.first[row]),
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


def reproduce(command: tuple[str, ...], file: Mapping[str, object]) -> tuple[str, ...]:
    """Return the command line that makes the report again, without where it was written."""
    if command:
        return command
    return ("tracegap", "analyze", str(file.get("source", "TRACE")))

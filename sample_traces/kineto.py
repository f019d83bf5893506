"""Write trace files in the shape that PyTorch's profiler (Kineto) gives them, one event a line.

Times go in as integer nanoseconds from the start of the trace and are written as decimal microseconds, digit by digit:
a float would lose the last ones.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

BASE = 5_093_284_995_839_370
"""Where a trace starts on the file's clock, in ns: an odd number on purpose, beyond what a float of µs holds exactly."""

_WALL = 1_790_857_026_000_000_000
A100 = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-80GB",
    "totalGlobalMem": 84_987_740_160,
    "computeMajor": 8,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 32,
    "sharedMemPerBlock": 49152,
    "numSms": 108,
}


def microseconds(ns: int) -> str:
    """Write ns as decimal µs, exactly."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def slice_(cat: str, name: str, pid: int | str, tid: int | str, start: int, end: int, args: Mapping[str, Any]) -> str:
    """Write a complete event."""
    head = f'"ph":"X","cat":"{cat}","name":{json.dumps(name)},"pid":{json.dumps(pid)},"tid":{json.dumps(tid)}'
    times = f'"ts":{microseconds(BASE + start)},"dur":{microseconds(end - start)}'
    return f'{{{head},{times},"args":{json.dumps(args)}}}'


def arrow(phase: str, cat: str, identity: int, pid: int, tid: int, time: int) -> str:
    """Write one end of a flow: phase ``s`` or ``f``."""
    binding = ',"bp":"e"' if phase == "f" else ""
    place = f'"ph":"{phase}","id":{identity},"pid":{pid},"tid":{tid},"ts":{microseconds(BASE + time)}'
    return f'{{{place},"cat":"{cat}","name":"{cat}"{binding}}}'


def metadata(name: str, pid: int | str, tid: int | str, args: Mapping[str, Any]) -> str:
    """Write an M event."""
    place = f'"pid":{json.dumps(pid)},"tid":{json.dumps(tid)}'
    return f'{{"ph":"M","name":"{name}","ts":{microseconds(BASE)},{place},"args":{json.dumps(args)}}}'


def process(pid: int, label: str, threads: Mapping[int, str]) -> list[str]:
    """Write the names of a process and its threads."""
    sort = pid if label == "CPU" else 5_000_000 + pid
    rows = [
        metadata("process_name", pid, 0, {"name": "python"}),
        metadata("process_labels", pid, 0, {"labels": label}),
        metadata("process_sort_index", pid, 0, {"sort_index": sort}),
    ]
    for tid, name in threads.items():
        rows.append(metadata("thread_name", pid, tid, {"name": name}))
        rows.append(metadata("thread_sort_index", pid, tid, {"sort_index": tid}))
    return rows


def document(events: Iterable[str], *, end: int, name: str, header: Mapping[str, Any] | None = None) -> bytes:
    """Put events between the profiler's own rows, which span the recording ``[0, end)``."""
    top = {
        "schemaVersion": 1,
        "deviceProperties": [],
        **(header or {}),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": _WALL,
    }
    own = [
        slice_("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 0, end, {"Op count": 0}),
        metadata("process_sort_index", "Spans", 0, {"sort_index": 536_870_912}),
        _instant("Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", 0),
        _instant("Record Window End", "", "", end),
    ]
    lines = ",\n".join([*events, *own])
    head = "".join(f'"{key}": {json.dumps(value)},\n' for key, value in top.items())
    return f'{{\n{head}"traceEvents": [\n{lines}\n],\n"traceName": "{name}"\n}}\n'.encode()


def _instant(name: str, pid: str, tid: str, time: int) -> str:
    return f'{{"ph":"i","s":"g","name":"{name}","pid":"{pid}","tid":"{tid}","ts":{microseconds(BASE + time)}}}'

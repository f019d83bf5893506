"""A trace as both engines must read it alike: what docs/reference/sql.md names as a difference is taken out of it."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tracegap.decode import decode, iterate
from tracegap.events import NO_TIME
from tracegap.source import open_source
from tracegap.sql.flows import flow_id
from tracegap.sql.importing import SPILLED, Import, build

_TEXT = {**dict.fromkeys(range(32), "_"), ord("\\"): "/", ord('"'): "'", 0xFFFD: "_"}
_FIRST_THREAD = 1_000_000


def write_plain(trace: Path, target: Path) -> None:
    """Write the events without those that Perfetto drops or spills, with times that doubles hold, and plain texts and ids."""
    source = open_source(trace)
    events = decode(source, {})
    imported = build(events)
    kinds = np.array([*imported.track_kind, -1])
    kept = np.isin(events.phase, tuple(map(ord, "XBEbneiIRCstfM"))) & ((events.start >= 0) | (events.phase == ord("M")))
    kept &= (events.phase != ord("X")) | (events.duration >= 0)
    kept[imported.event[kinds[imported.track] == SPILLED]] = False
    kept[_unstarted(imported)] = False
    timed = events.start[kept & (events.start != NO_TIME)]
    shift = int(timed.min()) // 1000 * 1000 if len(timed) else 0
    threads: dict[int, int] = {}
    flows: dict[int, int] = {}
    lines = []
    for number, event in enumerate(iterate(source)):
        if kept[number]:
            plain = {key: _plain(value) for key, value in event.items()}
            if events.start[number] != NO_TIME:
                plain["ts"] = max(int(events.start[number]) - shift, 0) / 1000
            if events.phase[number] == ord("X"):
                plain["dur"] = int(events.duration[number]) / 1000
            for key in ("pid", "tid"):
                value = event.get(key)
                if isinstance(value, int) and abs(value) >= 2**31:
                    plain[key] = threads.setdefault(value, _FIRST_THREAD + len(threads))
            for key in ("id", "bind_id"):
                value = event.get(key)
                flow = flow_id(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
                if flow is not None and (key == "bind_id" or event["ph"][0] in "stf"):
                    plain[key] = flows.setdefault(flow, len(flows))
            lines.append(orjson.dumps(plain))
    target.write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")


def _unstarted(imported: Import) -> list[int]:
    """Return the ends of flows that never started, which v52 draws from the first slice of the trace."""
    events = imported.events
    started, found = set(), []
    for row, top in zip(imported.flow_event.tolist(), imported.flow_top.tolist(), strict=True):
        key = events.id[row], events.name[row], events.category[row]
        if events.phase[row] == ord("s") and top >= 0:
            started.add(key)
        elif events.phase[row] == ord("f") and key not in started:
            found.append(row)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return value.translate(_TEXT)
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return float(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    return value

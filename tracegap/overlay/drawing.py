"""Rows of a track to the text of Chrome trace events, many at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracegap.events import DRAWN, Thread
from tracegap.overlay.clock import Clock

_BATCH = 10_000


@dataclass(frozen=True, eq=False)
class Bars:
    """k slices of a track: those of equal bounds nest in their order, others must nest or be apart.

    Attributes
    ----------
    start, end : int64[k]
        ``[start, end)`` in ns, on the clock of `Events`.
    looks : sequence of (name, arguments)
        What slices can look like.
    look : int[k]
        Which of `looks` each has.
    event : int[k], optional
        The event of the file each is about, told as the argument ``event``; −1 for none.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    looks: Sequence[tuple[str, Mapping[str, Any]]]
    look: NDArray[Any]
    event: NDArray[Any] | None = None


def name_process(process: int, name: str) -> bytes:
    """Write the name of a process, and that it stands above the others."""
    named = {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
    first = {"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": -1}}
    return b"%b,\n%b" % (json(named), json(first))


def name_track(process: int, track: int, name: str) -> bytes:
    """Write the name of a track and its place among the tracks of its process."""
    named = {"ph": "M", "pid": process, "tid": track, "name": "thread_name", "args": {"name": name}}
    place = {"ph": "M", "pid": process, "tid": track, "name": "thread_sort_index", "args": {"sort_index": track}}
    return b"%b,\n%b" % (json(named), json(place))


def slices(process: int, track: int, bars: Bars, clock: Clock) -> Iterator[bytes]:
    """Write slices; durations are what Perfetto will see between their rounded ends, so that neighbours stay neighbours."""
    head = b'{"ph":"X","pid":%d,"tid":%d,"ts":' % (process, track)
    tails = [_tail(name, arguments) for name, arguments in bars.looks]
    known = [b'%b%b"event":' % (tail[:-2], b"" if tail[-3:-2] == b"{" else b",") for tail in tails]
    event = np.full(len(bars.start), -1) if bars.event is None else bars.event
    for first in range(0, len(bars.start), _BATCH):
        rows = slice(first, first + _BATCH)
        start, shown = clock.exact(bars.start[rows]), clock.shown(bars.start[rows])
        at, length = _times(start), _times(clock.shown(bars.end[rows]) - shown)
        columns = at, length, bars.look[rows].tolist(), event[rows].tolist()
        yield b",\n".join(
            b'%b%b,"dur":%b,%b%d}}' % (head, ts, dur, known[look], row)
            if row >= 0
            else b'%b%b,"dur":%b,%b' % (head, ts, dur, tails[look])
            for ts, dur, look, row in zip(*columns, strict=True)
        )


def _tail(name: str, arguments: Mapping[str, Any]) -> bytes:
    """Write what stands behind a slice's times."""
    return b'"name":%b,"cat":"%b","args":%b}' % (json(name), DRAWN.encode(), json(arguments))


def arrows(
    source: Sequence[Thread], source_ns: NDArray[np.int64], target: Sequence[Thread], target_ns: NDArray[np.int64],
    names: Sequence[str], clock: Clock,
) -> Iterator[bytes]:  # fmt: skip
    """Write arrows from a moment on one thread to a moment on another; their category keeps their ids apart from the file's."""
    ends: dict[Thread, bytes] = {}
    left, arrived = (_times(clock.exact(ns)) for ns in (source_ns, target_ns))
    pieces = []
    for number, (begin, finish, name, at, later) in enumerate(zip(source, target, names, left, arrived, strict=True)):
        for thread in (begin, finish):
            if thread not in ends:
                ends[thread] = _place(thread)
        same = b'"id":%d,"cat":"%b","name":"%b"' % (number, DRAWN.encode(), name.encode())
        pieces.append(b'{"ph":"s",%b"ts":%b,%b}' % (ends[begin], at, same))
        pieces.append(b'{"ph":"f","bp":"e",%b"ts":%b,%b}' % (ends[finish], later, same))
        if len(pieces) >= _BATCH:
            yield b",\n".join(pieces)
            pieces.clear()
    if pieces:
        yield b",\n".join(pieces)


def in_lanes(bars: Bars) -> list[Bars]:
    """Divide slices in order of start over as few tracks as keep them apart."""
    lanes: list[list[int]] = []
    free: list[int] = []
    for row, (start, end) in enumerate(zip(bars.start.tolist(), bars.end.tolist(), strict=True)):
        lane = next((number for number, until in enumerate(free) if until <= start), len(free))
        if lane == len(free):
            lanes.append([])
            free.append(end)
        lanes[lane].append(row)
        free[lane] = end
    return [
        replace(
            bars,
            start=bars.start[rows],
            end=bars.end[rows],
            look=bars.look[rows],
            event=None if bars.event is None else bars.event[rows],
        )
        for rows in lanes
    ]


def json(value: object) -> bytes:
    """Write a value; half a surrogate pair in a name becomes a question mark."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _times(ns: NDArray[np.int64]) -> list[bytes]:
    """Write ns as decimal microseconds."""
    size = np.abs(ns)
    parts = zip((size // 1000).tolist(), (size % 1000).tolist(), strict=True)
    if (ns < 0).any():
        return [
            b"%b%d.%03d" % (b"-" if less else b"", *part) for less, part in zip((ns < 0).tolist(), parts, strict=True)
        ]
    return [b"%d.%03d" % part for part in parts]


def _place(thread: Thread) -> bytes:
    ends = b'"pid":%b,' % json(thread.process) if thread.process is not None else b""
    return ends + (b'"tid":%b,' % json(thread.thread) if thread.thread is not None else b"")

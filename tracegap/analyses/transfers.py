"""What collectives and copies moved, and how fast: bandwidth by collective and group, by kind and direction of copy.

In: a `Timeline` and a `Window`. Out: rows of the report. A collective's time counts from this rank's arrival, so that waiting
for others makes its bandwidth less; sizes are the profiler's own (``In msg nelems``, ``bytes``).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity
from tracegap.activity import Rows
from tracegap.analyses.roofline import label
from tracegap.costs import communication
from tracegap.directions import direction
from tracegap.kinds import Kind
from tracegap.shapes import group
from tracegap.timeline import Timeline, Window


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """Collectives of one name, group size and device; ``bytes`` is the size of their buffers, summed.

    Bandwidths are as in `tracegap.costs.communication`, over all of them: Σ bytes ÷ Σ time.
    """

    name: str
    device: str
    count: int
    duration_ns: int
    ranks: int | None = None
    bytes: int | None = None
    algorithm_bytes_per_s: float | None = None
    bus_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class CopyUse:
    """Copies of one name on one device; ``direction`` is read from the name."""

    name: str
    device: str
    count: int
    duration_ns: int
    direction: str | None = None
    bytes: int | None = None
    bytes_per_s: float | None = None


def collectives(timeline: Timeline, window: Window) -> list[CollectiveUse]:
    """Return what was communicated, the longest first; a loop over different messages only."""
    rows = _started(timeline, window, Kind.COMM)
    told = _teller(timeline, rows)
    event = timeline.slices.event[told]
    device = timeline.tracks.device[timeline.slices.track[rows]]
    arguments = ("Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size")
    columns = [timeline.slices.name[rows], device, *(timeline.arg(one).at(event) for one in arguments)]
    found: dict[tuple[str, int, int], list[tuple[int, int, int | None]]] = {}
    for values, count, time in _sums(timeline, rows, columns):
        kernel, where, collective, given, taken, dtype, ranks = values
        name = timeline.names[collective if collective >= 0 else kernel]
        word = communication.collective(name) or name
        size = communication.message_bytes(word, given, taken, timeline.names[dtype]) if dtype >= 0 else None
        found.setdefault((word, ranks, where), []).append((count, time, size))
    uses = [_collective(timeline, *key, parts) for key, parts in found.items()]
    return sorted(uses, key=lambda use: (-use.duration_ns, use.name))


def _collective(
    timeline: Timeline, word: str, ranks: int, device: int, parts: list[tuple[int, int, int | None]]
) -> CollectiveUse:
    count, time = sum(part[0] for part in parts), sum(part[1] for part in parts)
    known = [number * size for number, _, size in parts if size is not None]
    moved = sum(known) if len(known) == len(parts) else None
    rate = communication.bandwidth(word, moved, time, ranks if ranks > 0 else None) if moved else None
    return CollectiveUse(
        word,
        label(timeline, device),
        count,
        time,
        ranks if ranks > 0 else None,
        moved,
        None if rate is None else rate.algorithm_bytes_per_s,
        None if rate is None else rate.bus_bytes_per_s,
    )


def _teller(timeline: Timeline, rows: Rows) -> Rows:
    """Return the slice that carries the arguments of each collective: itself, else the operator that launched it."""
    slices = timeline.slices
    own = timeline.arg("In msg nelems").at(slices.event[rows]) >= 0
    launch = slices.launch[rows]
    operator = np.where(launch >= 0, activity.operator_of(timeline)[launch], -1)
    told: Rows = np.where(own | (operator < 0), rows, operator).astype(np.intp)
    return told


def copies(timeline: Timeline, window: Window) -> list[CopyUse]:
    """Return what was copied or set on devices, the longest first."""
    rows = _started(timeline, window, Kind.COPY)
    slices = timeline.slices
    moved = timeline.arg("bytes").at(slices.event[rows])
    columns = [slices.name[rows], timeline.tracks.device[slices.track[rows]], moved]
    found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for (name, device, size), count, time in _sums(timeline, rows, columns):
        found.setdefault((name, device), []).append((count, time, size))
    uses = []
    for (name, device), parts in found.items():
        text, time = timeline.names[name], sum(part[1] for part in parts)
        total = sum(count * size for count, _, size in parts) if all(size >= 0 for _, _, size in parts) else None
        uses.append(
            CopyUse(
                text,
                label(timeline, device),
                sum(part[0] for part in parts),
                time,
                direction(text),
                total,
                total * 1e9 / time if total is not None and time > 0 else None,
            )
        )
    return sorted(uses, key=lambda use: (-use.duration_ns, use.name))


def _started(timeline: Timeline, window: Window, kind: Kind) -> Rows:
    """Return the device slices of a kind that start in the window."""
    rows, slices = activity.device_rows(timeline), timeline.slices
    inside = (slices.start[rows] >= window.start) & (slices.start[rows] < window.end)
    chosen: Rows = rows[inside & (slices.kind[rows] == kind)]
    return chosen


def _sums(
    timeline: Timeline, rows: Rows, columns: Sequence[NDArray[np.integer]]
) -> list[tuple[tuple[int, ...], int, int]]:
    """Return the different values of some columns, with how many rows have them and their time."""
    number, first = group(columns)
    time = np.zeros(len(first), np.int64)
    np.add.at(time, number, timeline.slices.end[rows] - timeline.slices.start[rows])
    values = zip(*(column[first].tolist() for column in columns), strict=True)
    counts = np.bincount(number, minlength=len(first)).tolist()
    return list(zip(values, counts, time.tolist(), strict=True))

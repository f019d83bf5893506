"""Why a device was idle: the critical path to what waited behind each gap, as far back as the gap reaches.

In: a `Dag` and the gaps of a device. Out: `Pieces`, which tile every gap: what the time was spent on, and in what.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals, segments
from tracegap.charges import Charge
from tracegap.columns import Columns, Int32, Int64, UInt8
from tracegap.dag import Dag
from tracegap.edges import Cause
from tracegap.intervals import Intervals
from tracegap.kinds import CONTEXT, Kind, is_any
from tracegap.layers import context_layer
from tracegap.segments import Segments
from tracegap.timeline import Timeline

_MEANING = {
    Charge.OPERATOR: Charge.DISPATCH,
    Charge.KERNEL: Charge.DEPENDENCY,
    Charge.COMMUNICATION: Charge.DEPENDENCY,
    Charge.COPY: Charge.DEPENDENCY,
}
"""What work on the path is to a device that has none: an operator dispatches, work of another device is waited for."""

_WHOSE = (Charge.DISPATCH, Charge.RUNTIME, Charge.ALLOCATOR, Charge.INPUT, Charge.SYNC, Charge.DEPENDENCY)
"""Causes that are named by the slice that ran."""


@dataclass(frozen=True, eq=False)
class Pieces(Columns):
    """Stretches of gaps, in order of time: k rows.

    Attributes
    ----------
    gap : int32[k]
        Which gap each is part of.
    start, end : int64[k]
        ``[start, end)`` in ns, never empty; those of a gap tile it.
    charge : uint8[k]
        `tracegap.charges.Charge`.
    name : int32[k]
        Id into `Timeline.names`: of the slice that ran, of the range or frame that an untraced thread was in; −1 for none.
    """

    gap: Int32
    start: Int64
    end: Int64
    charge: UInt8
    name: Int32


def explain(dag: Dag, idle: Intervals, waiting: NDArray[np.intp]) -> tuple[Pieces, NDArray[np.int32]]:
    """Divide every gap among its causes.

    Parameters
    ----------
    idle : Intervals
        The gaps, inside the window.
    waiting : int[k]
        The slice that starts where each gap ends; −1 where the window does.

    Returns
    -------
    pieces : Pieces
    exposed_by : int32[k]
        The slice that left the device without work, the first of the way through the gap that is a blocking call, loading of
        input, or work of another thread that was waited for; −1 where there is none.
    """
    nodes = np.where(waiting >= 0, 2 * waiting, dag.end).astype(np.int32)
    found, gap = segments.walks(dag, nodes, idle.start)
    exposed_by = _exposed_by(dag, found, gap, len(nodes))
    charge = _charges(dag.timeline, found)
    ran = (found.slice >= 0) & (dag.owner[found.edge] == found.slice)
    ran &= np.isin(charge, _WHOSE) | _is_context(dag.timeline, found.slice)
    name = np.where(ran, dag.timeline.slices.name[found.slice], -1).astype(np.int32)
    pieces = _named(dag.timeline, replace(found, charge=charge), name)
    pieces = _profiled(dag, pieces)
    return replace(pieces, gap=np.searchsorted(idle.start, pieces.start, side="right").astype(np.int32) - 1), exposed_by


def _charges(timeline: Timeline, found: Segments) -> NDArray[np.uint8]:
    """Say what each segment means to an idle device; an annotation without operators is where an untraced thread was."""
    meaning = np.arange(256, dtype=np.uint8)
    for work, cause in _MEANING.items():
        meaning[work] = cause
    charge = meaning[found.charge]
    charge[(charge == Charge.DISPATCH) & _is_context(timeline, found.slice)] = Charge.UNTRACED_HOST
    return charge


def _is_context(timeline: Timeline, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    marked: NDArray[np.bool_] = (rows >= 0) & is_any(timeline.slices.kind[rows], CONTEXT)
    return marked


def _exposed_by(dag: Dag, found: Segments, gap: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Find the first segment of each gap that lies on a wait for a device or thread, or is loading of input."""
    source, target = dag.graph.edges.source[found.edge], dag.graph.edges.target[found.edge]
    cause = dag.cause[found.edge]
    blocked = cause == Cause.SYNC
    handed = np.isin(cause, (Cause.HANDOFF, Cause.FLOW, Cause.DATA)) & (source < dag.source)
    chosen = np.flatnonzero(blocked | handed | (found.charge == Charge.INPUT))[::-1]
    row = np.where(blocked, target >> 1, np.where(handed, source >> 1, found.slice))
    first = np.full(count, -1, np.int32)
    first[gap[chosen]] = row[chosen]  # the earliest is written last
    return first


def _named(timeline: Timeline, found: Segments, name: NDArray[np.int32]) -> Pieces:
    """Name untraced time by the innermost range or frame of its thread, cut where that changes."""
    slices = timeline.slices
    untraced = (found.charge == Charge.UNTRACED_HOST) & (name < 0) & (found.slice >= 0)
    whole = Pieces(np.zeros(len(found), np.int32), found.start, found.end, found.charge, name)
    parts = [whole.take(~untraced)]
    track = slices.track[found.slice]
    for one in np.unique(track[untraced]).tolist():
        mine = whole.take(untraced & (track == one))
        layer = context_layer(timeline, one, int(mine.start[0]), int(mine.end[-1]))
        mine = _cut(mine, np.concatenate((layer.start, layer.end)))
        place = intervals.holding(Intervals(layer.start, layer.end), mine.start)
        names = np.where(place >= 0, np.append(layer.name, np.int32(-1))[place], -1).astype(np.int32)
        parts.append(replace(mine, name=names))
    return _sorted(parts)


def _profiled(dag: Dag, pieces: Pieces) -> Pieces:
    """Charge to the profiler what passed while its own rows stand: it takes the time that others seem to take."""
    spans = segments.profiler(dag)
    if not len(spans.start):
        return pieces
    pieces = _cut(pieces, np.concatenate(spans))
    inside = intervals.holding(spans, pieces.start) >= 0
    rows = np.flatnonzero(dag.timeline.slices.kind == Kind.PROFILER)
    rows = rows[np.argsort(dag.timeline.slices.start[rows], kind="stable")]
    row = rows[np.maximum(np.searchsorted(dag.timeline.slices.start[rows], pieces.start, side="right") - 1, 0)]
    return replace(
        pieces,
        charge=np.where(inside, np.uint8(Charge.PROFILER), pieces.charge).astype(np.uint8),
        name=np.where(inside, dag.timeline.slices.name[row], pieces.name).astype(np.int32),
    )


def _cut(pieces: Pieces, moments: NDArray[np.int64]) -> Pieces:
    """Cut pieces in order of time at the given moments, as far as these lie inside one."""
    row, parts = intervals.cut(Intervals(pieces.start, pieces.end), moments)
    return replace(pieces.take(row), start=parts.start, end=parts.end)


def _sorted(parts: list[Pieces]) -> Pieces:
    joined = Pieces(
        gap=np.concatenate([part.gap for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        end=np.concatenate([part.end for part in parts]),
        charge=np.concatenate([part.charge for part in parts]),
        name=np.concatenate([part.name for part in parts]),
    )
    return joined.take(np.argsort(joined.start, kind="stable"))

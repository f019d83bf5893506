"""The critical path as stretches of time: what was on it, and why.

In: a `Dag`. Out: `Segments` that tile the window: work by the kind of its slice, waits by their cause.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals, schedule
from tracegap.calls import manages_memory
from tracegap.charges import Charge
from tracegap.columns import Bool, Columns, Int32, Int64, UInt8
from tracegap.dag import Dag
from tracegap.edges import Cause
from tracegap.kinds import CALLS, Kind, Role, is_any
from tracegap.naming import are
from tracegap.timeline import Timeline

TIGHT = 100_000
"""ns after another thread's work within which a start counts as handed over by it; later, the thread itself did something."""

OF_KIND = {
    Kind.RUNTIME: Charge.RUNTIME,
    Kind.SYNC: Charge.SYNC,
    Kind.INPUT: Charge.INPUT,
    Kind.KERNEL: Charge.KERNEL,
    Kind.COMM: Charge.COMMUNICATION,
    Kind.COPY: Charge.COPY,
}
"""Charge of a slice's work by kind; that of others is `Charge.OPERATOR`."""

DISTURBED = (Charge.UNTRACED_HOST, Charge.BETWEEN_STEPS, Charge.UNATTRIBUTED, Charge.SCHEDULING, Charge.DEPENDENCY)
"""Waits that are the profiler's where its own rows stand."""


@dataclass(frozen=True, eq=False)
class Segments(Columns):
    """Stretches of a path, one after the other: k rows.

    Attributes
    ----------
    start, end : int64[k]
        ``[start, end)`` in ns, never empty; each starts where the one before ends.
    charge : uint8[k]
        `tracegap.charges.Charge`.
    slice : int32[k]
        The slice that worked, or whose boundary waited; −1 where there is none.
    edge : int32[k]
        The edge of the graph it lies on.
    carried : bool[k]
        Whether the slice that worked began before the window.
    """

    start: Int64
    end: Int64
    charge: UInt8
    slice: Int32
    edge: Int32
    carried: Bool

    def longest(self, mask: NDArray[np.bool_]) -> int:
        """Return the slice of the longest segment in the mask, bool[k]; −1 where it has none of a slice."""
        rows = np.flatnonzero(mask & (self.slice >= 0))
        return int(self.slice[rows[np.argmax((self.end - self.start)[rows])]]) if len(rows) else -1


def path(dag: Dag) -> Segments:
    """Return the critical path of the window as segments that tile it."""
    return walk(dag, dag.end)


def walk(dag: Dag, node: int) -> Segments:
    """Return the chain of binding edges from SOURCE to a node as segments that tile the time from the window's start to it.

    Where the chain steps back in time (a kernel that starts before its launch), the step shows as nothing.
    """
    segments, _ = walks(dag, np.array([node], np.int32), np.array([dag.window.start], np.int64))
    segments = overlay(segments, between_steps(dag), over=(Charge.UNTRACED_HOST,), charge=Charge.BETWEEN_STEPS)
    return overlay(segments, profiler(dag), over=DISTURBED, charge=Charge.PROFILER)


def walks(dag: Dag, nodes: NDArray[np.int32], since: NDArray[np.int64]) -> tuple[Segments, NDArray[np.int32]]:
    """Return the chains of binding edges back from many nodes, as segments that tile the time from a moment to each node.

    Parameters
    ----------
    nodes : int32[w]
        In order of time.
    since : int64[w]
        The moments, each before its node and not before the node of the walk before.

    Returns
    -------
    segments : Segments
        Walk after walk; nothing is laid over them.
    walk : int32[k]
        Which walk each segment belongs to.
    """
    edges, time = dag.graph.edges, dag.graph.time
    rows, number = schedule.walks(dag.graph, dag.binding, nodes, since)
    source, target = edges.source[rows], edges.target[rows]
    # Walks follow one another in time, so that one running maximum serves all of them.
    reached = np.maximum.accumulate(np.clip(time[target], since[number], time[nodes][number]))
    begun = np.append(np.int64(0), reached)[:-1]
    starts = np.diff(number, prepend=-1) != 0
    begun[starts] = since[number[starts]]
    middle = np.clip(time[target] - dag.binding.delay[target], begun, reached)
    owner = dag.owner[rows]
    waiting = np.where(target < dag.source, target >> 1, source >> 1).astype(np.int32)
    waiting[waiting == dag.source >> 1] = -1
    parts = Segments(
        start=np.stack((begun, middle), axis=1).ravel(),
        end=np.stack((middle, reached), axis=1).ravel(),
        charge=np.stack((lag_charges(dag, rows), delay_charges(dag, target)), axis=1).ravel(),
        slice=np.stack((np.where(owner >= 0, owner, waiting), waiting), axis=1).ravel(),
        edge=np.repeat(rows, 2),
        carried=np.stack((_carried(dag, owner), np.zeros(len(rows), np.bool_)), axis=1).ravel(),
    )
    real = parts.end > parts.start
    return parts.take(real), np.repeat(number, 2)[real]


def _carried(dag: Dag, owner: NDArray[np.int32]) -> NDArray[np.bool_]:
    return (owner >= 0) & (dag.timeline.slices.start[owner] < dag.window.start)


def work_charges(timeline: Timeline) -> NDArray[np.uint8]:
    """Return uint8[n]: what the work of each slice is charged to."""
    table = np.full(256, Charge.OPERATOR, np.uint8)
    for kind, charge in OF_KIND.items():
        table[kind] = charge
    slices = timeline.slices
    charges = table[slices.kind]
    calls = np.flatnonzero(is_any(slices.kind, CALLS)).astype(np.int32)
    memory = are(timeline.names, slices.name[calls], manages_memory)
    charges[calls[memory]] = Charge.ALLOCATOR
    return charges


def lag_charges(dag: Dag, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return what the lag of each given edge is charged to: its owner's work, or what the edge's cause means."""
    cause, owner, target = dag.cause[rows], dag.owner[rows], dag.graph.edges.target[rows]
    charges = np.where(owner >= 0, work_charges(dag.timeline)[owner], _idle_charges(dag, rows))
    charges[cause == Cause.LAUNCH] = Charge.LAUNCH
    charges[(cause == Cause.SYNC) | (cause == Cause.QUEUE)] = Charge.SYNC
    charges[(cause == Cause.BOUNDARY) & (owner < 0) & _waits_for_launch(dag, target)] = Charge.LAUNCH
    return charges.astype(np.uint8)


def _idle_charges(dag: Dag, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Charge time that is no slice's work, by the track where it passes; a step's tail is its thread's."""
    edges = dag.graph.edges
    node = np.where(edges.target[rows] < dag.source, edges.target[rows], edges.source[rows])
    slices, tracks = dag.timeline.slices, dag.timeline.tracks
    row = np.minimum(node >> 1, len(slices) - 1)
    on_host = (tracks.role[slices.track[row]] == Role.HOST) & (node < dag.source)
    tail = (edges.target[rows] == dag.end) & (len(dag.window.steps) > 0)
    return np.where(on_host | tail, np.uint8(Charge.UNTRACED_HOST), np.uint8(Charge.UNATTRIBUTED))


def _waits_for_launch(dag: Dag, target: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which nodes are starts of device slices whose launch is known."""
    slices = dag.timeline.slices
    row = np.minimum(target >> 1, len(slices) - 1)
    return np.asarray((target < dag.source) & (target % 2 == 0) & (slices.launch[row] >= 0))


def delay_charges(dag: Dag, nodes: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return what the delay of each given node is charged to.

    A device slice whose launch is known was scheduled late, or waited inside its graph; without a launch nobody knows. A host
    slice started late because its thread did something untraced, or, right after another thread's work, because it was
    handed over.
    """
    slices, tracks = dag.timeline.slices, dag.timeline.tracks
    row = np.minimum(nodes >> 1, len(slices) - 1)
    edge = dag.binding.edge[nodes]
    cause = dag.cause[edge]
    delay = dag.binding.delay[nodes]
    on_host = (tracks.role[slices.track[row]] == Role.HOST) | (nodes >= dag.source)
    handed = np.isin(cause, (Cause.HANDOFF, Cause.FLOW, Cause.DATA)) & (delay <= TIGHT)
    host = np.where(handed, np.uint8(Charge.DEPENDENCY), np.uint8(Charge.UNTRACED_HOST))
    launch = slices.launch[row]
    device = np.where(launch >= 0, np.uint8(Charge.SCHEDULING), np.uint8(Charge.UNATTRIBUTED))
    before = np.minimum(dag.graph.edges.source[edge] >> 1, len(slices) - 1)
    same_launch = (slices.launch[before] == launch) | (_not_first(dag, row) & (cause == Cause.LAUNCH))
    device[(launch >= 0) & same_launch] = Charge.IN_GRAPH
    return np.where(on_host, host, device).astype(np.uint8)


def _not_first(dag: Dag, row: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which device slices are not the first of their launch."""
    slices = dag.timeline.slices
    linked = np.flatnonzero((slices.launch >= 0) & (dag.timeline.tracks.role[slices.track] == Role.DEVICE))
    first = np.full(len(slices), np.iinfo(np.int64).max)
    np.minimum.at(first, slices.launch[linked], slices.start[linked])
    return np.asarray((slices.launch[row] >= 0) & (slices.start[row] > first[slices.launch[row]]))


def between_steps(dag: Dag) -> intervals.Intervals:
    """Return the time of the window in no step; none where it has no steps."""
    steps = dag.timeline.steps
    if not dag.window.steps:
        return intervals.EMPTY
    whole = intervals.Intervals(np.array([dag.window.start]), np.array([dag.window.end]))
    return intervals.subtract(whole, intervals.union(steps.start, steps.end))


def profiler(dag: Dag) -> intervals.Intervals:
    """Return when the profiler's own rows stand."""
    slices = dag.timeline.slices
    own = slices.kind == Kind.PROFILER
    return intervals.union(slices.start[own], slices.end[own])


def overlay(segments: Segments, spans: intervals.Intervals, *, over: tuple[Charge, ...], charge: Charge) -> Segments:
    """Charge the parts of segments inside `spans` to another cause, where they are charged to one of `over`.

    Segments are in order of time; they are cut where a span begins or ends.
    """
    open_ = np.isin(segments.charge, over)
    if not len(spans.start) or not open_.any():
        return segments
    pieces = cut(segments, np.concatenate(spans))
    inside = (intervals.holding(spans, pieces.start) >= 0) & np.isin(pieces.charge, over)
    return replace(pieces, charge=np.where(inside, np.uint8(charge), pieces.charge).astype(np.uint8))


def cut(segments: Segments, moments: NDArray[np.int64]) -> Segments:
    """Cut segments in order of time at the given moments, as far as these lie inside one."""
    row, pieces = intervals.cut(intervals.Intervals(segments.start, segments.end), moments)
    return replace(segments.take(row), start=pieces.start, end=pieces.end)

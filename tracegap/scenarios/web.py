"""A dependency graph that may be changed: edges that can go or be added, and weights by whose work they are."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule
from tracegap.dag import Dag
from tracegap.edges import Cause, Found, join
from tracegap.kinds import CONTEXT, Role, is_any
from tracegap.timeline import Timeline


@dataclass(frozen=True, eq=False)
class Idle:
    """Stretches in which a host thread was in no work but in a context: q rows.

    Attributes
    ----------
    node : int32[q]
        The node that came later by that much.
    context : int32[q]
        The innermost step, annotation or frame of the thread then.
    length : int64[q]
        ns.
    """

    node: NDArray[np.int32]
    context: NDArray[np.int32]
    length: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Web:
    """The graph of a window with its edges as they are now: e rows.

    Attributes
    ----------
    dag : Dag
        As it was observed.
    edges : Found
    delay : int64[2 n + 2]
        Of each node, as observed: it stays, whatever binds the node then.
    idle : Idle
    """

    dag: Dag
    edges: Found
    delay: NDArray[np.int64]
    idle: Idle

    def without(self, gone: NDArray[np.bool_]) -> "Web":
        """Return the web without the given edges, bool[e], but for those that are the only ones into their target."""
        target = self.edges.target
        left = np.bincount(target[~gone], minlength=len(self.delay))
        return replace(self, edges=self.edges.take(~gone | (left[target] == 0)))

    def plus(self, edges: Found) -> "Web":
        """Return the web with more edges."""
        return replace(self, edges=join((self.edges, edges)))

    def graph(self, time: NDArray[np.int64], lag: NDArray[np.int64]) -> schedule.Graph:
        """Return the web as a graph with other times and lags."""
        ranks = np.zeros(len(self.edges), np.uint8)
        edges = schedule.Edges(self.edges.source, self.edges.target, lag, ranks)
        return schedule.Graph(time, self.dag.graph.nodes, edges)

    def scaled(self, factor: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lag of each edge, int64[e], and the delay of each node, with work and idleness scaled.

        What idles before END is the lag of the sink's edge: what else leads to END ended meanwhile.

        Parameters
        ----------
        factor : float64[n]
            Of each slice; idleness has that of its innermost context.
        """
        lag, owner = self.edges.lag.copy(), self.edges.owner
        rows = np.flatnonzero(owner >= 0)
        rows = rows[factor[owner[rows]] != 1]
        lag[rows] += np.rint(lag[rows] * (factor[owner[rows]] - 1)).astype(np.int64)
        delay = self.delay.copy()
        change = np.rint(self.idle.length * (factor[self.idle.context] - 1)).astype(np.int64)
        tail = self.idle.node == self.dag.end
        np.add.at(delay, self.idle.node[~tail], change[~tail])
        lag[self._exit()] += change[tail].sum()
        return lag, delay

    def _exit(self) -> NDArray[np.bool_]:
        dag = self.dag
        sink = dag.graph.edges.source[dag.binding.edge[dag.end]]
        return np.asarray((self.edges.target == dag.end) & (self.edges.source == sink))


def web(dag: Dag) -> Web:
    """Return the graph as it was observed.

    What a host thread idles at the window's start is the delay of its first node here, not the lag of the edge.
    """
    graph, tracks, slices = dag.graph, dag.timeline.tracks, dag.timeline.slices
    source, target, lag = graph.edges.source, graph.edges.target, graph.edges.lag.copy()
    delay = dag.binding.delay.copy()
    idle = (dag.cause == Cause.BOUNDARY) & (dag.owner < 0) & (target < dag.source)
    idle[idle] = tracks.role[slices.track[target[idle] >> 1]] == Role.HOST
    delay[target[idle]] += lag[idle]
    lag[idle] = 0
    edges = Found(source, target, lag, dag.cause, dag.inferred, dag.owner)
    return Web(dag, edges, delay, _idle(dag, delay))


def _idle(dag: Dag, delay: NDArray[np.int64]) -> Idle:
    """Find the idleness of host threads before nodes, and before END on the thread of its sink."""
    timeline, time = dag.timeline, dag.graph.time
    slices, last = timeline.slices, dag.binding.edge[dag.end]
    delay = delay.copy()
    if dag.owner[last] < 0:
        delay[dag.end] += dag.graph.edges.lag[last]
    nodes = dag.graph.nodes[delay[dag.graph.nodes] > 0]
    place = np.where(nodes == dag.end, dag.graph.edges.source[last], nodes)
    nodes, place = nodes[place < dag.source], place[place < dag.source]
    track = slices.track[place >> 1]
    host = timeline.tracks.role[track] == Role.HOST
    nodes, track = nodes[host], track[host]
    start, end = time[nodes] - delay[nodes], time[nodes]
    parts = [
        _pieces(timeline, number, np.flatnonzero(track == number), start, end) for number in np.unique(track).tolist()
    ]
    none = np.empty(0, np.int64)
    row, context, length = (np.concatenate([none, *(part[place] for part in parts)]) for place in range(3))
    inside = context >= 0
    return Idle(nodes[row[inside]], context[inside].astype(np.int32), length[inside])


def _pieces(
    timeline: Timeline, track: int, rows: NDArray[np.intp], start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut intervals of a track where contexts open or close; return (row, innermost context or −1, length) of the pieces."""
    slices, tracks = timeline.slices, timeline.tracks
    mine = np.arange(tracks.first[track], tracks.last[track])
    mine = mine[is_any(slices.kind[mine], CONTEXT) & (slices.lane[mine] < tracks.context_lanes[track])]
    moment = np.concatenate((slices.end[mine], slices.start[mine]))
    then = np.concatenate((slices.context[mine], mine))
    # At one moment inner contexts close first, then outer ones open before inner ones.
    length = slices.end[mine] - slices.start[mine]
    order = np.lexsort((np.concatenate((length, -length)), np.repeat((0, 1), len(mine)), moment))
    moment, then = moment[order], then[order]
    first = np.searchsorted(moment, start[rows], side="right")
    last = np.searchsorted(moment, end[rows], side="left")
    count = np.maximum(last - first, 0) + 1
    row = np.repeat(rows, count)
    step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(first, count) + step - 1  # the last change up to the piece's start
    begins = np.where(step == 0, start[row], moment[at] if len(moment) else 0)
    ends = np.append(begins[1:], 0)
    final = step == np.repeat(count, count) - 1
    ends[final] = end[row[final]]
    context = np.where(at >= 0, then[np.maximum(at, 0)] if len(then) else -1, -1)
    return row, context.astype(np.int64), ends - begins

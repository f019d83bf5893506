"""The critical path, and the walks back from other nodes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.schedule.graph import Binding, Graph


def path(graph: Graph, binding: Binding, end: int) -> NDArray[np.int32]:
    """Return the edges of the critical path to the node `end`, first edge first.

    Stretches that run along `Graph.nodes` are taken at once; the loop is over the jumps between them.
    """
    along = _stretches(graph, binding)
    pieces: list[NDArray[np.int32]] = []
    at = int(along.place[end])
    while True:
        first = int(along.head[at])
        pieces.append(along.bound[first : at + 1])
        if along.bound[first] < 0:
            break
        at = int(along.place[along.before[first]])
    return np.concatenate(pieces[::-1])[1:]


def walks(
    graph: Graph, binding: Binding, nodes: NDArray[np.int32], since: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Follow the binding edges back from many nodes, from each as far as a moment.

    Parameters
    ----------
    nodes : int32[w]
        Where the walks begin.
    since : int64[w]
        Each walk ends with the edge that leads from this moment, or from before it, to a later one.

    Returns
    -------
    edges : int32[k]
        Walk after walk, of each the first edge first. None where a node is not later than its moment. Where times fall along
        a walk (clocks are skewed) it may pass through moments later than its node; of each stretch of such only the first
        edge is told.
    walk : int32[k]
        Which walk each edge belongs to.

    Notes
    -----
    All walks jump from stretch to stretch side by side: as many rounds as the walk with most jumps, and no more work than
    all walks have jumps and edges.
    """
    along = _stretches(graph, binding)
    time = graph.time[graph.nodes]
    walk = np.flatnonzero(graph.time[nodes] > since).astype(np.int32)
    at = along.place[nodes[walk]]
    rounds: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []
    while len(walk):
        first = along.head[at]
        rounds.append((walk, first, at))
        on = np.flatnonzero((time[first] > since[walk]) & (along.bound[first] >= 0))
        before = along.before[first[on]]
        on, before = on[graph.time[before] > since[walk[on]]], before[graph.time[before] > since[walk[on]]]
        walk, at = walk[on], along.place[before]
    if not rounds:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    walk, first, last = (np.concatenate(columns) for columns in zip(*rounds[::-1], strict=True))
    by_walk = np.argsort(walk, kind="stable")
    walk, first, last = walk[by_walk], first[by_walk], last[by_walk]
    first = _first_after(time, first, last, since[walk])
    last = _first_after(time, first, last, graph.time[nodes][walk])  # most stretches have no such place and stay whole
    size = last - first + 1
    offset = np.repeat(np.cumsum(size) - size, size)
    edges = along.bound[np.arange(len(offset)) - offset + np.repeat(first, size)]
    bound = edges >= 0  # a node that nothing leads to ends its walk
    return edges[bound], np.repeat(walk, size)[bound]


def _first_after(
    time: NDArray[np.int64], first: NDArray[np.int32], last: NDArray[np.int32], moment: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the first place in each stretch that is later than a moment, its last place where none is; by bisection."""
    low, high = first.copy(), last.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        later = time[middle] > moment
        high = np.where(open_ & later, middle, high)
        low = np.where(open_ & ~later, middle + 1, low)
    return low


class _Along(NamedTuple):
    """The sequence of a graph's nodes, in stretches in which each node is bound by the one before, and time never falls.

    ``place`` of each node; of each place the ``bound`` edge and the node ``before``, −1 where none; the ``head`` of its stretch.
    """

    place: NDArray[np.int32]
    bound: NDArray[np.int32]
    before: NDArray[np.int32]
    head: NDArray[np.int32]


def _stretches(graph: Graph, binding: Binding) -> _Along:
    nodes, edges = graph.nodes, graph.edges
    bound = binding.edge[nodes]
    before = np.full(len(nodes), -1, np.int32)
    before[bound >= 0] = edges.source[bound[bound >= 0]]
    follows = np.zeros(len(nodes), np.bool_)
    follows[1:] = (before[1:] == nodes[:-1]) & (graph.time[nodes[1:]] >= graph.time[nodes[:-1]])
    head = np.maximum.accumulate(np.where(follows, 0, np.arange(len(nodes), dtype=np.int32)))
    place = np.zeros(len(graph.time), np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    return _Along(place, bound, before, head)

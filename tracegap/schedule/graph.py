"""Graphs of moments, and what binds each of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64, UInt8

NEVER: int = -(1 << 60)
"""A weight that never binds: gives an edge no effect in a replay."""


@dataclass(frozen=True, eq=False)
class Edges(Columns):
    """e edges; the row number is identity, and of edges that bind equally the lowest row wins.

    Attributes
    ----------
    source, target : int32[e]
        Nodes.
    lag : int64[e]
        The least time from source to target.
    rank : uint8[e]
        How readily it is given up when it closes a cycle: the highest goes first.
    """

    source: Int32
    target: Int32
    lag: Int64
    rank: UInt8


@dataclass(frozen=True, eq=False)
class Graph:
    """Moments and what binds them.

    Attributes
    ----------
    time : int64[m]
        Observed time of each node.
    nodes : int32[p]
        The nodes that take part, chain after chain: where a node's neighbours in this sequence are its neighbours in the
        graph, passes are fast. Any sequence gives the same results.
    edges : Edges
        Between those nodes.
    """

    time: NDArray[np.int64]
    nodes: NDArray[np.int32]
    edges: Edges


@dataclass(frozen=True, eq=False)
class Binding:
    """What explains each node's time.

    Attributes
    ----------
    edge : int32[m]
        The edge that binds the node; −1 where none leads to it.
    delay : int64[m]
        Observed time less the binding edge's source time and lag; 0 where no edge leads to the node.
    """

    edge: NDArray[np.int32]
    delay: NDArray[np.int64]


def bind(graph: Graph) -> Binding:
    """Find the edge that binds each node, and the delay that it leaves. O(e), no loop."""
    edges = graph.edges
    reached = graph.time[edges.source] + edges.lag
    latest = np.full(len(graph.time), NEVER)
    np.maximum.at(latest, edges.target, reached)
    binding = np.flatnonzero(reached == latest[edges.target])[::-1]
    edge = np.full(len(graph.time), -1, np.int32)
    edge[edges.target[binding]] = binding  # of equal ones the lowest row is written last
    return Binding(edge, np.where(edge >= 0, graph.time - latest, 0))


def weights(graph: Graph, binding: Binding) -> NDArray[np.int64]:
    """Return int64[e]: each edge's lag with the delay of its target, for `replay`, `slack` and exports."""
    return graph.edges.lag + binding.delay[graph.edges.target]

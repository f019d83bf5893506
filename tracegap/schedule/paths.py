"""The critical path, and how far everything else is from it."""

import numpy as np
from numpy.typing import NDArray

from tracegap.schedule.folding import fold, replay
from tracegap.schedule.graph import NEVER, Binding, Graph, weights


def path(graph: Graph, binding: Binding, end: int) -> NDArray[np.int32]:
    """Return the edges of the critical path to the node `end`, first edge first.

    Stretches that run along `Graph.nodes` are taken at once; the loop is over the jumps between them.
    """
    nodes, edges = graph.nodes, graph.edges
    bound = binding.edge[nodes]
    before = np.full(len(nodes), -1, np.int32)
    before[bound >= 0] = edges.source[bound[bound >= 0]]
    follows = np.zeros(len(nodes), np.bool_)
    follows[1:] = before[1:] == nodes[:-1]
    head = np.maximum.accumulate(np.where(follows, 0, np.arange(len(nodes), dtype=np.int32)))
    place = np.zeros(len(graph.time), np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    pieces: list[NDArray[np.int32]] = []
    at = int(place[end])
    while True:
        first = int(head[at])
        pieces.append(bound[first : at + 1])
        if bound[first] < 0:
            break
        at = int(place[before[first]])
    return np.concatenate(pieces[::-1])[1:]


def slack(graph: Graph, binding: Binding, end: int) -> NDArray[np.int64]:
    """Return how long each node may slip before the node `end` does.

    A node from which `end` is not reached may slip until the time of `end`. The same pass as `replay`, backward.

    Returns
    -------
    int64[m]
        At least 0 for nodes before `end`, and 0 on the critical path.
    """
    before = graph.edges.source != end
    source, target = graph.edges.source[before], graph.edges.target[before]
    plan = fold(len(graph.time), graph.nodes[::-1], target, source)
    leaf = np.full(len(graph.time), NEVER)
    leaf[end] = 0
    tail = replay(plan, weights(graph, binding)[before], leaf)
    return np.asarray(graph.time[end] - graph.time - np.where(tail < NEVER // 2, 0, tail))

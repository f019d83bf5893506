"""A topological order: by time, and by the edges where times are equal or edges lead back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.schedule.graph import Edges, Graph

_PASSES = 8
"""Array passes over all edges before what still leads back in time is followed node by node."""


@dataclass(frozen=True, eq=False)
class Order:
    """A topological order: ``nodes`` is int32[p]; ``kept`` is bool[e], False for edges given up because they close a cycle."""

    nodes: NDArray[np.int32]
    kept: NDArray[np.bool_]


def order(graph: Graph) -> Order:
    """Order the nodes so that every edge leads forward, giving up edges that close a cycle.

    Nodes go by their time, raised to that of the latest node before them (edges may lead back in time); only nodes of
    equal time that stand wrong are ranked one by one (Kahn). O(e log e) in array passes; the loops in Python are over tied
    edges, and over long chains that stand before their origin.
    """
    edges = graph.edges
    key = _raised(graph)
    by_key = np.argsort(key[graph.nodes], kind="stable")
    nodes = graph.nodes[by_key]
    kept = np.ones(len(edges), np.bool_)
    place = np.zeros(len(graph.time), np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    wrong = place[edges.source] >= place[edges.target]
    if wrong.any():
        moments = np.unique(key[edges.target[wrong]])
        tied = np.flatnonzero((key[edges.source] == key[edges.target]) & _among(key[edges.target], moments))
        rank, given_up = _kahn(edges, tied)
        kept[given_up] = False
        places = np.flatnonzero(_among(key[nodes], moments))
        members = nodes[places]
        ranks = np.array([rank.get(node, 0) for node in members.tolist()], np.int64)
        nodes[places] = members[np.lexsort((places, ranks, key[members]))]
    return Order(nodes, kept)


def _raised(graph: Graph) -> NDArray[np.int64]:
    """Return each node's time or that of its latest ancestor, whichever is later."""
    key = graph.time.copy()
    source, target = graph.edges.source, graph.edges.target
    for _ in range(_PASSES):
        back = np.flatnonzero(key[source] > key[target])
        if not len(back):
            return key
        np.maximum.at(key, target[back], key[source[back]])
    _raise_all_after(key, source, target)
    return key


def _raise_all_after(key: NDArray[np.int64], source: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    """Raise `key` until no edge leads down: from the highest source, everything behind it. One loop over what is raised."""
    roots = np.unique(source[key[source] > key[target]])
    by_source = np.argsort(source, kind="stable")
    leads_to = target[by_source]
    first = np.searchsorted(source[by_source], np.arange(len(key) + 1))
    for root in roots[np.argsort(-key[roots], kind="stable")].tolist():
        height = key[root]
        trail = [root]
        while trail:
            node = trail.pop()
            for other in leads_to[first[node] : first[node + 1]].tolist():
                if key[other] < height:
                    key[other] = height
                    trail.append(other)


def _among(values: NDArray[np.int64], choices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which values are among the sorted choices."""
    place = np.minimum(np.searchsorted(choices, values), len(choices) - 1)
    return np.asarray(choices[place] == values)


def _kahn(edges: Edges, rows: NDArray[np.int64]) -> tuple[dict[int, int], list[int]]:
    """Rank the nodes of the given edges by Kahn's algorithm; return the ranks and the edges given up. O(rows)."""
    sources, targets = edges.source[rows].tolist(), edges.target[rows].tolist()
    leaving: dict[int, list[int]] = {}
    waiting: dict[int, int] = {}
    for at, (source, target) in enumerate(zip(sources, targets, strict=True)):
        leaving.setdefault(source, []).append(at)
        waiting[target] = waiting.get(target, 0) + 1
    rank: dict[int, int] = {}
    dead: set[int] = set()
    ready = [source for source in leaving if source not in waiting]
    while True:
        while ready:
            node = ready.pop()
            rank[node] = len(rank)
            for at in leaving.get(node, ()):
                if at in dead:
                    continue
                waiting[targets[at]] -= 1
                if not waiting[targets[at]]:
                    ready.append(targets[at])
        stuck = [
            at for at in range(len(sources)) if at not in dead and sources[at] not in rank and targets[at] not in rank
        ]
        if not stuck:
            return rank, [int(rows[at]) for at in sorted(dead)]
        for at in _closing(stuck, sources, targets, edges.rank[rows].tolist()):
            dead.add(at)
            waiting[targets[at]] -= 1
            if not waiting[targets[at]]:
                ready.append(targets[at])


def _closing(stuck: list[int], sources: list[int], targets: list[int], ranks: list[int]) -> list[int]:
    """Choose one edge of every strongly connected part to give up: the highest rank, then the last row."""
    part = _parts(stuck, sources, targets)
    worst: dict[int, int] = {}
    for at in stuck:
        group = part[sources[at]]
        if group == part[targets[at]] and (group not in worst or ranks[at] >= ranks[worst[group]]):
            worst[group] = at
    return list(worst.values())


def _parts(stuck: list[int], sources: list[int], targets: list[int]) -> dict[int, int]:
    """Return the strongly connected part of each node: Kosaraju's two depth-first passes, without recursion."""
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for at in stuck:
        forward.setdefault(sources[at], []).append(targets[at])
        backward.setdefault(targets[at], []).append(sources[at])
    finished: list[int] = []
    seen: set[int] = set()
    for root in forward:
        if root in seen:
            continue
        seen.add(root)
        trail = [(root, iter(forward[root]))]
        while trail:
            node, rest = trail[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                finished.append(node)
                trail.pop()
            else:
                seen.add(following)
                trail.append((following, iter(forward.get(following, ()))))
    part: dict[int, int] = {}
    for root in reversed(finished):
        members = [root] if root not in part else []
        while members:
            node = members.pop()
            if node not in part:
                part[node] = root
                members.extend(other for other in backward.get(node, ()) if other not in part)
    return part

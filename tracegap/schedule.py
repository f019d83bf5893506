"""Longest paths in a graph of moments: order, binding predecessors, critical path, slack, replay. Arrays only.

In: a `Graph` of nodes with observed times, and edges that say *the target cannot come before the source plus the lag*.
Out: arrays over its nodes or edges. Nothing here knows what a node stands for.

A node's time is explained by its **binding** edge, the one whose source plus lag is latest; what remains is the node's
**delay**. With the delay added to the lag of every edge into a node (`weights`), replaying the unchanged graph gives each
observed time exactly, and any change of the weights gives the times that would have been.

Not checked here: lags longer than the observed distance, which make a delay negative (`Graph` allows them; its maker
must not).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64, UInt8

NEVER: int = -(1 << 60)
"""A weight that never binds: gives an edge no effect in a replay."""

_BATCH = 16
"""Scenarios replayed side by side; bounds the memory at 128 bytes a contracted edge."""


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

    Examples
    --------
    >>> i32, i64 = (lambda *v: np.array(v, np.int32)), (lambda *v: np.array(v, np.int64))
    >>> edges = Edges(i32(0, 0, 1, 2), i32(1, 2, 3, 3), i64(10, 4, 5, 1), np.zeros(4, np.uint8))
    >>> graph = Graph(i64(0, 10, 12, 20), i32(0, 1, 2, 3), edges)
    >>> found = bind(graph)
    >>> found.edge.tolist(), found.delay.tolist()
    ([-1, 0, 1, 2], [0, 0, 8, 5])
    >>> plan = contract(graph, order(graph).nodes)
    >>> replay(plan, weights(graph, found), graph.time).tolist()
    [0, 10, 12, 20]
    >>> slack(graph, plan.order, found, 3).tolist()
    [0, 0, 2, 0]
    """

    time: NDArray[np.int64]
    nodes: NDArray[np.int32]
    edges: Edges


@dataclass(frozen=True, eq=False)
class Order:
    """A topological order: ``nodes`` is int32[p]; ``kept`` is bool[e], False for edges given up because they close a cycle."""

    nodes: NDArray[np.int32]
    kept: NDArray[np.bool_]


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


@dataclass(frozen=True, eq=False)
class Plan:
    """A graph whose chains are folded, ready to be replayed; made by `contract`.

    A node with one incoming edge, from its predecessor in ``sequence``, follows it and is folded away; the others are
    heads. ``head`` is int32[p], the head (numbered in topological order) of each place in ``sequence``; ``source`` (place
    in ``sequence``), ``target`` (head number) and ``edge`` (row in the graph's edges) describe the edges into heads, by
    target. ``follow`` is int32[p], the edge by which a place follows the one before it, −1 at heads.
    """

    size: int
    sequence: NDArray[np.int32]
    order: NDArray[np.int32]
    place: NDArray[np.int32]
    follow: NDArray[np.int32]
    head: NDArray[np.int32]
    first: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    edge: NDArray[np.int32]


def order(graph: Graph) -> Order:
    """Order the nodes so that every edge leads forward, giving up edges that close a cycle.

    Nodes go by their time, raised to that of the latest node before them (edges may lead back in time); only nodes of
    equal time that stand wrong are ranked one by one (Kahn). O(e) array passes, one for each edge of the longest chain
    that leads back in time, plus a sort; the loop in Python is over tied edges only.
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
    back = np.flatnonzero(key[source] > key[target])
    while len(back):
        np.maximum.at(key, target[back], key[source[back]])
        back = np.flatnonzero(key[source] > key[target])
    return key


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


def contract(graph: Graph, ordered: NDArray[np.int32]) -> Plan:
    """Fold the chains of a graph for replays.

    Parameters
    ----------
    ordered : int32[p]
        A topological order of the graph's nodes (`order`).
    """
    return _contract(len(graph.time), graph.nodes, ordered, graph.edges.source, graph.edges.target)


def _contract(
    size: int,
    sequence: NDArray[np.int32],
    ordered: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
) -> Plan:
    place = np.zeros(size, np.int32)
    place[sequence] = np.arange(len(sequence), dtype=np.int32)
    alone = np.bincount(target, minlength=size)[target] == 1
    chained = np.flatnonzero(alone & (place[target] == place[source] + 1)).astype(np.int32)
    follow = np.full(len(sequence), -1, np.int32)
    follow[place[target[chained]]] = chained
    headed = follow < 0
    position = np.zeros(size, np.int32)
    position[ordered] = np.arange(len(ordered), dtype=np.int32)
    heads = np.flatnonzero(headed).astype(np.int32)
    heads = heads[np.argsort(position[sequence[heads]], kind="stable")]
    number = np.zeros(len(sequence), np.int32)
    number[heads] = np.arange(len(heads), dtype=np.int32)
    head = number[np.maximum.accumulate(np.where(headed, np.arange(len(sequence), dtype=np.int32), 0))]
    into = np.flatnonzero(headed[place[target]]).astype(np.int32)
    into = into[np.argsort(number[place[target[into]]], kind="stable")]
    return Plan(
        size=size,
        sequence=sequence,
        order=ordered,
        place=place,
        follow=follow,
        head=head,
        first=heads,
        source=place[source[into]],
        target=number[place[target[into]]],
        edge=into,
    )


def replay(plan: Plan, weight: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the time of every node under the given weights.

    Parameters
    ----------
    weight : int64[e]
        Of the graph's edges, as `weights` gives them, changed at will.
    start : int64[m]
        The times of nodes that no edge leads to; other nodes' are not read, except those that take no part.

    Returns
    -------
    int64[m]
        One pass over the edges into heads, in Python; array passes over the rest.
    """
    offset = _offsets(plan, weight)
    moments = _heads(plan, start)
    length = (offset[plan.source] + weight[plan.edge]).tolist()
    for source, target, distance in zip(plan.head[plan.source].tolist(), plan.target.tolist(), length, strict=True):
        reached = moments[source] + distance
        if reached > moments[target]:
            moments[target] = reached
    times = start.copy()
    times[plan.sequence] = np.array(moments, np.int64)[plan.head] + offset
    return times


def replay_many(
    plan: Plan, scenarios: Iterable[NDArray[np.int64]], start: NDArray[np.int64], node: int
) -> NDArray[np.int64]:
    """Return int64[k]: the time of one node under each of k weights.

    `scenarios` may be a generator: they are taken sixteen at a time and folded at once, so that only the edges into
    heads are held. One loop over those edges a batch.
    """
    remaining: Iterator[NDArray[np.int64]] = iter(scenarios)
    found: list[NDArray[np.int64]] = []
    at = int(plan.place[node])
    while batch := list(islice(_folded(plan, remaining, at), _BATCH)):
        lengths = np.stack([length for length, _ in batch], axis=1)
        moments = np.repeat(np.array(_heads(plan, start), np.int64)[:, None], len(batch), axis=1)
        rows, steps = list(moments), list(lengths)
        for source, target, step in zip(plan.head[plan.source].tolist(), plan.target.tolist(), steps, strict=True):
            np.maximum(rows[target], rows[source] + step, out=rows[target])
        found.append(moments[plan.head[at]] + np.array([rest for _, rest in batch]))
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _folded(plan: Plan, scenarios: Iterator[NDArray[np.int64]], at: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield each scenario as the weights of the edges between heads, and the offset of the place `at`."""
    for weight in scenarios:
        offset = _offsets(plan, weight)
        yield offset[plan.source] + weight[plan.edge], int(offset[at])


def _offsets(plan: Plan, weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distance of each place in the sequence from its head."""
    total = np.zeros(len(plan.follow), np.int64)
    chained = plan.follow >= 0
    total[chained] = weight[plan.follow[chained]]
    np.cumsum(total, out=total)
    return total - total[plan.first[plan.head]]


def _heads(plan: Plan, start: NDArray[np.int64]) -> list[Any]:
    """Return where heads begin: at their given time where no edge leads to them, else never."""
    moments = start[plan.sequence[plan.first]]
    moments[plan.target] = NEVER
    return list(moments.tolist())


def slack(graph: Graph, ordered: NDArray[np.int32], binding: Binding, end: int) -> NDArray[np.int64]:
    """Return how long each node may slip before the node `end` does.

    A node from which `end` is not reached may slip until the time of `end`. The same pass as `replay`, backward.

    Returns
    -------
    int64[m]
        At least 0 for nodes before `end`, and 0 on the critical path.
    """
    before = graph.edges.source != end
    source, target = graph.edges.source[before], graph.edges.target[before]
    plan = _contract(len(graph.time), graph.nodes[::-1], ordered[::-1], target, source)
    leaf = np.full(len(graph.time), NEVER)
    leaf[end] = 0
    tail = replay(plan, weights(graph, binding)[before], leaf)
    return np.asarray(graph.time[end] - graph.time - np.where(tail < NEVER // 2, 0, tail))

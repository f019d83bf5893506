"""Replaying a graph with other weights: chains are folded, and what remains is stepped through in runs.

A node with one incoming edge, from its neighbour in the sequence, follows it at a fixed distance: it is folded away. The
others, *heads*, come in runs along the sequence. Within a run, a head depends on the head before it and on heads of earlier
runs, ``x[j] = max(x[j - 1] + a[j], b[j])``; less the running sum of a, that is a running maximum: one array pass a run,
whatever the number of scenarios.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.schedule.graph import NEVER, Graph

_BATCH = 8
"""Scenarios replayed side by side; bounds the memory at some 350 bytes a head."""

LONG = 16
"""Heads and edges of a run, on average, from which array passes are faster than stepping from edge to edge."""


class Run(NamedTuple):
    """Heads ``[first, last)``; edges into them that are no links, ``[low, high)``, counted behind the links.

    ``before`` is the head that the first one is linked to, −1 for none; ``shared`` tells whether several of the edges lead to
    one head. No edge leads from a head of the run to another, but for links to the next.
    """

    first: int
    last: int
    low: int
    high: int
    before: int
    shared: bool


@dataclass(frozen=True, eq=False)
class Plan:
    """A graph made ready for replays by `contract`: p places in the sequence, h heads in the order of their runs, c edges into heads.

    Attributes
    ----------
    nodes : int32[p]
        The sequence.
    place : int32[m]
        Where each node stands in it.
    follow : int32[p]
        The edge by which a place follows the one before it; 0 at heads.
    head : int32[p]
        The head that each place follows, itself at heads.
    first : int32[h]
        The place of each head.
    edge : int32[c]
        Edges into heads, rows of the graph's; links, from the segment before in the sequence, first, then the others, each by target.
    source : int32[c]
        The place of each edge's source.
    origin : int32[c]
        The place of the head that each edge's source follows.
    target : int32[c]
        The head that each edge leads to.
    links : int
        How many of the edges are links.
    runs : tuple of Run
    """

    nodes: NDArray[np.int32]
    place: NDArray[np.int32]
    follow: NDArray[np.int32]
    head: NDArray[np.int32]
    first: NDArray[np.int32]
    edge: NDArray[np.int32]
    source: NDArray[np.int32]
    origin: NDArray[np.int32]
    target: NDArray[np.int32]
    links: int
    runs: tuple[Run, ...]


def contract(graph: Graph) -> Plan:
    """Fold the chains of a graph without cycles, and find its runs. One loop over heads and the edges into them."""
    size, nodes, source, target = len(graph.time), graph.nodes, graph.edges.source, graph.edges.target
    place = np.zeros(size, np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    alone = np.bincount(target, minlength=size)[target] == 1
    chained = np.flatnonzero(alone & (place[target] == place[source] + 1)).astype(np.int32)
    follow = np.full(len(nodes), -1, np.int32)
    follow[place[target[chained]]] = chained
    segment = np.cumsum(follow < 0, dtype=np.int32) - 1  # heads numbered along the sequence
    edge = np.flatnonzero(follow[place[target]] < 0).astype(np.int32)
    from_, to = segment[place[source[edge]]], segment[place[target[edge]]]
    linked = from_ == to - 1
    order, runs = _runs(int(segment[-1]) + 1, from_, to, linked)
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    by_target = np.lexsort((number[to], ~linked))
    edge, to = edge[by_target], number[to[by_target]]
    links = int(np.count_nonzero(linked))
    outer = to[links:]
    head, first = number[segment], np.flatnonzero(follow < 0).astype(np.int32)[order]
    leaves = place[source[edge]]
    return Plan(
        nodes=nodes,
        place=place,
        follow=np.maximum(follow, 0),
        head=head,
        first=first,
        edge=edge,
        source=leaves,
        origin=first[head[leaves]],
        target=to,
        links=links,
        runs=_with_edges(runs, number, outer),
    )


def _with_edges(
    runs: list[tuple[int, int, int]], number: NDArray[np.int32], outer: NDArray[np.int32]
) -> tuple[Run, ...]:
    """Add to each run which of the edges to `outer`, ascending, lead into it."""
    bounds = np.searchsorted(outer, np.array([[first, last] for first, last, _ in runs], np.int64).reshape(-1, 2))
    repeats = np.zeros(len(outer) + 1, np.int64)
    repeats[1:-1] = np.cumsum(outer[1:] == outer[:-1]) if len(outer) else 0
    shared = repeats[np.maximum(bounds[:, 1] - 1, 0)] > repeats[np.minimum(bounds[:, 0], bounds[:, 1])]
    return tuple(
        Run(first, last, low, high, int(number[before]) if before >= 0 else -1, several)
        for (first, last, before), (low, high), several in zip(runs, bounds.tolist(), shared.tolist(), strict=True)
    )


def _runs(
    count: int, source: NDArray[np.int32], target: NDArray[np.int32], linked: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], list[tuple[int, int, int]]]:
    """Order the heads so that each comes after all it depends on, in runs along the sequence that are as long as can be.

    Returns
    -------
    order : int32[count]
        The heads, numbered along the sequence, run after run.
    runs : list of (int, int, int)
        Places ``[first, last)`` in `order`, and the head that the first is linked to, −1 for none.
    """
    has_link = np.zeros(count + 1, np.bool_)
    has_link[target[linked]] = True
    outer = ~linked
    waiting: list[int] = np.bincount(target[outer], minlength=count + 1).tolist()
    by_source = np.argsort(source[outer], kind="stable")
    leads_to: list[int] = target[outer][by_source].tolist()
    bounds: list[int] = np.searchsorted(source[outer][by_source], np.arange(count + 1)).tolist()
    links: list[bool] = has_link.tolist()
    done = [False] * (count + 1)
    fed_by = [-1] * (count + 1)  # the last run that an edge, not a link, leads from
    ready = deque(head for head in range(count) if not links[head] and not waiting[head])
    order: list[int] = []
    runs: list[tuple[int, int, int]] = []
    while ready:
        head = ready.popleft()
        if done[head]:
            continue
        first, before = len(order), head - 1 if links[head] else -1
        while True:
            done[head] = True
            order.append(head)
            for other in leads_to[bounds[head] : bounds[head + 1]]:
                waiting[other] -= 1
                fed_by[other] = len(runs)
                if not waiting[other] and (not links[other] or done[other - 1]):
                    ready.append(other)
            head += 1
            if not links[head] or waiting[head] or fed_by[head] == len(runs):
                if links[head] and not waiting[head]:
                    ready.append(head)
                break
        runs.append((first, len(order), before))
    return np.array(order, np.int32), runs


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
    """
    total = totals(plan, weight)
    moments = _moments(plan, lengths(plan, weight, total)[:, None], start)[:, 0]
    times = start.copy()
    times[plan.nodes] = total + (moments - total[plan.first])[plan.head]
    return times


def replay_many(
    plan: Plan, scenarios: Iterable[NDArray[np.int64]], start: NDArray[np.int64], node: int
) -> NDArray[np.int64]:
    """Return int64[k]: the time of one node under each of k weights.

    `scenarios` may be a generator: they are taken eight at a time and folded at once, so that only the edges into heads
    are held.
    """
    remaining = iter(scenarios)
    found: list[NDArray[np.int64]] = []
    at = int(plan.place[node])
    head = int(plan.head[at])
    while True:
        length = np.empty((len(plan.edge), _BATCH), np.int64)
        rest: list[int] = []
        for column, weight in enumerate(islice(remaining, _BATCH)):
            total = totals(plan, weight)
            length[:, column] = lengths(plan, weight, total)
            rest.append(int(total[at] - total[plan.first[head]]))
        if not rest:
            return np.concatenate(found) if found else np.empty(0, np.int64)
        found.append(_moments(plan, length[:, : len(rest)], start)[head] + np.array(rest))


def totals(plan: Plan, weight: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the running sum of weights along the sequence; from a head to what follows it, it grows by the distance."""
    total = weight[plan.follow] if len(weight) else np.zeros(len(plan.follow), np.int64)
    total[plan.first] = 0
    return np.cumsum(total, out=total)


def lengths(plan: Plan, weight: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distance from the head before it to the target of each edge into a head."""
    return total[plan.source] - total[plan.origin] + weight[plan.edge]


def _moments(plan: Plan, length: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[h, k]: the time of each head under k scenarios of int64[c, k] lengths."""
    moments = np.repeat(start[plan.nodes[plan.first]][:, None], length.shape[1], axis=1)
    moments[plan.target] = NEVER
    if len(plan.first) + len(plan.edge) < LONG * len(plan.runs):
        return _stepped(plan, length, moments)
    link = np.full(moments.shape, NEVER)
    np.maximum.at(link, plan.target[: plan.links], length[: plan.links])
    total = np.where(link <= NEVER // 2, 0, link)
    np.cumsum(total, axis=0, out=total)
    outer = length[plan.links :]
    source, target = plan.head[plan.source[plan.links :]], plan.target[plan.links :]
    # Inside a run a link that never binds would be lost in the running sum: such runs are stepped through.
    broken = np.append(0, np.cumsum((link <= NEVER // 2).any(axis=1))).tolist()
    for run in plan.runs:
        first, last, low, high, before = run.first, run.last, run.low, run.high, run.before
        mine = moments[first:last]
        if high > low:
            reached = moments[source[low:high]] + outer[low:high]
            if run.shared:
                np.maximum.at(mine, target[low:high] - first, reached)
            else:
                mine[target[low:high] - first] = np.maximum(reached, NEVER)  # twice never would add up to an overflow
        if before >= 0:
            np.maximum(mine[0], moments[before] + link[first], out=mine[0])
        if broken[last] > broken[first + 1]:
            for at in range(1, last - first):
                np.maximum(mine[at], mine[at - 1] + link[first + at], out=mine[at])
        elif last > first + 1:
            mine -= total[first:last]
            np.maximum.accumulate(mine, axis=0, out=mine)
            mine += total[first:last]
    return moments


def _stepped(plan: Plan, length: NDArray[np.int64], moments: NDArray[np.int64]) -> NDArray[np.int64]:
    """As `_moments`, where runs are short: one loop over the edges into heads a scenario."""
    by_target = np.argsort(plan.target, kind="stable")
    source, target = plan.head[plan.source[by_target]].tolist(), plan.target[by_target].tolist()
    for column in range(length.shape[1]):
        reached: list[int] = moments[:, column].tolist()
        for before, after, way in zip(source, target, length[by_target, column].tolist(), strict=True):
            moment = reached[before] + way
            if moment > reached[after]:
                reached[after] = moment
        moments[:, column] = reached
    return moments

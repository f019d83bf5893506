"""How long each moment may slip: the longest way from it to the end, on the folded graph, last heads first.

In: a `Plan` and the lengths of its edges. From a head, ways lead along its chain to the edges that leave it; what is known of
the heads those lead to is final, since a `Plan` has them in later runs. Within a run it is a running maximum again, backward.
"""

import numpy as np
from numpy.typing import NDArray

from tracegap.schedule.folding import LONG, Plan, lengths, totals
from tracegap.schedule.graph import NEVER, Binding, Graph, weights


def slack(plan: Plan, graph: Graph, binding: Binding, end: int) -> NDArray[np.int64]:
    """Return how long each node may slip before the node `end` does.

    A node from which `end` is not reached may slip until the time of `end`.

    Parameters
    ----------
    plan : Plan
        Of `graph`, as `contract` makes it.

    Returns
    -------
    int64[m]
        At least 0 for nodes before `end`, and 0 on the critical path.
    """
    weight = weights(graph, binding)
    total = totals(plan, weight)
    length = lengths(plan, weight, total)
    at = plan.place[end]
    tails = _tails(plan, length, int(plan.head[at]), int(total[at] - total[plan.first[plan.head[at]]]))
    # Of each place where the way may leave the chain, `end` too: how far it is from the chain's head to the end by there.
    leaves = np.append(plan.source, at)
    far = np.append(length + tails[plan.target], total[at] - total[plan.first[plan.head[at]]])
    tail = np.full(len(graph.time), NEVER)
    tail[plan.nodes] = _farthest(plan, leaves, far) - (total - total[plan.first[plan.head]])
    return np.asarray(graph.time[end] - graph.time - np.where(tail < NEVER // 2, 0, tail))


def _tails(plan: Plan, length: NDArray[np.int64], end: int, base: int) -> NDArray[np.int64]:
    """Return int64[h]: the longest way from each head to a place `base` behind the head `end`; about `NEVER` where none is."""
    tails = np.full(len(plan.first), NEVER)
    tails[end] = base
    origin = plan.head[plan.source]
    if len(plan.first) + len(plan.edge) < LONG * len(plan.runs):
        return _stepped(plan, length, origin, tails)
    begins = np.zeros(len(plan.first), np.bool_)
    begins[[run.first for run in plan.runs]] = True
    inner = np.arange(len(plan.edge)) < plan.links
    inner &= ~begins[plan.target]
    link = np.full(len(plan.first), NEVER)
    np.maximum.at(link, plan.target[inner], length[inner])
    total = np.cumsum(np.where(begins, 0, link))
    outer = np.flatnonzero(~inner)
    outer = outer[np.argsort(origin[outer], kind="stable")]
    origin, target, length = origin[outer], plan.target[outer], length[outer]
    bounds = np.searchsorted(origin, [[run.first, run.last] for run in plan.runs]).tolist()
    for run, (low, high) in zip(plan.runs[::-1], bounds[::-1], strict=True):
        mine = tails[run.first : run.last]
        np.maximum.at(mine, origin[low:high] - run.first, length[low:high] + tails[target[low:high]])
        if len(mine) > 1:
            mine += total[run.first : run.last]
            np.maximum.accumulate(mine[::-1], out=mine[::-1])
            mine -= total[run.first : run.last]
    return tails


def _stepped(
    plan: Plan, length: NDArray[np.int64], origin: NDArray[np.int32], tails: NDArray[np.int64]
) -> NDArray[np.int64]:
    """As `_tails`, where runs are short: one loop over the edges into heads."""
    last_first = np.argsort(-origin, kind="stable")
    columns = (origin[last_first], plan.target[last_first], length[last_first])
    found: list[int] = tails.tolist()
    for before, after, way in zip(*(column.tolist() for column in columns), strict=True):
        moment = found[after] + way
        if moment > found[before]:
            found[before] = moment
    return np.array(found, np.int64)


def _farthest(plan: Plan, leaves: NDArray[np.int32], far: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[p]: the greatest `far` of the places at or behind each place of its chain; `NEVER` where there is none."""
    by_place = np.argsort(leaves, kind="stable")[::-1]
    leaves, far = leaves[by_place], far[by_place]
    chain = np.cumsum(np.diff(plan.head[leaves], prepend=plan.head[leaves[:1]]) != 0)
    # Ranks by (chain, far) grow from chain to chain by themselves, so that one running maximum serves all chains.
    by_far = np.lexsort((far, chain))
    rank = np.empty(len(far), np.int64)
    rank[by_far] = np.arange(len(far))
    best = far[by_far][np.maximum.accumulate(rank)][::-1]
    leaves = leaves[::-1]
    before = np.cumsum(np.bincount(leaves, minlength=len(plan.nodes)))
    behind = np.append(0, before[:-1])
    next_ = np.minimum(behind, len(leaves) - 1)
    known = (behind < len(leaves)) & (plan.head[leaves[next_]] == plan.head)
    return np.where(known, best[next_], NEVER)

"""What-if on a dependency graph: whose work changes when a slice does, and how long the window takes then.

In: a `Dag` and marked slices. Out: weights for `tracegap.schedule.replay_many`, and the drag of names.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule
from tracegap.dag import Dag
from tracegap.kinds import CONTEXT, Role, is_any
from tracegap.timeline import Timeline

MOST = 32
"""How many names are marked at once: one bit each."""


def spread(timeline: Timeline, marks: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Give each slice also the marks of the slices around it and, on a device, of the call that launched it.

    Parameters
    ----------
    marks : uint32[n]
        One bit a mark.

    Returns
    -------
    uint32[n]
        O(n) array passes, one a nesting depth.
    """
    slices = timeline.slices
    out = marks.copy()
    context = np.flatnonzero(is_any(slices.kind, CONTEXT) & (slices.context >= 0))
    while len(context):  # one pass a depth of the context
        more = out[context] | out[slices.context[context]]
        context_changed = more != out[context]
        out[context] = more
        if not context_changed.any():
            break
    inside = np.flatnonzero(slices.context >= 0)
    out[inside] |= out[slices.context[inside]]
    children = np.flatnonzero(slices.parent >= 0)
    children = children[np.argsort(slices.depth[children], kind="stable")]
    depth = slices.depth[children]
    bounds = np.flatnonzero(np.diff(depth, prepend=depth[:1] - 1, append=depth[-1:] + 1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level = children[first:last]
        out[level] |= out[slices.parent[level]]
    launched = np.flatnonzero((slices.launch >= 0) & (timeline.tracks.role[slices.track] == Role.DEVICE))
    out[launched] |= out[slices.launch[launched]]
    return out


def shortened(dag: Dag, chosen: NDArray[np.bool_], factor: float) -> NDArray[np.int64]:
    """Return the weights with the work of the chosen slices multiplied by a factor; delays stay as they are.

    Parameters
    ----------
    chosen : bool[n]
        Slices, as `spread` found them or one by one.
    factor : float
        0 removes the work, 0.5 makes it twice as fast.
    """
    weight = schedule.weights(dag.graph, dag.binding)
    rows = np.flatnonzero((dag.owner >= 0) & chosen[dag.owner])
    lag = dag.graph.edges.lag[rows]
    weight[rows] += np.rint(lag * (factor - 1)).astype(np.int64)
    return weight


def whole(timeline: Timeline, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark some slices, all they hold and all they launched: bool[n]."""
    marks = np.zeros(len(timeline.slices), np.uint32)
    marks[rows] = 1
    return np.asarray(spread(timeline, marks) != 0)


def saved(dag: Dag, chosen: NDArray[np.bool_], factor: float) -> int:
    """Return how much shorter, ns, the window is with the work of the chosen slices `shortened`; one replay."""
    (end,) = schedule.replay_many(dag.plan, [shortened(dag, chosen, factor)], dag.graph.time, dag.end).tolist()
    return int(dag.window.end - end)


def drags(dag: Dag, names: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return how much shorter the window would be if the slices of each name took no time, in ns.

    Parameters
    ----------
    names : sequence of int
        Ids into `Timeline.names`, at most `MOST`.

    Returns
    -------
    own, total : list of int
        With the slices' own work gone, and with that of all they hold and launched gone too.
    """
    timeline, graph = dag.timeline, dag.graph
    mark = np.zeros(int(timeline.slices.name.max()) + 2, np.uint32)
    mark[list(names)] = np.uint32(1) << np.arange(len(names), dtype=np.uint32)
    own = mark[timeline.slices.name]
    work = np.flatnonzero(dag.owner >= 0)
    alone, whole = (table[dag.owner[work]] for table in (own, spread(timeline, own)))
    bits = range(len(names))
    # A name's own work is part of all that it holds and launched: where that is no more, as of kernels, one replay answers both.
    more = [bit for bit in bits if np.count_nonzero(_has(alone, bit)) < np.count_nonzero(_has(whole, bit))]
    scenarios = chain(_without(dag, work, alone, bits), _without(dag, work, whole, more))
    ends = schedule.replay_many(dag.plan, scenarios, graph.time, dag.end)
    saved = (dag.window.end - ends).tolist()
    drag, total = saved[: len(names)], saved[: len(names)]
    for bit, rest in zip(more, saved[len(names) :], strict=True):
        total[bit] = rest
    return drag, total


def _without(
    dag: Dag, work: NDArray[np.intp], marks: NDArray[np.uint32], bits: Iterable[int]
) -> Iterator[NDArray[np.int64]]:
    """Yield the weights without the edges of `work` that have one mark, for each of the marks in turn."""
    weight = schedule.weights(dag.graph, dag.binding)
    for bit in bits:
        gone = work[_has(marks, bit)]
        changed = weight.copy()
        changed[gone] -= dag.graph.edges.lag[gone]
        yield changed


def _has(marks: NDArray[np.uint32], bit: int) -> NDArray[np.bool_]:
    return np.asarray(marks & (np.uint32(1) << np.uint32(bit)) != 0)

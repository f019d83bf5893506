"""The data graph of the operators, where a trace records it: work, span, and branches that ran in turn without need."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tracegap.activity import enclosing_operator
from tracegap.dataedges import DATA
from tracegap.kinds import Kind
from tracegap.timeline import Timeline, Window

DATA_FLOWS = (DATA, "dataflow")
"""Kinds of arrows that say which operator feeds which, in lower case."""


@dataclass(frozen=True, slots=True)
class Serial:
    """Two operators that ran one after the other although no path of the data graph joins them."""

    first: str
    second: str
    saving_ns: int


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Of the data graph: the sum of its operators, its longest path, and branches that could have run side by side."""

    work_ns: int
    span_ns: int
    serial: tuple[Serial, ...]


def parallelism(timeline: Timeline, window: Window) -> Parallelism | None:
    """Measure the data graph of the window's operators; None where the trace has none. O(operators + edges)."""
    slices, flows = timeline.slices, timeline.flows
    data = [place for place, name in enumerate(timeline.flow_kinds) if name.lower() in DATA_FLOWS]
    inside = (slices.start >= window.start) & (slices.end <= window.end) & (slices.kind == Kind.OP) & slices.plausible
    inside &= enclosing_operator(timeline) < 0  # what runs inside an operator (If, Loop) is the operator's own time
    rows = np.flatnonzero(np.isin(flows.kind, data))
    rows = rows[inside[flows.source[rows]] & inside[flows.target[rows]]]
    # time order makes the graph acyclic: what starts no later than its producer is no consumer
    rows = rows[slices.start[flows.source[rows]] < slices.start[flows.target[rows]]]
    if not len(rows):
        return None
    operators = np.flatnonzero(inside)
    length = slices.end - slices.start
    reach = dict.fromkeys(operators.tolist(), 0)
    order = rows[np.argsort(slices.start[flows.target[rows]], kind="stable")]
    for source, target in zip(flows.source[order].tolist(), flows.target[order].tolist(), strict=True):
        reach[target] = max(reach[target], reach[source] + int(length[source]))
    return Parallelism(
        work_ns=int(length[operators].sum()),
        span_ns=max(reach[row] + int(length[row]) for row in reach),
        serial=_serial(timeline, operators, flows.source[rows], flows.target[rows]),
    )


def _serial(
    timeline: Timeline, operators: NDArray[np.intp], source: NDArray[np.int32], target: NDArray[np.int32]
) -> tuple[Serial, ...]:
    """Return the pairs among the twenty longest operators that ran in turn without need, dearest first."""
    import networkx as nx

    slices, names = timeline.slices, timeline.names
    length = slices.end - slices.start
    graph = nx.DiGraph(zip(source.tolist(), target.tolist(), strict=True))
    longest = [row for row in operators[np.argsort(-length[operators], kind="stable")].tolist() if row in graph][:20]
    below = {row: nx.descendants(graph, row) for row in longest}
    found = [
        Serial(names[slices.name[a]], names[slices.name[b]], int(min(length[a], length[b])))
        for a, b in combinations(sorted(longest, key=lambda row: int(slices.start[row])), 2)
        if slices.end[a] <= slices.start[b] and b not in below[a] and a not in below[b]
    ]
    return tuple(sorted(found, key=lambda pair: -pair.saving_ns)[:10])

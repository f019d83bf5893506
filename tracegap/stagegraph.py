"""The stage graph: which stages need each other, as far as the trace records it."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracegap.dag import Dag
from tracegap.datagraph import DATA_FLOWS
from tracegap.edges import Cause
from tracegap.phases import Phases, phase_of

_RECORDED = (Cause.LAUNCH, Cause.SYNC, Cause.EVENT, Cause.FLOW, Cause.DATA)
"""What proves a dependence; order on a thread or stream does not."""


@dataclass(frozen=True, slots=True)
class StageGraph:
    """Recorded edges between stages: ``within`` a step and ``across`` steps, each with how many edges of each cause.

    ``knows_data`` says whether the trace records which operator feeds which; if it does, stages without a path are independent.
    """

    within: Mapping[tuple[str, str], Mapping[str, int]]
    across: Mapping[tuple[str, str], Mapping[str, int]]
    knows_data: bool

    def relation(self, a: str, b: str) -> tuple[str, str]:
        """Return dependent, independent or unknown, and why."""
        import networkx as nx

        graph = nx.DiGraph(list(self.within))
        for source, target in ((a, b), (b, a)):
            if source in graph and target in graph and nx.has_path(graph, source, target):
                path = nx.shortest_path(graph, source, target)
                steps = [self._step(one, other) for one, other in pairwise(path)]
                return "dependent", f"{path[0]} " + " ".join(steps)
        if self.knows_data:
            return "independent", "the trace records data flow, and none joins them within a step"
        return "unknown", "no recorded edge joins them; only the order on their threads"

    def _step(self, one: str, other: str) -> str:
        counts = ", ".join(f"{name} {number:,}" for name, number in sorted(self.within[one, other].items()))
        return f"→ {other} ({counts})"


def stage_graph(dag: Dag, phases: Phases) -> StageGraph:
    """Count the recorded edges of a window's graph between its stages."""
    timeline = dag.timeline
    slices, edges = timeline.slices, dag.graph.edges
    rows = np.flatnonzero(np.isin(dag.cause, _RECORDED) & ~dag.inferred)
    phase = phase_of(timeline, phases)
    source, target = edges.source[rows] >> 1, edges.target[rows] >> 1
    known = (phase[source] >= 0) & (phase[target] >= 0)
    rows, source, target = rows[known], source[known], target[known]
    names = np.stack((phases.name[phase[source]], phases.name[phase[target]], dag.cause[rows]), axis=1)
    step = slices.step[source], slices.step[target]
    tables = []
    for mask in (step[0] == step[1], (step[0] >= 0) & (step[1] > step[0])):
        table: dict[tuple[str, str], dict[str, int]] = {}
        found, number = np.unique(names[mask & (names[:, 0] != names[:, 1])], axis=0, return_counts=True)
        for (a, b, cause), times in zip(found.tolist(), number.tolist(), strict=True):
            table.setdefault((timeline.names[a], timeline.names[b]), {})[Cause(cause).name.lower()] = times
        tables.append(table)
    knows_data = any(name.lower() in DATA_FLOWS for name in timeline.flow_kinds)
    return StageGraph(tables[0], tables[1], knows_data)

"""What a change would save: the graph of the window, replayed with it. Savings of several changes do not add up."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals, schedule, segments
from tracegap.analyses.ledger import DISPATCH
from tracegap.charges import Charge
from tracegap.dag import Dag
from tracegap.edges import Cause
from tracegap.intervals import Intervals
from tracegap.kinds import CONTEXT


@dataclass(frozen=True, slots=True)
class Gone:
    """Time that is no more: work and waits of these charges, on the path and off it.

    Only what lies in ``within`` and not in ``outside``, where these are given; ``dispatch`` spares what operators compute on the host.
    """

    charges: tuple[Charge, ...]
    within: Intervals | None = None
    outside: Intervals | None = None
    dispatch: bool = False


@dataclass(frozen=True, slots=True)
class NoSync:
    """Blocking calls that do not wait: their edges are removed."""


Change = Gone | NoSync


class Pricing:
    """Replays of one graph. What its lags and delays are charged to is found out once.

    Parameters
    ----------
    dag : Dag
    """

    def __init__(self, dag: Dag) -> None:
        graph = dag.graph
        self._dag = dag
        self._lag_charge = segments.lag_charges(dag, np.arange(len(graph.edges), dtype=np.int32))
        self._delay_charge = np.full(len(graph.time), Charge.UNATTRIBUTED, np.uint8)
        late = graph.nodes[dag.binding.delay[graph.nodes] > 0]
        self._delay_charge[late] = segments.delay_charges(dag, late)

    def savings(self, changes: Mapping[str, Change]) -> dict[str, int]:
        """Return how much shorter the window would be with each change, in ns; one replay a change."""
        dag = self._dag
        if not changes:
            return {}
        weights = (self._weight(one) for one in changes.values())
        replayed = schedule.replay_many(dag.plan, weights, dag.graph.time, dag.end)
        return {code: dag.window.end - end for code, end in zip(changes, replayed.tolist(), strict=True)}

    def _weight(self, one: Change) -> NDArray[np.int64]:
        dag = self._dag
        match one:
            case Gone():
                return _without(dag, one, self._lag_charge, self._delay_charge)
            case NoSync():
                weight = schedule.weights(dag.graph, dag.binding)
                weight[dag.cause == Cause.SYNC] = schedule.NEVER
                return weight


def _without(dag: Dag, gone: Gone, lag_charge: NDArray[np.uint8], delay_charge: NDArray[np.uint8]) -> NDArray[np.int64]:
    graph, delay = dag.graph, dag.binding.delay
    weight = schedule.weights(graph, dag.binding)
    slices = dag.timeline.slices
    rows = np.isin(lag_charge, gone.charges) & (graph.edges.lag > 0)
    if gone.dispatch:
        owner = dag.owner
        rows &= (owner < 0) | ((slices.self_time[owner] <= DISPATCH) & ~np.isin(slices.kind[owner], CONTEXT))
    edges = np.flatnonzero(rows)
    begun = graph.time[graph.edges.source[edges]]
    weight[edges] -= _counted(gone, begun, begun + graph.edges.lag[edges])
    nodes = np.flatnonzero(np.isin(delay_charge, gone.charges) & (delay > 0))
    sooner = np.zeros(len(graph.time), np.int64)
    sooner[nodes] = _counted(gone, graph.time[nodes] - delay[nodes], graph.time[nodes])
    weight -= sooner[graph.edges.target]
    return weight


def _counted(gone: Gone, start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how much of each stretch is gone."""
    if gone.within is not None:
        time = gone.within if gone.outside is None else intervals.subtract(gone.within, gone.outside)
        return intervals.covered(time, end) - intervals.covered(time, start)
    spared = gone.outside if gone.outside is not None else intervals.EMPTY
    return end - start - (intervals.covered(spared, end) - intervals.covered(spared, start))

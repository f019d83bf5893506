"""Where the critical path goes from one thread of the file to another."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule
from tracegap.dag import Dag
from tracegap.edges import Cause
from tracegap.events import Events, Thread

_ON_THREADS = tuple(map(ord, "XB"))
"""Phases of slices that stand on a thread's track, where arrows can end."""


@dataclass(frozen=True, eq=False)
class Crossings:
    """k crossings, first to last.

    Attributes
    ----------
    source, target : sequence of Thread
        From where to where, as the file names threads.
    source_ns, target_ns : int64[k]
        Moments inside the slices that the path leaves and reaches, in ns on the clock of `Events`; ``source_ns <= target_ns``.
    names : sequence of str
        Causes.
    """

    source: Sequence[Thread]
    target: Sequence[Thread]
    source_ns: NDArray[np.int64]
    target_ns: NDArray[np.int64]
    names: Sequence[str]


def crossings(events: Events, dag: Dag) -> Crossings:
    """Return the crossings of a window's critical path; those that go back in time (skewed clocks) are left out."""
    nodes, since = np.array([dag.end], np.int32), np.array([dag.window.start], np.int64)
    rows, _ = schedule.walks(dag.graph, dag.binding, nodes, since)
    source, target = dag.graph.edges.source[rows], dag.graph.edges.target[rows]
    between = (source < dag.source) & (target < dag.source)
    rows, source, target = rows[between], source[between], target[between]
    event = dag.timeline.slices.event
    left, reached = event[source >> 1], event[target >> 1]
    leaving, arriving = _moments(events, left, source), _moments(events, reached, target)
    drawn = (events.thread[left] != events.thread[reached]) & (leaving <= arriving)
    drawn &= np.isin(events.phase[left], _ON_THREADS) & np.isin(events.phase[reached], _ON_THREADS)
    return Crossings(
        source=[events.threads[thread] for thread in events.thread[left[drawn]].tolist()],
        target=[events.threads[thread] for thread in events.thread[reached[drawn]].tolist()],
        source_ns=leaving[drawn],
        target_ns=arriving[drawn],
        names=[Cause(cause).name.lower() for cause in dag.cause[rows[drawn]].tolist()],
    )


def _moments(events: Events, rows: NDArray[np.int32], nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the start of each event, or its last nanosecond where the node is an end."""
    start = events.start[rows]
    return np.where(nodes % 2 == 0, start, np.maximum(start, start + events.duration[rows] - 1))

"""The dependency graph of a window: why each slice could not have started or ended earlier.

In: a `Timeline` and a `Window`. Out: a `Dag`, whose every node is explained by a binding edge and a delay, so that
replaying it unchanged gives the observed times and its longest path from SOURCE to END is the wall time.

Lags are work, not elapsed time: an edge that stands for waiting weighs 0 (or the least it can take). If every edge weighed
the time between its ends, all paths between two nodes would be equally long and "the longest" would be chance.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule
from tracegap.edges import Cause, Found, join
from tracegap.edges.arrow import arrow
from tracegap.edges.boundary import entry, exit_
from tracegap.edges.device import launch, stream
from tracegap.edges.event import event
from tracegap.edges.handoff import handoff
from tracegap.edges.queue import queue
from tracegap.edges.scene import Scene, look
from tracegap.edges.sync import sync
from tracegap.edges.thread import thread
from tracegap.problems import Problem, problem
from tracegap.timeline import Timeline, Window

GIVEN_UP = {Cause.THREAD: 0, Cause.STREAM: 0, Cause.BOUNDARY: 0, Cause.LAUNCH: 1}
"""Rank of a recorded edge when one has to go to break a cycle; others have 2, and all inferred ones 3."""


@dataclass(frozen=True, eq=False)
class Dag:
    """The graph of a window of a timeline of n slices.

    Node ``2 i`` is the start of slice i, node ``2 i + 1`` its end; ``source`` is ``2 n``, ``end`` is ``2 n + 1``.

    Attributes
    ----------
    timeline : Timeline
    window : Window
    graph : schedule.Graph
        ``time`` is int64[2 n + 2]; ``nodes`` are those that take part: boundaries of host work and device work inside the window,
        SOURCE and END; ``edges`` has e rows.
    cause : uint8[e]
        `tracegap.edges.Cause` of each edge.
    inferred : bool[e]
        Whether the edge is a guess from names and times.
    owner : int32[e]
        The slice whose work the edge's lag is; −1 where it is none's.
    binding : schedule.Binding
        The edge that binds each node, and its delay.
    problems : tuple of Problem
        Edges that were left out.
    """

    timeline: Timeline
    window: Window
    graph: schedule.Graph
    cause: NDArray[np.uint8]
    inferred: NDArray[np.bool_]
    owner: NDArray[np.int32]
    binding: schedule.Binding
    problems: tuple[Problem, ...] = ()

    @property
    def source(self) -> int:
        """The node of the window's start."""
        return len(self.graph.time) - 2

    @property
    def end(self) -> int:
        """The node of the window's end."""
        return len(self.graph.time) - 1

    @cached_property
    def plan(self) -> schedule.Plan:
        """The graph made ready for replays; made once, since every what-if of the window needs it."""
        return schedule.contract(self.graph)


def build(timeline: Timeline, window: Window) -> Dag:
    """Build the graph of a window. O(n log n) array passes; loops in Python over tracks and nesting depths only."""
    scene = look(timeline, window)
    edges, problems = _forward(scene, _between(scene))
    nodes = _sequence(scene)
    kept = schedule.order(_graph(scene, nodes, edges)).kept
    if not kept.all():
        problems += _counted("cyclic-edge", edges.take(~kept))
        edges = edges.take(kept)
    edges = join((edges, entry(scene, nodes, edges.target), exit_(scene)))
    first, last = np.array([scene.source], np.int32), np.array([scene.source + 1], np.int32)
    graph = _graph(scene, np.concatenate((first, nodes, last)), edges)
    return Dag(
        timeline=timeline,
        window=window,
        graph=graph,
        cause=edges.cause,
        inferred=edges.inferred,
        owner=edges.owner,
        binding=schedule.bind(graph),
        problems=problems,
    )


def _between(scene: Scene) -> Found:
    """Return the edges of all causes between slices; of edges that bind equally, the first one counts."""
    syncs, waited = sync(scene)
    stalls, stalled = queue(scene)
    recorded = (
        syncs,
        stalls,
        event(scene),
        stream(scene),
        launch(scene),
        arrow(scene),
        thread(scene, waited | stalled),
    )
    explained = join([part.take(part.cause != Cause.THREAD) for part in recorded])
    return join((*recorded, handoff(scene, explained)))


def _forward(scene: Scene, edges: Found) -> tuple[Found, tuple[Problem, ...]]:
    """Leave out edges that go back in time, but for launches, whose clocks are skewed."""
    back = (scene.time[edges.target] < scene.time[edges.source]) & (edges.cause != Cause.LAUNCH)
    if not back.any():
        return edges, ()
    return edges.take(~back), _counted("backward-edge", edges.take(back))


def _counted(code: str, edges: Found) -> tuple[Problem, ...]:
    counts = Counter(edges.cause.tolist())
    told = ", ".join(f"{count} × {Cause(cause).name.lower()}" for cause, count in sorted(counts.items()))
    return (problem(code, len(edges), told),)


def _sequence(scene: Scene) -> NDArray[np.int32]:
    """Return the nodes chain after chain: threads, then streams."""
    device = np.empty(2 * len(scene.queued.row), np.int32)
    device[0::2], device[1::2] = 2 * scene.queued.row, 2 * scene.queued.row + 1
    return np.concatenate((scene.chains.node, device[scene.inside[device]]))


def _graph(scene: Scene, nodes: NDArray[np.int32], edges: Found) -> schedule.Graph:
    rank = np.full(256, 2, np.uint8)
    for cause, value in GIVEN_UP.items():
        rank[cause] = value
    ranks = np.where(edges.inferred, np.uint8(3), rank[edges.cause])
    return schedule.Graph(scene.time, nodes, schedule.Edges(edges.source, edges.target, edges.lag, ranks))


def to_networkx(dag: Dag) -> Any:
    """Return the graph as a `networkx.MultiDiGraph`, for a step or a short window.

    Nodes are the ints of `Dag`, and ``"SOURCE"`` and ``"END"``, with ``time`` (ns from the trace's start), ``name``, ``track``
    and ``boundary``. Edges have ``weight`` (the lag with the delay of the target, ns), ``lag``, ``delay``, ``cause`` and
    ``inferred``; `networkx.dag_longest_path_length` of it is the window's wall time.
    """
    import networkx

    timeline, graph = dag.timeline, dag.graph
    slices = timeline.slices
    label: dict[int, int | str] = {dag.source: "SOURCE", dag.end: "END"}
    out = networkx.MultiDiGraph()
    for node in graph.nodes.tolist():
        row = node >> 1
        facts: dict[str, Any] = {"time": int(graph.time[node])}
        if node not in label:
            name = int(slices.name[row])
            facts["name"] = timeline.names[name] if name >= 0 else ""
            facts["track"] = timeline.tracks.label[int(slices.track[row])]
            facts["boundary"] = "end" if node % 2 else "start"
        out.add_node(label.get(node, node), **facts)
    edges = graph.edges
    delay = dag.binding.delay[edges.target]
    rows = zip(
        edges.source.tolist(),
        edges.target.tolist(),
        edges.lag.tolist(),
        delay.tolist(),
        dag.cause.tolist(),
        dag.inferred.tolist(),
        strict=True,
    )
    for source, target, lag, rest, cause, inferred in rows:
        out.add_edge(
            label.get(source, source),
            label.get(target, target),
            weight=lag + rest,
            lag=lag,
            delay=rest,
            cause=Cause(cause).name.lower(),
            inferred=inferred,
        )
    return out

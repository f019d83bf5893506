"""What a replay takes for granted between host threads: that a slice needs nothing of another thread but what an edge says.

A thread that idles shows what it waits for. One that finds all it needs in time never idles, and no trace tells its need from
chance, so a replay may let a faster consumer run ahead of its producer. What can be told is how much hangs on it: the replay in
which every slice also waits for all that had ended on other threads before it leaves out no such need.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule
from tracegap.dag import Dag
from tracegap.edges import Cause, Found, found, join
from tracegap.edges.scene import polling
from tracegap.kinds import Role
from tracegap.scenarios.web import Web


@dataclass(frozen=True, slots=True)
class ThreadOrder:
    """The wall if each slice of a host thread needs all that had ended on the process's other threads when it started.

    ``before`` had ended when ``after`` started on another thread; without that need, it has not, here first on the path.
    """

    wall_ns: int
    before: str
    after: str


@dataclass(frozen=True, eq=False)
class Held:
    """The graph of a web whose slices also wait for what had ended on other threads.

    Attributes
    ----------
    web : Web
    graph : schedule.Graph
        The web's nodes and edges; then gates, and the edges through them, with no lag: an end opens its gate, a gate the
        next one, and a start waits for the last gate that opened before it.
    plan : schedule.Plan
    """

    web: Web
    graph: schedule.Graph
    plan: schedule.Plan

    def thread_order(self, weight: NDArray[np.int64]) -> ThreadOrder | None:
        """Return what comes of the order under the given weights of the web's edges, int64[e]; None where it holds nothing up."""
        dag, edges = self.web.dag, self.graph.edges
        weight = np.append(weight, np.zeros(len(edges) - len(weight), np.int64))
        time = schedule.replay(self.plan, weight, self.graph.time)
        then = schedule.Graph(time, self.graph.nodes, schedule.Edges(edges.source, edges.target, weight, edges.rank))
        path = schedule.path(then, schedule.bind(then), dag.end)
        source, target, own = edges.source[path], edges.target[path], len(dag.graph.time)
        opens, waits = (source < own) & (target >= own), (source >= own) & (target < own)
        if not waits.any():
            return None
        # Up to its first gate the path is one of the replay without gates, where that start came before that end.
        ids = dag.timeline.slices.name[[source[opens][0] >> 1, target[waits][0] >> 1]]
        before, after = (dag.timeline.names[one] if one >= 0 else "" for one in ids.tolist())
        return ThreadOrder(int(time[dag.end]) - dag.window.start, before, after)


def hold(web: Web) -> Held | None:
    """Return the graph in which the order between the host threads of each process is kept; None where there is none to keep.

    There is none where one thread has all the work, or where the trace records which slice feeds which. Left out, as for
    `handoff` edges, are threads that only poll, and tracks that are not ordered. O(n log n), and a gate only where one
    thread's boundaries follow another's.
    """
    dag = web.dag
    if not dag.timeline.shared_clock or (dag.cause == Cause.DATA).any():
        return None
    nodes = _boundaries(dag)
    last_end, first_start, process = _runs(dag, nodes)
    opening = last_end >= 0
    opens = np.flatnonzero(opening)
    # The last gate before each run.
    before: NDArray[np.int64] = np.cumsum(opening) - np.where(opening, 2, 1)
    behind = np.asarray(before >= 0)
    behind[behind] = process[opens[before[behind]]] == process[behind]
    waits, follows = behind & (first_start >= 0), behind & opening
    if not waits.any():
        return None
    gate = (len(dag.graph.time) + np.arange(len(opens))).astype(np.int32)
    source = np.concatenate((last_end[opens], gate[before[follows]], gate[before[waits]]))
    target = np.concatenate((gate, gate[before[follows] + 1], first_start[waits]))
    through = found(source, target, 0, cause=Cause.HANDOFF, inferred=True)
    time = np.append(dag.graph.time, dag.graph.time[last_end[opens]])
    nodes = np.append(dag.graph.nodes, gate)
    # Of ends and starts at one moment, what would close a cycle goes, and a gate that nothing opens then is open from the start.
    through = through.take(schedule.order(_graph(time, nodes, web, through)).kept[len(web.edges) :])
    bare = np.setdiff1d(gate, through.target)
    through = join((through, found(np.full(len(bare), dag.source), bare, 0, cause=Cause.HANDOFF, inferred=True)))
    graph = _graph(time, nodes, web, through)
    return Held(web, graph, schedule.contract(graph))


def _graph(time: NDArray[np.int64], nodes: NDArray[np.int32], web: Web, through: Found) -> schedule.Graph:
    edges = join((web.edges, through))
    rank = np.repeat(np.array([0, 1], np.uint8), (len(web.edges), len(through)))
    return schedule.Graph(time, nodes, schedule.Edges(edges.source, edges.target, edges.lag, rank))


def _boundaries(dag: Dag) -> NDArray[np.int32]:
    """Return the starts of work on host threads, and the ends of what took time, by process and time; ends first."""
    slices, tracks = dag.timeline.slices, dag.timeline.tracks
    threads = (tracks.role == Role.HOST) & tracks.ordered & ~polling(slices, tracks)
    nodes = dag.graph.nodes[dag.graph.nodes < dag.source]
    row, starts = nodes >> 1, nodes % 2 == 0
    chosen = threads[slices.track[row]] & (starts | (slices.end[row] > slices.start[row]))
    nodes, row, starts = nodes[chosen], row[chosen], starts[chosen]
    return np.asarray(nodes[np.lexsort((starts, dag.graph.time[nodes], tracks.process[slices.track[row]]))])


def _runs(dag: Dag, nodes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Cut boundaries into runs of one lane, which keeps its own order: its last end stands for all, and so does its first start.

    Returns
    -------
    last_end, first_start : int32[r]
        Of each run; −1 for none.
    process : int32[r]
    """
    slices, tracks = dag.timeline.slices, dag.timeline.tracks
    row, ends = nodes >> 1, nodes % 2 == 1
    track, lane = slices.track[row], slices.lane[row]
    run = np.zeros(len(nodes), np.int64)
    run[1:] = np.cumsum((track[1:] != track[:-1]) | (lane[1:] != lane[:-1]))
    none = np.full(int(run.max(initial=-1)) + 1, -1, np.int32)
    last_end, first_start, process = none.copy(), none.copy(), none
    last_end[run[ends]] = nodes[ends]  # of several the last one is written last
    first_start[run[~ends][::-1]] = nodes[~ends][::-1]
    process[run] = tracks.process[track]
    return last_end, first_start, process

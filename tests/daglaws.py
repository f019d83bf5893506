"""What must hold for every dependency graph, whatever the trace."""

import networkx
import numpy as np

from tracegap import schedule
from tracegap.dag import Dag, build, to_networkx
from tracegap.scenarios.threads import hold
from tracegap.scenarios.web import web
from tracegap.segments import path
from tracegap.timeline import Timeline, Window


def lawful(timeline: Timeline, window: Window, *, networkx_edges: int = 20_000) -> Dag:
    """Build the graph of a window, check all laws, and return it.

    Graphs of more than `networkx_edges` edges are not handed to networkx, which would take minutes.
    """
    dag = build(timeline, window)
    graph, time = dag.graph, dag.graph.time
    inside = time[graph.nodes]
    assert inside.min() >= window.start
    assert inside.max() <= window.end
    assert dag.binding.delay[graph.nodes].min() >= 0
    replayed_as_observed(dag)
    slack_is_zero_on_the_path(dag)
    segments_tile_the_window(dag)
    order_between_threads_is_kept(dag)
    if len(graph.edges) <= networkx_edges:
        drawn = to_networkx(dag)
        assert networkx.is_directed_acyclic_graph(drawn)
        assert networkx.dag_longest_path_length(drawn) == window.wall
    return dag


def replayed_as_observed(dag: Dag) -> None:
    """Replaying the unchanged graph from SOURCE alone gives every observed time."""
    graph = dag.graph
    plan = schedule.contract(graph)
    weight = schedule.weights(graph, dag.binding)
    start = np.full(len(graph.time), schedule.NEVER)
    start[dag.source] = dag.window.start
    again = schedule.replay(plan, weight, start)
    assert (again[graph.nodes] == graph.time[graph.nodes]).all()
    assert schedule.replay_many(plan, [weight, weight], start, dag.end).tolist() == [dag.window.end] * 2


def order_between_threads_is_kept(dag: Dag) -> None:
    """What holds threads to the order they had delays nothing while nothing changes."""
    then = web(dag)
    held = hold(then)
    if held is not None:
        edges = held.graph.edges
        weight = np.zeros(len(edges), np.int64)
        weight[: len(then.edges)] = then.edges.lag + then.delay[then.edges.target]
        again = schedule.replay(held.plan, weight, held.graph.time)
        assert (again[held.graph.nodes] == held.graph.time[held.graph.nodes]).all()
        assert held.thread_order(weight[: len(then.edges)]) is None


def slack_is_zero_on_the_path(dag: Dag) -> None:
    """Slack is never negative, and nothing on the path has any."""
    graph = dag.graph
    slack = schedule.slack(dag.plan, graph, dag.binding, dag.end)
    assert slack[graph.nodes].min() >= 0
    rows = schedule.path(graph, dag.binding, dag.end)
    source, target = graph.edges.source[rows], graph.edges.target[rows]
    assert source[0] == dag.source
    assert target[-1] == dag.end
    assert (source[1:] == target[:-1]).all()
    assert not slack[source].any()
    assert not slack[target].any()


def segments_tile_the_window(dag: Dag) -> None:
    """The path's segments cover the window, each moment once."""
    window, segments = dag.window, path(dag)
    assert (segments.end > segments.start).all()
    assert (segments.start[1:] == segments.end[:-1]).all()
    assert int((segments.end - segments.start).sum()) == window.wall
    if window.wall:
        assert (segments.start[0], segments.end[-1]) == (window.start, window.end)

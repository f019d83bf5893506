"""Longest paths against the definition and against networkx."""

import networkx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegap.schedule import (
    NEVER,
    Edges,
    Graph,
    bind,
    contract,
    order,
    path,
    replay,
    replay_many,
    slack,
    walks,
    weights,
)

FAR = NEVER // 2
"""Times under this are of nodes that nothing reaches."""


def graph(time, *edges, nodes=None):
    """A graph of edges ``(source, target, lag)`` or ``(source, target, lag, rank)``."""
    rows = [(*edge, 0)[:4] for edge in edges]
    source, target, lag, rank = zip(*rows, strict=True) if rows else ((), (), (), ())
    table = Edges(
        np.array(source, np.int32), np.array(target, np.int32), np.array(lag, np.int64), np.array(rank, np.uint8)
    )
    chosen = range(len(time)) if nodes is None else nodes
    return Graph(np.array(time, np.int64), np.array(list(chosen), np.int32), table)


def test_nodes_go_by_time():
    assert order(graph([30, 10, 20], (1, 2, 0), (2, 0, 0))).nodes.tolist() == [1, 2, 0]


def test_nodes_of_equal_time_go_by_their_edges():
    assert order(graph([5, 5, 5, 0], (2, 1, 0), (1, 0, 0), (3, 2, 0))).nodes.tolist() == [3, 2, 1, 0]


def test_an_edge_back_in_time_puts_what_follows_behind_its_source():
    # Node 1 is a kernel seen to start at 8, before its launch at 10; node 2 is its end, at 9.
    found = order(graph([10, 8, 9], (0, 1, -2), (1, 2, 1)))
    assert found.nodes.tolist() == [0, 1, 2]
    assert found.kept.all()


def test_of_a_cycle_the_least_trusted_edge_is_given_up():
    found = order(graph([5, 5, 5], (0, 1, 0, 0), (1, 2, 0, 3), (2, 0, 0, 1)))
    assert found.kept.tolist() == [True, False, True]
    assert found.nodes.tolist() == [2, 0, 1]


def test_two_cycles_give_up_one_edge_each():
    found = order(graph([5] * 4, (0, 1, 0), (1, 0, 0), (2, 3, 0), (3, 2, 0), (1, 2, 0)))
    assert found.kept.tolist() == [True, False, True, False, True]


def test_an_edge_from_a_node_to_itself_is_given_up():
    assert order(graph([5], (0, 0, 0))).kept.tolist() == [False]


def test_a_cycle_across_time_is_broken_too():
    # 0 → 1 → 2 go forward, and a launch of negative lag leads back.
    found = order(graph([1, 2, 3], (0, 1, 1), (1, 2, 1), (2, 0, -2, 1)))
    assert found.kept.tolist() == [True, True, False]


def test_a_long_chain_behind_an_edge_back_in_time_is_put_behind_its_source():
    # A source at 1,000 leads back to node 1 at 1, and from there a chain goes on, past 1,000.
    chain = [(node, node + 1, 1) for node in range(1, 1500)]
    found = order(graph([1000, *range(1, 1501)], (0, 1, -999), *chain))
    assert found.nodes.tolist() == list(range(1501))
    assert found.kept.all()


def test_the_binding_edge_is_the_latest_and_the_rest_is_delay():
    found = bind(graph([0, 10, 12, 20], (0, 1, 10), (0, 2, 4), (1, 3, 5), (2, 3, 1)))
    assert found.edge.tolist() == [-1, 0, 1, 2]
    assert found.delay.tolist() == [0, 0, 8, 5]


def test_of_edges_that_bind_equally_the_first_counts():
    assert bind(graph([0, 0, 9], (1, 2, 9), (0, 2, 9))).edge.tolist() == [-1, -1, 0]


def test_the_path_leads_back_along_binding_edges():
    one = graph([0, 10, 12, 20], (0, 1, 10), (0, 2, 4), (1, 3, 5), (2, 3, 1), nodes=[0, 1, 3, 2])
    assert path(one, bind(one), 3).tolist() == [0, 2]
    assert path(one, bind(one), 2).tolist() == [1]
    assert path(one, bind(one), 0).tolist() == []


def test_walks_go_back_as_far_as_each_ones_moment():
    one = graph((0, 10, 20, 30, 40), (0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 4, 10))
    edges, walk = walks(one, bind(one), np.array([2, 4], np.int32), np.array([5, 25]))
    # back from 20 to before 5: both edges; from 40 to before 25: the edge that covers that moment, and the last
    assert (edges.tolist(), walk.tolist()) == ([0, 1, 2, 3], [0, 0, 1, 1])


def test_a_walk_of_no_length_has_no_edges():
    one = graph((0, 10), (0, 1, 10))
    edges, walk = walks(one, bind(one), np.array([1], np.int32), np.array([10]))
    assert (edges.tolist(), walk.tolist()) == ([], [])


def test_a_walk_through_moments_later_than_its_node_tells_only_the_first_of_them():
    # Node 4, a kernel at 10, hangs on its launch, the last of three calls from 1,000 on.
    one = graph((0, 1_000, 1_010, 1_020, 10), (0, 1, 1_000), (1, 2, 10), (2, 3, 10), (3, 4, -1_010))
    edges, walk = walks(one, bind(one), np.array([4], np.int32), np.array([5]))
    assert (edges.tolist(), walk.tolist()) == ([0, 3], [0, 0])


def test_slack_is_how_long_a_node_may_slip():
    # 0 → 1 → 3 takes 10 + 10; 0 → 2 → 3 takes 4 + 1, and node 4 leads nowhere.
    one = graph([0, 10, 4, 20, 7], (0, 1, 10), (1, 3, 10), (0, 2, 4), (2, 3, 1), (0, 4, 7))
    assert slack(contract(one), one, bind(one), 3).tolist() == [0, 0, 15, 0, 13]


def test_a_shorter_edge_lets_the_next_path_bind():
    one = graph([0, 10, 4, 20], (0, 1, 10), (1, 3, 10), (0, 2, 4), (2, 3, 1))
    plan, weight = contract(one), weights(one, bind(one))
    half, gone = weight.copy(), weight.copy()
    half[1] = 5
    gone[1] = NEVER
    assert replay(plan, half, one.time).tolist() == [0, 10, 4, 15]
    assert replay_many(plan, [weight, half, gone], one.time, 3).tolist() == [20, 15, 5]


def test_more_scenarios_than_a_batch_holds_are_all_replayed():
    one = graph([0, 10, 20], (0, 1, 10), (1, 2, 10))
    plan, weight = contract(one), weights(one, bind(one))
    ends = replay_many(plan, (weight + add for add in range(40)), one.time, 2)
    assert ends.tolist() == [20 + 2 * add for add in range(40)]
    assert replay_many(plan, [], one.time, 2).tolist() == []


@st.composite
def graphs(draw):
    """A graph of random times, hung on node 0 at time 0; lags reach at most what was observed."""
    count = draw(st.integers(2, 12))
    time = [0, *draw(st.lists(st.integers(0, 20), min_size=count - 1, max_size=count - 1))]
    rank = {node: place for place, node in enumerate(draw(st.permutations(range(1, count))), start=1)} | {0: 0}
    pairs = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(1, count - 1)), max_size=30))
    edges = [
        (
            source,
            target,
            draw(st.integers(-5, time[target] - time[source])) if time[target] - time[source] > -5 else -30,
        )
        for source, target in pairs
        if rank[source] < rank[target]
    ]
    edges += [(0, node, time[node]) for node in range(1, count) if node not in {target for _, target, _ in edges}]
    return graph(time, *edges, nodes=draw(st.permutations(range(count))))


@given(graphs())
def test_replaying_unchanged_gives_what_was_observed(one):
    ordered = order(one)
    assert ordered.kept.all()
    place = {node: at for at, node in enumerate(ordered.nodes.tolist())}
    edges = one.edges
    assert all(place[a] < place[b] for a, b in zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    plan, weight = contract(one), weights(one, bind(one))
    assert replay(plan, weight, one.time).tolist() == one.time.tolist()


@given(graphs())
def test_a_walk_from_the_end_is_the_path(one):
    binding = bind(one)
    end = int(one.nodes[np.argmax(one.time[one.nodes])])
    start = np.array([int(one.time[one.nodes].min()) - 1])
    edges, _ = walks(one, binding, np.array([end], np.int32), start)
    assert edges.tolist() == path(one, binding, end).tolist()


@given(graphs(), st.data())
def test_changed_weights_give_the_longest_path_of_networkx(one, data):
    edges = one.edges
    changed = np.array(data.draw(st.lists(st.integers(0, 50), min_size=len(edges), max_size=len(edges))), np.int64)
    drawn = networkx.MultiDiGraph()
    drawn.add_weighted_edges_from(zip(edges.source.tolist(), edges.target.tolist(), changed.tolist(), strict=True))
    drawn.add_node(0)
    plan = contract(one)
    start = np.full(len(one.time), NEVER)
    start[0] = 0
    times = replay(plan, changed, start)
    assert times.max() == networkx.dag_longest_path_length(drawn)
    ends = [int(replay_many(plan, [changed], start, node)[0]) for node in range(len(one.time))]
    assert ends == times.tolist()


@st.composite
def lanes(draw):
    """A host lane of 10 nodes and two long lanes that it feeds, as threads and streams are, with some edges back to it.

    Edges are (source, target, weight); all lead to later columns.
    """
    host = list(range(10))
    weight = st.integers(0, 30)
    edges = [(one, one + 1, draw(weight)) for one in host[:-1]]
    for lane in (range(10, 60), range(60, 110)):
        for at, node in enumerate(lane):
            if at:
                edges.append((node - 1, node, draw(st.one_of(weight, st.just(NEVER))) if draw(st.booleans()) else 7))
            edges.append((draw(st.sampled_from(host[: min(1 + at // 10, 9)])), node, draw(weight)))
            if draw(st.integers(0, 9)) == 0 and at > 1:
                edges.append((draw(st.sampled_from(lane[: at - 1])), node, draw(weight)))
    if draw(st.booleans()):
        edges.append((35, 9, draw(weight)))
    return edges


@settings(deadline=None)
@given(lanes(), st.integers(0, 109))
def test_long_runs_give_what_stepping_through_gives(edges, node):
    source, target, weight = (np.array(column) for column in zip(*edges, strict=True))
    table = Edges(source.astype(np.int32), target.astype(np.int32), weight, np.zeros(len(edges), np.uint8))
    start = np.where(np.arange(110) == 0, 5, NEVER)
    plan = contract(Graph(np.zeros(110, np.int64), np.arange(110, dtype=np.int32), table))
    scenarios = [weight, np.maximum(weight, 3), np.where(target == 40, NEVER, weight)]
    expected = [longest(edges, scenario.tolist()) for scenario in scenarios]
    for scenario, times in zip(scenarios, expected, strict=True):
        assert np.maximum(replay(plan, scenario, start), FAR).tolist() == times
    ends = replay_many(plan, scenarios, start, node)
    assert np.maximum(ends, FAR).tolist() == [times[node] for times in expected]


def longest(edges, weight):
    """The time of each of 110 nodes by the definition; node 9 may wait for others and leads nowhere."""
    times = {0: 5}
    incoming = {}
    for (source, target, _), length in zip(edges, weight, strict=True):
        incoming.setdefault(target, []).append((source, length))
    for node in (*range(1, 9), *range(10, 110), 9):
        times[node] = max(max(times[source] + length for source, length in incoming[node]), FAR)
    return [times[node] for node in range(110)]


@given(graphs(), st.data())
def test_slipping_by_its_slack_never_delays_the_end_and_by_more_does(one, data):
    edges = one.edges
    found = bind(one)
    end = int(np.argmax(one.time))
    spare = slack(contract(one), one, found, end)
    node = data.draw(st.integers(1, len(one.time) - 1))
    plan, weight = contract(one), weights(one, found)
    reaches = networkx.DiGraph(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    reaches.add_nodes_from(range(len(one.time)))
    if not networkx.has_path(reaches, node, end):
        assert spare[node] == one.time[end] - one.time[node]
        return
    for extra in (0, 1):
        later = weight + np.where(edges.target == node, spare[node] + extra, 0)
        assert replay(plan, later, one.time)[end] == one.time[end] + extra


@given(graphs(), st.data())
def test_one_more_edge_never_shortens(one, data):
    ordered = order(one).nodes.tolist()
    first, second = sorted(data.draw(st.lists(st.integers(0, len(ordered) - 1), min_size=2, max_size=2, unique=True)))
    weight = weights(one, bind(one))
    source = np.append(one.edges.source, np.int32(ordered[first]))
    target = np.append(one.edges.target, np.int32(ordered[second]))
    lag = np.append(weight, data.draw(st.integers(-20, 40)))
    more = Graph(one.time, one.nodes, Edges(source, target, lag, np.zeros(len(lag), np.uint8)))
    start = np.full(len(one.time), NEVER)
    start[0] = 0
    later = replay(contract(more), lag, start)
    assert (later >= one.time).all()

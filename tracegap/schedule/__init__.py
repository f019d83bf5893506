"""Longest paths in a graph of moments: order, binding predecessors, critical path, slack, replay. Arrays only.

In: a `Graph` of nodes with observed times, and edges that say *the target cannot come before the source plus the lag*.
Out: arrays over its nodes or edges. Nothing here knows what a node stands for.

A node's time is explained by its **binding** edge, the one whose source plus lag is latest; what remains is the node's
**delay**. With the delay added to the lag of every edge into a node (`weights`), replaying the unchanged graph gives each
observed time exactly, and any change of the weights gives the times that would have been.

Not checked here: lags longer than the observed distance, which make a delay negative (`Graph` allows them; its maker
must not).

Examples
--------
>>> import numpy as np
>>> i32, i64 = (lambda *v: np.array(v, np.int32)), (lambda *v: np.array(v, np.int64))
>>> edges = Edges(i32(0, 0, 1, 2), i32(1, 2, 3, 3), i64(10, 4, 5, 1), np.zeros(4, np.uint8))
>>> graph = Graph(i64(0, 10, 12, 20), i32(0, 1, 2, 3), edges)
>>> found = bind(graph)
>>> found.edge.tolist(), found.delay.tolist()
([-1, 0, 1, 2], [0, 0, 8, 5])
>>> plan = contract(graph)
>>> replay(plan, weights(graph, found), graph.time).tolist()
[0, 10, 12, 20]
>>> slack(plan, graph, found, 3).tolist()
[0, 0, 2, 0]
"""

from tracegap.schedule.folding import Plan, contract, replay, replay_many
from tracegap.schedule.graph import NEVER, Binding, Edges, Graph, bind, weights
from tracegap.schedule.ordering import Order, order
from tracegap.schedule.paths import path, walks
from tracegap.schedule.slipping import slack

__all__ = [
    "NEVER",
    "Binding",
    "Edges",
    "Graph",
    "Order",
    "Plan",
    "bind",
    "contract",
    "order",
    "path",
    "replay",
    "replay_many",
    "slack",
    "walks",
    "weights",
]

"""Forward operators that run again in the backward pass: activation checkpointing."""

import re

import numpy as np

from tracegap import shapes
from tracegap.activity import enclosing
from tracegap.naming import are
from tracegap.waste.scene import Found, Scene, operators, outermost, tell

# The backward pass evaluates one node of the graph after the other; a checkpoint's node, or the hook that unpacks what a node
# saved, calls the forward function again (PyTorch, torch/utils/checkpoint.py).
_NODE = re.compile(r"autograd::engine::evaluate_function|CheckpointFunctionBackward")


def recomputation(scene: Scene) -> Found | None:
    """Find operators inside the evaluation of a backward node that record a forward number themselves.

    An operator that takes part in building the graph has a sequence number and no forward thread; inside the backward pass
    gradients are off, so only recomputed ones have. Each must have run outside the backward pass too, with the same shapes: the
    second derivative of a function builds a graph there as well.
    """
    timeline, slices = scene.timeline, scene.timeline.slices
    if timeline.dialect != "pytorch":
        return None
    rows = operators(scene)
    event = slices.event[rows]
    number, forward = timeline.arg("Sequence number").at(event), timeline.arg("Fwd thread id").at(event)
    nodes = np.zeros(len(slices), np.bool_)
    nodes[rows[are(scene.timeline.names, slices.name[rows], lambda name: _NODE.match(name) is not None)]] = True
    if not nodes.any():
        return None
    behind = enclosing(slices.parent, nodes)[rows] >= 0
    building = (number >= 0) & (forward <= 0) & ~nodes[rows]
    if not (behind & building).any():
        return None
    call = shapes.find_calls(timeline, rows).of
    before = np.unique(call[~behind & building])
    return tell(scene, "recomputation", outermost(timeline, rows[behind & building & np.isin(call, before)]))

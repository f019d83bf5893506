"""Sizes that ONNX Runtime writes at its nodes: the least memory that a run needs. Part of the memory analysis."""

from dataclasses import dataclass

import numpy as np

from tracegap import activity
from tracegap.kinds import Kind
from tracegap.report import named
from tracegap.timeline import Timeline, Window
from tracegap.units import size


@dataclass(frozen=True, slots=True)
class NodeSizes:
    """``parameter_bytes`` of all nodes; of the ``largest`` one, what goes in and comes out; ``least_bytes`` is both."""

    parameter_bytes: int
    largest: str
    largest_bytes: int
    least_bytes: int

    def sentence(self) -> str:
        """Say it in one sentence."""
        return (
            f"A run needs {size(self.least_bytes)} at least: weights {size(self.parameter_bytes)}, and {size(self.largest_bytes)}"
            f" in and out of {named(self.largest)}."
        )


def node_sizes(timeline: Timeline, window: Window) -> NodeSizes | None:
    """Add up the weights and find the node with most bytes; None where nodes carry no sizes.

    A node that ran several times counts once, with its greatest sizes.
    """
    slices = timeline.slices
    rows = np.flatnonzero(activity.overlapping(timeline, window.start, window.end) & (slices.kind == Kind.OP))
    events = slices.event[rows]
    known = np.isin(events, timeline.arg("output_size").rows)
    if not known.any():
        return None
    names, place = np.unique(slices.name[rows[known]], return_inverse=True)
    weights, moved = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    told = {key: timeline.arg(key).at(events[known], 0) for key in ("parameter_size", "activation_size", "output_size")}
    np.maximum.at(weights, place, told["parameter_size"])
    np.maximum.at(moved, place, told["activation_size"] + told["output_size"])
    largest = int(np.argmax(moved))
    parameters = int(weights.sum())
    name = names[largest]
    return NodeSizes(
        parameter_bytes=parameters,
        largest=timeline.names[name] if name >= 0 else "",
        largest_bytes=int(moved[largest]),
        least_bytes=parameters + int(moved[largest]),
    )

"""What is copied from a device to the host, and back again."""

import numpy as np
from numpy.typing import NDArray

from tracegap.activity import Rows
from tracegap.directions import DEVICE_TO_HOST, HOST_TO_DEVICE, direction
from tracegap.kinds import Kind
from tracegap.naming import are
from tracegap.waste.conversions import operations
from tracegap.waste.scene import Found, Scene, operators, tell


def round_trips(scene: Scene) -> Found | None:
    """Find copies to the host that a copy of as many bytes back follows in the same step; nodes of ONNX Runtime that copy both ways."""
    slices = scene.timeline.slices
    copies = scene.device[slices.kind[scene.device] == Kind.COPY]
    size = scene.timeline.arg("bytes").at(slices.event[copies])
    copies, size = copies[size > 0], size[size > 0]
    down = are(scene.timeline.names, slices.name[copies], lambda name: direction(name) == DEVICE_TO_HOST)
    up = are(scene.timeline.names, slices.name[copies], lambda name: direction(name) == HOST_TO_DEVICE)
    rows = operators(scene)
    operation = operations(scene, rows)
    off = rows[are(scene.timeline.names, operation, lambda name: name == "MemcpyToHost")]
    on = rows[are(scene.timeline.names, operation, lambda name: name == "MemcpyFromHost")]
    shared = np.intersect1d(slices.step[off], slices.step[on])
    nodes = np.concatenate((off, on))
    return tell(
        scene, "round-trip", nodes[np.isin(slices.step[nodes], shared)], _returned(scene, copies, size, down, up)
    )


def _returned(
    scene: Scene, rows: Rows, size: NDArray[np.int64], down: NDArray[np.bool_], up: NDArray[np.bool_]
) -> Rows:
    """Return copies down whose next copy of the same size in the same step is up, and those copies up."""
    slices = scene.timeline.slices
    either = down | up
    rows, size, down = rows[either], size[either], down[either]
    order = np.lexsort((slices.start[rows], size, slices.step[rows]))
    rows, size, down = rows[order], size[order], down[order]
    step = slices.step[rows]
    pair = down[:-1] & ~down[1:] & (size[:-1] == size[1:]) & (step[:-1] == step[1:])
    first = np.flatnonzero(pair)
    found: Rows = rows[np.concatenate((first, first + 1))]
    return found

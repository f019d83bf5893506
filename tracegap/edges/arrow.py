"""`flow` and `data` edges: the arrows of the file."""

from dataclasses import replace

import numpy as np

from tracegap.dataedges import DATA
from tracegap.edges import Cause, Found, found
from tracegap.edges.scene import Scene


def arrow(scene: Scene) -> Found:
    """Link the slices that the file's arrows join: end to start, or start to start where the target began inside the source.

    Arrows between slices that take no part (context, or outside the window) say nothing about work and make no edge.
    """
    flows, time = scene.timeline.flows, scene.time
    source, target = 2 * flows.source.astype(np.int64), 2 * flows.target.astype(np.int64)
    source = np.where(time[source + 1] <= time[target], source + 1, source)
    seen = scene.inside[source] & scene.inside[target]
    edges = found(source[seen], target[seen], 0, cause=Cause.FLOW)
    if DATA not in scene.timeline.flow_kinds:
        return edges
    is_data = flows.kind[seen] == scene.timeline.flow_kinds.index(DATA)
    return replace(edges, cause=np.where(is_data, Cause.DATA, Cause.FLOW).astype(np.uint8))

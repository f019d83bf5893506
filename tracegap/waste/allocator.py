"""Memory that is allocated and freed in steady steps."""

import numpy as np

from tracegap.calls import manages_memory
from tracegap.kinds import Kind
from tracegap.waste.scene import Scene, Waste, are, tell


def allocator_churn(scene: Scene) -> Waste | None:
    """Find calls that allocate or free in any step but the first, which may fill caches; None without two steps."""
    timeline, steps = scene.timeline, scene.window.steps
    if len(steps) < 2:
        return None
    slices = timeline.slices
    api = (slices.kind == Kind.RUNTIME) | (slices.kind == Kind.SYNC)
    rows = np.flatnonzero(scene.near & api & np.isin(slices.step, steps[1:]))
    return tell(scene, "allocator", rows[are(scene, slices.name[rows], manages_memory)])

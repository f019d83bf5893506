"""Memory that is allocated and freed in steady steps."""

import numpy as np

from tracegap.calls import manages_memory
from tracegap.kinds import CALLS, is_any
from tracegap.naming import are
from tracegap.waste.scene import Found, Scene, tell


def allocator_churn(scene: Scene) -> Found | None:
    """Find calls that allocate or free in any step but the first, which may fill caches; None without two steps."""
    timeline, steps = scene.timeline, scene.window.steps
    if len(steps) < 2:
        return None
    slices = timeline.slices
    rows = np.flatnonzero(scene.near & is_any(slices.kind, CALLS) & np.isin(slices.step, steps[1:]))
    return tell(scene, "allocator", rows[are(scene.timeline.names, slices.name[rows], manages_memory)])

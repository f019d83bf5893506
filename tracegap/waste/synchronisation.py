"""Calls that block until a device has nothing left to do."""

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.activity import Rows
from tracegap.kinds import Kind
from tracegap.operators import outermost
from tracegap.waste.scene import LEAST, Found, Scene, Waste, length_of, names_of, operators

_RETURN = 20_000
"""ns after the device's last work in which a call that waited for it returns, interrupt and scheduling included."""


def synchronisation(scene: Scene) -> Found | None:
    """Find blocking calls inside which, or just before whose return, every device ran dry.

    A call that returns while devices still have work holds nothing up, nor does one before a long idle time that others caused:
    its harm is the idle time in which it returns. Time is how long the host is blocked, names are the operators that
    block (`aten::item`), else the calls.
    """
    window, slices = scene.window, scene.timeline.slices
    if not len(scene.device):
        return None
    blocked = np.flatnonzero(scene.near & (slices.kind == Kind.SYNC))
    busy = intervals.union(slices.start[scene.device], slices.end[scene.device])
    idle = intervals.gaps(busy, window.start, window.end)
    ends = slices.end[blocked]
    place = np.searchsorted(idle.start, ends, side="right") - 1  # a call may return as the next work starts
    dry = (place >= 0) & (ends <= np.append(idle.end, 0)[place])
    begun = np.where(dry, np.append(idle.start, 0)[place], -1)
    # The device must have worked while the call waited, and must have ended while it did.
    drained = dry & (begun > slices.start[blocked]) & (ends - begun <= _RETURN)
    rows, harmful = blocked[drained], np.unique(place[drained])
    harm = int((idle.end[harmful] - idle.start[harmful]).sum())
    duration = length_of(scene.timeline, window, rows)
    if min(harm, duration) < max(1, LEAST * window.wall):
        return None
    named = slices.name[rows].copy()
    outer = _outermost_operator(scene, rows)
    named[outer >= 0] = slices.name[outer[outer >= 0]]
    return Found(Waste("blocking-sync", len(rows), duration, names_of(scene, named, rows)), rows)


def _outermost_operator(scene: Scene, rows: Rows) -> NDArray[np.int32]:
    """Return the outermost operator around each row, −1 for none."""
    slices = scene.timeline.slices
    marked = np.zeros(len(slices), np.bool_)
    marked[operators(scene)] = True
    parent = slices.parent[rows]
    return np.where(parent >= 0, outermost(slices.parent, marked)[parent], -1)

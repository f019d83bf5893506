"""Work in pieces so small that handing them over costs more than they do."""

import numpy as np

from tracegap.kinds import Kind
from tracegap.waste.scene import LEAST, Found, Scene, Waste, is_host_bound, length_of, names_of, operators, tell

SHORT = 10_000
"""ns: kernels shorter than this take about as long to launch as to run."""
MOSTLY = 0.5
"""Share of a device's busy time from which short kernels are what it does."""
OFTEN = 200
"""Calls of one operator a step: so many dispatches of a few µs are a millisecond."""
QUICK = 20_000
"""ns of its own that a call takes at most to be all dispatch: the arithmetic in it is no longer than calling it."""


def confetti(scene: Scene) -> Found | None:
    """Find kernels under `SHORT` where they are most of the device's busy time and the device waits for the host."""
    timeline, slices = scene.timeline, scene.timeline.slices
    kernels = scene.device[slices.kind[scene.device] == Kind.KERNEL]
    short = kernels[slices.end[kernels] - slices.start[kernels] < SHORT]
    if not len(short) or not is_host_bound(scene):
        return None
    busy = length_of(timeline, scene.window, scene.device)
    if length_of(timeline, scene.window, short) < MOSTLY * busy:
        return None
    return tell(scene, "tiny-kernels", np.empty(0, np.intp), short)


def frequent_operators(scene: Scene) -> Found | None:
    """Find operators that are called `OFTEN` in the median step and are quick, where the host holds things up."""
    slices, window = scene.timeline.slices, scene.window
    if not window.steps or not is_host_bound(scene):
        return None
    rows = operators(scene)
    rows = rows[np.isin(slices.step[rows], window.steps) & (slices.name[rows] >= 0)]
    names, place = np.unique(slices.name[rows], return_inverse=True)
    step = np.searchsorted(window.steps, slices.step[rows])
    calls = np.zeros((len(window.steps), len(names)), np.int64)
    np.add.at(calls, (step, place), 1)
    own = np.zeros(len(names), np.int64)
    np.add.at(own, place, slices.self_time[rows])
    often = np.median(calls, axis=0) >= OFTEN
    quick = own <= QUICK * calls.sum(axis=0)
    chosen = rows[(often & quick)[place]]
    duration = int(slices.self_time[chosen].sum())
    if duration < max(1, LEAST * window.wall):
        return None
    return Found(
        Waste("frequent-operator", len(chosen), duration, names_of(scene, slices.name[chosen], chosen)), chosen
    )

"""What all rules look at, and how they measure: device time where the work ran on a device, else host time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.kinds import Kind
from tracegap.timeline import Timeline, Window

LEAST = 0.01
"""Share of the window under which nothing is told: steps differ by more than that from run to run."""
NAMES = 10
"""Names of one waste, at most; the ones with most time."""
HOST_BOUND = 0.2
"""Idle share of the busiest device from which the host holds it up; under it shorter host work would change little."""
NO_ROWS: Rows = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class Waste:
    """Activity without progress.

    ``duration_ns`` is the time it takes in the window: on the devices where the work ran there, else on the host. ``count`` is how
    many times, ``names`` of what, most time first.
    """

    code: str
    count: int
    duration_ns: int
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Found:
    """A waste and the slices that it is: operators, and device work by itself."""

    waste: Waste
    rows: Rows


@dataclass(frozen=True, eq=False)
class Scene:
    """``near`` bool[n]: plausible and in the window · ``device``: rows of device work in it · ``idle_ratio``: of the busiest device."""

    timeline: Timeline
    window: Window
    near: NDArray[np.bool_]
    device: Rows
    idle_ratio: float | None


def look(timeline: Timeline, window: Window) -> Scene:
    """Find what the rules need."""
    near = activity.overlapping(timeline, window.start, window.end)
    device = activity.device_rows(timeline)
    device = device[near[device]]
    slices = timeline.slices
    owner = timeline.tracks.device[slices.track[device]]
    busy = [
        length_of(timeline, window, device[owner == number]) / window.wall
        for number in np.unique(owner).tolist()
        if window.wall
    ]
    return Scene(timeline, window, near, device, 1 - max(busy) if busy else None)


def length_of(timeline: Timeline, window: Window, rows: Rows) -> int:
    """Return the time in the window that rows cover together, in ns."""
    return intervals.total(activity.covered(timeline, rows, window))


def is_host_bound(scene: Scene) -> bool:
    """Whether shorter host work would shorten the window: a device waits for it, or there is none."""
    return scene.idle_ratio is None or scene.idle_ratio >= HOST_BOUND


def operators(scene: Scene) -> Rows:
    """Return the operators in the window."""
    return np.flatnonzero(scene.near & (scene.timeline.slices.kind == Kind.OP))


def outermost(timeline: Timeline, rows: Rows) -> Rows:
    """Return those of the rows that stand in none of the others."""
    slices = timeline.slices
    marked = np.zeros(len(slices), np.bool_)
    marked[rows] = True
    parent = slices.parent[rows]
    around = np.where(parent >= 0, activity.enclosing(slices.parent, marked)[parent], -1)
    kept: Rows = rows[around < 0]
    return kept


def launched_in(scene: Scene, rows: Rows) -> tuple[Rows, NDArray[np.int32]]:
    """Return the device work that was launched inside the rows, and for each piece the row it was launched in."""
    slices = scene.timeline.slices
    marked = np.zeros(len(slices), np.bool_)
    marked[rows] = True
    launch = slices.launch[scene.device]
    owner = np.where(launch >= 0, activity.enclosing(slices.parent, marked)[launch], -1).astype(np.int32)
    return scene.device[owner >= 0], owner[owner >= 0]


def tell(scene: Scene, code: str, rows: Rows, kernels: Rows = NO_ROWS, *, least: float = LEAST) -> Found | None:
    """Measure operators (none in another) and device work by itself; None where it is under `least` of the window.

    An operator counts with the device work that it launched, and by its host time if it launched none.
    """
    timeline, window, slices = scene.timeline, scene.window, scene.timeline.slices
    inside, owner = launched_in(scene, rows)
    alone = rows[~np.isin(rows, owner)]
    kernels = kernels[~np.isin(kernels, inside)]
    duration = length_of(timeline, window, np.concatenate((inside, kernels))) + length_of(timeline, window, alone)
    if not len(rows) + len(kernels) or duration < max(1, least * window.wall):
        return None
    timed = np.concatenate((inside, kernels, alone))
    named = np.concatenate((slices.name[owner], slices.name[kernels], slices.name[alone]))
    waste = Waste(code, len(rows) + len(kernels), duration, names_of(scene, named, timed))
    return Found(waste, np.concatenate((rows, kernels)))


def names_of(scene: Scene, name: NDArray[np.int32], rows: Rows) -> tuple[str, ...]:
    """Return the names under which the rows took most time."""
    slices, window = scene.timeline.slices, scene.window
    time = np.maximum(0, np.minimum(slices.end[rows], window.end) - np.maximum(slices.start[rows], window.start))
    used, place = np.unique(name[name >= 0], return_inverse=True)
    sums = np.zeros(len(used), np.int64)
    np.add.at(sums, place, time[name >= 0])
    order = np.argsort(-sums, kind="stable")[:NAMES]
    return tuple(scene.timeline.names[one] for one in used[order].tolist())


def holding(scene: Scene, rows: Rows, inner: Rows) -> Rows:
    """Return those of the rows in which one of `inner` stands."""
    parent = scene.timeline.slices.parent
    marked = np.zeros(len(parent), np.bool_)
    marked[rows] = True
    around = activity.enclosing(parent, marked)[inner]
    held: Rows = rows[np.isin(rows, around)]
    return held

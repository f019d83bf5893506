"""`launch` and `stream` edges: when a device slice can start, and how long it takes."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import Cause, Found, found, join
from tracegap.edges.scene import Scene

USUAL_DELAY = 5
"""Percentile of the launch delays, on a device whose stream was free, that counts as the least a launch takes: below it lie
rounding and clock error, above it waiting."""


def stream(scene: Scene) -> Found:
    """Link each device slice's start to its end, and the slices of a stream one to the next.

    A slice that starts while the one before still runs (programmatic dependent launch) hangs on the other's start, with
    the distance as lag: it is a fixed point of the other's work that let it go.
    """
    queued, time = scene.queued, scene.time
    own = _inside(scene, found(2 * queued.row, 2 * queued.row + 1, 0, cause=Cause.STREAM, owner=queued.row))
    if len(queued.row) < 2:
        return _lasting(scene, own)
    row, start, end = queued.row, time[2 * queued.row], time[2 * queued.row + 1]
    follows = (queued.track[1:] == queued.track[:-1]) & scene.timeline.tracks.ordered[queued.track[1:]]
    before, after = row[:-1][follows], row[1:][follows]
    apart = (end[:-1] <= start[1:])[follows]
    next_ = found(2 * before + apart, 2 * after, 0, cause=Cause.STREAM, owner=np.where(apart, -1, before))
    # Where slices overlap, the one that ended last before a start need not be the one that started last before it.
    last = last_to_end(queued.track, end)[:-1]
    other = follows & (last != np.arange(len(row) - 1)) & (end[last] <= start[1:])
    behind = found(2 * row[last[other]] + 1, 2 * row[1:][other], 0, cause=Cause.STREAM)
    return _lasting(scene, _inside(scene, join((own, next_, behind))))


def last_to_end(track: NDArray[np.int32], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each row of a table by track, the row of the same track up to it that ends last.

    Examples
    --------
    >>> last_to_end(np.array([0, 0, 0, 1], np.int32), np.array([50, 20, 60, 5])).tolist()
    [0, 0, 2, 3]
    """
    by_end = np.lexsort((end, track))
    rank = np.empty(len(end), np.int64)
    rank[by_end] = np.arange(len(end))
    return np.asarray(by_end[np.maximum.accumulate(rank)]) if len(end) else by_end


def _inside(scene: Scene, edges: Found) -> Found:
    return edges.take(scene.inside[edges.source] & scene.inside[edges.target])


def _lasting(scene: Scene, edges: Found) -> Found:
    """Give edges that carry a slice's work its length as lag."""
    distance = scene.time[edges.target] - scene.time[edges.source]
    return found(
        edges.source,
        edges.target,
        np.where(edges.owner >= 0, distance, 0),
        cause=Cause.STREAM,
        owner=edges.owner,
    )


def launch(scene: Scene) -> Found:
    """Link each launch call's start to the start of every device slice it started.

    The lag is the least that a launch takes on the device, never above the slice's own delay. A slice that starts before
    its launch keeps its negative delay: the clocks are skewed, not the order.
    """
    queued, time = scene.queued, scene.time
    known = np.flatnonzero(queued.launch >= 0)
    known = known[scene.inside[2 * queued.launch[known]] & scene.inside[2 * queued.row[known]]]
    source, target = 2 * queued.launch[known], 2 * queued.row[known]
    own = time[target] - time[source]
    least = usual_delay(scene)[scene.timeline.tracks.device[queued.track[known]]]
    return found(source, target, np.minimum(own, least), cause=Cause.LAUNCH)


def usual_delay(scene: Scene) -> NDArray[np.int64]:
    """Return, for each device, the low percentile of launch delays seen when the stream was free; 0 where none was."""
    queued = scene.queued
    least = np.zeros(len(scene.timeline.devices) + 1, np.int64)
    if not len(queued.row):
        return least
    start, end = scene.time[2 * queued.row], scene.time[2 * queued.row + 1]
    free = np.ones(len(queued.row), np.bool_)
    last = last_to_end(queued.track, end)[:-1]
    free[1:] = (queued.track[1:] != queued.track[:-1]) | (end[last] <= queued.asked[1:])
    seen = (queued.launch >= 0) & (start >= queued.asked) & free
    device = scene.timeline.tracks.device[queued.track]
    for number in np.unique(device[seen]).tolist():
        mine = seen & (device == number)
        least[number] = int(np.percentile(start[mine] - queued.asked[mine], USUAL_DELAY, method="lower"))
    return least

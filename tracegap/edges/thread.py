"""`thread` edges: the boundaries of a work lane, one after the other, carrying the work between them."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import Cause, Found, found, join
from tracegap.edges.scene import Chains, Scene


def thread(scene: Scene, waited: NDArray[np.bool_]) -> Found:
    """Link consecutive boundaries of each lane.

    The lag is the interval, where a slice is open in it: it is the deepest one's self time. An idle interval carries 0. On a
    track that is not ordered, slices that are apart are not linked.

    Parameters
    ----------
    waited : bool[2 n + 2]
        Ends of calls that a sync or queue edge binds: the interval before them is waiting, and carries 0.
    """
    chains = scene.chains
    at = np.flatnonzero(chains.linked)
    at = at[scene.timeline.tracks.ordered[chains.track[at]] | (chains.before[at] >= 0)]
    source, target, owner = chains.node[at - 1], chains.node[at], chains.before[at]
    works = (owner >= 0) & ~waited[target]
    lag = np.where(works, scene.time[target] - scene.time[source], 0)
    return join((found(source, target, lag, cause=Cause.THREAD, owner=owner), _further_lanes(scene)))


def _further_lanes(scene: Scene) -> Found:
    """Hang what starts on a further lane after idleness on its track's previous boundary, with lag 0."""
    chains = scene.chains
    starts = np.flatnonzero(chains.spilled & (chains.before < 0) & scene.timeline.tracks.ordered[chains.track])
    source, target = [], []
    for track in np.unique(chains.track[starts]).tolist():
        main = np.flatnonzero((chains.track == track) & ~chains.spilled)
        mine = starts[chains.track[starts] == track]
        previous = np.searchsorted(scene.time[chains.node[main]], scene.time[chains.node[mine]], side="right") - 1
        there = previous >= 0
        source.append(chains.node[main[previous[there]]])
        target.append(chains.node[mine[there]])
    if not source:
        return found(np.empty(0), np.empty(0), 0, cause=Cause.THREAD)
    return found(np.concatenate(source), np.concatenate(target), 0, cause=Cause.THREAD)


def idle_starts(chains: Chains) -> NDArray[np.intp]:
    """Return the places where a lane's idleness ends: starts of roots."""
    return np.flatnonzero((chains.before < 0) & (chains.node % 2 == 0))

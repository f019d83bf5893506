"""`handoff` edges: what an idle host thread waited for, where nothing recorded says so."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import NONE, Cause, Found, found
from tracegap.edges.scene import Scene
from tracegap.edges.thread import idle_starts


def handoff(scene: Scene, recorded: Found) -> Found:
    """Link the latest-ending work of another thread to a start after idleness that nothing recorded explains; inferred.

    The work must have ended after this thread's own last, in the same process. Threads that only poll hand nothing over and
    take nothing: they wake by the clock. On tracks that are not ordered, every start is one after idleness, and every other
    slice is another thread's.

    Parameters
    ----------
    recorded : Found
        Edges that explain a start if their source is later than the thread's own last end.
    """
    chains, time, tracks = scene.chains, scene.time, scene.timeline.tracks
    starts = idle_starts(chains)
    starts = starts[~scene.polling[chains.track[starts]]]
    if not len(starts) or not scene.timeline.shared_clock:
        return NONE
    ends = np.flatnonzero((chains.deep < 0) & (chains.node % 2 == 1) & ~scene.polling[chains.track])
    ends = ends[time[chains.node[ends]] > time[chains.node[ends] - 1]]
    own = np.where(chains.linked[starts], time[chains.node[starts - 1]], scene.window.start - 1)
    own[~tracks.ordered[chains.track[starts]]] = scene.window.start - 1
    explained = np.full(len(time), scene.window.start - 1)
    np.maximum.at(explained, recorded.target, time[recorded.source])
    node = chains.node[starts]
    open_ = (explained[node] <= own) | (explained[node] > time[node])
    starts, own = starts[open_], own[open_]
    by_process = np.argsort(tracks.process[chains.track[starts]], kind="stable")
    starts, own = starts[by_process], own[by_process]
    latest = _latest_elsewhere(scene, ends, starts)
    good = latest >= 0
    good[good] = time[chains.node[latest[good]]] > own[good]
    return found(chains.node[latest[good]], chains.node[starts[good]], 0, cause=Cause.HANDOFF, inferred=True)


def _latest_elsewhere(scene: Scene, ends: NDArray[np.intp], starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of the latest end on another track of the process not after each start; −1 where none."""
    if not len(ends):
        return np.full(len(starts), -1, np.intp)
    chains, time = scene.chains, scene.time
    process = scene.timeline.tracks.process[chains.track].astype(np.int64)
    # One key that grows with the process and in it with the time, which may be too long to stand in it.
    moments = np.unique(time[chains.node[ends]])
    key = process[ends] * len(moments) + np.searchsorted(moments, time[chains.node[ends]])
    order = np.argsort(key, kind="stable")
    ends, key = ends[order], key[order]
    # Slices of a track that is not ordered are apart from one another.
    ordered = scene.timeline.tracks.ordered
    lone = ~ordered[chains.track]
    group = np.where(lone, -1 - chains.node // 2, chains.track)
    of_end = group[ends]
    changes = np.ones(len(ends), np.bool_)
    changes[1:] = of_end[1:] != of_end[:-1]
    run = np.maximum.accumulate(np.where(changes, np.arange(len(ends)), 0))
    before = np.searchsorted(moments, time[chains.node[starts]], side="right") - 1
    place = np.searchsorted(key, process[starts] * len(moments) + before, side="right") - 1
    same = place >= 0
    same[same] = of_end[place[same]] == group[starts[same]]
    place[same] = run[place[same]] - 1
    known = place >= 0
    known[known] = process[ends[place[known]]] == process[starts[known]]
    return np.where(known, ends[place], -1)

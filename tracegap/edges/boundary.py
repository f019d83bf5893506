"""`boundary` edges: from SOURCE to what nothing in the window explains, and from the sink to END."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import Cause, Found, found
from tracegap.edges.scene import Scene


def entry(scene: Scene, nodes: NDArray[np.int32], reached: NDArray[np.int32]) -> Found:
    """Hang nodes that no edge reaches on SOURCE, with their distance from the window's start as lag.

    The lag is the work of what was carried in: of the device slice whose end it is, or of the slice that was open on the
    thread at the window's start.

    Parameters
    ----------
    nodes : int32[p]
        The nodes inside the window, without SOURCE and END.
    reached : int32[e]
        Targets of edges.
    """
    open_ = np.ones(len(scene.time), np.bool_)
    open_[reached] = False
    target = nodes[open_[nodes]]
    owner = np.where(target % 2 == 1, target >> 1, -1)
    on_host = np.flatnonzero(scene.chains.place[target] >= 0)
    place = scene.chains.place[target[on_host]]
    owner[on_host] = np.where(scene.chains.linked[place], -1, scene.chains.before[place])
    source = np.full(len(target), scene.source)
    return found(source, target, scene.time[target] - scene.window.start, cause=Cause.BOUNDARY, owner=owner)


def exit_(scene: Scene) -> Found:
    """Link the sink to END, with the tail as lag, and with no lag what else ends last on its thread or stream.

    With steps, the sink is the latest of the last work on a step's own thread and the last device slice that the window's
    steps launched; else, or where that finds nothing, the latest work on any track but those that only poll or serve: a
    thread that sat in a queue's ``get`` all the time ends last. Work that the
    window's end cuts off reaches END: the tail is its. The others never bind END as it was; they do in a replay in which the sink
    comes before them.
    """
    steps, slices = scene.timeline.steps, scene.timeline.slices
    chosen = np.array(scene.window.steps, np.int64)
    queued, chains = scene.queued, scene.chains
    threads = np.zeros(len(scene.timeline.tracks), np.bool_)
    threads[steps.track[chosen]] = True
    launched = np.isin(slices.step[queued.row], chosen)
    others = np.empty(0, np.int32)
    leading = ~scene.polling & ~scene.serving
    for thread, rows in ((threads, queued.row[launched]), (leading, queued.row), (~leading, queued.row)):
        places = np.flatnonzero(thread[chains.track])
        best = _latest(scene, places, rows)
        if best is not None:
            others = _last_of_each(scene, places, rows)
            break
    node, owner = best if best is not None else (scene.source, -1)
    source = np.concatenate((np.array([node], np.int32), others[others != node]))
    lag = np.zeros(len(source), np.int64)
    lag[0] = scene.window.end - int(scene.time[node])
    owners = np.full(len(source), -1, np.int32)
    owners[0] = owner
    return found(source, np.full(len(source), scene.source + 1), lag, cause=Cause.BOUNDARY, owner=owners)


def _last_of_each(scene: Scene, places: NDArray[np.intp], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the last boundary of each lane of the given places, and the latest end of each stream of the given device slices."""
    chains, time = scene.chains, scene.time
    host = chains.node[places[~np.append(chains.linked[1:], False)[places]]] if len(places) else chains.node[:0]
    ends = 2 * rows[scene.inside[2 * rows + 1]] + 1
    track = scene.timeline.slices.track[ends >> 1]
    by_time = np.lexsort((time[ends], track))
    last = np.append(np.diff(track[by_time]) != 0, True)[: len(by_time)]
    return np.concatenate((host, ends[by_time[last]])).astype(np.int32)


def _latest(scene: Scene, places: NDArray[np.intp], rows: NDArray[np.int32]) -> tuple[int, int] | None:
    """Return the latest boundary of the given places and device slices, and what is open from there to the window's end."""
    chains, time, end = scene.chains, scene.time, scene.window.end
    last = places[~np.append(chains.linked[1:], False)[places]] if len(places) else places
    found_: list[tuple[int, int, int, int]] = []
    for place in last.tolist():
        node, deep = int(chains.node[place]), int(chains.deep[place])
        found_.append((end if deep >= 0 else int(time[node]), int(time[node]), node, deep))
    ends = np.minimum(time[2 * rows + 1], end)
    node_of = np.where(scene.inside[2 * rows + 1], 2 * rows + 1, 2 * rows)
    there = scene.inside[node_of]
    if there.any():
        at = int(np.flatnonzero(there)[np.lexsort((time[node_of[there]], ends[there]))[-1]])
        node = int(node_of[at])
        found_.append((int(ends[at]), int(time[node]), node, -1 if node % 2 else node >> 1))
    if not found_:
        return None
    _, _, node, deep = max(found_)
    return node, deep

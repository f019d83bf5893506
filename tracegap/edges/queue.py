"""`queue` edges: launch calls that stalled because as many launches were outstanding as the driver keeps."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import NONE, Cause, Found, found
from tracegap.edges.scene import Scene
from tracegap.kinds import Kind

OUTSTANDING = 900
"""Launches of one stream that are asked for and not started, from which a long call is a stall: CUDA takes about a thousand
a stream before a launch blocks (https://stackoverflow.com/questions/53970187)."""

LONG = 20
"""Times the median launch call of the stream from which a call is far over the usual length."""


def queue(scene: Scene) -> tuple[Found, NDArray[np.bool_]]:
    """Link the device slice whose start freed a place to the end of the launch call that stalled for it; inferred.

    Returns
    -------
    edges : Found
        The lag is the return cost, from that start to the call's end.
    waited : bool[2 n + 2]
        Ends of calls that stalled.
    """
    slices, queued = scene.timeline.slices, scene.queued
    waited = np.zeros(len(scene.time), np.bool_)
    source, target = [], []
    for number in np.unique(queued.track).tolist():
        mine = np.flatnonzero((queued.track == number) & (queued.launch >= 0))
        call, first = np.unique(queued.launch[mine], return_index=True)
        if len(call) < OUTSTANDING:
            continue
        rows = mine[first]  # a graph takes one place, freed by its first slice
        begins = np.sort(slices.start[queued.row[rows]])
        by_start = rows[np.argsort(slices.start[queued.row[rows]], kind="stable")]
        asked = np.sort(slices.start[call])
        length = slices.end[call] - slices.start[call]
        outstanding = np.searchsorted(asked, slices.start[call], side="right") - np.searchsorted(
            begins, slices.start[call], side="right"
        )
        stalled = (outstanding >= OUTSTANDING) & (length > LONG * np.median(length)) & (slices.kind[call] != Kind.SYNC)
        call = call[stalled]
        place = np.searchsorted(begins, slices.end[call], side="right") - 1
        good = (place >= 0) & (begins[place] > slices.start[call])
        source.append(2 * queued.row[by_start[place[good]]])
        target.append(2 * call[good] + 1)
    if not source:
        return NONE, waited
    from_, to = np.concatenate(source), np.concatenate(target)
    good = scene.inside[from_] & scene.inside[to]
    from_, to = from_[good], to[good]
    waited[to] = True
    return found(from_, to, scene.time[to] - scene.time[from_], cause=Cause.QUEUE, inferred=True, owner=to >> 1), waited

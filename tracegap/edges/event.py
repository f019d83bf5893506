"""`event` edges: what one stream waited for on another, by an event recorded there."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import NONE, Cause, Found, found, join
from tracegap.edges.scene import Queued, Scene
from tracegap.edges.sync import last_before, recorded_event, recorded_rows
from tracegap.kinds import Kind


def event(scene: Scene) -> Found:
    """Link what a stream had been given before an event was recorded to what the waiting stream was given after its wait."""
    return join((_recorded(scene), _inferred(scene)))


def _recorded(scene: Scene) -> Found:
    """The waits that ``cuda_sync`` rows tell, with the stream and the record call they wait for."""
    slices = scene.timeline.slices
    rows = recorded_rows(scene, "stream wait event")
    track, record = recorded_event(scene, rows)
    known = (track >= 0) & (record >= 0)
    rows, track, record = rows[known], track[known], record[known]
    source = last_before(scene.queued, track, slices.start[record])
    target = _first_after(scene.queued, slices.track[rows], slices.start[slices.launch[rows]])
    return _edges(scene, source, target, inferred=False)


def _inferred(scene: Scene) -> Found:
    """Waits without such a row: the last record call of the same thread, the stream that the thread used before it, and the one after.

    Kept only where what was recorded ended before the other began, on another stream.
    """
    slices, queued = scene.timeline.slices, scene.queued
    names = scene.timeline.names
    calls = np.flatnonzero(np.isin(slices.kind, (Kind.RUNTIME, Kind.SYNC)) & scene.inside[0:-2:2])
    if not len(calls) or not len(queued.row):
        return NONE
    waiting = np.array([name.endswith("StreamWaitEvent") for name in names], np.bool_)
    recording = np.array(["EventRecord" in name for name in names], np.bool_)
    told = np.zeros(len(slices), np.bool_)
    told[slices.launch[recorded_rows(scene, "stream wait event")]] = True
    waits = calls[waiting[slices.name[calls]] & ~told[calls]]
    records = calls[recording[slices.name[calls]]]
    launches = np.flatnonzero(queued.launch >= 0)
    launches = launches[np.lexsort((queued.asked[launches], slices.track[queued.launch[launches]]))]
    source, target = [], []
    for thread in np.unique(slices.track[waits]).tolist():
        mine = waits[slices.track[waits] == thread]
        record = records[slices.track[records] == thread]
        record = record[np.argsort(slices.start[record], kind="stable")]
        given = launches[slices.track[queued.launch[launches]] == thread]
        asked = queued.asked[given]
        last = np.searchsorted(slices.start[record], slices.start[mine]) - 1
        mine, last = mine[last >= 0], last[last >= 0]
        before = np.searchsorted(asked, slices.start[record[last]]) - 1
        after = np.searchsorted(asked, slices.start[mine], side="right")
        good = (before >= 0) & (after < len(given))
        source.append(given[before[good]])
        target.append(given[after[good]])
    if not source:
        return NONE
    before_row, after_row = np.concatenate(source), np.concatenate(target)
    start, end = slices.start[queued.row], slices.end[queued.row]
    good = (queued.track[before_row] != queued.track[after_row]) & (end[before_row] <= start[after_row])
    return _edges(scene, before_row[good], after_row[good], inferred=True)


def _first_after(queued: Queued, track: NDArray[np.int32], moment: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of `queued` that each stream was given first after a moment; −1 where none."""
    answer = np.full(len(track), -1, np.int64)
    tracks = queued.track[queued.by_asked]
    for number in np.unique(track).tolist():
        first, last = np.searchsorted(tracks, (number, number + 1))
        rows = queued.by_asked[first:last]
        mine = np.flatnonzero(track == number)
        place = np.searchsorted(queued.asked[rows], moment[mine], side="right")
        answer[mine[place < len(rows)]] = rows[place[place < len(rows)]]
    return answer


def _edges(scene: Scene, source: NDArray[np.int64], target: NDArray[np.int64], *, inferred: bool) -> Found:
    known = (source >= 0) & (target >= 0)
    row = scene.queued.row
    edges = found(2 * row[source[known]] + 1, 2 * row[target[known]], 0, cause=Cause.EVENT, inferred=inferred)
    return edges.take(scene.inside[edges.source] & scene.inside[edges.target])

"""`event` edges: what one stream waited for on another, by an event recorded there."""

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import NONE, Cause, Found, found, join
from tracegap.edges.scene import Queued, Scene
from tracegap.edges.sync import last_before, recorded_event, recorded_rows
from tracegap.kinds import CALLS, is_any
from tracegap.naming import are


def event(scene: Scene) -> Found:
    """Link what a stream had been given before an event was recorded to what the waiting stream was given after its wait."""
    return join((_recorded(scene), _inferred(scene)))


def _recorded(scene: Scene) -> Found:
    """Find the waits that ``cuda_sync`` rows tell, with the stream and the record call they wait for."""
    slices = scene.timeline.slices
    rows = recorded_rows(scene, "stream wait event")
    track, record = recorded_event(scene, rows)
    known = (track >= 0) & (record >= 0)
    rows, track, record = rows[known], track[known], record[known]
    source = last_before(scene.queued, track, slices.start[record])
    target = _first_after(scene.queued, slices.track[rows], slices.start[slices.launch[rows]])
    return _edges(scene, source, target, inferred=False)


def _inferred(scene: Scene) -> Found:
    """Find waits without such a row by their calls' names.

    What waited is what the same thread gave work next. What it waited for is what the thread had given work last before the
    event's record call, if that was on another stream; without such a call, the slice of another stream of the device,
    given before the wait, that ended last. Kept only where it had ended before the other began.
    """
    queued, timeline = scene.queued, scene.timeline
    slices = timeline.slices
    calls = np.flatnonzero(is_any(slices.kind, CALLS) & scene.inside[0:-2:2]).astype(np.int32)
    if not len(calls) or not len(queued.row):
        return NONE
    told = np.zeros(len(slices), np.bool_)
    told[slices.launch[recorded_rows(scene, "stream wait event")]] = True
    waits = calls[are(timeline.names, slices.name[calls], lambda name: name.endswith("StreamWaitEvent")) & ~told[calls]]
    records = calls[are(timeline.names, slices.name[calls], lambda name: "EventRecord" in name)]
    before, after = _around(scene, waits, records)
    known = after >= 0
    waits, before, after = waits[known], before[known], after[known]
    start, end = slices.start[queued.row], slices.end[queued.row]
    good = (before >= 0) & (queued.track[before] != queued.track[after]) & (end[before] <= start[after])
    other = _ended_last_elsewhere(scene, slices.start[waits[~good]], after[~good])
    source = np.concatenate((before[good], other))
    target = np.concatenate((after[good], after[~good]))
    return _edges(scene, source, target, inferred=True)


def _around(
    scene: Scene, waits: NDArray[np.int32], records: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each wait call, what its thread gave work last before its last record call, and next after the wait.

    Both are rows of `Scene.queued`; −1 where there is none.
    """
    slices, queued = scene.timeline.slices, scene.queued
    launches = np.flatnonzero(queued.launch >= 0)
    launches = launches[np.lexsort((queued.asked[launches], slices.track[queued.launch[launches]]))]
    thread = slices.track[queued.launch[launches]]
    records = records[np.lexsort((slices.start[records], slices.track[records]))]
    before = np.full(len(waits), -1, np.int64)
    after = np.full(len(waits), -1, np.int64)
    for track in np.unique(slices.track[waits]).tolist():
        mine = np.flatnonzero(slices.track[waits] == track)
        moment = slices.start[waits[mine]]
        given = launches[slice(*np.searchsorted(thread, (track, track + 1)))]
        recorded = slices.start[records[slice(*np.searchsorted(slices.track[records], (track, track + 1)))]]
        next_ = np.searchsorted(queued.asked[given], moment, side="right")
        after[mine[next_ < len(given)]] = given[next_[next_ < len(given)]]
        record = np.searchsorted(recorded, moment) - 1
        mine, record = mine[record >= 0], record[record >= 0]
        last = np.searchsorted(queued.asked[given], recorded[record]) - 1
        before[mine[last >= 0]] = given[last[last >= 0]]
    return before, after


def _ended_last_elsewhere(scene: Scene, moment: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, of what the other streams of a row's device were given last before a moment, what ended last before the row began."""
    queued, slices, tracks = scene.queued, scene.timeline.slices, scene.timeline.tracks
    start, end = slices.start[queued.row], slices.end[queued.row]
    best = np.full(len(row), -1, np.int64)
    for track in np.unique(queued.track).tolist():
        elsewhere = np.flatnonzero(
            (queued.track[row] != track) & (tracks.device[queued.track[row]] == tracks.device[track])
        )
        last = last_before(queued, np.full(len(elsewhere), track, np.int32), moment[elsewhere])
        better = (last >= 0) & (end[last] <= start[row[elsewhere]])
        better &= (best[elsewhere] < 0) | (end[last] > end[best[elsewhere]])
        best[elsewhere[better]] = last[better]
    return best


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

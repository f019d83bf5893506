"""`sync` edges: from the device slice that a host call waited for to the end of the call.

Recorded ones come from ``cuda_sync`` rows; calls without such a row are told by their names, and copy calls by their own
copy having ended inside them (a copy from pageable memory blocks).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import Cause, Found, found
from tracegap.edges.scene import Queued, Scene
from tracegap.kinds import CALLS, Kind, Role, is_any
from tracegap.naming import are

ONE_STREAM = ("streamsynchronize", "eventsynchronize", "item", "_local_scalar_dense")
"""Ends of names, in small letters, of calls that wait for one stream; it is not recorded which. Others wait for a device."""


@dataclass(frozen=True, slots=True)
class _Waits:
    """Pairs of a host call and a device slice (a row of `Queued`) that it may have waited for."""

    call: NDArray[np.int32]
    queued: NDArray[np.int64]
    inferred: NDArray[np.bool_]


def sync(scene: Scene) -> tuple[Found, NDArray[np.bool_]]:
    """Link what device calls waited for to their ends.

    Returns
    -------
    edges : Found
        Where the device slice ended inside the call's last interval, the lag is the return cost: from the latest such end to
        the call's. Else the call did not wait for it, and the lag is 0.
    waited : bool[2 n + 2]
        Ends of calls that waited.
    """
    waits = _join((_recorded(scene), _by_name(scene), _own_copies(scene)))
    source, target = 2 * scene.queued.row[waits.queued] + 1, 2 * waits.call + 1
    seen = scene.inside[source] & scene.inside[target]
    source, target, inferred = source[seen], target[seen], waits.inferred[seen]
    chains, time = scene.chains, scene.time
    place = chains.place[target]
    begun = np.where(chains.linked[place], time[chains.node[place - 1]], scene.window.start)
    within = (time[source] > begun) & (time[source] <= time[target])
    latest = np.full(len(time), scene.window.start)
    np.maximum.at(latest, target[within], time[source[within]])
    waited = np.zeros(len(time), np.bool_)
    waited[target[within]] = True
    lag = np.where(within, time[target] - latest[target], 0)
    return found(source, target, lag, cause=Cause.SYNC, inferred=inferred, owner=target >> 1), waited


def _join(parts: tuple[_Waits, ...]) -> _Waits:
    return _Waits(
        np.concatenate([part.call for part in parts]),
        np.concatenate([part.queued for part in parts]),
        np.concatenate([part.inferred for part in parts]),
    )


def _waits(call: NDArray[np.int32], queued: NDArray[np.int64], *, inferred: bool) -> _Waits:
    known = queued >= 0
    return _Waits(call[known], queued[known], np.full(int(np.count_nonzero(known)), inferred))


def last_before(queued: Queued, track: NDArray[np.int32], moment: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of `queued` that each stream was given last before a moment; −1 where none.

    Parameters
    ----------
    track, moment : arrays of one length
        A stream and a time for each question.
    """
    answer = np.full(len(track), -1, np.int64)
    tracks = queued.track[queued.by_asked]
    for number in np.unique(track).tolist():
        first, last = np.searchsorted(tracks, (number, number + 1))
        rows = queued.by_asked[first:last]
        mine = np.flatnonzero(track == number)
        place = np.searchsorted(queued.asked[rows], moment[mine], side="left") - 1
        answer[mine[place >= 0]] = rows[place[place >= 0]]
    return answer


def stream_track(scene: Scene) -> dict[tuple[int, int], int]:
    """Return the track of each (device, stream), as the device rows' arguments name their streams."""
    slices, tracks = scene.timeline.slices, scene.timeline.tracks
    queued = scene.queued
    stream = scene.timeline.arg("stream").at(slices.event[queued.row])
    _, first = np.unique(queued.track, return_index=True)
    return {
        (int(tracks.device[queued.track[at]]), int(stream[at])): int(queued.track[at])
        for at in first.tolist()
        if stream[at] >= 0
    }


def recorded_rows(scene: Scene, text: str) -> NDArray[np.int32]:
    """Return the ``cuda_sync`` rows whose name holds the text and whose host call is known."""
    slices = scene.timeline.slices
    rows = np.flatnonzero((slices.kind == Kind.WAIT) & (slices.launch >= 0)).astype(np.int32)
    return rows[are(scene.timeline.names, slices.name[rows], lambda name: text in name.lower())]


def call_with(scene: Scene, correlation: NDArray[np.int64], near: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the host call that has each correlation id, in the process of the slices `near`; −1 where none."""
    slices, tracks = scene.timeline.slices, scene.timeline.tracks
    calls = np.flatnonzero(is_any(slices.kind, CALLS)).astype(np.int32)
    ids = scene.timeline.arg("correlation").at(slices.event[calls])
    calls, ids = calls[ids > 0], ids[ids > 0]
    process = tracks.process[slices.track[calls]]
    by_id = np.lexsort((ids, process))
    calls, ids, process = calls[by_id], ids[by_id], process[by_id]
    answer = np.full(len(near), -1, np.int32)
    home = tracks.process[slices.track[near]]
    for number in np.unique(home).tolist():
        first, last = np.searchsorted(process, (number, number + 1))
        mine = np.flatnonzero((home == number) & (correlation > 0))
        if last > first:
            place = np.minimum(np.searchsorted(ids[first:last], correlation[mine]), last - first - 1)
            hit = ids[first:last][place] == correlation[mine]
            answer[mine[hit]] = calls[first:last][place[hit]]
    return answer


def _recorded(scene: Scene) -> _Waits:
    """Find the waits for a stream, an event, a device or a context that ``cuda_sync`` rows tell."""
    slices, tracks = scene.timeline.slices, scene.timeline.tracks
    queued = scene.queued
    streams = recorded_rows(scene, "stream sync")
    parts = [
        _waits(
            slices.launch[streams],
            last_before(queued, slices.track[streams], slices.start[slices.launch[streams]]),
            inferred=False,
        )
    ]
    everything = np.concatenate((recorded_rows(scene, "context sync"), recorded_rows(scene, "device sync")))
    device = tracks.device[slices.track[everything]]
    parts.append(_each_stream(scene, slices.launch[everything], device, inferred=False))
    events = recorded_rows(scene, "event sync")
    track, record = recorded_event(scene, events)
    known = (track >= 0) & (record >= 0)
    call, track, record = slices.launch[events[known]], track[known], record[known]
    parts.append(_waits(call, last_before(queued, track, slices.start[record]), inferred=False))
    return _join(tuple(parts))


def recorded_event(scene: Scene, rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the stream and the record call of the event that each ``cuda_sync`` row waits for; −1 where unknown."""
    timeline = scene.timeline
    slices = timeline.slices
    stream = timeline.arg("wait_on_stream").at(slices.event[rows]).tolist()
    device = timeline.tracks.device[slices.track[rows]].tolist()
    table = stream_track(scene)
    track = np.array([table.get(key, -1) for key in zip(device, stream, strict=True)], np.int32)
    correlation = timeline.arg("wait_on_cuda_event_record_corr_id").at(slices.event[rows])
    return track, call_with(scene, correlation, slices.launch[rows])


def _each_stream(scene: Scene, call: NDArray[np.int32], device: NDArray[np.int32], *, inferred: bool) -> _Waits:
    """Pair each call with the last slice of every stream of its device."""
    streams = np.unique(scene.queued.track)
    of_device = scene.timeline.tracks.device[streams]
    calls = [call[device == number] for number in of_device.tolist()]
    if not calls:
        return _waits(call[:0], np.empty(0, np.int64), inferred=inferred)
    every = np.concatenate(calls)
    track = np.repeat(streams, [len(part) for part in calls])
    return _waits(every, last_before(scene.queued, track, scene.timeline.slices.start[every]), inferred=inferred)


def _by_name(scene: Scene) -> _Waits:
    """Pair blocking calls without a ``cuda_sync`` row with all streams of the thread's device, or the one that ended last.

    An edge is inferred only where the device slice ended before the call did.
    """
    slices = scene.timeline.slices
    told = np.zeros(len(slices), np.bool_)
    waits = np.flatnonzero((slices.kind == Kind.WAIT) & (slices.launch >= 0))
    told[slices.launch[waits]] = True
    alone = np.ones(len(slices), np.bool_)
    alone[slices.parent[slices.parent >= 0]] = False
    ends = scene.inside[1:-2:2] & ~told
    reads = np.flatnonzero(ends & alone & (slices.kind == Kind.OP)).astype(np.int32)
    reads = reads[are(scene.timeline.names, slices.name[reads], _is_item)]
    call = np.concatenate((np.flatnonzero(ends & (slices.kind == Kind.SYNC)).astype(np.int32), reads))
    if not len(call) or not len(scene.queued.row):
        return _waits(call[:0], np.empty(0, np.int64), inferred=True)
    one = are(scene.timeline.names, slices.name[call], lambda name: name.lower().endswith(ONE_STREAM))
    pairs = _each_stream(scene, call, device_of(scene, call), inferred=True)
    end = scene.time[2 * scene.queued.row + 1][pairs.queued]
    good = end <= slices.end[pairs.call]
    latest = np.full(len(slices), -1, np.int64)
    np.maximum.at(latest, pairs.call[good], end[good])
    of_one = np.zeros(len(slices), np.bool_)
    of_one[call[one]] = True
    good &= ~of_one[pairs.call] | ((end == latest[pairs.call]) & (end > slices.start[pairs.call]))
    return _Waits(pairs.call[good], pairs.queued[good], pairs.inferred[good])


def _is_item(name: str) -> bool:
    return name.rpartition("::")[2] in ("item", "_local_scalar_dense")


def device_of(scene: Scene, call: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the device that each host call's thread last gave work to, else the first that the process gave work to."""
    slices, tracks = scene.timeline.slices, scene.timeline.tracks
    linked = np.flatnonzero((slices.launch >= 0) & (tracks.role[slices.track] == Role.DEVICE))
    launch = slices.launch[linked]
    device = tracks.device[slices.track[linked]]
    by_thread = np.lexsort((slices.start[launch], slices.track[launch]))
    launch, device = launch[by_thread], device[by_thread]
    thread, moment = slices.track[launch], slices.start[launch]
    answer = np.full(len(call), device[0] if len(device) else tracks.device[scene.queued.track[0]], np.int32)
    for number in np.unique(slices.track[call]).tolist():
        mine = np.flatnonzero(slices.track[call] == number)
        first, last = np.searchsorted(thread, (number, number + 1))
        if last > first:
            place = np.maximum(np.searchsorted(moment[first:last], slices.start[call[mine]], side="left") - 1, 0)
            answer[mine] = device[first:last][place]
        else:
            same = np.flatnonzero(tracks.process[thread] == tracks.process[number])
            answer[mine] = device[same[0]] if len(same) else answer[mine]
    return answer


def _own_copies(scene: Scene) -> _Waits:
    """Pair copy calls with their own copy, if it ended inside them."""
    slices, queued = scene.timeline.slices, scene.queued
    copies = np.flatnonzero((slices.kind[queued.row] == Kind.COPY) & (queued.launch >= 0))
    call, end = queued.launch[copies], slices.end[queued.row[copies]]
    blocked = (end > slices.start[call]) & (end <= slices.end[call]) & is_any(slices.kind[call], CALLS)
    return _waits(call[blocked], copies[blocked], inferred=True)

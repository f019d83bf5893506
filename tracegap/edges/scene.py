"""What the edge functions look at: the boundaries of host threads in order, and the device slices as they were queued."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.kinds import CALLS, DEVICE_WORK, Kind, Role, is_any
from tracegap.timeline import Slices, Timeline, Tracks, Window


@dataclass(frozen=True, eq=False)
class Chains:
    """The boundaries of work lanes inside the window, lane after lane, in order: p places.

    Attributes
    ----------
    node : int32[p]
    deep : int32[p]
        The deepest slice open after the boundary; −1 where the lane is idle then.
    before : int32[p]
        The deepest slice open before it; −1 where the lane was idle. For a lane's first place, what was carried in.
    track : int32[p]
    spilled : bool[p]
        Whether the lane is a further one of its track.
    linked : bool[p]
        Whether the place before it is the boundary before it in the same lane.
    place : int32[2 n + 2]
        The place of each node; −1 where it has none.
    """

    node: NDArray[np.int32]
    deep: NDArray[np.int32]
    before: NDArray[np.int32]
    track: NDArray[np.int32]
    spilled: NDArray[np.bool_]
    linked: NDArray[np.bool_]
    place: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Queued:
    """The device slices that touch the window, by (stream, start): d rows.

    Attributes
    ----------
    row : int32[d]
        Slices.
    track : int32[d]
        Their streams.
    launch : int32[d]
        Their launch calls; −1 where unknown.
    asked : int64[d]
        When each was enqueued: the start of its launch call. Where that is unknown, not later than its own start, and than
        when the next on its stream was.
    by_asked : int64[d]
        The rows of this table by (stream, asked): the order in which a stream was given them.
    """

    row: NDArray[np.int32]
    track: NDArray[np.int32]
    launch: NDArray[np.int32]
    asked: NDArray[np.int64]
    by_asked: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scene:
    """A timeline and a window of it, with what more than one edge function needs.

    Attributes
    ----------
    time : int64[2 n + 2]
        Time of each node.
    inside : bool[2 n + 2]
        Whether the node takes part: a boundary of work inside the window, or SOURCE or END.
    chains : Chains
    queued : Queued
    polling : bool[tracks]
        Host threads that only poll: API calls, no other work, and nothing launched (a communication watchdog).
    serving : bool[tracks]
        Host threads of which only Python frames are known, where others have operators: most of them wait for orders.
    """

    timeline: Timeline
    window: Window
    time: NDArray[np.int64]
    inside: NDArray[np.bool_]
    chains: Chains
    queued: Queued
    polling: NDArray[np.bool_]
    serving: NDArray[np.bool_]

    @property
    def source(self) -> int:
        """The node SOURCE; END is the next."""
        return 2 * len(self.timeline.slices)


def look(timeline: Timeline, window: Window) -> Scene:
    """Collect what the edge functions need. O(n) array passes, one a nesting depth."""
    slices, tracks = timeline.slices, timeline.tracks
    count = len(slices)
    time = np.empty(2 * count + 2, np.int64)
    time[0:-2:2], time[1:-2:2] = slices.start, slices.end
    time[-2:] = window.start, window.end
    touching = slices.plausible & (slices.end >= window.start) & (slices.start <= window.end)
    chains = _chains(slices, tracks, touching, time, window)
    queued = _queued(slices, tracks, touching)
    inside = np.zeros(len(time), np.bool_)
    inside[chains.node] = True
    for nodes in (2 * queued.row, 2 * queued.row + 1):
        inside[nodes] = (time[nodes] >= window.start) & (time[nodes] <= window.end)
    inside[-2:] = True
    return Scene(timeline, window, time, inside, chains, queued, polling(slices, tracks), _serving(slices, tracks))


def _chains(
    slices: Slices, tracks: Tracks, touching: NDArray[np.bool_], time: NDArray[np.int64], window: Window
) -> Chains:
    lane = slices.lane - tracks.context_lanes[slices.track]
    on_host = (tracks.role == Role.HOST)[slices.track]
    member = touching & on_host & (lane >= 0) & (lane < tracks.work_lanes[slices.track])
    rows = np.flatnonzero(member).astype(np.int32)
    parent, depth = _family(slices, rows, member)
    size = np.ones(len(rows), np.int64)
    levels = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(depth[levels], np.arange(1, int(depth.max(initial=0)) + 2))
    for first, last in zip(bounds[-2::-1].tolist(), bounds[:0:-1].tolist(), strict=True):  # deepest first
        level = levels[first:last]
        np.add.at(size, parent[level], size[level])
    # Before the start of the k-th slice of a lane stand k starts, and the ends of all of them but its ancestors.
    start_place = 2 * np.arange(len(rows)) - depth
    end_place = start_place + 2 * size - 1
    node = np.empty(2 * len(rows), np.int32)
    node[start_place], node[end_place] = 2 * rows, 2 * rows + 1
    deep = np.empty(len(node), np.int32)
    deep[start_place], deep[end_place] = rows, np.where(parent >= 0, rows[parent], -1)
    key = slices.track.astype(np.int64) * (int(slices.lane.max(initial=0)) + 1) + slices.lane
    chain = key[node >> 1]
    same = np.zeros(len(node), np.bool_)
    same[1:] = chain[1:] == chain[:-1]
    before = np.full(len(node), -1, np.int32)
    before[1:] = np.where(same[1:], deep[:-1], -1)
    kept = np.flatnonzero((time[node] >= window.start) & (time[node] <= window.end))
    linked = same[kept]
    linked[1:] &= kept[1:] == kept[:-1] + 1
    linked[:1] = False
    place = np.full(len(time), -1, np.int32)
    place[node[kept]] = np.arange(len(kept), dtype=np.int32)
    node = node[kept]
    return Chains(
        node=node,
        deep=deep[kept],
        before=before[kept],
        track=slices.track[node >> 1],
        spilled=lane[node >> 1] > 0,
        linked=linked,
        place=place,
    )


def _family(
    slices: Slices, rows: NDArray[np.int32], member: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return, for the member rows, the nearest enclosing member (a place in `rows`) and the depth."""
    parent = slices.parent[rows]
    depth = slices.depth[rows].astype(np.int64)
    above = parent
    while len(lost := np.flatnonzero((above >= 0) & ~member[above])):  # its parent is kept out: climb on
        above = above.copy()
        above[lost] = slices.parent[above[lost]]
    number = np.full(len(slices) + 1, -1, np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    parent_place = number[above]
    if above is not parent or (depth[parent_place < 0] > 0).any():
        depth = np.zeros(len(rows), np.int64)
        open_rows, ancestor = np.flatnonzero(parent_place >= 0), parent_place[parent_place >= 0]
        while len(open_rows):
            depth[open_rows] += 1
            ancestor = parent_place[ancestor]
            open_rows, ancestor = open_rows[ancestor >= 0], ancestor[ancestor >= 0]
    return parent_place, depth


def _queued(slices: Slices, tracks: Tracks, touching: NDArray[np.bool_]) -> Queued:
    on_device = (tracks.role == Role.DEVICE)[slices.track] & is_any(slices.kind, DEVICE_WORK)
    row = np.flatnonzero(touching & on_device).astype(np.int32)
    row = row[np.lexsort((row, slices.start[row], slices.track[row]))]
    launch = slices.launch[row]
    track = slices.track[row]
    asked = np.where(launch >= 0, slices.start[launch], slices.start[row])
    place = np.arange(len(row))
    known = np.append(np.where(launch >= 0, place, len(row)), len(row))
    next_known = np.minimum.accumulate(known[::-1])[::-1][:-1]
    follows = np.flatnonzero((launch < 0) & (next_known < len(row)))
    follows = follows[track[follows] == track[next_known[follows]]]
    asked[follows] = np.minimum(asked[follows], asked[next_known[follows]])
    return Queued(row, track, launch, asked, np.lexsort((np.arange(len(row)), asked, track)))


def polling(slices: Slices, tracks: Tracks) -> NDArray[np.bool_]:
    """Tell which host threads only poll: API calls, no other work, and nothing launched."""
    count = len(tracks)
    calls = is_any(slices.kind, CALLS)
    other = is_any(slices.kind, (Kind.OP, Kind.INPUT, Kind.OTHER)) | (slices.runs & ~calls)
    launched = _having(slices.track[slices.launch[slices.launch >= 0]], count)
    only_calls = _having(slices.track[calls], count) & ~_having(slices.track[other], count)
    return np.asarray((tracks.role == Role.HOST) & only_calls & ~launched)


def _serving(slices: Slices, tracks: Tracks) -> NDArray[np.bool_]:
    """Tell of which host threads only Python frames are known, where others have operators."""
    count = len(tracks)
    frames = slices.kind == Kind.FRAME
    only_frames = _having(slices.track[slices.runs & frames], count) & ~_having(
        slices.track[slices.runs & ~frames], count
    )
    return np.asarray((tracks.role == Role.HOST) & only_frames & bool(np.any(slices.kind == Kind.OP)))


def _having(track: NDArray[np.int32], count: int) -> NDArray[np.bool_]:
    """Tell which of `count` tracks occur."""
    return np.asarray(np.bincount(track, minlength=count) > 0)

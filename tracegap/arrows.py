"""Flow events of the file (s, t, f, and ``bind_id`` with ``flow_out``/``flow_in``) resolved to arrows between slices.

In: `Events`, and the slices that they can stand on. Out: `Arrows`. Not judged here: whether an arrow goes back in time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.events import NO_TIME, Events

_LEAVES = (ord("s"), ord("t"))
_ARRIVES = (ord("t"), ord("f"))


@dataclass(frozen=True, slots=True)
class Arrows:
    """Arrows between rows of `Stand`, and what could not be bound.

    ``source``, ``target`` int32[k] slice rows · ``kind`` int32[k] ids into `Events.strings` (the category, else the name)
    · ``unbound`` int: arrow ends without a partner or without a slice to stand on.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    kind: NDArray[np.int32]
    unbound: int


@dataclass(frozen=True, slots=True)
class Stand:
    """The slices that arrow ends can stand on, sorted by (track, lane, start, −end).

    ``spans`` int32[t, 2, 2]: rows ``first:last`` of each track's first context lane and first work lane; ``parent`` leads
    out. ``mark`` int32[n events] is the row of `TrackMarks` of each event; by those rows, ``track`` int32[m] is the track, −1
    for one without slices, and ``shift`` int64[m] what to take from an event's time to meet the slices' times, in ns.
    ``slice_of_event`` int32[n events + 1]: −1 for an event that is no slice.
    """

    mark: NDArray[np.int32]
    track: NDArray[np.int32]
    shift: NDArray[np.int64]
    spans: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    parent: NDArray[np.int32]
    slice_of_event: NDArray[np.int32]


def resolve(events: Events, stand: Stand) -> Arrows:
    """Bind each arrow's ends to slices and join them by (category, id), in order of time.

    An end binds to the innermost slice open at its time on its thread, work before context; an ``f`` without ``bp: e`` to
    the next slice that starts there. One s may have many f. O(k log n).
    """
    rows, key, leaves, arrives, row_slice = _endpoints(events, stand)
    if not len(rows):
        none = np.empty(0, np.int32)
        return Arrows(none, none, none, 0)
    # at one time of one flow, leaving stands before arriving
    order = np.lexsort((rows, ~leaves, events.start[rows], key))
    rows, key, row_slice = rows[order], key[order], row_slice[order]
    leaves, arrives = leaves[order], arrives[order]
    place = np.arange(len(rows))
    latest = np.maximum.accumulate(np.where(leaves, place, -1))
    before = np.concatenate(([-1], latest[:-1]))
    joined = arrives & (before >= 0) & (key[before] == key)
    used = np.zeros(len(rows), bool)
    used[before[joined]] = True
    used |= joined
    source, target = row_slice[before[joined]], row_slice[joined]
    bound = (source >= 0) & (target >= 0)
    proper = bound & (source != target)
    kind = events.category[rows[joined]]
    kind = np.where(kind >= 0, kind, events.name[rows[joined]])
    unbound = int(np.count_nonzero(~used)) + int(np.count_nonzero(~bound))
    return Arrows(source[proper], target[proper], kind[proper].astype(np.int32), unbound)


def _endpoints(
    events: Events, stand: Stand
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int32]]:
    """Return event row, flow key, whether an arrow leaves, whether one arrives, and the slice of every arrow end."""
    phase = events.phase
    classic = np.flatnonzero(
        ((phase == ord("s")) | (phase == ord("t")) | (phase == ord("f"))) & (events.id >= 0) & (events.start != NO_TIME)
    )
    key = (events.category[classic].astype(np.int64) + 1 << 32) | events.id[classic]
    leaves = np.isin(phase[classic], _LEAVES)
    arrives = np.isin(phase[classic], _ARRIVES)
    encloses = leaves | (events.field("bp").at(classic) >= 0) | (phase[classic] == ord("t"))
    found = _bind(events, stand, classic, encloses)
    bind = events.field("bind_id")
    if len(bind.rows):
        flagged = bind.rows.astype(np.int64)
        out = events.field("flow_out").at(flagged) > 0
        into = events.field("flow_in").at(flagged) > 0
        timed = events.start[flagged] != NO_TIME
        # bind_id has a space of its own, apart from every category's ids
        own = stand.slice_of_event[flagged[timed]]
        around = _bind(events, stand, flagged[timed], np.ones(int(np.count_nonzero(timed)), bool))
        classic = np.concatenate((classic, flagged[timed]))
        key = np.concatenate((key, -1 - bind.at(flagged[timed]).astype(np.int64)))
        leaves, arrives = np.concatenate((leaves, out[timed])), np.concatenate((arrives, into[timed]))
        found = np.concatenate((found, np.where(own >= 0, own, around)))
    return classic, key, leaves, arrives, found


def _bind(events: Events, stand: Stand, rows: NDArray[np.int64], encloses: NDArray[np.bool_]) -> NDArray[np.int32]:
    found = np.full(len(rows), -1, np.int32)
    mark = stand.mark[rows]
    track, shift = stand.track[mark], stand.shift[mark]
    order = np.argsort(track, kind="stable")
    bounds = np.searchsorted(track[order], np.arange(len(stand.spans) + 1))
    for number in np.unique(track[track >= 0]).tolist():
        mine = order[bounds[number] : bounds[number + 1]]
        when = events.start[rows[mine]] - shift[mine]
        inside = _open_at(stand, stand.spans[number, 1], when)
        inside = np.where(inside >= 0, inside, _open_at(stand, stand.spans[number, 0], when))
        # TensorFlow lets an arrow leave at the very end of its operator, where a half-open slice is over
        inside = np.where(inside >= 0, inside, _open_at(stand, stand.spans[number, 1], when - 1))
        ahead = _next_at(stand, stand.spans[number, 1], when)
        found[mine] = np.where(encloses[mine], inside, np.where(ahead >= 0, ahead, inside))
    return found


def _open_at(stand: Stand, span: NDArray[np.int32], when: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the innermost slice of a lane that is open at each time, or starts there; −1 where none."""
    first, last = span.tolist()
    row = first - 1 + np.searchsorted(stand.start[first:last], when, side="right").astype(np.int32)
    row = np.where(row < first, -1, row).astype(np.int32)
    while True:  # one round a level of nesting
        closed = (row >= 0) & (stand.end[row] <= when) & (stand.start[row] != when)
        if not closed.any():
            return np.asarray(row)
        row[closed] = stand.parent[row[closed]]


def _next_at(stand: Stand, span: NDArray[np.int32], when: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the first slice of a lane that starts at or after each time; −1 where none."""
    first, last = span.tolist()
    row = first + np.searchsorted(stand.start[first:last], when, side="left").astype(np.int32)
    return np.where(row < last, row, -1).astype(np.int32)

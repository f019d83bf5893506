"""From events to Perfetto's tables: which events make slices, on which tracks, in which order, nested how.

In: `Events` as decoded (B and E not paired). Out: one `Import` of columns. The rules are those observed of Perfetto's
trace processor for Chrome JSON (docs/reference/sql.md lists them and where we differ: times are exact here). Arguments
and counters need the events' text and are read apart (`tracegap.sql.arguments`).
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64
from tracegap.events import NO_TIME, Events
from tracegap.sql.asynchronous import place_asynchronous
from tracegap.sql.stacks import BEGIN, COMPLETE, END, Operations, nest
from tracegap.sql.threads import Threads, find_threads

NO_NAME = "[No name]"

THREAD, SPILLED, PROCESS, GLOBAL, ASYNCHRONOUS = range(5)
"""What sort of track it is, in `Import.track_kind`."""

_OF_THREAD = tuple(map(ord, "XBEIiRstf"))  # what makes a thread's track


@dataclass(frozen=True, eq=False)
class Import(Columns):
    """n slices, by id (import order: time, and the importer's rules for equal times).

    Attributes
    ----------
    event : int32[n]
        Row of `Events`.
    end_event : int32[n]
        Row of the E or e event that closed the slice; −1 where it has none of its own.
    start : int64[n]
        Nanoseconds as the file counts them.
    duration : int64[n]
        −1 for a slice that was never closed.
    name, category : int32[n]
        Ids into ``events.strings``; −1 where missing.
    track : int32[n]
        Row of the tracks.
    depth : int32[n]
    parent : int64[n]
        Slice; −1 for a root.
    track_kind : list of int
        Per track: `THREAD`, `SPILLED`, `PROCESS`, `GLOBAL` or `ASYNCHRONOUS`.
    track_owner : list of int
        utid, upid or −1.
    track_name : list of (int or None)
        Ids into ``events.strings``: asynchronous tracks have the name of their first event.
    flow_event, flow_place, flow_top, flow_next : int64[f]
        Rows of the s, t and f events in import order, how many slices stand before them, the slice on top of their
        thread then, and the next that starts on it; −1 where there is none.
    stats : counter
        Perfetto's names of what was dropped or bent.
    """

    event: Int32
    end_event: Int32
    start: Int64
    duration: Int64
    name: Int32
    category: Int32
    track: Int32
    depth: Int32
    parent: Int64
    events: Events
    threads: Threads
    track_kind: list[int]
    track_owner: list[int]
    track_name: list[int | None]
    flow_event: NDArray[np.int64]
    flow_place: NDArray[np.int64]
    flow_top: NDArray[np.int64]
    flow_next: NDArray[np.int64]
    stats: Counter[str] = field(default_factory=Counter)

    def slice_of(self, events: Int32) -> Int64:
        """Return the slice of each event, given the event of each slice (−1 for none): int64[m] over the rows of `events`."""
        found = np.full(len(self.events), -1, np.int64)
        made = np.flatnonzero(events >= 0)
        found[events[made]] = made
        return found


def build(events: Events) -> Import:
    """Import the events as Perfetto does; O(n log n)."""
    stats: Counter[str] = Counter()
    phase = _phase(events, stats)
    order = _order(events, phase)
    threads = find_threads(events, order)
    track, kind, owner, name = _tracks(events, phase, order, threads)

    rows = order[track[order] >= 0]
    flow = np.isin(phase[rows], tuple(map(ord, "stf")))
    operation = _operation_kind(phase[rows])
    slices = _Slices(events, rows, track, stats)
    for one, places in _by_track(track[rows], ~flow):
        slices.nest_track(one, places, operation[places], kind, owner, name)
    place = np.flatnonzero(slices.depth >= 0)
    number = np.full(len(rows) + 1, -1, np.int64)  # the last entry answers −1 with −1
    number[place] = np.arange(len(place))
    flow_top, flow_next = slices.around(np.flatnonzero(flow), track[rows], number)
    return Import(
        event=rows[place].astype(np.int32),
        end_event=slices.end_event[place],
        start=events.start[rows[place]],
        duration=slices.duration[place],
        name=events.name[rows[place]],
        category=events.category[rows[place]],
        track=slices.track[place],
        depth=slices.depth[place],
        parent=number[slices.parent[place]],
        events=events,
        threads=threads,
        track_kind=kind,
        track_owner=owner,
        track_name=name,
        flow_event=rows[flow].astype(np.int64),
        flow_place=np.searchsorted(place, np.flatnonzero(flow)).astype(np.int64),
        flow_top=flow_top,
        flow_next=flow_next,
        stats=stats,
    )


class _Slices:
    """The columns of all slices while the tracks are nested one by one; rows are places in import order."""

    def __init__(self, events: Events, rows: NDArray[Any], track: NDArray[np.int32], stats: Counter[str]) -> None:
        n = len(rows)
        self.events = events
        self.rows = rows
        self.name, self.category = (_text(events, ids[rows]) for ids in (events.name, events.category))
        self.stats = stats
        self.track = track[rows]
        self.depth = np.full(n, -1, np.int32)
        self.parent = np.full(n, -1, np.int64)
        self.duration = np.full(n, -1, np.int64)
        self.end_event = np.full(n, -1, np.int32)
        self.top = np.full(n, -1, np.int64)

    def nest_track(
        self,
        track: int,
        places: NDArray[Any],
        operation: NDArray[np.uint8],
        kind: list[int],
        owner: list[int],
        name: list[int | None],
    ) -> None:
        """Nest the operations of one track, and make tracks for the slices that it spills."""
        events, rows = self.events, self.rows[places]
        length = np.where(operation == COMPLETE, np.maximum(events.duration[rows], 0), -1)
        length[np.isin(events.phase[rows], tuple(map(ord, "iIRn")))] = 0
        nested = nest(Operations(operation, events.start[rows], length, self.name[places], self.category[places]))
        begun = operation != END
        here = places[begun]
        self.depth[here] = nested.depth[begun]
        self.parent[here] = _through(places, nested.parent[begun])
        self.duration[here] = nested.duration[begun]
        self.top[places] = _through(places, nested.top)
        closing = np.flatnonzero(nested.begin >= 0)
        self.end_event[places[nested.begin[closing]]] = rows[closing]
        self.stats["misplaced_end_event"] += nested.misplaced
        self.stats["slice_spill_overlapping_complete_event"] += int(np.count_nonzero(nested.lane))
        spilled = nested.lane > 0
        self.track[places[spilled]] = len(kind) - 1 + nested.lane[spilled]
        more = int(nested.lane.max(initial=0))
        kind += [SPILLED] * more
        owner += [owner[track]] * more
        name += [None] * more

    def around(
        self, flows: NDArray[Any], track: NDArray[np.int32], number: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find for each flow event the slice on top of its track, and the next one that starts on that track.

        Both by one search in the operations sorted by (track, place).
        """
        operations = np.flatnonzero(self.top >= -1)
        operations = np.setdiff1d(operations, flows, assume_unique=True)
        size = len(self.rows) + 1
        key = track[operations].astype(np.int64) * size + operations
        by_key = np.argsort(key, kind="stable")
        wanted = track[flows].astype(np.int64) * size + flows
        before = np.searchsorted(key[by_key], wanted) - 1
        at = operations[by_key[before]] if len(operations) else np.full(len(flows), -1)
        top = np.where((before >= 0) & (track[at] == track[flows]), self.top[at], -1) if len(flows) else at
        starts = operations[(self.depth[operations] >= 0) & (self.track[operations] == track[operations])]
        start_key = np.sort(track[starts].astype(np.int64) * size + starts)
        after = np.searchsorted(start_key, wanted)
        found = start_key[np.minimum(after, len(start_key) - 1)] if len(start_key) else np.full(len(flows), -1)
        after_ok = (after < len(start_key)) & (found // size == track[flows])
        return number[top], number[np.where(after_ok, found % size, -1)]


def _text(events: Events, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Take empty texts for missing ones."""
    return np.where(ids == events.strings.index(""), np.int32(-1), ids) if "" in events.strings else ids


def _through(places: NDArray[Any], inner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn positions within a track into places, −1 into −1."""
    return np.where(inner >= 0, places[inner], -1)


def _phase(events: Events, stats: Counter[str]) -> NDArray[np.uint8]:
    """Return the phases, 0 for events that the importer drops."""
    phase = events.phase.copy()
    metadata = phase == ord("M")
    untimed = (events.start == NO_TIME) & ~metadata & (phase != 0)
    negative = (events.start < 0) & (events.start != NO_TIME) & (phase != 0)
    stats["json_tokenizer_failure"] += int(np.count_nonzero(untimed) + np.count_nonzero(phase == 0))
    stats["trace_sorter_negative_timestamp_dropped"] += int(np.count_nonzero(negative))
    phase[untimed | negative] = 0
    return phase


def _order(events: Events, phase: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the rows in import order: by time; at one time ends, then complete slices from the longest, then the rest.

    A trace without complete slices stays in file order at equal times; complete slices of no length count as the rest.
    """
    rows = np.flatnonzero(phase)
    start = np.where(events.start[rows] == NO_TIME, 0, events.start[rows])
    kind = phase[rows]
    complete = (kind == ord("X")) & (events.duration[rows] > 0)
    if not complete.any():
        return rows[np.argsort(start, kind="stable")]
    rank = np.where(kind == ord("E"), 0, np.where(complete, 1, 2)).astype(np.int8)
    longest = np.where(complete, -events.duration[rows], 0)
    return rows[np.lexsort((longest, rank, start))]


def _operation_kind(phase: NDArray[np.uint8]) -> NDArray[np.uint8]:
    kinds = np.full(256, COMPLETE, np.uint8)
    kinds[[ord("B"), ord("b")]] = BEGIN
    kinds[[ord("E"), ord("e")]] = END
    return kinds[phase]


def _tracks(
    events: Events, phase: NDArray[np.uint8], order: NDArray[np.int64], threads: Threads
) -> tuple[NDArray[np.int32], list[int], list[int], list[int | None]]:
    """Give each event that makes or ends a slice, or binds a flow, its track; −1 for the others.

    Tracks are numbered by their first event in import order.
    """
    of_thread = np.isin(phase, _OF_THREAD) & ~((phase == ord("X")) & (events.duration < 0))
    key = np.full(len(phase), -1, np.int64)
    key[of_thread] = threads.utid[events.thread[of_thread]]
    first_process = int(threads.tid.size)
    first_global = first_process + int(threads.pid.size)
    scope = events.field("s")
    if len(scope.rows):
        scopes = np.array([text[:1] for text in events.strings])
        letter = scopes[scope.values]
        instant = np.isin(phase[scope.rows], tuple(map(ord, "iIR")))
        of_process = scope.rows[instant & (letter == "p")]
        key[of_process] = first_process + threads.upid[threads.utid[events.thread[of_process]]]
        key[scope.rows[instant & (letter == "g")]] = first_global
    names = place_asynchronous(events, phase, order)
    for row, (place, _) in names.items():
        key[row] = first_global + 1 + place

    kind: list[int] = []
    owner: list[int] = []
    name: list[int | None] = []
    used = order[key[order] >= 0]
    keys, first = np.unique(key[used], return_index=True)
    number = np.full(int(keys.max(initial=-1)) + 1, -1, np.int32)
    for at in np.argsort(first):
        one = int(keys[at])
        number[one] = len(kind)
        name.append(names[int(used[first[at]])][1] if one > first_global else None)
        if one < first_process:
            kind.append(THREAD)
            owner.append(one)
        elif one < first_global:
            kind.append(PROCESS)
            owner.append(one - first_process)
        else:
            kind.append(GLOBAL if one == first_global else ASYNCHRONOUS)
            owner.append(-1)
    track = np.full(len(phase), -1, np.int32)
    track[used] = number[key[used]]
    return track, kind, owner, name


def _by_track(track: NDArray[np.int32], mask: NDArray[np.bool_]) -> list[tuple[int, NDArray[Any]]]:
    """Split the places in `mask` by track, each part ascending."""
    places = np.flatnonzero(mask)
    by_track = places[np.argsort(track[places], kind="stable")]
    present, first = np.unique(track[by_track], return_index=True)
    return list(zip(present.tolist(), np.split(by_track, first[1:]), strict=True)) if len(present) else []

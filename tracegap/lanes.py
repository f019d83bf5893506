"""The rows of a file that are slices, put on numbered tracks and into lanes.

In: `Events` and `Marks`. Out: `Tracks`, and `Slices` that have no step and no launch yet.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tracegap import clocks, nesting
from tracegap.dialects import Marks
from tracegap.errors import UsageError
from tracegap.events import Events
from tracegap.kinds import CONTEXT, DEVICE_WORK, HOST_RUNS, Kind, Role
from tracegap.problems import Problem, problem
from tracegap.tables import Slices, Tracks


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that are slices, in file order, on numbered tracks."""

    event: NDArray[np.int32]
    kind: NDArray[np.uint8]
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    track: NDArray[np.int32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    plausible: NDArray[np.bool_]
    origin: int
    shift: NDArray[np.int64]
    """ns to take from the times of each row of `TrackMarks`."""
    mark_of_track: NDArray[np.int32]
    process_of_track: NDArray[np.int32]
    processes: tuple[str, ...]
    moved: int
    problems: tuple[Problem, ...]


def collect(events: Events, marks: Marks, rows: NDArray[np.intp], *, step_name: str | None) -> Rows:
    """Return the given event rows on numbered tracks, with times from the first plausible one."""
    kind = marks.kind[rows].copy()
    name = marks.name[rows]
    thread = events.thread[rows] if marks.track is None else marks.track[rows]
    if step_name is not None:
        kind = _choose_steps(kind, name, marks.tracks.role[thread], marks.strings, step_name)
    processes, process_of_mark = _processes(events, marks)
    start = events.start[rows]
    end = start + events.duration[rows]
    sorted_out = clocks.sort_out(start, end, process_of_mark[thread], len(processes))
    shift = sorted_out.shift[process_of_mark]
    start, end = start - shift[thread], end - shift[thread]
    good = sorted_out.plausible
    origin = int(start[good].min() if good.any() else start.min())
    used = np.unique(thread)
    used = used[np.lexsort((used, process_of_mark[used], marks.tracks.role[used]))]
    number = np.full(len(marks.tracks), -1, np.int32)
    number[used] = np.arange(len(used))
    problems = []
    if not good.all():
        first = int(np.flatnonzero(~good)[0])
        problems.append(
            problem(
                "implausible-time",
                int(np.count_nonzero(~good)),
                f"event {rows[first]} ({_text(marks.strings, name[first])}) at {int(events.start[rows[first]]):,} ns",
            )
        )
    if sorted_out.moved:
        problems.append(problem("device-clock-offset", sorted_out.moved))
    return Rows(
        event=rows.astype(np.int32),
        kind=kind,
        name=name,
        category=events.category[rows],
        track=number[thread],
        start=start - origin,
        end=end - origin,
        plausible=good,
        origin=origin,
        shift=shift + origin,
        mark_of_track=used.astype(np.int32),
        process_of_track=process_of_mark[used],
        processes=processes,
        moved=sorted_out.moved,
        problems=tuple(problems),
    )


def _text(strings: tuple[str, ...], index: int) -> str:
    return strings[index] if index >= 0 else "no name"


def _choose_steps(
    kind: NDArray[np.uint8], name: NDArray[np.int32], role: NDArray[np.uint8], strings: tuple[str, ...], pattern: str
) -> NDArray[np.uint8]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--step-name {pattern!r} is no regular expression: {error}") from error
    hits = np.fromiter((expression.search(text) is not None for text in strings), bool, len(strings))
    steps = (name >= 0) & hits[name] & (role == Role.HOST)
    if not steps.any():
        raise UsageError(f"--step-name {pattern!r} finds no host slice; `tracegap info` lists the names")
    kind = np.where(kind == Kind.STEP, np.uint8(Kind.ANNOTATION), kind)
    return np.where(steps, np.uint8(Kind.STEP), kind).astype(np.uint8)


def _processes(events: Events, marks: Marks) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the processes' names and the process of each row of `TrackMarks`."""
    thread_of_mark = np.arange(len(marks.tracks))
    if marks.track is not None:
        thread_of_mark = np.zeros(len(marks.tracks), np.int64)
        thread_of_mark[marks.track] = events.thread
    numbers: dict[int | str | None, int] = {}
    process = [numbers.setdefault(events.threads[key].process, len(numbers)) for key in thread_of_mark.tolist()]
    said: dict[tuple[str, int | str | None], str] = {
        (kind, thread.process): str(value)
        for (kind, thread), value in events.metadata.items()
        if kind in ("process_name", "process_labels") and value
    }
    names = tuple(
        " ".join(said[kind, key] for kind in ("process_name", "process_labels") if (kind, key) in said) or str(key)
        for key in numbers
    )
    return names, np.array(process, np.int32)


def place(raw: Rows, marks: Marks) -> tuple[Tracks, Slices, list[Problem]]:
    """Sort the rows into lanes; return the tracks, the slices and what was mended."""
    role = marks.tracks.role[raw.mark_of_track]
    on_host = role[raw.track] == Role.HOST
    kind = raw.kind
    layer = _layers(raw, on_host)
    start, adopted = _adopted(raw, layer)
    calls = (kind == Kind.RUNTIME) | (kind == Kind.SYNC)
    order = np.lexsort((raw.event, calls, -raw.end, start, layer, raw.track))
    track, layer, start, end = raw.track[order], layer[order], start[order], raw.end[order]
    kind = kind[order]
    group = (track * len(_Layer) + layer).astype(np.int32)
    stacked = on_host[order] | (layer == _Layer.CONTEXT)
    lane = np.zeros(len(order), np.int16)
    parent = np.full(len(order), -1, np.int32)
    depth = np.zeros(len(order), np.int16)
    rows = np.flatnonzero(stacked)
    last = end[rows].max() if len(rows) else 0
    nested = nesting.nest(group[rows], start[rows], end[rows], (kind[rows] == Kind.FRAME) & (end[rows] == last))
    lane[rows], depth[rows], end[rows] = nested.lane, nested.depth, nested.end
    inner = nested.parent >= 0
    parent[rows[inner]] = rows[nested.parent[inner]]
    # lanes of a track are numbered through its layers
    lanes = np.zeros(len(raw.mark_of_track) * len(_Layer), np.int64)
    np.maximum.at(lanes, group, lane.astype(np.int64) + 1)
    table = lanes.reshape(-1, len(_Layer))
    before = np.cumsum(table, axis=1) - table
    lane += before.reshape(-1)[group].astype(np.int16)
    final = np.lexsort((np.arange(len(order)), lane, track))
    moved = np.empty(len(order), np.int32)
    moved[final] = np.arange(len(order))
    order, track, lane = order[final], track[final], lane[final]
    start, end, kind = start[final], end[final], kind[final]
    parent = parent[final]
    parent[parent >= 0] = moved[parent[parent >= 0]]
    bounds = np.searchsorted(track, np.arange(len(raw.mark_of_track) + 1))
    tracks = Tracks(
        process=raw.process_of_track,
        role=role,
        device=marks.tracks.device[raw.mark_of_track],
        ordered=marks.tracks.ordered[raw.mark_of_track],
        first=bounds[:-1].astype(np.int32),
        last=bounds[1:].astype(np.int32),
        label=tuple(marks.tracks.label[row] for row in raw.mark_of_track.tolist()),
        context_lanes=table[:, _Layer.CONTEXT].astype(np.int16),
        work_lanes=table[:, _Layer.WORK].astype(np.int16),
    )
    self_time = nesting.self_times(start, end, parent)
    slices = Slices(
        name=raw.name[order],
        category=raw.category[order],
        track=track,
        lane=lane,
        start=start,
        end=end,
        depth=depth[final],
        parent=parent,
        context=_context(track, start, end, kind),
        self_time=self_time,
        kind=kind,
        step=np.full(len(order), -1, np.int32),
        launch=np.full(len(order), -1, np.int32),
        event=raw.event[order],
        plausible=raw.plausible[order],
        runs=np.zeros(len(order), bool),
    )
    spilled = int(np.count_nonzero(nested.lane))
    problems = [
        problem("clipped-child", nested.clipped + adopted),
        problem("unfinished-frame", nested.unfinished),
        problem("spilled-slice", spilled),
        problem("zero-duration", int(np.count_nonzero(start == end))),
        problem("stream-overlap", _overlaps(slices, tracks)),
    ]
    return tracks, slices, problems


class _Layer(IntEnum):
    """Context nests apart from work; aside stands what is neither."""

    CONTEXT = 0
    WORK = 1
    ASIDE = 2


def _layers(raw: Rows, on_host: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the layer of each row; annotations and frames that are the only record of what ran are work."""
    layer = np.full(len(raw.kind), _Layer.WORK, np.uint8)
    layer[np.isin(raw.kind, CONTEXT)] = _Layer.CONTEXT
    layer[np.isin(raw.kind, (Kind.PROFILER, Kind.WAIT))] = _Layer.ASIDE
    count = len(raw.mark_of_track)
    frame = on_host & (raw.kind == Kind.FRAME)
    has_op = np.bincount(raw.track[raw.kind == Kind.OP], minlength=count) > 0
    working = frame & ~has_op[raw.track]
    layer[working] = _Layer.WORK
    record = np.flatnonzero(working | (on_host & np.isin(raw.kind, (Kind.OP, Kind.INPUT, Kind.OTHER))))
    record = record[np.lexsort((raw.start[record], raw.track[record]))]
    bounds = np.searchsorted(raw.track[record], np.arange(count + 1))
    ranges = np.flatnonzero(on_host & (raw.kind == Kind.ANNOTATION))
    for track in np.unique(raw.track[ranges]).tolist():
        mine = ranges[raw.track[ranges] == track]
        starts = raw.start[record[bounds[track] : bounds[track + 1]]]
        empty = np.searchsorted(starts, raw.start[mine]) >= np.searchsorted(starts, raw.end[mine])
        layer[mine[empty]] = _Layer.WORK
    return layer


def _adopted(raw: Rows, layer: NDArray[np.uint8]) -> tuple[NDArray[np.int64], int]:
    """Return the starts, API calls that begin just before the operator that made them moved to its start, and how many."""
    start = raw.start.copy()
    calls = np.flatnonzero((raw.kind == Kind.RUNTIME) | (raw.kind == Kind.SYNC))
    operators = np.flatnonzero((raw.kind == Kind.OP) & (layer == _Layer.WORK))
    operators = operators[np.lexsort((raw.start[operators], raw.track[operators]))]
    bounds = np.searchsorted(raw.track[operators], np.arange(len(raw.mark_of_track) + 1))
    adopted = 0
    for track in np.unique(raw.track[calls]).tolist():
        mine = calls[raw.track[calls] == track]
        near = operators[bounds[track] : bounds[track + 1]]
        if not len(near):
            continue
        place = np.searchsorted(raw.start[near], raw.start[mine], side="right")
        owner = near[np.minimum(place, len(near) - 1)]
        ahead = raw.start[owner] - raw.start[mine]
        fits = (place < len(near)) & (ahead < nesting.TOLERANCE)
        fits &= (raw.end[mine] > raw.start[owner]) & (raw.end[mine] <= raw.end[owner])
        start[mine[fits]] = raw.start[owner[fits]]
        adopted += int(np.count_nonzero(fits))
    return start, adopted


def _context(
    track: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64], kind: NDArray[np.uint8]
) -> NDArray[np.int32]:
    order = np.lexsort((-end, start, track))
    found = nesting.innermost(track[order], start[order], end[order], np.isin(kind[order], CONTEXT))
    context = np.empty(len(track), np.int32)
    context[order] = np.where(found >= 0, order[np.maximum(found, 0)], -1)
    return context


def _overlaps(slices: Slices, tracks: Tracks) -> int:
    """Count device work that starts before earlier work on its ordered stream has ended."""
    total = 0
    for row in np.flatnonzero((tracks.role == Role.DEVICE) & tracks.ordered).tolist():
        mine = np.arange(tracks.first[row], tracks.last[row])
        mine = mine[np.isin(slices.kind[mine], DEVICE_WORK)]
        if len(mine) > 1:
            total += int(np.count_nonzero(slices.start[mine[1:]] < np.maximum.accumulate(slices.end[mine])[:-1]))
    return total


def runs(slices: Slices, tracks: Tracks) -> NDArray[np.bool_]:
    """Return which slices run, as `Slices.runs` says."""
    on_host = tracks.role[slices.track] == Role.HOST
    first = tracks.context_lanes[slices.track]
    in_work = (slices.lane >= first) & (slices.lane < first + tracks.work_lanes[slices.track])
    record = in_work & np.isin(slices.kind, (Kind.ANNOTATION, Kind.FRAME))
    host = on_host & (np.isin(slices.kind, HOST_RUNS) | record)
    return np.asarray(slices.plausible & (host | (~on_host & np.isin(slices.kind, DEVICE_WORK))))

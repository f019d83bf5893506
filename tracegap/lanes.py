"""Rows of slices into lanes, nested: the tables of tracks and slices.

In: `tracegap.tracks.Rows`. Out: `Tracks`, and `Slices` that have no step and no launch yet and of which none runs.
"""

import numpy as np
from numpy.typing import NDArray

from tracegap import nesting
from tracegap.dialects import Marks
from tracegap.events import NO_TIME, Events
from tracegap.kinds import CONTEXT, DEVICE_WORK, HOST_RUNS, Kind, Role, is_any
from tracegap.problems import Problem, problem
from tracegap.tables import Slices, Tracks
from tracegap.tracks import Layer, Numbering, Rows


def place(rows: Rows, numbering: Numbering, events: Events, marks: Marks) -> tuple[Tracks, Slices, list[Problem]]:
    """Nest the rows in lanes; return the tracks, the slices and what was mended."""
    role = marks.tracks.role[numbering.mark]
    group = rows.track * np.int32(len(Layer)) + rows.layer
    stacked = (role == Role.HOST)[rows.track] | (rows.layer == Layer.CONTEXT)
    recorded = rows.end.max(where=stacked, initial=NO_TIME)
    # device work may overlap as it likes: each row of it is a group of its own
    alone = np.where(stacked, group, -1 - np.arange(len(rows), dtype=np.int32))
    nested = nesting.nest(alone, rows.start, rows.end, (rows.kind == Kind.FRAME) & (rows.end == recorded))
    del alone, stacked
    table = _lane_counts(group, nested.lane, len(role))
    # lanes of a track are numbered through its layers
    before = (np.cumsum(table, axis=1) - table).astype(np.int32)
    lane = nested.lane + before.reshape(-1)[group]
    parent, depth, end = nested.parent, nested.depth, nested.end
    spilled = int(np.count_nonzero(nested.lane))
    if spilled:
        order = np.lexsort((lane, rows.track))
        rows, lane, depth, end = rows.take(order), lane[order], depth[order], end[order]
        parent = _moved(parent, order)
    bounds = np.searchsorted(rows.track, np.arange(len(role) + 1))
    tracks = Tracks(
        process=numbering.process,
        role=role,
        device=marks.tracks.device[numbering.mark],
        ordered=marks.tracks.ordered[numbering.mark],
        first=bounds[:-1].astype(np.int32),
        last=bounds[1:].astype(np.int32),
        label=tuple(marks.tracks.label[mark] for mark in numbering.mark.tolist()),
        context_lanes=table[:, Layer.CONTEXT],
        work_lanes=table[:, Layer.WORK],
    )
    slices = Slices(
        name=marks.name[rows.event],
        category=events.category[rows.event],
        track=rows.track,
        lane=lane,
        start=rows.start,
        end=end,
        depth=depth,
        parent=parent,
        context=_context(tracks, rows.start, end, is_any(rows.kind, CONTEXT)),
        self_time=nesting.self_times(rows.start, end, parent),
        kind=rows.kind,
        step=np.full(len(rows), -1, np.int32),
        launch=np.full(len(rows), -1, np.int32),
        event=rows.event,
        plausible=rows.plausible,
        runs=np.zeros(len(rows), bool),
    )
    problems = [
        problem("clipped-child", nested.clipped + rows.adopted),
        problem("unfinished-frame", nested.unfinished),
        problem("spilled-slice", spilled),
        problem("zero-duration", int(np.count_nonzero(slices.start == slices.end))),
        problem("stream-overlap", _overlaps(slices, tracks)),
    ]
    return tracks, slices, problems


def _lane_counts(group: NDArray[np.int32], lane: NDArray[np.int32], tracks: int) -> NDArray[np.int32]:
    """Return how many lanes each layer of each track has, int32[tracks, layers]."""
    counts = (np.bincount(group, minlength=tracks * len(Layer)) > 0).astype(np.int32)
    further = np.flatnonzero(lane)
    np.maximum.at(counts, group[further], lane[further] + np.int32(1))
    return counts.reshape(-1, len(Layer))


def _moved(parent: NDArray[np.int32], order: NDArray[np.intp]) -> NDArray[np.int32]:
    """Return the parents of rows that were put in a new order, as rows of that order."""
    place = np.full(len(order) + 1, -1, np.int32)  # the last place answers −1
    place[order] = np.arange(len(order))
    return place[parent[order]]


def _context(
    tracks: Tracks, start: NDArray[np.int64], end: NDArray[np.int64], holds: NDArray[np.bool_]
) -> NDArray[np.int32]:
    context = np.full(len(start), -1, np.int32)
    for first, last in zip(tracks.first.tolist(), tracks.last.tolist(), strict=True):
        if not holds[first:last].any():
            continue
        order = first + np.lexsort((-end[first:last], start[first:last]))
        found = nesting.innermost(start[order], end[order], holds[order])
        context[order] = np.where(found >= 0, order[found], -1)
    return context


def _overlaps(slices: Slices, tracks: Tracks) -> int:
    """Count device work that starts before earlier work on its ordered stream has ended."""
    total = 0
    for row in np.flatnonzero((tracks.role == Role.DEVICE) & tracks.ordered).tolist():
        mine = np.arange(tracks.first[row], tracks.last[row])
        mine = mine[is_any(slices.kind[mine], DEVICE_WORK)]
        if len(mine) > 1:
            total += int(np.count_nonzero(slices.start[mine[1:]] < np.maximum.accumulate(slices.end[mine])[:-1]))
    return total


def runs(slices: Slices, tracks: Tracks) -> NDArray[np.bool_]:
    """Return which slices run, as `Slices.runs` says."""
    on_host = (tracks.role == Role.HOST)[slices.track]
    first = tracks.context_lanes[slices.track]
    in_work = (slices.lane >= first) & (slices.lane < first + tracks.work_lanes[slices.track])
    record = in_work & is_any(slices.kind, (Kind.ANNOTATION, Kind.FRAME))
    host = on_host & (is_any(slices.kind, HOST_RUNS) | record)
    return np.asarray(slices.plausible & (host | (~on_host & is_any(slices.kind, DEVICE_WORK))))

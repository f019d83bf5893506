"""Stages that run in turn on one thread, each given a lane of its own: a pipeline across steps.

A thread is cut where a listed stage starts: the stretch from there to the next cut is that stage's, what follows it and
is not listed included. A stretch waits for the one before it in its step, and for the last one of its own stage; where the
next step begins, the order of the thread is dropped.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.edges import Cause, Found, found, join
from tracegap.kinds import Role
from tracegap.scenarios.web import Web


class Stretch(NamedTuple):
    """One occurrence of a stage: its number, its thread, and its first and last node."""

    stage: int
    track: int
    first: int
    last: int


def occurrences(web: Web, stages: Sequence[NDArray[np.bool_]]) -> list[Stretch]:
    """Return where the stages run on ordered host threads, by time.

    Parameters
    ----------
    stages : sequence of bool[n]
        The slices of each stage; of those that hold one another the outermost counts.
    """
    timeline = web.dag.timeline
    slices, tracks = timeline.slices, timeline.tracks
    out: list[Stretch] = []
    for number, chosen in enumerate(stages):
        rows = np.flatnonzero(chosen)
        rows = rows[(tracks.role[slices.track[rows]] == Role.HOST) & tracks.ordered[slices.track[rows]]]
        for track in np.unique(slices.track[rows]).tolist():
            out += _on(web, number, track, rows[slices.track[rows] == track])
    time = web.dag.graph.time
    return sorted(out, key=lambda one: (int(time[one.first]), one.stage))


def _on(web: Web, stage: int, track: int, rows: NDArray[np.intp]) -> Iterator[Stretch]:
    """Yield the stretches of a stage's slices on a thread: from the first start of work in each to the last boundary."""
    slices, nodes = web.dag.timeline.slices, _main_lane(web, track)
    time = web.dag.graph.time[nodes]
    starts = np.flatnonzero(nodes % 2 == 0)
    rows = rows[np.lexsort((-slices.end[rows], slices.start[rows]))]
    outermost = slices.end[rows] > np.append(-1, np.maximum.accumulate(slices.end[rows])[:-1])
    for row in rows[outermost].tolist():
        at = int(np.searchsorted(time[starts], slices.start[row]))
        last = int(np.searchsorted(time, slices.end[row], side="right")) - 1
        while last > 0 and nodes[last] % 2 == 0 and time[last] == slices.end[row]:
            last -= 1  # what starts as the stage ends is not in it
        if at < len(starts) and starts[at] < last:
            yield Stretch(stage, track, int(nodes[starts[at]]), int(nodes[last]))


def _main_lane(web: Web, track: int) -> NDArray[np.int32]:
    """Return the nodes of the first work lane of a thread, in order."""
    slices, nodes = web.dag.timeline.slices, web.dag.graph.nodes
    nodes = nodes[nodes < web.dag.source]
    row = nodes >> 1
    main = (slices.track[row] == track) & (slices.lane[row] == web.dag.timeline.tracks.context_lanes[track])
    return np.asarray(nodes[main])


def until_the_next(web: Web, stretches: Sequence[Stretch]) -> list[Stretch]:
    """Return the stretches of threads that several stages share, each with what follows it up to the next one."""
    out: list[Stretch] = []
    for track in sorted({one.track for one in stretches}):
        mine = [one for one in stretches if one.track == track]
        if len({one.stage for one in mine}) > 1:
            nodes = _main_lane(web, track)
            place = {node: at for at, node in enumerate(nodes.tolist())}
            ends = [place[one.first] - 1 for one in mine[1:]] + [len(nodes) - 1]
            mine = [one._replace(last=int(nodes[end])) for one, end in zip(mine, ends, strict=True)]
        out += mine
    return out


def pipelined(web: Web, stretches: Sequence[Stretch]) -> Web:
    """Return the web with the stages of each thread on lanes of their own."""
    for track in sorted({one.track for one in stretches}):
        mine = [one for one in stretches if one.track == track]
        if len({one.stage for one in mine}) > 1:
            web = _cut(web, track, mine)
    return web


def _cut(web: Web, track: int, stretches: Sequence[Stretch]) -> Web:
    nodes = _main_lane(web, track)
    place = np.full(len(web.delay), -1, np.int64)
    place[nodes] = np.arange(len(nodes))
    rank = _ranks(web, stretches)
    cuts = [(int(place[one.first]), rank[one.stage]) for one in stretches]
    before = _edges_between(web, nodes, place)
    gone = np.zeros(len(web.edges), np.bool_)
    added: list[Found] = []
    ends: dict[int, int] = {}  # by stage: the place where its last stretch ends
    for number, (at, stage) in enumerate(cuts):
        if number and stage != cuts[number - 1][1] and stage in ends:
            last = ends[stage]
            edge = int(before[last + 1])
            lag, owner = (int(web.edges.lag[edge]), int(web.edges.owner[edge])) if edge >= 0 else (0, -1)
            added.append(found(nodes[[last]], nodes[[at]], lag, cause=Cause.THREAD, owner=owner))
            if stage < cuts[number - 1][1] and before[at] >= 0:
                gone[before[at]] = True
        ends[stage] = (cuts[number + 1][0] if number + 1 < len(cuts) else len(nodes)) - 1
    if not gone.any():
        return web
    last_nodes = nodes[list(ends.values())]
    added.append(found(last_nodes, np.full(len(last_nodes), web.dag.end), 0, cause=Cause.BOUNDARY))
    return web.plus(join(added)).without(np.append(gone, np.zeros(sum(map(len, added)), np.bool_)))


def _ranks(web: Web, stretches: Sequence[Stretch]) -> dict[int, int]:
    """Return the place of each stage in a step: by its median time from the step's start, or by when it comes first."""
    steps, slices, time = web.dag.timeline.steps, web.dag.timeline.slices, web.dag.graph.time
    offsets: dict[int, list[int]] = {}
    for one in stretches:
        step = int(slices.step[one.first >> 1])
        if step >= 0:
            offsets.setdefault(one.stage, []).append(int(time[one.first]) - int(steps.start[step]))
    stages = list(dict.fromkeys(one.stage for one in stretches))
    if all(stage in offsets for stage in stages):
        stages.sort(key=lambda stage: float(np.median(offsets[stage])))
    return {stage: rank for rank, stage in enumerate(stages)}


def _edges_between(web: Web, nodes: NDArray[np.int32], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the thread's own edge into each place from the place before; −1 where there is none."""
    edges = web.edges
    rows = np.flatnonzero((edges.cause == Cause.THREAD) & (place[edges.target] > 0))
    rows = rows[place[edges.source[rows]] == place[edges.target[rows]] - 1]
    out = np.full(len(nodes) + 1, -1, np.int64)
    out[place[edges.target[rows]]] = rows
    return out

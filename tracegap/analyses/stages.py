"""Stages: the named phases of a step, the coarse timers that find most bottlenecks.

**What it shows.** Every annotation or ``nn.Module`` on a step's thread: how often, median and 99th percentile of its time on
the host, its share of the window, and the device time launched in it. Nested stages are told under the stage around them.

**Why it costs time.** A stage's host time says where the program is, not where the device works: the two part as soon as the
host runs ahead. Both stand side by side, so a long stage that launches little is seen at once.

**How it is computed.** Device time goes to the innermost stage around its launch. Launches of the backward pass, on a thread
without stages, go to the stage of their forward operator where the trace links the two (``fwdbwd``), else to the stage that the
step's thread is in at the time. ``device_busy_ns`` is the stage's own, ``device_total_ns`` includes the stages nested in it,
``device_backward_ns`` is what came over a ``fwdbwd`` link; each is a union over streams.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.analyses.contract import Model
from tracegap.analyses.steps import RELIABLE, median, percentile99
from tracegap.report import Column, Section, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, count, duration, ratio

NAME = "stages"
TITLE = "Stages of a step"

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Stage:
    """All occurrences of a stage at one place of the nesting; ``parent`` is the name of the stage around it."""

    name: str
    count: int
    median_ns: int
    p99_ns: int
    ratio: float
    depth: int
    total_ns: int
    parent: str | None = None
    device_busy_ns: int | None = None
    device_total_ns: int | None = None
    device_backward_ns: int | None = None


def run(model: Model) -> tuple[Stage, ...] | None:
    """Sum up the stages of the window, inner ones behind the one around them; None where there are none."""
    timeline, window = model.timeline, model.window
    chosen = _chosen(timeline, window)
    if not chosen.any():
        return None
    path, above = _paths(timeline.stages.parent, timeline.stages.name)
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(path[rows], kind="stable")]
    places, first = np.unique(path[rows], return_index=True)
    members = dict(zip(places.tolist(), np.split(rows, first[1:]), strict=True))
    device = _device_times(timeline, window, chosen, path, above)
    depth: dict[int, int] = {}
    told = []
    for place in _outline(timeline, members, above):
        parent = int(above[place])
        depth[place] = depth[parent] + 1 if parent >= 0 else 0
        told.append(
            _stage(timeline, window, members[place], depth[place], device.get(place) if device is not None else None)
        )
    return tuple(told)


def section(result: tuple[Stage, ...]) -> Section:
    """Say which stages there are and which takes most."""
    roots = [stage for stage in result if stage.depth == 0]
    longest = max(roots, key=lambda stage: stage.total_ns)
    lines = [
        f"{named(longest.name)} {'is the one stage' if len(result) == 1 else 'takes most'}: {duration(longest.total_ns)} on the host"
        f" ({ratio(longest.ratio)} of the window), {count(longest.count)} × {duration(longest.median_ns)}."
    ]
    on_device = [stage for stage in result if stage.device_busy_ns]
    notes = []
    if on_device:
        most = max(on_device, key=lambda stage: stage.device_busy_ns or 0)
        backward = (
            f", {duration(most.device_backward_ns)} of it in its backward pass" if most.device_backward_ns else ""
        )
        lines.append(
            f"{named(most.name)} has most device time of its own: {duration(most.device_busy_ns or 0)}{backward}."
        )
        notes.append(
            "Device time is the launching stage's; a backward pass linked to its forward counts to the forward's stage."
        )
    return Section(NAME, TITLE, tuple(lines), (_table(result),), tuple(notes))


def _chosen(timeline: Timeline, window: Window) -> NDArray[np.bool_]:
    stages = timeline.stages
    chosen: NDArray[np.bool_] = (stages.start < window.end) & (stages.end > window.start)
    return chosen & np.isin(stages.step, window.steps) if window.steps else chosen


def _stage(
    timeline: Timeline, window: Window, rows: NDArray[np.intp], depth: int, device: tuple[int, int, int] | None
) -> Stage:
    stages = timeline.stages
    start, end = stages.start[rows], stages.end[rows]
    total = intervals.total(intervals.clip(intervals.union(start, end), window.start, window.end))
    parent = int(stages.parent[rows[0]])
    own, inclusive, backward = device if device is not None else (None, None, None)
    return Stage(
        name=timeline.names[stages.name[rows[0]]],
        count=len(rows),
        median_ns=median(end - start),
        p99_ns=percentile99(end - start),
        ratio=total / window.wall if window.wall else 0.0,
        depth=depth,
        total_ns=total,
        parent=timeline.names[stages.name[parent]] if parent >= 0 else None,
        device_busy_ns=own,
        device_total_ns=inclusive,
        device_backward_ns=backward or None,
    )


def _paths(parent: NDArray[np.int32], name: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the place of each stage in the nesting (alike in the names on the way out), and the place above each place."""
    path = np.full(len(parent), -1, np.intp)
    above: list[int] = []
    level = np.flatnonzero(parent < 0)
    while len(level):
        over = np.where(parent[level] >= 0, path[parent[level]], -1)
        size = int(name.max()) + 2
        pairs, place = np.unique((over + 1) * size + name[level] + 1, return_inverse=True)
        path[level] = len(above) + place
        above += (pairs // size - 1).tolist()
        level = np.flatnonzero((path < 0) & (parent >= 0) & (path[parent] >= 0))
    return path, np.array(above, np.intp)


def _outline(timeline: Timeline, members: dict[int, NDArray[np.intp]], above: NDArray[np.intp]) -> list[int]:
    """Return the places outer first, each followed by what nests in it, in order of first appearance."""
    below: dict[int, list[int]] = {}
    for place in sorted(members, key=lambda one: int(timeline.stages.start[members[one]].min())):
        below.setdefault(int(above[place]), []).append(place)
    out: list[int] = []
    waiting = below.get(-1, [])[::-1]
    while waiting:
        out.append(waiting.pop())
        waiting += below.get(out[-1], [])[::-1]
    return out


def _device_times(
    timeline: Timeline, window: Window, chosen: NDArray[np.bool_], path: NDArray[np.intp], above: NDArray[np.intp]
) -> dict[int, tuple[int, int, int]] | None:
    """Return the device time of each place: its own, with what nests in it, and what its backward pass has of its own."""
    work = activity.device_rows(timeline)
    if not len(work):
        return None
    slices = timeline.slices
    stage, is_backward = owners(timeline, slices.launch[work])
    kept = (stage >= 0) & chosen[stage]
    low = np.maximum(slices.start[work[kept]], window.start)
    high = np.minimum(slices.end[work[kept]], window.end)
    place, linked = path[stage[kept]], is_backward[kept]
    own, sets = intervals.union_by(place, low, high)
    sums = np.zeros((3, len(above)), np.int64)
    np.add.at(sums[0], own, sets.end - sets.start)
    backward, parts = intervals.union_by(place[linked], low[linked], high[linked])
    np.add.at(sums[2], backward, parts.end - parts.start)
    places, starts, ends = [own], [sets.start], [sets.end]
    while len(own):
        outer = above[own]
        own, sets = outer[outer >= 0], intervals.Intervals(sets.start[outer >= 0], sets.end[outer >= 0])
        places.append(own)
        starts.append(sets.start)
        ends.append(sets.end)
    inclusive, sets = intervals.union_by(np.concatenate(places), np.concatenate(starts), np.concatenate(ends))
    np.add.at(sums[1], inclusive, sets.end - sets.start)
    return {place: (one, all_, back) for place, (one, all_, back) in enumerate(sums.T.tolist())}


def owners(timeline: Timeline, launch: NDArray[np.int32]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the stage that owns what each launch call started (rows of `Stages`, −1 for none), and whether a backward link said so."""
    slices, stages = timeline.slices, timeline.stages
    known = launch >= 0
    if not len(stages):
        return np.full(len(launch), -1, np.intp), np.zeros(len(launch), np.bool_)
    stage_of = np.full(len(slices) + 1, -1, np.intp)
    stage_of[stages.slice] = np.arange(len(stages))
    is_stage = stage_of[:-1] >= 0
    inside = activity.enclosing(slices.context, is_stage)
    around = np.where(inside >= 0, inside, activity.enclosing(slices.parent, is_stage))
    owner = np.where(known, stage_of[around[launch]], -1)
    forward = np.append(_forward_of(timeline), np.int32(-1))
    linked_at = activity.enclosing(slices.parent, forward[:-1] >= 0)
    source = np.where(known, forward[linked_at[launch]], -1)
    by_link = np.where(source >= 0, stage_of[around[source]], -1)
    linked = (owner < 0) & (by_link >= 0)
    owner = np.where(linked, by_link, owner)
    late = np.flatnonzero(known & (owner < 0))
    owner[late] = _open_at(timeline, launch[late])
    return owner, linked


def _forward_of(timeline: Timeline) -> NDArray[np.int32]:
    """Return for each slice the forward operator whose backward it is: int32[n slices], −1 for none."""
    forward = np.full(len(timeline.slices), -1, np.int32)
    flows = timeline.flows
    if "fwdbwd" in timeline.flow_kinds:
        linked = flows.kind == timeline.flow_kinds.index("fwdbwd")
        forward[flows.target[linked]] = flows.source[linked]
    return forward


def _open_at(timeline: Timeline, launch: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return the innermost stage that the step's thread is in when each call starts."""
    slices, stages, steps = timeline.slices, timeline.stages, timeline.steps
    step = slices.step[launch]
    found = np.full(len(launch), -1, np.intp)
    depth = _depths(stages.parent)
    for track in np.unique(steps.track[step[step >= 0]]).tolist():
        rows = np.flatnonzero(steps.track[stages.step] == track)
        parent = np.where(stages.parent[rows] >= 0, np.searchsorted(rows, stages.parent[rows]), -1)
        start, end, place = activity.innermost(stages.start[rows], stages.end[rows], depth[rows], parent)
        mine = np.flatnonzero((step >= 0) & (steps.track[step] == track))
        at = intervals.holding(intervals.Intervals(start, end), slices.start[launch[mine]])
        found[mine[at >= 0]] = rows[place[at[at >= 0]]]
    return found


def _depths(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    depth = np.zeros(len(parent), np.int32)
    above = parent.copy()
    while (inner := above >= 0).any():
        depth[inner] += 1
        above[inner] = parent[above[inner]]
    return depth


def _table(result: tuple[Stage, ...]) -> Table:
    shown = result[:_SHOWN]
    columns = [
        Column("stage", Unit.TEXT, tuple(stage.name for stage in shown)),
        Column("count", Unit.COUNT, tuple(stage.count for stage in shown)),
        Column("median", Unit.NANOSECONDS, tuple(stage.median_ns for stage in shown)),
        Column(
            "p99" if all(stage.count >= RELIABLE for stage in shown) else "p99 or max",
            Unit.NANOSECONDS,
            tuple(stage.p99_ns for stage in shown),
        ),
        Column("of window", Unit.RATIO, tuple(stage.ratio for stage in shown), bar=True),
    ]
    if any(stage.device_busy_ns is not None for stage in shown):
        columns += [
            Column("device", Unit.NANOSECONDS, tuple(stage.device_total_ns for stage in shown)),
            Column("of its own", Unit.NANOSECONDS, tuple(stage.device_busy_ns for stage in shown)),
        ]
    return Table("Stages", tuple(columns), total=len(result), brief=6, indent=tuple(stage.depth for stage in shown))

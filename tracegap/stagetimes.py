"""How long each stage of each step took, and which stages carry a dependence from one step to the next."""

import re

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.kinds import Kind, Role
from tracegap.phases import Phases
from tracegap.stagegraph import StageGraph
from tracegap.timeline import Timeline, Window

OUTSIDE = "outside stages"
"""What is left of a step's span when its stages are taken away."""

_OPTIMISER = re.compile(r"optimi[sz]er", re.IGNORECASE)
_LOADS = re.compile(
    r"dataloader|load|fetch|input|read|decode|preproc|augment|collate|batch|host_?to_?device|h2d|copy_in", re.IGNORECASE
)
"""Names of stages that only bring data in: they may run ahead of the step they feed."""

_MOST_CELLS, _FEW = 4_000_000, 16
"""Times of stages in steps, 8 bytes each, that are weighed at most; but for so few stages in any case."""


def stage_times(timeline: Timeline, window: Window, phases: Phases) -> tuple[list[str], NDArray[np.int64]]:
    """Return the stages in order and int64[steps, stages]: how long the host was in each of them in each step.

    Of very many names those with the most time are stages; the rest are names made of numbers, and each hardly a part of a step.
    """
    chosen = np.array(window.steps)
    place = _step_places(timeline.slices.step[phases.slice], phases, chosen)
    inside = np.flatnonzero(place >= 0)
    place, took = place[inside], (phases.end - phases.start)[inside]
    names, stage = np.unique(phases.name[inside], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    np.add.at(total, stage, took)
    most = np.argsort(-total, kind="stable")[: max(_MOST_CELLS // len(chosen), _FEW)]
    offset = phases.start[inside] - timeline.steps.start[chosen[place]]
    ranked = most[np.lexsort((names[most], _medians(stage, offset, len(names))[most]))]
    column = np.full(len(names), len(ranked))  # the last one, which is cut off, takes the rest
    column[ranked] = np.arange(len(ranked))
    matrix = np.zeros((len(chosen), len(ranked) + 1), np.int64)
    np.add.at(matrix, (place, column[stage]), took)
    matrix = matrix[:, :-1]
    labels = [timeline.names[name] for name in names[ranked].tolist()]
    if np.isin(phases.track, timeline.steps.track).all():
        # with all stages on the step's own thread, what is left of its span is a stage too
        rest = np.maximum(timeline.steps.end[chosen] - timeline.steps.start[chosen] - matrix.sum(axis=1), 0)
        if rest.sum() > 0.01 * window.wall:
            labels.append(OUTSIDE)
            matrix = np.concatenate((matrix, rest[:, None]), axis=1)
    return labels, matrix


def _step_places(step: NDArray[np.int32], phases: Phases, chosen: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the place in `chosen` of the step each phase works for, −1 for none.

    What runs once a step on another thread works for the steps in turn, since a prefetcher runs ahead of the step it feeds.
    """
    place = np.full(len(phases), -1, np.int64)
    known = np.isin(step, chosen)
    place[known] = np.searchsorted(chosen, step[known])
    _, name, count = np.unique(phases.name, return_inverse=True, return_counts=True)
    mine = np.flatnonzero(count[name] == len(chosen))
    mine = mine[np.lexsort((phases.start[mine], name[mine]))]
    place[mine] = np.arange(len(mine)) % len(chosen)
    return place


def _medians(group: NDArray[np.intp], value: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Return the median of each group's values; none is empty."""
    value = value[np.lexsort((value, group))]
    bounds = np.searchsorted(np.sort(group), np.arange(groups + 1))
    first, last = bounds[:-1] + (np.diff(bounds) - 1) // 2, bounds[:-1] + np.diff(bounds) // 2
    return np.asarray((value[first].astype(np.float64) + value[last]) / 2)


def device_times(timeline: Timeline, window: Window) -> NDArray[np.int64] | None:
    """Return how long the devices ran for each of the window's steps: int64[steps]; None where none ran."""
    slices = timeline.slices
    chosen = np.array(window.steps)
    rows = np.flatnonzero(
        slices.runs & (timeline.tracks.role[slices.track] == Role.DEVICE) & np.isin(slices.step, chosen)
    )
    if not len(rows):
        return None
    group, busy = intervals.union_by(np.searchsorted(chosen, slices.step[rows]), slices.start[rows], slices.end[rows])
    total = np.zeros(len(chosen), np.int64)
    np.add.at(total, group, busy.end - busy.start)
    return total


def merge_carried(
    timeline: Timeline,
    phases: Phases,
    graph: StageGraph,
    names: list[str],
    took: NDArray[np.int64],
    device: NDArray[np.int64] | None,
) -> tuple[list[str], NDArray[np.int64], str | None]:
    """Fold the stages between which a dependence is carried from step to step into one, and add the device's time.

    The device works through what the host hands it, so it is a stage of its own behind the others. Where stages are folded,
    its work is theirs: they take what is longer, the host's time or the device's.
    """
    span: tuple[int, int] | None = None
    reason = ""
    slices = timeline.slices
    loads = {timeline.names[name] for name in np.unique(phases.name[slices.kind[phases.slice] == Kind.INPUT]).tolist()}
    updates = [place for place, name in enumerate(names) if _OPTIMISER.search(name)]
    if updates:
        first = next(place for place, name in enumerate(names) if name not in loads and not _LOADS.search(name))
        if first < updates[-1]:
            # what follows the optimiser in a step, logging and all, runs before the next forward too
            span, reason = (first, len(names) - 1), f"{names[updates[-1]]} → the next {names[first]}"
    for later, earlier in graph.across:
        if later in names and earlier in names and names.index(earlier) < names.index(later):
            a, b = names.index(earlier), names.index(later)
            span = (a, b) if span is None else (min(span[0], a), max(span[1], b))
            reason = reason or f"{later} → the next {earlier}"
    if span is None:
        if device is not None:
            names, took = [*names, "device"], np.concatenate((took, device[:, None]), axis=1)
        return names, took, None
    first, last = span
    folded = took[:, first : last + 1].sum(axis=1, keepdims=True)
    if device is not None:
        folded = np.maximum(folded, device[:, None])
    end = last - 1 if names[last] == OUTSIDE else last
    label = f"{names[first]} … {names[end]}" if end > first else names[first]
    return (
        [*names[:first], label, *names[last + 1 :]],
        np.concatenate((took[:, :first], folded, took[:, last + 1 :]), axis=1),
        reason,
    )

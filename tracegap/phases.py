"""The phases that a window is made of: outermost stages of its steps, and what named ranges do on other host threads.

In: a `Timeline` and a `Window`. Out: one table of `Phases`, and the phase each slice works for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64
from tracegap.kinds import Kind, Role
from tracegap.stepping import outermost_elsewhere
from tracegap.timeline import Timeline, Window


@dataclass(frozen=True, eq=False)
class Phases(Columns):
    """One row a phase of a step.

    Attributes
    ----------
    name : int32[k]
        Id into `Timeline.names`.
    slice : int32[k]
        The slice that is the phase.
    track : int32[k]
    start, end : int64[k]
    """

    name: Int32
    slice: Int32
    track: Int32
    start: Int64
    end: Int64


def find_phases(timeline: Timeline, window: Window) -> Phases:
    """Return the outermost stages of the window's steps, and outermost annotations and data loading of other host threads.

    Sorted by (track, start).
    """
    slices, stages, steps = timeline.slices, timeline.stages, timeline.steps
    mine = (stages.parent < 0) & np.isin(stages.step, window.steps)
    rows = stages.slice[mine]
    rows = rows[np.isin(slices.track[rows], steps.track)]
    host = timeline.tracks.role[slices.track] == Role.HOST
    elsewhere = outermost_elsewhere(slices, timeline.tracks, steps)
    elsewhere &= (slices.start < window.end) & (slices.end > window.start)
    if timeline.dialect == "chrome" and len(steps):
        generic = host & ~np.isin(slices.track, steps.track) & (slices.kind == Kind.OP) & (slices.parent < 0)
        elsewhere |= generic & (slices.start < window.end) & (slices.end > window.start)
    rows = np.concatenate((rows, np.flatnonzero(elsewhere).astype(np.int32)))
    rows = rows[np.lexsort((slices.start[rows], slices.track[rows]))]
    return Phases(
        name=slices.name[rows],
        slice=rows,
        track=slices.track[rows],
        start=slices.start[rows],
        end=slices.end[rows],
    )


def phase_of(timeline: Timeline, phases: Phases) -> NDArray[np.int32]:
    """Return the phase each slice starts in on its own thread; device slices have their launch's: int32[n], −1 for none."""
    slices = timeline.slices
    found = np.full(len(slices), -1, np.int32)
    for track in np.unique(phases.track).tolist():
        first, last = np.searchsorted(phases.track, (track, track + 1)).tolist()
        rows = np.arange(timeline.tracks.first[track], timeline.tracks.last[track])
        place = np.searchsorted(phases.start[first:last], slices.start[rows], side="right") - 1
        phase = first + np.maximum(place, 0)
        inside = (place >= 0) & (slices.start[rows] < phases.end[phase])
        found[rows[inside]] = phase[inside]
    launched = slices.launch >= 0
    found[launched] = found[slices.launch[launched]]
    return found

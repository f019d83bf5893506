"""The timeline: slices on tracks, nested, linked and cut into steps. All that later stages know of a trace.

In: `Events` and the dialect's `Marks`. Out: one frozen `Timeline`, times in nanoseconds from the first event.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tracegap import instants, lanes, links, stepping
from tracegap.census import Census
from tracegap.dialects import Device, Marks
from tracegap.errors import FormatError
from tracegap.events import NO_ARGUMENT, NO_TIME, Argument, Events
from tracegap.instants import Instants
from tracegap.kinds import Kind
from tracegap.problems import Problem, Severity, merge
from tracegap.tables import Flows, Slices, Stages, Steps, Tracks
from tracegap.tracks import collect

__all__ = ["Flows", "Slices", "Stages", "Steps", "Timeline", "Tracks", "Window", "build"]


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of time that is analysed, ``[start, end)`` in ns; ``basis`` is ``steps``, ``whole`` or ``user``.

    ``steps`` are the rows of `Steps` inside it.
    """

    start: int
    end: int
    basis: str
    steps: tuple[int, ...] = ()

    @property
    def wall(self) -> int:
        """Length in ns."""
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class Timeline:
    """All that later stages know of a trace. ``origin`` is the file's time of 0, in ns.

    ``args`` are columns over event rows: look them up by ``timeline.arg("stream").at(timeline.slices.event)``.
    ``provider`` is int32[n slices] of ids into `names`, or None where the dialect knows no providers.
    ``file`` says what was read, where that is known, with the keys of the report's ``trace``: source, sha256, bytes, events;
    ``census`` what the file holds.
    """

    slices: Slices
    tracks: Tracks
    devices: tuple[Device, ...]
    flows: Flows
    flow_kinds: tuple[str, ...]
    steps: Steps
    stages: Stages
    names: tuple[str, ...]
    processes: tuple[str, ...]
    dialect: str
    producer: str
    origin: int
    start: int
    end: int
    args: Mapping[str, Argument] = field(default_factory=dict)
    provider: np.ndarray | None = None
    shared_clock: bool = True
    truncated: bool = False
    problems: tuple[Problem, ...] = ()
    file: Mapping[str, object] = field(default_factory=dict)
    instants: Instants = field(default_factory=instants.none)
    census: Census | None = None

    def arg(self, name: str) -> Argument:
        """Return an argument by its name in the file; one that no event has is empty."""
        return self.args.get(name, NO_ARGUMENT)

    def event(self, row: int) -> int | None:
        """Return the event of the file that a slice is, counted from 0; None for the slice −1."""
        return int(self.slices.event[row]) if row >= 0 else None


def build(events: Events, marks: Marks, *, dialect: str, step_name: str | None = None) -> Timeline:
    """Make the timeline of paired `events` as `marks` reads them.

    Parameters
    ----------
    step_name : str, optional
        A regular expression: host slices whose name it finds are the steps, whatever the dialect says.

    Raises
    ------
    FormatError
        When no row is a timed slice.
    UsageError
        When `step_name` is no regular expression, or finds no slice.
    """
    rows = np.flatnonzero((marks.kind != Kind.NONE) & (events.duration >= 0) & (events.start != NO_TIME))
    if not len(rows):
        raise FormatError(_without_slices(events))
    numbering, placed, clock_problems = collect(events, marks, rows.astype(np.int32), step_name=step_name)
    tracks, slices, nest_problems = lanes.place(placed, numbering, events, marks)
    del rows, placed  # a tenth of all memory, of no use any more
    slices, steps = stepping.number(slices, tracks, events, marks, numbering.origin)
    flows, kinds, launch, flow_problems = links.connect(slices, tracks, events, marks, numbering)
    slices, steps, step_problems = stepping.attribute(replace(slices, launch=launch), steps, tracks, marks.strings)
    slices = replace(slices, runs=lanes.runs(slices, tracks))
    stages = stepping.find_stages(slices, tracks, steps, marks.strings, generic=dialect == "chrome")
    good = slices.plausible
    timed = good if good.any() else np.ones(len(slices), bool)
    return Timeline(
        slices=slices,
        tracks=tracks,
        devices=marks.devices,
        flows=flows,
        flow_kinds=kinds,
        steps=steps,
        stages=stages,
        names=marks.strings,
        processes=numbering.processes,
        dialect=dialect,
        producer=marks.producer,
        origin=numbering.origin + events.origin,
        start=int(slices.start[timed].min()),
        end=int(slices.end[timed].max()),
        args=events.args,
        provider=None if marks.provider is None else marks.provider[slices.event],
        shared_clock=numbering.shared_clock,
        truncated=events.truncated,
        instants=instants.collect(events, marks, numbering),
        problems=merge(
            (*events.problems, *marks.problems, *clock_problems, *nest_problems, *flow_problems, *step_problems)
        ),
    )


def _without_slices(events: Events) -> str:
    """Say that there is nothing to analyse, and why if losses explain it."""
    lost = "".join(
        f"; {one.code} × {one.count:,}, first {one.example}" for one in events.problems if one.severity is Severity.LOSS
    )
    what = f"no timed slice: the file holds events ({len(events):,}), but none with a start and a duration"
    return f"{what}{lost}; check what wrote the file, or record again"

"""Why the slowest step is slow: what it has more of than the median one, by cause and operator. Part of the steps analysis."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.charges import Charge, spoken
from tracegap.intervals import Intervals
from tracegap.kinds import CONTEXT, Role
from tracegap.layers import Layer, Share, context_layer, device_layers, divide, host_layer, profiler_layer
from tracegap.report import Column, Table, named
from tracegap.timeline import Timeline
from tracegap.units import Unit, duration


@dataclass(frozen=True, slots=True)
class Part:
    """How much more of the slowest step than of the median one an owner has; less than 0 where it has less."""

    cause: str
    duration_ns: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Slowest:
    """The slowest step against the median one: ``parts`` add up to ``excess_ns``."""

    number: int
    excess_ns: int
    parts: tuple[Part, ...]
    median_number: int

    def sentence(self) -> str:
        """Say it in one sentence."""
        more = [part for part in self.parts if part.duration_ns > 0][:2]
        told = ", ".join(f"+{duration(part.duration_ns)} {_called(part)}" for part in more)
        return (
            f"Step {self.number} is the slowest, {duration(self.excess_ns)} over step {self.median_number},"
            f" the median one: {told}."
        )

    def table(self) -> Table:
        """Tell the parts."""
        shown = self.parts[:20]
        return Table(
            title=f"Step {self.number} less step {self.median_number}",
            columns=(
                Column("cause", Unit.TEXT, tuple(spoken(part.cause) for part in shown)),
                Column("in", Unit.TEXT, tuple(part.name for part in shown)),
                Column("more", Unit.NANOSECONDS, tuple(part.duration_ns for part in shown)),
            ),
            total=len(self.parts),
            brief=0,
        )


def find_slowest(
    timeline: Timeline, rows: NDArray[np.intp], begin: NDArray[np.int64], finish: NDArray[np.int64], clock: str
) -> Slowest | None:
    """Compare the slowest step with the median one; None where fewer than three leave nothing to compare."""
    if len(rows) < 3:
        return None
    order = np.argsort(finish - begin, kind="stable")
    typical, slow = int(order[(len(order) - 1) // 2]), int(order[-1])
    more = _divided(timeline, int(rows[slow]), int(begin[slow]), int(finish[slow]), clock)
    less = _divided(timeline, int(rows[typical]), int(begin[typical]), int(finish[typical]), clock)
    excess = int((finish - begin)[slow] - (finish - begin)[typical])
    if excess <= 0:
        return None
    sums: dict[tuple[Charge, int], int] = {}
    for sign, shares in ((1, more), (-1, less)):
        for share in shares:
            sums[share.cause, share.name] = sums.get((share.cause, share.name), 0) + sign * share.duration
    parts = [
        Part(cause.word, difference, timeline.names[name] if name >= 0 else None)
        for (cause, name), difference in sums.items()
        if difference
    ]
    parts.sort(key=lambda part: (-abs(part.duration_ns), part.cause, part.name or ""))
    numbers = timeline.steps.number
    return Slowest(int(numbers[rows[slow]]), excess, tuple(parts), int(numbers[rows[typical]]))


def _divided(timeline: Timeline, row: int, begin: int, finish: int, clock: str) -> list[Share]:
    """Divide a step among its owners; the shares add up to ``finish - begin``."""
    track = int(timeline.steps.track[row])
    layers = [profiler_layer(timeline, begin, finish)]
    if clock == "device":
        layers += device_layers(timeline, begin, finish, _operator_names(timeline))
    layers.append(host_layer(timeline, track, begin, finish, waiting_device=clock == "device"))
    if clock == "span":
        layers += _other_operators(timeline, track, begin, finish)
    own = context_layer(timeline, track, begin, finish)
    layers += [own.take(own.name >= 0), *_waited_for(timeline, track, begin, finish), own]
    whole = intervals.union(np.array([begin], np.int64), np.array([finish], np.int64))
    shares, rest = divide(whole, layers)
    return [*shares, *_remaining(timeline, row, rest)]


def _remaining(timeline: Timeline, row: int, rest: Intervals) -> list[Share]:
    """Say whose the time in no slice is: the step's thread's inside its steps, else nobody's."""
    steps = timeline.steps
    mine = steps.track == steps.track[row]
    inside = intervals.total(intervals.intersect(rest, intervals.union(steps.start[mine], steps.end[mine])))
    return [
        Share(Charge.UNTRACED_HOST, -1, inside),
        Share(Charge.BETWEEN_STEPS, -1, intervals.total(rest) - inside),
    ]


def _other_operators(timeline: Timeline, track: int, begin: int, finish: int) -> list[Layer]:
    """Say what operators ran on other threads: the backward pass of an autograd thread."""
    return [host_layer(timeline, other, begin, finish) for other in activity.host_tracks(timeline) if other != track]


def _waited_for(timeline: Timeline, track: int, begin: int, finish: int) -> list[Layer]:
    """Say what ranges ran on other threads, as the only record of work there, while the step's thread was in nothing: it waited."""
    slices, tracks = timeline.slices, timeline.tracks
    ranges = slices.runs & np.isin(slices.kind, CONTEXT) & (slices.track != track)
    ranges &= (slices.start < finish) & (slices.end > begin) & (tracks.role[slices.track] == Role.HOST)
    layers = (host_layer(timeline, int(other), begin, finish) for other in np.unique(slices.track[ranges]))
    return [replace(layer, cause=np.full(len(layer), Charge.DEPENDENCY, np.uint8)) for layer in layers]


def _operator_names(timeline: Timeline) -> NDArray[np.int32]:
    """Return for each slice the name of the operator that launched it, else its own."""
    slices = timeline.slices
    operator = activity.operator_of(timeline)
    maker = np.where(slices.launch >= 0, operator[slices.launch], -1)
    names: NDArray[np.int32] = np.where(maker >= 0, slices.name[maker], slices.name).astype(np.int32)
    return names


def _called(part: Part) -> str:
    cause = spoken(part.cause)
    return f"{cause} in {named(part.name)}" if part.name else cause

"""Partitions: runs of consecutive operators on one execution provider, and what it costs to cross between them.

A graph that one provider cannot run whole is cut: data crosses at every cut, and the operators that it refused fall back to
another provider. Part of the overhead analysis.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.intervals import Intervals
from tracegap.kinds import Kind
from tracegap.naming import are
from tracegap.report import Column, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, count, duration

_ASYNCHRONOUS = re.compile(r"cuda|tensorrt|trtrtx|rocm|migraphx|dml|webgpu|gpu:", re.IGNORECASE)
"""Providers whose operators return before their device has done the work."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """An operator that ran on the CPU though an accelerator was there.

    ``cost_ns`` is its time and that of the hand-offs beside it: each hand-off has one owner, the operator that fell back.
    """

    name: str
    count: int
    provider: str
    duration_ns: int
    cost_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Partitions:
    """All runs of the window: ``handoffs`` lie between two runs of one step, ``handoff_ns`` is the time between them.

    ``fallbacks`` is complete, longest first; ``providers`` are those that ran operators, by time. ``outside_ns`` is the time of the
    model's runs in which no accelerator's operator ran, ``copies`` and ``copies_ns`` the nodes that only move data between
    providers, ``one_partition_saves_ns`` what one partition would save at least: the hand-offs and those copies.
    """

    count: int
    handoffs: int
    handoff_ns: int
    fallback_ns: int
    fallbacks: tuple[Fallback, ...]
    providers: tuple[str, ...]
    steps: int
    outside_ns: int | None = None
    copies: int | None = None
    copies_ns: int | None = None
    one_partition_saves_ns: int | None = None

    def sentence(self) -> str:
        """Say it in one sentence."""
        if len(self.providers) == 1:
            return f"All operators ran on {named(self.providers[0])}."
        each = f" ({count(self.count // self.steps)} a step)" if self.steps > 1 and self.count % self.steps == 0 else ""
        fell = f"; {duration(self.fallback_ns)} in operators that fell back to the CPU" if self.fallback_ns else ""
        return (
            f"{count(self.count)} partitions{each} over {' and '.join(map(named, self.providers))}:"
            f" {count(self.handoffs)} hand-offs, {duration(self.handoff_ns)} between them{fell}."
        )

    def payoff(self) -> list[str]:
        """Say what one partition would save."""
        if self.one_partition_saves_ns is None or self.outside_ns is None:
            return []
        copied = f" and {count(self.copies)} copy nodes" if self.copies else ""
        return [
            f"{duration(self.outside_ns)} of the model's runs lie outside accelerators; one partition would save"
            f" {duration(self.one_partition_saves_ns)} at least, the hand-offs{copied}, and of the"
            f" {duration(self.fallback_ns)} that fell back what an accelerator does faster."
        ]

    def dispatching(self) -> list[str]:
        """Say which providers' operators only hand work over to a device that the trace does not show."""
        waiting = [name for name in self.providers if _ASYNCHRONOUS.search(name)]
        if not waiting:
            return []
        told = " and ".join(map(named, waiting))
        return [f"Nodes of {told}: their time is that of handing work over; the trace has no rows of the device."]

    def tables(self) -> list[Table]:
        """Tell the operators that fell back."""
        shown = self.fallbacks[:20]
        if not shown:
            return []
        columns = (
            Column("fell back", Unit.TEXT, tuple(one.name for one in shown)),
            Column("provider", Unit.TEXT, tuple(one.provider for one in shown)),
            Column("count", Unit.COUNT, tuple(one.count for one in shown)),
            Column("time", Unit.NANOSECONDS, tuple(one.duration_ns for one in shown), bar=True),
            Column("with hand-offs", Unit.NANOSECONDS, tuple(one.cost_ns for one in shown)),
        )
        return [Table("Operators that fell back", columns, total=len(self.fallbacks), brief=0)]


def find_partitions(timeline: Timeline, window: Window) -> Partitions | None:
    """Cut the window's operators into runs on one provider; None where the trace names no providers.

    Operators inside another one (of a Loop or If) belong to it. Only threads are looked at, where operators happen one after
    the other; a run ends with its step.
    """
    rows = outer_operators(timeline, window)
    if not len(rows) or timeline.provider is None:
        return None
    slices, names = timeline.slices, timeline.names
    provider = timeline.provider[rows]
    together, crosses = _borders(timeline, rows)
    between = np.maximum(0, slices.start[rows[1:]] - slices.end[rows[:-1]])[crosses]
    used, place = np.unique(provider, return_inverse=True)
    length = np.zeros(len(used), np.int64)
    np.add.at(length, place, slices.end[rows] - slices.start[rows])
    time = {names[one]: spent for one, spent in zip(used.tolist(), length.tolist(), strict=True)}
    slow = _are_cpu(timeline, used)
    mixed = bool(slow.any() and not slow.all())
    fallbacks = _fallbacks(timeline, rows, slow[place], crosses) if mixed else ()
    handoff = int(between.sum())
    copies = _copy_nodes(timeline, rows)
    copied = int((slices.end[copies] - slices.start[copies]).sum())
    return Partitions(
        count=1 + int(np.count_nonzero(~together | crosses)),
        handoffs=int(np.count_nonzero(crosses)),
        handoff_ns=handoff,
        fallback_ns=sum(one.duration_ns for one in fallbacks),
        fallbacks=fallbacks,
        providers=tuple(sorted((names[one] for one in used.tolist()), key=lambda name: (-time[name], name))),
        steps=len(np.unique(slices.step[rows][slices.step[rows] >= 0])),
        outside_ns=_outside(timeline, window, rows[~slow[place]]) if mixed else None,
        copies=len(copies) if mixed else None,
        copies_ns=copied if mixed else None,
        one_partition_saves_ns=handoff + copied if mixed else None,
    )


def outer_operators(timeline: Timeline, window: Window) -> Rows:
    """Return the operators with a provider that stand in no other operator, by thread, step and start."""
    slices, tracks = timeline.slices, timeline.tracks
    if timeline.provider is None:
        return np.empty(0, np.intp)
    inside = (slices.start >= window.start) & (slices.end <= window.end) & slices.plausible
    outer = activity.enclosing_operator(timeline) < 0
    rows = np.flatnonzero(
        inside & outer & (slices.kind == Kind.OP) & (timeline.provider >= 0) & tracks.ordered[slices.track]
    )
    return rows[np.lexsort((slices.start[rows], slices.step[rows], slices.track[rows]))]


def handoffs(timeline: Timeline, window: Window) -> Intervals:
    """Return the time between the last operator of each run and the first of the next in the same step."""
    rows = outer_operators(timeline, window)
    if not len(rows) or timeline.provider is None:
        return intervals.EMPTY
    slices = timeline.slices
    _, crosses = _borders(timeline, rows)
    return intervals.union(slices.end[rows[:-1]][crosses], slices.start[rows[1:]][crosses])


def fallen_back(timeline: Timeline, window: Window) -> Intervals:
    """Return the time in operators that fell back to the CPU, if an accelerator ran others."""
    rows = outer_operators(timeline, window)
    if not len(rows) or timeline.provider is None:
        return intervals.EMPTY
    used, place = np.unique(timeline.provider[rows], return_inverse=True)
    slow = _are_cpu(timeline, used)
    rows = rows[slow[place]] if not slow.all() else rows[:0]
    return intervals.union(timeline.slices.start[rows], timeline.slices.end[rows])


def _borders(timeline: Timeline, rows: Rows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark neighbours of one thread and step, and those of them on different providers."""
    slices = timeline.slices
    assert timeline.provider is not None
    provider = timeline.provider[rows]
    together = (slices.track[rows[1:]] == slices.track[rows[:-1]]) & (slices.step[rows[1:]] == slices.step[rows[:-1]])
    return together, together & (provider[1:] != provider[:-1])


def _fallbacks(
    timeline: Timeline, rows: Rows, slow: NDArray[np.bool_], crosses: NDArray[np.bool_]
) -> tuple[Fallback, ...]:
    """Add up the slow ones of `rows` by name and provider; a hand-off belongs to the slow operator at its edge."""
    slices, names = timeline.slices, timeline.names
    assert timeline.provider is not None
    cost = slices.end[rows] - slices.start[rows]
    between = np.where(crosses, np.maximum(0, slices.start[rows[1:]] - slices.end[rows[:-1]]), 0)
    # Between two slow providers the later operator pays.
    cost[1:] += np.where(slow[1:], between, 0)
    cost[:-1] += np.where(slow[:-1] & ~slow[1:], between, 0)
    rows, cost = rows[slow], cost[slow]
    size = len(names)
    pairs, place = np.unique(slices.name[rows].astype(np.int64) * size + timeline.provider[rows], return_inverse=True)
    counts = np.bincount(place)
    length, whole = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    np.add.at(length, place, slices.end[rows] - slices.start[rows])
    np.add.at(whole, place, cost)
    told = [
        Fallback(
            name=names[pairs[one] // size],
            count=int(counts[one]),
            provider=names[pairs[one] % size],
            duration_ns=int(length[one]),
            cost_ns=int(whole[one]),
        )
        for one in range(len(pairs))
    ]
    return tuple(sorted(told, key=lambda one: (-one.duration_ns, one.name, one.provider)))


def _copy_nodes(timeline: Timeline, rows: Rows) -> Rows:
    """Return the nodes that ONNX Runtime puts in to copy data from one provider to another."""
    operation = timeline.arg("op_name").at(timeline.slices.event[rows])
    copies: Rows = rows[are(timeline.names, operation, lambda name: name in ("MemcpyToHost", "MemcpyFromHost"))]
    return copies


def _outside(timeline: Timeline, window: Window, fast: Rows) -> int:
    """Return the time in the model's runs outside these operators; without runs in the trace, of the steps, else the window."""
    slices = timeline.slices
    runs = [place for place, name in enumerate(timeline.names) if name == "model_run"]
    whole = np.flatnonzero(np.isin(slices.name, runs) & slices.plausible)
    if not len(whole):
        whole = timeline.steps.slice[list(window.steps)].astype(np.intp)
    start, end = slices.start[whole], slices.end[whole]
    if not len(whole):
        start, end = np.array([window.start], np.int64), np.array([window.end], np.int64)
    time = intervals.clip(intervals.union(start, end), window.start, window.end)
    return intervals.total(intervals.subtract(time, intervals.union(slices.start[fast], slices.end[fast])))


def _are_cpu(timeline: Timeline, providers: NDArray[np.int32]) -> NDArray[np.bool_]:
    return np.array(["cpu" in timeline.names[one].lower() for one in providers.tolist()], np.bool_)

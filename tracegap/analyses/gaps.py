"""Gaps: when nothing was running, and what was waiting then.

**What it shows.** For every device how long it ran and how long it was idle in the window, each gap with the slice that ended
just before it and the slice that was waiting behind it, and the gaps that are alike in both, grouped. Beside the devices
stands ``everything``: the time in which neither a device nor a thread of the host ran.

**Why it costs time.** While a device is idle the window passes and nothing gets done on the dearest part of the machine. What
waits behind a gap, and who launched it, says where to look on the host.

**How it is computed.** A device is busy in the union of its plausible compute, communication and copies over all its streams;
annotations and synchronisation rows never count. Its gaps are the rest of the window, so busy and idle add up to the window.
Among slices that end (or start) at the same moment the longest is named. The first gap has no slice before it if it begins
with the window, the last none behind it if it ends with it. A thread that blocks on a device does not run.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.contract import Model
from tracegap.intervals import Intervals
from tracegap.kinds import Kind
from tracegap.report import Column, Section, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, count, duration, ratio

NAME = "gaps"
TITLE = "Where are the gaps?"

TOP = 20
"""How many gaps are told one by one; totals and groups are of all."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice beside a gap: its name, the call that launched it, and the operator that made the call."""

    name: str
    launch: str | None = None
    operator: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Time of a gap that one cause owns."""

    cause: str
    duration_ns: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch in which nothing ran, and its neighbours."""

    start_ns: int
    duration_ns: int
    before: Slice | None = None
    after: Slice | None = None
    exposed_by: Slice | None = None
    parts: tuple[Part, ...] | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """All gaps between slices of the same two names; None is the edge of the window."""

    count: int
    total_ns: int
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Everything:
    """The time in which nothing ran anywhere."""

    idle_ns: int
    idle_ratio: float
    count: int
    top: tuple[Gap, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class DeviceGaps:
    """One device: ``busy_ns + idle_ns == window_ns``; ``count`` gaps, of which ``top`` tells the longest."""

    device: str
    window_ns: int
    busy_ns: int
    idle_ns: int
    idle_ratio: float
    count: int
    top: tuple[Gap, ...]
    groups: tuple[Group, ...]
    causes: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Gaps:
    """Result of the analysis."""

    everything: Everything
    devices: tuple[DeviceGaps, ...]


def run(model: Model) -> Gaps | None:
    """Find the gaps of every device and of the whole; None for an empty window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    near = activity.overlapping(timeline, window.start, window.end)
    return Gaps(_everything(timeline, window, near), tuple(_devices(timeline, window, near)))


def device_busy(timeline: Timeline, window: Window, device: int) -> Intervals:
    """Return when a device ran inside the window."""
    rows = activity.device_rows(timeline, device)
    return intervals.clip(
        intervals.union(timeline.slices.start[rows], timeline.slices.end[rows]), window.start, window.end
    )


def section(result: Gaps) -> Section:
    """Say how idle the devices are and what the gaps lie between."""
    lines = [_sentence(device) for device in result.devices]
    whole = result.everything
    if result.devices:
        lines.append(
            f"Nothing at all ran, on no device and no thread, for {duration(whole.idle_ns)} ({ratio(whole.idle_ratio)})."
        )
    else:
        lines.append(
            f"The trace has no device; no thread ran for {duration(whole.idle_ns)} of the window"
            f" ({ratio(whole.idle_ratio)}), in {_times(whole.count)}."
            if whole.count
            else "The trace has no device; at every moment of the window a thread runs."
        )
    tables = [table for device in result.devices for table in _tables(device.device, device.idle_ns, device)]
    if not result.devices:
        tables = _tables("all threads", whole.idle_ns, whole)
    return Section(NAME, TITLE, tuple(lines), tuple(tables))


def _everything(timeline: Timeline, window: Window, near: NDArray[np.bool_]) -> Everything:
    _, busy = activity.busy_by_track(timeline, window.start, window.end)
    idle = intervals.gaps(intervals.union(busy.start, busy.end), window.start, window.end)
    top, groups = _told(timeline, window, np.flatnonzero(near & timeline.slices.runs), idle)
    length = intervals.total(idle)
    return Everything(length, length / window.wall, len(idle.start), top, groups)


def _devices(timeline: Timeline, window: Window, near: NDArray[np.bool_]) -> list[DeviceGaps]:
    found = []
    for device, about in enumerate(timeline.devices):
        rows = activity.device_rows(timeline, device)
        rows = rows[near[rows]]
        if not len(rows):
            continue
        busy = device_busy(timeline, window, device)
        idle = intervals.gaps(busy, window.start, window.end)
        top, groups = _told(timeline, window, rows, idle)
        length = intervals.total(idle)
        found.append(
            DeviceGaps(
                device=about.label,
                window_ns=window.wall,
                busy_ns=intervals.total(busy),
                idle_ns=length,
                idle_ratio=length / window.wall,
                count=len(idle.start),
                top=top,
                groups=groups,
            )
        )
    return found


def _told(timeline: Timeline, window: Window, rows: Rows, idle: Intervals) -> tuple[tuple[Gap, ...], tuple[Group, ...]]:
    """Return the longest gaps and all groups of gaps; `rows` are the slices that bound them."""
    before = np.where(idle.start > window.start, last_ended(timeline, rows, idle.start), -1)
    after = np.where(idle.end < window.end, first_started(timeline, rows, idle.end), -1)
    length = idle.end - idle.start
    longest = np.lexsort((idle.start, -length))[:TOP]
    top = tuple(
        Gap(
            start_ns=int(idle.start[gap]),
            duration_ns=int(length[gap]),
            before=_slice(timeline, int(before[gap]), launched=False),
            after=_slice(timeline, int(after[gap]), launched=True),
        )
        for gap in longest.tolist()
    )
    return top, _groups(timeline, before, after, length)


def last_ended(timeline: Timeline, rows: Rows, times: NDArray[np.int64]) -> Rows:
    """Return for each of the ascending times which of `rows` ended last by then, the longest of several; −1 where none did."""
    slices = timeline.slices
    return _latest(rows, slices.end[rows], slices.end[rows] - slices.start[rows], times)


def first_started(timeline: Timeline, rows: Rows, times: NDArray[np.int64]) -> Rows:
    """Return for each of the ascending times which of `rows` starts first from then on, the longest of several; −1 if none."""
    slices = timeline.slices
    return _latest(rows, -slices.start[rows], slices.end[rows] - slices.start[rows], -times[::-1])[::-1]


def _latest(rows: Rows, at: NDArray[np.int64], length: NDArray[np.int64], times: NDArray[np.int64]) -> Rows:
    never = np.iinfo(np.int64).min
    latest = np.full(len(times) + 1, never)
    np.maximum.at(latest, np.searchsorted(times, at), at)
    latest = np.maximum.accumulate(latest[:-1])
    near = np.flatnonzero(np.isin(at, latest))  # sorting these few is all that ties need
    order = near[np.lexsort((length[near], at[near]))]
    place = np.searchsorted(at[order], latest, side="right") - 1
    found: Rows = np.where(latest > never, np.append(rows[order], -1)[place], -1)
    return found


def _groups(timeline: Timeline, before: Rows, after: Rows, length: NDArray[np.int64]) -> tuple[Group, ...]:
    name = np.append(timeline.slices.name, np.int32(-2)).astype(np.int64) + 2  # the last place: the edge of the window
    size = len(timeline.names) + 2
    pairs, group = np.unique(name[before] * size + name[after], return_inverse=True)
    first, second = pairs // size - 2, pairs % size - 2
    counts = np.bincount(group, minlength=len(pairs))
    totals = np.zeros(len(pairs), np.int64)
    np.add.at(totals, group, length)
    told = [
        Group(
            count=int(counts[one]),
            total_ns=int(totals[one]),
            before=_name(timeline, int(first[one])),
            after=_name(timeline, int(second[one])),
        )
        for one in range(len(pairs))
    ]
    return tuple(sorted(told, key=lambda group: (-group.total_ns, group.before or "", group.after or "")))


def _name(timeline: Timeline, name: int) -> str | None:
    return None if name == -2 else timeline.names[name] if name >= 0 else ""


def _slice(timeline: Timeline, row: int, *, launched: bool) -> Slice | None:
    if row < 0:
        return None
    slices, names = timeline.slices, timeline.names
    launch = int(slices.launch[row]) if launched else -1
    maker = int(slices.parent[launch]) if launch >= 0 else -1
    while maker >= 0 and slices.kind[maker] != Kind.OP:
        maker = int(slices.parent[maker])
    return Slice(
        name=_name(timeline, int(slices.name[row])) or "",
        launch=names[slices.name[launch]] if launch >= 0 else None,
        operator=names[slices.name[maker]] if maker >= 0 else None,
    )


def _sentence(device: DeviceGaps) -> str:
    idle = f"{device.device} is idle {duration(device.idle_ns)} of {duration(device.window_ns)} ({ratio(device.idle_ratio)})"
    if not device.top:
        return f"{idle}: it has no gap."
    longest = device.top[0]
    return f"{idle} in {_times(device.count)}; the longest is {duration(longest.duration_ns)}{_between(longest.before, longest.after)}."


def _times(number: int) -> str:
    return "one gap" if number == 1 else f"{count(number)} gaps"


def _between(before: Slice | None, after: Slice | None) -> str:
    made = f" ({named(after.operator)})" if after and after.operator else ""
    return (f", after {named(before.name)}" if before else ", first") + (
        f", before {named(after.name)}{made}" if after else ", to the end"
    )


def _tables(where: str, idle: int, told: Everything | DeviceGaps) -> list[Table]:
    if not told.count:
        return []
    shown = told.groups[:TOP]
    groups = Table(
        title=f"Gaps of {where} by what they lie between",
        columns=(
            Column("after", Unit.TEXT, tuple(_edge(one.before, "(start)") for one in shown)),
            Column("before", Unit.TEXT, tuple(_edge(one.after, "(end)") for one in shown)),
            Column("gaps", Unit.COUNT, tuple(one.count for one in shown)),
            Column("idle", Unit.NANOSECONDS, tuple(one.total_ns for one in shown), bar=True),
            Column("of idle", Unit.RATIO, tuple(one.total_ns / idle for one in shown)),
        ),
        total=len(told.groups),
        brief=3,
    )
    longest = Table(
        title=f"Longest gaps of {where}",
        columns=(
            Column("at", Unit.NANOSECONDS, tuple(gap.start_ns for gap in told.top)),
            Column("length", Unit.NANOSECONDS, tuple(gap.duration_ns for gap in told.top), bar=True),
            Column(
                "after", Unit.TEXT, tuple(_edge(gap.before.name if gap.before else None, "(start)") for gap in told.top)
            ),
            Column(
                "before", Unit.TEXT, tuple(_edge(gap.after.name if gap.after else None, "(end)") for gap in told.top)
            ),
            Column("launched by", Unit.TEXT, tuple(_launcher(gap.after) for gap in told.top)),
        ),
        total=told.count,
        brief=0,
    )
    return [groups, longest]


def _edge(name: str | None, edge: str) -> str:
    return edge if name is None else name


def _launcher(after: Slice | None) -> str | None:
    return (after.operator or after.launch) if after else None

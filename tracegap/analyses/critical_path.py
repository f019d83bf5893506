"""Critical path: the longest chain of dependent work, which is as long as the window.

**What it shows.** What the window consists of when one walks back from its end, always to what was waited for last: work of
host and device by name, and the waits between them by cause. Beside each name stands its drag: how much shorter the window
would be if it took no time. Names that take long and are not on the path stand apart, with their slack.

**Why it costs time.** Only what is on the path decides how long the window takes. Making anything else faster, however much
time it takes, changes nothing until its slack is used up.

**How it is computed.** Every start and end in the window depends on others: on what ran before it on its thread or stream, on
the call that launched it, on what a blocking call waited for, on events, arrows, and work handed over between threads. Each
such edge carries the least time it takes. The edge that lets a moment come last binds it, and what remains until the observed
time is a wait with a cause. So the path's parts add up to the window to the nanosecond. Drag is found by replaying the graph
with the name's own work at zero (total drag: with all it holds and launched at zero, too), slack by walking from the end.
Dependencies that no event records (a blocking call known by its name, a thread that wakes right after another's work) are
inferred; the time that lies on such edges is told.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import change, schedule
from tracegap.analyses.contract import Model
from tracegap.charges import WORK, Charge
from tracegap.dag import Dag
from tracegap.kinds import Kind
from tracegap.report import Column, Section, Table, named
from tracegap.segments import Segments
from tracegap.units import Unit, count, duration, ratio

NAME = "critical_path"
TITLE = "What is on the critical path?"

TOP = 20
"""How many names get their drag, and how many off the path are told."""

NEAR = 0.01
"""Share of the window of slack under which a name off the path is nearly critical: a change of that size puts it on the path."""

NOTABLE = 0.01
"""Share of the window that a name must cost before a sentence is spent on it."""

_HOST = (Charge.OPERATOR, Charge.RUNTIME, Charge.INPUT, Charge.ALLOCATOR)
_DEVICE = (Charge.KERNEL, Charge.COMMUNICATION, Charge.COPY)
_RANGE = Kind.ANNOTATION.name.lower()


@dataclass(frozen=True, slots=True)
class Part:
    """Time of the path that one cause owns."""

    cause: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Named:
    """Work of a name on the path; ``drag_ns`` and ``total_drag_ns`` are known of the longest."""

    name: str
    kind: str
    count: int
    duration_ns: int
    ratio: float
    drag_ns: int | None = None
    total_drag_ns: int | None = None


@dataclass(frozen=True, slots=True)
class OffPath:
    """A name with much work and none of it on the path; ``slack_ns`` is the least of its slices'."""

    name: str
    duration_ns: int
    slack_ns: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the path; ``kind`` is that of the slice that worked or waited."""

    start_ns: int
    duration_ns: int
    name: str
    kind: str
    cause: str
    track: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Result: ``length_ns`` is the window's wall time, and ``work_ns + wait_ns``."""

    length_ns: int
    work_ns: int
    wait_ns: int
    carried_in_ns: int
    inferred_ns: int
    by_cause: tuple[Part, ...]
    by_name: tuple[Named, ...]
    off_path: tuple[OffPath, ...]
    segments: tuple[Segment, ...] | None = None


def run(model: Model) -> CriticalPath | None:
    """Find the path and what follows from it; None for an empty window."""
    dag = model.dag
    if dag.window.wall <= 0:
        return None
    found = model.path
    length = found.end - found.start
    works = np.isin(found.charge, WORK)
    names = _by_name(dag, found, works)
    return CriticalPath(
        length_ns=int(length.sum()),
        work_ns=int(length[works].sum()),
        wait_ns=int(length[~works].sum()),
        carried_in_ns=int(length[found.carried].sum()),
        inferred_ns=int(length[dag.inferred[found.edge]].sum()),
        by_cause=_by_cause(found, length),
        by_name=names,
        off_path=_off_path(dag, {one.name for one in names}),
        segments=_told(dag, found) if model.full else None,
    )


def _by_cause(found: Segments, length: NDArray[np.int64]) -> tuple[Part, ...]:
    sums = np.zeros(len(Charge), np.int64)
    np.add.at(sums, found.charge, length)
    parts = [Part(charge.word, int(sums[charge])) for charge in Charge if sums[charge]]
    return tuple(sorted(parts, key=lambda part: -part.duration_ns))


def _by_name(dag: Dag, found: Segments, works: NDArray[np.bool_]) -> tuple[Named, ...]:
    slices, wall = dag.timeline.slices, dag.window.wall
    rows = found.slice[works]
    key = slices.name[rows].astype(np.int64) * 256 + slices.kind[rows]
    groups, place = np.unique(key, return_inverse=True)
    total = np.zeros(len(groups), np.int64)
    np.add.at(total, place, (found.end - found.start)[works])
    _, first = np.unique(rows, return_index=True)
    counts = np.bincount(place[first], minlength=len(groups))
    longest = np.lexsort((groups, -total))
    top = [int(groups[at] // 256) for at in longest[:TOP].tolist()]
    once = list(dict.fromkeys(top))
    drag, total_drag = (dict(zip(once, saved, strict=True)) for saved in change.drags(dag, once))
    return tuple(
        Named(
            name=_text(dag, int(groups[at] // 256)),
            kind=Kind(int(groups[at] % 256)).name.lower(),
            count=int(counts[at]),
            duration_ns=int(total[at]),
            ratio=int(total[at]) / wall,
            drag_ns=drag.get(int(groups[at] // 256)) if rank < TOP else None,
            total_drag_ns=total_drag.get(int(groups[at] // 256)) if rank < TOP else None,
        )
        for rank, at in enumerate(longest.tolist())
    )


def _off_path(dag: Dag, on_path: set[str]) -> tuple[OffPath, ...]:
    """Return the names with most work of their own that is not on the path, each with its least slack."""
    slices = dag.timeline.slices
    slack = schedule.slack(dag.plan, dag.graph, dag.binding, dag.end)
    ends = dag.graph.nodes[(dag.graph.nodes < dag.source) & (dag.graph.nodes % 2 == 1)]
    rows = ends >> 1
    names, place = np.unique(slices.name[rows], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    np.add.at(total, place, np.where(slices.kind[rows] == Kind.SYNC, 0, slices.self_time[rows]))
    least = np.full(len(names), dag.window.wall)
    np.minimum.at(least, place, slack[ends])
    told: list[OffPath] = []
    for at in np.lexsort((names, -total)).tolist():
        name = _text(dag, int(names[at]))
        if len(told) == TOP or not total[at]:
            break
        if name not in on_path and least[at] > 0:
            told.append(OffPath(name, int(total[at]), int(least[at])))
    return tuple(told)


def _told(dag: Dag, found: Segments) -> tuple[Segment, ...]:
    slices = dag.timeline.slices
    none = found.slice < 0
    name = np.where(none, -1, slices.name[found.slice])
    kind = np.where(none, Kind.NONE, slices.kind[found.slice])
    track = np.where(none, 0, slices.track[found.slice])
    columns = (found.start, found.end - found.start, name, kind, found.charge, track)
    return tuple(
        Segment(start, length, _text(dag, text), Kind(sort).name.lower(), Charge(charge).word, row)
        for start, length, text, sort, charge, row in zip(*(column.tolist() for column in columns), strict=True)
    )


def _text(dag: Dag, name: int) -> str:
    return dag.timeline.names[name] if name >= 0 else ""


def section(result: CriticalPath) -> Section:
    """Say what the path consists of, what would shorten it and what would not."""
    by_cause = {part.cause: part.duration_ns for part in result.by_cause}
    host, device = (sum(by_cause.get(charge.word, 0) for charge in charges) for charges in (_HOST, _DEVICE))
    parts = (("host work", host), ("device work", device), ("waits", result.wait_ns))
    told = (f"{what} {duration(time)} ({ratio(time / result.length_ns)})" for what, time in parts if time)
    lines = [f"{duration(result.length_ns)} = {' + '.join(told)}."]
    best = max(result.by_name, key=lambda one: one.drag_ns or 0, default=None)
    if best is not None and (best.drag_ns or 0) >= NOTABLE * result.length_ns:
        lines.append(
            f"Without the own work of {named(best.name)} the window would be {duration(best.drag_ns or 0)} shorter"
            f" ({ratio((best.drag_ns or 0) / result.length_ns)}); it is on the path for {duration(best.duration_ns)}."
        )
    lines += _beside(result)
    return Section(NAME, TITLE, tuple(lines), _tables(result), tuple(_notes(result)), label="path")


def _beside(result: CriticalPath) -> list[str]:
    """Say what looks expensive off the path, and what is nearly on it."""
    large = [one for one in result.off_path if one.duration_ns >= NOTABLE * result.length_ns]
    far = [one for one in large if one.slack_ns >= NEAR * result.length_ns]
    near = [one for one in large if one.slack_ns < NEAR * result.length_ns]
    lines = []
    if far:
        lines.append(
            f"Off the path: {named(far[0].name)} takes {duration(far[0].duration_ns)} and has at least"
            f" {duration(far[0].slack_ns)} slack; making it faster changes nothing."
        )
    if near:
        lines.append(
            f"Nearly on the path: {named(near[0].name)}, {duration(near[0].duration_ns)} with"
            f" {duration(near[0].slack_ns)} slack."
        )
    return lines


def _causes(result: CriticalPath) -> list[Part]:
    """Return the causes in words, and work of ranges that hold no operator apart from that of operators."""
    ranges = sum(one.duration_ns for one in result.by_name if one.kind == _RANGE)
    parts = []
    for part in result.by_cause:
        if part.cause == Charge.OPERATOR.word:
            parts.append(Part("operator", part.duration_ns - ranges))
            parts.append(Part("range without operators", ranges))
        else:
            parts.append(Part(part.cause.replace("_", " "), part.duration_ns))
    return sorted((part for part in parts if part.duration_ns), key=lambda part: -part.duration_ns)


def _tables(result: CriticalPath) -> tuple[Table, ...]:
    causes, names, off = _causes(result), result.by_name[:TOP], result.off_path
    whole = result.length_ns
    tables = [
        Table(
            "The path by cause",
            (
                Column("cause", Unit.TEXT, tuple(part.cause for part in causes)),
                Column("time", Unit.NANOSECONDS, tuple(part.duration_ns for part in causes), bar=True),
                Column("of the window", Unit.RATIO, tuple(part.duration_ns / whole for part in causes)),
            ),
        ),
        Table(
            "Work on the path by name",
            (
                Column("name", Unit.TEXT, tuple(one.name for one in names)),
                Column("count", Unit.COUNT, tuple(one.count for one in names)),
                Column("time", Unit.NANOSECONDS, tuple(one.duration_ns for one in names)),
                Column("of the window", Unit.RATIO, tuple(one.ratio for one in names)),
                Column("drag", Unit.NANOSECONDS, tuple(one.drag_ns for one in names)),
                Column("total drag", Unit.NANOSECONDS, tuple(one.total_drag_ns for one in names)),
            ),
            total=len(result.by_name),
            keep=3,
        ),
    ]
    if off:
        tables.append(
            Table(
                "Work off the path",
                (
                    Column("name", Unit.TEXT, tuple(one.name for one in off)),
                    Column("time", Unit.NANOSECONDS, tuple(one.duration_ns for one in off)),
                    Column("slack", Unit.NANOSECONDS, tuple(one.slack_ns for one in off)),
                ),
                brief=2,
            )
        )
    return tuple(tables)


def _notes(result: CriticalPath) -> list[str]:
    notes = []
    if result.inferred_ns:
        notes.append(
            f"{duration(result.inferred_ns)} of the path ({ratio(result.inferred_ns / result.length_ns)}) lie on dependencies"
            " that are inferred, not recorded."
        )
    if result.carried_in_ns:
        notes.append(f"{duration(result.carried_in_ns)} of the path are work that began before the window.")
    if len(result.by_name) > TOP:
        notes.append(f"Drag is known of the top {TOP} of {count(len(result.by_name))} names.")
    return notes

"""Overhead: what no operator profile shows, because it belongs to no operator.

**What it shows.** The sum of the operators' times, the union of them, the wall clock, and the difference, on the host and on the
devices; the host's difference by cause; operators by name; runs of operators on one provider, and what crossing between them costs.

**Why it costs time.** A table of operators can add up to half of the wall clock and still look complete. What is missing is
Python between operators, API calls, waiting, loading of data, and the framework around its own nodes.

**How it is computed.** An operator's time is its slice less the operators inside it; API calls inside count to it. The union is taken
over all threads, so overhead = wall − union, which is wall − sum where no two operators overlap; concurrency is sum / union.
Each moment in no operator goes to the first that applies of: profiler, sync, input, allocator, runtime, outside the executor,
in the executor but in no node, between steps, untraced host; what is left is unattributed. Untraced time is named by the innermost
annotation or frame that its thread was in: a range without operators is work in none of them, which the critical path counts as work. On the devices the parts are the causes of the gaps in which none of them runs (see gaps).
The parts add up to the overhead.
What reaches over the window's edge is clipped. ``self_ns`` is an operator's time less everything inside it, API calls too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.contract import Model
from tracegap.analyses.first_run import FirstRun, find_first_run
from tracegap.analyses.gaps import idle_causes
from tracegap.analyses.partitions import Partitions, find_partitions
from tracegap.analyses.steps import clocks, is_first_apart, median
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.kinds import Kind
from tracegap.report import Column, Section, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, duration, ratio

NAME = "overhead"
TITLE = "What belongs to no operator"

TRUSTED = 0.1
"""How far the traced time may be from the clean one before the profiler is what is being studied."""
NAMED = 3
"""Ranges that a sentence names."""
TOLD = 0.05
"""Share of the window from which the path's time in no operator is told apart from the overhead."""
COST_OF_RECORDING = (1_000, 10_000)
"""ns that recording an operator costs, least and most."""


@dataclass(frozen=True, slots=True)
class Part:
    """Overhead that one cause owns."""

    cause: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Range:
    """Untraced host time in an annotation or frame, the innermost on its thread; without a name where it was in none."""

    duration_ns: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """The host, or all devices together: ``overhead_ns = wall_ns − union_ns``, and the parts add up to it.

    ``untraced`` divides the part of ``untraced_host`` by the ranges that the threads were in meanwhile.
    """

    operator_sum_ns: int
    union_ns: int
    wall_ns: int
    overhead_ns: int
    overhead_ratio: float
    concurrency: float | None = None
    parts: tuple[Part, ...] | None = None
    untraced: tuple[Range, ...] | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """All calls of an operator: ``operator_ns`` less inner operators, ``self_ns`` less all inside, ``total_ns`` whole.

    ``runtime_ns`` and ``sync_ns`` are the API calls in ``operator_ns``; ``device_ns`` is device time it launched itself.
    """

    name: str
    count: int
    operator_ns: int
    self_ns: int
    total_ns: int
    device_ns: int | None = None
    runtime_ns: int | None = None
    sync_ns: int | None = None


@dataclass(frozen=True, slots=True)
class WallClock:
    """The traced time of a step against the clean one; ``ratio`` is traced / clean."""

    clean_ns: int
    traced_ns: int
    ratio: float
    trustworthy: bool


@dataclass(frozen=True, slots=True)
class Overhead:
    """Result of the analysis."""

    host: Side | None
    device: Side | None
    operators: tuple[Operator, ...]
    partitions: Partitions | None = None
    first_run: FirstRun | None = None
    wall_clock: WallClock | None = None
    elsewhere_ns: int | None = None
    """Time in which the critical path is in no slice of its thread, and operators run on other threads: no overhead."""


def run(model: Model) -> Overhead | None:
    """Weigh operators against the wall clock; None where neither operators nor a device are in the window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    rows = _operator_rows(timeline, window)
    devices = activity.device_rows(timeline)
    devices = devices[activity.overlapping(timeline, window.start, window.end)[devices]]
    if not len(rows) and not len(devices):
        return None
    return Overhead(
        host=_host(timeline, window, rows) if len(rows) else None,
        device=_device(model, devices) if len(devices) else None,
        operators=tuple(_operators(timeline, window, rows, devices)),
        partitions=find_partitions(timeline, window),
        first_run=find_first_run(model),
        wall_clock=_wall_clock(model),
        elsewhere_ns=_elsewhere(model) if len(rows) and not len(devices) else None,
    )


def _elsewhere(model: Model) -> int:
    path = model.path
    untraced = path.charge == Charge.UNTRACED_HOST
    alone = in_no_operator(model.timeline, model.window)
    start, end = path.start[untraced], path.end[untraced]
    return int((end - start - (intervals.covered(alone, end) - intervals.covered(alone, start))).sum())


def in_no_operator(timeline: Timeline, window: Window) -> Intervals:
    """Return the time of the window in which no thread was in an operator."""
    rows = _operator_rows(timeline, window)
    busy = intervals.union(timeline.slices.start[rows], timeline.slices.end[rows])
    return intervals.gaps(busy, window.start, window.end)


def parts_of(timeline: Timeline, window: Window, time: Intervals) -> tuple[Part, ...]:
    """Divide time in no operator among its causes, in the order of precedence; the parts add up to it."""
    parts = []
    for cause, owned in claims(timeline, window):
        left = intervals.subtract(time, owned)
        parts.append(Part(cause.word, intervals.total(time) - intervals.total(left)))
        time = left
    parts.append(Part(Charge.UNATTRIBUTED.word, intervals.total(time)))
    return tuple(sorted((part for part in parts if part.duration_ns), key=lambda part: -part.duration_ns))


def _untraced(timeline: Timeline, window: Window, time: Intervals) -> tuple[Range, ...]:
    """Divide the untraced part of time in no operator among the ranges in which it passed, the longest first."""
    for cause, owned in claims(timeline, window):
        if cause == Charge.UNTRACED_HOST:
            time = intervals.subtract(time, intervals.subtract(time, owned))
            break
        time = intervals.subtract(time, owned)
    else:
        return ()
    layers = []
    for track in activity.host_tracks(timeline):
        work = activity.host_layer(timeline, track, window.start, window.end)
        # ranges that are the only record of work
        layers.append(work.take(work.cause == Charge.UNTRACED_HOST))
        layers.append(activity.context_layer(timeline, track, window.start, window.end))
    shares, rest = activity.divide(time, layers)
    sums = {-1: intervals.total(rest)}
    for share in shares:
        sums[share.name] = sums.get(share.name, 0) + share.duration
    told = [Range(length, timeline.names[name] if name >= 0 else None) for name, length in sums.items() if length]
    return tuple(sorted(told, key=lambda one: (-one.duration_ns, one.name or "")))


def claims(timeline: Timeline, window: Window) -> Iterator[tuple[Charge, Intervals]]:
    """Yield the time that each cause of host overhead may claim, first come first served."""
    slices, steps = timeline.slices, timeline.steps
    near = activity.overlapping(timeline, window.start, window.end)
    leading = np.isin(slices.track, activity.host_tracks(timeline))
    allocating = (slices.kind == Kind.RUNTIME) & activity.is_allocator(timeline)[slices.name]

    def of(marked: NDArray[np.bool_]) -> Intervals:
        return intervals.union(slices.start[near & marked], slices.end[near & marked])

    yield Charge.PROFILER, of(slices.kind == Kind.PROFILER)
    yield Charge.SYNC, of(leading & (slices.kind == Kind.SYNC))
    yield Charge.INPUT, of(leading & (slices.kind == Kind.INPUT))
    yield Charge.ALLOCATOR, of(leading & allocating)
    yield Charge.RUNTIME, of(leading & (slices.kind == Kind.RUNTIME))
    whole = intervals.union(np.array([window.start], np.int64), np.array([window.end], np.int64))
    spans = intervals.union(steps.start, steps.end)
    execute = _are_named(timeline, "Executor::Execute")
    if execute.any():
        inside = of(execute[slices.name])
        runs = _are_named(
            timeline, "model_run"
        )  # not always the step: the program may have frames of its own around it
        yield Charge.OUTSIDE_EXECUTE, intervals.subtract(of(runs[slices.name]) if runs.any() else spans, inside)
        yield Charge.IN_EXECUTE, inside
    if len(steps):
        yield Charge.BETWEEN_STEPS, intervals.subtract(whole, spans)
    elif not _has_threads(timeline):
        return
    yield Charge.UNTRACED_HOST, intervals.subtract(whole, of(leading & (slices.kind == Kind.OTHER)))


def _are_named(timeline: Timeline, ending: str) -> NDArray[np.bool_]:
    """Mark the names of ONNX Runtime's executors or runs: bool[n names + 1]."""
    spoken = timeline.dialect == "onnxruntime"
    marks = [spoken and name.endswith(ending) for name in timeline.names]
    return np.array([*marks, False], np.bool_)


def is_executor(timeline: Timeline) -> NDArray[np.bool_]:
    """Mark the names of what runs nodes and is no work of its own, in ONNX Runtime: bool[n names + 1]."""
    marks: NDArray[np.bool_] = _are_named(timeline, "Executor::Execute") | _are_named(timeline, "model_run")
    return marks


def _has_threads(timeline: Timeline) -> bool:
    """Whether operators stand on threads; on packed rows nothing tells what a thread did between two of them."""
    tracks = timeline.tracks
    return any(bool(tracks.ordered[track]) for track in activity.host_tracks(timeline))


def _operator_rows(timeline: Timeline, window: Window) -> Rows:
    near = activity.overlapping(timeline, window.start, window.end)
    return np.flatnonzero(near & (timeline.slices.kind == Kind.OP))


def _host(timeline: Timeline, window: Window, rows: Rows) -> Side:
    slices = timeline.slices
    above = activity.enclosing_operator(timeline)[rows]
    roots = rows[above < 0]
    length = np.minimum(slices.end[roots], window.end) - np.maximum(slices.start[roots], window.start)
    idle = in_no_operator(timeline, window)
    side = _made(int(length.sum()), window.wall - intervals.total(idle), window, parts_of(timeline, window, idle))
    return replace(side, untraced=_untraced(timeline, window, idle) or None)


def _device(model: Model, rows: Rows) -> Side:
    """Weigh all devices together; the parts of their overhead are the causes of the gaps in which none of them runs."""
    slices, window = model.timeline.slices, model.window
    start, end = np.maximum(slices.start[rows], window.start), np.minimum(slices.end[rows], window.end)
    busy = intervals.union(start, end)
    causes = idle_causes(model, rows, intervals.gaps(busy, window.start, window.end))
    parts = tuple(Part(cause, time) for cause, time in causes.items())
    return _made(int((end - start).sum()), intervals.total(busy), window, parts)


def _made(operator_sum: int, union: int, window: Window, parts: tuple[Part, ...] | None) -> Side:
    overhead = window.wall - union
    return Side(
        operator_sum_ns=operator_sum,
        union_ns=union,
        wall_ns=window.wall,
        overhead_ns=overhead,
        overhead_ratio=overhead / window.wall,
        concurrency=operator_sum / union if union else None,
        parts=parts,
    )


def _operators(timeline: Timeline, window: Window, rows: Rows, devices: Rows) -> list[Operator]:
    slices = timeline.slices
    names = len(timeline.names) + 1  # the last place: no name
    whole = np.maximum(0, np.minimum(slices.end, window.end) - np.maximum(slices.start, window.start))
    own = whole.copy()
    inner = np.flatnonzero(slices.parent >= 0)
    np.subtract.at(own, slices.parent[inner], whole[inner])
    around = activity.operator_of(timeline)

    def by_name(owner: NDArray[np.int32], length: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(names, np.int64)
        known = owner >= 0
        np.add.at(sums, slices.name[owner[known]], length[known])
        return sums

    def inside(kind: Kind) -> NDArray[np.int64]:
        of_kind = slices.kind == kind
        return by_name(around[of_kind], own[of_kind])

    counts = np.bincount(np.where(slices.name[rows] >= 0, slices.name[rows], names - 1), minlength=names)
    self_time, total = by_name(rows.astype(np.int32), own[rows]), by_name(rows.astype(np.int32), whole[rows])
    operator, runtime, sync = by_name(around, own), inside(Kind.RUNTIME), inside(Kind.SYNC)
    launch = slices.launch[devices]
    device = by_name(np.where(launch >= 0, around[launch], -1).astype(np.int32), whole[devices])
    told = [
        Operator(
            name=timeline.names[name] if name < names - 1 else "",
            count=int(counts[name]),
            operator_ns=int(operator[name]),
            self_ns=int(self_time[name]),
            total_ns=int(total[name]),
            device_ns=int(device[name]) if len(devices) else None,
            runtime_ns=int(runtime[name]) or None,
            sync_ns=int(sync[name]) or None,
        )
        for name in np.flatnonzero(counts).tolist()
    ]
    return sorted(told, key=lambda one: (-one.operator_ns, one.name))


def _wall_clock(model: Model) -> WallClock | None:
    clean = model.wall_clock_ns
    if clean is None or clean <= 0:
        return None
    rows = np.array(model.window.steps, np.intp)
    traced = model.window.wall
    if len(rows):
        _, begin, finish = clocks(model.timeline, rows)
        time = finish - begin
        traced = median(time[1:] if is_first_apart(time) else time)
    return WallClock(clean, traced, traced / clean, abs(traced - clean) <= TRUSTED * clean)


def section(result: Overhead) -> Section:
    """Say how much of the wall clock is in no operator, and whose it is."""
    lines, notes, tables = [], [], []
    if result.wall_clock is not None:
        lines.append(_against_clean(result.wall_clock))
    first = result.first_run
    asked = first is not None and first.target_ns is not None
    if first is not None and asked:
        lines.append(first.sentence())
    if result.host is not None:
        lines.append(_sentence("Operators", "in none of them", result.host))
        if result.elsewhere_ns is not None and result.elsewhere_ns >= TOLD * result.host.wall_ns:
            lines.append(
                f"The critical path is in no operator for {duration(result.elsewhere_ns)} more, in which operators run on"
                " other threads."
            )
        tables.append(_parts_table("Host time in no operator, by cause", result.host, brief=4))
    if result.device is not None:
        lines.append(_sentence("Device work", "with no device at work", result.device))
        if result.device.parts:
            tables.append(_parts_table("Time with no device at work, by cause", result.device, brief=0))
    if result.partitions is not None:
        lines += [result.partitions.sentence(), *result.partitions.payoff()]
        tables += result.partitions.tables()
        if result.device is None:
            notes += result.partitions.dispatching()
    if first is not None and not asked:
        lines.append(first.sentence())
    if result.operators:
        tables.append(_operators_table(result))
        if result.wall_clock is None:
            least, most = (cost * sum(one.count for one in result.operators) for cost in COST_OF_RECORDING)
            notes.append(
                f"Recording an operator costs 1 to 10 µs: about {duration(least)} to {duration(most)} of this window may be"
                " the profiler's. --wall-clock MS compares with the time without it."
            )
    if result.host is not None and any(part.cause == Charge.UNATTRIBUTED.word for part in result.host.parts or ()):
        notes.append("Unattributed: the trace records neither a step nor a thread that could own this time.")
    return Section(NAME, TITLE, tuple(lines), tuple(tables), tuple(notes))


def _sentence(what: str, rest: str, side: Side) -> str:
    overlap, where = "", _ranges(side)
    if side.concurrency is not None and side.operator_sum_ns != side.union_ns:
        overlap = f" ({side.concurrency:.2f} at a time where any runs, {duration(side.union_ns)} in all)"
    return (
        f"{what}: {duration(side.operator_sum_ns)}{overlap}, and {duration(side.overhead_ns)} of {duration(side.wall_ns)}"
        f" ({ratio(side.overhead_ratio)}) {rest}{f'; most of it in {where}' if where else ''}."
    )


def _against_clean(clock: WallClock) -> str:
    both = f"traced {duration(clock.traced_ns)}, without the profiler {duration(clock.clean_ns)} ({clock.ratio:.2f} ×)"
    if clock.trustworthy:
        return f"The trace can be trusted: {both}."
    return f"The profiler is being studied, not the program: {both}, more than 10 % apart."


def _parts_table(title: str, side: Side, *, brief: int) -> Table:
    parts = side.parts or ()
    columns = [
        Column("cause", Unit.TEXT, tuple(part.cause.replace("_", " ") for part in parts)),
        Column("time", Unit.NANOSECONDS, tuple(part.duration_ns for part in parts), bar=True),
        Column("of window", Unit.RATIO, tuple(part.duration_ns / side.wall_ns for part in parts)),
    ]
    first = _named(side)[:1]
    if first:
        untraced = Charge.UNTRACED_HOST.word
        columns.append(
            Column("most in", Unit.TEXT, tuple(first[0].name if part.cause == untraced else "" for part in parts))
        )
    return Table(title=title, columns=tuple(columns), total=len(parts), brief=brief)


def _ranges(side: Side) -> str:
    """Name the ranges that have most of the time in no operator."""
    large = [one for one in _named(side)[:NAMED] if one.duration_ns >= 0.1 * side.overhead_ns]
    return ", ".join(f"{named(one.name or '')} {duration(one.duration_ns)}" for one in large)


def _named(side: Side) -> list[Range]:
    return [one for one in side.untraced or () if one.name is not None]


def _operators_table(result: Overhead) -> Table:
    shown = result.operators[:20]
    wall = result.host.wall_ns if result.host else 0
    columns = [
        Column("operator", Unit.TEXT, tuple(one.name for one in shown)),
        Column("count", Unit.COUNT, tuple(one.count for one in shown)),
        Column("time", Unit.NANOSECONDS, tuple(one.operator_ns for one in shown), bar=True),
        Column("of window", Unit.RATIO, tuple(one.operator_ns / wall if wall else None for one in shown)),
        Column("self", Unit.NANOSECONDS, tuple(one.self_ns for one in shown)),
        Column("total", Unit.NANOSECONDS, tuple(one.total_ns for one in shown)),
    ]
    if result.device is not None:
        columns.append(Column("device", Unit.NANOSECONDS, tuple(one.device_ns for one in shown)))
    return Table("Operators by their own time on the host", tuple(columns), total=len(result.operators), brief=0)

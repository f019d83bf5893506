"""Serialisation: what takes the sum of its parts where it could take the maximum.

**What it shows.** The resources of the window (the step's thread, data loading on other threads, every device's compute, copies
and communication) and the stages of a step, pair by pair: the sum of both, the longer one, the time in either and the time in
both. For each pair whether one needs the other. Then what pipelining the stages across steps would give, how much
communication and copying no compute hides, and, where the trace has a data graph, how much could run in parallel.

**Why it costs time.** Three steps of 0.5 s loading and 0.2 s computing take 2.1 s one after the other and 1.7 s when the next
batch is loaded while this one is computed. A timeline in which two resources never overlap pays for both.

**How it is computed.** Times are unions of what runs, inside the window. Two stages are `dependent` if the stage graph, made of
recorded edges only (launches, synchronisation, events, flows, data), has a path between them within a step; `independent` if it
has none although the trace records its data flow; else `unknown`: order on a thread alone proves nothing. The prediction takes
each stage's measured time in each step: ``finish[i][s] = max(finish[i][s − 1], finish[i − 1][s]) + d[i][s]``. Stages from the
first that is no data loading to the optimiser count as one, since the next forward needs the updated weights. Of a device's
time compute owns what it overlaps, then communication, then copies: compute + exposed communication + exposed copies + idle
is the window.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.analyses.contract import Model
from tracegap.datagraph import Parallelism, parallelism
from tracegap.intervals import Intervals
from tracegap.kinds import Kind, Role
from tracegap.phases import Phases, find_phases
from tracegap.pipelining import predict
from tracegap.report import Column, Section, Table, named
from tracegap.stagegraph import StageGraph, stage_graph
from tracegap.stagetimes import device_times, merge_carried, stage_times
from tracegap.units import Unit, duration, ratio

NAME = "serialisation"
TITLE = "What is serialised that could be concurrent?"

MOST = 12
"""Stages that are compared pair by pair: the longest ones; twelve make 66 pairs."""

NOTABLE = 0.01
"""Share of the window that two stages must cost by never overlapping before a sentence is spent on them."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that can run: ``busy_ns`` is the union of what ran on it in the window."""

    name: str
    busy_ns: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two resources or stages: ``union_ns == sum_ns − overlap_ns``; ``relation`` is dependent, independent or unknown."""

    a: str
    b: str
    sum_ns: int
    max_ns: int
    union_ns: int
    overlap_ns: int
    relation: str
    evidence: str


@dataclass(frozen=True, slots=True)
class StageTime:
    """A stage as the prediction takes it: several that depend on each other across steps are one."""

    name: str
    median_ns: int


@dataclass(frozen=True, slots=True)
class Pipelining:
    """What pipelining the stages across the window's steps would give."""

    stages: tuple[StageTime, ...]
    measured_wall_ns: int
    predicted_wall_ns: int
    steady_step_ns: int
    bottleneck: str
    blocked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Exposed:
    """Device time of communication and copies that nothing hides, of ``comm_total_ns`` and ``copy_total_ns`` in all."""

    compute_ns: int
    comm_ns: int
    copy_ns: int
    idle_ns: int
    comm_total_ns: int
    copy_total_ns: int


@dataclass(frozen=True, slots=True)
class Alone:
    """How long one side ran while the other did not."""

    host_only_ns: int
    device_only_ns: int
    both_ns: int


@dataclass(frozen=True, slots=True)
class Serialisation:
    """Result of the analysis."""

    resources: tuple[Resource, ...]
    pairs: tuple[Pair, ...]
    pipelining: Pipelining | None = None
    exposed: Exposed | None = None
    alone: Alone | None = None
    parallelism: Parallelism | None = None


def run(model: Model) -> Serialisation | None:
    """Compare resources and stages; None for an empty window."""
    if model.window.wall <= 0:
        return None
    resources = dict(_resources(model))
    phases = find_phases(model.timeline, model.window)
    stages = _stages(model, phases)
    links = stage_graph(model.dag, phases)
    pairs = [_pair(model, a, b, resources, *_between_resources(a, b)) for a, b in combinations(resources, 2)]
    pairs += [_pair(model, a, b, stages, *links.relation(a, b)) for a, b in combinations(stages, 2)]
    return Serialisation(
        resources=tuple(Resource(name, intervals.total(busy)) for name, busy in resources.items()),
        pairs=tuple(pairs),
        pipelining=_pipelining(model, phases, links),
        exposed=_exposed(model),
        alone=_alone(model),
        parallelism=parallelism(model.timeline, model.window),
    )


def section(result: Serialisation) -> Section:
    """Say what never overlaps, what pipelining gives and what is exposed."""
    lines = [*_pipelining_lines(result), *_exposed_lines(result), *_parallel_lines(result)]
    if not lines and not result.pairs:
        lines.append("Nothing to compare: the window has no device, and no step with two stages.")
    tables = [_pair_table(result.pairs)] if result.pairs else []
    notes = []
    if result.pipelining is not None and result.pipelining.blocked_by is not None:
        notes.append("Which stages carry a dependence from step to step is inferred from their names and order.")
    if any(pair.relation == "unknown" for pair in result.pairs):
        notes.append("unknown: no recorded dependence joins the two, but the trace does not record all of them.")
    return Section(NAME, TITLE, tuple(lines), tuple(tables), tuple(notes), label="serial")


def _pipelining_lines(result: Serialisation) -> Iterator[str]:
    found = result.pipelining
    if found is None:
        return
    names = {stage.name for stage in found.stages}
    apart = [
        pair
        for pair in result.pairs
        if {pair.a, pair.b} <= names and not pair.overlap_ns and pair.relation != "dependent"
    ]
    worth = [pair for pair in apart if pair.sum_ns - pair.max_ns >= NOTABLE * found.measured_wall_ns]
    for pair in sorted(worth, key=lambda pair: pair.max_ns - pair.sum_ns)[:2]:
        yield (
            f"{named(pair.a)} and {named(pair.b)} never overlap: {duration(pair.sum_ns)} in turn, side by side"
            f" {duration(pair.max_ns)}."
        )
    change = found.predicted_wall_ns / found.measured_wall_ns - 1
    steady = f"{duration(found.steady_step_ns)} a step once it is full, set by {named(found.bottleneck)}"
    if change < -0.005:
        yield (
            f"Pipelined across steps the window takes {duration(found.predicted_wall_ns)} instead of"
            f" {duration(found.measured_wall_ns)} (−{ratio(-change)}): {steady}."
        )
    else:
        yield f"Pipelining the stages gains nothing more; the longest is {named(found.bottleneck)}, {duration(found.steady_step_ns)} a step."


def _exposed_lines(result: Serialisation) -> Iterator[str]:
    found = result.exposed
    if found is None:
        return
    parts = [
        f"{what} exposed {duration(exposed)} of {duration(whole)} ({ratio(exposed / whole)})"
        for what, exposed, whole in (
            ("communication", found.comm_ns, found.comm_total_ns),
            ("copies", found.copy_ns, found.copy_total_ns),
        )
        if whole
    ]
    yield "; ".join(parts).capitalize() + "." if parts else "No communication and no copies on the device."
    alone = result.alone
    if alone is not None:
        yield (
            f"Host and device ran together {duration(alone.both_ns)}, the host alone {duration(alone.host_only_ns)},"
            f" the device alone {duration(alone.device_only_ns)}."
        )


def _parallel_lines(result: Serialisation) -> Iterator[str]:
    found = result.parallelism
    if found is None or not found.span_ns:
        return
    yield (
        f"The data graph holds {duration(found.work_ns)} of work and its longest path {duration(found.span_ns)}:"
        f" {found.work_ns / found.span_ns:.1f} operators could run side by side on average."
    )
    if found.serial:
        pair = found.serial[0]
        others = len(found.serial) - 1
        more = f"; so did {others} more {'pair' if others == 1 else 'pairs'}" if others else ""
        yield (
            f"{named(pair.first)} and {named(pair.second)} ran in turn although neither needs the other:"
            f" {duration(pair.saving_ns)}{more}."
        )


def _pair_table(pairs: Sequence[Pair]) -> Table:
    rows = sorted(pairs, key=lambda pair: pair.max_ns - pair.union_ns)
    columns = (
        Column("a", Unit.TEXT, tuple(pair.a for pair in rows)),
        Column("b", Unit.TEXT, tuple(pair.b for pair in rows)),
        Column("sum", Unit.NANOSECONDS, tuple(pair.sum_ns for pair in rows)),
        Column("longer", Unit.NANOSECONDS, tuple(pair.max_ns for pair in rows)),
        Column("either", Unit.NANOSECONDS, tuple(pair.union_ns for pair in rows)),
        Column("both", Unit.NANOSECONDS, tuple(pair.overlap_ns for pair in rows)),
        Column("relation", Unit.TEXT, tuple(pair.relation for pair in rows)),
        Column("evidence", Unit.TEXT, tuple(pair.evidence for pair in rows)),
    )
    return Table("Resources and stages, pair by pair", columns, brief=4)


# ── resources and stages ────────────────────────────────────────────────────────────────────────────────────────────────


def _clipped(model: Model, rows: NDArray[np.intp]) -> Intervals:
    slices, window = model.timeline.slices, model.window
    return intervals.clip(intervals.union(slices.start[rows], slices.end[rows]), window.start, window.end)


def _resources(model: Model) -> Iterator[tuple[str, Intervals]]:
    """Return what can run, with when it ran in the window; those that never ran are left out."""
    timeline = model.timeline
    slices, tracks = timeline.slices, timeline.tracks
    role = tracks.role[slices.track]
    main = np.isin(slices.track, timeline.steps.track)
    if not len(timeline.steps):
        work = np.bincount(slices.track[slices.runs & (role == Role.HOST)], minlength=len(tracks))
        main = (slices.track == int(np.argmax(work))) & (role == Role.HOST)
    candidates: list[tuple[str, NDArray[np.bool_]]] = [
        ("host main", main & slices.runs),
        ("input workers", ~main & slices.runs & (role == Role.HOST) & (slices.kind == Kind.INPUT)),
        ("other host threads", ~main & slices.runs & (role == Role.HOST) & (slices.kind != Kind.INPUT)),
    ]
    for number, device in enumerate(timeline.devices):
        on = slices.runs & (tracks.device[slices.track] == number)
        for kind, what in ((Kind.KERNEL, "compute"), (Kind.COMM, "communication"), (Kind.COPY, "copies")):
            candidates.append((f"{device.label} {what}", on & (slices.kind == kind)))
    for name, mask in candidates:
        busy = _clipped(model, np.flatnonzero(mask))
        if len(busy.start):
            yield name, busy


def _stages(model: Model, phases: Phases) -> dict[str, Intervals]:
    """Return when each of the longest stages was under way in the window."""
    names = np.unique(phases.name)
    spans = {
        model.timeline.names[name]: _clipped(model, phases.slice[phases.name == name].astype(np.intp))
        for name in names.tolist()
    }
    longest = sorted(spans, key=lambda name: (-intervals.total(spans[name]), name))[:MOST]
    return {name: spans[name] for name in longest}


def _pair(model: Model, a: str, b: str, busy: Mapping[str, Intervals], relation: str, evidence: str) -> Pair:
    first, second = intervals.total(busy[a]), intervals.total(busy[b])
    both = intervals.total(intervals.intersect(busy[a], busy[b]))
    return Pair(
        a=a,
        b=b,
        sum_ns=first + second,
        max_ns=max(first, second),
        union_ns=first + second - both,
        overlap_ns=both,
        relation=relation,
        evidence=evidence,
    )


def _between_resources(a: str, b: str) -> tuple[str, str]:
    return "unknown", "only work on resources depends on other work"


# ── pipelining across steps ─────────────────────────────────────────────────────────────────────────────────────────────


def _pipelining(model: Model, phases: Phases, links: StageGraph) -> Pipelining | None:
    """Predict the wall time of the window's steps with their stages pipelined; None with under two stages or steps."""
    steps = model.window.steps
    if len(steps) < 2:
        return None
    names, took = stage_times(model.timeline, model.window, phases)
    if len(names) < 2:
        return None
    names, took, blocked_by = merge_carried(
        model.timeline, phases, links, names, took, device_times(model.timeline, model.window)
    )
    found = predict(took)
    return Pipelining(
        stages=tuple(
            StageTime(name, int(value)) for name, value in zip(names, np.median(took, axis=0).tolist(), strict=True)
        ),
        measured_wall_ns=model.window.wall,
        predicted_wall_ns=found.wall,
        steady_step_ns=found.steady,
        bottleneck=names[found.bottleneck],
        blocked_by=blocked_by,
    )


# ── devices ─────────────────────────────────────────────────────────────────────────────────────────────


def _exposed(model: Model) -> Exposed | None:
    slices, tracks = model.timeline.slices, model.timeline.tracks
    on_device = slices.runs & (tracks.role[slices.track] == Role.DEVICE)
    if not on_device.any():
        return None
    compute, comm, copies = (
        _clipped(model, np.flatnonzero(on_device & (slices.kind == kind)))
        for kind in (Kind.KERNEL, Kind.COMM, Kind.COPY)
    )
    bare_comm = intervals.subtract(comm, compute)
    bare_copies = intervals.subtract(intervals.subtract(copies, compute), comm)
    parts = [intervals.total(part) for part in (compute, bare_comm, bare_copies)]
    return Exposed(
        compute_ns=parts[0],
        comm_ns=parts[1],
        copy_ns=parts[2],
        idle_ns=model.window.wall - sum(parts),
        comm_total_ns=intervals.total(comm),
        copy_total_ns=intervals.total(copies),
    )


def _alone(model: Model) -> Alone | None:
    slices, tracks = model.timeline.slices, model.timeline.tracks
    role = tracks.role[slices.track]
    host = _clipped(model, np.flatnonzero(slices.runs & (role == Role.HOST)))
    device = _clipped(model, np.flatnonzero(slices.runs & (role == Role.DEVICE)))
    if not len(device.start):
        return None
    both = intervals.total(intervals.intersect(host, device))
    return Alone(intervals.total(host) - both, intervals.total(device) - both, both)

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

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals
from tracegap.activity import covered
from tracegap.analyses.contract import Model
from tracegap.analyses.serial_results import Alone, Exposed, Pair, Pipelining, Resource, Serialisation, StageTime
from tracegap.analyses.serial_words import LABEL, TITLE, section
from tracegap.datagraph import parallelism
from tracegap.intervals import Intervals
from tracegap.kinds import Kind, Role
from tracegap.layers import DEVICE_PRECEDENCE
from tracegap.phases import Phases, find_phases
from tracegap.pipelining import predict
from tracegap.stagegraph import StageGraph, stage_graph
from tracegap.stagetimes import device_times, merge_carried, stage_times

__all__ = ["LABEL", "NAME", "TITLE", "Serialisation", "run", "section"]

NAME = "serialisation"

MOST = 12
"""Stages, and resources, that are compared pair by pair: those with most time; twelve make 66 pairs."""

_RESOURCES = "unknown", "only work on resources depends on other work"
"""Relation of any two resources, and why."""


def run(model: Model) -> Serialisation | None:
    """Compare resources and stages; None for an empty window."""
    if model.window.wall <= 0:
        return None
    resources = dict(_resources(model))
    phases = find_phases(model.timeline, model.window)
    stages = _stages(model, phases)
    links = stage_graph(model.dag, phases)
    busiest = sorted(resources, key=lambda name: -intervals.total(resources[name]))[:MOST]
    pairs = [_pair(a, b, resources, *_RESOURCES) for a, b in combinations(filter(busiest.__contains__, resources), 2)]
    pairs += [_pair(a, b, stages, *links.relation(a, b)) for a, b in combinations(stages, 2)]
    return Serialisation(
        resources=tuple(Resource(name, intervals.total(busy)) for name, busy in resources.items()),
        pairs=tuple(pairs),
        pipelining=_pipelining(model, phases, links),
        exposed=_exposed(model),
        alone=_alone(model),
        parallelism=parallelism(model.timeline, model.window),
    )


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
        busy = covered(timeline, mask, model.window)
        if len(busy.start):
            yield name, busy


def _stages(model: Model, phases: Phases) -> dict[str, Intervals]:
    """Return when each of the stages with the most time was under way in the window."""
    names, place = np.unique(phases.name, return_inverse=True)
    total = np.zeros(len(names), np.int64)
    np.add.at(total, place, phases.end - phases.start)
    return {
        model.timeline.names[names[one]]: covered(model.timeline, phases.slice[place == one], model.window)
        for one in np.lexsort((names, -total))[:MOST].tolist()
    }


def _pair(a: str, b: str, busy: Mapping[str, Intervals], relation: str, evidence: str) -> Pair:
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


def _exposed(model: Model) -> Exposed | None:
    slices, tracks = model.timeline.slices, model.timeline.tracks
    on_device = slices.runs & (tracks.role[slices.track] == Role.DEVICE)
    if not on_device.any():
        return None
    compute, comm, copies = (
        covered(model.timeline, on_device & (slices.kind == kind), model.window) for kind in DEVICE_PRECEDENCE
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
    host = covered(model.timeline, slices.runs & (role == Role.HOST), model.window)
    device = covered(model.timeline, slices.runs & (role == Role.DEVICE), model.window)
    if not len(device.start):
        return None
    both = intervals.total(intervals.intersect(host, device))
    return Alone(intervals.total(host) - both, intervals.total(device) - both, both)

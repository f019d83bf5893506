"""What might be a finding: its cost on the critical path, the change that would avoid it, and how to say it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import intervals, segments
from tracegap.analyses.candidate import Candidate, share_of
from tracegap.analyses.contract import Model
from tracegap.analyses.gap_words import blame
from tracegap.analyses.gaps import DeviceGaps, Gaps, called_operator, device_number, idle_devices
from tracegap.analyses.host_candidates import largest_work, serial_stages
from tracegap.analyses.ledger import Ledger, blocking, has_device
from tracegap.analyses.overhead_results import Overhead
from tracegap.analyses.partitions import Partitions
from tracegap.analyses.payoff import Change, Gone
from tracegap.analyses.plain_candidates import IDLE_CAUSES, PLAIN
from tracegap.analyses.steps import Steps
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.report import named
from tracegap.units import count, duration

_HIDDEN = ("input", "outside-executor")
"""Owners of time that pipelining would hide."""

_UNTRACED = (Charge.UNTRACED_HOST,)


def candidates(
    model: Model,
    results: Mapping[str, Any],
    ledger: Ledger,
    waits: Intervals,
    *,
    least: int,
    alone: bool,
    taken: NDArray[np.bool_],
) -> list[Candidate]:
    """Return what owns at least `least` ns of the path, and what would shorten it otherwise.

    Parameters
    ----------
    waits : Intervals
        When the path waits for operators of other threads: calls are no work then.
    alone : bool
        Whether no analysis has found anything of work: then the largest piece of it may be named, as it may beside a device.
    taken : bool[n slices]
        Slices that the analyses' own findings are about.
    """
    costs = {code: cost for code, cost in ledger.costs().items() if cost >= least or code == "sync"}
    if is_unmarked(model):
        costs.pop("untraced-host", None)
    found = [*_owned(model, results, ledger, costs)]
    beside_device = has_device(model)
    if not beside_device:
        found += serial_stages(results, least) if costs.keys().isdisjoint(_HIDDEN) else []
    if alone or beside_device:
        found += largest_work(model, ledger, waits, taken)
    return found


def is_unmarked(model: Model) -> bool:
    """Whether neither steps nor a known profiler tell what a thread in no slice does: it may wait for messages."""
    return not model.window.steps and model.timeline.dialect == "chrome" and not has_device(model)


def _owned(model: Model, results: Mapping[str, Any], ledger: Ledger, costs: Mapping[str, int]) -> Iterator[Candidate]:
    wall = model.window.wall
    device = busiest_device(results)
    spans = dict(ledger.spans)
    spans.pop("first-step", None)
    between = segments.between_steps(model.dag)
    for code, cost in costs.items():
        share = share_of(cost, wall)
        match code:
            case "first-step":
                yield _first_step(results, cost)
            case "sync":
                yield _sync(model, ledger, device, cost)
            case "provider-fallback" | "partition-handoffs":
                yield _partition(results["overhead"], ledger, code, cost, share)
            case "outside-executor" | "between-nodes":
                others = [span for other, span in spans.items() if other.startswith("partition")]
                change = Gone(_UNTRACED, within=spans[code], outside=_joined(others))
                yield replace(PLAIN[code], cost=cost, lead=f"{PLAIN[code].lead} {share}", change=change)
            case "between-steps":
                change = Gone(_UNTRACED, within=between)
                yield replace(PLAIN[code], cost=cost, lead=f"{PLAIN[code].lead} {share}", change=change)
            case "untraced-host":
                change = Gone(_UNTRACED, outside=_joined([between, *spans.values()]))
                yield _untraced(model, results, device, cost, change)
            case "launch-overhead":
                yield _held_up(PLAIN[code], device, cost, wall, less=_long_work(model, ledger, device))
            case _:
                yield _held_up(PLAIN[code], device, cost, wall)


def _held_up(one: Candidate, device: DeviceGaps | None, cost: int, wall: int, *, less: int = 0) -> Candidate:
    """Say it of the device, where that was idle for it; its gaps have one cause at a time, so that such costs add up to them.

    `less` ns of that are not its.
    """
    idle = sum(device.causes.get(cause, 0) for cause in IDLE_CAUSES.get(one.code, ())) if device is not None else 0
    idle -= less
    if device is None or idle <= 0:
        return replace(one, cost=cost, lead=f"{one.lead} {share_of(cost, wall)}")
    return replace(one, cost=idle, lead=f"{one.title} holds {device.device} up for {share_of(idle, wall)}")


def _long_work(model: Model, ledger: Ledger, device: DeviceGaps | None) -> int:
    """Return the time, ns, in which the device is idle for want of work while the path is at host work that is no dispatch."""
    if device is None:
        return 0
    path = ledger.path
    long = (ledger.owner == 0) & np.isin(path.charge, (Charge.OPERATOR, Charge.RUNTIME))
    if not long.any():
        return 0
    number = device_number(model.timeline, device)
    pieces = next(one.pieces for one in idle_devices(model) if one.device == number)
    mine = np.isin(pieces.charge, [Charge[cause.upper()] for cause in IDLE_CAUSES["launch-overhead"]])
    idle = intervals.union(pieces.start[mine], pieces.end[mine])
    return int((intervals.covered(idle, path.end[long]) - intervals.covered(idle, path.start[long])).sum())


def _joined(sets: list[Intervals]) -> Intervals:
    empty = intervals.EMPTY
    return intervals.union(
        np.concatenate([one.start for one in [empty, *sets]]), np.concatenate([one.end for one in [empty, *sets]])
    )


def busiest_device(results: Mapping[str, Any]) -> DeviceGaps | None:
    """Return the gaps of the device that runs most of the window; None where there is none."""
    gaps: Gaps | None = results.get("gaps")
    return max(gaps.devices, key=lambda one: one.busy_ns, default=None) if gaps is not None else None


def _untraced(
    model: Model, results: Mapping[str, Any], device: DeviceGaps | None, cost: int, change: Change
) -> Candidate:
    wall = model.window.wall
    if device is not None:
        title = PLAIN["untraced-host"].title if model.timeline.dialect == "pytorch" else "Time between operators"
        one = _held_up(replace(PLAIN["untraced-host"], title=title, change=change), device, cost, wall)
        most = next((one for one in device.by_name if one.cause == "untraced_host"), None)
        where = f", most of it in {named(most.name)}" if most is not None and most.name is not None else ""
        return replace(one, lead=f"{one.lead}{where}")
    lead = (
        "The step's thread is in no operator for" if model.window.steps else "On the critical path no operator runs for"
    )
    weighed: Overhead | None = results.get("overhead")
    host = weighed.host if weighed is not None else None
    longest = host.untraced[0] if host is not None and host.untraced else None
    where = ""
    if longest is not None and longest.name is not None and longest.duration_ns >= cost // 2:
        where = f", most of it in {named(longest.name)}"
    return replace(
        PLAIN["untraced-host"],
        title="Time in no operator",
        cost=cost,
        lead=f"{lead} {share_of(cost, wall)}{where}",
        action="see what runs there, and compile it",
        change=change,
    )


def _sync(model: Model, ledger: Ledger, device: DeviceGaps | None, cost: int) -> Candidate:
    row, calls = blocking(model, ledger)
    timeline = model.timeline
    where = device.device if device is not None else "the device"
    often = "once" if calls == 1 else f"{count(calls)} times"
    operator, told = called_operator(timeline, row), timeline.names[timeline.slices.name[row]]
    behind = [one.total_ns for one in device.exposed if (one.name, one.operator) == (told, operator)] if device else []
    idle = f", then idle for {duration(sum(behind))}" if sum(behind) else ""
    return Candidate(
        code="sync",
        title="Blocking calls",
        cost=cost,
        lead=f"{blame(told, operator)} waits {often} until {where} has nothing left to do{idle}",
        without="without that",
        action="read values later, or every few steps",
        evidence="gaps by what exposed them",
        row=row,
    )


def _first_step(results: Mapping[str, Any], cost: int) -> Candidate:
    steps: Steps = results["steps"]
    excess = steps.first_ns - steps.median_ns
    return Candidate(
        code="first-step",
        title="The first step",
        cost=cost,
        lead=f"The first step takes {duration(steps.first_ns)}, {duration(excess)} more than the median of the others",
        without="like the others,",
        action="warm up before measuring and before serving",
        evidence=f"step {steps.items[0].number}",
        saving=excess,
    )


def _partition(weighed: Overhead, ledger: Ledger, code: str, cost: int, share: str) -> Candidate:
    split = weighed.partitions
    if split is None:
        raise ValueError(f"{code} owns time, but there are no partitions")
    if code == "partition-handoffs":
        return Candidate(
            code=code,
            title="Hand-offs between providers",
            cost=cost,
            lead=f"{count(split.handoffs)} hand-offs between {_providers(split)} take {share}",
            without="without them",
            action="replace the operators between",
            evidence="partitions in the overhead section",
            change=Gone(_UNTRACED, within=ledger.spans[code]),
        )
    first = split.fallbacks[0]
    return Candidate(
        code=code,
        title="Operators on the CPU",
        cost=cost,
        lead=f"{_operators(len(split.fallbacks))} fell back to the CPU, for {share}, most of it {named(first.name)}",
        without="without that",
        action="rewrite them for the accelerator",
        evidence="partitions in the overhead section",
        change=Gone((Charge.OPERATOR,), within=ledger.spans[code]),
    )


def _providers(split: Partitions) -> str:
    return " and ".join(named(one.removesuffix("ExecutionProvider")) for one in split.providers)


def _operators(number: int) -> str:
    return "1 operator" if number == 1 else f"{count(number)} operators"

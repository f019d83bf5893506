"""What might be a finding: its cost on the critical path, the change that would avoid it, and how to say it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tracegap import intervals, segments
from tracegap.analyses import host_causes
from tracegap.analyses.contract import Model
from tracegap.analyses.gap_tables import blame
from tracegap.analyses.gaps import DeviceGaps, Gaps, called_operator
from tracegap.analyses.ledger import Ledger, blocking, has_device
from tracegap.analyses.overhead_results import Overhead
from tracegap.analyses.partitions import Partitions
from tracegap.analyses.payoff import Change, Gone, Halved
from tracegap.analyses.serialisation import Serialisation
from tracegap.analyses.steps import Steps
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.report import Finding, named
from tracegap.stagetimes import OUTSIDE
from tracegap.units import count, duration, ratio

LARGE = 0.2
"""Share of the path from which one piece of host work is worth naming."""
_HIDDEN = ("input", "outside-executor")
"""Owners of time that pipelining would hide."""

_UNTRACED = (Charge.UNTRACED_HOST,)

_IDLE: Mapping[str, tuple[str, ...]] = {
    "input": ("input",),
    "allocation": ("allocator",),
    "untraced-host": ("untraced_host",),
    "launch-overhead": ("dispatch", "runtime", "launch"),
}
"""Causes of a device's gaps that are a finding's: it holds the device up for that long at least."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finding without its payoff.

    ``lead`` says the cost, ``without`` what the replay changed, ``action`` what to do;
    ``change`` is what the replay changes, and ``saving`` the payoff where that needs no replay. ``holds`` is how long a device was
    idle for the same reason, and at all: it is held up for what the replay saves between the two. ``where`` ends the lead.
    """

    code: str
    title: str
    cost: int
    lead: str
    without: str
    action: str
    evidence: str
    change: Change | None = None
    saving: int | None = None
    holds: tuple[int, int] | None = None
    where: str = ""

    def finding(self, wall: int, saved: int | None) -> Finding:
        """Say it, with what a replay says that it saves of `wall` ns."""
        saving = saved if self.saving is None else self.saving
        payoff, cost, lead = "", self.cost, self.lead
        if self.holds is not None:
            least, most = self.holds
            cost = min(cost, max(least, min(saving or 0, most)))
            lead = f"{lead} {_share(cost, wall)}{self.where}"
        if saving is not None:
            payoff = f"; {self.without} the window takes {duration(wall - saving)} (−{ratio(saving / wall)})"
        return Finding(
            code=self.code,
            title=self.title,
            text=f"{lead}{payoff}: {self.action}.",
            cost_ns=cost,
            evidence=self.evidence,
            saving_ns=saving,
        )


def candidates(
    model: Model, results: Mapping[str, Any], ledger: Ledger, waits: Intervals, *, least: int, alone: bool
) -> list[Candidate]:
    """Return what owns at least `least` ns of the path, and what would shorten it otherwise.

    Parameters
    ----------
    waits : Intervals
        When the path waits for operators of other threads: calls are no work then.
    alone : bool
        Whether no analysis has found anything of work: then the largest piece of it may be named.
    """
    costs = {code: cost for code, cost in ledger.costs().items() if cost >= least or code == "sync"}
    if is_unmarked(model):
        costs.pop("untraced-host", None)
    found = [*_owned(model, results, ledger, costs)]
    if not has_device(model):
        found += _serial(results, least) if costs.keys().isdisjoint(_HIDDEN) else []
        found += _largest(model, ledger, waits) if alone else []
    return found


def is_unmarked(model: Model) -> bool:
    """Whether neither steps nor a known profiler tell what a thread in no slice does: it may wait for messages."""
    return not model.window.steps and model.timeline.dialect == "chrome" and not has_device(model)


def _share(cost: int, wall: int) -> str:
    return f"{duration(cost)} ({ratio(cost / wall)} of the window)"


def _owned(model: Model, results: Mapping[str, Any], ledger: Ledger, costs: Mapping[str, int]) -> Iterator[Candidate]:
    wall = model.window.wall
    device = busiest_device(results)
    spans = dict(ledger.spans)
    spans.pop("first-step", None)
    between = segments.between_steps(model.dag)
    for code, cost in costs.items():
        share = _share(cost, wall)
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
                yield replace(_PLAIN[code], cost=cost, lead=f"{_PLAIN[code].lead} {share}", change=change)
            case "between-steps":
                change = Gone(_UNTRACED, within=between)
                yield replace(_PLAIN[code], cost=cost, lead=f"{_PLAIN[code].lead} {share}", change=change)
            case "untraced-host":
                change = Gone(_UNTRACED, outside=_joined([between, *spans.values()]))
                yield _untraced(model, results, device, cost, change)
            case _:
                yield _held_up(_PLAIN[code], device, cost, wall)


def _held_up(one: Candidate, device: DeviceGaps | None, cost: int, wall: int) -> Candidate:
    """Say it of the device, where there is one: for no longer than it was idle."""
    if device is None or one.code not in _IDLE:
        return replace(one, cost=cost, lead=f"{one.lead} {_share(cost, wall)}")
    idle = sum(device.causes.get(cause, 0) for cause in _IDLE[one.code])
    return replace(one, cost=cost, lead=f"{one.title} holds {device.device} up for", holds=(idle, device.idle_ns))


def _joined(sets: list[Intervals]) -> Intervals:
    empty = intervals.EMPTY
    return intervals.union(
        np.concatenate([one.start for one in [empty, *sets]]), np.concatenate([one.end for one in [empty, *sets]])
    )


PLAIN_CHANGES: Mapping[str, Change] = {"input": Gone((Charge.INPUT,)), "allocation": Gone((Charge.ALLOCATOR,))}
"""Changes of what often stands behind a blocking call."""


def _plain(code: str, title: str, lead: str, action: str, *, without: str = "without it", **more: Any) -> Candidate:
    return Candidate(code, title, 0, lead, without, action, "critical path by cause", **more)


_PLAIN = {
    one.code: one
    for one in (
        _plain(
            "input",
            "Loading of input",
            "Loading of input holds the step up for",
            "use workers and prefetch",
            without="hidden,",
            change=PLAIN_CHANGES["input"],
        ),
        _plain(
            "allocation",
            "Allocating and freeing memory",
            "Memory is allocated and freed for",
            "reuse buffers",
            change=PLAIN_CHANGES["allocation"],
        ),
        _plain(
            "launch-overhead",
            "Handing out work call by call",
            "Operators, API calls and launches take",
            "capture the step in a graph or compile it",
            without="if that took no time",
            change=Gone((Charge.OPERATOR, Charge.RUNTIME, Charge.LAUNCH), dispatch=True),
        ),
        _plain(
            "exposed-communication",
            "Exposed communication",
            "No computing hides communication for",
            "overlap it, or send less",
            without="hidden,",
            change=Gone((Charge.COMMUNICATION,)),
        ),
        _plain(
            "exposed-copies",
            "Exposed copies",
            "Nothing hides copies for",
            "copy ahead of time, from pinned memory",
            without="hidden,",
            change=Gone((Charge.COPY,)),
        ),
        _plain(
            "thread-handover",
            "Threads that wake each other",
            "Waiting for another thread to wake takes",
            "hand work over less often",
            change=Gone((Charge.DEPENDENCY,)),
        ),
        _plain(
            "between-steps",
            "Time between the steps",
            "Outside the steps pass",
            "look at what the loop does between them",
        ),
        _plain(
            "outside-executor",
            "Outside the executor",
            "The session's runs are outside the executor for",
            "bind inputs and outputs once",
        ),
        _plain(
            "between-nodes",
            "In the executor, in no node",
            "The executor is in no node for",
            "fuse small nodes",
        ),
        _plain(
            "untraced-host",
            "Python between operators",
            "",
            "capture or compile the step",
        ),
    )
}


def busiest_device(results: Mapping[str, Any]) -> DeviceGaps | None:
    """Return the gaps of the device that runs most of the window; None where there is none."""
    gaps: Gaps | None = results.get("gaps")
    return max(gaps.devices, key=lambda one: one.busy_ns, default=None) if gaps is not None else None


def _untraced(
    model: Model, results: Mapping[str, Any], device: DeviceGaps | None, cost: int, change: Change
) -> Candidate:
    wall = model.window.wall
    if device is not None:
        title = _PLAIN["untraced-host"].title if model.timeline.dialect == "pytorch" else "Time between operators"
        one = _held_up(replace(_PLAIN["untraced-host"], title=title, change=change), device, cost, wall)
        most = next((one for one in device.by_name if one.cause == "untraced_host"), None)
        where = f", most of it in {named(most.name)}" if most is not None and most.name is not None else ""
        return replace(one, where=where)
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
        _PLAIN["untraced-host"],
        title="Time in no operator",
        cost=cost,
        lead=f"{lead} {_share(cost, wall)}{where}",
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


def _serial(results: Mapping[str, Any], least: int) -> Iterator[Candidate]:
    """Yield what pipelining stages gives, where nothing else owns the time that it would hide."""
    found: Serialisation | None = results.get("serialisation")
    pipelining = found.pipelining if found is not None else None
    if pipelining is None:
        return
    saving = pipelining.measured_wall_ns - pipelining.predicted_wall_ns
    steps: Steps | None = results.get("steps")
    others = sorted(
        (one for one in pipelining.stages if one.name != pipelining.bottleneck), key=lambda one: -one.median_ns
    )
    # The rest of what pipelining gives is time in no stage, which is another finding's.
    hidden = sum(one.median_ns for one in others) * (steps.count if steps is not None else 0)
    if min(saving, hidden) < least:
        return
    pair = [one.name for one in pipelining.stages if one.name in (pipelining.bottleneck, others[0].name)]
    yield Candidate(
        code="serial-stages",
        title="Stages one after the other",
        cost=saving,
        lead=f"{' and '.join(map(_stage, pair))} take turns",
        without=f"pipelined across steps, at the pace of {_stage(pipelining.bottleneck)},",
        action="let one run ahead of the other",
        evidence="pipelining in the serialisation section",
        saving=saving,
    )


def _stage(name: str) -> str:
    return "the rest of the step" if name == OUTSIDE else named(name)


def _largest(model: Model, ledger: Ledger, waits: Intervals) -> Iterator[Candidate]:
    path, slices, wall = ledger.path, model.timeline.slices, model.window.wall
    works = (path.charge == Charge.OPERATOR) & (path.slice >= 0) & (ledger.owner == 0)
    works &= ~host_causes.is_executor(model.timeline)[slices.name[path.slice]]
    names, place = np.unique(slices.name[path.slice[works]], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    waiting = intervals.covered(waits, path.end) - intervals.covered(waits, path.start)
    np.add.at(total, place, (path.end - path.start - waiting)[works])
    if not len(names) or total.max() < LARGE * wall:
        return
    at = int(np.argmax(total))
    name = int(names[at])
    if name < 0:
        return
    yield Candidate(
        code="largest-work",
        title="The largest piece of work",
        cost=int(total[at]),
        lead=f"{named(model.timeline.names[name])} is the largest piece of the critical path, {_share(int(total[at]), wall)}",
        without="twice as fast,",
        action="begin there",
        evidence="work on the path by name",
        change=Halved(name),
    )

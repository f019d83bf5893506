"""What might be a finding: its cost on the critical path, the change that would avoid it, and how to say it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tracegap import intervals, segments
from tracegap.analyses.contract import Model
from tracegap.analyses.critical_path import CriticalPath
from tracegap.analyses.gap_tables import blame
from tracegap.analyses.gaps import DeviceGaps, Gaps, called_operator
from tracegap.analyses.ledger import Ledger, blocking, has_device
from tracegap.analyses.overhead import Overhead
from tracegap.analyses.payoff import Change, Gone, Halved
from tracegap.analyses.serialisation import Serialisation
from tracegap.analyses.steps import Steps
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.report import Finding, named
from tracegap.units import count, duration, ratio

LARGE = 0.2
"""Share of the path from which one piece of host work is worth naming."""
TEMPTING = 0.1
"""Share of the window from which work off the path looks worth the trouble."""

_HIDDEN = ("input", "outside-executor")
"""Owners of time that pipelining would hide."""

_UNTRACED = (Charge.UNTRACED_HOST,)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finding without its payoff.

    ``lead`` says the cost, ``without`` what the replay changed, ``action`` what to do;
    ``change`` is what the replay changes, and ``saving`` the payoff where that needs no replay.
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

    def finding(self, wall: int, saved: int | None) -> Finding:
        """Say it, with what a replay says that it saves of `wall` ns."""
        saving = saved if self.saving is None else self.saving
        payoff = ""
        if saving is not None:
            change = f"−{ratio(saving / wall)}" if saving >= 0 else f"+{ratio(-saving / wall)}"
            payoff = f"; {self.without} the window takes {duration(wall - saving)} ({change})"
        return Finding(
            code=self.code,
            title=self.title,
            text=f"{self.lead}{payoff}: {self.action}.",
            cost_ns=self.cost,
            evidence=self.evidence,
            saving_ns=saving,
        )


def candidates(model: Model, results: Mapping[str, Any], ledger: Ledger, *, least: int, alone: bool) -> list[Candidate]:
    """Return what owns at least `least` ns of the path, and what would shorten it otherwise.

    Parameters
    ----------
    alone : bool
        Whether no analysis has found anything of work: then the largest piece of it may be named.
    """
    costs = {code: cost for code, cost in ledger.costs().items() if cost >= least or code == "sync"}
    found = [*_owned(model, results, ledger, costs), *_off_path(model, results)]
    if not has_device(model):
        found += _serial(results, least) if costs.keys().isdisjoint(_HIDDEN) else []
        found += _largest(model, ledger) if alone else []
    return found


def _share(cost: int, wall: int) -> str:
    return f"{duration(cost)} ({ratio(cost / wall)} of the window)"


def _owned(model: Model, results: Mapping[str, Any], ledger: Ledger, costs: Mapping[str, int]) -> Iterator[Candidate]:
    wall = model.window.wall
    device = _busiest(results)
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
                yield replace(_PLAIN[code], cost=cost, lead=_untraced(device, share), change=change)
            case _:
                yield replace(_PLAIN[code], cost=cost, lead=f"{_PLAIN[code].lead} {share}")


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
            "Data is loaded while everything else waits, for",
            "use workers and prefetch",
            without="hidden,",
            change=PLAIN_CHANGES["input"],
        ),
        _plain(
            "allocation",
            "Allocation in the loop",
            "Memory is allocated and freed for",
            "reuse buffers",
            change=PLAIN_CHANGES["allocation"],
        ),
        _plain(
            "launch-overhead",
            "Handing out work",
            "Operators, API calls and launches hold the device up for",
            "capture the step in a graph or compile it",
            without="if they took no time",
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
            "Threads wait for each other to wake, for",
            "hand work over less often",
            change=Gone((Charge.DEPENDENCY,)),
        ),
        _plain(
            "between-steps",
            "Time between the steps",
            "Between the steps pass",
            "look at what the loop does outside them",
        ),
        _plain(
            "outside-executor",
            "Outside the executor",
            "The session's run is outside its executor for",
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


def _busiest(results: Mapping[str, Any]) -> DeviceGaps | None:
    gaps: Gaps | None = results.get("gaps")
    return max(gaps.devices, key=lambda one: one.busy_ns, default=None) if gaps is not None else None


def _untraced(device: DeviceGaps | None, share: str) -> str:
    if device is None:
        return f"The step's thread is in no operator for {share}"
    most = next((one for one in device.by_name if one.cause == "untraced_host"), None)
    where = f", most of it in {named(most.name)}" if most is not None and most.name is not None else ""
    return f"Python between operators holds {device.device} up for {share}{where}"


def _sync(model: Model, ledger: Ledger, device: DeviceGaps | None, cost: int) -> Candidate:
    row, calls = blocking(model, ledger)
    timeline = model.timeline
    where = device.device if device is not None else "the device"
    often = "once" if calls == 1 else f"{count(calls)} times"
    operator, told = called_operator(timeline, row), timeline.names[timeline.slices.name[row]]
    behind = [one.total_ns for one in device.exposed if (one.name, one.operator) == (told, operator)] if device else []
    idle = f", then idle for {_share(sum(behind), model.window.wall)}" if behind else ""
    return Candidate(
        code="sync",
        title="Blocking calls",
        cost=cost,
        lead=f"{blame(told, operator)} waits {often} until {where} has nothing left to do{idle}",
        without="if it did not wait",
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
            lead=f"{count(split.handoffs)} hand-offs between {' and '.join(map(named, split.providers))} take {share}",
            without="without them",
            action="replace the operators that break the graph",
            evidence="partitions in the overhead section",
            change=Gone(_UNTRACED, within=ledger.spans[code]),
        )
    first = split.fallbacks[0]
    return Candidate(
        code=code,
        title="Operators on the CPU",
        cost=cost,
        lead=f"{len(split.fallbacks)} operators fell back to the CPU and take {share}, most of all {named(first.name)} with"
        f" {duration(first.duration_ns)}",
        without="if they took no time",
        action="rewrite them for the accelerator",
        evidence="partitions in the overhead section",
        change=Gone((Charge.OPERATOR,), within=ledger.spans[code]),
    )


def _serial(results: Mapping[str, Any], least: int) -> Iterator[Candidate]:
    """Yield what pipelining stages gives, where nothing else owns the time that it would hide."""
    found: Serialisation | None = results.get("serialisation")
    pipelining = found.pipelining if found is not None else None
    if pipelining is None:
        return
    saving = pipelining.measured_wall_ns - pipelining.predicted_wall_ns
    if saving < least:
        return
    stages = " and ".join(named(stage.name) for stage in pipelining.stages[:3])
    yield Candidate(
        code="serial-stages",
        title="Stages one after the other",
        cost=saving,
        lead=f"{stages} follow each other, step after step, where {named(pipelining.bottleneck)} alone sets the pace",
        without="pipelined across steps",
        action="load ahead",
        evidence="pipelining in the serialisation section",
        saving=saving,
    )


def _largest(model: Model, ledger: Ledger) -> Iterator[Candidate]:
    path, slices, wall = ledger.path, model.timeline.slices, model.window.wall
    works = (path.charge == Charge.OPERATOR) & (path.slice >= 0) & (ledger.owner == 0)
    names, place = np.unique(slices.name[path.slice[works]], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    np.add.at(total, place, (path.end - path.start)[works])
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
        lead=f"{named(model.timeline.names[name])} has most of the critical path, {_share(int(total[at]), wall)}",
        without="twice as fast,",
        action="begin there",
        evidence="work on the path by name",
        change=Halved(name),
    )


def _off_path(model: Model, results: Mapping[str, Any]) -> Iterator[Candidate]:
    """Yield the name off the path that takes most, if it looks worth the trouble."""
    found: CriticalPath | None = results.get("critical_path")
    first = found.off_path[0] if found is not None and found.off_path else None
    # Work without a name is in no list of names, and nobody could be told to leave it.
    if first is None or not first.name or first.duration_ns < TEMPTING * model.window.wall:
        return
    yield Candidate(
        code="leave-it",
        title="Off the critical path",
        cost=0,
        lead=f"{named(first.name)} takes {duration(first.duration_ns)} off the critical path",
        without="in half the time",
        action="leave it",
        evidence="work off the path",
        change=Halved(model.timeline.names.index(first.name)),
    )

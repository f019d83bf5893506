"""The verdict: what bounds the window, and at most five findings worth a Monday morning.

Costs are time of the critical path, and each nanosecond of it has one owner among the findings. Payoffs come from replaying the
dependency graph with the change made; findings stand in their order, and payoffs are never summed. A bound is named only if it
has half of the path and a clear lead over the next, and a device that hardly ever waits is the bound itself. Nothing is said
where an implausible time touches the window.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tracegap import activity, change, intervals
from tracegap.analyses.bounds import HALF, OTHERS, Share, bound_of, said, shares_of
from tracegap.analyses.candidate import Candidate
from tracegap.analyses.candidates import busiest_device, candidates, is_unmarked
from tracegap.analyses.catalogue import FINDINGS
from tracegap.analyses.contract import Model, Offered
from tracegap.analyses.elsewhere import awaited
from tracegap.analyses.gaps import DeviceGaps, device_number
from tracegap.analyses.ledger import OWNERS, Ledger, draw_up
from tracegap.analyses.payoff import NoSync, Pricing
from tracegap.analyses.plain_candidates import PLAIN_CHANGES
from tracegap.charges import WORK, Charge, spoken
from tracegap.edges import Cause
from tracegap.kinds import Kind
from tracegap.report import Finding, Verdict, named
from tracegap.units import ratio

__all__ = ["FINDINGS", "LEAST", "MOST", "judge"]

MOST = 5
LEAST = 0.01
"""Share of the window under which a payoff is not worth a line: steps differ by more than that from run to run, so that nobody
could measure whether it was got."""

IDLE = 0.2
"""Idle share of the busiest device under which it is what binds, and from which it cannot be said that nothing stands out."""


def judge(model: Model, results: Mapping[str, Any], offered: Iterable[Offered] = ()) -> Verdict:
    """Say what bounds the window and what to do, from the results of the analyses by their names.

    Parameters
    ----------
    offered : iterable of Offered
        What the analyses themselves have found: of work on devices and in operators.
    """
    wall = model.window.wall
    if wall <= 0:
        return Verdict("nothing can be said: the window is empty", "unknown")
    if _touched_by_implausible(model):
        return Verdict(
            "withheld: a slice whose time cannot be right touches the window; see the problems below, or choose other --steps",
            "unknown",
        )
    least, given = int(LEAST * wall), tuple(offered)
    pricing = Pricing(model.dag)
    unblocked = _unblocked(model, pricing)
    gain = unblocked.get("sync", 0)
    keeping = [code for code, saving in unblocked.items() if saving >= gain]
    ledger = draw_up(model, results, blaming=gain >= max(least, 1), spared=keeping)
    waits = awaited(model, ledger.path)
    shares = shares_of(model, ledger.path, waits)
    bound = bound_of(shares)
    if _never_waits(results) and bound != "communication":
        bound = "device"
    if bound == Charge.UNTRACED_HOST.word and is_unmarked(model):
        bound = "unknown"
    about = [one.rows for one in given]
    taken = change.whole(model.timeline, np.concatenate(about) if about else np.empty(0, np.intp))
    might = candidates(model, results, ledger, waits, least=least, alone=not given, taken=taken)
    open_ = {one.code: one.change for one in might if one.change is not None and one.code not in unblocked}
    saved = unblocked | pricing.savings(open_)
    told = (one.finding(wall, saved.get(one.code), _shown(model, ledger, one)) for one in might)
    found = [*told, *_costed(model, ledger, given, {one.code for one in might})]
    worth = [one for one in found if _payoff(one) >= max(least, 1)]
    if not worth and bound != OTHERS and not (bound == "unknown" and is_unmarked(model)):
        return Verdict(_nothing(model, results), bound)
    worth.sort(key=lambda one: (-_payoff(one), one.code))
    return Verdict(_summary(model, results, bound, shares), bound, _owned_once(worth[:MOST], wall))


def _never_waits(results: Mapping[str, Any]) -> bool:
    """Whether the busiest device is hardly ever idle: whatever the path runs through then, nothing holds it up for long."""
    busiest = busiest_device(results)
    return busiest is not None and busiest.idle_ratio < IDLE


def _summary(model: Model, results: Mapping[str, Any], bound: str, shares: list[Share]) -> str:
    busiest = busiest_device(results)
    if busiest is not None and bound == "device" and _never_waits(results):
        return (
            f"{_bound(bound)}: {busiest.device} is busy {ratio(1 - busiest.idle_ratio)} of the window"
            f"{_spinning(model, busiest)}; {said(shares, first_only=True)}"
        )
    if bound == "unknown" and is_unmarked(model):
        return f"no step is marked, and nothing says what threads wait for: {said(shares)}"
    return f"{_bound(bound)}: {said(shares)}"


def _spinning(model: Model, device: DeviceGaps) -> str:
    """Say that a device is busy communicating, if it is mostly that: such kernels also spin while they wait."""
    timeline, window = model.timeline, model.window
    rows = activity.device_rows(timeline, device_number(timeline, device))
    rows = rows[timeline.slices.kind[rows] == Kind.COMM]
    communicating = intervals.clip(
        intervals.union(timeline.slices.start[rows], timeline.slices.end[rows]), window.start, window.end
    )
    share = intervals.total(communicating) / device.busy_ns
    return f" ({ratio(share)} of that with communication, which spins while it waits)" if share >= HALF else ""


def _unblocked(model: Model, pricing: Pricing) -> dict[str, int]:
    """Return what is saved if no call blocks, and by what else might keep the device busy behind a blocking call."""
    if not (model.dag.cause == Cause.SYNC).any():
        return {}
    return pricing.savings({"sync": NoSync(), **PLAIN_CHANGES})


def _shown(model: Model, ledger: Ledger, one: Candidate) -> int | None:
    return model.timeline.event(one.row if one.row >= 0 else ledger.longest(one.code))


def _payoff(finding: Finding) -> int:
    return finding.cost_ns if finding.saving_ns is None else finding.saving_ns


def _touched_by_implausible(model: Model) -> bool:
    slices, window = model.timeline.slices, model.window
    wrong = ~slices.plausible
    return bool(np.any(wrong & (slices.start < window.end) & (slices.end > window.start)))


def _bound(bound: str) -> str:
    if bound == "mixed":
        return "mixed, no single bound"
    if bound == "unknown":
        return "what bounds the window is not recorded"
    the = "the " if bound in ("host", "device") else ""
    return f"bound by {the}{_SAID.get(bound) or named(bound)}"


_SAID = {
    "host": "host",
    "device": "device",
    "input": "input",
    "communication": "communication",
    "launch": "launching and scheduling",
    "operator": "operators",
    "in_execute": "time in the executor, in no node",
    "other_threads": "operators of other threads",
    "runtime": "API calls",
    "untraced_host": "untraced host time",
    "between_steps": "time between the steps",
    "dependency": "threads that wait for others",
    "sync": "blocking calls",
    "allocator": "allocation",
    "profiler": "the profiler",
}


def _costed(model: Model, ledger: Ledger, offered: Iterable[Offered], owners: Collection[str]) -> Iterator[Finding]:
    """Give what is offered its cost: its work on the critical path that none of the owners, and nothing before it, has."""
    path = ledger.path
    free = np.isin(path.charge, WORK) & (path.slice >= 0)
    free &= ~np.isin(ledger.owner, [number for number, code in enumerate(OWNERS) if code in owners])
    length = path.end - path.start
    for one in sorted(offered, key=lambda one: -_payoff(one.finding)):
        mine = free & change.whole(model.timeline, one.rows)[path.slice]
        free &= ~mine
        yield replace(one.finding, cost_ns=int(length[mine].sum()))


def _owned_once(findings: list[Finding], wall: int) -> tuple[Finding, ...]:
    """Let findings own no more than there is: a device's idle time has causes that may differ from those on the path then."""
    kept, left = [], wall
    for one in findings:
        kept.append(replace(one, cost_ns=min(one.cost_ns, left)))
        left -= kept[-1].cost_ns
    return tuple(kept)


def _nothing(model: Model, results: Mapping[str, Any]) -> str:
    """Say why there is no finding: all is well, or the device is idle for a reason that no change takes away."""
    busiest = busiest_device(results)
    unsaved = f"no change that was replayed saves {ratio(LEAST)} or more"
    if busiest is not None and busiest.idle_ratio > IDLE:
        cause, time = next(iter(busiest.causes.items()))
        why = f"{ratio(time / busiest.idle_ns)} of that is {spoken(cause)}"
        return f"{unsaved}: {busiest.device} is idle {ratio(busiest.idle_ratio)} of the window, {why}"
    if busiest is not None:
        busy = f"{busiest.device} is busy {ratio(1 - busiest.idle_ratio)} of the window"
        spinning = _spinning(model, busiest)
        return f"{unsaved}: {busy}{spinning}" if spinning else f"nothing stands out: {busy}, and {unsaved}"
    host = results["overhead"].host if "overhead" in results else None
    share = f"operators take {ratio(host.union_ns / host.wall_ns)} of the window, and " if host is not None else ""
    return f"nothing stands out: {share}{unsaved}"

"""The verdict: what bounds the window, and at most five findings worth a Monday morning.

Costs are time of the critical path, and each nanosecond of it has one owner among the findings. Payoffs come from replaying the
dependency graph with the change made; findings stand in their order, and payoffs are never summed. A bound is named only if it
has half of the path and a clear lead over the next. Nothing is said where an implausible time touches the window.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tracegap.analyses.bounds import bound_of, said, shares_of
from tracegap.analyses.candidates import PLAIN_CHANGES, candidates
from tracegap.analyses.catalogue import FINDINGS
from tracegap.analyses.contract import Model
from tracegap.analyses.gaps import Gaps
from tracegap.analyses.ledger import draw_up
from tracegap.analyses.payoff import NoSync, Pricing
from tracegap.edges import Cause
from tracegap.report import Finding, Verdict, named
from tracegap.units import ratio

__all__ = ["FINDINGS", "LEAST", "MOST", "judge"]

MOST = 5
LEAST = 0.01
"""Share of the window under which a payoff is not worth a line: steps differ by more than that from run to run, so that nobody
could measure whether it was got."""

IDLE = 0.2
"""Idle share of the busiest device from which it cannot be said that nothing stands out."""


def judge(model: Model, results: Mapping[str, Any], offered: Iterable[Finding] = ()) -> Verdict:
    """Say what bounds the window and what to do, from the results of the analyses by their names.

    Parameters
    ----------
    offered : iterable of Finding
        What the analyses themselves have found: of work on devices and in operators, which no finding here owns.
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
    shares = shares_of(model, ledger.path)
    bound = bound_of(shares)
    might = candidates(model, results, ledger, least=least, alone=not given)
    open_ = {one.code: one.change for one in might if one.change is not None and one.code not in unblocked}
    saved = unblocked | pricing.savings(open_)
    found = [*(one.finding(wall, saved.get(one.code)) for one in might), *given]
    worth = [one for one in found if one.code != "leave-it" and _payoff(one) >= least]
    if not worth:
        return Verdict(_nothing(results), bound)
    worth.sort(key=lambda one: (-_payoff(one), one.code))
    spared = [one for one in found if one.code == "leave-it" and _payoff(one) < least]
    return Verdict(f"{_bound(bound)}: {said(shares)}", bound, _owned_once([*worth, *spared][:MOST], wall))


def _unblocked(model: Model, pricing: Pricing) -> dict[str, int]:
    """Return what is saved if no call blocks, and by what else might keep the device busy behind a blocking call."""
    if not (model.dag.cause == Cause.SYNC).any():
        return {}
    return pricing.savings({"sync": NoSync(), **PLAIN_CHANGES})


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
    "runtime": "API calls",
    "untraced_host": "untraced host time",
    "between_steps": "time between the steps",
    "dependency": "threads that wait for others",
    "sync": "blocking calls",
    "allocator": "allocation",
    "profiler": "the profiler",
}


def _owned_once(findings: list[Finding], wall: int) -> tuple[Finding, ...]:
    """Let findings own no more than there is: what is offered counts work on all devices, also beside the critical path."""
    kept, left = [], wall
    for one in findings:
        kept.append(replace(one, cost_ns=min(one.cost_ns, left)))
        left -= kept[-1].cost_ns
    return tuple(kept)


def _nothing(results: Mapping[str, Any]) -> str:
    """Say why there is no finding: all is well, or the device is idle for a reason that no change takes away."""
    gaps: Gaps | None = results.get("gaps")
    busiest = max(gaps.devices, key=lambda one: one.busy_ns, default=None) if gaps is not None else None
    unsaved = f"no change that was replayed saves {ratio(LEAST)}"
    if busiest is not None and busiest.idle_ratio > IDLE:
        cause, time = next(iter(busiest.causes.items()))
        why = f"{ratio(time / busiest.idle_ns)} of that is {cause.replace('_', ' ')}"
        return f"{unsaved}: {busiest.device} is idle {ratio(busiest.idle_ratio)} of the window, {why}"
    if busiest is not None:
        return (
            f"nothing stands out: {busiest.device} is busy {ratio(1 - busiest.idle_ratio)} of the window, and {unsaved}"
        )
    host = results["overhead"].host if "overhead" in results else None
    share = f"operators take {ratio(host.union_ns / host.wall_ns)} of the window, and " if host is not None else ""
    return f"nothing stands out: {share}{unsaved}"

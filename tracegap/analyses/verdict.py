"""The verdict: what bounds the window, and at most five findings worth a Monday morning.

A finding needs a cost that the timeline measures, of at least `LEAST` of the window; each nanosecond of cost has one owner among
the findings. A bound is named only if it has half of the window and `LEAD` over the next. Nothing is found where a device is
busier than `HEALTHY`, and nothing is said at all where an implausible time touches the window.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracegap import intervals
from tracegap.analyses import overhead, partitions, utilisation
from tracegap.analyses.contract import Model
from tracegap.analyses.gaps import DeviceGaps, Gaps, device_busy
from tracegap.analyses.overhead import Overhead
from tracegap.analyses.stages import Stage
from tracegap.analyses.steps import Steps, clocks
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.report import Finding, Verdict, named
from tracegap.units import count, duration, ratio

MOST = 5
LEAST = 0.03
"""Share of the window under which a cost is no finding."""
HALF, LEAD = 0.5, 0.15
"""What a bound needs of the window, and over the next cause."""
HEALTHY = 0.95

FINDINGS: dict[str, str] = {
    "first-step": (
        "The first step takes far longer than the others.\n\nCompilation, autotuning, allocation and cold caches are paid once."
        " Warm up before measuring, and before serving the first request."
    ),
    "device-idle": (
        "A device has nothing to do.\n\nThe host does not hand over work fast enough, waits, or does other things in between."
        " See the gaps: what was waiting, and what the host did meanwhile."
    ),
    "host-sync": (
        "The host blocks on the device outside its operators.\n\nWhile it waits it prepares no further work. Read results later, or"
        " asynchronously."
    ),
    "host-input": (
        "Data is loaded while no operator runs.\n\nLoad ahead: worker processes, prefetching, pinned memory."
    ),
    "host-allocator": (
        "Memory is allocated and freed in the loop.\n\nReuse buffers; let the framework's caching allocator grow before the loop."
    ),
    "host-runtime": (
        "API calls outside operators take time.\n\nLook at which calls they are; launch less and larger work."
    ),
    "host-outside_execute": (
        "The session's run spends its time outside its executor.\n\nInputs are copied in and outputs out, and strings or shapes are"
        " converted. Bind inputs and outputs once, and keep them where the model runs."
    ),
    "host-in_execute": (
        "The executor spends time in no node.\n\nMany small nodes cost more in between than in themselves: fuse them, raise the"
        " optimisation level, or check that threads do not wait for each other."
    ),
    "host-between_steps": (
        "Time passes between the steps.\n\nLogging, checkpoints, data loading or waiting outside the measured loop."
    ),
    "host-untraced_host": (
        "The step's thread is in no operator.\n\nPython between operators, or native code that the profiler does not see. Record with"
        " stacks or annotate it; vectorise it, move it off the step, compile or capture the step."
    ),
    "host-unattributed": ("Time in which the trace records nothing.\n\nRecord more: stacks, API calls, annotations."),
    "partition-handoffs": (
        "Data crosses between execution providers.\n\nEach hand-off copies and waits. Find the operators that break the graph and"
        " replace them by ones that the accelerator supports."
    ),
    "provider-fallback": (
        "Operators fall back to the CPU.\n\nThe accelerator does not support them as they are: replace or rewrite them, or choose"
        " other types and layouts."
    ),
    **utilisation.FINDINGS,
}
"""What each finding means and what to do, for ``tracegap explain``; the first line is the summary."""


def judge(model: Model, results: Mapping[str, Any]) -> Verdict:
    """Say what bounds the window and what to do, from the results of the analyses by their names."""
    window = model.window
    if window.wall <= 0:
        return Verdict("nothing can be said: the window is empty", "unknown")
    if _touched_by_implausible(model):
        return Verdict(
            "withheld: a slice whose time cannot be right touches the window; see the problems below, or choose other --steps",
            "unknown",
        )
    if "overhead" not in results:
        return Verdict(f"neither operators nor device work are in the window{_longest(results)}", "unknown")
    bound, shares = _bound(results)
    busiest = max(_devices(results), key=lambda one: one.busy_ns, default=None)
    if busiest is not None and 1 - busiest.idle_ratio > HEALTHY:
        reason = f"{busiest.device} is busy {ratio(1 - busiest.idle_ratio)} of the window"
        return Verdict(f"nothing stands out: {reason}", bound)
    found = sorted(_findings(model, results, busiest), key=lambda one: -one.cost_ns)
    found = [one for one in found if one.cost_ns >= LEAST * window.wall][:MOST]
    if not found:
        return Verdict(f"nothing stands out: no cause takes {ratio(LEAST)} of the window ({_told(shares)})", bound)
    said = f"bound by the {bound}" if bound in ("host", "device") else f"bound by {_words(bound)}"
    return Verdict(f"{said if bound != 'mixed' else 'mixed, no single bound'}: {_told(shares)}", bound, tuple(found))


def _touched_by_implausible(model: Model) -> bool:
    slices, window = model.timeline.slices, model.window
    wrong = ~slices.plausible
    return bool(np.any(wrong & (slices.start < window.end) & (slices.end > window.start)))


def _longest(results: Mapping[str, Any]) -> str:
    stages: tuple[Stage, ...] = results.get("stages", ())
    longest = max(stages, key=lambda stage: stage.total_ns, default=None)
    return (
        f"; the longest stage, {named(longest.name)}, takes {ratio(longest.ratio)} of it" if longest is not None else ""
    )


def _devices(results: Mapping[str, Any]) -> tuple[DeviceGaps, ...]:
    gaps: Gaps | None = results.get("gaps")
    return gaps.devices if gaps is not None else ()


def _bound(results: Mapping[str, Any]) -> tuple[str, list[tuple[str, float]]]:
    """Return what bounds the window, and the shares of the window that say so, greatest first."""
    weighed: Overhead = results["overhead"]
    busiest = max(_devices(results), key=lambda one: one.busy_ns, default=None)
    if busiest is not None:
        shares = {"device": 1 - busiest.idle_ratio, "host": busiest.idle_ratio}
    elif weighed.host is not None:
        host = weighed.host
        shares = {"operators": host.union_ns / host.wall_ns}
        shares |= {part.cause: part.duration_ns / host.wall_ns for part in host.parts or ()}
    else:
        return "unknown", []
    order = sorted(shares.items(), key=lambda one: -one[1])
    second = order[1][1] if len(order) > 1 else 0.0
    named = order[0][1] >= HALF and order[0][1] - second >= LEAD
    return (order[0][0] if named else "mixed"), order


def _told(shares: list[tuple[str, float]]) -> str:
    names = {"device": "device busy", "host": "device idle"}
    return ", ".join(f"{names.get(name, _words(name))} {ratio(share)}" for name, share in shares[:3] if share > 0)


def _words(cause: str) -> str:
    return cause.replace("_", " ")


def _findings(model: Model, results: Mapping[str, Any], busiest: DeviceGaps | None) -> Iterator[Finding]:
    """Yield all findings; each takes its cost out of the time that is left for the next."""
    timeline, window = model.timeline, model.window
    time = intervals.union(np.array([window.start], np.int64), np.array([window.end], np.int64))
    steps: Steps | None = results.get("steps")
    if steps is not None and steps.first_apart:
        excess = steps.first_ns - steps.median_ns
        yield _first_step(steps, excess)
        _, begin, finish = clocks(timeline, np.array(window.steps, np.intp))
        time = intervals.subtract(time, Intervals(begin[:1], np.minimum(finish[:1], begin[:1] + excess)))
    if busiest is not None:
        yield from _idle(model, busiest, time)
    else:
        yield from _host(model, results["overhead"], time)
    if "utilisation" in results:
        yield from utilisation.findings(results["utilisation"], model)


def _first_step(steps: Steps, excess: int) -> Finding:
    return Finding(
        code="first-step",
        title="The first step",
        text=f"The first step takes {duration(steps.first_ns)}, {duration(excess)} more than the median of the others:"
        " warm up before measuring and before serving.",
        cost_ns=excess,
        evidence=f"step {steps.items[0].number}",
    )


def _idle(model: Model, device: DeviceGaps, time: Intervals) -> Iterator[Finding]:
    """Charge a device's idle time; on what, only the dependency graph can tell."""
    timeline, window = model.timeline, model.window
    number = next(row for row, about in enumerate(timeline.devices) if about.label == device.device)
    idle = intervals.subtract(time, device_busy(timeline, window, number))
    cost = intervals.total(idle)
    gaps = "one gap" if device.count == 1 else f"{count(device.count)} gaps"
    most = ""
    for group in device.groups[:1]:
        sides = f"{named(group.before or 'the start')} → {named(group.after or 'the end')}"
        most = f"; {duration(group.total_ns)} of it in {count(group.count)} like {sides}"
    yield Finding(
        code="device-idle",
        title=f"{device.device} idle",
        text=f"{device.device} has nothing to do for {duration(cost)} ({ratio(cost / window.wall)} of the window), in {gaps}{most}:"
        " hand work over earlier.",
        cost_ns=cost,
        evidence=f"gaps of {device.device}",
    )


ADVICE = {
    Charge.SYNC: "the host blocks on a device outside operators: read results later",
    Charge.INPUT: "data is loaded while no operator runs: load ahead in other processes",
    Charge.ALLOCATOR: "memory is allocated and freed between operators: reuse buffers",
    Charge.RUNTIME: "API calls between operators: launch less and larger work",
    Charge.OUTSIDE_EXECUTE: "the session's run is outside its executor: bind inputs and outputs once",
    Charge.IN_EXECUTE: "the executor is in no node: fuse small nodes",
    Charge.BETWEEN_STEPS: "time between the steps: look at what the loop does outside them",
    Charge.UNTRACED_HOST: "the step's thread is in no operator: annotate or record stacks to see what it does",
    Charge.UNATTRIBUTED: "the trace records nothing: record stacks or annotations",
}
"""What is said of host time in no operator, by its cause; the profiler's own is no finding."""


def _host(model: Model, weighed: Overhead, time: Intervals) -> Iterator[Finding]:
    timeline, window = model.timeline, model.window
    split = weighed.partitions
    if split is not None and split.handoffs:
        between = partitions.handoffs(timeline, window)
        cost = intervals.total(intervals.intersect(time, between))
        time = intervals.subtract(time, between)
        yield Finding(
            code="partition-handoffs",
            title="Hand-offs between providers",
            text=f"{count(split.handoffs)} hand-offs between {' and '.join(map(named, split.providers))} take {duration(cost)}"
            f" ({ratio(cost / window.wall)} of the window): replace the operators that break the graph.",
            cost_ns=cost,
            evidence="partitions in the overhead section",
        )
    if split is not None and split.fallbacks:
        first = split.fallbacks[0]
        cost = intervals.total(intervals.intersect(time, partitions.fallen_back(timeline, window)))
        yield Finding(
            code="provider-fallback",
            title="Operators on the CPU",
            text=f"{len(split.fallbacks)} operators fell back to the CPU and take {duration(cost)}"
            f" ({ratio(cost / window.wall)} of the window), most of all {named(first.name)} with {duration(first.duration_ns)}.",
            cost_ns=cost,
            evidence="partitions in the overhead section",
        )
    if weighed.host is None:
        return
    time = intervals.intersect(time, overhead.in_no_operator(timeline, window))
    for part in overhead.parts_of(timeline, window, time):
        cause = Charge[part.cause.upper()]
        if cause in ADVICE:
            yield Finding(
                code=f"host-{part.cause}",
                title=_words(part.cause),
                text=f"For {duration(part.duration_ns)} ({ratio(part.duration_ns / window.wall)} of the window) {ADVICE[cause]}.",
                cost_ns=part.duration_ns,
                evidence="host time in no operator, in the overhead section",
            )

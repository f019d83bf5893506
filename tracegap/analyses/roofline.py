"""How near operators came to the limits of what ran them: rates, fractions, diagnoses, and the ideal wall time.

In: what `tracegap.operators` measured, and the limits of the devices. Out: `Use` values, which are rows of the report.
Only counts and times that belong together are put in relation (`Work.judged`), and a device's limits judge its own work only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule
from tracegap.analyses.contract import Model
from tracegap.costs import Cost
from tracegap.costs.copies import CASTS, is_layout
from tracegap.costs.diagnosis import Branch, Diagnosis, diagnose
from tracegap.costs.limits import Limits, find_limits, override
from tracegap.hardware import Hardware
from tracegap.operators import HOST, Measured
from tracegap.shapes import Priced, shown
from tracegap.timeline import Timeline

HOST_LABEL = "host"
ALL = "all that has a model"


@dataclass(frozen=True, slots=True)
class Use:
    """Calls alike in operator, shapes and device, or all of a family: what they did in their time, and how near to the roof.

    ``flops`` and ``bytes`` are there where every call's are known, ``f_c`` and ``f_b`` (fractions of the limits) where the limits are as
    well; ``attainable_ns`` is the least time that the limits allow. With ``over_limit`` nothing can be concluded.
    """

    name: str
    device: str
    count: int
    duration_ns: int
    shapes: str | None = None
    flops: int | None = None
    bytes: int | None = None
    flops_per_s: float | None = None
    bytes_per_s: float | None = None
    f_c: float | None = None
    f_b: float | None = None
    attainable_ns: int | None = None
    diagnosis: str | None = None
    action: str | None = None
    over_limit: bool | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Calls of one kind on one device: their cost each, None where none can be set against their time."""

    call: int
    device: int
    count: int
    duration: int
    cost: Cost | None


def limits_of(timeline: Timeline, hardware: Hardware) -> dict[int, Limits | None]:
    """Return the limits of each device: those given, else those of its name. The host's only where there is no device."""
    found = {
        number: override(
            hardware.limits or find_limits(device.name),
            peak_flops=hardware.peak_flops,
            peak_bandwidth=hardware.peak_bandwidth,
        )
        for number, device in enumerate(timeline.devices)
    }
    host = None
    if not timeline.devices:
        host = override(hardware.limits, peak_flops=hardware.peak_flops, peak_bandwidth=hardware.peak_bandwidth)
    return {**found, HOST: host}


def label(timeline: Timeline, device: int) -> str:
    """Return what a device is called in the report."""
    return HOST_LABEL if device == HOST else timeline.devices[device].label


def parts(measured: Measured) -> tuple[list[Part], NDArray[np.intp]]:
    """Gather the calls by kind, device and whether they are judged; return the parts, and the part of each row of `Work`."""
    work = measured.work
    key = (work.call.astype(np.int64) * (int(work.device.max(initial=HOST)) + 2) + work.device + 1) * 2 + work.judged
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    count = np.bincount(place, minlength=len(first))
    duration = np.zeros(len(first), np.int64)
    np.add.at(duration, place, work.duration)
    columns = (work.call[first], work.device[first], count, duration, work.judged[first])
    found = [
        Part(call, device, number, time, measured.calls[call].cost if judged else None)
        for call, device, number, time, judged in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return found, place


def uses(
    timeline: Timeline, calls: Sequence[Priced], found: Sequence[Part], limits: Mapping[int, Limits | None]
) -> list[Use]:
    """Return one row for each operator, shapes and device, the longest first; calls with and without a cost apart."""
    groups: dict[tuple[str, str, int, bool], list[Part]] = {}
    for part in found:
        about = calls[part.call]
        groups.setdefault((about.name, shown(about.call), part.device, part.cost is not None), []).append(part)
    rows = [
        _use(name, label(timeline, device), members, limits[device], shapes=shapes or None)
        for (name, shapes, device, _), members in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.duration_ns, row.name, row.shapes or ""))


def families(
    timeline: Timeline, calls: Sequence[Priced], found: Sequence[Part], limits: Mapping[int, Limits | None]
) -> list[Use]:
    """Return one row for each family of operators on each device, of calls with a cost; views and the like are none."""
    groups: dict[tuple[str, int], list[Part]] = {}
    for part in found:
        about = calls[part.call]
        if part.cost is not None and not about.idle:
            groups.setdefault((family(about), part.device), []).append(part)
    rows = [_use(name, label(timeline, device), members, limits[device]) for (name, device), members in groups.items()]
    return sorted(rows, key=lambda row: (-row.duration_ns, row.name))


def totals(
    timeline: Timeline, calls: Sequence[Priced], found: Sequence[Part], limits: Mapping[int, Limits | None]
) -> list[Use]:
    """Return one row for each device: everything on it that has a cost and computes or moves.

    FLOPs and bytes are those that are known, so its rates are at least what is said.
    """
    groups: dict[int, list[Part]] = {}
    for part in found:
        if part.cost is not None and not calls[part.call].idle:
            groups.setdefault(part.device, []).append(part)
    rows = [
        _use(ALL, label(timeline, device), [_at_least(part) for part in members], limits[device])
        for device, members in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.duration_ns, row.device))


def _at_least(part: Part) -> Part:
    cost = part.cost
    return part if cost is None else replace(part, cost=replace(cost, flops=cost.flops or 0, bytes=cost.bytes or 0))


def family(about: Priced) -> str:
    """Return the word for what a call does, layout conversions and casts apart from other copies."""
    if is_layout(about.name):
        return "layout"
    return "cast" if about.name in CASTS else about.family or "other"


def is_of(timeline: Timeline, calls: Sequence[Priced], part: Part, use: Use) -> bool:
    """Whether a part counts in a row of `families`."""
    about = calls[part.call]
    same = family(about) == use.name and label(timeline, part.device) == use.device
    return same and part.cost is not None and not about.idle


def _use(name: str, device: str, members: Sequence[Part], limits: Limits | None, *, shapes: str | None = None) -> Use:
    count, time = sum(part.count for part in members), sum(part.duration for part in members)
    bare = Use(name, device, count, time, shapes)
    costs = [(part.count, part.cost) for part in members if part.cost is not None]
    if len(costs) < len(members):
        return bare
    flops, moved = total_of(costs, "flops"), total_of(costs, "bytes")
    bare = replace(bare, flops=flops, bytes=moved)
    if time <= 0 or (not flops and not moved):
        return bare
    judged, ideal = judge(costs, flops, moved, time, limits)
    return replace(
        bare,
        flops_per_s=judged.flops_per_s,
        bytes_per_s=judged.bytes_per_s,
        f_c=judged.f_c,
        f_b=judged.f_b,
        attainable_ns=None if judged.over_limit else ideal,
        **said_of(judged),
    )


def said_of(judged: Diagnosis) -> dict[str, Any]:
    """Return diagnosis, action and flag as the report has them: nothing above a limit is called a bound."""
    if judged.over_limit:
        return {"diagnosis": "over the limit", "action": judged.action, "over_limit": True}
    known = judged.branch is not Branch.UNKNOWN
    return {
        "diagnosis": judged.branch.value if known else None,
        "action": judged.action if known else None,
        "over_limit": None,
    }


def judge(
    costs: Sequence[tuple[int, Cost]], flops: int | None, moved: int | None, duration: int, limits: Limits | None
) -> tuple[Diagnosis, int | None]:
    """Diagnose calls that may differ in type, and return with it the least time that they need together, ns.

    The peak for several types is the one at which all their arithmetic takes as long as each at its own; types without a
    known peak take no time then, so that the fraction is at least what is said.
    """
    if limits is None:
        return diagnose(flops, moved, duration, None, ""), None
    computing = _seconds(costs, limits)
    peak = flops / computing if flops and computing else None
    common = replace(limits, flops_per_s={} if peak is None else {"": peak})
    return diagnose(flops, moved, duration, common, ""), _attainable(costs, limits)


def _seconds(costs: Iterable[tuple[int, Cost]], limits: Limits) -> float | None:
    """Return how long the arithmetic takes at the peaks, in s, as far as they are known; None where none is."""
    known = [(count * cost.flops, peak) for count, cost in costs if cost.flops and (peak := limits.peak(cost.dtype))]
    return sum(amount / peak for amount, peak in known) if known else None


def _attainable(costs: Iterable[tuple[int, Cost]], limits: Limits) -> int | None:
    total = 0.0
    for count, cost in costs:
        # the ideal time does not depend on the time taken
        ideal = diagnose(cost.flops, cost.bytes, 1, limits, cost.dtype).ideal_ns
        if ideal is None:
            return None
        total += count * ideal
    return round(total)


def total_of(costs: Iterable[tuple[int, Cost]], what: str) -> int | None:
    """Return the sum of a count over calls, None as soon as one is not known; `what` is ``flops`` or ``bytes``."""
    amounts = [(count, getattr(cost, what)) for count, cost in costs]
    return None if any(amount is None for _, amount in amounts) else sum(count * amount for count, amount in amounts)


def scales(found: Sequence[Part], place: NDArray[np.intp], limits: Mapping[int, Limits | None]) -> NDArray[np.float64]:
    """Return for each row of `Work` what part of its time the roof allows, 0…1; 1 where that is not known or over the limit."""
    factor = np.ones(len(found))
    for number, part in enumerate(found):
        known = limits[part.device]
        if part.cost is None or known is None or part.duration <= 0 or not (part.cost.flops or part.cost.bytes):
            continue
        judged, ideal = judge(
            [(part.count, part.cost)],
            None if part.cost.flops is None else part.count * part.cost.flops,
            None if part.cost.bytes is None else part.count * part.cost.bytes,
            part.duration,
            known,
        )
        if ideal is not None and not judged.over_limit:
            factor[number] = min(1.0, ideal / part.duration)
    return factor[place] if len(found) else np.ones(len(place))


def replayed(model: Model, measured: Measured, scale: NDArray[np.float64]) -> int:
    """Return how long the window takes when the work of each row of `Work` takes its part `scale` of the time, ns."""
    dag = model.dag
    owner = np.where(dag.owner >= 0, measured.owner[dag.owner], -1)
    factor = np.append(scale, 1.0)[owner]
    weight = schedule.weights(dag.graph, dag.binding)
    weight = weight - np.rint(dag.graph.edges.lag * (1.0 - factor)).astype(np.int64)
    time = schedule.replay(dag.plan, weight, dag.graph.time)
    return int(time[dag.end] - time[dag.source])

"""Utilisation: how busy every thread, stream and device is, and how much work that is.

**What it shows.** The busy ratio of every track and device in the window; of every device how many kernels it ran, how long the
median one is, how far launches run ahead of it, and the occupancy that the profiler estimated, where the trace has it. Then what
was done in that time: of each operator, by shapes, the FLOPs and bytes, the rates achieved, the fractions of the device's limits,
what that means and what to do about it; the same by family; chains of elementwise operators that could be one; what
communication and copies moved; and how long the window would take if all that has a model ran at the roof.

**Why it costs time.** Activity is not progress, but a device that is not even active makes none. Many short kernels keep a device
busy with starting, and a queue that runs empty says that the host is too slow. A busy device far below its limits does little
work, and one at a limit does no more until there is less to do.

**How it is computed.** A track is busy in the union of what runs on it; a thread that blocks on a device waits. A device is busy in
the union over its streams. The queue is what was launched and has not started: its median over the launches' starts.
Occupancy is weighted by the kernels' times, and so are blocks per multiprocessor, up to one, as the estimate of its efficiency.
FLOPs and bytes are counted from the shapes in the trace, by the outermost operator that has a model, and set against the time of
the device work it launched, else its time on the host. Limits are looked up by the device's name, or given
(``--device-limits``, ``--peak-flops``, ``--peak-bandwidth``); they never judge work that ran elsewhere. f_c and f_b, the fractions of peak FLOP/s and
bandwidth, lead to the diagnosis: above 0.6 that is the bound; both below 0.4, latency; both between, two phases; one between, that one,
inefficiently. A fraction over 1 is no success: a count, a clock or a limit is wrong. The share of time that has a model is stated.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, waste
from tracegap.activity import Rows
from tracegap.analyses import busy, chains, roofline, transfers, wasted
from tracegap.analyses.contract import Model, Offered
from tracegap.analyses.counted import place
from tracegap.analyses.roofline import Part
from tracegap.analyses.use_results import DeviceLimits, LooseKernel, Utilisation
from tracegap.analyses.use_tables import tables
from tracegap.analyses.use_words import capital, chain_title, first_clause, lost, notes, work_lines
from tracegap.costs.diagnosis import Branch
from tracegap.costs.limits import Limits
from tracegap.kinds import Kind
from tracegap.operators import HOST, Measured
from tracegap.problems import Problem, problem
from tracegap.report import Finding, Section, named
from tracegap.timeline import Timeline
from tracegap.units import duration, ratio, size

NAME = "utilisation"
TITLE = "Busy or fast?"
LABEL = "fast?"


def run(model: Model) -> Utilisation | None:
    """Measure how busy tracks and devices are; None for an empty window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    near = activity.overlapping(timeline, window.start, window.end)
    measured = model.measured
    found, places = roofline.parts(measured)
    limits = roofline.limits_of(timeline, model.hardware)
    uses = roofline.uses(timeline, measured.calls, found, limits)
    ideal = None
    if any(use.attainable_ns is not None for use in uses):
        ideal = roofline.replayed(model, measured, roofline.scales(found, places, limits))
    main = _main_device(found)
    return Utilisation(
        tracks=busy.tracks(timeline, window),
        devices=tuple(busy.devices(timeline, window, near)),
        operators=tuple(uses),
        families=tuple(roofline.families(timeline, measured.calls, found, limits)),
        totals=tuple(roofline.totals(timeline, measured.calls, found, limits)),
        modelled_ratio=_modelled(timeline, measured),
        ideal_wall_ns=ideal,
        limits=_told_limits(timeline, main, found, limits.get(main)),
        chains=tuple(chains.chains(timeline, measured, limits)),
        kernels=tuple(_loose(timeline, measured.loose)),
        communication=tuple(transfers.collectives(timeline, window)),
        copies=tuple(transfers.copies(timeline, window)),
        counters=place(model.hardware.counters, found, window.wall, limits[HOST]),
        wall_ns=window.wall,
        waste=waste.find_waste(model),
    )


def _main_device(found: Sequence[Part]) -> int:
    """Return the device with most work, the host where there is none elsewhere."""
    time: dict[int, int] = {}
    for part in found:
        if part.device != HOST:
            time[part.device] = time.get(part.device, 0) + part.duration
    return max(time, key=lambda device: time[device], default=HOST)


def _told_limits(timeline: Timeline, device: int, found: Sequence[Part], limits: Limits | None) -> DeviceLimits | None:
    if limits is None:
        return None
    work: dict[str, int] = {}
    for part in found:
        if part.cost is not None and part.cost.flops and part.device == device:
            work[part.cost.dtype] = work.get(part.cost.dtype, 0) + part.count * part.cost.flops
    most = max(work, key=lambda dtype: work[dtype], default="")
    return DeviceLimits(
        device=_limited(timeline, device, limits),
        source=limits.source,
        flops_per_s=limits.peak(most),
        bytes_per_s=limits.bytes_per_s,
        types={dtype or "any": rate for dtype, rate in limits.flops_per_s.items()} or None,
    )


def _limited(timeline: Timeline, device: int, limits: Limits) -> str:
    name = roofline.label(timeline, device)
    return name if limits.source == "options" else f"{name} ({limits.device})"


def _modelled(timeline: Timeline, measured: Measured) -> float | None:
    """Return the share of time that has a cost: of kernels and local copies where there is a device, else of host operators."""
    work, slices = measured.work, timeline.slices
    known = np.array([one.cost is not None for one in measured.calls] or [False], np.bool_)[work.call] & work.judged
    on_device = bool((work.device != HOST).any()) or len(measured.loose) > 0
    counts = (work.device != HOST) & work.judged if on_device else np.ones(len(work), np.bool_)
    loose = measured.loose[slices.kind[measured.loose] == Kind.KERNEL]
    whole = int(work.duration[counts].sum()) + int((slices.end[loose] - slices.start[loose]).sum())
    return int(work.duration[counts & known].sum()) / whole if whole else None


def _loose(timeline: Timeline, rows: Rows) -> list[LooseKernel]:
    """Return device work that no operator launched, by name and device; the longest first."""
    slices = timeline.slices
    found: dict[tuple[int, int], list[int]] = {}
    device = timeline.tracks.device[slices.track[rows]]
    length = slices.end[rows] - slices.start[rows]
    for name, where, time in zip(slices.name[rows].tolist(), device.tolist(), length.tolist(), strict=True):
        sums = found.setdefault((name, where), [0, 0])
        sums[0] += 1
        sums[1] += time
    kernels = [
        LooseKernel(timeline.names[name], roofline.label(timeline, where), number, time)
        for (name, where), (number, time) in found.items()
    ]
    return sorted(kernels, key=lambda kernel: (-kernel.duration_ns, kernel.name))


def problems(result: Utilisation | None) -> tuple[Problem, ...]:
    """Return what cannot be right: work faster than what ran it can be."""
    over = [use for use in result.operators if use.over_limit] if result is not None else []
    if not over:
        return ()
    most = max(over, key=lambda use: max(use.f_c or 0.0, use.f_b or 0.0))
    fraction = max(most.f_c or 0.0, most.f_b or 0.0)
    return (problem("over-limit", len(over), f"{most.name} {most.shapes or ''} at {fraction:.1f} × the limit".strip()),)


def section(result: Utilisation) -> Section:
    """Say how busy the devices are, with what sort of kernels, and how much work that was."""
    lines = [busy.sentence(device) for device in result.devices]
    if not result.devices:
        busiest = max(result.tracks, key=lambda track: track.busy_ns, default=None)
        lines = [
            "The trace has no device."
            + (
                f" The busiest thread, {named(busiest.name)}, runs {ratio(busiest.busy_ratio)} of the window."
                if busiest
                else ""
            )
        ]
    lines += [*work_lines(result), *waste.sentences(result.waste)]
    return Section(NAME, TITLE, tuple(lines), tuple(tables(result)), tuple(notes(result)), label=LABEL)


FINDINGS: dict[str, str] = {
    "elementwise-chain": (
        "Elementwise operators follow each other through memory.\n\nEach reads what the one before wrote. One fused kernel reads and"
        " writes once: compile the model, or write the expression as one kernel. That each feeds the next is taken from"
        " order and sizes; the trace does not record it."
    ),
    "below-roof": (
        "A family of operators is slower than the device allows.\n\nThe limit that binds is not reached: shapes that do not fill the"
        " device, an access pattern or a kernel that wastes it. See which shapes in the utilisation section."
    ),
    **wasted.PAGES,
}
"""What each finding of this analysis means and what to do."""


_BELOW = (Branch.COMPUTE_INEFFICIENT, Branch.BANDWIDTH_INEFFICIENT, Branch.TWO_PHASE, Branch.LATENCY)


def findings(result: Utilisation, model: Model, *, least: float = 0.01) -> Iterator[Offered]:
    """Yield what is worth doing about slow work: what is wasted, the largest chain to fuse, the family that loses most to the roof.

    Both only where replay says that the window would be shorter for it; two sums over the window's work and a replay each.

    Parameters
    ----------
    result : Utilisation
    model : Model
    least : float
        Share of the window under which a cost or a saving is no finding.
    """
    bar = least * model.window.wall
    told = list(wasted.findings(result.waste, model, bar))
    yield from told
    chain = next((one for one in result.chains if one.duration_ns >= bar and one.bytes and not one.over_limit), None)
    losing = [use for use in result.families if use.diagnosis in _BELOW and lost(use) >= bar]
    if chain is not None:
        losing = [use for use in losing if use.name != "elementwise"]
    if any(one.finding.code in wasted.COPYING for one in told):
        losing = [use for use in losing if use.name != "copies"]
    if chain is None and not losing:
        return
    timeline, window = model.timeline, model.window
    measured = model.measured
    if chain is not None:
        scale = chains.fused(timeline, measured, chain)
        saving = window.wall - roofline.replayed(model, measured, scale)
        if saving >= bar:
            about = Finding(
                code="elementwise-chain",
                title="Elementwise operators in a row",
                text=f"{chain_title(chain)} move {size(chain.bytes or 0)} in {duration(chain.duration_ns)}; fused, if each feeds the"
                f" next, the window takes {duration(window.wall - saving)} (−{ratio(saving / window.wall)}): fuse them.",
                cost_ns=0,
                evidence="chains in the utilisation section",
                saving_ns=saving,
                event=timeline.event(_longest(measured, scale < 1)),
            )
            yield Offered(about, measured.work.row[scale < 1].astype(np.intp))
    if losing:
        use = max(losing, key=lost)
        found, places = roofline.parts(measured)
        mine = np.array([roofline.is_of(timeline, measured.calls, part, use) for part in found], np.bool_)
        scale = roofline.scales(found, places, roofline.limits_of(timeline, model.hardware))
        saving = window.wall - roofline.replayed(model, measured, np.where(mine[places], scale, 1.0))
        if saving >= bar:
            about = Finding(
                code="below-roof",
                title=f"{capital(use.name)} below the roof",
                text=f"{capital(use.name)}: {duration(use.duration_ns)} on {use.device}, at its limits {duration(use.attainable_ns or 0)}"
                f" ({use.diagnosis}); there the window takes {duration(model.window.wall - saving)}"
                f" (−{ratio(saving / model.window.wall)}): {first_clause(use.action or '')}.",
                cost_ns=0,
                evidence="kinds of operators in the utilisation section",
                saving_ns=saving,
                event=timeline.event(_longest(measured, mine[places])),
            )
            yield Offered(about, measured.work.row[mine[places]].astype(np.intp))


def _longest(measured: Measured, mask: NDArray[np.bool_]) -> int:
    """Return the slice of the longest work in the mask; −1 where there is none."""
    work = measured.work
    at = int(np.argmax(np.where(mask, work.duration, -1)))
    return int(work.row[at]) if mask[at] else -1

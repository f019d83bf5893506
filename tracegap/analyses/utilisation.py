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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals, operators, waste
from tracegap.activity import Rows
from tracegap.analyses import chains, roofline, transfers
from tracegap.analyses.chains import ChainUse
from tracegap.analyses.contract import Model
from tracegap.analyses.counted import CounterUse, place
from tracegap.analyses.roofline import Part, Use
from tracegap.analyses.steps import median
from tracegap.analyses.transfers import CollectiveUse, CopyUse
from tracegap.costs.diagnosis import Branch
from tracegap.costs.limits import Limits
from tracegap.kinds import Kind
from tracegap.operators import HOST, Measured
from tracegap.problems import Problem, problem
from tracegap.report import Column, Finding, Section, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, bandwidth, count, duration, flops, ratio, size
from tracegap.waste import Waste

NAME = "utilisation"
TITLE = "Busy or fast?"

SHORT = 10_000
"""ns: kernels shorter than this take about as long to launch as to run."""
MOST = 4
"""Devices that sentences are about."""
WORTH = 0.01
"""Share of the time under which nothing is said."""
TOP = 20
"""Rows of a long table."""
_OCCUPANCY = "est. achieved occupancy %"
_BLOCKS = "blocks per SM"


@dataclass(frozen=True, slots=True)
class TrackUse:
    """A thread or stream; ``track`` is its number in ``trace.tracks``."""

    track: int
    name: str
    busy_ns: int
    busy_ratio: float


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device: ``kernels`` counts compute and communication, ``short_ratio`` is the share of their time in short ones."""

    device: str
    busy_ns: int
    busy_ratio: float
    kernels: int
    median_kernel_ns: int | None = None
    short_ratio: float | None = None
    median_queue: int | None = None
    median_launch_delay_ns: int | None = None
    occupancy_ratio: float | None = None
    sm_efficiency_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of the device with most work: ``flops_per_s`` for the type in which most of its arithmetic is, ``types`` for all."""

    device: str
    source: str
    flops_per_s: float | None = None
    bytes_per_s: float | None = None
    types: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class LooseKernel:
    """Device work that no operator launched, by name."""

    name: str
    device: str
    count: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Result of the analysis.

    ``families`` and ``totals`` (one a device) sum up the ``operators`` that have a cost; ``modelled_ratio`` is their share of the time of
    kernels, or of host operators where there is no device. ``ideal_wall_ns`` is from replay.
    """

    tracks: tuple[TrackUse, ...]
    devices: tuple[DeviceUse, ...]
    operators: tuple[Use, ...] = ()
    families: tuple[Use, ...] = ()
    totals: tuple[Use, ...] = ()
    modelled_ratio: float | None = None
    ideal_wall_ns: int | None = None
    limits: DeviceLimits | None = None
    chains: tuple[ChainUse, ...] = ()
    kernels: tuple[LooseKernel, ...] = ()
    communication: tuple[CollectiveUse, ...] = ()
    copies: tuple[CopyUse, ...] = ()
    counters: CounterUse | None = None
    wall_ns: int | None = None
    waste: tuple[Waste, ...] = ()


def run(model: Model) -> Utilisation | None:
    """Measure how busy tracks and devices are; None for an empty window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    near = activity.overlapping(timeline, window.start, window.end)
    measured = operators.measure(timeline, window)
    found, places = roofline.parts(measured)
    limits = roofline.limits_of(timeline, model.hardware)
    uses = roofline.uses(timeline, measured.calls, found, limits)
    ideal = None
    if any(use.attainable_ns is not None for use in uses):
        ideal = roofline.replayed(model, measured, roofline.scales(measured, found, places, limits))
    main = _main_device(found)
    return Utilisation(
        tracks=_tracks(timeline, window),
        devices=tuple(_devices(timeline, window, near)),
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


def _tracks(timeline: Timeline, window: Window) -> tuple[TrackUse, ...]:
    track, busy = activity.busy_by_track(timeline, window.start, window.end)
    length = np.zeros(len(timeline.tracks), np.int64)
    np.add.at(length, track, busy.end - busy.start)
    return tuple(
        TrackUse(row, timeline.tracks.label[row], int(length[row]), int(length[row]) / window.wall)
        for row in np.unique(track).tolist()
    )


def _devices(timeline: Timeline, window: Window, near: NDArray[np.bool_]) -> list[DeviceUse]:
    slices = timeline.slices
    found = []
    for device, about in enumerate(timeline.devices):
        rows = activity.device_rows(timeline, device)
        rows = rows[near[rows]]
        if not len(rows):
            continue
        busy = intervals.total(
            intervals.clip(intervals.union(slices.start[rows], slices.end[rows]), window.start, window.end)
        )
        kernels = rows[slices.kind[rows] != Kind.COPY]
        length = slices.end[kernels] - slices.start[kernels]
        total = int(length.sum())
        linked = rows[slices.launch[rows] >= 0]
        start, launch = slices.start[linked], slices.start[slices.launch[linked]]
        found.append(
            DeviceUse(
                device=about.label,
                busy_ns=busy,
                busy_ratio=busy / window.wall,
                kernels=len(kernels),
                median_kernel_ns=median(length) if len(kernels) else None,
                short_ratio=int(length[length < SHORT].sum()) / total if total else None,
                median_queue=median(_queue(launch, start)) if len(linked) else None,
                median_launch_delay_ns=median(start - launch) if len(linked) else None,
                occupancy_ratio=_weighted(timeline, kernels, _OCCUPANCY, most=100),
                sm_efficiency_ratio=_weighted(timeline, kernels, _BLOCKS, most=1),
            )
        )
    return found


def _queue(launch: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each device slice how many others were launched and not started when it started.

    Examples
    --------
    >>> _queue(np.array([0, 1, 2]), np.array([5, 6, 7])).tolist()
    [2, 1, 0]
    """
    launched = np.searchsorted(np.sort(launch), start, side="right")
    started = np.searchsorted(np.sort(start), start, side="right")
    waiting: NDArray[np.int64] = np.maximum(launched - started, 0)
    return waiting


def _weighted(timeline: Timeline, kernels: Rows, argument: str, *, most: float) -> float | None:
    """Return the mean of an argument of kernels, each up to `most` and weighted by its time, as a share of `most`."""
    slices = timeline.slices
    told = timeline.arg(argument).at(slices.event[kernels]).astype(np.float64)
    known = np.isfinite(told) & (told >= 0)
    weight = (slices.end[kernels] - slices.start[kernels])[known]
    total = int(weight.sum())
    return float(np.dot(np.minimum(told[known], most), weight)) / total / most if total else None


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
    lines = [_sentence(device) for device in result.devices]
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
    lines += [*_work_lines(result), *waste.sentences(result.waste)]
    return Section(NAME, TITLE, tuple(lines), tuple(_tables(result)), tuple(_notes(result)))


def _work_lines(result: Utilisation) -> Iterator[str]:
    rated = [use for use in result.totals if use.duration_ns > 0 and (use.flops_per_s or use.bytes_per_s)]
    main = [use for use in rated if use.device != roofline.HOST_LABEL] or rated
    for total in main[:MOST]:
        share = f" ({_share(result)})" if len(main) == 1 and result.modelled_ratio is not None else ""
        yield f"{_capital(total.device)}, over what has a cost model{share}: {_achieved(total)}{_meant(total)}."
    worst = _worst(result, {use.device for use in main})
    if worst is not None:
        yield f"Farthest from the roof is {named(worst.name)}, {duration(worst.duration_ns)}: {_achieved(worst)}{_meant(worst)}."
    for chain in result.chains[:1]:
        if chain.bytes and chain.duration_ns >= WORTH * sum(use.duration_ns for use in main):
            yield _chain_sentence(chain)
    if result.ideal_wall_ns is not None and result.wall_ns:
        if result.ideal_wall_ns < (1 - WORTH) * result.wall_ns:
            yield f"With all of that at the roof the window would take {duration(result.ideal_wall_ns)}."
        else:
            yield "With all of that at the roof the window would take as long: something else binds it."


def _share(result: Utilisation) -> str:
    what = "kernel" if result.devices else "operator"
    return f"{ratio(result.modelled_ratio or 0.0)} of {what} time"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _achieved(use: Use) -> str:
    """Write rates and fractions; a fraction over 1 is not written."""
    parts = []
    if use.flops_per_s:
        share = "" if use.f_c is None or use.over_limit else f", {ratio(use.f_c)} of the peak"
        parts.append(f"{flops(use.flops_per_s)}{share}")
    if use.bytes_per_s:
        share = "" if use.f_b is None or use.over_limit else f", {ratio(use.f_b)} of the bandwidth"
        parts.append(f"{bandwidth(use.bytes_per_s)}{share}")
    return " and ".join(parts) or "rates are not known"


def _meant(use: Use) -> str:
    if use.over_limit:
        return "; above a limit, so a count, the clock or the limit is wrong"
    return f": {use.diagnosis}" if use.diagnosis else ""


def _worst(result: Utilisation, devices: set[str]) -> Use | None:
    """Return the family that loses most time to the roof, where there are several."""
    known = [use for use in result.families if use.attainable_ns is not None and use.device in devices]
    return max(known, key=_lost) if len(known) > 1 else None


def _lost(use: Use) -> int:
    return use.duration_ns - (use.attainable_ns or 0)


def _chain_sentence(chain: ChainUse) -> str:
    share = "" if chain.f_b is None or chain.over_limit else f", {ratio(chain.f_b)} of the bandwidth"
    rate = f" at {bandwidth(chain.bytes_per_s)}{share}" if chain.bytes_per_s else ""
    meant = f": {chain.diagnosis}" if chain.diagnosis else ""
    often = f", {count(chain.count)} times" if chain.count > 1 else ""
    return (
        f"{len(chain.names)} elementwise operators in a row ({_arrows(chain)}{often}) move {size(chain.bytes or 0)}"
        f" in {duration(chain.duration_ns)}{rate}{meant}; fused they would move {size(chain.saving_bytes)} less,"
        " if each feeds the next."
    )


def _arrows(chain: ChainUse) -> str:
    first, last = chain.names[0], chain.names[-1]
    between = " → … → " if len(chain.names) > 2 else " → "
    return f"{named(first)}{between}{named(last)}"


def _notes(result: Utilisation) -> Iterator[str]:
    rated = any(use.flops_per_s or use.bytes_per_s for use in result.operators)
    if rated and result.limits is None:
        yield (
            f"The limits of {_asked(result)} are not known, so rates are no fractions: give --device-limits FILE.toml, or"
            " --peak-flops and --peak-bandwidth."
        )
    over = sum(1 for use in result.operators if use.over_limit)
    if over:
        yield f"{count(over)} operators are faster than a limit allows: their counts, the clock or the limits are wrong, or caches served them."
    if result.operators and not rated:
        yield "What operators compute and move is not known: the trace has no shapes that a cost model reads. PyTorch records them with record_shapes=True."
    elif result.modelled_ratio is not None and result.modelled_ratio < 1:
        yield f"{ratio(1 - result.modelled_ratio)} of {'kernel' if result.devices else 'operator'} time has no cost model."
    if result.limits is not None and rated:
        yield f"Limits of {result.limits.device} from {result.limits.source}."
    loose = sum(kernel.duration_ns for kernel in result.kernels)
    if loose:
        yield f"{duration(loose)} of device time is in work that no operator in the trace launched."
    if result.counters is not None:
        yield _counted(result.counters)
        yield from result.counters.warnings


def _asked(result: Utilisation) -> str:
    return result.devices[0].device if result.devices else "the host"


def _counted(use: CounterUse) -> str:
    parts = []
    if use.instructions_per_cycle is not None:
        parts.append(f"{use.instructions_per_cycle:.2f} instructions a cycle")
    if use.flops_per_s is not None:
        parts.append(flops(use.flops_per_s) + ("" if use.f_c is None or use.over_limit else f" ({ratio(use.f_c)})"))
    if use.bytes_per_s is not None:
        share = "" if use.f_b is None or use.over_limit else f" ({ratio(use.f_b)})"
        parts.append(f"{bandwidth(use.bytes_per_s)} from last-level cache misses{share}")
    if use.flops_per_instruction is not None:
        parts.append(f"{use.flops_per_instruction:.2f} FLOPs an instruction")
    if use.vectorised is False:
        parts.append("so not vectorised")
    meant = f": {use.diagnosis}" if use.diagnosis else ""
    return f"Counters over {duration(use.duration_ns)} ({use.basis}): {', '.join(parts) or 'nothing that can be used'}{meant}."


def _tables(result: Utilisation) -> Iterator[Table]:
    if result.families:
        yield _use_table("What kinds of operators do", result.families, shapes=False)
    if any(use.flops or use.bytes for use in result.operators):
        yield _use_table("Operators by shapes", result.operators[:TOP], shapes=True, total=len(result.operators))
    if result.chains:
        yield _chain_table(result.chains)
    if result.waste:
        yield waste.table(result.waste)
    if result.communication:
        yield _communication_table(result.communication)
    if result.copies:
        yield _copy_table(result.copies)
    if result.kernels:
        yield _kernel_table(result.kernels)
    yield Table(
        title="Threads and streams",
        columns=(
            Column("track", Unit.TEXT, tuple(track.name for track in result.tracks)),
            Column("busy", Unit.NANOSECONDS, tuple(track.busy_ns for track in result.tracks), bar=True),
            Column("of window", Unit.RATIO, tuple(track.busy_ratio for track in result.tracks)),
        ),
        total=len(result.tracks),
        brief=0,
    )


def _use_table(title: str, uses: Sequence[Use], *, shapes: bool, total: int | None = None) -> Table:
    """Make a table of uses; fractions and rates over a limit are left blank, the diagnosis says why."""
    where = tuple(use.device for use in uses)
    fair = [None if use.over_limit else use for use in uses]
    columns = [
        Column("", Unit.TEXT, tuple(use.name for use in uses)),
        *([Column("shapes", Unit.TEXT, tuple(use.shapes or "" for use in uses))] if shapes else []),
        *([Column("on", Unit.TEXT, where)] if len(set(where)) > 1 else []),
        Column("calls", Unit.COUNT, tuple(use.count for use in uses)),
        Column("time", Unit.NANOSECONDS, tuple(use.duration_ns for use in uses)),
        Column("bound", Unit.TEXT, tuple(use.diagnosis or "" for use in uses)),
        Column("compute", Unit.RATE_FLOPS, tuple(use and (use.flops_per_s or None) for use in fair)),
        Column("of peak", Unit.RATIO, tuple(use and use.f_c for use in fair)),
        Column("memory", Unit.RATE_BYTES, tuple(use and (use.bytes_per_s or None) for use in fair)),
        Column("of limit", Unit.RATIO, tuple(use and use.f_b for use in fair)),
        Column("least time", Unit.NANOSECONDS, tuple(use.attainable_ns for use in uses)),
    ]
    kept = tuple(column for column in columns if any(value not in (None, "") for value in column.values))
    return Table(title, kept, total=total if total is not None else len(uses), brief=0)


def _chain_table(found: Sequence[ChainUse]) -> Table:
    shown = found[:TOP]
    return Table(
        "Elementwise operators in a row, and what fusing them would not move",
        (
            Column("", Unit.TEXT, tuple(" → ".join(chain.names) for chain in shown)),
            Column("chains", Unit.COUNT, tuple(chain.count for chain in shown)),
            Column("tensor", Unit.BYTES, tuple(chain.tensor_bytes for chain in shown)),
            Column("time", Unit.NANOSECONDS, tuple(chain.duration_ns for chain in shown)),
            Column("moved", Unit.BYTES, tuple(chain.bytes for chain in shown)),
            Column("less", Unit.BYTES, tuple(chain.saving_bytes for chain in shown)),
        ),
        total=len(found),
        brief=0,
    )


def _communication_table(found: Sequence[CollectiveUse]) -> Table:
    return Table(
        "Communication",
        (
            Column("", Unit.TEXT, tuple(use.name for use in found)),
            Column("on", Unit.TEXT, tuple(use.device for use in found)),
            Column("ranks", Unit.COUNT, tuple(use.ranks for use in found)),
            Column("calls", Unit.COUNT, tuple(use.count for use in found)),
            Column("time", Unit.NANOSECONDS, tuple(use.duration_ns for use in found)),
            Column("bytes", Unit.BYTES, tuple(use.bytes for use in found)),
            Column("algorithm", Unit.RATE_BYTES, tuple(use.algorithm_bytes_per_s for use in found)),
            Column("bus", Unit.RATE_BYTES, tuple(use.bus_bytes_per_s for use in found)),
        ),
        total=len(found),
        brief=0,
    )


def _copy_table(found: Sequence[CopyUse]) -> Table:
    return Table(
        "Copies",
        (
            Column("", Unit.TEXT, tuple(use.name for use in found)),
            Column("on", Unit.TEXT, tuple(use.device for use in found)),
            Column("calls", Unit.COUNT, tuple(use.count for use in found)),
            Column("time", Unit.NANOSECONDS, tuple(use.duration_ns for use in found)),
            Column("bytes", Unit.BYTES, tuple(use.bytes for use in found)),
            Column("rate", Unit.RATE_BYTES, tuple(use.bytes_per_s for use in found)),
        ),
        total=len(found),
        brief=0,
    )


def _kernel_table(found: Sequence[LooseKernel]) -> Table:
    shown = found[:TOP]
    return Table(
        "Device work that no operator launched",
        (
            Column("", Unit.TEXT, tuple(kernel.name for kernel in shown)),
            Column("on", Unit.TEXT, tuple(kernel.device for kernel in shown)),
            Column("calls", Unit.COUNT, tuple(kernel.count for kernel in shown)),
            Column("time", Unit.NANOSECONDS, tuple(kernel.duration_ns for kernel in shown)),
        ),
        total=len(found),
        brief=0,
    )


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
}
"""What each finding of this analysis means and what to do."""

_BELOW = (Branch.COMPUTE_INEFFICIENT, Branch.BANDWIDTH_INEFFICIENT, Branch.TWO_PHASE, Branch.LATENCY)


def findings(result: Utilisation, model: Model, *, least: float = 0.03) -> Iterator[Finding]:
    """Yield what is worth doing about slow work: the largest chain to fuse, the family that loses most to the roof.

    Both only where replay says that the window would be shorter for it; two sums over the window's work and a replay each.

    Parameters
    ----------
    result : Utilisation
    model : Model
    least : float
        Share of the window under which a cost or a saving is no finding.
    """
    bar = least * model.window.wall
    chain = next((one for one in result.chains if one.duration_ns >= bar and one.bytes and not one.over_limit), None)
    losing = [use for use in result.families if use.diagnosis in _BELOW and _lost(use) >= bar]
    if chain is not None:
        losing = [use for use in losing if use.name != "elementwise"]
    if chain is None and not losing:
        return
    timeline, window = model.timeline, model.window
    measured = operators.measure(timeline, window)
    if chain is not None:
        saving = window.wall - roofline.replayed(model, measured, chains.fused(timeline, measured, chain))
        if saving >= bar:
            yield Finding(
                code="elementwise-chain",
                title="Elementwise operators in a row",
                text=f"{_chain_sentence(chain).removesuffix('.')}: fuse them.",
                cost_ns=chain.duration_ns,
                evidence="chains in the utilisation section",
                saving_ns=saving,
            )
    if losing:
        use = max(losing, key=_lost)
        found, places = roofline.parts(measured)
        mine = np.array([roofline.is_of(timeline, measured.calls, part, use) for part in found], np.bool_)
        scale = roofline.scales(measured, found, places, roofline.limits_of(timeline, model.hardware))
        saving = window.wall - roofline.replayed(model, measured, np.where(mine[places], scale, 1.0))
        if saving >= bar:
            yield Finding(
                code="below-roof",
                title=f"{_capital(use.name)} below the roof",
                text=f"{_capital(use.name)} takes {duration(use.duration_ns)} and could take"
                f" {duration(use.attainable_ns or 0)} on {use.device}: {_achieved(use)}{_meant(use)}. {use.action}",
                cost_ns=_lost(use),
                evidence="kinds of operators in the utilisation section",
                saving_ns=saving,
            )


def _sentence(device: DeviceUse) -> str:
    text = f"{device.device} is busy {ratio(device.busy_ratio)} of the window ({duration(device.busy_ns)})"
    if device.median_kernel_ns is None:
        return f"{text}, with copies only."
    text += f" with {count(device.kernels)} kernels, median {duration(device.median_kernel_ns)}"
    if device.short_ratio:
        text += f"; {ratio(device.short_ratio)} of kernel time is in kernels under {duration(SHORT)}"
    if device.median_queue is not None:
        text += f"; {count(device.median_queue)} launches wait at the median start"
    if device.occupancy_ratio is not None:
        text += f"; estimated occupancy {ratio(device.occupancy_ratio)}"
    if device.sm_efficiency_ratio is not None:
        text += f"; blocks for {ratio(device.sm_efficiency_ratio)} of its multiprocessors"
    return text + "."

"""Overhead: what no operator profile shows, because it belongs to no operator.

**What it shows.** The sum of the operators' times, the union of them, the wall clock, and the difference, on the host and on the
devices; the host's difference by cause; operators by name; runs of operators on one provider, and what crossing between them costs.

**Why it costs time.** A table of operators can add up to half of the wall clock and still look complete. What is missing is
Python between operators, API calls, waiting, loading of data, and the framework around its own nodes.

**How it is computed.** An operator's time is its slice less the operators inside it; API calls inside count to it. The union is taken
over all threads, so overhead = wall − union, which is wall − sum where no two operators overlap; concurrency is sum / union.
Each moment in no operator goes to the first that applies of: profiler, sync, input, allocator, runtime, outside the executor,
in the executor but in no node, between steps, untraced host; what is left is unattributed. Untraced time is named by the innermost
annotation or frame that its thread was in: a range without operators is work in none of them, which the critical path counts as work. On the devices the parts are the causes of the gaps in which none of them runs (see gaps).
The parts add up to the overhead.
What reaches over the window's edge is clipped. ``self_ns`` is an operator's time less everything inside it, API calls too.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.contract import Model
from tracegap.analyses.first_run import find_first_run
from tracegap.analyses.gaps import idle_causes
from tracegap.analyses.host_causes import in_no_operator, operator_rows, parts_of, untraced_of
from tracegap.analyses.overhead_results import Operator, Overhead, Part, Side, WallClock
from tracegap.analyses.overhead_words import TITLE, section
from tracegap.analyses.partitions import find_partitions
from tracegap.analyses.steps import clocks, is_first_apart, median
from tracegap.charges import Charge
from tracegap.kinds import Kind
from tracegap.timeline import Timeline, Window

__all__ = ["NAME", "TITLE", "Overhead", "run", "section"]

NAME = "overhead"

TRUSTED = 0.1
"""How far the traced time may be from the clean one before the profiler is what is being studied."""


def run(model: Model) -> Overhead | None:
    """Weigh operators against the wall clock; None where neither operators nor a device are in the window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    rows = operator_rows(timeline, window)
    devices = activity.device_rows(timeline)
    devices = devices[activity.overlapping(timeline, window.start, window.end)[devices]]
    if not len(rows) and not len(devices):
        return None
    return Overhead(
        host=_host(timeline, window, rows) if len(rows) else None,
        device=_device(model, devices) if len(devices) else None,
        operators=tuple(_operators(timeline, window, rows, devices)),
        partitions=find_partitions(timeline, window),
        first_run=find_first_run(model),
        wall_clock=_wall_clock(model),
        elsewhere_ns=_elsewhere(model) if len(rows) and not len(devices) else None,
    )


def _elsewhere(model: Model) -> int:
    path = model.path
    untraced = path.charge == Charge.UNTRACED_HOST
    alone = in_no_operator(model.timeline, model.window)
    start, end = path.start[untraced], path.end[untraced]
    return int((end - start - (intervals.covered(alone, end) - intervals.covered(alone, start))).sum())


def _host(timeline: Timeline, window: Window, rows: Rows) -> Side:
    slices = timeline.slices
    above = activity.enclosing_operator(timeline)[rows]
    counted = np.zeros(len(slices), bool)
    counted[rows] = True
    roots = rows[(above < 0) | ~counted[above]]  # what encloses an operator may itself be implausible
    length = np.minimum(slices.end[roots], window.end) - np.maximum(slices.start[roots], window.start)
    idle = in_no_operator(timeline, window)
    side = _made(int(length.sum()), window.wall - intervals.total(idle), window, parts_of(timeline, window, idle))
    return replace(side, untraced=untraced_of(timeline, window, idle) or None)


def _device(model: Model, rows: Rows) -> Side:
    """Weigh all devices together; the parts of their overhead are the causes of the gaps in which none of them runs."""
    slices, window = model.timeline.slices, model.window
    start, end = np.maximum(slices.start[rows], window.start), np.minimum(slices.end[rows], window.end)
    busy = intervals.union(start, end)
    causes = idle_causes(model, rows, intervals.gaps(busy, window.start, window.end))
    parts = tuple(Part(cause, time) for cause, time in causes.items())
    return _made(int((end - start).sum()), intervals.total(busy), window, parts)


def _made(operator_sum: int, union: int, window: Window, parts: tuple[Part, ...] | None) -> Side:
    overhead = window.wall - union
    return Side(
        operator_sum_ns=operator_sum,
        union_ns=union,
        wall_ns=window.wall,
        overhead_ns=overhead,
        overhead_ratio=overhead / window.wall,
        concurrency=operator_sum / union if union else None,
        parts=parts,
    )


def _operators(timeline: Timeline, window: Window, rows: Rows, devices: Rows) -> list[Operator]:
    slices = timeline.slices
    names = len(timeline.names) + 1  # the last place: no name
    whole = np.maximum(0, np.minimum(slices.end, window.end) - np.maximum(slices.start, window.start))
    own = whole.copy()
    inner = np.flatnonzero(slices.parent >= 0)
    np.subtract.at(own, slices.parent[inner], whole[inner])
    around = activity.operator_of(timeline)

    def by_name(owner: NDArray[np.int32], length: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(names, np.int64)
        known = owner >= 0
        np.add.at(sums, slices.name[owner[known]], length[known])
        return sums

    def inside(kind: Kind) -> NDArray[np.int64]:
        of_kind = slices.kind == kind
        return by_name(around[of_kind], own[of_kind])

    counts = np.bincount(np.where(slices.name[rows] >= 0, slices.name[rows], names - 1), minlength=names)
    self_time, total = by_name(rows.astype(np.int32), own[rows]), by_name(rows.astype(np.int32), whole[rows])
    operator, runtime, sync = by_name(around, own), inside(Kind.RUNTIME), inside(Kind.SYNC)
    launch = slices.launch[devices]
    device = by_name(np.where(launch >= 0, around[launch], -1).astype(np.int32), whole[devices])
    told = [
        Operator(
            name=timeline.names[name] if name < names - 1 else "",
            count=int(counts[name]),
            operator_ns=int(operator[name]),
            self_ns=int(self_time[name]),
            total_ns=int(total[name]),
            device_ns=int(device[name]) if len(devices) else None,
            runtime_ns=int(runtime[name]) or None,
            sync_ns=int(sync[name]) or None,
        )
        for name in np.flatnonzero(counts).tolist()
    ]
    return sorted(told, key=lambda one: (-one.operator_ns, one.name))


def _wall_clock(model: Model) -> WallClock | None:
    clean = model.wall_clock_ns
    if clean is None or clean <= 0:
        return None
    rows = np.array(model.window.steps, np.intp)
    traced = model.window.wall
    if len(rows):
        _, begin, finish = clocks(model.timeline, rows)
        time = finish - begin
        traced = median(time[1:] if is_first_apart(time) else time)
    return WallClock(clean, traced, traced / clean, abs(traced - clean) <= TRUSTED * clean)

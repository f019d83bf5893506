"""Who owns the critical path: each of its nanoseconds belongs to one finding at most.

In: a `Model` and the results of its analyses. Out: a `Ledger`, the path's segments with the finding that owns each. What no
finding owns is work that is as it should be, as far as the path can tell.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals, segments
from tracegap.analyses import host_causes, partitions
from tracegap.analyses.contract import Model
from tracegap.analyses.gaps import device_busy
from tracegap.analyses.overhead_results import Overhead
from tracegap.analyses.steps import Steps, clocks
from tracegap.charges import Charge
from tracegap.edges import Cause
from tracegap.intervals import Intervals
from tracegap.kinds import CONTEXT
from tracegap.segments import Segments

DISPATCH = 100_000
"""ns of its own time up to which an operator or API call is taken to hand out work; one that takes longer does something else:
it computes on the host, loads a module, waits."""

LAUNCHING = (Charge.OPERATOR, Charge.RUNTIME, Charge.LAUNCH, Charge.SCHEDULING)
"""What handing out work call by call consists of, while a device waits for it."""

OWNERS = (
    "",
    "first-step",
    "sync",
    "input",
    "allocation",
    "untraced-host",
    "launch-overhead",
    "exposed-communication",
    "exposed-copies",
    "thread-handover",
    "between-steps",
    "outside-executor",
    "between-nodes",
    "partition-handoffs",
    "provider-fallback",
)
"""Findings that own time of the path; the first is none."""

_BY_CHARGE = {
    Charge.INPUT: "input",
    Charge.ALLOCATOR: "allocation",
    Charge.COMMUNICATION: "exposed-communication",
    Charge.COPY: "exposed-copies",
    Charge.DEPENDENCY: "thread-handover",
    Charge.BETWEEN_STEPS: "between-steps",
    Charge.UNTRACED_HOST: "untraced-host",
}


@dataclass(frozen=True, eq=False)
class Ledger:
    """The critical path and its owners.

    Attributes
    ----------
    path : Segments
        k segments that tile the window.
    owner : uint8[k]
        A place in `OWNERS`.
    spans : mapping of str to Intervals
        Where a finding owns only what lies in a certain time: that time.
    """

    path: Segments
    owner: NDArray[np.uint8]
    spans: Mapping[str, Intervals]

    def costs(self) -> dict[str, int]:
        """Return the time of each finding, ns."""
        length = self.path.end - self.path.start
        sums = np.zeros(len(OWNERS), np.int64)
        np.add.at(sums, self.owner, length)
        return {code: total for code, total in zip(OWNERS, sums.tolist(), strict=True) if code and total}

    def longest(self, code: str) -> int:
        """Return the slice of the longest segment that a finding owns; −1 where it owns none of a slice."""
        return self.path.longest(self.owner == OWNERS.index(code)) if code in OWNERS else -1


def draw_up(model: Model, results: Mapping[str, Any], *, blaming: bool, spared: Collection[str] = ()) -> Ledger:
    """Divide the path: the first that applies owns a segment.

    The first step's excess; what follows a blocking call until the device that it drained works again; what a partition or
    executor explains; then each cause to its finding.

    Parameters
    ----------
    blaming : bool
        Whether blocking calls own what follows them: only if anything is gained without them. Where the host is the slower side
        anyway, the device runs dry without them too.
    spared : collection of str
        Findings that keep what is theirs behind a blocking call.
    """
    path = model.path
    spans = dict(_spans(model, results))
    drained = _drained(model, path) if blaming else intervals.EMPTY
    path = segments.cut(path, np.concatenate([moment for span in (*spans.values(), drained) for moment in span]))
    of_charge = np.zeros(256, np.uint8)
    for charge, code in _BY_CHARGE.items():
        of_charge[charge] = OWNERS.index(code)
    owner = of_charge[path.charge]
    if has_device(model):
        owner[_dispatching(model, path)] = OWNERS.index("launch-overhead")
    untraced = np.isin(path.charge, (Charge.UNTRACED_HOST, Charge.BETWEEN_STEPS))
    for code, span in spans.items():
        if code == "provider-fallback":
            owner[_in(span, path.start) & (path.charge == Charge.OPERATOR)] = OWNERS.index(code)
        elif code != "first-step":
            owner[_in(span, path.start) & untraced] = OWNERS.index(code)
    kept = np.isin(path.charge, (Charge.KERNEL, Charge.PROFILER)) | np.isin(
        owner, [OWNERS.index(code) for code in spared]
    )
    owner[_in(drained, path.start) & ~kept] = OWNERS.index("sync")
    if "first-step" in spans:
        owner[_in(spans["first-step"], path.start)] = OWNERS.index("first-step")
    return Ledger(path, owner, spans)


def has_device(model: Model) -> bool:
    """Whether something ran on a device in the window."""
    timeline, window = model.timeline, model.window
    near = activity.overlapping(timeline, window.start, window.end)
    return bool(near[activity.device_rows(timeline)].any())


def _dispatching(model: Model, path: Segments) -> NDArray[np.bool_]:
    slices = model.timeline.slices
    works = np.isin(path.charge, (Charge.OPERATOR, Charge.RUNTIME)) & (path.slice >= 0)
    works &= (slices.self_time[path.slice] > DISPATCH) | np.isin(slices.kind[path.slice], CONTEXT)
    hands_out: NDArray[np.bool_] = np.isin(path.charge, LAUNCHING) & ~works
    return hands_out


def _spans(model: Model, results: Mapping[str, Any]) -> Mapping[str, Intervals]:
    """Return the time in which some findings own what is untraced, later ones first."""
    timeline, window = model.timeline, model.window
    spans: dict[str, Intervals] = {}
    weighed: Overhead | None = results.get("overhead")
    for charge, span in host_causes.claims(timeline, window):
        if charge in (Charge.OUTSIDE_EXECUTE, Charge.IN_EXECUTE):
            code = "outside-executor" if charge == Charge.OUTSIDE_EXECUTE else "between-nodes"
            taken = spans.get("outside-executor", intervals.EMPTY)
            spans[code] = intervals.subtract(span, taken)
    split = weighed.partitions if weighed is not None else None
    if split is not None and split.fallbacks:
        spans["provider-fallback"] = partitions.fallen_back(timeline, window)
    if split is not None and split.handoffs:
        spans["partition-handoffs"] = partitions.handoffs(timeline, window)
    steps: Steps | None = results.get("steps")
    if steps is not None and steps.first_apart:
        excess = steps.first_ns - steps.median_ns
        _, begin, finish = clocks(timeline, np.array(window.steps, np.intp))
        spans["first-step"] = intervals.union(begin[:1], np.minimum(finish[:1], begin[:1] + excess))
    return spans


def _drained(model: Model, path: Segments) -> Intervals:
    """Return the time from the return of each blocking call on the path to the end of the gap that it left."""
    dag, timeline, window = model.dag, model.timeline, model.window
    returns = np.flatnonzero(dag.cause[path.edge] == Cause.SYNC)
    starts, ends = [], []
    for device in range(len(timeline.devices)):
        idle = intervals.gaps(device_busy(timeline, window, device), window.start, window.end)
        place = np.searchsorted(idle.start, path.end[returns], side="left") - 1
        good = (place >= 0) & (len(idle.start) > 0)
        good[good] = path.end[returns[good]] <= idle.end[place[good]]
        starts.append(path.start[returns[good]])
        ends.append(idle.end[place[good]])
    if not starts:
        return intervals.EMPTY
    return intervals.union(np.concatenate(starts), np.concatenate(ends))


def _in(spans: Intervals, moments: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not len(spans.start):
        return np.zeros(len(moments), np.bool_)
    place = np.searchsorted(spans.start, moments, side="right") - 1
    inside: NDArray[np.bool_] = (place >= 0) & (moments < spans.end[place])
    return inside


def blocking(model: Model, ledger: Ledger) -> tuple[int, int]:
    """Return the blocking call of the path that owns most of it, a slice, and how many such calls are on the path."""
    dag, path = model.dag, ledger.path
    rows = path.slice[(dag.cause[path.edge] == Cause.SYNC) & (path.slice >= 0)]
    rows = np.unique(rows)
    names, place, counts = np.unique(model.timeline.slices.name[rows], return_inverse=True, return_counts=True)
    if not len(names):
        return -1, 0
    most = int(np.argmax(counts))
    return int(rows[np.flatnonzero(place == most)[0]]), int(counts[most])

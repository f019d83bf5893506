"""What bounds the window: the critical path by who does the work on it."""

from dataclasses import dataclass

import numpy as np

from tracegap import intervals
from tracegap.analyses.contract import Model
from tracegap.analyses.host_causes import is_executor
from tracegap.analyses.ledger import has_device
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.kinds import CONTEXT
from tracegap.report import named
from tracegap.segments import Segments
from tracegap.units import ratio

HALF, LEAD = 0.5, 0.15
"""What a bound needs of the critical path, and over the next."""

_SIDES = {
    Charge.KERNEL: "device",
    Charge.COPY: "device",
    Charge.COMMUNICATION: "communication",
    Charge.INPUT: "input",
    Charge.LAUNCH: "launch",
    Charge.SCHEDULING: "launch",
    Charge.IN_GRAPH: "launch",
    Charge.DEPENDENCY: "dependency",
    Charge.PROFILER: "profiler",
    Charge.UNATTRIBUTED: "unattributed",
}
"""Who works, or is waited for, where there is a device; what is not here is the host's."""

_SAID = {
    "host": "host work",
    "device": "device work",
    "launch": "launching and scheduling",
    "dependency": "waiting for other threads",
    "communication": "communication",
    "input": "input",
    "unattributed": "not recorded",
    "kernel": "device work",
    "copy": "copies",
    "scheduling": "scheduling",
    "in_graph": "time inside graphs",
    "profiler": "the profiler's own",
    "operator": "operators",
    "runtime": "API calls",
    "untraced_host": "untraced host time",
    "sync": "blocking calls",
    "between_steps": "time between steps",
    "allocator": "allocation",
    "in_execute": "time in the executor, in no node",
    "other_threads": "calls that wait for operators of other threads",
}


OTHERS = "other_threads"
"""The word for operators of other threads, which a call on the path waits for."""


@dataclass(frozen=True, slots=True)
class Share:
    """Part of the critical path: its word, how a sentence says it, and its share of the window."""

    word: str
    said: str
    ratio: float


def shares_of(model: Model, path: Segments, waits: Intervals) -> list[Share]:
    """Divide the path, the greatest share first; the shares add up to 1.

    With a device, by side: host, device, communication, … Without one, by cause, and ranges that stand for work by their names;
    in `waits`, the path waits for operators of other threads.
    """
    waiting = intervals.covered(waits, path.end) - intervals.covered(waits, path.start)
    length = path.end - path.start - waiting
    on_device = has_device(model)
    ranges = np.zeros(len(path), np.bool_)
    if not on_device:
        kind = model.timeline.slices.kind[path.slice]
        ranges = (path.charge == Charge.OPERATOR) & (path.slice >= 0) & np.isin(kind, CONTEXT)
    sums = np.zeros(len(Charge), np.int64)
    np.add.at(sums, path.charge[~ranges], length[~ranges])
    parts = [(_word(charge, sides=on_device), int(sums[charge])) for charge in Charge]
    names, place = np.unique(model.timeline.slices.name[path.slice[ranges]], return_inverse=True)
    named_time = np.zeros(len(names), np.int64)
    np.add.at(named_time, place, length[ranges])
    executors = is_executor(model.timeline)
    parts += [
        (Charge.IN_EXECUTE.word if executors[one] else model.timeline.names[one], time)
        for one, time in zip(names.tolist(), named_time.tolist(), strict=True)
    ]
    totals: dict[str, int] = {OTHERS: int(waiting.sum())}
    for word, time in parts:
        totals[word] = totals.get(word, 0) + time
    told = [
        Share(word, _SAID.get(word) or named(word), total / model.window.wall)
        for word, total in totals.items()
        if total
    ]
    return sorted(told, key=lambda one: (-one.ratio, one.word))


def _word(charge: Charge, *, sides: bool) -> str:
    return _SIDES.get(charge, "host") if sides else charge.word


def bound_of(shares: list[Share]) -> str:
    """Return the word of what has half of the path and `LEAD` over the next, else ``mixed``; ``unknown`` if nobody knows."""
    first, second = shares[0], shares[1].ratio if len(shares) > 1 else 0.0
    if first.ratio < HALF or first.ratio - second < LEAD:
        return "mixed"
    return "unknown" if first.word == Charge.UNATTRIBUTED.word else first.word


def said(shares: list[Share], *, first_only: bool = False) -> str:
    """Say the greatest shares and the rest, so that they add up to the path; or only the first.

    Examples
    --------
    >>> said([Share("host", "host work", 0.7), Share("device", "device work", 0.3)])
    '70.0 % of the critical path is host work, 30.0 % device work'
    """
    first, *others = shares[:3]
    parts = [f"{ratio(first.ratio)} of the critical path is {first.said}"]
    if first_only:
        return parts[0]
    parts += [f"{ratio(one.ratio)} {one.said}" for one in others]
    rest = sum(one.ratio for one in shares[3:])
    if rest >= 0.0005:
        parts.append(f"{ratio(rest)} other")
    return ", ".join(parts)

"""Faults of a trace that were counted and survived, and the catalogue of all that are known.

A stage never logs and never drops in silence: it returns `Problem` values made by `problem`, whose code must stand in
`CATALOGUE`. Each entry says what was seen and what the reader can do; `tracegap explain CODE` prints it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How much a problem costs: ``INFO`` changed nothing that is reported, ``LOSS`` may have."""

    INFO = "info"
    LOSS = "loss"


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry of the catalogue."""

    severity: Severity
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A known fault, as often as it occurred in one trace.

    Attributes
    ----------
    code : str
        A key of `CATALOGUE`.
    severity : Severity
    count : int
        Occurrences, at least 1.
    message : str
        What was seen, in one sentence.
    remedy : str
        What to do about it.
    example : str
        The first occurrence, as the reader can find it (byte offset, event number, name); "" when there is none.
    """

    code: str
    severity: Severity
    count: int
    message: str
    remedy: str
    example: str = ""


def problem(code: str, count: int = 1, example: str = "") -> Problem:
    """Make the problem `code`, seen `count` times.

    Examples
    --------
    >>> problem("launch-without-kernel", 4).count
    4
    """
    fault = CATALOGUE[code]
    return Problem(code, fault.severity, count, fault.message, fault.remedy, example)


def merge(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Add up problems of the same code, in order of first appearance, keeping the first example."""
    merged: dict[str, Problem] = {}
    for one in problems:
        if one.count <= 0:
            continue
        seen = merged.get(one.code)
        if seen is None:
            merged[one.code] = one
        else:
            merged[one.code] = replace(seen, count=seen.count + one.count, example=seen.example or one.example)
    return tuple(merged.values())


def _info(message: str, remedy: str) -> Fault:
    return Fault(Severity.INFO, message, remedy)


def _loss(message: str, remedy: str) -> Fault:
    return Fault(Severity.LOSS, message, remedy)


CATALOGUE: dict[str, Fault] = {
    # decode.py and events.py
    # timeline.py
    "launch-without-kernel": _loss(
        "Launch calls carry a correlation id, but no device slice in the trace has it.",
        "Device activity was lost; utilisation is a lower bound. Record fewer steps, or warm the profiler up first.",
    ),
    "kernel-without-launch": _info(
        "Device slices whose launch call is not in the trace.",
        "They count as device work; nothing can say which operator asked for them. Record CPU activity too.",
    ),
    "ambiguous-launch": _info(
        "Device slices whose correlation id is used by launches of several processes.",
        "They stay unlinked. Analyse the ranks' files one by one.",
    ),
    "clock-skew": _info(
        "Device slices that start before their launch call.",
        "Host and device clocks differ by about that much; launch delays this small mean nothing.",
    ),
    "clipped-child": _info(
        "Slices that outlived the slice around them by less than 1 µs were clipped to it.",
        "Nothing to do: the profiler rounds start and end apart.",
    ),
    "unfinished-frame": _info(
        "Python frames that end exactly when the recording does were clipped to the frame around them.",
        "Nothing to do: the profiler closes what is still open when it stops.",
    ),
    "spilled-slice": _info(
        "Slices of a thread that partly overlap another one were moved to a further lane.",
        "Nothing to do; their times are kept. Overlap on one thread means asynchronous or merged spans.",
    ),
    "stream-overlap": _loss(
        "Slices of one device stream overlap each other; busy time is their union, sums by name count the overlap twice.",
        "With programmatic dependent launch this is right. On ROCm it can be a wrong duration: compare with the next start.",
    ),
    "zero-duration": _info(
        "Slices of zero length.",
        "They count as calls and take no time: the profiler's clock is coarser than they are.",
    ),
    "implausible-time": _loss(
        "Events whose time stamp lies far outside all others were kept out of window and sums.",
        "The profiler wrote a wrong or missing time; look at the named event.",
    ),
    "implausible-duration": _loss(
        "Device slices longer than ten median steps were kept out of window and sums; the verdict is withheld where they matter.",
        "The profiler wrote a wrong duration; record again, or say --whole to count them.",
    ),
    "unbound-flow": _info(
        "Flow arrows without a start, an end or a slice to stand on.",
        "Nothing to do: links by correlation id are used where they exist.",
    ),
    "cut-step": _info(
        "Steps that the recording cut off were kept out of the statistics.",
        "Record one step more than you need.",
    ),
    "only-cut-steps": _info(
        "All steps in the trace are cut off by the recording; they were used all the same.",
        "Read step times as lower bounds; record one step more than you need.",
    ),
    "profiler-overhead": _info(
        "The profiler's own work stands in the window and is charged to itself.",
        "Compare with a clean run: --wall-clock MS.",
    ),
    "device-clock-offset": _info(
        "Processes in this file do not share a clock origin; no order between them is inferred.",
        "Record with one profiler session, or analyse the files one by one.",
    ),
}

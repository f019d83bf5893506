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
    # unpack.py
    "byte-order-mark": _info(
        "The text starts with a byte order mark, which JSON does not allow.",
        "Nothing to do: it was skipped.",
    ),
    "other-encoding": _info(
        "The text is not in UTF-8, the only encoding of JSON; it was converted.",
        "Nothing to do; byte offsets mean the converted text. Save the trace as UTF-8.",
    ),
    "truncated-archive": _loss(
        "The archive ends too early; what could be unpacked was used.",
        "Copy the file again, or record again: events at its end are missing.",
    ),
    "damaged-archive": _loss(
        "The archive is damaged; what stands before the damage was used.",
        "Copy the file again, or record again: events behind the damage are missing.",
    ),
    "archive-checksum": _loss(
        "The archive's check sum or length does not fit what was unpacked; all of it was used.",
        "Some bytes may be wrong. Copy the file again.",
    ),
    "archive-tail": _info(
        "Something that is not packed data stands behind the archive and was ignored.",
        "Nothing to do, unless you joined files: then unpack them one by one.",
    ),
    # chunks.py, elements.py and salvage.py
    "json-lines": _info(
        "The file has one event a line instead of an array.",
        "Nothing to do: all lines were read.",
    ),
    "repeated-events": _info(
        "The key `traceEvents` occurs more than once; the events of all were read.",
        "Look at how the file was joined; other tools use the last one only.",
    ),
    "damaged-header": _loss(
        "Parts of the header, the keys beside `traceEvents`, are not valid JSON and were left out.",
        "Device properties or the origin of time may be missing. Report it to the writer of the trace.",
    ),
    "truncated-trace": _loss(
        "The text ends before the JSON does; all complete events were used.",
        "The program ended before its profiler had written all. Steps at the end may be cut.",
    ),
    "second-document": _loss(
        "Events of a second document stand behind the first one in the file; they were left out.",
        "Two recordings were appended to one file: split it and analyse them one by one.",
    ),
    "trailing-garbage": _info(
        "Text behind the end of the trace was ignored.",
        "Nothing to do.",
    ),
    "trailing-nul": _info(
        "Zero bytes behind the end of the trace were ignored.",
        "Nothing to do: the file was allocated longer than it was written.",
    ),
    "skipped-event": _loss(
        "Events that are damaged beyond repair, or cut off, were left out.",
        "Look at the named byte. If several programs write to one file, give each its own.",
    ),
    "skipped-text": _loss(
        "Text between events that makes no sense was left out.",
        "Look at the named byte. If several programs write to one file, give each its own.",
    ),
    "not-an-object": _loss(
        "Items of the event list that are no objects were left out.",
        "Look at what wrote them; they carry no event.",
    ),
    "stray-comma": _info(
        "Commas with nothing behind them were ignored.",
        "Nothing to do: nothing was lost.",
    ),
    "missing-comma": _info(
        "Commas were missing and supplied.",
        "Nothing to do: nothing was lost.",
    ),
    "bare-quote": _info(
        "Events with unescaped quotes inside a text; they were taken as part of it.",
        "Check the named event's name. Newer versions of the profiler escape them.",
    ),
    "doubled-quotes": _info(
        "Events with a text in doubled quotes; the inner ones were dropped.",
        "Nothing to do.",
    ),
    "missing-quote": _info(
        "Events with a key that lacks a quote; it was supplied.",
        "Nothing to do.",
    ),
    "bare-value": _info(
        "Events with a value that is no JSON; it was taken as text.",
        "Check the named event.",
    ),
    "not-a-number": _info(
        "Events with NaN or Infinity, which JSON does not have; the value counts as missing.",
        "Check the named event; a missing time is counted apart.",
    ),
    "control-byte": _info(
        "Events with raw control bytes or line ends inside a text; they were kept as such.",
        "Nothing to do: nothing was lost.",
    ),
    "invalid-escape": _info(
        "Events with a backslash that escapes nothing, as in a Windows path; it was kept as a backslash.",
        "Nothing to do. Newer versions of the profiler escape it.",
    ),
    "bad-utf8": _info(
        "Events with bytes that are not UTF-8; each was replaced by U+FFFD.",
        "Names that differ only in those bytes become one.",
    ),
    "lone-surrogate": _info(
        "Events with half of a surrogate pair; it was replaced by U+FFFD.",
        "Names that differ only there become one.",
    ),
    "deep-nesting": _loss(
        "Events with arguments nested more than 200 levels deep; what is deeper was left out.",
        "Nothing to do: no analysis reads that deep.",
    ),
    # decode.py
    "no-time": _loss(
        "Events whose time stamp or duration is missing, no number, or beyond 64 bits of nanoseconds.",
        "They count nowhere. Look at the named event.",
    ),
    "negative-duration": _loss(
        "Slices with a duration below zero were dropped.",
        "The writer's clock went back; look at the named event.",
    ),
    "no-duration": _loss(
        "Complete events (X) without a duration were dropped as slices.",
        "They were still running when the recording stopped, or the writer left the duration out.",
    ),
    "odd-arguments": _info(
        "Events whose arguments are no object; they were read without them.",
        "Nothing to do.",
    ),
    "long-integer": _info(
        "Numbers that do not fit 64 bits, where one that does is expected; they count as missing.",
        "Nothing to do: texts keep such numbers exactly.",
    ),
    # events.py
    "begin-without-end": _loss(
        "Begin events (B, b, S) that no end event belongs to; their slices have no duration and were dropped.",
        "They were still running when the recording stopped, or an end was lost.",
    ),
    "end-without-begin": _loss(
        "End events (E, e, F) that no begin event belongs to were ignored.",
        "They began before the recording did, or a begin was lost.",
    ),
    "drawn-in": _info(
        "Events that tracegap itself drew into the trace (export) were left out.",
        "Nothing to do; the original trace gives the same report.",
    ),
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
    "unmarked-steps": _info(
        "The trace marks no steps, but slices of one name repeat as steps do.",
        "Give that name with --step-name, or call prof.step() with a schedule, to have times per step.",
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
    # dataedges.py
    "unmatched-model-node": _info(
        "Nodes of the trace that the model does not name; no data edges lead to or from them.",
        "ONNX Runtime inserts copies, casts and reorders of its own. If there are many, give the model that ran, or the"
        " optimised one that the session saved.",
    ),
    # dag.py
    "backward-edge": _info(
        "Recorded dependencies that would lead back in time were left out of the dependency graph.",
        "Clocks of host and device differ, or the profiler linked the wrong rows; waits they explain show as other causes.",
    ),
    "cyclic-edge": _info(
        "Dependencies that close a circle among moments of the same time were left out of the dependency graph.",
        "Nothing to do: the profiler's clock is coarser than what it measures, or the file's arrows run in circles.",
    ),
    # analyses/utilisation.py
    "over-limit": _loss(
        "Operators are faster than the limits of what ran them allow; nothing is concluded from their fractions.",
        "A count, the clock or a limit is wrong: check --device-limits. Or a cache served the bytes, or the algorithm (Winograd, FFT)"
        " does less arithmetic than its definition counts.",
    ),
}

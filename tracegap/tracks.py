"""The rows of a file that are slices, on numbered tracks, in layers, on one clock and in order.

In: `Events` and `Marks`. Out: `Numbering`, which says where the tracks and the clock come from, and `Rows`. Not done
here: lanes, parents and all that needs them.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tracegap import clocks, nesting
from tracegap.columns import Bool, Columns, Int32, Int64, UInt8
from tracegap.dialects import Marks
from tracegap.errors import UsageError
from tracegap.events import Events
from tracegap.kinds import CALLS, CONTEXT, Kind, Role, is_any
from tracegap.problems import Problem, problem


class Layer(IntEnum):
    """Context nests apart from work; aside stands what is neither."""

    CONTEXT = 0
    WORK = 1
    ASIDE = 2


@dataclass(frozen=True, slots=True)
class Numbering:
    """Where the t tracks of a timeline and its clock come from; m are the rows of `TrackMarks`.

    Attributes
    ----------
    mark : int32[t]
        Row of `TrackMarks` of each track.
    track : int32[m]
        The way back; −1 where no slice stands.
    process : int32[t]
        Index into `processes`.
    processes : tuple of str
        What the processes are called.
    origin : int
        The file's time of the first plausible slice, in ns.
    shift : int64[m]
        What to take from the file's times to get the timeline's, in ns.
    shared_clock : bool
        Whether all processes count from one zero.
    """

    mark: NDArray[np.int32]
    track: NDArray[np.int32]
    process: NDArray[np.int32]
    processes: tuple[str, ...]
    origin: int
    shift: NDArray[np.int64]
    shared_clock: bool


@dataclass(frozen=True, eq=False)
class Rows(Columns):
    """n rows that are slices, by (track, layer, start, −end); an API call stands behind the operator it begins with.

    Attributes
    ----------
    event : int32[n]
        Row of `Events`.
    kind : uint8[n]
        `tracegap.kinds.Kind`.
    track : int32[n]
    layer : uint8[n]
        `Layer`; annotations and frames that are the only record of what ran are work.
    start, end : int64[n]
        Nanoseconds from the first plausible start.
    plausible : bool[n]
    adopted : int
        API calls whose start was moved to that of the operator that made them.
    """

    event: Int32
    kind: UInt8
    track: Int32
    layer: UInt8
    start: Int64
    end: Int64
    plausible: Bool
    adopted: int


def collect(
    events: Events, marks: Marks, event: NDArray[np.int32], *, step_name: str | None
) -> tuple[Numbering, Rows, list[Problem]]:
    """Put the given event rows (ascending) on tracks; a `step_name` chooses the steps, whatever `marks` say.

    Raises
    ------
    UsageError
        When `step_name` is no regular expression, or finds no slice.
    """
    mark = events.thread[event] if marks.track is None else marks.track[event]
    kind = marks.kind[event]
    if step_name is not None:
        kind = _choose_steps(kind, marks.name[event], marks.tracks.role[mark], marks.strings, step_name)
    processes, process = _processes(events, marks)
    start = events.start[event]
    end = start + events.duration[event]
    clock = clocks.sort_out(start, end, process[mark], len(processes))
    plausible, shift = clock.plausible, clock.shift[process]
    if clock.moved:
        start, end = start - shift[mark], end - shift[mark]
    origin = int(start[plausible].min() if plausible.any() else start.min())
    used = np.unique(mark)
    used = used[np.lexsort((used, process[used], marks.tracks.role[used]))].astype(np.int32)
    number = np.full(len(marks.tracks), -1, np.int32)
    number[used] = np.arange(len(used))
    numbering = Numbering(
        mark=used,
        track=number,
        process=process[used],
        processes=processes,
        origin=origin,
        shift=shift + origin,
        shared_clock=marks.shared_clock and not clock.moved,
    )
    start, end, track = start - origin, end - origin, number[mark]
    del mark
    on_host = (marks.tracks.role[used] == Role.HOST)[track]
    layer = _layers(kind, track, start, end, on_host)
    start, adopted = _adopted(kind, track, start, end, layer)
    calls = is_any(kind, CALLS)
    order = np.lexsort((calls, -end, start, layer, track)).astype(np.int32)
    rows = Rows(
        event=event[order],
        kind=kind[order],
        track=track[order],
        layer=layer[order],
        start=start[order],
        end=end[order],
        plausible=plausible[order],
        adopted=adopted,
    )
    return numbering, rows, _clock_problems(events, marks, event, clock)


def _clock_problems(events: Events, marks: Marks, event: NDArray[np.int32], clock: clocks.Clocks) -> list[Problem]:
    problems = [problem("device-clock-offset", clock.moved)]
    wrong = event[~clock.plausible]
    if len(wrong):
        name = int(marks.name[wrong[0]])
        text = marks.strings[name] if name >= 0 else "no name"
        where = f"event {wrong[0]} ({text}) at {int(events.start[wrong[0]]):,} ns"
        problems.insert(0, problem("implausible-time", len(wrong), where))
    return problems


def _choose_steps(
    kind: NDArray[np.uint8], name: NDArray[np.int32], role: NDArray[np.uint8], strings: tuple[str, ...], pattern: str
) -> NDArray[np.uint8]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--step-name {pattern!r} is no regular expression: {error}") from error
    hits = np.fromiter((expression.search(text) is not None for text in strings), bool, len(strings))
    steps = (name >= 0) & hits[name] & (role == Role.HOST)
    if not steps.any():
        raise UsageError(f"--step-name {pattern!r} finds no host slice; `tracegap info` lists the names")
    kind = np.where(kind == Kind.STEP, np.uint8(Kind.ANNOTATION), kind)
    return np.where(steps, np.uint8(Kind.STEP), kind).astype(np.uint8)


def _processes(events: Events, marks: Marks) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the processes' names and the process of each row of `TrackMarks`."""
    thread_of_mark = np.arange(len(marks.tracks))
    if marks.track is not None:
        thread_of_mark = np.zeros(len(marks.tracks), np.int64)
        thread_of_mark[marks.track] = events.thread
    numbers: dict[int | str | None, int] = {}
    process = [numbers.setdefault(events.threads[key].process, len(numbers)) for key in thread_of_mark.tolist()]
    said: dict[tuple[str, int | str | None], str] = {
        (kind, thread.process): str(value)
        for (kind, thread), value in events.metadata.items()
        if kind in ("process_name", "process_labels") and value
    }
    names = tuple(
        " ".join(said[kind, key] for kind in ("process_name", "process_labels") if (kind, key) in said) or str(key)
        for key in numbers
    )
    return names, np.array(process, np.int32)


def _layers(
    kind: NDArray[np.uint8],
    track: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    on_host: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Return the layer of each row; annotations and frames that are the only record of what ran are work."""
    layer = np.full(len(kind), Layer.WORK, np.uint8)
    layer[is_any(kind, CONTEXT)] = Layer.CONTEXT
    layer[is_any(kind, (Kind.PROFILER, Kind.WAIT))] = Layer.ASIDE
    count = int(track.max(initial=-1)) + 1
    has_op = np.bincount(track[kind == Kind.OP], minlength=count) > 0
    working = on_host & (kind == Kind.FRAME) & ~has_op[track]
    layer[working] = Layer.WORK
    ranges = np.flatnonzero(on_host & (kind == Kind.ANNOTATION))
    work = np.flatnonzero(working | (on_host & is_any(kind, (Kind.OP, Kind.INPUT, Kind.OTHER))))
    work, bounds = _by_track(work, track, start)
    for one in np.unique(track[ranges]).tolist():
        mine = ranges[track[ranges] == one]
        starts = start[work[bounds[one] : bounds[one + 1]]]
        empty = np.searchsorted(starts, start[mine]) >= np.searchsorted(starts, end[mine])
        layer[mine[empty]] = Layer.WORK
    return layer


def _adopted(
    kind: NDArray[np.uint8],
    track: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    layer: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], int]:
    """Return the starts, API calls that begin just before the operator that made them moved to its start, and how many."""
    moved = start.copy()
    calls = np.flatnonzero(is_any(kind, CALLS))
    operators, bounds = _by_track(np.flatnonzero((kind == Kind.OP) & (layer == Layer.WORK)), track, start)
    adopted = 0
    for one in np.unique(track[calls]).tolist():
        mine = calls[track[calls] == one]
        near = operators[bounds[one] : bounds[one + 1]]
        if not len(near):
            continue
        place = np.searchsorted(start[near], start[mine], side="right")
        owner = near[np.minimum(place, len(near) - 1)]
        ahead = start[owner] - start[mine]
        fits = (place < len(near)) & (ahead < nesting.TOLERANCE)
        fits &= (end[mine] > start[owner]) & (end[mine] <= end[owner])
        moved[mine[fits]] = start[owner[fits]]
        adopted += int(np.count_nonzero(fits))
    return moved, adopted


def _by_track(
    rows: NDArray[np.intp], track: NDArray[np.int32], start: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows by (track, start), and where those of each track begin and end among them."""
    rows = rows[np.lexsort((start[rows], track[rows]))]
    return rows, np.searchsorted(track[rows], np.arange(int(track.max(initial=-1)) + 2))

"""Whose the host's time in no operator is: divided among its causes, and its untraced part among the ranges it passed in.

In: a `Timeline`, a `Window` and stretches of time in which no operator runs. Out: parts that add up to them.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.overhead_results import Part, Range
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.kinds import Kind
from tracegap.layers import Layer, context_layer, divide, host_layer
from tracegap.timeline import Timeline, Window


def operator_rows(timeline: Timeline, window: Window) -> Rows:
    """Return the rows of the operators that have time in the window."""
    near = activity.overlapping(timeline, window.start, window.end)
    return np.flatnonzero(near & (timeline.slices.kind == Kind.OP))


def in_no_operator(timeline: Timeline, window: Window) -> Intervals:
    """Return the time of the window in which no thread was in an operator."""
    rows = operator_rows(timeline, window)
    busy = intervals.union(timeline.slices.start[rows], timeline.slices.end[rows])
    return intervals.gaps(busy, window.start, window.end)


def parts_of(timeline: Timeline, window: Window, time: Intervals) -> tuple[Part, ...]:
    """Divide time in no operator among its causes, in the order of precedence; the parts add up to it."""
    parts = []
    for cause, owned in claims(timeline, window):
        left = intervals.subtract(time, owned)
        parts.append(Part(cause.word, intervals.total(time) - intervals.total(left)))
        time = left
    parts.append(Part(Charge.UNATTRIBUTED.word, intervals.total(time)))
    return tuple(sorted((part for part in parts if part.duration_ns), key=lambda part: -part.duration_ns))


def untraced_of(timeline: Timeline, window: Window, time: Intervals) -> tuple[Range, ...]:
    """Divide the untraced part of time in no operator among the ranges in which it passed, the longest first."""
    for cause, owned in claims(timeline, window):
        if cause == Charge.UNTRACED_HOST:
            time = intervals.subtract(time, intervals.subtract(time, owned))
            break
        time = intervals.subtract(time, owned)
    else:
        return ()
    shares, rest = divide(time, _ranges(timeline, window))
    sums = {-1: intervals.total(rest)}
    for share in shares:
        sums[share.name] = sums.get(share.name, 0) + share.duration
    told = [Range(length, timeline.names[name] if name >= 0 else None) for name, length in sums.items() if length]
    return tuple(sorted(told, key=lambda one: (-one.duration_ns, one.name or "")))


def _ranges(timeline: Timeline, window: Window) -> Iterator[Layer]:
    """Yield, thread after thread, the ranges that are the only record of work, and the others."""
    for track in activity.host_tracks(timeline):
        work = host_layer(timeline, track, window.start, window.end)
        yield work.take(work.cause == Charge.UNTRACED_HOST)
        yield context_layer(timeline, track, window.start, window.end)


def claims(timeline: Timeline, window: Window) -> Iterator[tuple[Charge, Intervals]]:
    """Yield the time that each cause of host overhead may claim, first come first served."""
    slices, steps = timeline.slices, timeline.steps
    near = activity.overlapping(timeline, window.start, window.end)
    leading = np.isin(slices.track, activity.host_tracks(timeline))
    called = slices.kind == Kind.RUNTIME
    allocating = called & activity.is_allocator(timeline, np.flatnonzero(called))[slices.name]

    def of(marked: NDArray[np.bool_]) -> Intervals:
        return intervals.union(slices.start[near & marked], slices.end[near & marked])

    yield Charge.PROFILER, of(slices.kind == Kind.PROFILER)
    yield Charge.SYNC, of(leading & (slices.kind == Kind.SYNC))
    yield Charge.INPUT, of(leading & (slices.kind == Kind.INPUT))
    yield Charge.ALLOCATOR, of(leading & allocating)
    yield Charge.RUNTIME, of(leading & (slices.kind == Kind.RUNTIME))
    whole = intervals.union(np.array([window.start], np.int64), np.array([window.end], np.int64))
    spans = intervals.union(steps.start, steps.end)
    execute = _are_named(timeline, "Executor::Execute")
    if execute.any():
        inside = of(execute[slices.name])
        # Not always the step: the program may have frames of its own around it.
        runs = _are_named(timeline, "model_run")
        yield Charge.OUTSIDE_EXECUTE, intervals.subtract(of(runs[slices.name]) if runs.any() else spans, inside)
        yield Charge.IN_EXECUTE, inside
    if len(steps):
        yield Charge.BETWEEN_STEPS, intervals.subtract(whole, spans)
    elif not _has_threads(timeline):
        return
    yield Charge.UNTRACED_HOST, intervals.subtract(whole, of(leading & (slices.kind == Kind.OTHER)))


def _are_named(timeline: Timeline, ending: str) -> NDArray[np.bool_]:
    """Mark the names of ONNX Runtime's executors or runs: bool[n names + 1]."""
    spoken = timeline.dialect == "onnxruntime"
    marks = [spoken and name.endswith(ending) for name in timeline.names]
    return np.array([*marks, False], np.bool_)


def is_executor(timeline: Timeline) -> NDArray[np.bool_]:
    """Mark the names of what runs nodes and is no work of its own, in ONNX Runtime: bool[n names + 1]."""
    marks: NDArray[np.bool_] = _are_named(timeline, "Executor::Execute") | _are_named(timeline, "model_run")
    return marks


def _has_threads(timeline: Timeline) -> bool:
    """Whether operators stand on threads; on packed rows nothing tells what a thread did between two of them."""
    tracks = timeline.tracks
    return any(bool(tracks.ordered[track]) for track in activity.host_tracks(timeline))

"""Any other trace in the Chrome Trace Event format: slices are operators, and slices named like steps are steps."""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.marks import Head, Marks, TrackMarks
from tracegap.dialects.rows import NONE, are_slices, host_tracks, nothing, tell, thread_names
from tracegap.events import ArgType, Events
from tracegap.kinds import Kind

NAME = "chrome"
TITLE = "Chrome trace"

ARGS: Mapping[str, ArgType] = {"avg ms": ArgType.REAL}

STEP_NAME = re.compile(r"(profiler[ _]?)?(step|iteration|iter|frame)\s*[#_:\- ]?\s*\d*$", re.IGNORECASE)
_SUM = re.compile(r"Total ")
_TOLERANCE = 1_000
"""Slices may stick out by so many ns before a thread counts as packed: writers round start and end apart."""


def sniff(head: Head) -> bool:
    """Whether the file is this dialect's: never; it is what is left."""
    return False


def mark(events: Events) -> Marks:
    """Say what each event means; threads whose slices overlap by habit, and asynchronous slices, are packed tracks."""
    slices = are_slices(events)
    kinds = np.full(len(events), NONE, np.uint8)
    rows = np.flatnonzero(slices & ~_summaries(events))
    kinds[rows] = tell(events.name[rows], events.strings, _kind)
    tracks, track = _tracks(events, kinds)
    return Marks(
        kind=kinds,
        name=events.name,
        launch=nothing(events),
        strings=events.strings,
        tracks=tracks,
        producer=TITLE,
        track=track,
    )


def _kind(name: str) -> Kind:
    return Kind.STEP if STEP_NAME.match(name) else Kind.OP


def _summaries(events: Events) -> NDArray[np.bool_]:
    """Return the rows that repeat others: Bazel's critical path, Clang's totals (each with its mean in ``avg ms``)."""
    repeats = np.array([name == "Critical Path" for name in thread_names(events)], bool)
    rows = np.zeros(len(events), bool)
    averaged = events.arg("avg ms").rows
    named = tell(events.name[averaged], events.strings, lambda name: bool(_SUM.match(name)))
    rows[averaged[named > 0]] = True
    return np.asarray(rows | repeats[events.thread])


def _tracks(events: Events, kinds: NDArray[np.uint8]) -> tuple[TrackMarks, NDArray[np.int32] | None]:
    used = kinds != Kind.NONE
    waits = used & (events.phase == ord("b"))
    host = host_tracks(events, packed=_packed(events, used & ~waits))
    if not waits.any():
        return host, None
    # asynchronous slices of a thread say when something was open, not what the thread did
    threads, place = np.unique(events.thread[waits], return_inverse=True)
    track = events.thread.copy()
    track[waits] = len(host) + place.reshape(-1)
    return TrackMarks(
        role=np.concatenate((host.role, host.role[threads])),
        device=np.concatenate((host.device, host.device[threads])),
        ordered=np.concatenate((host.ordered, np.zeros(len(threads), bool))),
        label=(*host.label, *(f"{host.label[thread]}, asynchronous" for thread in threads.tolist())),
    ), track.astype(np.int32)


def _packed(events: Events, used: NDArray[np.bool_]) -> list[int]:
    """Return the threads on which more than one slice in ten partly overlaps an earlier one."""
    rows = np.flatnonzero(used)
    if not len(rows):
        return []
    start = events.start[rows]
    end = start + events.duration[rows]
    order = np.lexsort((-end, start, events.thread[rows]))
    thread, start, end = events.thread[rows][order], start[order], end[order]
    crosses = np.zeros(len(rows), bool)
    for first, last in _runs(thread):
        reach = np.maximum.accumulate(end[first:last])[:-1]
        later = slice(first + 1, last)
        crosses[later] = (start[later] < reach - _TOLERANCE) & (end[later] > reach + _TOLERANCE)
    count = len(events.threads)
    total, crossing = np.bincount(thread, minlength=count), np.bincount(thread[crosses], minlength=count)
    return np.flatnonzero(crossing * 10 > total).tolist()


def _runs(ordered: NDArray[np.int32]) -> list[tuple[int, int]]:
    cuts = np.flatnonzero(np.diff(ordered)) + 1
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(ordered)], strict=True))

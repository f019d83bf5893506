"""Events without a length: marks of a moment, values of counters, lives of objects.

In: `Events`, `Marks`, and the tracks that the slices made. Out: `Instants`, on the same clock as the slices.
"""

from dataclasses import dataclass

import numpy as np

from tracegap.columns import Columns, Int32, Int64, UInt8
from tracegap.dialects import Marks
from tracegap.events import NO_TIME, Events
from tracegap.tracks import Numbering

_PHASES = np.frombuffer(b"iIRnCNOD", np.uint8)
"""Instants (i, I, R), asynchronous ones (n), counters (C), objects made (N), seen (O) and gone (D)."""


@dataclass(frozen=True, eq=False)
class Instants(Columns):
    """k events without a length, by time, then by place in the file.

    Attributes
    ----------
    event : int32[k]
        Row of the event, to look up arguments.
    name : int32[k]
        Ids into `Timeline.names`; −1 for none.
    phase : uint8[k]
        ``ord`` of the letter.
    track : int32[k]
        Row of `Tracks`; −1 where its thread has no slice.
    time : int64[k]
        Nanoseconds from the trace's first slice; before it they are negative.
    id : int32[k]
        Which object, where the event names one; −1 for none. Equal ids are equal objects.
    """

    event: Int32
    name: Int32
    phase: UInt8
    track: Int32
    time: Int64
    id: Int32


def collect(events: Events, marks: Marks, numbering: Numbering) -> Instants:
    """Return the events without a length, on the tracks and the clock of the slices."""
    rows = np.flatnonzero(np.isin(events.phase, _PHASES) & (events.duration < 0) & (events.start != NO_TIME))
    mark = events.thread[rows] if marks.track is None else marks.track[rows]
    time = events.start[rows] - numbering.shift[mark]
    order = np.argsort(time, kind="stable")
    rows, mark = rows[order], mark[order]
    return Instants(
        event=rows.astype(np.int32),
        name=marks.name[rows],
        phase=events.phase[rows],
        track=numbering.track[mark],
        time=time[order],
        id=events.id[rows],
    )


def none() -> Instants:
    """Return a table without rows."""
    whole = np.empty(0, np.int32)
    return Instants(whole, whole, np.empty(0, np.uint8), whole, np.empty(0, np.int64), whole)

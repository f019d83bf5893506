"""The trace as it was, with what the analyses found drawn in: for Perfetto, or any viewer of Chrome traces.

In: a `Source`, its `Events`, and an analysed window. Out: the same trace with a process ``tracegap`` whose tracks hold the
findings, the steps, the critical path and each device's gaps, and with arrows where the critical path changes tracks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, BinaryIO

from tracegap.analyses import Model
from tracegap.events import Events
from tracegap.overlay import drawing
from tracegap.overlay.clock import choose_clock
from tracegap.overlay.copying import copy
from tracegap.overlay.crossings import crossings
from tracegap.overlay.tracks import tracks
from tracegap.report import Verdict
from tracegap.source import Source

__all__ = ["Annotated", "annotate"]

FIRST_PROCESS = 2_000_000_000
"""Our process has this id or, where it is taken, the next: above those of operating systems and profilers."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """What was written.

    Attributes
    ----------
    shift_us : int
        Microseconds that were taken from every time of the trace so that Perfetto can hold them; 0 where it can anyhow,
        negative where times were below 0.
    wall_ns : int
        The window's wall time, which the slices of the track ``critical path`` sum to.
    process : int
        The pid of the process ``tracegap``.
    left_out : tuple of str
        Keys of the header whose values were too long to be carried over.
    """

    shift_us: int
    wall_ns: int
    process: int
    left_out: tuple[str, ...] = ()


def annotate(source: Source, events: Events, model: Model, verdict: Verdict, file: BinaryIO) -> Annotated:
    """Write the trace of `source` with the critical path, gaps, steps and findings drawn in.

    Parameters
    ----------
    source : Source
        What `events` were read from; it is read once more.
    events : Events
        Paired.
    model : Model
        The window to draw, and its dependency graph.
    verdict : Verdict
        The findings about it.
    file : BinaryIO
        Where to, opened for writing.

    Raises
    ------
    SourceError
        When the source cannot be read again.
    """
    clock = choose_clock(events)
    process = free_process(events)
    timeline, window = model.timeline, model.window

    def added() -> Iterator[bytes]:
        yield drawing.name_process(process, "tracegap")
        for number, track in enumerate(tracks(model, verdict, origin=timeline.origin - events.origin), 1):
            yield drawing.name_track(process, number, track.name)
            yield from drawing.slices(process, number, track.bars, clock)
        found = crossings(events, model.dag)
        yield from drawing.arrows(found.source, found.source_ns, found.target, found.target_ns, found.names, clock)

    note: Mapping[str, Any] = {
        "shift_us": clock.shift_us,
        "window_start_ns": timeline.origin + window.start - clock.shift_us * 1000,
        "wall_ns": window.wall,
        "basis": window.basis,
        "pid": process,
    }
    left_out = copy(source, added(), file, shift_us=clock.shift_us, note=drawing.json(note))
    return Annotated(clock.shift_us, window.wall, process, left_out)


def free_process(events: Events) -> int:
    """Return a process id that no event of the file has."""
    used = {thread.process for thread in events.threads}
    return next(number for number in count(FIRST_PROCESS) if number not in used and str(number) not in used)

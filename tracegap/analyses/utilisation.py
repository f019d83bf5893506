"""Utilisation: how busy every thread, stream and device is.

**What it shows.** The busy ratio of every track and device in the window; of every device how many kernels it ran, how long the
median one is, how far launches run ahead of it, and the occupancy that the profiler estimated, where the trace has it.

**Why it costs time.** Activity is not progress, but a device that is not even active makes none. Many short kernels keep a device
busy with starting, and a queue that runs empty says that the host is too slow.

**How it is computed.** A track is busy in the union of what runs on it; a thread that blocks on a device waits. A device is busy in
the union over its streams. The queue is what was launched and has not started: its median over the launches' starts.
Occupancy is weighted by the kernels' times.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.contract import Model
from tracegap.analyses.steps import median
from tracegap.kinds import Kind
from tracegap.report import Column, Section, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, count, duration, ratio

NAME = "utilisation"
TITLE = "Busy or fast?"

SHORT = 10_000
"""ns: kernels shorter than this take about as long to launch as to run."""
_OCCUPANCY = "est. achieved occupancy %"


@dataclass(frozen=True, slots=True)
class TrackUse:
    """A thread or stream; ``track`` is its number in ``trace.tracks``."""

    track: int
    name: str
    busy_ns: int
    busy_ratio: float


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A device: ``kernels`` counts compute and communication, ``short_ratio`` is the share of their time in short ones."""

    device: str
    busy_ns: int
    busy_ratio: float
    kernels: int
    median_kernel_ns: int | None = None
    short_ratio: float | None = None
    median_queue: int | None = None
    median_launch_delay_ns: int | None = None
    occupancy_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Result of the analysis."""

    tracks: tuple[TrackUse, ...]
    devices: tuple[DeviceUse, ...]


def run(model: Model) -> Utilisation | None:
    """Measure how busy tracks and devices are; None for an empty window."""
    timeline, window = model.timeline, model.window
    if window.wall <= 0:
        return None
    near = activity.overlapping(timeline, window.start, window.end)
    return Utilisation(_tracks(timeline, window), tuple(_devices(timeline, window, near)))


def _tracks(timeline: Timeline, window: Window) -> tuple[TrackUse, ...]:
    track, busy = activity.busy_by_track(timeline, window.start, window.end)
    length = np.zeros(len(timeline.tracks), np.int64)
    np.add.at(length, track, busy.end - busy.start)
    return tuple(
        TrackUse(row, timeline.tracks.label[row], int(length[row]), int(length[row]) / window.wall)
        for row in np.unique(track).tolist()
    )


def _devices(timeline: Timeline, window: Window, near: NDArray[np.bool_]) -> list[DeviceUse]:
    slices = timeline.slices
    found = []
    for device, about in enumerate(timeline.devices):
        rows = activity.device_rows(timeline, device)
        rows = rows[near[rows]]
        if not len(rows):
            continue
        busy = intervals.total(
            intervals.clip(intervals.union(slices.start[rows], slices.end[rows]), window.start, window.end)
        )
        kernels = rows[slices.kind[rows] != Kind.COPY]
        length = slices.end[kernels] - slices.start[kernels]
        total = int(length.sum())
        linked = rows[slices.launch[rows] >= 0]
        start, launch = slices.start[linked], slices.start[slices.launch[linked]]
        found.append(
            DeviceUse(
                device=about.label,
                busy_ns=busy,
                busy_ratio=busy / window.wall,
                kernels=len(kernels),
                median_kernel_ns=median(length) if len(kernels) else None,
                short_ratio=int(length[length < SHORT].sum()) / total if total else None,
                median_queue=median(_queue(launch, start)) if len(linked) else None,
                median_launch_delay_ns=median(start - launch) if len(linked) else None,
                occupancy_ratio=_occupancy(timeline, kernels),
            )
        )
    return found


def _queue(launch: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each device slice how many others were launched and not started when it started.

    Examples
    --------
    >>> _queue(np.array([0, 1, 2]), np.array([5, 6, 7])).tolist()
    [2, 1, 0]
    """
    launched = np.searchsorted(np.sort(launch), start, side="right")
    started = np.searchsorted(np.sort(start), start, side="right")
    waiting: NDArray[np.int64] = np.maximum(launched - started, 0)
    return waiting


def _occupancy(timeline: Timeline, kernels: Rows) -> float | None:
    slices = timeline.slices
    told = timeline.arg(_OCCUPANCY).at(slices.event[kernels])
    known = told >= 0
    weight = (slices.end[kernels] - slices.start[kernels])[known]
    total = int(weight.sum())
    return float(np.dot(told[known].astype(np.float64), weight)) / total / 100 if total else None


def section(result: Utilisation) -> Section:
    """Say how busy the devices are, and with what sort of kernels."""
    lines = [_sentence(device) for device in result.devices]
    if not result.devices:
        busiest = max(result.tracks, key=lambda track: track.busy_ns, default=None)
        lines = [
            "The trace has no device."
            + (
                f" The busiest thread, {named(busiest.name)}, runs {ratio(busiest.busy_ratio)} of the window."
                if busiest
                else ""
            )
        ]
    table = Table(
        title="Threads and streams",
        columns=(
            Column("track", Unit.TEXT, tuple(track.name for track in result.tracks)),
            Column("busy", Unit.NANOSECONDS, tuple(track.busy_ns for track in result.tracks), bar=True),
            Column("of window", Unit.RATIO, tuple(track.busy_ratio for track in result.tracks)),
        ),
        total=len(result.tracks),
        brief=0,
    )
    return Section(NAME, TITLE, tuple(lines), (table,))


def _sentence(device: DeviceUse) -> str:
    text = f"{device.device} is busy {ratio(device.busy_ratio)} of the window ({duration(device.busy_ns)})"
    if device.median_kernel_ns is None:
        return f"{text}, with copies only."
    text += f" with {count(device.kernels)} kernels, median {duration(device.median_kernel_ns)}"
    if device.short_ratio:
        text += f"; {ratio(device.short_ratio)} of kernel time is in kernels under {duration(SHORT)}"
    if device.median_queue is not None:
        text += f"; {count(device.median_queue)} launches wait at the median start"
    if device.occupancy_ratio is not None:
        text += f"; estimated occupancy {ratio(device.occupancy_ratio)}"
    return text + "."

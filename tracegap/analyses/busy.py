"""How busy tracks and devices are, and with what sort of kernels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.activity import Rows
from tracegap.analyses.steps import median
from tracegap.kinds import Kind
from tracegap.timeline import Timeline, Window
from tracegap.units import count, duration, ratio
from tracegap.waste.dispatch import SHORT

_OCCUPANCY = "est. achieved occupancy %"
_BLOCKS = "blocks per SM"


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
    sm_efficiency_ratio: float | None = None


def tracks(timeline: Timeline, window: Window) -> tuple[TrackUse, ...]:
    """Return the tracks on which something ran."""
    track, busy = activity.busy_by_track(timeline, window.start, window.end)
    length = np.zeros(len(timeline.tracks), np.int64)
    np.add.at(length, track, busy.end - busy.start)
    return tuple(
        TrackUse(row, timeline.tracks.label[row], int(length[row]), int(length[row]) / window.wall)
        for row in np.unique(track).tolist()
    )


def devices(timeline: Timeline, window: Window, near: NDArray[np.bool_]) -> list[DeviceUse]:
    """Return the devices on which something ran; `near` bool[n slices] marks what overlaps the window."""
    slices = timeline.slices
    found = []
    for device, about in enumerate(timeline.devices):
        rows = activity.device_rows(timeline, device)
        rows = rows[near[rows]]
        if not len(rows):
            continue
        busy = intervals.total(activity.covered(timeline, rows, window))
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
                occupancy_ratio=_weighted(timeline, kernels, _OCCUPANCY, most=100),
                sm_efficiency_ratio=_weighted(timeline, kernels, _BLOCKS, most=1),
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


def _weighted(timeline: Timeline, kernels: Rows, argument: str, *, most: float) -> float | None:
    """Return the mean of an argument of kernels, each up to `most` and weighted by its time, as a share of `most`."""
    slices = timeline.slices
    told = timeline.arg(argument).at(slices.event[kernels]).astype(np.float64)
    known = np.isfinite(told) & (told >= 0)
    weight = (slices.end[kernels] - slices.start[kernels])[known]
    total = int(weight.sum())
    return float(np.dot(np.minimum(told[known], most), weight)) / total / most if total else None


def _queued(launches: int) -> str:
    if launches == 1:
        return "one more is queued"
    return f"{count(launches)} more are queued" if launches else "no other is queued"


def sentence(device: DeviceUse) -> str:
    """Say how busy a device is."""
    text = f"{device.device} is busy {ratio(device.busy_ratio)} of the window ({duration(device.busy_ns)})"
    if device.median_kernel_ns is None:
        return f"{text}, with copies only."
    text += f" with {count(device.kernels)} kernels, median {duration(device.median_kernel_ns)}"
    if device.short_ratio:
        text += f"; {ratio(device.short_ratio)} of kernel time is in kernels under {duration(SHORT)}"
    if device.median_queue is not None:
        text += f"; {_queued(device.median_queue)} when the median kernel starts"
    if device.occupancy_ratio is not None:
        text += f"; estimated occupancy {ratio(device.occupancy_ratio)}"
    if device.sm_efficiency_ratio is not None:
        text += f"; enough blocks for {ratio(device.sm_efficiency_ratio)} of its multiprocessors"
    return text + "."

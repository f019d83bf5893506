"""Memory: how much was allocated when, and who held it at the peak.

**What it shows.** Of every device or allocator the peak, when it was, in which step and stage, and whose allocations stood then;
what was reserved and not in use; the peak and the level at the end of each step, and by how much that grows. Of an ONNX
Runtime profile, which has no times of allocations, the bytes of its weights and of its largest node.

**Why it costs time.** Memory that is full limits the batch, and a batch that is too small leaves a device idle. Memory that grows
from step to step ends the run. Memory that is reserved and cut to pieces makes the allocator ask the device, which waits.

**How it is computed.** PyTorch's `[memory]` marks carry the allocator's totals; without totals the bytes are summed from the start of
the recording. TensorFlow's timeline counts each allocator (``show_memory``); other programs a counter of bytes. What stood at
the peak is what was allocated before it and freed after it, by the innermost operator that does not only make tensors. Levels
before the window count for it. A level grows when each step ends higher than the one before, four steps at least.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracegap import allocations
from tracegap.allocations import Level
from tracegap.analyses.contract import Model
from tracegap.analyses.node_sizes import NodeSizes, node_sizes
from tracegap.analyses.steps import median
from tracegap.report import Column, Section, Table, named
from tracegap.timeline import Timeline, Window
from tracegap.units import Unit, duration, size

NAME = "memory"
TITLE = "Who holds the memory"

POINTS = 200
"""Rows of a level over time, at most: more than a chart is wide would not be seen."""
RISES = 3
"""So many rises in a row are growth; fewer happen while caches fill."""
GROWS = 0.001
"""Share of the peak that a step must add to be told: under it a thousand steps do not double the memory."""

TOLD = 0.01
"""Share of the greatest peak under which a device gets no sentence: the few bytes of a GPU program's CPU tensors."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Bytes at the peak of one operator or tensor; "" is what was there before the recording, or came from no operator."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class StepLevel:
    """A step's greatest level and its last one."""

    number: int
    peak_bytes: int
    end_bytes: int


@dataclass(frozen=True, slots=True)
class Point:
    """The level from a moment on; of many changes the greatest of each 200th of the window."""

    at_ns: int
    allocated_bytes: int
    reserved_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """A device or allocator.

    ``reserved_bytes`` is the most that was reserved in the window, ``unused_bytes`` how much of the reserved was not in use at the
    peak, ``growth_bytes`` what a step adds in the median, ``grows`` whether every step did. ``relative`` levels count from the start
    of the recording.
    """

    device: str
    peak_bytes: int
    peak_at_ns: int
    holders: tuple[Holder, ...]
    start_bytes: int
    end_bytes: int
    reserved_bytes: int | None = None
    unused_bytes: int | None = None
    peak_step: int | None = None
    peak_stage: str | None = None
    growth_bytes: int | None = None
    grows: bool | None = None
    relative: bool | None = None
    steps: tuple[StepLevel, ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Memory:
    """Result of the analysis: devices by peak, the greatest first."""

    devices: tuple[DeviceMemory, ...]
    nodes: NodeSizes | None = None


def run(model: Model) -> Memory | None:
    """Find the peak of every allocator; None where the trace tells nothing of memory."""
    timeline, window = model.timeline, model.window
    devices = [_device(timeline, window, level) for level in allocations.levels(timeline)]
    nodes = node_sizes(timeline, window)
    if not devices and nodes is None:
        return None
    return Memory(tuple(sorted(devices, key=lambda one: (-one.peak_bytes, one.device))), nodes)


def _device(timeline: Timeline, window: Window, level: Level) -> DeviceMemory:
    peak, when = _peak(level, window.start, window.end)
    at = level.before(when)
    reserved = int(level.reserved[at]) if at >= 0 else -1
    inside = slice(max(level.before(window.start), 0), level.before(window.end - 1) + 1)
    steps = _steps(timeline, window, level)
    rises = [after.end_bytes - before.end_bytes for before, after in pairwise(steps)]
    return DeviceMemory(
        device=f"{level.device}, {level.process}" if level.process else level.device,
        peak_bytes=peak,
        peak_at_ns=when,
        holders=tuple(Holder(name, bytes_) for name, bytes_ in allocations.holders(timeline, level, when).items()),
        start_bytes=_at(level, window.start - 1),
        end_bytes=_at(level, window.end - 1),
        reserved_bytes=int(level.reserved[inside].max(initial=-1)) if reserved >= 0 else None,
        unused_bytes=reserved - peak if reserved >= 0 else None,
        peak_step=_step_at(timeline, when),
        peak_stage=_stage_at(timeline, when),
        growth_bytes=median(np.array(rises, np.int64)) if rises else None,
        grows=min(rises) > 0 if len(rises) >= RISES else None,
        relative=level.relative or None,
        steps=steps,
        points=_points(level, window),
    )


def _at(level: Level, when: int) -> int:
    """Return the level at a moment; before the first change it is what that change found."""
    place = level.before(when)
    if place >= 0:
        return int(level.allocated[place])
    return int(level.allocated[0] - level.changes.size[0]) if level.changes is not None and not level.relative else 0


def _peak(level: Level, start: int, end: int) -> tuple[int, int]:
    """Return the greatest level in ``[start, end)`` and its first moment there."""
    low, high = np.searchsorted(level.time, (start, end), side="left").tolist()
    carried = _at(level, start - 1)
    if low == high or carried >= int(level.allocated[low:high].max()):
        return carried, start
    place = low + int(np.argmax(level.allocated[low:high]))
    return int(level.allocated[place]), int(level.time[place])


def _steps(timeline: Timeline, window: Window, level: Level) -> tuple[StepLevel, ...]:
    steps = timeline.steps
    return tuple(
        StepLevel(
            number=int(steps.number[row]),
            peak_bytes=_peak(level, int(steps.start[row]), int(steps.end[row]))[0],
            end_bytes=_at(level, int(steps.end[row]) - 1),
        )
        for row in window.steps
    )


def _step_at(timeline: Timeline, when: int) -> int | None:
    steps = timeline.steps
    rows = np.flatnonzero((steps.start <= when) & (when < steps.end))
    return int(steps.number[rows[0]]) if len(rows) else None


def _stage_at(timeline: Timeline, when: int) -> str | None:
    stages = timeline.stages
    rows = np.flatnonzero((stages.start <= when) & (when < stages.end))
    if not len(rows):
        return None
    shortest = rows[np.argmin(stages.end[rows] - stages.start[rows])]
    return timeline.names[int(stages.name[shortest])]


def _points(level: Level, window: Window) -> tuple[Point, ...]:
    low, high = np.searchsorted(level.time, (window.start, window.end), side="left").tolist()
    rows = np.arange(low, high)
    if len(rows) > POINTS:
        part = (level.time[rows] - window.start) * POINTS // window.wall
        order = np.lexsort((-level.allocated[rows], part))
        rows = np.sort(rows[order][np.unique(part[order], return_index=True)[1]])
    return tuple(
        Point(
            int(level.time[row]),
            int(level.allocated[row]),
            int(level.reserved[row]) if level.reserved[row] >= 0 else None,
        )
        for row in rows.tolist()
    )


def section(result: Memory) -> Section:
    """Say the peaks, and who held the greatest."""
    most = max((device.peak_bytes for device in result.devices), default=0)
    lines = [line for device in result.devices if device.peak_bytes >= TOLD * most for line in _sentences(device)]
    tables = []
    if result.devices:
        greatest = result.devices[0]
        tables = [_holders(greatest), _by_step(greatest), _by_device(result.devices)]
    notes = []
    if any(device.relative for device in result.devices):
        notes.append("The profiler tells no totals: levels count from the start of the recording.")
    if result.nodes is not None:
        lines.append(result.nodes.sentence())
        notes.append("ONNX Runtime tells sizes and not when memory is freed; weights that nodes share count for each.")
    return Section(NAME, TITLE, tuple(lines), tuple(table for table in tables if table.rows), tuple(notes))


def _sentences(device: DeviceMemory) -> list[str]:
    step = f", in step {device.peak_step}" if device.peak_step is not None else ""
    stage = f", stage {named(device.peak_stage)}" if device.peak_stage is not None else ""
    text = f"{device.device} holds at most {size(device.peak_bytes)}, at {duration(device.peak_at_ns)}{step}{stage}"
    if device.reserved_bytes is not None and device.unused_bytes is not None:
        text += f"; {size(device.reserved_bytes)} reserved, {size(device.unused_bytes)} of it not in use then"
    lines = [text + "."]
    if device.grows and device.growth_bytes is not None and device.growth_bytes >= GROWS * device.peak_bytes:
        lines.append(
            f"{device.device} grows: every step ends higher than the one before, by {size(device.growth_bytes)} each."
        )
    return lines


def _holders(device: DeviceMemory) -> Table:
    shown = device.holders[:20]
    return Table(
        title=f"What stood at the peak of {device.device}",
        columns=(
            Column(
                "allocated by", Unit.TEXT, tuple(one.name or "(before the recording, or no operator)" for one in shown)
            ),
            Column("bytes", Unit.BYTES, tuple(one.bytes for one in shown), bar=True),
            Column(
                "of peak",
                Unit.RATIO,
                tuple(one.bytes / device.peak_bytes if device.peak_bytes else None for one in shown),
            ),
        ),
        total=len(device.holders),
        brief=3,
    )


def _by_step(device: DeviceMemory) -> Table:
    shown = device.steps[:20]
    return Table(
        title=f"Memory of {device.device} by step",
        columns=(
            Column("step", Unit.TEXT, tuple(str(one.number) for one in shown)),
            Column("peak", Unit.BYTES, tuple(one.peak_bytes for one in shown), bar=True),
            Column("at its end", Unit.BYTES, tuple(one.end_bytes for one in shown)),
        ),
        total=len(device.steps),
        brief=0,
    )


def _by_device(devices: tuple[DeviceMemory, ...]) -> Table:
    shown = devices[:20] if len(devices) > 1 else ()
    return Table(
        title="Memory by device",
        columns=(
            Column("device", Unit.TEXT, tuple(one.device for one in shown)),
            Column("peak", Unit.BYTES, tuple(one.peak_bytes for one in shown), bar=True),
            Column("at", Unit.NANOSECONDS, tuple(one.peak_at_ns for one in shown)),
            Column("reserved", Unit.BYTES, tuple(one.reserved_bytes for one in shown)),
            Column("at the end", Unit.BYTES, tuple(one.end_bytes for one in shown)),
        ),
        total=len(devices),
        brief=0,
    )

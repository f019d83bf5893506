"""How much memory was allocated when, and by whom, as profilers of PyTorch and TensorFlow and counters tell.

In: a `Timeline`. Out: one `Level` an allocator: what it held after each change, and the changes themselves where they are known.

PyTorch marks every allocation with the bytes (negative when freed), the address and its totals; the first versions wrote bytes
only, so their totals count from the start of the recording. TensorFlow's timeline counts each allocator, and tells when
each tensor was made and gone. Other programs write a counter of bytes.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64
from tracegap.kinds import Kind
from tracegap.naming import are
from tracegap.timeline import Timeline

# The order of c10::DeviceType; whatever is no CPU and has no word here is called "device".
_DEVICE_TYPES = {0: "CPU", 1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 15: "HPU", 19: "MTIA"}
_PYTORCH = "[memory]"
_COUNTER = re.compile(r".*\bmem(ory)?_bytes$|.*_mem(ory)?_bytes$")
_SNAPSHOT = re.compile(r"requested_bytes: (\d+).*?allocator_name: (\w+)", re.DOTALL)

MAKERS = re.compile(
    r"aten::(new_)?(empty|zeros|ones|full)(_like|_strided|_quantized|_permuted)?$|aten::(resize_|set_|_empty_affine_quantized)$"
)
"""Operators that only make a tensor: what asked them for it is who holds it."""


@dataclass(frozen=True, eq=False)
class Changes(Columns):
    """What was allocated and freed, by time.

    Attributes
    ----------
    time : int64[k]
    size : int64[k]
        Bytes; negative where freed.
    address : int64[k]
        Where it lies, or which object it is: equal while it lives.
    instant : int32[k]
        Row of `Timeline.instants`.
    """

    time: Int64
    size: Int64
    address: Int64
    instant: Int32


@dataclass(frozen=True, eq=False)
class Level(Columns):
    """What an allocator held: row i from ``time[i]`` to ``time[i + 1]``.

    Attributes
    ----------
    time : int64[k]
        Ascending; of changes in one nanosecond the last holds.
    allocated : int64[k]
        Bytes in use.
    reserved : int64[k]
        Bytes taken from the device, in use or not; −1 where not told.
    device : str
        ``GPU 0``, ``CPU``, or the allocator's name.
    process : str
        Whose it is, where several processes have one on this device; else "".
    changes : Changes or None
        None where only the sums are known.
    relative : bool
        Whether it counts from the start of the recording, what was there before left out.
    """

    time: Int64
    allocated: Int64
    reserved: Int64
    device: str
    process: str
    changes: Changes | None
    relative: bool

    def before(self, when: int) -> int:
        """Return the last row at or before a moment; −1 where there is none."""
        return int(np.searchsorted(self.time, when, side="right")) - 1


def levels(timeline: Timeline) -> list[Level]:
    """Return what each allocator of the trace held."""
    return [*_pytorch(timeline), *_tensorflow(timeline), *_counters(timeline)]


def holders(timeline: Timeline, level: Level, when: int) -> dict[str, int]:
    """Return the bytes that stood at a moment by who allocated them, most first; "" is before the recording or unknown.

    In PyTorch that is the innermost operator that does not only make tensors, in TensorFlow the tensor.
    """
    changes, place = level.changes, level.before(when)
    held = int(level.allocated[place]) if place >= 0 else 0
    if changes is None:
        return {}
    past = np.arange(int(np.searchsorted(changes.time, when, side="right")))[::-1]
    _, last = np.unique(changes.address[past], return_index=True)
    alive = past[last]
    alive = alive[changes.size[alive] > 0]
    size, instant = changes.size[alive], changes.instant[alive]
    owner = timeline.instants.name[instant]
    if timeline.dialect == "pytorch":
        owner = _operators(timeline, instant)
    sums: dict[str, int] = {}
    for name, bytes_ in zip(owner.tolist(), size.tolist(), strict=True):
        text = timeline.names[name] if name >= 0 else ""
        sums[text] = sums.get(text, 0) + bytes_
    older = held - int(size.sum())
    if older > 0:
        sums[""] = sums.get("", 0) + older
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))


def _named(timeline: Timeline, phases: bytes, accept: Callable[[str], bool]) -> NDArray[np.intp]:
    """Return the rows of instants of these phases whose name is accepted."""
    instants = timeline.instants
    wanted = are(timeline.names, instants.name, accept)
    return np.flatnonzero(wanted & np.isin(instants.phase, np.frombuffer(phases, np.uint8)))


def _pytorch(timeline: Timeline) -> Iterator[Level]:
    rows = _named(timeline, b"iI", lambda name: name == _PYTORCH)
    events = timeline.instants.event[rows]
    sizes = timeline.arg("Bytes")
    known = np.isin(events, sizes.rows)
    rows, events = rows[known], events[known]
    if not len(rows):
        return
    sort, index = timeline.arg("Device Type").at(events), timeline.arg("Device Id").at(events)
    track = timeline.instants.track[rows]
    process = np.where(track >= 0, timeline.tracks.process[track], -1)
    keys, place = np.unique(np.stack((process, sort, index)), axis=1, return_inverse=True)
    for number, (owner, kind, device) in enumerate(keys.T.tolist()):
        mine = np.flatnonzero(place.reshape(-1) == number)
        word = _DEVICE_TYPES.get(kind, "device")
        told = np.isin(events[mine], timeline.arg("Total Allocated").rows)
        size = sizes.at(events[mine])
        time = timeline.instants.time[rows[mine]]
        reserved = timeline.arg("Total Reserved").at(events[mine])
        # A CPU's allocator reserves nothing, and says 0.
        reserves = told.all() and (reserved > 0).any()
        addresses = timeline.arg("Addr")
        yield Level(
            time=time,
            allocated=timeline.arg("Total Allocated").at(events[mine]) if told.all() else np.cumsum(size),
            reserved=reserved if reserves else np.full(len(mine), -1, np.int64),
            device=word if word == "CPU" else _label(timeline, word, device, alone=int(np.sum(keys[1] == kind)) == 1),
            process=timeline.processes[owner] if owner >= 0 and len(np.unique(keys[0])) > 1 else "",
            changes=Changes(time, size, addresses.at(events[mine]), rows[mine].astype(np.int32))
            if np.isin(events[mine], addresses.rows).all()
            else None,
            relative=not told.all(),
        )


def _label(timeline: Timeline, word: str, index: int, *, alone: bool) -> str:
    """Return what the trace's kernels call the device whose allocator this is.

    Allocators count the devices that the process sees (``HIP_VISIBLE_DEVICES``), kernels may count the machine's: the only
    device that has memory is the only one that ran something.
    """
    ran = [device.label for device in timeline.devices]
    return ran[0] if alone and len(ran) == 1 and ran[0].startswith(word) else f"{word} {index}"


def _tensorflow(timeline: Timeline) -> Iterator[Level]:
    lives = dict(_tensors(timeline))
    rows = _named(timeline, b"C", lambda name: name in timeline.args)
    for name in np.unique(timeline.instants.name[rows]).tolist():
        text = timeline.names[name]
        yield from _counter(timeline, rows[timeline.instants.name[rows] == name], text, lives.get(text), text)


def _counters(timeline: Timeline) -> Iterator[Level]:
    rows = _named(timeline, b"C", lambda name: _COUNTER.match(name) is not None)
    for name in np.unique(timeline.instants.name[rows]).tolist():
        mine = rows[timeline.instants.name[rows] == name]
        yield from _counter(timeline, mine, timeline.names[name], None, "bytes")


def _counter(
    timeline: Timeline, rows: NDArray[np.intp], device: str, changes: Changes | None, argument: str
) -> Iterator[Level]:
    value = timeline.arg(argument).at(timeline.instants.event[rows])
    rows, value = rows[value >= 0], value[value >= 0].astype(np.int64)
    if len(rows):
        unknown = np.full(len(rows), -1, np.int64)
        yield Level(timeline.instants.time[rows], value, unknown, device, "", changes, relative=False)


def _tensors(timeline: Timeline) -> Iterator[tuple[str, Changes]]:
    """Yield for each allocator of TensorFlow when its tensors were made and gone; the snapshot of each tells its size."""
    instants, snapshot = timeline.instants, timeline.arg("snapshot")
    seen = np.flatnonzero((instants.phase == ord("O")) & np.isin(instants.event, snapshot.rows) & (instants.id >= 0))
    size: dict[int, int] = {}
    by_allocator: dict[str, list[int]] = {}
    for one, text in zip(instants.id[seen].tolist(), snapshot.at(instants.event[seen]).tolist(), strict=True):
        found = _SNAPSHOT.search(timeline.names[text])
        if found and one not in size:
            size[one] = int(found[1])
            by_allocator.setdefault(found[2], []).append(one)
    for allocator, members in by_allocator.items():
        rows = np.flatnonzero(
            np.isin(instants.id, members) & ((instants.phase == ord("N")) | (instants.phase == ord("D")))
        )
        sizes = np.array([size[one] for one in instants.id[rows].tolist()], np.int64)
        sizes[instants.phase[rows] == ord("D")] *= -1
        yield allocator, Changes(instants.time[rows], sizes, instants.id[rows].astype(np.int64), rows.astype(np.int32))


def _operators(timeline: Timeline, instant: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the name of the operator that asked for each allocation: int32, −1 where it was made in none."""
    slices, tracks = timeline.slices, timeline.tracks
    track, when = timeline.instants.track[instant], timeline.instants.time[instant]
    row = np.full(len(instant), -1, np.int64)
    for number in np.unique(track[track >= 0]).tolist():
        mine = np.flatnonzero(track == number)
        first, last = int(tracks.first[number]), int(tracks.last[number])
        lane = int(tracks.context_lanes[number])
        low, high = (first + np.searchsorted(slices.lane[first:last], (lane, lane + 1))).tolist()
        here = low - 1 + np.searchsorted(slices.start[low:high], when[mine], side="right")
        row[mine] = np.where(here < low, -1, here)
    maker = np.array([MAKERS.match(name) is not None for name in timeline.names] + [False], np.bool_)
    name = np.full(len(row), -1, np.int32)
    chosen = np.zeros(len(row), np.bool_)
    while (row >= 0).any():  # one round a level of nesting
        at = np.flatnonzero(row >= 0)
        here = row[at]
        is_open = (slices.end[here] > when[at]) & (slices.kind[here] == Kind.OP)
        # A maker holds only what nobody else asked it for: the outermost one.
        takes = is_open & ~chosen[at]
        name[at[takes]] = slices.name[here[takes]]
        chosen[at] |= is_open & ~maker[slices.name[here]]
        row[at] = np.where(chosen[at], -1, slices.parent[here])
    return name

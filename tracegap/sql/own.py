"""The tables that are ours: steps and operators of a `Timeline`, joinable to ``slice.id``."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.kinds import DEVICE_WORK, Kind
from tracegap.sql.importing import Import
from tracegap.timeline import Timeline


def step_rows(timeline: Timeline, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield number, slice_id, ts, dur, device_end_ts, cut, may_be_cut of each step, by start."""
    steps = timeline.steps
    slice_id = slice_ids(timeline, imported)[steps.slice]
    device_end = np.where(steps.device_end >= 0, steps.device_end + timeline.origin, -1)
    columns = (steps.number, slice_id, steps.start + timeline.origin, steps.end - steps.start, device_end)
    for number, slice_, start, length, end, cut, may_be in _rows(*columns, steps.cut, steps.may_be_cut):
        yield number, _or_null(slice_), start, length, _or_null(end), int(cut), int(may_be)


def operator_rows(timeline: Timeline, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield slice_id, ts, dur, name, self_ns, device_ns, step of each operator.

    ``self_ns`` is the operator's time less that of all that nests in it, ``device_ns`` the device time of what was
    launched in it and in no operator inside it.
    """
    slices = timeline.slices
    rows = np.flatnonzero(slices.kind == Kind.OP)
    step = np.append(timeline.steps.number, -1)[slices.step[rows]]
    columns = (
        slice_ids(timeline, imported)[rows],
        slices.start[rows] + timeline.origin,
        slices.end[rows] - slices.start[rows],
        slices.name[rows],
        slices.self_time[rows],
        _device_time(timeline)[rows],
        step,
        slices.step[rows],
    )
    for slice_, start, length, name, own, device, number, inside in _rows(*columns):
        yield _or_null(slice_), start, length, timeline.names[name], own, device, number if inside >= 0 else None


def slice_ids(timeline: Timeline, imported: Import) -> NDArray[np.int64]:
    """Return the SQL slice of each slice of the timeline; −1 where Perfetto's rules drop it."""
    of_event = np.full(len(imported.events), -1, np.int64)
    of_event[imported.event] = np.arange(len(imported))
    return of_event[timeline.slices.event]


def _device_time(timeline: Timeline) -> NDArray[np.int64]:
    """Sum the device slices by the innermost operator of their launch; climbs one level of nesting a pass."""
    slices = timeline.slices
    total = np.zeros(len(slices), np.int64)
    device = np.flatnonzero(np.isin(slices.kind, DEVICE_WORK) & (slices.launch >= 0))
    at = slices.launch[device].astype(np.int64)
    while len(device):
        found = slices.kind[at] == Kind.OP
        np.add.at(total, at[found], slices.end[device[found]] - slices.start[device[found]])
        climbing = ~found & (slices.parent[at] >= 0)
        device, at = device[climbing], slices.parent[at[climbing]].astype(np.int64)
    return total


def _rows(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _or_null(value: int) -> int | None:
    return None if value < 0 else value


OWN_TABLES: Mapping[str, tuple[tuple[str, ...], Callable[[Timeline, Import], Iterator[tuple[Any, ...]]]]] = {
    "tracegap_step": (("number", "slice_id", "ts", "dur", "device_end_ts", "cut", "may_be_cut"), step_rows),
    "tracegap_operator": (("slice_id", "ts", "dur", "name", "self_ns", "device_ns", "step"), operator_rows),
}
"""Our tables: their columns, and what yields their rows. ``slice_id`` is a row of the `Import`, or None."""

"""The tables that are ours: what the analyses know, joinable to ``slice.id``.

Columns whose name ends in ``slice_id`` hold slices of an `Import`, or None; each engine turns them into its own.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals, segments
from tracegap.analyses import gaps
from tracegap.charges import WORK, Charge
from tracegap.dag import Dag, build
from tracegap.extent import choose_window
from tracegap.kinds import DEVICE_WORK, Kind, is_any
from tracegap.pipeline import analyze
from tracegap.sql.importing import Import
from tracegap.timeline import Timeline, Window


class Analysed:
    """A timeline and what follows from it for its default window, each worked out when it is first asked for."""

    def __init__(self, read: Callable[[], Timeline]) -> None:
        self._read = read

    @cached_property
    def timeline(self) -> Timeline:
        """The slices of the trace."""
        return self._read()

    @cached_property
    def window(self) -> Window:
        """The default window."""
        return choose_window(self.timeline)

    @cached_property
    def dag(self) -> Dag:
        """The dependency graph of the window."""
        return build(self.timeline, self.window)


def step_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield number, slice_id, ts, dur, device_end_ts, cut, may_be_cut of each step, by start."""
    timeline = analysed.timeline
    steps = timeline.steps
    slice_id = slice_ids(timeline, imported)[steps.slice]
    device_end = np.where(steps.device_end >= 0, steps.device_end + timeline.origin, -1)
    columns = (steps.number, slice_id, steps.start + timeline.origin, steps.end - steps.start, device_end)
    for number, slice_, start, length, end, cut, may_be in _rows(*columns, steps.cut, steps.may_be_cut):
        yield number, _or_null(slice_), start, length, _or_null(end), int(cut), int(may_be)


def operator_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield slice_id, ts, dur, name, self_ns, device_ns, step of each operator.

    ``self_ns`` is the operator's time less that of all that nests in it, ``device_ns`` the device time of what was
    launched in it and in no operator inside it.
    """
    timeline = analysed.timeline
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


def critical_path_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield ts, dur, cause, waits, slice_id, carried_in of each segment of the critical path, which tile the window.

    ``slice_id`` is the slice that worked, or, where ``waits`` is 1, the one at whose boundary the path waited.
    """
    timeline, path = analysed.timeline, segments.path(analysed.dag)
    ids = np.append(slice_ids(timeline, imported), -1)[path.slice]
    columns = (path.start + timeline.origin, path.end - path.start, path.charge, np.isin(path.charge, WORK), ids)
    for start, length, charge, works, slice_, carried in _rows(*columns, path.carried):
        yield start, length, Charge(charge).word, int(not works), _or_null(slice_), int(carried)


def gap_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield device, ts, dur, before_slice_id, after_slice_id of each stretch in which a device ran nothing, by device.

    ``before`` ended last before the gap, ``after`` starts first behind it; both are None at the window's edges.
    """
    timeline, window = analysed.timeline, analysed.window
    ids = np.append(slice_ids(timeline, imported), -1)
    near = activity.overlapping(timeline, window.start, window.end)
    for device, about in enumerate(timeline.devices):
        rows = activity.device_rows(timeline, device)
        rows = rows[near[rows]]
        idle = intervals.gaps(gaps.device_busy(timeline, window, device), window.start, window.end)
        if not len(rows):
            continue
        before, after = gaps.neighbours(timeline, window, rows, idle)
        columns = _rows(idle.start + timeline.origin, idle.end - idle.start, ids[before], ids[after])
        for start, length, ended, starting in columns:
            yield about.label, start, length, _or_null(ended), _or_null(starting)


def finding_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield code, title, text, cost_ns, saving_ns, evidence of each finding of the verdict, the most rewarding first."""
    del imported  # findings speak of names, not of single slices
    verdict = analyze(analysed.timeline).verdict
    for one in () if verdict is None else verdict.findings:
        yield one.code, one.title, one.text, one.cost_ns, one.saving_ns, one.evidence


def slice_ids(timeline: Timeline, imported: Import) -> NDArray[np.int64]:
    """Return the SQL slice of each slice of the timeline; −1 where Perfetto's rules drop it."""
    of_event = np.full(len(imported.events), -1, np.int64)
    of_event[imported.event] = np.arange(len(imported))
    return of_event[timeline.slices.event]


def _device_time(timeline: Timeline) -> NDArray[np.int64]:
    """Sum the device slices by the innermost operator of their launch."""
    slices = timeline.slices
    total = np.zeros(len(slices), np.int64)
    device = np.flatnonzero(is_any(slices.kind, DEVICE_WORK) & (slices.launch >= 0))
    operator = activity.operator_of(timeline)[slices.launch[device]]
    device, operator = device[operator >= 0], operator[operator >= 0]
    np.add.at(total, operator, slices.end[device] - slices.start[device])
    return total


def _rows(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _or_null(value: int) -> int | None:
    return None if value < 0 else value


ROWS: Mapping[str, Callable[[Analysed, Import], Iterator[tuple[Any, ...]]]] = {
    "tracegap_step": step_rows,
    "tracegap_operator": operator_rows,
    "tracegap_critical_path": critical_path_rows,
    "tracegap_gap": gap_rows,
    "tracegap_finding": finding_rows,
}
"""What yields the rows of each of our tables, with the columns of `tracegap.sql.schema.OWN_TABLES`."""

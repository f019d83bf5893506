"""The tables that are ours: what the analyses know, joinable to ``slice.id``.

Columns whose name ends in ``slice_id`` hold slices of an `Import`, or None; each engine turns them into its own.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, analyses, dag, shapes, waste
from tracegap.analyses import Model, gaps
from tracegap.analyses.gap_causes import Pieces
from tracegap.charges import WORK, Charge
from tracegap.kinds import DEVICE_WORK, Kind, is_any
from tracegap.report import Finding, unmarked
from tracegap.sql.arguments import Value, typed
from tracegap.sql.importing import Import
from tracegap.timeline import Timeline, Window


class Analysed:
    """A timeline and what follows from it for a window, each worked out when it is first asked for."""

    def __init__(self, look: Callable[[], tuple[Timeline, Window]]) -> None:
        self._look = look

    @cached_property
    def _seen(self) -> tuple[Timeline, Window]:
        return self._look()

    @property
    def timeline(self) -> Timeline:
        """The slices of the trace."""
        return self._seen[0]

    @cached_property
    def model(self) -> Model:
        """The window and its dependency graph."""
        return Model(*self._seen, dag.build(*self._seen))

    @cached_property
    def idle(self) -> tuple[gaps.Idle, ...]:
        """The gaps of the devices."""
        return tuple(gaps.idle_devices(self.model)) if self.model.window.wall > 0 else ()

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What the verdict finds, the most rewarding first."""
        return analyses.judge(self.model, analyses.run_all(self.model)).findings


def step_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield number, slice_id, ts, dur, device_end_ts, cut, may_be_cut of each step, by start."""
    timeline = analysed.timeline
    steps = timeline.steps
    slice_id = slice_ids(timeline, imported)[steps.slice]
    device_end = np.where(steps.device_end >= 0, steps.device_end + _zero(timeline, imported), -1)
    columns = (steps.number, slice_id, steps.start + _zero(timeline, imported), steps.end - steps.start, device_end)
    for number, slice_, start, length, end, cut, may_be in _rows(*columns, steps.cut, steps.may_be_cut):
        yield number, _or_null(slice_), start, length, _or_null(end), int(cut), int(may_be)


def slice_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield slice_id, kind, device, step, launch_slice_id, operator_slice_id of each slice, by slice_id.

    The kind is a `Kind`, ``device`` the one that it ran on, ``launch`` the call that launched it, ``operator`` the innermost
    operator around it or around its launch.
    """
    timeline = analysed.timeline
    slices = timeline.slices
    ids = np.append(slice_ids(timeline, imported), -1)
    operator = np.append(activity.operator_of(timeline), -1)
    operator = operator[np.where(slices.launch >= 0, slices.launch, np.arange(len(slices)))]
    labels = (*(one.label for one in timeline.devices), None)
    rows = np.argsort(ids[:-1], kind="stable")
    rows = rows[ids[rows] >= 0]
    device = timeline.tracks.device[slices.track[rows]]
    step = np.append(timeline.steps.number, -1)[slices.step[rows]]
    columns = (
        ids[rows],
        slices.kind[rows],
        device,
        step,
        slices.step[rows],
        ids[slices.launch[rows]],
        ids[operator[rows]],
    )
    words = [one.name.lower() for one in sorted(Kind)]
    for slice_, kind, place, number, inside, launch, around in _rows(*columns):
        yield slice_, words[kind], labels[place], number if inside >= 0 else None, _or_null(launch), _or_null(around)


def operator_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield slice_id, ts, dur, name, self_ns, device_ns, step, shapes, flops, bytes of each operator.

    ``self_ns`` is the operator's time less that of all that nests in it, ``device_ns`` the device time of what was
    launched in it and in no operator inside it; ``flops`` and ``bytes`` are what it has to compute and move by its shapes.
    """
    timeline = analysed.timeline
    slices = timeline.slices
    rows = np.flatnonzero(slices.kind == Kind.OP)
    step = np.append(timeline.steps.number, -1)[slices.step[rows]]
    calls = shapes.find_calls(timeline, rows)
    work = [_work(shapes.price(told, timeline.dialect)) for told in calls.told]
    columns = (
        slice_ids(timeline, imported)[rows],
        slices.start[rows] + _zero(timeline, imported),
        slices.end[rows] - slices.start[rows],
        slices.name[rows],
        slices.self_time[rows],
        _device_time(timeline)[rows],
        step,
        slices.step[rows],
        calls.of,
    )
    for slice_, start, length, name, own, device, number, inside, call in _rows(*columns):
        number = number if inside >= 0 else None
        yield _or_null(slice_), start, length, timeline.names[name], own, device, number, *work[call]


def _work(one: shapes.Priced) -> tuple[Value, ...]:
    flops, moved = (one.cost.flops, one.cost.bytes) if one.cost is not None else (None, None)
    stored = (None if number is None else typed(number)[1] for number in (flops, moved))
    return shapes.shown(one.call) or None, *stored


def critical_path_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield ts, dur, cause, waits, slice_id, carried_in of each segment of the critical path, which tile the window.

    ``slice_id`` is the slice that worked, or, where ``waits`` is 1, the one at whose boundary the path waited.
    """
    timeline, path = analysed.timeline, analysed.model.path
    ids = np.append(slice_ids(timeline, imported), -1)[path.slice]
    columns = (
        path.start + _zero(timeline, imported),
        path.end - path.start,
        path.charge,
        np.isin(path.charge, WORK),
        ids,
    )
    for start, length, charge, works, slice_, carried in _rows(*columns, path.carried):
        yield start, length, Charge(charge).word, int(not works), _or_null(slice_), int(carried)


def gap_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield id, device, ts, dur, cause, before_slice_id, after_slice_id, exposed_by_slice_id of each gap of each device.

    A gap is a stretch in which the device ran nothing. ``cause`` owns most of it; ``before`` ended last before it, ``after``
    starts first behind it, both None at the window's edges; ``exposed_by`` is what left the device without work.
    """
    timeline = analysed.timeline
    ids = np.append(slice_ids(timeline, imported), -1)
    number = 0
    for idle in analysed.idle:
        label, (start, end) = timeline.devices[idle.device].label, idle.gaps
        causes = _most(idle.pieces, len(start))
        around = (ids[idle.before], ids[idle.after], ids[idle.exposed_by])
        for row in _rows(
            np.arange(number, number + len(start)), start + _zero(timeline, imported), end - start, causes, *around
        ):
            gap, ts, length, cause, *slices = row
            yield gap, label, ts, length, Charge(cause).word, *map(_or_null, slices)
        number += len(start)


def gap_cause_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield gap_id, ts, dur, cause, name of each part of each gap; the parts tile it.

    ``name`` is that of the slice that ran, or of the range or frame that an untraced thread was in; None where there is none.
    """
    timeline = analysed.timeline
    names = (*timeline.names, None)
    number = 0
    for idle in analysed.idle:
        pieces = idle.pieces
        columns = (
            pieces.gap + number,
            pieces.start + _zero(timeline, imported),
            pieces.end - pieces.start,
            pieces.charge,
        )
        for gap, start, length, cause, name in _rows(*columns, pieces.name):
            yield gap, start, length, Charge(cause).word, names[name]
        number += len(idle.gaps.start)


def waste_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield code, slice_id, time_ns of each slice that brought the result no nearer, the code with most time first.

    ``time_ns`` is that of the device work that was launched in the slice, its own where there is none.
    """
    timeline, window = analysed.timeline, analysed.model.window
    slices = timeline.slices
    ids = slice_ids(timeline, imported)
    scene = waste.look(timeline, window)
    for found in waste.rows_in(scene):
        inside, owner = waste.launched_in(scene, found.rows)
        time = np.zeros(len(slices), np.int64)
        np.add.at(time, owner, slices.end[inside] - slices.start[inside])
        alone = found.rows[~np.isin(found.rows, owner)]
        time[alone] = slices.end[alone] - slices.start[alone]
        for slice_, spent in _rows(ids[found.rows], time[found.rows]):
            yield found.waste.code, _or_null(slice_), spent


def finding_rows(analysed: Analysed, imported: Import) -> Iterator[tuple[Any, ...]]:
    """Yield code, title, text, cost_ns, saving_ns, evidence, slice_id of each finding of the verdict, the most rewarding first.

    ``slice_id`` is the longest slice that the finding is about; None where it is about no single one.
    """
    ids = np.append(imported.slice_of(imported.event), -1)
    for one in analysed.findings:
        shown = _or_null(int(ids[-1 if one.event is None else one.event]))
        yield (
            one.code,
            unmarked(one.title),
            unmarked(one.text),
            one.cost_ns,
            one.saving_ns,
            unmarked(one.evidence),
            shown,
        )


def slice_ids(timeline: Timeline, imported: Import) -> NDArray[np.int64]:
    """Return the SQL slice of each slice of the timeline; −1 where Perfetto's rules drop it."""
    ids: NDArray[np.int64] = imported.slice_of(imported.event)[timeline.slices.event]
    return ids


def _zero(timeline: Timeline, imported: Import) -> int:
    """Return the timeline's 0 as `Import` counts time: where int64 does not hold the file's clock, from a later moment."""
    return timeline.origin - imported.events.origin


def _most(pieces: Pieces, count: int) -> NDArray[np.intp]:
    """Return the charge that owns most of each of `count` gaps."""
    owned = np.zeros((count, max(Charge) + 1), np.int64)
    np.add.at(owned, (pieces.gap, pieces.charge), pieces.end - pieces.start)
    most: NDArray[np.intp] = np.argmax(owned, axis=1)
    return most


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
    "tracegap_slice": slice_rows,
    "tracegap_operator": operator_rows,
    "tracegap_critical_path": critical_path_rows,
    "tracegap_gap": gap_rows,
    "tracegap_gap_cause": gap_cause_rows,
    "tracegap_waste": waste_rows,
    "tracegap_finding": finding_rows,
}
"""What yields the rows of each of our tables, with the columns of `tracegap.sql.schema.OWN_TABLES`."""

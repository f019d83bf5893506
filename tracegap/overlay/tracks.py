"""The tracks that are drawn: findings, steps, the critical path, the gaps of each device."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.analyses import Model, gaps
from tracegap.analyses.gap_causes import Pieces
from tracegap.charges import WORK, Charge
from tracegap.kinds import Kind
from tracegap.overlay.drawing import Bars, in_lanes
from tracegap.report import Verdict, unmarked
from tracegap.timeline import Timeline


class Drawn(NamedTuple):
    """A track: its name and its slices."""

    name: str
    bars: Bars


def tracks(model: Model, verdict: Verdict, *, origin: int) -> Iterator[Drawn]:
    """Yield the tracks from top to bottom, those that would be empty left out; `origin` is added to all times."""
    if model.window.wall > 0:
        yield Drawn("findings", _findings(model, verdict, origin))
    if len(model.timeline.steps):
        for lane in in_lanes(_steps(model, origin)):
            yield Drawn("steps", lane)
    if model.window.wall > 0:
        yield Drawn("critical path", _critical_path(model, origin))
        yield from _gaps(model, origin)


def _findings(model: Model, verdict: Verdict, origin: int) -> Bars:
    """Lay the verdict over the window, and each finding under it; they are true of all of it."""
    window = model.window
    looks: list[tuple[str, dict[str, Any]]] = [(unmarked(verdict.summary), {"bound": verdict.bound})]
    for one in verdict.findings:
        told = {
            "code": one.code,
            "text": unmarked(one.text),
            "cost_ns": one.cost_ns,
            "evidence": unmarked(one.evidence),
        }
        looks.append((unmarked(one.title), told | ({} if one.saving_ns is None else {"saving_ns": one.saving_ns})))
    return Bars(
        start=np.full(len(looks), window.start + origin, np.int64),
        end=np.full(len(looks), window.end + origin, np.int64),
        looks=looks,
        look=np.arange(len(looks)),
        event=np.array([-1, *(-1 if one.event is None else one.event for one in verdict.findings)]),
    )


def _steps(model: Model, origin: int) -> Bars:
    timeline, steps = model.timeline, model.timeline.steps
    inside = set(model.window.steps)
    looks = []
    columns = (steps.number, steps.cut, steps.may_be_cut, steps.device_end, steps.end)
    for row, (number, cut, may_be, device_end, end) in enumerate(zip(*(one.tolist() for one in columns), strict=True)):
        told = {"number": number, "in_window": row in inside, "cut": cut, "may_be_cut": may_be}
        looks.append((f"step {number}", told | ({"device_work_after_ns": device_end - end} if device_end >= 0 else {})))
    return Bars(
        start=steps.start + origin,
        end=steps.end + origin,
        looks=looks,
        look=np.arange(len(steps)),
        event=timeline.slices.event[steps.slice],
    )


def _critical_path(model: Model, origin: int) -> Bars:
    """Draw work under the name of its slice and waits under that of their cause."""
    timeline, path = model.timeline, model.path
    slices = timeline.slices
    known = path.slice >= 0
    name = np.where(known, slices.name[path.slice], -1)
    track = np.where(known, slices.track[path.slice], -1)
    kind = np.where(known, slices.kind[path.slice], Kind.NONE)
    different, look = _different(name, track, kind, path.charge, path.carried)
    return Bars(
        start=path.start + origin,
        end=path.end + origin,
        looks=[_segment(timeline, *row) for row in different],
        look=look,
        event=np.where(known, slices.event[path.slice], -1),
    )


def _different(*columns: NDArray[Any]) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Return the different rows of columns whose least value is −1, and which of them each row is."""
    sizes = [int(column.max(initial=0)) + 2 for column in columns]
    key = np.ravel_multi_index([column.astype(np.int64) + 1 for column in columns], sizes)
    different, place = np.unique(key, return_inverse=True)
    values = np.stack(np.unravel_index(different, sizes), axis=1) - 1
    return [tuple(row) for row in values.tolist()], place


def _segment(
    timeline: Timeline, name: int, track: int, kind: int, charge: int, carried: int
) -> tuple[str, dict[str, Any]]:
    cause = Charge(charge)
    about = timeline.names[name] if name >= 0 else ""
    works = cause in WORK and track >= 0
    told: dict[str, Any] = {"cause": cause.word, "kind": Kind(kind).name.lower() if works else "wait"}
    if not works and about:
        told["slice"] = about
    if track >= 0:
        told["track"] = timeline.tracks.label[track]
    if carried:
        told["carried_in"] = True
    return about if works and about else cause.word, told


def _gaps(model: Model, origin: int) -> Iterator[Drawn]:
    """Draw each device's gaps, and in each the stretches that its causes own."""
    for idle in gaps.idle_devices(model):
        if len(idle.gaps.start):
            yield Drawn(f"gaps of {model.timeline.devices[idle.device].label}", _gaps_of(model.timeline, idle, origin))


def _gaps_of(timeline: Timeline, idle: gaps.Idle, origin: int) -> Bars:
    pieces = idle.pieces
    looks = _gap_looks(timeline, pieces, (idle.before, idle.after, idle.exposed_by))
    owners, owner = _different(pieces.charge, pieces.name)
    parts = [_part(timeline, *row) for row in owners]
    # A gap stands before its parts, so that a part of the same bounds nests in it.
    place = np.concatenate((np.searchsorted(pieces.gap, np.arange(len(idle.gaps.start))), np.arange(len(pieces))))
    depth = np.repeat((0, 1), (len(idle.gaps.start), len(pieces)))
    order = np.lexsort((depth, place))
    return Bars(
        start=np.concatenate((idle.gaps.start, pieces.start))[order] + origin,
        end=np.concatenate((idle.gaps.end, pieces.end))[order] + origin,
        looks=[*looks, *parts],
        look=np.concatenate((np.arange(len(looks)), owner + len(looks)))[order],
    )


def _gap_looks(
    timeline: Timeline, pieces: Pieces, around: tuple[NDArray[Any], ...]
) -> list[tuple[str, dict[str, Any]]]:
    """Tell of each gap what stands around it and what its time belongs to, the most first."""
    parts: list[dict[str, int]] = [{} for _ in around[0]]
    words = [charge.word for charge in Charge]
    columns = (pieces.gap, pieces.charge, pieces.end - pieces.start)
    for gap, charge, length in zip(*(column.tolist() for column in columns), strict=True):
        word = words[charge]
        parts[gap][word] = parts[gap].get(word, 0) + length
    names = [_names(timeline, rows) for rows in around]
    looks = []
    for owned, before, after, exposed in zip(parts, *names, strict=True):
        sides = {"before": before, "after": after, "exposed_by": exposed}
        told = dict(sorted(owned.items(), key=lambda part: -part[1]))
        looks.append(
            (
                "gap",
                {key: name for key, name in sides.items() if name is not None}
                | {"cause": next(iter(told), ""), "parts": told},
            )
        )
    return looks


def _names(timeline: Timeline, rows: Any) -> list[str | None]:
    name = np.where(rows >= 0, timeline.slices.name[rows], -1)
    return [timeline.names[one] if one >= 0 else None for one in name.tolist()]


def _part(timeline: Timeline, charge: int, name: int) -> tuple[str, dict[str, Any]]:
    word = Charge(charge).word
    return word, {"cause": word} | ({"slice": timeline.names[name]} if name >= 0 else {})

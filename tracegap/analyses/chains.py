"""Elementwise operators that follow each other on tensors of one size: what they move, and what one fused kernel would not.

In: what `tracegap.operators` measured. Out: `ChainUse` values, which are rows of the report. That each operator feeds the next is
not recorded; it is taken from their order and sizes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.activity import Rows
from tracegap.analyses.roofline import judge, label, said_of, total_of
from tracegap.costs.diagnosis import chain_saving
from tracegap.costs.limits import Limits
from tracegap.operators import HOST, Measured
from tracegap.shapes import Priced
from tracegap.timeline import Timeline

FUSE = "Fuse them into one kernel."
_MOST_BYTES = 1 << 60
"""No memory holds so much: the sizes of the tensor are wrong."""
_SIDE_BY_SIDE = "Optimizer."
"""Annotations in which operators of equal size work on parameters side by side, not one after another."""


@dataclass(frozen=True, slots=True)
class ChainUse:
    """Elementwise operators that follow each other on tensors of one size, as often as the same ones do.

    Apart they move each tensor from operator to operator through memory: ``saving_bytes`` is what one fused kernel would not.
    """

    names: tuple[str, ...]
    device: str
    count: int
    tensor_bytes: int
    duration_ns: int
    saving_bytes: int
    bytes: int | None = None
    bytes_per_s: float | None = None
    f_b: float | None = None
    diagnosis: str | None = None
    action: str | None = None
    over_limit: bool | None = None


def chains(timeline: Timeline, measured: Measured, limits: Mapping[int, Limits | None]) -> list[ChainUse]:
    """Find elementwise operators that follow each other in a thread, on tensors of one size; the longest time first."""
    found = [
        _use(timeline, measured, kind, rows, limits[kind.device]) for kind, rows in _runs(timeline, measured).items()
    ]
    return sorted(found, key=lambda chain: (-chain.duration_ns, chain.names))


def fused(timeline: Timeline, measured: Measured, chain: ChainUse) -> NDArray[np.float64]:
    """Return for each row of `Work` what part of its time is left if that chain is fused, its time being that of its bytes."""
    scale = np.ones(len(measured.work))
    if chain.bytes:
        for kind, rows in _runs(timeline, measured).items():
            if (kind.names, kind.tensor, label(timeline, kind.device)) == (
                chain.names,
                chain.tensor_bytes,
                chain.device,
            ):
                scale[rows] = max(0.0, 1 - chain.saving_bytes / chain.bytes)
    return scale


class _Kind(NamedTuple):
    """What makes chains alike."""

    names: tuple[str, ...]
    tensor: int
    device: int


def _runs(timeline: Timeline, measured: Measured) -> dict[_Kind, list[int]]:
    """Return the rows of `Work` in chains, chain after chain, by their kind. A loop over the chains."""
    rows, size = _program(timeline, measured)
    work = measured.work
    track, step = timeline.slices.track[work.row[rows]], timeline.slices.step[work.row[rows]]
    joined = np.zeros(len(rows) + 1, np.bool_)
    if len(rows) > 1:
        alike = (size[1:] == size[:-1]) & (size[1:] > 0)
        for column in (track, step, work.device[rows]):
            alike &= column[1:] == column[:-1]
        joined[1:-1] = alike
    starts = np.flatnonzero(~joined[:-1] & joined[1:])
    ends = np.flatnonzero(joined[:-1] & ~joined[1:]) + 1
    names = [one.name for one in measured.calls]
    found: dict[_Kind, list[int]] = {}
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        members = rows[first:last]
        called = tuple(names[call] for call in work.call[members].tolist())
        kind = _Kind(called, int(size[first]), int(work.device[members[0]]))
        found.setdefault(kind, []).extend(members.tolist())
    return found


def _program(timeline: Timeline, measured: Measured) -> tuple[Rows, NDArray[np.int64]]:
    """Return the rows of `Work` that count, in order of track and time, and the bytes of an elementwise one's tensor, else 0.

    Views do not count, nor does what a host with a device does by itself.
    """
    slices, work = timeline.slices, measured.work
    sizes = np.array([_tensor_bytes(one) or 0 for one in measured.calls] or [0], np.int64)
    idle = np.array([one.idle for one in measured.calls] or [False], np.bool_)
    rows = np.flatnonzero(~idle[work.call] & ((work.device != HOST) | (not timeline.devices)))
    rows = rows[np.argsort(work.row[rows], kind="stable")]
    size = np.where(work.judged[rows], sizes[work.call[rows]], 0)
    context = slices.context[work.row[rows]]
    apart = np.array([name.startswith(_SIDE_BY_SIDE) for name in timeline.names] + [False], np.bool_)
    size[apart[np.where(context >= 0, slices.name[context], -1)]] = 0
    return rows, size


def _tensor_bytes(about: Priced) -> int | None:
    """Return the bytes of an elementwise call's result: told, else that of its largest operand; None if no memory holds them."""
    if about.family != "elementwise" or about.call is None or about.cost is None or not about.cost.bytes:
        return None
    told = about.call.outputs_size()
    if told is None:
        told = max((about.call.size(place) or 0 for place in range(len(about.call.shapes))), default=0)
    return told if 0 <= told < _MOST_BYTES else None


def _use(timeline: Timeline, measured: Measured, kind: _Kind, rows: list[int], limits: Limits | None) -> ChainUse:
    work, length = measured.work, len(kind.names)
    count, time = len(rows) // length, int(work.duration[rows].sum())
    calls, numbers = np.unique(work.call[rows], return_counts=True)
    costs = [
        (number, cost)
        for call, number in zip(calls.tolist(), numbers.tolist(), strict=True)
        if (cost := measured.calls[call].cost) is not None
    ]
    moved, saving = total_of(costs, "bytes"), count * chain_saving(length, kind.tensor)
    chain = ChainUse(kind.names, label(timeline, kind.device), count, kind.tensor, time, saving, moved)
    if time <= 0:
        return chain
    judged, _ = judge(costs, total_of(costs, "flops"), moved, time, limits)
    said = said_of(judged)
    if not judged.over_limit and said["diagnosis"]:
        said["action"] = FUSE
    return replace(chain, bytes_per_s=judged.bytes_per_s, f_b=judged.f_b, **said)

"""What is asked, and which edges and whose work it changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.dag import Dag
from tracegap.edges import Cause
from tracegap.errors import UsageError
from tracegap.kinds import DEVICE_WORK, Role, is_any
from tracegap.scenarios.choice import find, together
from tracegap.scenarios.lanes import Stretch, occurrences, pipelined, until_the_next
from tracegap.scenarios.web import Web, web


@dataclass(frozen=True, slots=True)
class Changes:
    """What is asked. Names are exact or ``/regular expressions/``; where several meet, their factors multiply.

    Attributes
    ----------
    scale : tuple of (str, float)
        Names and the factor of their work.
    set_ns : tuple of (str, int)
        Names and how long each of their slices is to take.
    remove : tuple of str
        Names of slices that are gone, with what they waited for.
    overlap : tuple of tuple of str
        Groups of stages to pipeline across steps.
    speedup_device : float
        How many times as fast everything on the devices runs.
    sweep : str or None
        A name to take from its full work to none.
    target_ns : int or None
        A wall time to reach: by the work of `sweep`, else by all but `keep`.
    keep : tuple of str
        Names that stay as they are on the way to the target.
    """

    scale: tuple[tuple[str, float], ...] = ()
    set_ns: tuple[tuple[str, int], ...] = ()
    remove: tuple[str, ...] = ()
    overlap: tuple[tuple[str, ...], ...] = ()
    speedup_device: float = 1.0
    sweep: str | None = None
    target_ns: int | None = None
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One change as it was understood; ``work_ns`` is the work it acts on: of ``slices``, of what they hold and launched."""

    change: str
    names: tuple[str, ...]
    factor: float | None = None
    set_ns: int | None = None
    slices: int = 0
    work_ns: int = 0


@dataclass(frozen=True, eq=False)
class Changed:
    """A graph with changes made.

    Attributes
    ----------
    web : Web
        With the edges that are left and added.
    factor : float64[n]
        Of the work of each slice.
    told : tuple of Change
        The changes as they were understood.
    stretches : tuple of tuple of Stretch
        Where the stages of each pipeline run.
    """

    web: Web
    factor: NDArray[np.float64]
    told: tuple[Change, ...]
    stretches: tuple[tuple[Stretch, ...], ...]


_MOST = 1e12
"""Times as long or as fast: beyond all sense, and far from where numbers overflow."""
_LONGEST = float(1 << 60)
"""ns of work after the changes: sums of times stay within 64 bits."""


def change(dag: Dag, changes: Changes) -> Changed:
    """Make the changes on a graph.

    Raises
    ------
    UsageError
        When a name means nothing in the window, or a value makes no sense.
    """
    _check(changes)
    then = web(dag)
    factor = np.ones(len(dag.timeline.slices))
    told = [_apply(dag, factor, one) for one in _factors(changes)]
    gone = np.zeros(len(factor), np.bool_)
    for name in changes.remove:
        chosen = find(dag.timeline, dag.window, name)
        members = together(dag.timeline, chosen) >= 0
        gone |= members
        told.append(_told(dag, "remove", name, chosen, members, factor=0.0))
    factor[gone] = 0
    if float((factor * dag.timeline.slices.self_time).sum()) > _LONGEST:
        raise UsageError("the changes make more work than the replay can count (36 years of it): make it shorter")
    then = _without_waits(then, gone)
    stretches: list[tuple[Stretch, ...]] = []
    for names in changes.overlap:
        found = occurrences(then, [find(dag.timeline, dag.window, name) for name in names])
        _check_stages(found, names)
        then = pipelined(then, found)
        told.append(Change("overlap", names, slices=len(found)))
        stretches.append(tuple(until_the_next(then, found)))
    return Changed(then, factor, tuple(told), tuple(stretches))


def _check(changes: Changes) -> None:
    for name, factor in changes.scale:
        if not 0 <= factor <= _MOST:
            raise UsageError(f"--scale {name}={factor}: the factor must be 0 or more, at most {_MOST:.0e}")
    for name, length in changes.set_ns:
        if length < 0:
            raise UsageError(f"--set {name}={length}: the time must be 0 or more")
    if not 1 / _MOST <= changes.speedup_device <= _MOST:
        raise UsageError(
            f"--speedup-device {changes.speedup_device}: it must be more than 0, from {1 / _MOST:.0e} to {_MOST:.0e}"
        )
    for group in changes.overlap:
        if len(set(group)) < 2:
            raise UsageError(f"--overlap {','.join(group)}: name two stages or more, with a comma between them")
    if changes.keep and (changes.target_ns is None or changes.sweep is not None):
        raise UsageError(
            "--keep says what stays on the way to a --target without --sweep: give --target, and not --sweep"
        )


def _check_stages(found: Sequence[Stretch], names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        if all(one.stage != number for one in found):
            raise UsageError(f"--overlap: {name!r} holds no work of a host thread in the window, so it is no stage")


@dataclass(frozen=True, slots=True)
class _Factor:
    """A change of factors: of a name by a factor or to a length, or of all device work."""

    change: str
    name: str | None
    factor: float | None = None
    set_ns: int | None = None


def _factors(changes: Changes) -> Iterator[_Factor]:
    for name, factor in changes.scale:
        yield _Factor("scale", name, factor=factor)
    for name, length in changes.set_ns:
        yield _Factor("set", name, set_ns=length)
    if changes.speedup_device != 1:
        yield _Factor("speedup-device", None, factor=1 / changes.speedup_device)


def _apply(dag: Dag, factor: NDArray[np.float64], one: _Factor) -> Change:
    """Multiply the factors of the slices that a change means, in place."""
    timeline = dag.timeline
    slices = timeline.slices
    if one.name is None:
        chosen = is_any(slices.kind, DEVICE_WORK) & (timeline.tracks.role[slices.track] == Role.DEVICE)
        members = chosen
    else:
        chosen = find(timeline, dag.window, one.name)
        head = together(timeline, chosen)
        members = head >= 0
    if one.factor is not None:
        factor[members] *= one.factor
    else:
        length = (slices.end - slices.start)[head[members]]
        factor[members] *= np.where(length > 0, (one.set_ns or 0) / np.maximum(length, 1), 1)
    return _told(dag, one.change, one.name, chosen, members, factor=one.factor, set_ns=one.set_ns)


def _told(
    dag: Dag,
    change: str,
    name: str | None,
    chosen: NDArray[np.bool_],
    members: NDArray[np.bool_],
    *,
    factor: float | None = None,
    set_ns: int | None = None,
) -> Change:
    mine = (dag.owner >= 0) & members[dag.owner]
    return Change(
        change=change,
        names=() if name is None else (name,),
        factor=factor,
        set_ns=set_ns,
        slices=int(np.count_nonzero(chosen)),
        work_ns=int(dag.graph.edges.lag[mine].sum()),
    )


def _without_waits(then: Web, gone: NDArray[np.bool_]) -> Web:
    """Let go what removed calls waited for on a device."""
    if not gone.any():
        return then
    edges = then.edges
    waits = np.isin(edges.cause, (Cause.SYNC, Cause.QUEUE)) & (edges.target < then.dag.source)
    waits[waits] = gone[edges.target[waits] >> 1]
    return then.without(waits)

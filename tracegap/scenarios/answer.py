"""The answer to a what-if: the replayed wall time, what is critical then, and how far that rests on guesses."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tracegap import schedule, segments
from tracegap.charges import WORK, Charge
from tracegap.dag import Dag
from tracegap.kinds import Kind
from tracegap.scenarios import curve
from tracegap.scenarios.changes import Change, Changed, Changes, change
from tracegap.scenarios.choice import find, together
from tracegap.scenarios.lanes import Stretch
from tracegap.scenarios.threads import Held, ThreadOrder, hold
from tracegap.segments import Segments

_TOLD = 1.01
"""Times as long as the replay the window has to take, with the order between threads kept, for that to be told."""


@dataclass(frozen=True, slots=True)
class Critical:
    """Work of a name on the critical path of the replay, and on that of the measured window."""

    name: str
    kind: str
    duration_ns: int
    ratio: float
    measured_ns: int


@dataclass(frozen=True, slots=True)
class Part:
    """Time of the replay's critical path by cause, and of the measured one's."""

    cause: str
    duration_ns: int
    measured_ns: int


@dataclass(frozen=True, slots=True)
class Stage:
    """A pipelined stage: how often it ran, its median time with what follows it on its thread, and its idleness a step."""

    name: str
    count: int
    median_ns: int
    idle_ns: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages side by side: the median time of a step once it is full, and the stage that sets it."""

    stages: tuple[Stage, ...]
    step_ns: int
    bottleneck: str
    shared: bool


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a sweep."""

    factor: float
    wall_ns: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """The wall as the work of a name goes from 1 to 0; ``knee`` is where less of it pays less than before.

    ``thread_order`` is as in `Answer`, without any of that work.
    """

    name: str
    points: tuple[Point, ...]
    knee: Point | None = None
    thread_order: ThreadOrder | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """The factor by which ``name``, or all but ``keep``, reaches a wall; None where nothing does.

    ``thread_order`` is as in `Answer`, at that factor.
    """

    wall_ns: int
    name: str | None
    keep: tuple[str, ...]
    factor: float | None
    thread_order: ThreadOrder | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The fields are the keys of the JSON report, schema ``tracegap.whatif/1``.

    Attributes
    ----------
    measured_wall_ns, replayed_wall_ns : int
    changes : tuple of Change
    critical_by_name : tuple of Critical
        By time on the path of the replay; names that were on the measured one and left it have 0.
    critical_by_cause : tuple of Part
        All of the path, waits included.
    inferred_ratio : float
        Share of the replay's path on dependencies that are inferred, not recorded.
    inferred_edges : int
        How many of those it passes.
    thread_order : ThreadOrder or None
        The wall if host threads need more of one another than any edge says; None where that makes no difference.
    pipelines : tuple of Pipeline or None
    sweep : Sweep or None
    target : Target or None
    """

    measured_wall_ns: int
    replayed_wall_ns: int
    changes: tuple[Change, ...]
    critical_by_name: tuple[Critical, ...]
    critical_by_cause: tuple[Part, ...]
    inferred_ratio: float
    inferred_edges: int
    thread_order: ThreadOrder | None = None
    pipelines: tuple[Pipeline, ...] | None = None
    sweep: Sweep | None = None
    target: Target | None = None


def ask(dag: Dag, changes: Changes) -> Answer:
    """Replay a window's graph with changes. Array passes, and one loop over what is left of the graph after folding chains.

    Raises
    ------
    UsageError
        When a name means nothing in the window, or a value makes no sense.
    """
    replays = Replays.of(change(dag, changes))
    then, rows = replays.observed_as_replayed()
    path, measured = _path(then), _path(dag)
    length = path.end - path.start
    wall = then.window.wall
    groups = zip(replays.changed.stretches, changes.overlap, strict=True)
    return Answer(
        measured_wall_ns=dag.window.wall,
        replayed_wall_ns=wall,
        changes=replays.changed.told,
        critical_by_name=_by_name(dag, path, measured, wall),
        critical_by_cause=_by_cause(path, measured),
        inferred_ratio=int(length[then.inferred[path.edge]].sum()) / max(wall, 1),
        inferred_edges=int(np.count_nonzero(then.inferred[rows])),
        thread_order=replays.thread_order(replays.weight(), wall) if replays.changed.told else None,
        pipelines=tuple(_pipeline(then, *one) for one in groups) or None,
        sweep=_sweep(replays, changes.sweep) if changes.sweep is not None else None,
        target=_target(replays, changes) if changes.target_ns is not None else None,
    )


Weigh = Callable[[float], NDArray[np.int64]]
"""From a factor to the weight of each edge, int64[e]."""


@dataclass(frozen=True, eq=False)
class Replays:
    """A changed graph made ready for replays."""

    changed: Changed
    plan: schedule.Plan

    @classmethod
    def of(cls, changed: Changed) -> "Replays":
        """Fold the chains of a changed graph."""
        edges = changed.web.edges
        return cls(changed, schedule.contract(changed.web.graph(changed.web.dag.graph.time, edges.lag)))

    @cached_property
    def held(self) -> Held | None:
        """The graph with the order between host threads kept; None where there is none, or --overlap gives it up."""
        return hold(self.changed.web) if not self.changed.stretches else None

    def weight(self, factor: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
        """Return the weight of each edge with the work of the slices at the given factors, or at those of the changes."""
        web = self.changed.web
        lag, delay = web.scaled(self.changed.factor if factor is None else factor)
        return lag + delay[web.edges.target]

    def observed_as_replayed(self) -> tuple[Dag, NDArray[np.int32]]:
        """Return the graph with the times of the replay as if they had been observed, and its critical path."""
        web, dag = self.changed.web, self.changed.web.dag
        time = schedule.replay(self.plan, self.weight(), dag.graph.time)
        graph = web.graph(time, web.scaled(self.changed.factor)[0])
        binding = schedule.bind(graph)
        then = replace(
            dag,
            window=replace(dag.window, end=int(time[dag.end])),
            graph=graph,
            cause=web.edges.cause,
            inferred=web.edges.inferred,
            owner=web.edges.owner,
            binding=binding,
        )
        return then, schedule.path(graph, binding, dag.end)

    def walls(self, weights: Iterable[NDArray[np.int64]]) -> list[int]:
        """Return the wall of each scenario."""
        dag = self.changed.web.dag
        ends = schedule.replay_many(self.plan, weights, dag.graph.time, dag.end)
        return [int(end) - dag.window.start for end in ends]

    def thread_order(self, weight: NDArray[np.int64], wall: int) -> ThreadOrder | None:
        """Return what the order between host threads comes to in a scenario, where it makes that wall longer."""
        found = self.held.thread_order(weight) if self.held is not None else None
        return found if found is not None and found.wall_ns >= wall * _TOLD else None

    def scaling(self, members: NDArray[np.bool_]) -> Weigh:
        """Return the weights under a further factor of the given slices, bool[n]."""
        factor = self.changed.factor
        return lambda further: self.weight(np.where(members, factor * further, factor))

    def shrinking_all_but(self, kept: NDArray[np.bool_]) -> Weigh:
        """Return the weights under a factor of all time, work and waits, but that of the given slices, bool[n]."""
        whole, without = self.weight(), self.weight(np.where(kept, 0, self.changed.factor))
        held, rest = whole - without + np.minimum(without, 0), np.maximum(without, 0)
        return lambda further: held + np.rint(rest * further).astype(np.int64)

    def along(self, weigh: Weigh) -> curve.Curve:
        """Return the curve of the wall over a factor."""
        return lambda factors: self.walls(map(weigh, factors))


def _members(dag: Dag, names: Sequence[str]) -> NDArray[np.bool_]:
    members = np.zeros(len(dag.timeline.slices), np.bool_)
    for name in names:
        members |= together(dag.timeline, find(dag.timeline, dag.window, name)) >= 0
    return members


def _sweep(replays: Replays, name: str) -> Sweep:
    weigh = replays.scaling(_members(replays.changed.web.dag, [name]))
    along = replays.along(weigh)
    factors, walls = curve.sweep(along)
    bend = curve.knee(along, factors, walls)
    return Sweep(
        name=name,
        points=tuple(map(Point, factors, walls)),
        knee=Point(*bend) if bend is not None else None,
        thread_order=replays.thread_order(weigh(factors[-1]), walls[-1]),
    )


def _target(replays: Replays, changes: Changes) -> Target:
    dag, wall = replays.changed.web.dag, changes.target_ns or 0
    if changes.sweep is not None:
        weigh = replays.scaling(_members(dag, [changes.sweep]))
    else:
        weigh = replays.shrinking_all_but(_members(dag, changes.keep))
    factor = curve.needed(replays.along(weigh), wall)
    thread_order = replays.thread_order(weigh(factor), wall) if factor is not None else None
    return Target(wall, changes.sweep, changes.keep, factor, thread_order)


def _path(dag: Dag) -> Segments:
    """Return the critical path by the graph alone, with nothing of the observed times laid over."""
    if dag.window.wall <= 0:
        none = np.empty(0, np.int64)
        empty = none.astype(np.int32)
        return Segments(none, none, none.astype(np.uint8), empty, empty, none.astype(np.bool_))
    return segments.walks(dag, np.array([dag.end], np.int32), np.array([dag.window.start]))[0]


def _by_name(dag: Dag, path: Segments, measured: Segments, wall: int) -> tuple[Critical, ...]:
    now, before = _sums(dag, path), _sums(dag, measured)
    told = [
        Critical(
            name=dag.timeline.names[name] if name >= 0 else "",
            kind=Kind(kind).name.lower(),
            duration_ns=now.get((name, kind), 0),
            ratio=now.get((name, kind), 0) / max(wall, 1),
            measured_ns=before.get((name, kind), 0),
        )
        for name, kind in sorted(now.keys() | before.keys())
    ]
    return tuple(sorted(told, key=lambda one: (-one.duration_ns, -one.measured_ns)))


def _sums(dag: Dag, path: Segments) -> dict[tuple[int, int], int]:
    """Return the work on a path by (name, kind)."""
    slices = dag.timeline.slices
    works = np.isin(path.charge, WORK)
    rows = path.slice[works]
    groups, place = np.unique(slices.name[rows].astype(np.int64) * 256 + slices.kind[rows], return_inverse=True)
    total = np.zeros(len(groups), np.int64)
    np.add.at(total, place, (path.end - path.start)[works])
    return {divmod(group, 256): time for group, time in zip(groups.tolist(), total.tolist(), strict=True)}


def _by_cause(path: Segments, measured: Segments) -> tuple[Part, ...]:
    sums = np.zeros((2, len(Charge)), np.int64)
    for row, one in enumerate((path, measured)):
        np.add.at(sums[row], one.charge, one.end - one.start)
    parts = [
        Part(charge.word, int(sums[0, charge]), int(sums[1, charge])) for charge in Charge if sums[:, charge].any()
    ]
    return tuple(sorted(parts, key=lambda part: (-part.duration_ns, -part.measured_ns)))


def _pipeline(then: Dag, stretches: Sequence[Stretch], names: Sequence[str]) -> Pipeline:
    """Say what each stage takes in the replay, and what it idles while the slowest one sets the pace."""
    time = then.graph.time
    mine = [[one for one in stretches if one.stage == number] for number in range(len(names))]
    begins = [time[[one.first for one in stage]] for stage in mine]
    ends = [time[[one.last for one in stage]] for stage in mine]
    busy = [int(np.median(end - begin)) for begin, end in zip(begins, ends, strict=True)]
    slowest = int(np.argmax(busy))
    paces = np.diff(ends[slowest])
    step = int(np.median(paces)) if len(paces) else busy[slowest]
    return Pipeline(
        stages=tuple(
            Stage(name, len(end), took, max(step - took, 0)) for name, end, took in zip(names, ends, busy, strict=True)
        ),
        step_ns=step,
        bottleneck=names[slowest],
        shared=len({one.track for one in stretches}) < len(names),
    )

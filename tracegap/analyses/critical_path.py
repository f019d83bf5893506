"""Critical path: the longest chain of dependent work, which is as long as the window.

**What it shows.** What the window consists of when one walks back from its end, always to what was waited for last: work of
host and device by name, and the waits between them by cause. Beside each name stands its drag: how much shorter the window
would be if it took no time. Names that take long and are not on the path stand apart, with their slack.

**Why it costs time.** Only what is on the path decides how long the window takes. Making anything else faster, however much
time it takes, changes nothing until its slack is used up.

**How it is computed.** Every start and end in the window depends on others: on what ran before it on its thread or stream, on
the call that launched it, on what a blocking call waited for, on events, arrows, and work handed over between threads. Each
such edge carries the least time it takes. The edge that lets a moment come last binds it, and what remains until the observed
time is a wait with a cause. So the path's parts add up to the window to the nanosecond. Drag is found by replaying the graph
with the name's own work at zero (total drag: with all it holds and launched at zero, too), slack by walking from the end.
Dependencies that no event records (a blocking call known by its name, a thread that wakes right after another's work) are
inferred; the time that lies on such edges is told.
"""

import numpy as np
from numpy.typing import NDArray

from tracegap import change, schedule
from tracegap.analyses.contract import Model
from tracegap.analyses.path_results import TOP, CriticalPath, Named, OffPath, Part, Segment
from tracegap.analyses.path_words import LABEL, TITLE, section
from tracegap.charges import WORK, Charge
from tracegap.dag import Dag
from tracegap.kinds import Kind
from tracegap.segments import Segments

__all__ = ["LABEL", "NAME", "TITLE", "CriticalPath", "run", "section"]

NAME = "critical_path"


def run(model: Model) -> CriticalPath | None:
    """Find the path and what follows from it; None for an empty window."""
    dag = model.dag
    if dag.window.wall <= 0:
        return None
    found = model.path
    length = found.end - found.start
    works = np.isin(found.charge, WORK)
    names = _by_name(dag, found, works)
    return CriticalPath(
        length_ns=int(length.sum()),
        work_ns=int(length[works].sum()),
        wait_ns=int(length[~works].sum()),
        carried_in_ns=int(length[found.carried].sum()),
        inferred_ns=int(length[dag.inferred[found.edge]].sum()),
        by_cause=_by_cause(found, length),
        by_name=names,
        off_path=_off_path(dag, {one.name for one in names}),
        segments=_told(dag, found) if model.full else None,
    )


def _by_cause(found: Segments, length: NDArray[np.int64]) -> tuple[Part, ...]:
    sums = np.zeros(len(Charge), np.int64)
    np.add.at(sums, found.charge, length)
    parts = [Part(charge.word, int(sums[charge])) for charge in Charge if sums[charge]]
    return tuple(sorted(parts, key=lambda part: -part.duration_ns))


def _by_name(dag: Dag, found: Segments, works: NDArray[np.bool_]) -> tuple[Named, ...]:
    slices, wall = dag.timeline.slices, dag.window.wall
    rows = found.slice[works]
    key = slices.name[rows].astype(np.int64) * 256 + slices.kind[rows]
    groups, place = np.unique(key, return_inverse=True)
    total = np.zeros(len(groups), np.int64)
    np.add.at(total, place, (found.end - found.start)[works])
    _, first = np.unique(rows, return_index=True)
    counts = np.bincount(place[first], minlength=len(groups))
    longest = np.lexsort((groups, -total))
    top = [int(groups[at] // 256) for at in longest[:TOP].tolist()]
    once = list(dict.fromkeys(top))
    drag, total_drag = (dict(zip(once, saved, strict=True)) for saved in change.drags(dag, once))
    return tuple(
        Named(
            name=_text(dag, int(groups[at] // 256)),
            kind=Kind(int(groups[at] % 256)).name.lower(),
            count=int(counts[at]),
            duration_ns=int(total[at]),
            ratio=int(total[at]) / wall,
            drag_ns=drag.get(int(groups[at] // 256)) if rank < TOP else None,
            total_drag_ns=total_drag.get(int(groups[at] // 256)) if rank < TOP else None,
        )
        for rank, at in enumerate(longest.tolist())
    )


def _off_path(dag: Dag, on_path: set[str]) -> tuple[OffPath, ...]:
    """Return the names with most work of their own that is not on the path, each with its least slack."""
    slices = dag.timeline.slices
    slack = schedule.slack(dag.plan, dag.graph, dag.binding, dag.end)
    ends = dag.graph.nodes[(dag.graph.nodes < dag.source) & (dag.graph.nodes % 2 == 1)]
    rows = ends >> 1
    names, place = np.unique(slices.name[rows], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    np.add.at(total, place, np.where(slices.kind[rows] == Kind.SYNC, 0, slices.self_time[rows]))
    least = np.full(len(names), dag.window.wall)
    np.minimum.at(least, place, slack[ends])
    told: list[OffPath] = []
    for at in np.lexsort((names, -total)).tolist():
        name = _text(dag, int(names[at]))
        if len(told) == TOP or not total[at]:
            break
        if name not in on_path and least[at] > 0:
            told.append(OffPath(name, int(total[at]), int(least[at])))
    return tuple(told)


def _told(dag: Dag, found: Segments) -> tuple[Segment, ...]:
    slices = dag.timeline.slices
    none = found.slice < 0
    name = np.where(none, -1, slices.name[found.slice])
    kind = np.where(none, Kind.NONE, slices.kind[found.slice])
    track = np.where(none, 0, slices.track[found.slice])
    columns = (found.start, found.end - found.start, name, kind, found.charge, track)
    return tuple(
        Segment(start, length, _text(dag, text), Kind(sort).name.lower(), Charge(charge).word, row)
        for start, length, text, sort, charge, row in zip(*(column.tolist() for column in columns), strict=True)
    )


def _text(dag: Dag, name: int) -> str:
    return dag.timeline.names[name] if name >= 0 else ""

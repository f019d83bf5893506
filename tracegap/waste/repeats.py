"""The same work done again within a step."""

import numpy as np
from numpy.typing import NDArray

from tracegap import costs, shapes
from tracegap.activity import Rows, enclosing
from tracegap.kinds import Kind
from tracegap.naming import are
from tracegap.waste.scene import Found, Scene, operators, outermost, tell

HEAVY = frozenset({"gemm", "convolution", "attention", "normalisation", "pooling", "softmax"})
"""Families of operators that are called once for each thing they compute; elementwise ones stand in rows by nature."""
IN_A_ROW = 4
"""Equal calls one behind the other from which they are one too many: the three projections of attention are three."""
_MODULE = "nn.Module: "


def repeats(scene: Scene) -> Found | None:
    """Find calls beyond the first that do what has been done in the same step.

    A trace tells shapes and not values, so three things count. A node of a graph that runs more often than its siblings, the
    median node in the same operator and step. A module's instance that is called with equal shapes more often than its siblings.
    Heavy operators with equal arguments, `IN_A_ROW` or more with no other operator between.
    """
    rows = np.concatenate((_nodes(scene), _modules(scene), _in_a_row(scene)))
    return tell(scene, "repeated", outermost(scene.timeline, np.unique(rows)))


def _nodes(scene: Scene) -> Rows:
    """Return further runs of the nodes of an ONNX Runtime graph, whose names are theirs alone.

    The body of a loop stands in its operator, where all nodes run equally often.
    """
    slices = scene.timeline.slices
    rows = operators(scene)
    if scene.timeline.dialect != "onnxruntime":
        return rows[:0]
    rows = rows[(slices.name[rows] >= 0) & (slices.step[rows] >= 0)]
    call = shapes.find_calls(scene.timeline, rows).of
    group = _labels(slices.step[rows], slices.parent[rows], slices.track[rows])
    return rows[_beyond(group, _labels(slices.name[rows], call), slices.start[rows])]


def _modules(scene: Scene) -> Rows:
    """Return the operators in further calls of a module's instance; the shapes of a call are those of its first operator."""
    slices = scene.timeline.slices
    frames = np.flatnonzero(scene.near & (slices.kind == Kind.FRAME) & (slices.step >= 0))
    frames = frames[are(scene.timeline.names, slices.name[frames], lambda name: name.startswith(_MODULE))]
    rows = operators(scene)
    if not len(frames) or not len(rows):
        return rows[:0]
    first = _first_inside(scene, frames, rows)
    frames, first = frames[first >= 0], first[first >= 0]
    is_module = np.zeros(len(slices), np.bool_)
    is_module[frames] = True
    above = slices.context[frames]
    above = np.where(above >= 0, enclosing(slices.context, is_module)[above], -1)
    group = _labels(slices.step[frames], above, slices.track[frames])
    call = shapes.find_calls(scene.timeline, first).of
    again = np.zeros(len(slices), np.bool_)
    again[frames[_beyond(group, _labels(slices.name[frames], call), slices.start[frames])]] = True
    context = slices.context[rows]
    taken: Rows = rows[(context >= 0) & (enclosing(slices.context, again)[context] >= 0)]
    return taken


def _first_inside(scene: Scene, frames: Rows, rows: Rows) -> NDArray[np.int64]:
    """Return the first operator that starts in each frame, on its thread; −1 for none."""
    slices = scene.timeline.slices
    first = np.full(len(frames), -1, np.int64)
    for track in np.unique(slices.track[frames]).tolist():
        mine = np.flatnonzero(slices.track[frames] == track)
        here = rows[slices.track[rows] == track]
        here = here[np.argsort(slices.start[here], kind="stable")]
        place = np.searchsorted(slices.start[here], slices.start[frames[mine]])
        found = np.append(here, -1)[place]
        first[mine] = np.where((found >= 0) & (slices.start[found] < slices.end[frames[mine]]), found, -1)
    return first


def _in_a_row(scene: Scene) -> Rows:
    """Return the calls after the first of each long enough run of equal ones."""
    slices = scene.timeline.slices
    rows = operators(scene)
    rows = rows[slices.step[rows] >= 0]
    parent = slices.parent[rows]
    # Rows of a lane stand by start, so a stable sort leaves those of one parent in order of time.
    rows = rows[np.argsort(np.where(parent >= 0, parent, -1 - slices.track[rows]), kind="stable")]
    heavy = are(scene.timeline.names, slices.name[rows], lambda name: costs.family(name) in HEAVY)
    place = (slices.name, slices.track, slices.lane, slices.parent, slices.context, slices.step)
    run = _runs(*(column[rows] for column in place))
    long = heavy & (np.bincount(run)[run] >= IN_A_ROW)
    rows, run = rows[long], run[long]
    # Arguments are read of these few only.
    calls = shapes.find_calls(scene.timeline, rows)
    told = np.array([bool(one.inputs) for one in calls.told], np.bool_)
    run = _runs(run, calls.of)
    again = np.append(False, run[1:] == run[:-1])[: len(run)]
    taken: Rows = rows[again & (np.bincount(run)[run] >= IN_A_ROW) & told[calls.of]]
    return taken


def _runs(*columns: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    """Give each stretch of rows in which no column changes a number from 0 on: int64, one a row.

    Examples
    --------
    >>> _runs(np.array([7, 7, 7, 9]), np.array([1, 1, 2, 2])).tolist()
    [0, 0, 1, 2]
    """
    begins = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.cumsum(begins)


def _labels(*columns: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    """Give each distinct combination of values a number from 0 on: int64, one a row."""
    label = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        part = np.unique(column, return_inverse=True)[1].reshape(-1)
        label = np.unique(label * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].reshape(-1)
    return label.astype(np.int64)


def _beyond(group: NDArray[np.int64], identity: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the occurrences of an identity beyond as many as the median one (the lower of two) of its group has.

    Examples
    --------
    >>> _beyond(np.zeros(6, int), np.array([0, 1, 1, 1, 2, 2]), np.arange(6)).tolist()
    [False, False, False, True, False, False]
    """
    marked = np.zeros(len(group), np.bool_)
    if not len(group):
        return marked
    both = _labels(group, identity)
    counts = np.bincount(both)
    owner = np.zeros(len(counts), np.int64)
    owner[both] = group
    order = np.lexsort((counts, owner))
    edges = np.searchsorted(owner[order], np.arange(int(group.max()) + 2))
    middle = order[np.minimum(edges[:-1] + (np.diff(edges) - 1) // 2, len(order) - 1)]
    usual = counts[middle][group]
    by_time = np.lexsort((start, both))
    rank = np.arange(len(both)) - np.searchsorted(both[by_time], both[by_time])
    marked[by_time] = rank >= usual[by_time]
    return marked

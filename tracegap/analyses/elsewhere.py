"""What a thread on the critical path waits for without saying so: operators of other threads.

In: a `Model` and its critical path. Out: the time in which the path waits for them.
A call that runs a graph (TensorFlow's ``EagerKernelExecute``, ONNX Runtime's parallel executor) holds its thread until workers
have run the nodes; no arrow of the trace says so.
"""

import numpy as np
from numpy.typing import NDArray

from tracegap import activity, intervals
from tracegap.analyses.contract import Model
from tracegap.analyses.ledger import has_device
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.kinds import CONTEXT, Kind
from tracegap.segments import Segments

EXECUTORS = ("onnxruntime",)
"""Dialects whose ranges without operators are calls into an executor; elsewhere they are work that the program named."""


def awaited(model: Model, path: Segments) -> Intervals:
    """Return when the path is in calls during which operators run on other threads and none on their own.

    Never where there is a device: calls wait for that, too, and the graph says so.
    """
    slices = model.timeline.slices
    holding = _holding(model, path)
    if not holding.any() or has_device(model):
        return intervals.EMPTY
    near = activity.overlapping(model.timeline, model.window.start, model.window.end) & (slices.kind == Kind.OP)
    track = slices.track[path.slice]
    found = [intervals.EMPTY]
    for one in np.unique(track[holding]).tolist():
        mine = holding & (track == one)
        held = intervals.union(path.start[mine], path.end[mine])
        found.append(intervals.intersect(held, _of_others(model, near, one)))
    return intervals.union(np.concatenate([one.start for one in found]), np.concatenate([one.end for one in found]))


def _holding(model: Model, path: Segments) -> NDArray[np.bool_]:
    """Mark the pieces in a call that may hold its thread: bool[k]."""
    holding = np.isin(path.charge, (Charge.RUNTIME, Charge.SYNC))
    if model.timeline.dialect in EXECUTORS:
        holding |= (path.charge == Charge.OPERATOR) & np.isin(model.timeline.slices.kind[path.slice], CONTEXT)
    marked: NDArray[np.bool_] = holding & (path.slice >= 0)
    return marked


def _of_others(model: Model, operators: NDArray[np.bool_], track: int) -> Intervals:
    """Return when operators run on other threads and none on this one."""
    slices = model.timeline.slices
    mine = slices.track == track
    own, theirs = operators & mine, operators & ~mine
    return intervals.subtract(
        intervals.union(slices.start[theirs], slices.end[theirs]), intervals.union(slices.start[own], slices.end[own])
    )

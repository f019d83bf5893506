"""Time stamps that cannot be right, and processes that count from different zeros."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

APART = 3_600_000_000_000
"""ns: time stamps an hour away from all others (and a hundred times their extent) are another clock's, or wrong."""
EXTENTS = 100


@dataclass(frozen=True, slots=True)
class Clocks:
    """``shift`` int64[p]: ns to take from each process's times · ``plausible`` bool[n] · ``moved`` int: processes shifted."""

    shift: NDArray[np.int64]
    plausible: NDArray[np.bool_]
    moved: int


def sort_out(start: NDArray[np.int64], end: NDArray[np.int64], process: NDArray[np.int32], processes: int) -> Clocks:
    """Find slices far outside all others, and processes whose zero is another one.

    Starts are clustered by gaps of over `APART`. The cluster with most slices is the trace. A far cluster that is the whole
    of a process with at least three distinct starts is that process's own clock: it is moved to begin with the trace. Any
    other far slice is implausible, and so is one that ends far behind every start. O(n log n).

    Examples
    --------
    >>> hour = 3_600_000_000_000
    >>> clocks = sort_out(np.array([0, 400 * hour, 400 * hour + 9]), np.array([0, 400 * hour + 5, 400 * hour + 12]),
    ...                   np.zeros(3, np.int32), 1)
    >>> clocks.plausible.tolist(), clocks.moved
    ([False, True, True], 0)
    """
    shift = np.zeros(processes, np.int64)
    plausible = np.ones(len(start), bool)
    if len(start) < 2:
        return Clocks(shift, plausible, 0)
    order = np.argsort(start, kind="stable")
    ordered = start[order]
    # differences of far times can pass 2^63: compare as float, where only the magnitude matters
    far = np.diff(ordered.astype(np.float64)) > APART
    moved = 0
    if far.any():
        cluster = np.concatenate(([0], np.cumsum(far)))
        sizes = np.bincount(cluster)
        main = int(np.argmax(sizes))
        members = ordered[cluster == main]
        extent = float(members[-1]) - float(members[0])
        distance = np.maximum(
            float(members[0]) - ordered.astype(np.float64), ordered.astype(np.float64) - float(members[-1])
        )
        outside = np.empty(len(start), bool)
        outside[order] = distance > max(APART, EXTENTS * extent)
        for number in np.unique(process[outside]).tolist():
            mine = process == number
            if outside[mine].all() and len(np.unique(start[mine])) >= 3:
                shift[number] = start[mine].min() - members[0]
                outside[mine] = False
                moved += 1
        plausible &= ~outside
    good = np.flatnonzero(plausible)
    begin = start[good] - shift[process[good]]
    finish = end[good] - shift[process[good]]
    extent = float(begin.max()) - float(begin.min())
    typical = float(np.median(end[good] - start[good]))
    limit = max(APART, EXTENTS * extent, EXTENTS * typical)
    plausible[good] = finish.astype(np.float64) - float(begin.max()) <= limit
    return Clocks(shift, plausible, moved)

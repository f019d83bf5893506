"""Time stamps that cannot be right, and processes that count from different zeros.

In: starts and ends as the file has them, and their processes. Out: `Clocks`. Not found here: clocks that run at different
speeds, or apart by less than an hour.
"""

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
    ordered = np.sort(start)
    # differences of far times can pass 2^63, but not 2^64
    cuts = np.flatnonzero(np.diff(ordered.view(np.uint64)) > APART) + 1
    moved = 0
    if len(cuts):
        bounds = np.concatenate(([0], cuts, [len(ordered)]))
        main = int(np.argmax(np.diff(bounds)))
        first, last = int(ordered[bounds[main]]), int(ordered[bounds[main + 1] - 1])
        distance = np.maximum(float(first) - start.astype(np.float64), start.astype(np.float64) - float(last))
        outside = distance > max(APART, EXTENTS * float(last - first))
        for number in np.unique(process[outside]).tolist():
            mine = process == number
            if outside[mine].all() and len(np.unique(start[mine])) >= 3:
                shift[number] = start[mine].min() - first
                outside[mine] = False
                moved += 1
        plausible &= ~outside
    begin, finish = start[plausible], end[plausible]
    if moved:
        begin, finish = begin - shift[process[plausible]], finish - shift[process[plausible]]
    late = finish.astype(np.float64) - float(begin.max())
    extent = float(begin.max()) - float(begin.min())
    limit = max(APART, EXTENTS * extent)
    if late.max() > limit:  # seldom, and a median costs more than all of the above
        plausible[plausible] = late <= max(limit, EXTENTS * float(np.median(finish - begin)))
    return Clocks(shift, plausible, moved)

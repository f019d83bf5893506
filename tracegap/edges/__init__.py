"""The edges of the dependency graph: one function per cause, all from a `Scene` to a table of `Found` edges.

Node ``2 i`` is the start of slice i, node ``2 i + 1`` its end; SOURCE and END follow the last slice's. Every edge says
that its target cannot come before its source plus a lag.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from tracegap.columns import Bool, Columns, Int32, Int64, UInt8


class Cause(IntEnum):
    """Why an edge is there."""

    THREAD = 0
    """Order on a host thread, and the work between two boundaries."""
    LAUNCH = 1
    """From the start of a launch call to the start of what it started on a device."""
    STREAM = 2
    """Order on a device stream, and a device slice's own work."""
    SYNC = 3
    """From a device slice to the end of the host call that waited for it."""
    EVENT = 4
    """From what stood before an event record to what was launched after a stream's wait for it."""
    QUEUE = 5
    """From the device slice whose start freed a place to the end of a launch call that stalled on a full queue."""
    FLOW = 6
    """An arrow of the file."""
    HANDOFF = 7
    """From the latest-ending work of other threads to a start after idleness."""
    DATA = 8
    """From a producing operator to a consuming one."""
    COLLECTIVE = 9
    """From the last rank's arrival to every rank's end."""
    BOUNDARY = 10
    """From SOURCE to what nothing in the window explains, and from the sink to END."""


@dataclass(frozen=True, eq=False)
class Found(Columns):
    """e edges.

    Attributes
    ----------
    source, target : int32[e]
        Nodes.
    lag : int64[e]
        The least time between them in ns; negative where clocks are skewed.
    cause : uint8[e]
        `Cause`.
    inferred : bool[e]
        Whether it is a guess from names and times; False for what the file records.
    owner : int32[e]
        The slice whose work the lag is; −1 where the lag is no slice's work.
    """

    source: Int32
    target: Int32
    lag: Int64
    cause: UInt8
    inferred: Bool
    owner: Int32


def found(source: Any, target: Any, lag: Any, *, cause: Cause, inferred: Any = False, owner: Any = -1) -> Found:
    """Make a table of edges of one cause; scalars are repeated.

    Examples
    --------
    >>> found(np.array([1, 3]), np.array([2, 4]), 0, cause=Cause.STREAM).lag.tolist()
    [0, 0]
    """
    count = len(source)
    return Found(
        source=np.asarray(source, np.int32),
        target=np.asarray(target, np.int32),
        lag=np.broadcast_to(np.asarray(lag, np.int64), count).copy(),
        cause=np.full(count, cause, np.uint8),
        inferred=np.broadcast_to(np.asarray(inferred, np.bool_), count).copy(),
        owner=np.broadcast_to(np.asarray(owner, np.int32), count).copy(),
    )


def join(parts: Sequence[Found]) -> Found:
    """Put tables one behind the other."""
    return Found(
        source=np.concatenate([part.source for part in parts]),
        target=np.concatenate([part.target for part in parts]),
        lag=np.concatenate([part.lag for part in parts]),
        cause=np.concatenate([part.cause for part in parts]),
        inferred=np.concatenate([part.inferred for part in parts]),
        owner=np.concatenate([part.owner for part in parts]),
    )


NONE = found(np.empty(0, np.int32), np.empty(0, np.int32), 0, cause=Cause.THREAD)
"""No edges."""

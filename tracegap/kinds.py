"""What a slice is, and what a track is: the words that dialects give and all later stages read."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Kind(IntEnum):
    """What a slice is, given by the dialect."""

    OP = 0
    """Framework operator."""
    RUNTIME = 1
    """Host API call (``cudaLaunchKernel``)."""
    SYNC = 2
    """Host call that blocks on a device."""
    INPUT = 3
    """Data loading."""
    OTHER = 4
    """Host work of another sort."""
    FRAME = 5
    """Python frame."""
    ANNOTATION = 6
    """A range that a person or framework named."""
    STEP = 7
    """One iteration."""
    PROFILER = 8
    """The profiler's own work."""
    KERNEL = 9
    """Device compute."""
    COMM = 10
    """Collective or other communication on a device."""
    COPY = 11
    """Copy or set on a device."""
    WAIT = 12
    """Device-side synchronisation row."""
    NONE = 255
    """Not a slice: an instant, metadata, a pseudo-event, a duplicate."""


class Role(IntEnum):
    """What a track belongs to."""

    HOST = 0
    DEVICE = 1


CONTEXT = (Kind.STEP, Kind.ANNOTATION, Kind.FRAME)
"""Kinds that nest in the context layer: they say where work belongs and are not work."""

CALLS = (Kind.RUNTIME, Kind.SYNC)
"""Kinds of API calls on a host."""

DEVICE_WORK = (Kind.KERNEL, Kind.COMM, Kind.COPY)
"""Kinds that make a device busy."""

HOST_RUNS = (Kind.OP, Kind.RUNTIME, Kind.INPUT, Kind.OTHER)
"""Kinds that make a host thread busy; `Kind.SYNC` is waiting."""


def is_any(kind: NDArray[np.uint8], kinds: tuple[Kind, ...]) -> NDArray[np.bool_]:
    """Return bool[n]: the rows of one of the kinds, by as many comparisons; `np.isin` takes eight bytes a row for it.

    Examples
    --------
    >>> is_any(np.array([Kind.COPY, Kind.OP], np.uint8), DEVICE_WORK).tolist()
    [True, False]
    """
    found = np.zeros(len(kind), bool)
    for one in kinds:
        found |= kind == one
    return found

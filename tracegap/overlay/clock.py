"""The clock of an annotated trace: what is taken from all times, and how Perfetto will round the rest.

Perfetto's trace processor reads µs into doubles and rounds to ns, so that times of the order of an epoch in µs are off by
up to 128 ns: neighbours then overlap, and are dropped. Below `EXACT` no double is off by half a nanosecond.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.events import NO_TIME, Events

EXACT = 1 << 51
"""ns under which µs as a double, times 1000, rounds to the right ns: both steps are off by at most 2⁻⁵³ of it, 0.25 ns."""

_SECOND = 1_000_000_000
_METADATA = ord("M")
_INT64 = 1 << 63
_NO_FRACTION = 1 << 52  # doubles from here on are whole numbers


@dataclass(frozen=True, slots=True)
class Clock:
    """The times of an annotated trace.

    Attributes
    ----------
    shift_us : int
        Microseconds less than in the file, a whole number of seconds; negative where the file has times before 0, which
        Perfetto drops.
    offset : int
        What makes a time of `Events` one of the annotated trace, in ns.
    """

    shift_us: int = 0
    offset: int = 0

    def exact(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 ns of the annotated trace."""
        return times + self.offset

    def shown(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 ns of the annotated trace as Perfetto rounds them; equal to the exact ones below `EXACT`."""
        product = self.exact(times) / 1000 * 1000
        return np.where(product < _NO_FRACTION, np.floor(product + 0.5), product).astype(np.int64)


def choose_clock(events: Events) -> Clock:
    """Return the file's clock or, where its times are negative or too large for doubles, one that begins at its first second.

    Where the file spans more than doubles can hold, because one time of it is far off, its clock stays.
    """
    timed = (events.start != NO_TIME) & (events.phase != _METADATA)
    if not timed.any():
        return Clock(0, events.origin)
    first, last = (events.origin + int(one) for one in (events.start[timed].min(), events.start[timed].max()))
    if 0 <= first <= last < EXACT or (last - first >= EXACT and last < _INT64):
        return Clock(0, events.origin)
    shift = first // _SECOND
    return Clock(shift * (_SECOND // 1000), events.origin - shift * _SECOND)

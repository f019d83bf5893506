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
_NO_FRACTION = 1 << 52  # doubles from here on are whole numbers


@dataclass(frozen=True, slots=True)
class Clock:
    """Times of the file less `shift_us` microseconds, which is a whole number of seconds."""

    shift_us: int = 0

    def shown(self, file_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 ns of the annotated trace as Perfetto will round them; equal to the exact ones below `EXACT`."""
        product = (file_ns - self.shift_us * 1000) / 1000 * 1000
        return np.where(product < _NO_FRACTION, np.floor(product + 0.5), product).astype(np.int64)


def choose_clock(events: Events) -> Clock:
    """Return the clock of the file, moved to its first event's second if times are too large for doubles."""
    timed = (events.start != NO_TIME) & (events.phase != _METADATA)
    start = events.start[timed]
    if not len(start) or int(start.max()) < EXACT or int(start.min()) < 0:
        return Clock()
    return Clock(int(start.min()) // _SECOND * (_SECOND // 1000))

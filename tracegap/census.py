"""What a file holds before anything is understood of it: its events by phase and category, and what its header says.

In: `Events` as they were decoded. Out: a `Census`, which `tracegap info` shows.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tracegap.events import Events

_ROWS = 1 << 20
"""How many events are counted in one go: numpy widens what it counts to 8 bytes."""
_LONGEST = 200
"""Of a value of the header, in characters."""


@dataclass(frozen=True, slots=True)
class Census:
    """Events by ``ph`` and by ``cat``, "" for those without one or an empty one; the header's short values.

    ``header`` has the top-level keys beside the events, and those one level below as ``distributedInfo.rank``; lists and
    deeper objects are left out.
    """

    phases: Mapping[str, int]
    categories: Mapping[str, int]
    header: tuple[tuple[str, str], ...]


def take(events: Events) -> Census:
    """Count the events of a file, those included that an export drew in."""
    phases: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    for first in range(0, len(events), _ROWS):
        for letter, number in _counted(events.phase[first : first + _ROWS]):
            phases[chr(letter) if letter else ""] += number
        for one, number in _counted(events.category[first : first + _ROWS]):
            categories[events.strings[one] if one >= 0 else ""] += number
    return Census(phases, categories, tuple(_said(events.header)))


def _counted(values: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield each value from −1 on and how often it occurs."""
    numbers = np.bincount(values.astype(np.int64) + 1)
    for one in np.flatnonzero(numbers).tolist():
        yield one - 1, int(numbers[one])


def _said(header: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in header.items():
        inner = value if isinstance(value, Mapping) else {"": value}
        for name, one in inner.items():
            if isinstance(one, (str, int, float)) and one != "":
                text = one if isinstance(one, str) else json.dumps(one)
                yield f"{key}.{name}" if name else key, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""Activity without progress: work that keeps threads and devices busy and brings the result no nearer. One file a kind of it.

In: the timeline and the window. Out: one `Waste` a code, with its time, count and names. A rule speaks only where the trace proves
what it says, and only of what takes `LEAST` of the window: a healthy trace gets none.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from tracegap.timeline import Timeline, Window
from tracegap.waste.allocator import allocator_churn
from tracegap.waste.conversions import casts, layouts
from tracegap.waste.dispatch import confetti, frequent_operators
from tracegap.waste.recomputation import recomputation
from tracegap.waste.repeats import repeats
from tracegap.waste.scene import LEAST, Found, Scene, Waste, launched_in, look
from tracegap.waste.synchronisation import synchronisation
from tracegap.waste.transfers import round_trips
from tracegap.waste.words import ADVICE, sentences, table

__all__ = [
    "ADVICE",
    "LEAST",
    "RULES",
    "Found",
    "Scene",
    "Waste",
    "find_rows",
    "find_waste",
    "launched_in",
    "look",
    "rows_in",
    "sentences",
    "table",
]

RULES: tuple[Callable[[Scene], Found | None], ...] = (
    repeats,
    recomputation,
    layouts,
    casts,
    round_trips,
    synchronisation,
    allocator_churn,
    confetti,
    frequent_operators,
)
"""All kinds; to add one, write its file and put it in the tuple, and its code into `words.ADVICE`."""


class Looked(Protocol):
    """What a search is given: an analysis' model, or anything that has a timeline and a window of it."""

    @property
    def timeline(self) -> Timeline:
        """The timeline."""
        ...

    @property
    def window(self) -> Window:
        """The part of it to look at."""
        ...


def find_waste(model: Looked) -> tuple[Waste, ...]:
    """Return what the window's activity wasted, most time first; kinds may overlap and are never summed."""
    return tuple(one.waste for one in find_rows(model))


def find_rows(model: Looked) -> tuple[Found, ...]:
    """Return the same with the slices that each is."""
    return rows_in(look(model.timeline, model.window))


def rows_in(scene: Scene) -> tuple[Found, ...]:
    """Return the same of what was looked at already."""
    return tuple(sorted(_found(scene), key=lambda one: (-one.waste.duration_ns, one.waste.code)))


def _found(scene: Scene) -> Iterator[Found]:
    if scene.window.wall <= 0:
        return
    for rule in RULES:
        found = rule(scene)
        if found is not None:
            yield found

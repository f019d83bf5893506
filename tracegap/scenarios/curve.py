"""Along one factor: how long the window takes as it falls from 1 to 0, where that stops paying, and what a target needs.

The wall is the longest of many paths, each linear in the factor, so the curve is convex and never falls as the factor grows.
"""

from collections.abc import Callable, Sequence

import numpy as np

Curve = Callable[[Sequence[float]], list[int]]
"""Wall times in ns of several factors at once."""

POINTS = 11
"""Of a sweep: 1, 0.9, … 0."""

_ROUNDS = 3
_FINER = 8
"""Points of a round: each round makes what is looked at 4.5 times shorter."""

STRAIGHT = 0.02
"""Share of the gain by which the curve must sag below a straight line to have a knee."""


def sweep(curve: Curve) -> tuple[list[float], list[int]]:
    """Return the factors of a sweep and the wall of each."""
    factors = [round(1 - place / (POINTS - 1), 3) for place in range(POINTS)]
    return factors, curve(factors)


def knee(curve: Curve, factors: Sequence[float], walls: Sequence[int]) -> tuple[float, int] | None:
    """Return the factor, and its wall, from which further shrinking pays less than before.

    That is where the curve lies furthest below the line between its ends (Satopää et al., "Finding a Kneedle in a
    Haystack", ICDCS workshops 2011). None where the curve falls evenly, or not at all.

    Examples
    --------
    >>> stops_at_40 = lambda factors: [max(int(1000 * factor), 400) for factor in factors]
    >>> found = knee(stops_at_40, *sweep(stops_at_40))
    >>> round(found[0], 2), found[1]
    (0.4, 400)
    """
    first, last = walls[0], walls[-1]
    if first <= last:
        return None
    known = dict(zip(factors, walls, strict=True))

    def sag(factor: float) -> float:
        return last + (first - last) * factor - known[factor]

    best = max(factors, key=sag)
    for _ in range(_ROUNDS):
        order = sorted(known)
        place = order.index(best)
        low, high = order[max(place - 1, 0)], order[min(place + 1, len(order) - 1)]
        between = [float(one) for one in np.linspace(low, high, _FINER + 2)[1:-1]]
        known |= dict(zip(between, curve(between), strict=True))
        best = max(sorted(known, reverse=True), key=sag)
    return (best, known[best]) if sag(best) >= STRAIGHT * (first - last) else None


def needed(curve: Curve, target: int) -> float | None:
    """Return the greatest factor, at most 1, whose wall is at most the target; None where even 0 takes longer.

    Examples
    --------
    >>> round(needed(lambda factors: [int(1e6 * factor) + 500_000 for factor in factors], 750_000), 4)
    0.25
    >>> needed(lambda factors: [500 for _ in factors], 400) is None
    True
    """
    low, high = 0.0, 1.0
    at_low, at_high = curve((low, high))
    if at_low > target:
        return None
    if at_high <= target:
        return 1.0
    for _ in range(_ROUNDS * 2):
        between = [float(one) for one in np.linspace(low, high, _FINER + 2)[1:-1]]
        fits = [factor for factor, wall in zip(between, curve(between), strict=True) if wall <= target]
        low = max([low, *fits])
        high = min([high, *(factor for factor in between if factor > low)])
    return low

"""The first run: what a first step costs beyond the others, and how long until it has paid off. Part of the overhead analysis."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.analyses.contract import Model
from tracegap.analyses.steps import clocks, is_first_apart, median
from tracegap.costs.diagnosis import steps_to_target
from tracegap.units import count, duration


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What the first step of the window costs beyond the median of the others.

    ``steps_to_target`` is after how many steps their mean is no longer above ``target_ns``; absent if it never is.
    ``extrapolated``: the window has fewer, and further ones are taken to be as long as the median.
    """

    excess_ns: int
    steps_to_target: int | None = None
    target_ns: int | None = None
    extrapolated: bool | None = None

    def sentence(self) -> str:
        """Say it in one or two sentences."""
        text = f"The first step costs {duration(self.excess_ns)} more than the median of the others."
        if self.excess_ns <= 0:
            text = "The first step costs no more than the median of the others."
        if self.target_ns is None:
            return text
        target = duration(self.target_ns)
        if self.steps_to_target is None:
            return f"{text} The mean of the steps never falls to {target}: the median of the others is not below it."
        steps = "1 step" if self.steps_to_target == 1 else f"{count(self.steps_to_target)} steps"
        how = ", if those that the trace does not show take as long as the median" if self.extrapolated else ""
        return f"{text} The mean is within {target} after {steps}{how}."


def find_first_run(model: Model) -> FirstRun | None:
    """Weigh the first step of the window against the others; None without others, or where it is like them and no target is set."""
    rows = np.array(model.window.steps, np.intp)
    if len(rows) < 2:
        return None
    _, begin, finish = clocks(model.timeline, rows)
    time = finish - begin
    excess = int(time[0]) - median(time[1:])
    if model.target_ns is None:
        return FirstRun(excess) if is_first_apart(time) else None
    reached, extrapolated = when_within(time, model.target_ns)
    return FirstRun(excess, reached, model.target_ns, extrapolated)


def when_within(time: NDArray[np.int64], target: int) -> tuple[int | None, bool]:
    """Return after how many steps their mean is first within the target, None if never, and whether that is extrapolated.

    Examples
    --------
    >>> when_within(np.array([340, 12, 12]), 15)
    (110, True)
    >>> when_within(np.array([30, 10, 10, 90]), 20)
    (2, False)
    """
    sums = np.cumsum(time)
    within = np.flatnonzero(sums <= target * np.arange(1, len(time) + 1))
    if len(within):
        return int(within[0]) + 1, False
    later = median(time[1:])
    # All that was measured counts as one first step, so that k − 1 others of the median length are in it already.
    return steps_to_target(int(sums[-1]) - (len(time) - 1) * later, later, target), True

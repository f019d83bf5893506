"""What pipelining the stages of a step across steps would give. Arrays only; knows no trace words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a pipeline takes.

    Attributes
    ----------
    finish : int64[steps, stages]
        When each stage of each step ends, in ns from 0.
    wall : int
        When the last one ends, ns.
    steady : int
        The step time once the pipeline is full, ns.
    bottleneck : int
        The stage that sets it.
    """

    finish: NDArray[np.int64]
    wall: int
    steady: int
    bottleneck: int


def predict(duration: NDArray[np.int64]) -> Prediction:
    """Pipeline stages that each have a worker of their own and hand over in order.

    ``finish[i][s] = max(finish[i][s − 1], finish[i − 1][s]) + duration[i][s]``: the recurrence of a permutation flow shop
    (Johnson, "Optimal two- and three-stage production schedules", Naval Research Logistics Quarterly 1, 1954). Queues
    between stages are unbounded, so the result is the least wall time that pipelining alone can give.

    Parameters
    ----------
    duration : int64[steps, stages]
        Measured time of each stage in each step, ns; at least one step and one stage.

    Examples
    --------
    >>> predict(np.array([[500, 200], [500, 200], [500, 200]])).wall
    1700
    """
    finish = np.zeros_like(duration)
    before = np.zeros(duration.shape[1], np.int64)
    for step, row in enumerate(duration):
        reach = 0
        for stage, took in enumerate(row.tolist()):
            reach = max(reach, int(before[stage])) + took
            before[stage] = reach
        finish[step] = before
    typical = np.median(duration, axis=0)
    bottleneck = int(np.argmax(typical))
    return Prediction(finish, int(finish[-1, -1]), int(typical[bottleneck]), bottleneck)

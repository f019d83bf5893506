"""What a stretch of time is charged to: one vocabulary for the critical path, the gaps and the overhead."""

from collections.abc import Mapping
from enum import IntEnum


class Charge(IntEnum):
    """The cause of a stretch of time; reports write the name in lower case.

    Work on the critical path has one of the first six, by the kind of the slice; `RUNTIME` and `INPUT` are also causes of
    gaps and overhead. Waits have one of the others.
    """

    OPERATOR = 0
    RUNTIME = 1
    INPUT = 2
    KERNEL = 3
    COMMUNICATION = 4
    COPY = 5
    DISPATCH = 6
    ALLOCATOR = 7
    UNTRACED_HOST = 8
    SYNC = 9
    LAUNCH = 10
    SCHEDULING = 11
    DEPENDENCY = 12
    IN_GRAPH = 13
    OUTSIDE_EXECUTE = 14
    IN_EXECUTE = 15
    BETWEEN_STEPS = 16
    PROFILER = 17
    UNATTRIBUTED = 18

    @property
    def word(self) -> str:
        """The name as JSON and SQL write it.

        Examples
        --------
        >>> Charge.UNTRACED_HOST.word
        'untraced_host'
        """
        return self.name.lower()


MEANINGS: Mapping[Charge, str] = {
    Charge.OPERATOR: "Host time in an operator of the framework, or in a range that holds none.",
    Charge.RUNTIME: "Host time in API calls of the device's driver, launches among them.",
    Charge.INPUT: "Loading of data.",
    Charge.KERNEL: "Computing on a device.",
    Charge.COMMUNICATION: "Collectives and other sending on a device.",
    Charge.COPY: "Copies to, from and on a device.",
    Charge.DISPATCH: "Operators' host time while the device had nothing to do.",
    Charge.ALLOCATOR: "Memory calls: cudaMalloc, cudaFree and the like.",
    Charge.UNTRACED_HOST: "The thread was in no slice: Python between operators, mostly.",
    Charge.SYNC: "The host was blocked on a device, or a blocking call returned.",
    Charge.LAUNCH: "Device work was asked for, and had not started: the way of a launch to the device.",
    Charge.SCHEDULING: "Device work was queued and free to run, and had not started.",
    Charge.DEPENDENCY: "Waiting for another stream, device, thread or rank.",
    Charge.IN_GRAPH: "Between the kernels of one captured graph.",
    Charge.OUTSIDE_EXECUTE: "ONNX Runtime: in the session's run, but not in its executor.",
    Charge.IN_EXECUTE: "ONNX Runtime: in the executor, but in no node.",
    Charge.BETWEEN_STEPS: "Time of the loop outside its steps.",
    Charge.PROFILER: "The profiler's own work, by its own rows.",
    Charge.UNATTRIBUTED: "Nothing in the trace says what this time was spent on: device work without a launch, for one.",
}


def spoken(cause: str) -> str:
    """Return the word of a cause as sentences and tables write it.

    Examples
    --------
    >>> spoken("untraced_host")
    'untraced host'
    """
    return cause.replace("_", " ")


WORK = (
    Charge.OPERATOR,
    Charge.RUNTIME,
    Charge.INPUT,
    Charge.KERNEL,
    Charge.COMMUNICATION,
    Charge.COPY,
    Charge.ALLOCATOR,
)
"""Charges of a path segment that are work; all others are waits."""

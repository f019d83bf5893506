"""What a stretch of time is charged to: one vocabulary for the critical path, the gaps and the overhead."""

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
    """Operators' host time while the device waited."""
    ALLOCATOR = 7
    """Memory calls: cudaMalloc, cudaFree and the like."""
    UNTRACED_HOST = 8
    """The thread was in no slice: Python between operators."""
    SYNC = 9
    """Return of a blocking call; host blocked on the device."""
    LAUNCH = 10
    """Asked for, not yet started."""
    SCHEDULING = 11
    """Queued and free to run, not yet started."""
    DEPENDENCY = 12
    """Waiting for another stream, device, thread or rank."""
    IN_GRAPH = 13
    """Inside one graph replay."""
    OUTSIDE_EXECUTE = 14
    """ONNX Runtime: in ``model_run`` but not in Execute."""
    IN_EXECUTE = 15
    """ONNX Runtime: in Execute but in no node."""
    BETWEEN_STEPS = 16
    PROFILER = 17
    """Overlaid from the profiler's own rows."""
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

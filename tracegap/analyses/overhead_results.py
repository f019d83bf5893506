"""What the analysis of overhead finds: the values, without the finding."""

from dataclasses import dataclass

from tracegap.analyses.first_run import FirstRun
from tracegap.analyses.partitions import Partitions


@dataclass(frozen=True, slots=True)
class Part:
    """Overhead that one cause owns."""

    cause: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Range:
    """Untraced host time in an annotation or frame, the innermost on its thread; without a name where it was in none."""

    duration_ns: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """The host, or all devices together: ``overhead_ns = wall_ns − union_ns``, and the parts add up to it.

    ``untraced`` divides the part of ``untraced_host`` by the ranges that the threads were in meanwhile.
    """

    operator_sum_ns: int
    union_ns: int
    wall_ns: int
    overhead_ns: int
    overhead_ratio: float
    concurrency: float | None = None
    parts: tuple[Part, ...] | None = None
    untraced: tuple[Range, ...] | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """All calls of an operator: ``operator_ns`` less inner operators, ``self_ns`` less all inside, ``total_ns`` whole.

    ``runtime_ns`` and ``sync_ns`` are the API calls in ``operator_ns``; ``device_ns`` is device time it launched itself.
    """

    name: str
    count: int
    operator_ns: int
    self_ns: int
    total_ns: int
    device_ns: int | None = None
    runtime_ns: int | None = None
    sync_ns: int | None = None


@dataclass(frozen=True, slots=True)
class WallClock:
    """The traced time of a step against the clean one; ``ratio`` is traced / clean."""

    clean_ns: int
    traced_ns: int
    ratio: float
    trustworthy: bool


@dataclass(frozen=True, slots=True)
class Overhead:
    """Result of the analysis."""

    host: Side | None
    device: Side | None
    operators: tuple[Operator, ...]
    partitions: Partitions | None = None
    first_run: FirstRun | None = None
    wall_clock: WallClock | None = None
    elsewhere_ns: int | None = None
    """Time in which the critical path is in no slice of its thread, and operators run on other threads: no overhead."""

"""What the analysis of serialisation finds: the values, without the finding."""

from dataclasses import dataclass

from tracegap.datagraph import Parallelism


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that can run: ``busy_ns`` is the union of what ran on it in the window."""

    name: str
    busy_ns: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two resources or stages: ``union_ns == sum_ns − overlap_ns``; ``relation`` is dependent, independent or unknown."""

    a: str
    b: str
    sum_ns: int
    max_ns: int
    union_ns: int
    overlap_ns: int
    relation: str
    evidence: str


@dataclass(frozen=True, slots=True)
class StageTime:
    """A stage as the prediction takes it: several that depend on each other across steps are one."""

    name: str
    median_ns: int


@dataclass(frozen=True, slots=True)
class Pipelining:
    """What pipelining the stages across the window's steps would give."""

    stages: tuple[StageTime, ...]
    measured_wall_ns: int
    predicted_wall_ns: int
    steady_step_ns: int
    bottleneck: str
    blocked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Exposed:
    """Device time of communication and copies that nothing hides, of ``comm_total_ns`` and ``copy_total_ns`` in all."""

    compute_ns: int
    comm_ns: int
    copy_ns: int
    idle_ns: int
    comm_total_ns: int
    copy_total_ns: int


@dataclass(frozen=True, slots=True)
class Alone:
    """How long one side ran while the other did not."""

    host_only_ns: int
    device_only_ns: int
    both_ns: int


@dataclass(frozen=True, slots=True)
class Serialisation:
    """Result of the analysis."""

    resources: tuple[Resource, ...]
    pairs: tuple[Pair, ...]
    pipelining: Pipelining | None = None
    exposed: Exposed | None = None
    alone: Alone | None = None
    parallelism: Parallelism | None = None

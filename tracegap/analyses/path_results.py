"""What the analysis of the critical path finds: the values, without the finding."""

from dataclasses import dataclass

TOP = 20
"""How many names get their drag, and how many off the path are told."""


@dataclass(frozen=True, slots=True)
class Part:
    """Time of the path that one cause owns."""

    cause: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Named:
    """Work of a name on the path; ``drag_ns`` and ``total_drag_ns`` are known of the longest."""

    name: str
    kind: str
    count: int
    duration_ns: int
    ratio: float
    drag_ns: int | None = None
    total_drag_ns: int | None = None


@dataclass(frozen=True, slots=True)
class OffPath:
    """A name with much work and none of it on the path; ``slack_ns`` is the least of its slices'."""

    name: str
    duration_ns: int
    slack_ns: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the path; ``kind`` is that of the slice that worked or waited."""

    start_ns: int
    duration_ns: int
    name: str
    kind: str
    cause: str
    track: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Result: ``length_ns`` is the window's wall time, and ``work_ns + wait_ns``."""

    length_ns: int
    work_ns: int
    wait_ns: int
    carried_in_ns: int
    inferred_ns: int
    by_cause: tuple[Part, ...]
    by_name: tuple[Named, ...]
    off_path: tuple[OffPath, ...]
    segments: tuple[Segment, ...] | None = None

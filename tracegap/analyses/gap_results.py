"""What the gaps analysis finds: the values, without the finding."""

from collections.abc import Mapping
from dataclasses import dataclass

TOP = 20
"""How many gaps are told one by one; totals and groups are of all."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice beside a gap: its name, the call that launched it, and the operator that made the call."""

    name: str
    launch: str | None = None
    operator: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Time of a gap that one cause owns; ``name`` is what ran then, or the range that an untraced thread was in."""

    cause: str
    duration_ns: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """Idle time of a device that one cause owns in one name, in ``count`` gaps."""

    cause: str
    duration_ns: int
    count: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch in which nothing ran, its neighbours, and what left the device without work; the parts add up to it."""

    start_ns: int
    duration_ns: int
    before: Slice | None = None
    after: Slice | None = None
    exposed_by: Slice | None = None
    parts: tuple[Part, ...] | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """All gaps between slices of the same two names; None is the edge of the window."""

    count: int
    total_ns: int
    before: str | None = None
    after: str | None = None
    causes: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Exposed:
    """Gaps that one slice left the device without work in: a blocking call, loading of input, work of another thread."""

    name: str
    count: int
    total_ns: int
    operator: str | None = None


@dataclass(frozen=True, slots=True)
class Everything:
    """The time in which nothing ran anywhere."""

    idle_ns: int
    idle_ratio: float
    count: int
    top: tuple[Gap, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class DeviceGaps:
    """One device: ``busy_ns + idle_ns == window_ns``; ``count`` gaps, of which ``top`` tells the longest.

    ``causes`` and ``by_name`` add up to ``idle_ns``.
    """

    device: str
    window_ns: int
    busy_ns: int
    idle_ns: int
    idle_ratio: float
    count: int
    top: tuple[Gap, ...]
    groups: tuple[Group, ...]
    causes: Mapping[str, int]
    by_name: tuple[Share, ...] = ()
    exposed: tuple[Exposed, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps:
    """Result of the analysis.

    ``unseen_launches`` of the window's ``launches`` have no work on a device in the trace, where there are some: busy time is then a
    lower bound.
    """

    everything: Everything
    devices: tuple[DeviceGaps, ...]
    launches: int | None = None
    unseen_launches: int | None = None

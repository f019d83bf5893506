"""What an analysis is given, and what it must have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from tracegap import segments
from tracegap.activity import Rows
from tracegap.dag import Dag
from tracegap.hardware import Hardware
from tracegap.operators import Measured, measure
from tracegap.report import Finding, Section
from tracegap.segments import Segments
from tracegap.timeline import Timeline, Window


@dataclass(frozen=True, eq=False)
class Model:
    """What an analysis is given: the timeline, the window of it that is analysed, and that window's dependency graph.

    ``wall_clock_ns`` is the time of a step without the profiler, where the user knows it; ``full`` asks for the rows that
    only a full report holds; ``hardware`` is what the user knows of devices; ``target_ns`` is the mean time of a step that is wanted.
    """

    timeline: Timeline
    window: Window
    dag: Dag
    wall_clock_ns: int | None = None
    full: bool = False
    hardware: Hardware = field(default_factory=Hardware)
    target_ns: int | None = None

    @cached_property
    def measured(self) -> Measured:
        """What the operators of the window did; made once, for the analysis and its findings."""
        return measure(self.timeline, self.window)

    @cached_property
    def path(self) -> Segments:
        """The critical path of the window; made once, since all that prices a cause walks it."""
        return segments.path(self.dag)


@dataclass(frozen=True, eq=False)
class Offered:
    """A finding of an analysis without its cost, and the slices whose work it is about.

    The cost is the time of that work, and of what it holds and launched, on the critical path.
    """

    finding: Finding
    rows: Rows


@runtime_checkable
class Labelled(Protocol):
    """What a module of this folder has whose section goes by another word than its name on the screen."""

    LABEL: str


@runtime_checkable
class Offering(Protocol):
    """What a module of this folder may have besides: findings for the verdict."""

    FINDINGS: Mapping[str, str]
    """What each of their codes means and what to do; the first line is the summary."""

    def findings(self, result: Any, model: Model) -> Iterable[Offered]:
        """Yield what is worth doing; the saving is from replay."""
        ...


class Analysis(Protocol):
    """What a module of this folder has."""

    NAME: str
    """Its word: file name, key of the JSON report, ``--section``."""
    TITLE: str
    """Its heading in the report."""

    def run(self, model: Model) -> Any:
        """Return the result: a frozen dataclass whose fields are the JSON keys; None where the question makes no sense."""
        ...

    def section(self, result: Any) -> Section:
        """Say the result in sentences and tables."""
        ...

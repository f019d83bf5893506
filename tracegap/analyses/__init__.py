"""Analyses: one file a question. `ANALYSES` is the registry, in the order of the report.

An analysis is a module with the names of `Analysis`. Its docstring (*What it shows*, *Why it costs time*, *How it is
computed*) is its page in the docs and what ``tracegap explain NAME`` prints.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from tracegap.report import Section
from tracegap.timeline import Timeline, Window


@dataclass(frozen=True, eq=False)
class Model:
    """What an analysis is given: the timeline and the window of it that is analysed."""

    timeline: Timeline
    window: Window


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

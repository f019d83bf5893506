"""What all analyses say and all renderers read.

An analysis makes a *result* (a frozen dataclass whose fields are the keys of the JSON report, times as integers in ns
with the suffix ``_ns``) and a `Section` (title, sentences, tables with units). The JSON renderer knows results, all other
renderers know sections: neither knows an analysis.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracegap.problems import Problem
from tracegap.units import Unit

_NAME = re.compile("\ue000([^\ue000\ue001]*)\ue001")
"""A name of the trace in a sentence, between two characters of Unicode's private use area."""


def named(name: str) -> str:
    """Mark a name of the trace for use in a sentence, so that renderers can shorten it, set it as code and escape it.

    Examples
    --------
    >>> list(pieces(f"idle before {named('gemm')}."))
    [('idle before ', False), ('gemm', True), ('.', False)]
    """
    return f"\ue000{unmarked(name)}\ue001"


def pieces(sentence: str) -> Iterator[tuple[str, bool]]:
    """Take a sentence apart into (text, whether it is a marked name)."""
    for place, text in enumerate(_NAME.split(sentence)):
        if text:
            yield unmarked(text), place % 2 == 1


def unmarked(sentence: str) -> str:
    """Return a sentence without the marks around its names."""
    return sentence.replace("\ue000", "").replace("\ue001", "")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: a heading, the unit of its values, and the values (None is a blank cell).

    ``bar`` asks renderers that can to draw the lengths beside the numbers. Columns of `Unit.TEXT` are shortened in the
    middle by renderers of fixed width; numbers are never cut. One precision holds for all times of a column.
    """

    heading: str
    unit: Unit
    values: tuple[Any, ...]
    bar: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a section. ``total`` is how many rows there would be in full ("top 20 of 56").

    ``brief`` is how many rows a one-screen report shows; ``indent`` is the nesting depth of each row, if rows nest;
    ``keep`` is how many rows stay on one screen as long as other tables and further sentences can go instead.
    """

    title: str
    columns: tuple[Column, ...]
    total: int | None = None
    brief: int = 5
    indent: tuple[int, ...] = ()
    keep: int = 0

    @property
    def rows(self) -> int:
        """How many rows the table holds."""
        return len(self.columns[0].values) if self.columns else 0


@dataclass(frozen=True, slots=True)
class Section:
    """The answer of one analysis.

    ``lines`` are finished sentences, most important first; ``notes`` say what is inferred, clipped or unknown. Names of
    the trace stand in them as `named` marks them.
    ``name`` is the analysis' word (``gaps``), which is also its file, its docs page and ``--section``; ``label`` is a
    shorter one for the margin of the terminal report (``PATH`` for ``critical_path``), the name itself if empty.
    """

    name: str
    title: str
    lines: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth doing, or knowing.

    Attributes
    ----------
    code : str
        A key of the catalogue of findings, which ``tracegap explain`` prints.
    title : str
        A few words.
    text : str
        One sentence with its number, its evidence and the action.
    cost_ns : int
        What of the window is its own: how long the busiest device was idle for it, else its time on the critical path. Each
        nanosecond has one owner among the findings.
    evidence : str
        Where to look.
    saving_ns : int or None
        How much shorter the window would be, from replay; savings are never summed.
    event : int or None
        The event of the file to look at first, counted from 0: the longest of those that the finding is about.
    """

    code: str
    title: str
    text: str
    cost_ns: int
    evidence: str
    saving_ns: int | None = None
    event: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in a sentence, what bounds the window (``host``, ``device``, …, ``mixed``, ``unknown``) and at most five findings."""

    summary: str
    bound: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A named stretch of time in a lane of a `Chart`, ``[start_ns, end_ns)`` from the chart's start."""

    lane: str
    name: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Chart:
    """What happened when, as bars in lanes: the median step. ``bars`` are grouped by lane, then by start."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one run of ``analyze`` says.

    ``tool``, ``trace`` and ``window`` are mappings with the keys of the JSON report; ``results`` maps a key of the JSON
    report to the result of the analysis that owns it (absent keys are absent metrics). ``headline`` is the trace in a
    few words each: producer and device, steps and time, events. ``full`` asks renderers for depth instead of one screen;
    ``schema`` names the JSON Schema of the document. A report without a verdict is an inventory.
    """

    tool: Mapping[str, Any]
    trace: Mapping[str, Any]
    window: Mapping[str, Any]
    problems: tuple[Problem, ...]
    results: Mapping[str, Any]
    sections: tuple[Section, ...]
    verdict: Verdict | None
    command: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    chart: Chart | None = None
    full: bool = False
    schema: str = "tracegap.report/1"

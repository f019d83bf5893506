"""The report for a terminal: the verdict first, one screen, depth on demand. The only importer of rich.

One screen is `SCREEN` lines. Until all fit, sections give up, the tallest first and of equals the last: rows beyond a few; then
clauses and further sentences; then tables; then empty lines; and only then rows that an analysis asks to keep. With
``report.full`` everything is written, under headings.
"""

import re
import textwrap
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import PurePath

from rich.console import Console
from rich.text import Text

from tracegap.problems import Problem, Severity
from tracegap.renderers import grid
from tracegap.renderers.grid import Line
from tracegap.renderers.names import ELLIPSIS, printable, shorten
from tracegap.report import Finding, Report, Section, Table, pieces
from tracegap.units import Unit, count

SCREEN = 45
WIDTH = 100
"""Where nobody says how wide: in a pipe, in a file."""

_INDENT = 2
_TABLES = 24
"""Of a section's tables, how many may stand on one screen: those of eight devices; what has more is no longer read on a screen."""
_LOSSES = 3
_NAME = 40
"""Of a name in a sentence."""
_SENTENCE, _FINDING = 3, 3
"""Lines of a sentence or a finding on one screen; sentences lose their last clauses to fit."""
_ROWS = 3
"""Rows that a table keeps before a sentence is given up."""
_AMOUNT = re.compile(r"(?<=\d) (?=(?:%|×|[nµm]?s|[kMGTP]?(?:B|FLOP)(?:/s)?)(?!\w))|(?<=\d ×) |(?<=·) ")
"""The spaces at which a line must not end."""


def render(report: Report, *, width: int = WIDTH, colour: bool = False) -> str:
    """Write the report for a terminal of `width` cells, with ANSI colours or without.

    Examples
    --------
    >>> from tracegap.report import Report, Verdict
    >>> verdict = Verdict("nothing stands out: the device is 97.0 % busy", "device")
    >>> print(render(Report({}, {"source": "a.json"}, {}, (), {}, (), verdict)))
    tracegap · a.json
    <BLANKLINE>
      VERDICT  nothing stands out: the device is 97.0 % busy
    <BLANKLINE>
    """
    width = max(width, 40)
    margin = _margin(report)
    verdict = _verdict(report, width, margin)
    top = [*_headline(report, width), (), *verdict, *([()] if verdict else [])]
    bottom = _problems(report, width, margin)
    if report.full:
        body = [line for section in report.sections for line in (*_whole(section, width), ())]
    else:
        body = _screen(report.sections, width, margin, SCREEN - len(top) - len(bottom))
    return _written([*top, *body, *bottom], width, colour=colour)


def _headline(report: Report, width: int) -> list[Line]:
    version = str(report.tool.get("version", ""))
    source = str(report.trace.get("source", ""))
    name = printable(source if report.full else PurePath(source).name)
    facts = [f"tracegap {version}".strip(), name, *map(printable, report.headline)]
    text = " · ".join(fact for fact in facts if fact)
    return [((line, "bold"),) for line in _wrap(text, width)]


def _margin(report: Report) -> int:
    labels = ["VERDICT", *(_label(section) for section in report.sections if not report.full)]
    return _INDENT + max(map(len, labels)) + 2


def _label(section: Section) -> str:
    return printable(section.label or section.name.replace("_", " ")).upper()


def _verdict(report: Report, width: int, margin: int) -> list[Line]:
    if report.verdict is None:
        return []
    out = _beside("VERDICT", _wrap(report.verdict.summary, width - margin), margin, style="bold")
    for number, finding in enumerate(report.verdict.findings, 1):
        body = _finding(finding, width - _INDENT - 4, full=report.full)
        out += _beside(f"{number:>2}", body, _INDENT + 4)
    return out


def _finding(finding: Finding, width: int, *, full: bool) -> list[str]:
    text = _wrap(finding.text, width, most=None if full else _FINDING)
    return [*text, *_wrap(f"evidence: {finding.evidence} · tracegap explain {finding.code}", width)] if full else text


@dataclass(frozen=True, slots=True)
class _Plan:
    """What of a section is shown on one screen: how many sentences of how many lines, and how many rows of each table.

    ``blank`` is whether an empty line follows.
    """

    sentences: int
    rows: tuple[int, ...]
    lines: int = _SENTENCE
    blank: bool = True


def _screen(sections: Sequence[Section], width: int, margin: int, room: int) -> list[Line]:
    """Write all sections in at most `room` lines, where that can be."""
    plans = [
        _Plan(
            min(len(section.lines), 3),
            tuple(min(t.brief, t.rows) if place < _TABLES else 0 for place, t in enumerate(section.tables)),
        )
        for section in sections
    ]
    blocks = [_brief(section, plan, width, margin) for section, plan in zip(sections, plans, strict=True)]
    for give_up in (_rows, _clauses, _sentences, _tables, _blank, _kept):
        while sum(map(len, blocks)) > room:
            smaller = {
                place: plan
                for place, section in enumerate(sections)
                if (plan := give_up(section, plans[place])) is not None
            }
            if not smaller:
                break
            place = min(smaller, key=lambda one: (-len(blocks[one]), -one))
            plans[place] = smaller[place]
            blocks[place] = _brief(sections[place], plans[place], width, margin)
    return [line for block in blocks for line in block]


def _rows(section: Section, plan: _Plan) -> _Plan | None:
    """Give up a row of the last table that has more than a few, and more than it keeps."""
    return _fewer(plan, [max(table.keep, _ROWS) for table in section.tables])


def _clauses(section: Section, plan: _Plan) -> _Plan | None:
    """Give up the last clauses of long sentences."""
    return replace(plan, lines=_SENTENCE - 1) if plan.lines == _SENTENCE and plan.sentences else None


def _sentences(section: Section, plan: _Plan) -> _Plan | None:
    """Give up a sentence, but not the first."""
    return replace(plan, sentences=plan.sentences - 1) if plan.sentences > 1 else None


def _tables(section: Section, plan: _Plan) -> _Plan | None:
    """Give up rows of tables that keep none, and those whole rather than have a single row."""
    shown = [place for place, rows in enumerate(plan.rows) if rows and not section.tables[place].keep]
    if not shown or (len(shown) == sum(map(bool, plan.rows)) == 1 and not plan.sentences and plan.rows[shown[0]] <= 1):
        return None
    rows = plan.rows[shown[-1]]
    return _with(plan, shown[-1], rows - 1 if rows > 2 else 0)


def _blank(section: Section, plan: _Plan) -> _Plan | None:
    """Give up the empty line after a section without a table."""
    return replace(plan, blank=False) if plan.blank and not any(plan.rows) else None


def _kept(section: Section, plan: _Plan) -> _Plan | None:
    """Give up rows that were to be kept."""
    return _fewer(plan, [1] * len(plan.rows))


def _fewer(plan: _Plan, least: Sequence[int]) -> _Plan | None:
    more = [place for place, rows in enumerate(plan.rows) if rows > least[place]]
    return _with(plan, more[-1], plan.rows[more[-1]] - 1) if more else None


def _with(plan: _Plan, place: int, rows: int) -> _Plan:
    return replace(plan, rows=(*plan.rows[:place], rows, *plan.rows[place + 1 :]))


def _brief(section: Section, plan: _Plan, width: int, margin: int) -> list[Line]:
    body: list[Line] = [
        ((line, ""),)
        for sentence in section.lines[: plan.sentences]
        for line in _clipped(sentence, width - margin, plan.lines)
    ]
    for table, rows in zip(section.tables, plan.rows, strict=True):
        if rows:
            body += grid.lines(_cut(table, rows), width - margin, rows)
    return [*_margined(_label(section), body, margin), *([()] if plan.blank else [])] if body else []


def _clipped(sentence: str, width: int, most: int) -> list[str]:
    """Break a sentence into at most so many lines: without its last clauses where it is longer, cut where it has none."""
    if len(_wrap(sentence, width)) <= most:
        return _wrap(sentence, width)
    clauses = sentence.split("; ")
    fit = bisect_right(range(1, len(clauses)), most, key=lambda number: len(_wrap(_first(clauses, number), width)))
    return _wrap(_first(clauses, fit) if fit else sentence, width, most=most)


def _first(clauses: Sequence[str], number: int) -> str:
    return "; ".join(clauses[:number]) + "."


def _cut(table: Table, rows: int) -> Table:
    """Keep of a table whose rows nest, and so stand in the order of time, the longest rows in their order."""
    kinds = (Unit.RATIO, Unit.NANOSECONDS)
    shares = (column.values for kind in kinds for column in table.columns if column.unit is kind)
    compared = next((column.values for column in table.columns if column.bar), next(shares, None))
    if not table.indent or compared is None or rows >= table.rows:
        return table
    # Stable: of equals an outer row comes before its inner ones.
    longest = sorted(range(table.rows), key=lambda row: -(compared[row] or 0))
    kept = sorted(longest[:rows])
    return replace(
        table,
        columns=tuple(replace(one, values=tuple(one.values[row] for row in kept)) for one in table.columns),
        total=table.rows if table.total is None else table.total,
        indent=tuple(table.indent[row] for row in kept),
    )


def _whole(section: Section, width: int) -> list[Line]:
    """Write a section in full under its heading."""
    out: list[Line] = [((f"{'':{_INDENT}}{_label(section)}", "bold cyan"), (f"  {printable(section.title)}", "bold"))]
    inner = width - 2 * _INDENT
    body: list[Line] = [((line, ""),) for sentence in section.lines for line in _wrap(sentence, inner)]
    for table in section.tables:
        if table.rows:
            body += [(), *grid.lines(table, inner)]
    if section.notes:
        body.append(())
        body += [((line, "dim"),) for note in section.notes for line in _wrap(f"~ {note}", inner, hang=2)]
    return out + [((" " * 2 * _INDENT, ""), *line) if line else () for line in body]


def _problems(report: Report, width: int, margin: int) -> list[Line]:
    problems = sorted(report.problems, key=lambda one: one.severity is not Severity.LOSS)
    if not problems:
        return []
    if report.full:
        body = [line for one in problems for line in _told(one, width - margin)]
    else:
        losses = [one for one in problems if one.severity is Severity.LOSS][:_LOSSES]
        body = [
            line for one in losses for line in _wrap(f"{count(one.count)} × {one.code}: {one.message}", width - margin)
        ]
        others = [f"{count(one.count)} × {one.code}" for one in problems if one not in losses]
        if others:
            body += _wrap(" · ".join([*others, "details: tracegap info"]), width - margin)
    return _beside("TRACE", body, margin, style="yellow" if problems[0].severity is Severity.LOSS else "dim")


def _told(one: Problem, width: int) -> list[str]:
    mark = "loss: " if one.severity is Severity.LOSS else ""
    told = f"{mark}{count(one.count)} × {one.code}: {one.message}"
    out = [*_wrap(told, width), *_wrap(f"  {one.remedy}", width, hang=2)]
    return [*out, *_wrap(f"  first: {one.example}", width, hang=2)] if one.example else out


def _beside(label: str, body: Sequence[str], margin: int, *, style: str = "") -> list[Line]:
    return _margined(label, [((text, style),) for text in body], margin)


def _margined(label: str, body: Sequence[Line], margin: int) -> list[Line]:
    return [
        ((f"{'':{_INDENT}}{label if row == 0 else '':<{margin - _INDENT}}", "bold cyan"), *line)
        for row, line in enumerate(body)
    ]


def _wrap(sentence: str, width: int, *, hang: int = 0, most: int | None = None) -> list[str]:
    """Break a sentence into lines, at `most` so many of them, where no number is parted from its unit.

    Names in it, and words longer than a line, are shortened in their middle.
    """
    told = "".join(shorten([text], _NAME)[0] if is_name else text for text, is_name in pieces(sentence))
    words = [
        shorten([word], width - hang)[0] if len(word) > width - hang else word for word in printable(told).split(" ")
    ]
    lines = textwrap.wrap(
        _AMOUNT.sub("\xa0", " ".join(words)),
        width,
        subsequent_indent=" " * hang,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=f" {ELLIPSIS}",
    )
    return [line.replace("\xa0", " ") for line in lines] or [""]


def _written(report: Sequence[Line], width: int, *, colour: bool) -> str:
    if not colour:
        return "\n".join("".join(text for text, _ in line).rstrip() for line in report).rstrip("\n") + "\n"
    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=True, color_system="standard", highlight=False, no_color=False
    )
    for line in report:
        console.print(Text.assemble(*line), soft_wrap=True)
    return out.getvalue()

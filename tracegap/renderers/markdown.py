"""The report as Markdown for a pull request or an issue on GitHub.

The verdict and the table that matters stand above the fold, every section in a ``<details>``, then the median step as a
Mermaid gantt and the line that reproduces the report. Names of a trace are code spans, in which GitHub finds no markup,
mention or link; sentences that hold names are escaped for the same (GFM spec, sections 2.4, 4.10 and 6.3).
"""

import re
import shlex
from collections.abc import Iterable, Sequence

from tracegap.problems import Severity
from tracegap.renderers.names import printable, shorten
from tracegap.report import Chart, Column, Report, Section, Table, pieces
from tracegap.units import Unit, cells, count, duration

_ROWS = 20
"""Of a table, unless all is asked for: GitHub refuses comments over 65,536 characters."""
_NAME, _SOURCE = 72, 160
"""Characters of a name, and of a path: a table that is wider than the page hides its numbers."""
_WORDS = re.compile(r"\(?[A-Za-z]+( [A-Za-z]+)*\)?")
"""What is plain to GitHub, too, and need not be code."""
_PUNCTUATION = re.compile(r"[\\`*\[\]|~$]|(?<!\w)_|_(?!\w)")
_ZERO_WIDTH = "&#8203;"
"""Between ``@`` and a name no mention is found, and none in a code span."""


def render(report: Report) -> str:
    """Write the report as GitHub Flavored Markdown.

    Examples
    --------
    >>> from tracegap.report import Report, Verdict
    >>> print(render(Report({}, {"source": "a.json"}, {}, (), {}, (), Verdict("nothing stands out", "device"))))
    **nothing stands out**
    <BLANKLINE>
    <sub>tracegap · `a.json`</sub>
    <BLANKLINE>
    """
    parts = [*_verdict(report), _headline(report), *_above_the_fold(report)]
    parts += [_details(section, full=report.full) for section in report.sections]
    if report.chart is not None:
        parts.append(_gantt(report.chart))
    if report.problems:
        parts.append(_problems(report))
    if report.command:
        parts.append(f"Reproduce: {_code(shlex.join(report.command))}")
    return "\n\n".join(parts) + "\n"


def _verdict(report: Report) -> list[str]:
    if report.verdict is None:
        return []
    findings = [
        f"{number}. {_text(finding.text)}" + (f" <sub>{_text(finding.evidence)}</sub>" if finding.evidence else "")
        for number, finding in enumerate(report.verdict.findings, 1)
    ]
    return [f"**{_text(report.verdict.summary)}**", *(["\n".join(findings)] if findings else [])]


def _headline(report: Report) -> str:
    facts = [
        f"tracegap {report.tool.get('version', '')}".strip(),
        _code(shorten([str(report.trace.get("source", ""))], _SOURCE)[0]),
    ]
    return f"<sub>{' · '.join([*facts, *map(_text, report.headline)])}</sub>"


def _above_the_fold(report: Report) -> list[str]:
    """Return the first table that compares: one with bars, else none."""
    for section in report.sections:
        for table in section.tables:
            rows = min(table.brief, table.rows)
            if rows and any(column.bar for column in table.columns):
                return [_table(table, rows)]
    return []


def _details(section: Section, *, full: bool) -> str:
    first = f": {_html(section.lines[0])}" if section.lines else ""
    inner = [_list(section.lines[1:])] if len(section.lines) > 1 else []
    inner += [_table(table, table.rows if full else min(_ROWS, table.rows)) for table in section.tables if table.rows]
    if section.notes:
        inner.append(_list(f"~ {note}" for note in section.notes))
    title = f"<b>{_html(section.title)}</b>{first}"
    if not inner:
        return f"<p>{title}</p>"
    opened = " open" if full else ""
    return f"<details{opened}><summary>{title}</summary>\n\n" + "\n\n".join(inner) + "\n\n</details>"


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {_text(sentence)}" for sentence in sentences)


def _table(table: Table, rows: int) -> str:
    total = table.rows if table.total is None else table.total
    title = _text(table.title) + (f" ({count(rows)} of {count(total)})" if rows < total else "")
    columns = [column for column in table.columns if any(value is not None for value in column.values)]
    if not columns:
        return title
    heads = [_text(column.heading) for column in columns]
    if columns[0].unit is Unit.TEXT and not heads[0]:
        heads[0], title = title, ""
    body = [_cells(column, rows, table.indent if place == 0 else ()) for place, column in enumerate(columns)]
    rules = [":--" if column.unit is Unit.TEXT else "--:" for column in columns]
    lines = [_row(heads), _row(rules), *(_row(row) for row in zip(*body, strict=True))]
    return "\n".join([f"**{title}**\n", *lines] if title else lines)


def _row(parts: Sequence[str]) -> str:
    return f"| {' | '.join(parts)} |"


def _cells(column: Column, rows: int, indent: Sequence[int]) -> list[str]:
    texts = cells(column.unit, column.values)[:rows]
    if column.unit is not Unit.TEXT:
        return [_html(text) for text in texts]
    inset = ["&emsp;" * depth for depth in indent[:rows]] or [""] * rows
    names = [text if _WORDS.fullmatch(text) else _code(text, in_table=True) for text in shorten(texts, _NAME)]
    return [space + name for space, name in zip(inset, names, strict=False)]


def _gantt(chart: Chart) -> str:
    """Draw a chart for Mermaid; its axis counts seconds since the epoch, so that a unit of ours is its second."""
    end = max((bar.end_ns for bar in chart.bars), default=0)
    unit, label = next(((unit, label) for unit, label in _AXES if end >= 10 * unit), _AXES[-1])
    lines = [
        "```mermaid",
        "gantt",
        f"    title {_plain(chart.title)} (axis in {label})",
        "    dateFormat x",
        "    axisFormat %s",
    ]
    lane = None
    for bar in chart.bars:
        if bar.lane != lane:
            lane = bar.lane
            lines.append(f"    section {_plain(lane)}")
        start, stop = bar.start_ns * 1000 // unit, bar.end_ns * 1000 // unit
        name = _plain(bar.name)
        lines.append(f"    {name} {_plain(duration(bar.end_ns - bar.start_ns))} :{start}, {max(stop, start + 1)}")
    return "<details><summary>Median step</summary>\n\n" + "\n".join([*lines, "```"]) + "\n\n</details>"


_AXES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))


def _plain(text: str) -> str:
    """Keep of a name what Mermaid takes as text anywhere: its syntax is ``:``, ``;``, ``#``, ``%%`` and new lines."""
    kept = re.sub(r"[^\w.,()/+\-]+", " ", printable(text).replace("::", ".")).strip()
    return kept[:60].strip() or "_"


def _problems(report: Report) -> str:
    lines = [
        f"- {'**loss** ' if one.severity is Severity.LOSS else ''}{count(one.count)} × {_code(one.code)}: "
        f"{_text(one.message)} {_text(one.remedy)}"
        + (f" First: {_code(shorten([one.example], _SOURCE)[0])}" if one.example else "")
        for one in report.problems
    ]
    losses = sum(one.severity is Severity.LOSS for one in report.problems)
    told = f"{len(lines)} kind{'s' if len(lines) > 1 else ''} of problem in the trace" + (
        f", {losses} with losses" if losses else ""
    )
    return f"<details><summary>{told}</summary>\n\n" + "\n".join(lines) + "\n\n</details>"


def _text(sentence: str) -> str:
    """Write a sentence: marked names as code, the rest escaped, so that it is text to Markdown, HTML and GitHub's links."""
    text = "".join(
        _code(shorten([text], _NAME)[0]) if is_name else _escaped(text) for text, is_name in pieces(sentence)
    )
    return re.sub(r"^([#+-]|\d+(?=[.)]\s))", r"\\\1" if not text[:1].isdigit() else rf"\1{_ZERO_WIDTH}", text)


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(lambda match: "\\" + match.group(), _unlinked(text))


def _html(sentence: str) -> str:
    """Write a sentence where HTML holds it and Markdown does not look, as in a summary."""
    return "".join(
        f"<code>{_unlinked(shorten([text], _NAME)[0])}</code>" if is_name else _unlinked(text)
        for text, is_name in pieces(sentence)
    )


def _unlinked(text: str) -> str:
    """Escape for HTML, and part what GitHub would make a mention or a link of."""
    text = re.sub(r"\s+", " ", printable(text))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = (
        text.replace("@", f"@{_ZERO_WIDTH}").replace("://", f":{_ZERO_WIDTH}//").replace("www.", f"www{_ZERO_WIDTH}.")
    )
    return re.sub(r"(?<!&)#(?=\d)", f"#{_ZERO_WIDTH}", text)


def _code(text: str, *, in_table: bool = False) -> str:
    """Write a name as a code span, behind more backticks than it holds."""
    text = printable(text)
    if not text.strip():
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    if in_table:
        # A table row is cut at its bars before code is looked for; only an odd number of backslashes keeps one whole.
        text = re.sub(r"(\\*)\|", lambda match: match[1] + ("\\\\|" if len(match[1]) % 2 else "\\|"), text)
    if text[0] in "` " or text[-1] in "` ":
        text = f" {text} "
    return f"{fence}{text}{fence}"

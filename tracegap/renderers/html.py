"""The report as one HTML page: self-contained, no script, nothing loaded, every table in full.

Everything from the trace is escaped, and a Content-Security-Policy allows nothing but the page's own style sheet, by its
hash: even markup that slipped through could not run, load or send anything.
"""

import shlex
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape

from tracegap.problems import Severity
from tracegap.renderers.names import printable
from tracegap.report import Chart, Column, Report, Section, Table, pieces
from tracegap.units import Unit, cells, count, duration

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --dim: #60646c; --line: #d9dce0; --page: #fff; --panel: #f6f7f9;
  --bar: #3b82c4; --loss: #a45b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6ea; --dim: #9aa0a8; --line: #363b42; --page: #16191d;
  --panel: #1e2227; --bar: #5b9bd5; --loss: #e3a04f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 72rem;
  margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.45rem; line-height: 1.3; margin: .2rem 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: .95rem; margin: 1.2rem 0 .3rem; }
p, li { overflow-wrap: anywhere; margin: .3rem 0; }
.dim, small { color: var(--dim); }
.loss { color: var(--loss); font-weight: 600; }
nav a { margin-right: 1rem; color: inherit; }
ol.findings { background: var(--panel); border-radius: .5rem; padding: .8rem 1rem .8rem 2.4rem; }
.scroll { overflow-x: auto; max-height: 32rem; overflow-y: auto; }
table { border-collapse: collapse; font-size: .88rem; }
th { position: sticky; top: 0; background: var(--page); color: var(--dim); font-weight: 500; text-align: left; }
th, td { padding: .15rem .9rem .15rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.name { font-family: ui-monospace, monospace; font-size: .82rem; overflow-wrap: anywhere; min-width: 14rem; }
.depth1 { padding-left: 1.2rem; } .depth2 { padding-left: 2.4rem; } .depth3 { padding-left: 3.6rem; }
svg { vertical-align: middle; } rect { fill: var(--bar); } svg text { fill: var(--ink); font-size: 12px; }
code { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
"""
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"

_BAR = 100
_CHART_WIDTH, _LANE_HEIGHT, _LABEL = 900, 22, 110


def render(report: Report) -> str:
    """Write the report as one HTML page.

    Examples
    --------
    >>> from tracegap.report import Report, Verdict
    >>> page = render(Report({}, {"source": "<b>.json"}, {}, (), {}, (), Verdict("nothing stands out", "device")))
    >>> page.startswith("<!doctype html>"), "<b>" in page, "&lt;b&gt;.json" in page
    (True, False, True)
    """
    source = str(report.trace.get("source", ""))
    facts = [f"tracegap {report.tool.get('version', '')}".strip(), source, *report.headline]
    body = [
        f'<p class="dim">{" · ".join(_text(fact) for fact in facts if fact)}</p>',
        *_verdict(report),
        _contents(report),
        *([_chart(report.chart)] if report.chart is not None else []),
        *(_section(section) for section in report.sections),
        *([_problems(report)] if report.problems else []),
    ]
    if report.command:
        body.append(f"<h2>Reproduce</h2>\n<p><code>{_text(shlex.join(report.command))}</code></p>")
    return _PAGE.format(policy=_POLICY, title=_text(f"{source} · tracegap"), style=_STYLE, body="\n".join(body))


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _verdict(report: Report) -> list[str]:
    if report.verdict is None:
        return []
    items = [
        f"<li>{_sentence(finding.text)}<br><small>{_sentence(finding.evidence)} · {_text(finding.code)}</small></li>"
        for finding in report.verdict.findings
    ]
    findings = ['<ol class="findings">', *items, "</ol>"] if items else []
    return [f"<h1>{_sentence(report.verdict.summary)}</h1>", *findings]


def _contents(report: Report) -> str:
    links = [f'<a href="#{_text(section.name)}">{_text(section.title)}</a>' for section in report.sections]
    return f"<nav>{' '.join(links)}</nav>"


def _section(section: Section) -> str:
    parts = [f'<section id="{_text(section.name)}">', f"<h2>{_text(section.title)}</h2>"]
    parts += [f"<p>{_sentence(line)}</p>" for line in section.lines]
    parts += [_table(table) for table in section.tables if table.rows]
    if section.notes:
        parts += ['<ul class="dim">', *(f"<li>{_sentence(note)}</li>" for note in section.notes), "</ul>"]
    return "\n".join([*parts, "</section>"])


def _table(table: Table) -> str:
    columns = [column for column in table.columns if any(value is not None for value in column.values)]
    total = table.rows if table.total is None else table.total
    title = table.title + (f" ({count(table.rows)} of {count(total)})" if table.rows < total else "")
    heads = "".join(
        f"<th{'' if column.unit is Unit.TEXT else ' class=number'}>{_text(column.heading)}</th>" for column in columns
    )
    body = [_column(column, table.indent if place == 0 else ()) for place, column in enumerate(columns)]
    rows = [f"<tr>{''.join(row)}</tr>" for row in zip(*body, strict=True)]
    return "\n".join(
        [
            f"<h3>{_text(title)}</h3>",
            f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>',
            *rows,
            "</tbody></table></div>",
        ]
    )


def _column(column: Column, indent: Sequence[int]) -> Iterable[str]:
    texts = map(_text, cells(column.unit, column.values))
    if column.unit is Unit.TEXT:
        depths = indent or (0,) * len(column.values)
        return [f'<td class="name depth{min(depth, 3)}">{text}</td>' for text, depth in zip(texts, depths, strict=True)]
    longest = max((value for value in column.values if value is not None), default=0)
    return [
        f'<td class="number">{_bar(value, longest) if column.bar else ""}{text}</td>'
        for text, value in zip(texts, column.values, strict=True)
    ]


def _bar(value: float | None, longest: float) -> str:
    if not value or longest <= 0 or value < 0:
        return ""
    return f'<svg width="{_BAR}" height="10" aria-hidden="true"><rect width="{value / longest * _BAR:.1f}" height="10"/></svg> '


def _chart(chart: Chart) -> str:
    end = max((bar.end_ns for bar in chart.bars), default=0) or 1
    lanes = list(dict.fromkeys(bar.lane for bar in chart.bars))
    scale = (_CHART_WIDTH - _LABEL) / end
    drawn = [f'<text x="0" y="{row * _LANE_HEIGHT + 15}">{_text(lane[:16])}</text>' for row, lane in enumerate(lanes)]
    drawn += [
        f'<rect x="{_LABEL + bar.start_ns * scale:.1f}" y="{lanes.index(bar.lane) * _LANE_HEIGHT + 4}" '
        f'width="{max((bar.end_ns - bar.start_ns) * scale - 1, 0.5):.1f}" height="{_LANE_HEIGHT - 8}">'
        f"<title>{_text(bar.name)}: {duration(bar.end_ns - bar.start_ns)} from {duration(bar.start_ns)}</title></rect>"
        for bar in chart.bars
    ]
    height = len(lanes) * _LANE_HEIGHT
    return (
        f"<h3>{_text(chart.title)}</h3>\n"
        f'<div class="scroll"><svg width="{_CHART_WIDTH}" height="{height}" role="img" aria-label="{_text(chart.title)}">'
        f"{''.join(drawn)}</svg></div>"
    )


def _problems(report: Report) -> str:
    items = []
    for one in report.problems:
        kind = '<span class="loss">loss</span> ' if one.severity is Severity.LOSS else ""
        example = f"<br><small>first: {_text(one.example)}</small>" if one.example else ""
        items.append(
            f"<li>{kind}{count(one.count)} × <code>{_text(one.code)}</code>: {_text(one.message)} {_text(one.remedy)}{example}</li>"
        )
    return "\n".join(["<h2>Problems of the trace</h2>", "<ul>", *items, "</ul>"])


def _sentence(sentence: str) -> str:
    return "".join(f"<code>{_text(text)}</code>" if is_name else _text(text) for text, is_name in pieces(sentence))


def _text(text: str) -> str:
    return escape(printable(text), quote=True)

"""A table as lines of fixed width: names on the left get what room is left, numbers are aligned and never cut."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, chop_cells

from tracegap.renderers.names import printable, shorten
from tracegap.report import Column, Table
from tracegap.units import Unit, cells, count

Line = tuple[tuple[str, str], ...]
"""A line as pieces of (text, style); a style is one of rich's, "" for plain."""

_NAME_AT_LEAST, _NAME_BESIDE_BARS = 16, 30
_BAR = 12
_EIGHTHS = " ▏▎▍▌▋▊▉"
_SPACE = 2
_UNBOUNDED = 1 << 30


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A column as it is drawn: ``width`` cells, and beside a number its bar if there is room for one.

    A bar of full length stands for `longest`.
    """

    column: Column
    heading: str
    texts: tuple[str, ...]
    width: int
    bar: bool
    longest: float

    @property
    def is_name(self) -> bool:
        return self.column.unit is Unit.TEXT


def lines(table: Table, width: int, rows: int | None = None) -> list[Line]:
    """Write a table, or its first `rows` rows, within `width` cells, under its title and one line of headings.

    Where the columns do not fit, bars go first, then the last columns, which a closing line under a whole table names.
    """
    whole = rows is None
    rows = table.rows if rows is None else rows
    shown = min(rows, table.rows)
    indent = table.indent[:shown]
    every = [_drawn(column, shown) for column in table.columns if any(value is not None for value in column.values)]
    fitted = _fit(every, width, 2 * max(indent, default=0))
    title = _title(table, shown)
    out: list[Line] = []
    if title and fitted and fitted[0].is_name and cell_len(title) <= fitted[0].width + _blank(fitted):
        fitted[0] = replace(fitted[0], heading=title)
        out.append(_headings(fitted, first="bold"))
    else:
        out += [((line, "bold"),) for line in textwrap.wrap(title, width)]
        out += [_headings(fitted, first="dim")] if any(drawn.heading for drawn in fitted) else []
    fitted = [_named(drawn, indent if place == 0 else ()) for place, drawn in enumerate(fitted)]
    out += [_row(fitted, row) for row in range(shown)]
    if whole and len(fitted) < len(every):
        left_out = ", ".join(drawn.heading for drawn in every[len(fitted) :])
        out += [((line, "dim"),) for line in textwrap.wrap(f"left out for width: {left_out}", width)]
    return out


def _drawn(column: Column, rows: int) -> _Drawn:
    # Numbers are written over all rows, so that a column keeps its unit however many rows are shown.
    texts = [printable(text) for text in cells(column.unit, column.values)[:rows]]
    if column.unit is Unit.TEXT:
        texts = shorten(texts, _UNBOUNDED)
    heading = printable(column.heading)
    width = max(map(cell_len, [heading, *texts]), default=0)
    longest = max((value for value in column.values if value is not None), default=0) if column.bar else 0
    return _Drawn(column, heading, tuple(texts), width, column.bar, longest)


def _title(table: Table, shown: int) -> str:
    total = table.rows if table.total is None else table.total
    title = printable(table.title)
    return title if shown >= total else f"{title} ({count(shown)} of {count(total)})".strip()


def _fit(every: Sequence[_Drawn], width: int, deepest: int) -> list[_Drawn]:
    """Choose the columns that fit, whether they have bars, and the widths of names."""
    columns = list(every)
    if columns and columns[0].is_name:
        columns[0] = replace(columns[0], width=columns[0].width + deepest)
    while True:
        names = [drawn for drawn in columns if drawn.is_name]
        bars = [drawn for drawn in columns if drawn.bar]
        room = width - sum(drawn.width for drawn in columns if not drawn.is_name)
        room -= _SPACE * (len(columns) - 1) + len(bars) * (_BAR + _SPACE)
        # Names that can be told apart say more than bars do.
        least = sum(min(drawn.width, _NAME_BESIDE_BARS if bars else _NAME_AT_LEAST) for drawn in names)
        if room >= least or len(columns) <= 1:
            break
        if bars:
            columns = [replace(drawn, bar=False) for drawn in columns]
        else:
            columns.pop()
    widths: dict[int, int] = {}
    for place, drawn in enumerate(sorted(names, key=lambda name: name.width)):  # the short leave more to the long
        widths[id(drawn)] = max(min(drawn.width, room // (len(names) - place)), 1)
        room -= widths[id(drawn)]
    return [replace(drawn, width=widths.get(id(drawn), drawn.width)) for drawn in columns]


def _blank(columns: Sequence[_Drawn]) -> int:
    """Return how far the first heading may run into the room above the second column, which is aligned to the right."""
    if len(columns) < 2 or columns[1].is_name:
        return 0
    after = columns[1]
    return after.width - cell_len(after.heading) + (_BAR + _SPACE if after.bar else 0)


def _headings(columns: Sequence[_Drawn], *, first: str) -> Line:
    pieces: list[tuple[str, str]] = []
    over = 0  # by how much the heading before reaches into this column
    for place, drawn in enumerate(columns):
        space = " " * _SPACE if place else ""
        if drawn.is_name:
            text = _padded(drawn.heading, drawn.width) if place else drawn.heading.ljust(drawn.width)
            over = max(cell_len(text) - drawn.width, 0)
        else:
            room = drawn.width + (_BAR + _SPACE if drawn.bar else 0) - over
            text, over = " " * (room - cell_len(drawn.heading)) + drawn.heading, 0
        pieces.append((space + text, "dim" if place else first))
    return tuple(pieces)


def _named(drawn: _Drawn, indent: Sequence[int]) -> _Drawn:
    """Cut the names of a column to its width, nested ones behind their indent."""
    if not drawn.is_name:
        return drawn
    if not indent:
        return replace(drawn, texts=tuple(shorten(drawn.texts, drawn.width)))
    texts = [
        "  " * depth + shorten([text], max(drawn.width - 2 * depth, 4))[0]
        for text, depth in zip(drawn.texts, indent, strict=False)
    ]
    return replace(drawn, texts=tuple(texts))


def _row(columns: Sequence[_Drawn], row: int) -> Line:
    pieces: list[tuple[str, str]] = []
    for drawn in columns:
        space = " " * _SPACE if pieces else ""
        if drawn.is_name:
            pieces.append((space + _padded(drawn.texts[row], drawn.width), ""))
            continue
        if drawn.bar:
            pieces.append((space + _bar(drawn.column.values[row] or 0, drawn.longest), "cyan"))
            space = " " * _SPACE
        pieces.append((space + drawn.texts[row].rjust(drawn.width), ""))
    return tuple(pieces)


def _padded(text: str, width: int) -> str:
    """Pad or, where wide characters make it longer than its letters, cut to `width` cells."""
    if cell_len(text) > width:
        text = (chop_cells(text, width) or [""])[0]
    return text + " " * (width - cell_len(text))


def _bar(value: float, longest: float) -> str:
    if longest <= 0 or value <= 0:
        return " " * _BAR
    eighths = max(round(value / longest * _BAR * 8), 1)
    bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return bar.ljust(_BAR)

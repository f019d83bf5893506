"""A table as lines of fixed width: names on the left get what room is left, numbers are aligned and never cut."""

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

from tracegap.renderers.names import printable, shorten
from tracegap.report import Column, Table
from tracegap.units import Unit, cells, count

Line = tuple[tuple[str, str], ...]
"""A line as pieces of (text, style); a style is one of rich's, "" for plain."""

_NAME_AT_LEAST = 16
_BAR = 12
_EIGHTHS = " ▏▎▍▌▋▊▉"
_SPACE = 2


def lines(table: Table, width: int, rows: int) -> list[Line]:
    """Write the first `rows` rows of a table within `width` cells, under one line of headings.

    Where the columns do not fit, bars go first, then the last columns, which a closing line names.
    """
    shown = min(rows, table.rows)
    columns = [column for column in table.columns if any(value is not None for value in column.values)]
    texts = {id(column): _texts(column, shown) for column in columns}
    title = _title(table, shown)
    own_line = not columns or columns[0].unit is not Unit.TEXT or cell_len(title) > max(width // 2, _NAME_AT_LEAST)
    headings = {id(column): printable(column.heading) for column in columns}
    if columns and not own_line:
        headings[id(columns[0])] = title
    columns, bars, widths = _fit(columns, texts, headings, width, table.indent[:shown])
    out: list[Line] = [((title, "bold"),)] if own_line and title else []
    if any(headings[id(column)] for column in columns):
        out.append(_heading(columns, bars, widths, headings, bold_first=not own_line))
    names = {
        id(column): _names(texts[id(column)], widths[id(column)], table.indent[:shown] if column is columns[0] else ())
        for column in columns
        if column.unit is Unit.TEXT
    }
    for row in range(shown):
        pieces: list[tuple[str, str]] = []
        for column in columns:
            space = " " * _SPACE if pieces else ""
            if column.unit is Unit.TEXT:
                pieces.append((space + _left(names[id(column)][row], widths[id(column)]), ""))
                continue
            if id(column) in bars:
                pieces.append((space + _bar(column, row), "cyan"))
            pieces.append((space + texts[id(column)][row].rjust(widths[id(column)]), ""))
        out.append(tuple(pieces))
    left_out = [headings[id(column)] for column in table.columns if id(column) in texts and column not in columns]
    if left_out:
        out.append(((f"left out for width: {', '.join(left_out)}", "dim"),))
    return out


def _title(table: Table, shown: int) -> str:
    total = table.rows if table.total is None else table.total
    title = printable(table.title)
    return title if shown >= total else f"{title} ({count(shown)} of {count(total)})".strip()


def _texts(column: Column, rows: int) -> list[str]:
    # Over all rows, so that a column keeps its unit however many rows are shown.
    return [printable(text) for text in cells(column.unit, column.values)[:rows]]


def _fit(
    columns: list[Column], texts: dict[int, list[str]], headings: dict[int, str], width: int, indent: Sequence[int]
) -> tuple[list[Column], set[int], dict[int, int]]:
    """Choose the columns that fit, those with bars, and the width of each."""
    columns = list(columns)
    bars = {id(column) for column in columns if column.bar}
    deepest = 2 * max(indent, default=0)

    def wants(column: Column) -> int:
        return max(map(cell_len, [headings[id(column)], *texts[id(column)]]), default=0)

    while True:
        names = [column for column in columns if column.unit is Unit.TEXT]
        fixed = sum(wants(column) for column in columns if column.unit is not Unit.TEXT)
        fixed += _SPACE * (len(columns) - 1) + len(bars) * (_BAR + _SPACE)
        room = width - fixed
        least = sum(min(wants(column), _NAME_AT_LEAST) for column in names)
        if room >= least or len(columns) <= 1:
            break
        if bars:
            bars = set()
        else:
            columns.pop()
    widths = {id(column): wants(column) for column in columns}
    for place, column in enumerate(names):  # each name in turn gets what it wants and the others can spare
        want = widths[id(column)] + (deepest if column is columns[0] else 0)
        others = sum(min(widths[id(other)], _NAME_AT_LEAST) for other in names[place + 1 :])
        widths[id(column)] = max(min(want, room - others), 1)
        room -= widths[id(column)]
    return columns, bars, widths


def _heading(
    columns: Sequence[Column], bars: set[int], widths: dict[int, int], headings: dict[int, str], *, bold_first: bool
) -> Line:
    pieces: list[tuple[str, str]] = []
    for place, column in enumerate(columns):
        space = " " * _SPACE if pieces else ""
        heading = headings[id(column)]
        if column.unit is Unit.TEXT:
            text = _left(heading, widths[id(column)])
            pieces.append((space + text, "bold" if bold_first and place == 0 else "dim"))
        else:
            room = widths[id(column)] + (_BAR + _SPACE if id(column) in bars else 0)
            pieces.append((space + " " * (room - cell_len(heading)) + heading, "dim"))
    return tuple(pieces)


def _names(texts: Sequence[str], width: int, indent: Sequence[int]) -> list[str]:
    if not indent:
        return shorten(texts, width)
    return [
        "  " * depth + shorten([text], max(width - 2 * depth, 4))[0] for text, depth in zip(texts, indent, strict=False)
    ]


def _left(text: str, width: int) -> str:
    """Pad or, where wide characters make it longer than its letters, cut to `width` cells."""
    if cell_len(text) > width:
        text = (chop_cells(text, width) or [""])[0]
    return text + " " * (width - cell_len(text))


def _bar(column: Column, row: int) -> str:
    longest = max((value for value in column.values if value is not None), default=0)
    value = column.values[row] or 0
    if longest <= 0 or value <= 0:
        return " " * _BAR
    eighths = max(round(value / longest * _BAR * 8), 1)
    bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return bar.ljust(_BAR)

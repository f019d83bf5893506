"""Writing the rows of a query: as a table for people, CSV, JSON, Markdown, or Arrow's files where the library is there."""

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from tracegap.errors import UsageError
from tracegap.renderers.names import printable, shorten
from tracegap.sql.result import QueryResult

_WIDEST = 60
"""Characters of a text cell in a table; longer ones lose what tells them apart least."""


def to_table(result: QueryResult) -> str:
    """Write aligned columns, numbers to the right.

    Examples
    --------
    >>> print(to_table(QueryResult(("name", "dur"), (("mm", 1500), ("add", None)))), end="")
    name   dur
    ----  ----
    mm    1500
    add
    """
    if not result.columns:
        return ""
    cells = [_cells(result[column], column) for column in dict.fromkeys(result.columns)]
    if len(cells) < len(result.columns):  # columns of one name: each by its place
        cells = [_cells(values, name) for name, values in zip(result.columns, _columns(result), strict=True)]
    right = [any(isinstance(value, int | float) for value in values) for values in _columns(result)]
    width = [max(map(len, column)) for column in cells]
    lines = []
    for row in zip(*cells, strict=True):
        parts = [
            cell.rjust(size) if number else cell.ljust(size)
            for cell, size, number in zip(row, width, right, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "  ".join("-" * size for size in width))
    return "\n".join(lines) + "\n"


def to_csv(result: QueryResult) -> str:
    """Write RFC 4180 with a heading; NULL is an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if result.columns:
        writer.writerow(result.columns)
    writer.writerows(tuple(_plain(value) for value in row) for row in result.rows)
    return text.getvalue()


def to_json(result: QueryResult) -> str:
    """Write an array of objects, one a row."""
    rows = [dict(zip(result.columns, map(_plain, row), strict=True)) for row in result.rows]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n"


def to_markdown(result: QueryResult) -> str:
    r"""Write a table of GitHub's Markdown.

    Examples
    --------
    >>> print(to_markdown(QueryResult(("name", "dur"), (("a|b", 5),))), end="")
    | name | dur |
    | --- | ---: |
    | a\|b | 5 |
    """
    if not result.columns:
        return ""
    numbers = [any(isinstance(value, int | float) for value in values) for values in _columns(result)]
    lines = [result.columns, ["---:" if number else "---" for number in numbers], *result.rows]
    return "".join(f"| {' | '.join(_escaped(value) for value in line)} |\n" for line in lines)


def write_parquet(result: QueryResult, path: Path) -> None:
    """Write a Parquet file with pyarrow."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("--format parquet needs the package pyarrow: install it, or choose csv") from None
    pq.write_table(result.to_arrow(), path)


def write_arrow(result: QueryResult, path: Path) -> None:
    """Write an Arrow IPC file (Feather) with pyarrow."""
    try:
        import pyarrow.feather as feather
    except ImportError:
        raise UsageError("--format arrow needs the package pyarrow: install it, or choose csv") from None
    feather.write_feather(result.to_arrow(), str(path), compression="zstd")


TEXT_FORMATS: Mapping[str, Callable[[QueryResult], str]] = {
    "table": to_table,
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
}
FILE_FORMATS: Mapping[str, Callable[[QueryResult, Path], None]] = {"parquet": write_parquet, "arrow": write_arrow}


def _columns(result: QueryResult) -> list[tuple[Any, ...]]:
    return [tuple(row[place] for row in result.rows) for place in range(len(result.columns))]


def _cells(values: tuple[Any, ...], heading: str) -> list[str]:
    texts = ["" if value is None else printable(str(_plain(value))) for value in values]
    if any(len(text) > _WIDEST for text in texts):
        texts = shorten(texts, _WIDEST)
    return [printable(heading), *texts]


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _escaped(value: Any) -> str:
    return "" if value is None else printable(str(_plain(value))).replace("\\", "\\\\").replace("|", "\\|")

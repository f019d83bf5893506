"""Writing the rows of a query: as a table for people, CSV, JSON, Markdown, or Arrow's files where the library is there."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import orjson
from rich.cells import cell_len

from tracegap.errors import UsageError
from tracegap.renderers.names import ELLIPSIS, printable, shorten
from tracegap.sql.result import QueryResult, by_column, distinct, needed, plain

_WIDEST = 60
"""Characters of a text cell in a table; longer ones lose what tells them apart least. Only the last column is as wide as it gets."""


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
    last = len(result.columns) - 1
    cells = [
        _cells(name, values, whole=place == last)
        for place, (name, values) in enumerate(zip(result.columns, by_column(result), strict=True))
    ]
    right = _numbers(result)
    width = [max(map(cell_len, column)) for column in cells]
    lines = []
    for row in zip(*cells, strict=True):
        blanks = [" " * (size - cell_len(cell)) for cell, size in zip(row, width, strict=True)]
        parts = [
            blank + cell if number else cell + blank for cell, number, blank in zip(row, right, blanks, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "  ".join("-" * size for size in width))
    if not result.rows:
        lines.append("(no rows)")
    return "\n".join(lines) + "\n"


def to_csv(result: QueryResult) -> str:
    r"""Write RFC 4180 with a heading, its lines ended by a new line alone; NULL is an empty field.

    Examples
    --------
    >>> to_csv(QueryResult(("name", "dur"), (("a,b", 5), ("c", None))))
    'name,dur\n"a,b",5\nc,\n'
    """
    if not result.columns:
        return ""
    lines: list[str] = []
    # Before Python 3.13 the writer quotes only what its own line end holds, and a lone \r inside a field needs that.
    writer = csv.writer(_Lines(lines), lineterminator="\r\n")
    writer.writerow(result.columns)
    writer.writerows(map(plain, row) for row in result.rows)
    return "".join(lines)


def to_json(result: QueryResult) -> str:
    """Write an array of objects, one a row; infinity, which JSON has not, is null like NULL.

    Examples
    --------
    >>> print(to_json(QueryResult(("n", "n"), ((1, None),))), end="")
    [
      {
        "n": 1,
        "n_2": null
      }
    ]
    """
    names = distinct(result.columns)
    rows = [dict(zip(names, map(plain, row), strict=True)) for row in result.rows]
    return orjson.dumps(rows, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


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
    lines = [
        map(_escaped, result.columns),
        ["---:" if number else "---" for number in _numbers(result)],
        *(map(_escaped, row) for row in result.rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_parquet(result: QueryResult, file: BinaryIO) -> None:
    """Write a Parquet file with pyarrow.

    Raises
    ------
    UsageError
        When there are no columns, or pyarrow is not installed.
    """
    _ask_for_columns(result)
    with needed("pyarrow", extra="arrow"):
        import pyarrow.parquet as pq
    pq.write_table(result.to_arrow(), file)


def write_arrow(result: QueryResult, file: BinaryIO) -> None:
    """Write an Arrow IPC file, which is Feather's, too, with pyarrow.

    Raises
    ------
    UsageError
        When there are no columns, or pyarrow is not installed.
    """
    _ask_for_columns(result)
    with needed("pyarrow", extra="arrow"):
        import pyarrow.feather as feather
    feather.write_feather(result.to_arrow(), file, compression="zstd")


TEXT_FORMATS: Mapping[str, Callable[[QueryResult], str]] = {
    "table": to_table,
    "csv": to_csv,
    "json": to_json,
    "md": to_markdown,
}
FILE_FORMATS: Mapping[str, Callable[[QueryResult, BinaryIO], None]] = {"parquet": write_parquet, "arrow": write_arrow}
SUFFIXES: Mapping[str, str] = {
    ".txt": "table",
    ".csv": "csv",
    ".json": "json",
    ".md": "md",
    ".markdown": "md",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""Which format the name of a file asks for."""


def _ask_for_columns(result: QueryResult) -> None:
    if not result.columns:  # DuckDB, for one, does not read such a file
        raise UsageError("the last statement gives no columns, and a file of this format needs one: end with a SELECT")


def _numbers(result: QueryResult) -> list[bool]:
    return [any(isinstance(value, int | float) for value in values) for values in by_column(result)]


class _Lines:
    """A file for the csv module: a line a row, ended by a new line."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def write(self, line: str) -> None:
        self._lines.append(line.removesuffix("\r\n") + "\n")


def _cells(heading: str, values: Sequence[Any], *, whole: bool) -> list[str]:
    heading = printable(heading)
    if len(heading) > _WIDEST:  # an expression without a name is headed by itself
        heading = heading[: _WIDEST - len(ELLIPSIS)] + ELLIPSIS
    texts = ["" if value is None else printable(str(plain(value))) for value in values]
    if not whole and any(len(text) > _WIDEST for text in texts):
        texts = shorten(texts, _WIDEST)
    return [heading, *texts]


_MARKUP = re.compile(r"[\\`*\[\]|~$<>&]|(?<!\w)_|_(?!\w)")
_LINKS = re.compile(r"@|:(?=//)|www(?=\.)|#(?=\d)")
"""Behind which GitHub finds mentions, addresses and issues, unless a space of no width follows."""


def _escaped(value: Any) -> str:
    """Write a value as text in which GitHub finds neither markup nor links."""
    if value is None:
        return ""
    text = _MARKUP.sub(r"\\\g<0>", printable(str(plain(value))))
    return _LINKS.sub(r"\g<0>&#8203;", text)

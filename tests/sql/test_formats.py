"""How the rows of a query are written: every format gives back to a reader what was in it, and no name acts."""

import csv
import errno
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tracegap import cli
from tracegap.renderers.names import printable
from tracegap.sql import QueryResult
from tracegap.sql.formats import to_csv, to_json, to_markdown, to_table

EMPTY = QueryResult(("name", "dur"), ())
NONE = QueryResult((), ())
HOSTILE = 'a|b\\|`c`\r\n"d",<img src=x>&amp;&#124;\x1b[31m\x9b\u202e*e*_f_~~g~~[h](i)$j$\t'

texts = st.lists(st.sampled_from([*"|\\`*_~<>&;[]()!@#1$\n\r\t \",'=", "a", "b", "www.", "://", "&lt;", "<b>"])).map(
    "".join
)
values = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | texts
    | st.text()
    | st.binary(max_size=4)
)
results = st.integers(1, 3).flatmap(
    lambda width: st.builds(
        QueryResult,
        st.tuples(*[texts] * width),
        st.lists(st.tuples(*[values] * width), max_size=4).map(tuple),
    )
)


def shown(value: Any) -> str:
    return "" if value is None else value.hex() if isinstance(value, bytes) else str(value)


@given(results)
def test_csv_gives_every_value_back(result: QueryResult) -> None:
    read = list(csv.reader(io.StringIO(to_csv(result), newline="")))
    assert read == [list(result.columns), *([shown(value) for value in row] for row in result.rows)]


def test_csv_quotes_a_lone_carriage_return() -> None:
    assert to_csv(QueryResult(("n",), (("a\rb",), (None,), ("",)))) == 'n\n"a\rb"\n""\n""\n'


@given(results)
def test_json_gives_every_value_of_every_column_back(result: QueryResult) -> None:
    read = json.loads(to_json(result))
    infinite = {float("inf"), float("-inf")}
    assert [list(row.values()) for row in read] == [
        [value.hex() if isinstance(value, bytes) else None if value in infinite else value for value in row]
        for row in result.rows
    ]
    assert all(next(iter(row)) == result.columns[0] for row in read)


@given(results)
def test_markdown_shows_every_value_as_text_and_nothing_else(result: QueryResult) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(to_markdown(result))
    inline = [token for token in tokens if token.type == "inline"]
    assert {child.type for token in inline for child in token.children or ()} <= {"text"}
    cells = ["".join(child.content for child in token.children or ()).replace("\u200b", "") for token in inline]
    # A reader of Markdown takes the space around a cell away.
    assert [cell.strip() for cell in cells] == [
        printable(shown(value)).strip() for row in (result.columns, *result.rows) for value in row
    ]


def test_markdown_mentions_nobody_and_links_nowhere() -> None:
    text = to_markdown(QueryResult(("n",), (("@me",), ("http://x.y",), ("www.x.y",), ("o/r#12",), ("a_b._c_",))))
    assert text.splitlines()[2:] == [
        "| @&#8203;me |",
        "| http:&#8203;//x.y |",
        "| www&#8203;.x.y |",
        "| o/r#&#8203;12 |",
        "| a_b.\\_c\\_ |",
    ]


@pytest.mark.parametrize("write", [to_table, to_markdown])
def test_a_name_keeps_its_line_and_cannot_act(write: Callable[[QueryResult], str]) -> None:
    text = write(QueryResult((HOSTILE,), ((HOSTILE,), (1,))))
    assert len(text.splitlines()) == 4
    assert not set(text) & set("\x1b\x9b\u202e\t\r")


def test_no_rows_and_no_columns_are_written_as_that() -> None:
    assert to_table(EMPTY) == "name  dur\n----  ---\n(no rows)\n"
    assert to_csv(EMPTY) == "name,dur\n"
    assert (to_json(EMPTY), to_markdown(EMPTY)) == ("[]\n", "| name | dur |\n| --- | --- |\n")
    assert (to_table(NONE), to_csv(NONE), to_json(NONE), to_markdown(NONE)) == ("", "", "[]\n", "")


def test_columns_of_one_name_are_two_in_a_table() -> None:
    assert to_table(QueryResult(("n", "n"), ((1, 2),))) == "n  n\n-  -\n1  2\n"


def test_a_heading_is_no_wider_than_a_cell_may_be() -> None:
    columns = ("count(*) < 5 and " * 9 + "f(x)", "n")
    heading, rule, row = to_table(QueryResult(columns, (("y" * 99, 1),))).splitlines()
    assert heading.startswith("count(*) < 5 and count")
    assert (len(heading), len(rule), len(row)) == (63, 63, 63)


def test_the_last_column_is_whole() -> None:
    assert to_table(QueryResult(("n", "text"), ((1, "y" * 99),))).splitlines()[-1] == f"1  {'y' * 99}"


def test_wide_characters_take_two_places() -> None:
    assert to_table(QueryResult(("名前", "n"), (("日本", 1), ("mm", 2)))) == "名前  n\n----  -\n日本  1\nmm    2\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text('[{"ph": "X", "name": "\\u001b[2Jmm", "ts": 0, "dur": 3, "pid": 1, "tid": 1}]')
    return path


def query(*words: object) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["query", *map(str, words)])
    assert ended.value.code == 0


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return the one line that is said instead of an answer."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["query", *map(str, words)])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out, captured.err.count("\n")) == (2, "", 1)
    return captured.err


READERS = [
    pytest.param("rows.parquet", lambda path: pq.read_table(path).to_pydict(), id="parquet-pyarrow"),
    pytest.param("rows.parquet", lambda path: pl.read_parquet(path).to_dict(as_series=False), id="parquet-polars"),
    pytest.param("rows.parquet", lambda path: pd.read_parquet(path).to_dict("list"), id="parquet-pandas"),
    pytest.param("rows.arrow", lambda path: feather.read_table(path).to_pydict(), id="arrow-pyarrow"),
    pytest.param("rows.arrow", lambda path: pl.read_ipc(path.read_bytes()).to_dict(as_series=False), id="arrow-polars"),
    pytest.param("rows.feather", lambda path: pd.read_feather(path).to_dict("list"), id="feather-pandas"),
    pytest.param("ROWS.Feather", lambda path: feather.read_table(path).to_pydict(), id="any-case"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "read"), READERS)
def test_other_programs_read_what_is_written(
    name: str, read: Callable[[Path], dict[str, list[Any]]], trace: Path
) -> None:
    path = trace.with_name(name)
    mixed = "select name as n, dur as n, 0.5 as r, x'00ff' as b, 'a' || char(10) as t from slice union all"
    query(trace, f"{mixed} select 1, {2**63 - 1}, 2, x'', ''", "-o", path)
    assert read(path) == {
        "n": ["\x1b[2Jmm", "1"],
        "n_2": [3000, 2**63 - 1],
        "r": [0.5, 2.0],
        "b": [b"\0\xff", b""],
        "t": ["a\n", ""],
    }
    query(trace, "select name, dur from slice where 0", "-o", path)
    assert read(path) == {"name": [], "dur": []}


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
def test_a_statement_without_columns_is_no_file(name: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, trace, "create view v as select 1", "-o", trace.with_name(name))
    assert "the last statement gives no columns" in told
    assert list(trace.parent.iterdir()) == [trace]


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.txt", "one\n---"), ("r", "one\n---"), ("r.CSV", "one\n1\n"), ("r.json", "[\n"), ("r.markdown", "| one |\n")],
)
def test_a_suffix_chooses_the_format(name: str, start: str, trace: Path) -> None:
    query(trace, "select 1 as one", "-o", trace.with_name(name))
    assert trace.with_name(name).read_text().startswith(start)


def test_a_format_is_stronger_than_a_suffix(trace: Path) -> None:
    query(trace, "select 1 as one", "-o", trace.with_name("rows.data"), "--format", "parquet")
    assert pq.read_table(trace.with_name("rows.data")).to_pydict() == {"one": [1]}


def test_a_suffix_of_no_format_is_refused(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, trace, "select 1", "-o", trace.with_name("rows.xlsx"))
    assert "rows.xlsx: the suffix .xlsx names no format, say --format" in told
    assert not trace.with_name("rows.xlsx").exists()


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_a_missing_library_is_named_before_any_work(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    told = refused(capsys, tmp_path / "no trace", "select 1", "-o", tmp_path / f"rows.{format}")
    assert told == "tracegap: the package pyarrow is missing; pip install 'tracegap[arrow]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["pyarrow.parquet", "pyarrow.feather"])
def test_a_part_of_the_library_may_be_missing(
    module: str, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delattr(module, raising=False)
    path = trace.with_name("rows." + {"pyarrow.parquet": "parquet", "pyarrow.feather": "arrow"}[module])
    assert "the package pyarrow is missing" in refused(capsys, trace, "select 1", "-o", path)
    assert list(trace.parent.iterdir()) == [trace]


@pytest.mark.parametrize(
    ("name", "function"),
    [("rows.parquet", "pyarrow.parquet.write_table"), ("rows.arrow", "pyarrow.feather.write_feather")],
)
def test_a_file_is_written_whole_or_not_at_all(
    name: str, function: str, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: object, file: Any, **__: object) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    path = trace.with_name(name)
    path.write_bytes(b"before")
    monkeypatch.setattr(function, full)
    assert f"{name}: cannot be written: No space left on device" in refused(capsys, trace, "select 1", "-o", path)
    assert path.read_bytes() == b"before"
    assert sorted(trace.parent.iterdir()) == [path, trace]


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv"])
def test_what_is_read_is_never_written_over(format: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = trace.read_bytes()
    told = refused(capsys, trace, "select 1", "--format", format, "-o", trace)
    assert "is a file that is read" in told
    assert trace.read_bytes() == before
    statement = trace.with_name("q.sql")
    statement.write_text("select 1")
    assert "is a file that is read" in refused(capsys, trace, "-f", statement, "--format", format, "-o", statement)
    assert statement.read_text() == "select 1"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("-", "-o -: give the name of a file"),
        ("/nowhere/x.parquet", "there is no folder /nowhere"),
        (".", "is a folder"),
    ],
)
@pytest.mark.parametrize("what", ["{trace}", "--list"])
def test_a_place_that_cannot_be_written_is_refused(
    what: str, output: str, text: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert text in refused(capsys, what.format(trace=trace), "-o", output)


@pytest.mark.parametrize("option", [("--format", "csv"), ("-o", "rows.csv")])
def test_a_conversation_has_no_file(option: tuple[str, str], trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--interactive shows tables" in refused(capsys, trace, "--interactive", *option)


@pytest.mark.parametrize("format", ["csv", "json", "md", "table"])
def test_a_name_cannot_act_on_a_terminal(
    format: str, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    query(trace, "select name || char(155) || 'z' as n, 1 as one from slice", "--format", format)
    text = capsys.readouterr().out
    assert "2Jmm" in text
    assert len(text.splitlines()) == {"csv": 2, "json": 6, "md": 3, "table": 3}[format]
    assert not set(text) & set("\x1b\x9b")


def test_csv_keeps_a_name_as_it_is_where_a_program_reads_it(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query(trace, "select name from slice", "--format", "csv")
    assert capsys.readouterr().out == "name\n\x1b[2Jmm\n"


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_sql_on_stdin_that_is_no_utf8_is_refused(
    errors: str, trace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"select '\xff'"), "utf-8", errors))
    assert re.search("the SQL( on stdin)? is not UTF-8", refused(capsys, trace))

"""What a query answers, and what other libraries make of it."""

import pytest

from tracegap.sql import QueryResult
from tracegap.sql.formats import to_csv, to_json, to_markdown, to_table

RESULT = QueryResult(("name", "dur", "share"), (("mm", 5, 0.5), ("add", None, 0.25)))
EMPTY = QueryResult(("name", "dur"), ())
NONE = QueryResult((), ())


def test_a_column_is_found_by_name() -> None:
    assert RESULT["dur"] == (5, None)
    assert (len(RESULT), next(iter(RESULT))) == (2, ("mm", 5, 0.5))


def test_pandas_gets_columns_and_rows() -> None:
    frame = pytest.importorskip("pandas") and RESULT.to_pandas()
    assert list(frame.columns) == ["name", "dur", "share"]
    assert frame["share"].sum() == 0.75
    assert list(EMPTY.to_pandas().columns) == ["name", "dur"]


def test_polars_gets_columns_and_rows() -> None:
    pytest.importorskip("polars")
    assert RESULT.to_polars()["dur"].to_list() == [5, None]
    assert EMPTY.to_polars().columns == ["name", "dur"]


def test_arrow_gets_columns_and_rows() -> None:
    pytest.importorskip("pyarrow")
    assert RESULT.to_arrow().to_pylist()[1] == {"name": "add", "dur": None, "share": 0.25}
    assert EMPTY.to_arrow().column_names == ["name", "dur"]


def test_no_rows_and_no_columns_are_written_as_that() -> None:
    assert to_table(EMPTY) == "name  dur\n----  ---\n"
    assert to_csv(EMPTY) == "name,dur\n"
    assert (to_json(EMPTY), to_markdown(EMPTY)) == ("[]\n", "| name | dur |\n| --- | --- |\n")
    assert (to_table(NONE), to_csv(NONE), to_markdown(NONE)) == ("", "", "")


def test_columns_of_one_name_stay_apart() -> None:
    assert to_table(QueryResult(("n", "n"), ((1, 2),))) == "n  n\n-  -\n1  2\n"


def test_a_name_cannot_act_on_the_terminal() -> None:
    assert "\x1b" not in to_table(QueryResult(("n\x1b[31m",), (("a\x1b[2J",),)))

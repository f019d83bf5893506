"""What a query answers, and what other libraries make of it."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tracegap.errors import UsageError
from tracegap.sql import QueryResult
from tracegap.sql.result import typed

RESULT = QueryResult(("name", "dur", "share"), (("mm", 5, 0.5), ("add", None, 0.25)))
EMPTY = QueryResult(("name", "dur"), ())
NONE = QueryResult((), ())
LEAST, MOST = -(2**63), 2**63 - 1

# What a column holds, and what it is for others: the kind, and the values.
COLUMNS = [
    pytest.param((1, None), "integer", [1, None], id="integers-and-null"),
    pytest.param((LEAST, MOST), "integer", [LEAST, MOST], id="the-largest-integers"),
    pytest.param((None, MOST), "integer", [None, MOST], id="a-large-integer-after-null"),
    pytest.param((1, 0.5), "real", [1.0, 0.5], id="integers-and-reals"),
    pytest.param((0.5, MOST, None), "real", [0.5, 2.0**63, None], id="an-integer-no-real-holds"),
    pytest.param((float("inf"), float("-inf")), "real", [float("inf"), float("-inf")], id="infinities"),
    pytest.param((1, "a", 0.1, None), "text", ["1", "a", "0.1", None], id="numbers-and-text"),
    pytest.param(("x\r\ny\0", "\x1b[31m", ""), "text", ["x\r\ny\0", "\x1b[31m", ""], id="hostile-text"),
    pytest.param((b"\0\xff", None), "blob", [b"\0\xff", None], id="bytes"),
    pytest.param((b"\0\xff", "a"), "text", ["00ff", "a"], id="bytes-and-text"),
    pytest.param((b"\0\xff", 1), "text", ["00ff", "1"], id="bytes-and-numbers"),
    pytest.param((None, None), "null", [None, None], id="nothing-but-null"),
    pytest.param((), "null", [], id="no-rows"),
]


def column(values: tuple[Any, ...]) -> QueryResult:
    return QueryResult(("v",), tuple((value,) for value in values))


def test_a_column_is_found_by_name() -> None:
    assert RESULT["dur"] == (5, None)
    assert (len(RESULT), next(iter(RESULT))) == (2, ("mm", 5, 0.5))


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"^the result has no column 'nosuch'; it has name, dur, share$"):
        RESULT["nosuch"]
    with pytest.raises(UsageError, match=r"it has none$"):
        NONE["nosuch"]


@pytest.mark.parametrize(("values", "kind", "seen"), COLUMNS)
def test_a_column_has_one_type_for_arrow(values: tuple[Any, ...], kind: str, seen: list[Any]) -> None:
    types = {
        "null": pa.null(),
        "integer": pa.int64(),
        "real": pa.float64(),
        "text": pa.string(),
        "blob": pa.binary(),
    }
    table = column(values).to_arrow()
    assert table.schema == pa.schema({"v": types[kind]})
    assert table["v"].to_pylist() == seen


@pytest.mark.parametrize(("values", "kind", "seen"), COLUMNS)
def test_a_column_has_one_type_for_polars(values: tuple[Any, ...], kind: str, seen: list[Any]) -> None:
    types = {"null": pl.Null, "integer": pl.Int64, "real": pl.Float64, "text": pl.String, "blob": pl.Binary}
    frame = column(values).to_polars()
    assert frame.schema == {"v": types[kind]}
    assert frame["v"].to_list() == seen


@pytest.mark.parametrize(("values", "kind", "seen"), COLUMNS)
def test_a_column_has_one_type_for_pandas(values: tuple[Any, ...], kind: str, seen: list[Any]) -> None:
    series = column(values).to_pandas()["v"]
    types = {"null": np.dtype(object), "real": np.dtype(float), "blob": np.dtype(object)}
    types["integer"] = pd.Int64Dtype() if None in values else np.dtype(np.int64)
    types["text"] = pd.Series(["a", None]).dtype  # str, or object before pandas 3
    assert series.dtype == types[kind]
    assert [None if pd.isna(value) else value for value in series] == seen


def test_columns_and_rows_stay_in_their_order() -> None:
    rows = [{"name": "mm", "dur": 5, "share": 0.5}, {"name": "add", "dur": None, "share": 0.25}]
    assert RESULT.to_arrow().to_pylist() == RESULT.to_polars().to_dicts() == rows
    frame = RESULT.to_pandas()
    assert list(frame.columns) == ["name", "dur", "share"]
    assert frame["share"].tolist() == [0.5, 0.25]


def test_no_rows_keep_their_columns_and_take_any_question() -> None:
    assert EMPTY.to_arrow().column_names == EMPTY.to_polars().columns == ["name", "dur"]
    frame = EMPTY.to_pandas()
    assert list(frame.columns) == ["name", "dur"]
    assert frame[frame["dur"] > 5]["dur"].sum() == 0
    some = pl.DataFrame({"name": ["mm"], "dur": [7]})
    assert pl.concat([EMPTY.to_polars(), some], how="vertical_relaxed").filter(pl.col("dur") > 5).equals(some)


def test_a_statement_without_rows_is_a_frame_without_columns() -> None:
    assert NONE.to_arrow().shape == NONE.to_polars().shape == NONE.to_pandas().shape == (0, 0)


def test_columns_of_one_name_stay_apart() -> None:
    twice = QueryResult(("n", "n", "n_2"), ((1, "a", None),))
    assert [name for name, *_ in typed(twice)] == ["n", "n_3", "n_2"]
    assert twice.to_arrow().to_pylist() == twice.to_polars().to_dicts() == [{"n": 1, "n_3": "a", "n_2": None}]
    assert twice.to_pandas()["n_3"].tolist() == ["a"]


@pytest.mark.parametrize(
    ("method", "package", "install"),
    [
        ("to_pandas", "pandas", "pandas"),
        ("to_polars", "polars", "polars"),
        ("to_arrow", "pyarrow", "'tracegap[arrow]'"),
    ],
)
def test_a_missing_library_is_named(method: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError) as caught:
        getattr(RESULT, method)()
    assert str(caught.value) == f"the package {package} is missing; pip install {install}"

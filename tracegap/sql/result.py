"""What a query answers: named columns and rows, and the same for other libraries."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, NamedTuple

from tracegap.errors import UsageError


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query, in its order.

    ``result["name"]`` is a column; `to_pandas`, `to_polars` and `to_arrow` give tables of these libraries, where they are installed.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns; empty for statements that give no rows.
    rows : tuple of tuple
        Values: int, float, str, bytes or None.

    Examples
    --------
    >>> result = QueryResult(("name", "dur"), (("mm", 5), ("add", 1)))
    >>> result["dur"], len(result)
    ((5, 1), 2)
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> tuple[Any, ...]:
        """Return the values of a column, the first of that name.

        Raises
        ------
        UsageError
            When there is none.
        """
        if column not in self.columns:
            raise UsageError(f"the result has no column {column!r}; it has {', '.join(self.columns) or 'none'}")
        place = self.columns.index(column)
        return tuple(row[place] for row in self.rows)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`; integers beside NULL are its Int64, which holds them exactly.

        Raises
        ------
        UsageError
            When pandas is not installed.
        """
        with needed("pandas"):
            import pandas as pd
        types = {"null": "object", "integer": "int64", "real": "float64", "blob": "object"}  # text as pandas has it
        columns = {}
        for name, kind, values in typed(self):
            exact = kind == "integer" and None in values
            columns[name] = pd.Series(values, dtype="Int64" if exact else types.get(kind))
        return pd.DataFrame(columns)

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`.

        Raises
        ------
        UsageError
            When polars is not installed.
        """
        with needed("polars"):
            import polars as pl
        types = {"null": pl.Null, "integer": pl.Int64, "real": pl.Float64, "text": pl.String, "blob": pl.Binary}
        return pl.DataFrame([pl.Series(name, values, types[kind]) for name, kind, values in typed(self)])

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`.

        Raises
        ------
        UsageError
            When pyarrow is not installed.
        """
        with needed("pyarrow", extra="arrow"):
            import pyarrow as pa
        types = {
            "null": pa.null(),
            "integer": pa.int64(),
            "real": pa.float64(),
            "text": pa.string(),
            "blob": pa.binary(),
        }
        return pa.table({name: pa.array(values, types[kind]) for name, kind, values in typed(self)})


class TypedColumn(NamedTuple):
    """A column whose values are all of one type, or None; its name is its own."""

    name: str
    kind: Literal["null", "integer", "real", "text", "blob"]
    values: Sequence[Any]


def typed(result: QueryResult) -> list[TypedColumn]:
    """Give every column a name of its own and one type, which SQLite asks of none.

    Integers beside reals become reals; anything beside text, and numbers beside bytes, become text, bytes as hexadecimal.
    Where all is NULL, or there are no rows, no type is known.

    Examples
    --------
    >>> for column in typed(QueryResult(("n", "n", "m"), ((1, 1, 2), (0.5, "a", None)))):
    ...     print(*column)
    n real [1.0, 0.5]
    n_2 text ['1', 'a']
    m integer (2, None)
    """
    return [_typed(name, values) for name, values in zip(distinct(result.columns), by_column(result), strict=True)]


def by_column(result: QueryResult) -> list[tuple[Any, ...]]:
    """Return the values of every column, empty where there are no rows."""
    return list(zip(*result.rows, strict=True)) if result.rows else [()] * len(result.columns)


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of which no two are the same: the second and later of one get a number.

    Examples
    --------
    >>> distinct(("ts", "name", "name", "name_2", "name"))
    ('ts', 'name', 'name_3', 'name_2', 'name_4')
    """
    taken, seen, found = set(names), set(), []
    numbers = {name: count(2) for name in names}
    for name in names:
        own = name
        while own in taken and name in seen:
            own = f"{name}_{next(numbers[name])}"
        seen.add(name)
        taken.add(own)
        found.append(own)
    return tuple(found)


def plain(value: Any) -> Any:
    """Return a value as text formats hold it: bytes as hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value


@contextmanager
def needed(package: str, *, extra: str | None = None) -> Iterator[None]:
    """Say, where an import fails, what to install.

    Raises
    ------
    UsageError
        When it fails.
    """
    try:
        yield
    except ImportError:
        install = package if extra is None else f"'tracegap[{extra}]'"
        raise UsageError(f"the package {package} is missing; pip install {install}") from None


def _typed(name: str, values: tuple[Any, ...]) -> TypedColumn:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return TypedColumn(name, "null", values)
    if kinds == {int}:
        return TypedColumn(name, "integer", values)
    if kinds == {bytes}:
        return TypedColumn(name, "blob", values)
    if kinds <= {int, float}:
        return TypedColumn(name, "real", [None if value is None else float(value) for value in values])
    return TypedColumn(name, "text", [None if value is None else str(plain(value)) for value in values])

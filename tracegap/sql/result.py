"""What a query answers: named columns and rows, and the same for other libraries."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query, in its order.

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
        place = self.columns.index(column)
        return tuple(row[place] for row in self.rows)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`."""
        import pandas as pd

        return pd.DataFrame.from_records(list(self.rows), columns=list(self.columns))

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame`."""
        import polars as pl

        return pl.DataFrame(list(self.rows), schema=list(self.columns), orient="row", infer_schema_length=None)

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table`."""
        import pyarrow as pa

        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return pa.table([pa.array(column) for column in columns], names=list(self.columns))

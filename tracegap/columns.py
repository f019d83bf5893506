"""The base of every column table: frozen numpy columns of one length, checked once.

A table is a frozen dataclass whose array fields are annotated with one of the aliases below. Row number is
identity; a missing value is -1, never NaN. Fields with any other annotation are plain values and pass unchecked.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import chain
from typing import Annotated, Any, Self, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

Bool = Annotated[NDArray[np.bool_], np.dtype(np.bool_)]
UInt8 = Annotated[NDArray[np.uint8], np.dtype(np.uint8)]
Int16 = Annotated[NDArray[np.int16], np.dtype(np.int16)]
Int32 = Annotated[NDArray[np.int32], np.dtype(np.int32)]
Int64 = Annotated[NDArray[np.int64], np.dtype(np.int64)]


@dataclass(frozen=True, eq=False)
class Columns:
    """A table of equally long, read-only columns.

    Raises
    ------
    TypeError
        When a column has another dtype, dimension or length than its table says.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Spans(Columns):
    ...     start: Int64
    ...     end: Int64
    >>> spans = Spans(start=np.array([0, 5]), end=np.array([3, 9]))
    >>> len(spans), spans.take(np.array([1])).end.tolist()
    (2, [9])
    >>> Spans(start=np.array([0, 5]), end=np.array([3.0]))
    Traceback (most recent call last):
    TypeError: Spans.end: want int64[2], got float64[1]
    """

    @classmethod
    @cache
    def _schema(cls) -> tuple[tuple[str, np.dtype[Any]], ...]:
        """Return the columns' names and dtypes."""
        hints = get_type_hints(cls, include_extras=True)
        return tuple(
            (field.name, dtype)
            for field in fields(cls)
            for dtype in get_args(hints[field.name])[1:2]
            if isinstance(dtype, np.dtype)
        )

    def __post_init__(self) -> None:
        length: int | None = None
        for name, dtype in self._schema():
            array = getattr(self, name)
            if length is None and isinstance(array, np.ndarray):
                length = len(array)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != (length,):
                got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
                raise TypeError(f"{type(self).__name__}.{name}: want {dtype}[{length}], got {got}")
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(getattr(self, self._schema()[0][0]))

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the table of the given rows (integer positions or a boolean mask), in that order."""
        columns = dict(self._schema())
        values = {
            field.name: getattr(self, field.name)[rows] if field.name in columns else getattr(self, field.name)
            for field in fields(self)
        }
        return type(self)(**values)


def row_by_row(*columns: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of equally long columns as Python values, for loops in which order matters.

    Only a part of the columns is turned into Python objects at a time: in full they would take five times their memory.

    Examples
    --------
    >>> list(row_by_row(np.array([7, 8]), np.array([True, False])))
    [(7, True), (8, False)]
    """
    parts = range(0, len(columns[0]), _PART)
    return chain.from_iterable(
        zip(*(column[first : first + _PART].tolist() for column in columns), strict=True) for first in parts
    )


_PART = 1 << 14

"""Tables that number what they are asked for, in order of appearance: names, ids, threads, JSON texts.

Each is a dict whose lookup adds what is new, so that a column is made by mapping over keys without a Python loop.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

NULL = b"null"

_K = TypeVar("_K", bound=Hashable)


class Numbers(dict[_K | None, int], Generic[_K]):
    """Numbers for keys in order of appearance; `None` has −1."""

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, key: _K) -> int:
        self[key] = number = len(self) - 1
        return number

    def in_order(self) -> list[_K]:
        """Return the keys, each at the place of its number."""
        return [key for key in self if key is not None]


class Texts(dict[bytes, int]):
    """JSON text of a value to the number of its string; other values keep their text."""

    def __init__(self, names: Numbers[str]) -> None:
        super().__init__({NULL: -1})
        self._names = names

    def __missing__(self, raw: bytes) -> int:
        text = msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
        self[raw] = number = self._names[text]
        return number


class Phases(dict[str | None, int]):
    """The code of a phase: its first letter, 0 where there is none."""

    def __missing__(self, phase: str | None) -> int:
        self[phase] = code = ord(phase[0]) if phase and ord(phase[0]) < 256 else 0
        return code


def numbered(numbers: dict[Any, int], keys: Sequence[Any], dtype: Any) -> NDArray[Any]:
    """Return the column of the keys' numbers.

    Examples
    --------
    >>> names: Numbers[str] = Numbers()
    >>> numbered(names, ["load", None, "train", "load"], np.int32).tolist(), names.in_order()
    ([0, -1, 1, 0], ['load', 'train'])
    """
    return np.fromiter(map(numbers.__getitem__, keys), dtype, len(keys))

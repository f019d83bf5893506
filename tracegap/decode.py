"""The text of a trace to columns of events.

In: a `Source` and the arguments that the dialect wants. Out: one `Events` table, or the events one by one as dicts
(`iterate`), with the same numbering. The seam is `tracegap.blocks`: bytes of a chunk in, a block of columns out.
Not looked at here: what events mean, and which B belongs to which E (`tracegap.events.pair`).
"""

import gc
from collections.abc import Container, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.blocks import RARE, Block, BlockParser
from tracegap.chunks import CHUNK_BYTES, Walk
from tracegap.dialects import Head
from tracegap.events import ArgType, Argument, Events
from tracegap.plain import decoded
from tracegap.problems import Problem, merge, problem
from tracegap.source import Source

HEAD_EVENTS = 1000
"""What of a file the dialects are shown."""


def read_head(source: Source) -> Head:
    """Read the top of the file, for the dialects to look at.

    Raises
    ------
    SourceError, FormatError
        The bytes cannot be had, or are no trace.
    """
    walk = Walk(source, _dicts)
    with closing(iter(walk)) as chunks:
        events = tuple(islice(chain.from_iterable(chunks), HEAD_EVENTS))
    return Head(header=dict(walk.header), events=events, bare=walk.bare)


def iterate(source: Source, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[dict[str, Any]]:
    """Yield every event whole, in file order: event number i is row i of what `decode` returns.

    Raises
    ------
    SourceError, FormatError
        While iterating: the bytes cannot be had, or are no trace.
    """
    for chunk in Walk(source, _dicts, chunk_bytes=chunk_bytes):
        yield from chunk


def decode(source: Source, args: Mapping[str, ArgType], *, chunk_bytes: int = CHUNK_BYTES) -> Events:
    """Read all events of a file into columns.

    Parameters
    ----------
    source : Source
    args : mapping of str to ArgType
        The arguments to keep, by their name in the file.
    chunk_bytes : int
        How much text is parsed in one go.

    Raises
    ------
    SourceError
        The bytes cannot be had, or are over the size guard.
    FormatError
        They are no trace, or no event is in it; the message says what the file is.
    """
    parser = BlockParser(args)
    walk = Walk(source, parser.parse, chunk_bytes=chunk_bytes)
    gathered = _Gathered()
    with _collector_paused():
        for block in walk:
            gathered.add(block)
    threads = parser.threads()
    return Events(
        **gathered.columns(),
        strings=parser.strings(),
        ids=parser.ids(),
        threads=threads,
        args=gathered.arguments(args),
        fields=gathered.arguments(RARE),
        metadata={(name, threads[thread]): value for name, thread, value in gathered.metadata()},
        header=walk.header,
        size=walk.size,
        problems=merge([*walk.problems, *gathered.problems]),
        truncated=walk.truncated,
        origin=parser.origin,
    )


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cycle collector from looking at millions of short-lived tuples, which is half the time of making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _dicts(text: bytes) -> list[dict[str, Any]]:
    return [event for event in decoded(text) if isinstance(event, dict)]


_COLUMNS: Mapping[str, type[np.generic]] = {
    "phase": np.uint8, "name": np.int32, "category": np.int32, "thread": np.int32, "start": np.int64,
    "duration": np.int64, "id": np.int32,
}  # fmt: skip


class _Growing:
    """An array that grows in place, so that joining blocks never holds a column twice."""

    def __init__(self, dtype: np.dtype[Any] | type[np.generic]) -> None:
        self._array = np.empty(0, dtype)
        self._length = 0

    def append(self, part: NDArray[Any]) -> None:
        length = self._length + len(part)
        if length > len(self._array):
            # an eighth more: numpy writes zeros to what it adds, and that is memory taken
            self._array.resize(length + length // 8, refcheck=False)
        self._array[self._length : length] = part
        self._length = length

    def whole(self) -> NDArray[Any]:
        """Return the array; nothing can be added any more."""
        self._array.resize(self._length, refcheck=False)
        return self._array


class _Gathered:
    """The columns of all blocks so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._columns = {name: _Growing(dtype) for name, dtype in _COLUMNS.items()}
        self._sparse: dict[str, tuple[_Growing, _Growing]] = {}
        self._metadata: list[tuple[int, int, str, int, object]] = []
        self._rows = 0

    def add(self, block: Block) -> None:
        for name, column in self._columns.items():
            column.append(getattr(block, name))
        first = np.int32(self._rows)
        for name, argument in (*block.args.items(), *block.fields.items()):
            if name not in self._sparse:
                self._sparse[name] = _Growing(np.int32), _Growing(argument.values.dtype)
            rows, values = self._sparse[name]
            rows.append(argument.rows + first)
            values.append(argument.values)
        for row, name, thread, value in block.metadata:
            self._metadata.append((int(block.start[row]), self._rows + row, name, thread, value))
        for code, count, row in block.faults:
            self.problems.append(problem(code, count, f"event {self._rows + row:,}"))
        self._rows += len(block)

    def columns(self) -> dict[str, NDArray[Any]]:
        return {name: column.whole() for name, column in self._columns.items()}

    def arguments(self, names: Container[str]) -> dict[str, Argument]:
        """Return those of the arguments that occur. Ones that occur together share their rows: shapes, strides and types do."""
        found: dict[str, Argument] = {}
        shared: dict[tuple[int, int, int], list[NDArray[np.int32]]] = {}
        for name, (growing, values) in self._sparse.items():
            if name in names:
                rows = growing.whole()
                alike = shared.setdefault((len(rows), int(rows[0]), int(rows[-1])), [])
                same = next((one for one in alike if np.array_equal(one, rows)), None)
                if same is None:
                    alike.append(rows)
                else:
                    rows = same
                found[name] = Argument(rows, values.whole())
        return found

    def metadata(self) -> Iterator[tuple[str, int, object]]:
        """Yield name, thread and value, in order of time."""
        for _, _, name, thread, value in sorted(self._metadata, key=lambda entry: entry[:2]):
            yield name, thread, value

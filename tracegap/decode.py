"""The text of a trace to columns of events.

In: a `Source` and the arguments that the dialect wants. Out: one `Events` table, or the events one by one as dicts
(`iterate`), with the same numbering. The seam is `tracegap.blocks`: bytes of a chunk in, a block of columns out.
Not looked at here: what events mean, and which B belongs to which E (`tracegap.events.pair`).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain, islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracegap.blocks import RARE, Block, BlockParser
from tracegap.chunks import CHUNK_BYTES, Walk
from tracegap.dialects import Head
from tracegap.errors import LossError
from tracegap.events import ArgType, Argument, Events
from tracegap.problems import Problem, Severity, merge, problem
from tracegap.source import Source

HEAD_EVENTS = 1000

REPAIRS = frozenset(
    (
        "repeated-events", "stray-comma", "missing-comma", "bare-quote", "doubled-quotes", "missing-quote", "bare-value",
        "not-a-number", "control-byte", "invalid-escape", "bad-utf8", "lone-surrogate", "odd-arguments", "long-integer",
    )
)  # fmt: skip
"""Problems that cost nothing that we know of, and that ``strict`` forbids all the same."""

_objects = msgspec.json.Decoder(list[Any])


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


def decode(
    source: Source, args: Mapping[str, ArgType], *, strict: bool = False, chunk_bytes: int = CHUNK_BYTES
) -> Events:
    """Read all events of a file into columns.

    Parameters
    ----------
    source : Source
    args : mapping of str to ArgType
        The arguments to keep, by their name in the file.
    strict : bool
        Make any loss or repair an error.
    chunk_bytes : int
        How much text is parsed in one go.

    Raises
    ------
    SourceError
        The bytes cannot be had, or are over the size guard.
    FormatError
        They are no trace, or no event is in it; the message says what the file is.
    LossError
        With `strict`, when something was repaired, skipped or cut off.
    """
    parser = BlockParser(args)
    walk = Walk(source, parser.parse, chunk_bytes=chunk_bytes)
    gathered = _Gathered()
    for block in walk:
        gathered.add(block)
    problems = merge([*walk.problems, *gathered.problems])
    if strict:
        _refuse(source, problems)
    threads = parser.threads()
    return Events(
        **{name: gathered.column(name) for name in _COLUMNS},
        strings=parser.strings(),
        ids=parser.ids(),
        threads=threads,
        args=gathered.arguments(args),
        fields=gathered.arguments(RARE),
        metadata={(name, threads[thread]): value for name, thread, value in gathered.metadata()},
        header=walk.header,
        size=walk.size,
        problems=problems,
        truncated=walk.truncated,
        origin=parser.origin,
    )


def _dicts(text: bytes) -> list[dict[str, Any]]:
    return [event for event in _objects.decode(text) if isinstance(event, dict)]


def _refuse(source: Source, problems: Iterable[Problem]) -> None:
    worst = [one for one in problems if one.severity is Severity.LOSS or one.code in REPAIRS]
    if worst:
        first = worst[0]
        where = f" (first at {first.example})" if first.example else ""
        raise LossError(
            f"{source.name}: {first.code} × {first.count}{where}, with {len(worst)} kinds of damage in all; "
            "read it without --strict to see what can be salvaged"
        )


_COLUMNS = ("phase", "name", "category", "thread", "start", "duration", "id")


class _Gathered:
    """The columns of all blocks so far, to be joined one by one, each part being let go as its column is made."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._columns: dict[str, list[NDArray[Any]]] = {name: [] for name in _COLUMNS}
        self._sparse: dict[str, list[Argument]] = {}
        self._metadata: list[tuple[int, int, str, int, object]] = []
        self._rows = 0

    def add(self, block: Block) -> None:
        for name, parts in self._columns.items():
            parts.append(getattr(block, name))
        first = np.int32(self._rows)
        for name, argument in (*block.args.items(), *block.fields.items()):
            self._sparse.setdefault(name, []).append(Argument(argument.rows + first, argument.values))
        for row, name, thread, value in block.metadata:
            self._metadata.append((int(block.start[row]), self._rows + row, name, thread, value))
        for code, count, row in block.faults:
            self.problems.append(problem(code, count, f"event {self._rows + row:,}"))
        self._rows += len(block)

    def column(self, name: str) -> NDArray[Any]:
        """Join a column; it can be had once."""
        return np.concatenate(self._columns.pop(name))

    def arguments(self, names: Iterable[str]) -> dict[str, Argument]:
        """Join those of the arguments that occur; each can be had once."""
        joined = {}
        for name in names:
            parts = self._sparse.pop(name, None)
            if parts is not None:
                joined[name] = Argument(
                    np.concatenate([part.rows for part in parts]), np.concatenate([part.values for part in parts])
                )
        return joined

    def metadata(self) -> Iterator[tuple[str, int, object]]:
        """Yield name, thread and value, in order of time."""
        for _, _, name, thread, value in sorted(self._metadata, key=lambda entry: entry[:2]):
            yield name, thread, value

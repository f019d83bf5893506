"""The text of a trace to columns of events.

In: a `Source` and the arguments that the dialect wants. Out: one `Events` table, or the events one by one as dicts
(`iterate`), with the same numbering. The seam is `tracegap.blocks`: bytes of a chunk in, a block of columns out.
Not looked at here: what events mean, and which B belongs to which E (`tracegap.events.pair`).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracegap.blocks import Block, BlockParser
from tracegap.chunks import CHUNK_BYTES, Walk
from tracegap.dialects import Head
from tracegap.errors import LossError
from tracegap.events import Argument, ArgType, Events, Thread
from tracegap.problems import Problem, Severity, merge
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
    events = tuple(islice(_flat(walk), HEAD_EVENTS))
    return Head(header=dict(walk.header), events=events, bare=walk.bare)


def iterate(source: Source, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[dict[str, Any]]:
    """Yield every event whole, in file order: event number i is row i of what `decode` returns.

    Raises
    ------
    SourceError, FormatError
        While iterating: the bytes cannot be had, or are no trace.
    """
    return _flat(Walk(source, _dicts, chunk_bytes=chunk_bytes))


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
    blocks = list(walk)
    problems = merge([*walk.problems, *parser.problems(blocks)])
    if strict:
        _refuse(source, problems)
    return _join(parser, blocks, walk, problems)


def _dicts(text: bytes) -> list[Any]:
    return _objects.decode(text)


def _flat(walk: Walk[list[Any]]) -> Iterator[dict[str, Any]]:
    for chunk in walk:
        for event in chunk:
            if isinstance(event, dict):
                yield event


def _refuse(source: Source, problems: Iterable[Problem]) -> None:
    worst = [one for one in problems if one.severity is Severity.LOSS or one.code in REPAIRS]
    if worst:
        first = worst[0]
        where = f" (first at {first.example})" if first.example else ""
        raise LossError(
            f"{source.name}: {first.code} × {first.count}{where}, with {len(worst)} kinds of damage in all; "
            "read it without --strict to see what can be salvaged"
        )


def _join(parser: BlockParser, blocks: list[Block], walk: Walk[Block], problems: tuple[Problem, ...]) -> Events:
    """Put the blocks' columns one behind the other, letting each block's part go as it is used."""
    first = np.cumsum([0, *(len(block.phase) for block in blocks)]).tolist()
    start = _column([block.start for block in blocks])
    metadata = _last_values(parser, blocks, first, start)
    sparse = {name: [(row, block.args.get(name)) for row, block in zip(first, blocks, strict=False)] for name in parser.args}
    rare = {name: [(row, block.fields.get(name)) for row, block in zip(first, blocks, strict=False)] for name in parser.rare}
    return Events(
        phase=_column([block.phase for block in blocks]),
        name=_column([block.name for block in blocks]),
        category=_column([block.category for block in blocks]),
        thread=_column([block.thread for block in blocks]),
        start=start,
        duration=_column([block.duration for block in blocks]),
        id=_column([block.id for block in blocks]),
        strings=tuple(parser.strings),
        ids=tuple(parser.ids),
        threads=tuple(parser.threads()),
        args=_arguments(sparse),
        fields=_arguments(rare),
        metadata=metadata,
        header=walk.header,
        size=walk.size,
        problems=problems,
        truncated=walk.truncated,
    )


def _column(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts)


def _arguments(parts: Mapping[str, list[tuple[int, Argument | None]]]) -> dict[str, Argument]:
    joined = {}
    for name, pieces in parts.items():
        there = [(row, piece) for row, piece in pieces if piece is not None]
        if there:
            joined[name] = Argument(
                np.concatenate([piece.rows + np.int32(row) for row, piece in there]),
                np.concatenate([piece.values for _, piece in there]),
            )
    return joined


def _last_values(
    parser: BlockParser, blocks: list[Block], first: list[int], start: NDArray[np.int64]
) -> dict[tuple[str, Thread], object]:
    threads = list(parser.threads())
    found = [
        (int(start[base + row]), base + row, (name, threads[thread]), value)
        for base, block in zip(first, blocks, strict=False)
        for row, name, thread, value in block.metadata
    ]
    return {key: value for _, _, key, value in sorted(found, key=lambda entry: entry[:2])}

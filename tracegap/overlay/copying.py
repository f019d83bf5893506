"""The text of a trace copied event by event: what was sound stays as it was, what was mended is valid JSON.

In: a `Source`, events to add, and a constant to take from all times. Out: one trace, written piece by piece. Spelling and
order of an event's members are the file's; white space between events is not kept. Memory is bounded by a chunk and the header.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import chain
from typing import BinaryIO

import msgspec

from tracegap.chunks import Walk
from tracegap.source import Source

MAX_HEADER_VALUE = 1 << 28
"""Bytes of a value of the header that can be carried over (``stackFrames`` may be long)."""

_TIME = re.compile(rb'("ts"\s*:\s*"?)(\d+)((?:\.\d+)?)(?=["\s,}])')
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_SPACE = b" \t\r\n"


class _Stamped(msgspec.Struct, gc=False):
    """An event of which only the time is read."""

    ts: msgspec.Raw = msgspec.Raw(b"")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Elements with commas between them, and how many."""

    text: bytes
    count: int

    def __len__(self) -> int:
        return self.count


_stamped = msgspec.json.Decoder(list[_Stamped])
_raws = msgspec.json.Decoder(list[msgspec.Raw])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def copy(source: Source, added: Iterable[bytes], file: BinaryIO, *, shift_us: int, note: bytes) -> tuple[str, ...]:
    """Write the trace of `source` with events added at its end.

    Parameters
    ----------
    source : Source
    added : iterable of bytes
        Pieces of JSON: events with commas between them, and before each further piece.
    file : BinaryIO
    shift_us : int
        Microseconds to take from the ``ts`` of every event, 0 or more; one that is less (of metadata, whose time means
        nothing) stays.
    note : bytes
        JSON, written as the header's ``tracegap`` where the file has a header.

    Returns
    -------
    tuple of str
        Keys of the header whose values were too long to be carried over.

    Raises
    ------
    SourceError, FormatError
        The bytes cannot be had, or are no trace.
    """
    walk = Walk(source, partial(_chunk, shift_us=shift_us), header_bytes=MAX_HEADER_VALUE)
    with closing(iter(walk)) as chunks:
        first = next(chunks)
        before = set(walk.raw)
        if walk.bare:
            file.write(b"[\n")
        else:
            file.write(b"{\n%b" % b"".join(b"%b,\n" % member for member in _header(walk, before)))
            file.write(b'"tracegap": %b,\n"traceEvents": [\n' % note)
        comma = b""
        for chunk in chain((first,), chunks):
            if chunk.count:
                file.write(comma)
                file.write(chunk.text)
                comma = b",\n"
        for piece in added:
            file.write(comma)
            file.write(piece)
            comma = b",\n"
    file.write(b"\n]")
    if not walk.bare:
        file.write(b"".join(b",\n%b" % member for member in _header(walk, set(walk.raw) - before)))
        file.write(b"\n}")
    file.write(b"\n")
    return tuple(key for key, value in walk.raw.items() if not value)


def _header(walk: Walk[_Chunk], keys: set[str]) -> Iterator[bytes]:
    for key, value in walk.raw.items():
        if key in keys and value and key != "tracegap":
            yield b'"%b": %b' % (key.encode(), value)


def _chunk(text: bytes, *, shift_us: int) -> _Chunk:
    """Take ``[element,…]``; elements that are no objects are left out, for nobody reads a trace that has them."""
    try:
        events = _stamped.decode(text)
    except msgspec.ValidationError:
        objects = [raw for raw in map(bytes, _raws.decode(text)) if raw.lstrip(_SPACE).startswith(b"{")]
        text = b"[%b]" % b",".join(objects)
        events = _stamped.decode(text)
    if shift_us:
        text = _shifted(text, [bytes(event.ts) for event in events], shift_us)
    return _Chunk(text[1:-1].strip(_SPACE), len(events))


def _shifted(text: bytes, times: list[bytes], shift_us: int) -> bytes:
    """Take `shift_us` from the time of each event; `times` are the texts of those, as a parser sees them.

    The times are found by their key in one pass. If what was found is not what the parser saw (a ``ts`` among arguments,
    an exponent, a key twice), events are taken apart one by one.
    """
    parts = _TIME.split(text)
    found = [whole + rest for whole, rest in zip(parts[2::4], parts[3::4], strict=True)]
    if found != [time.strip(b'"') for time in times if time]:
        return b"[%b]" % b",".join(_taken_apart(bytes(raw), shift_us) for raw in _raws.decode(text))
    parts[2::4] = [
        b"%d" % (number - shift_us) if number >= shift_us else digits
        for digits, number in zip(parts[2::4], map(int, parts[2::4]), strict=True)
    ]
    return b"".join(parts)


def _taken_apart(event: bytes, shift_us: int) -> bytes:
    members = _members.decode(event)
    time = bytes(members.get("ts", b"")).strip(b'"')
    if not _NUMBER.match(time) or Decimal(time.decode()) < shift_us:
        return event
    moved = f"{Decimal(time.decode()) - shift_us:f}".encode()
    quote = b'"' if bytes(members["ts"]).startswith(b'"') else b""
    members["ts"] = msgspec.Raw(quote + moved + quote)
    return msgspec.json.encode(members)

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

_TIME = re.compile(rb'("ts"\s*:\s*"?)(\d+)(?=(?:\.\d+)?["\s,}])')
_ESCAPED = (rb"\u0074", rb"\u0073")
"""The letters of ``ts`` as nobody writes them."""
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_SPACE = b" \t\r\n"


_NONE = msgspec.Raw(b"")


class _Stamped(msgspec.Struct, gc=False):
    """An event of which only the times are read."""

    ts: msgspec.Raw = _NONE
    dur: msgspec.Raw = _NONE


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
        Microseconds to take from the ``ts`` of every event; one that would be less than 0 (of metadata, whose time means
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
    """Take ``[element,…]``, without what keeps Perfetto from reading all of it: elements that are no objects, times that are null."""
    try:
        events = _stamped.decode(text)
    except msgspec.ValidationError:
        objects = [raw for raw in map(bytes, _raws.decode(text)) if raw.lstrip(_SPACE).startswith(b"{")]
        text = b"[%b]" % b",".join(objects)
        events = _stamped.decode(text)
    null = b"null" in text and any(b"null" in (bytes(event.ts), bytes(event.dur)) for event in events)
    if null or shift_us:
        moved = None if null else _moved(text, sum(event.ts is not _NONE for event in events), shift_us)
        text = moved or b"[%b]" % b",".join(_taken_apart(bytes(raw), shift_us) for raw in _raws.decode(text))
    return _Chunk(text[1:-1].strip(_SPACE), len(events))


def _moved(text: bytes, timed: int, shift_us: int) -> bytes | None:
    """Take `shift_us` from the time of each event in one pass; None where the text does not prove which times are meant.

    Every event with a time has the key ``"ts"`` in its text. If there are no more of these than the `timed` events, and a
    plain number stands behind each, they are the events' own: none is among arguments, and none is there twice.
    """
    parts = _TIME.split(text)
    if not len(parts) // 3 == timed == text.count(b'"ts"') or any(escaped in text for escaped in _ESCAPED):
        return None
    parts[2::3] = [
        b"%d" % (number - shift_us) if number >= shift_us else digits
        for digits, number in zip(parts[2::3], map(int, parts[2::3]), strict=True)
    ]
    return b"".join(parts)


def _taken_apart(event: bytes, shift_us: int) -> bytes:
    members = _members.decode(event)
    for key in ("ts", "dur"):
        if bytes(members.get(key, b"")) == b"null":
            del members[key]
    time = bytes(members.get("ts", b"")).strip(b'"')
    if _NUMBER.match(time) and Decimal(time.decode()) >= shift_us:
        quote = b'"' if bytes(members["ts"]).startswith(b'"') else b""
        members["ts"] = msgspec.Raw(b"%b%b%b" % (quote, f"{Decimal(time.decode()) - shift_us:f}".encode(), quote))
    return msgspec.json.encode(members)

"""The walk over a trace's text: header keys, the event array in chunks, and what stands behind.

In: a `Source` and a function that parses ``[element,…]``. Out: what that function returned, chunk after chunk, in file
order. The object form may have its keys in any order; where its structure is damaged, the events are searched for.
"""

import re
from collections.abc import Callable, Generator, Iterator, Sized
from typing import Any, Generic, TypeVar

from tracegap.brackets import SPACE, TOKEN, end_of
from tracegap.elements import MAX_ELEMENT, NOT_JSON, Elements
from tracegap.errors import FormatError
from tracegap.foreign import describe
from tracegap.passage import NEAR, Passage
from tracegap.plain import decoded
from tracegap.problems import Problem, merge, problem
from tracegap.salvage import mend
from tracegap.source import Source

CHUNK_BYTES = 1 << 20
MAX_HEADER_VALUE = 1 << 20
"""Longer values of the header are left out."""

_KEY = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')

T = TypeVar("T", bound=Sized)


class Walk(Generic[T]):
    """One pass over the text; iterate it once.

    Parameters
    ----------
    source : Source
    parse : callable
        ``[element,…]`` as bytes to as many values as there are events; raises `tracegap.elements.NOT_JSON` if it is none.
    chunk_bytes : int
        How much is parsed in one go.
    header_bytes : int
        How long a value of the header may be.

    Attributes
    ----------
    header : dict
        Top-level keys beside ``traceEvents``, as far as the walk has come; longer values are left out.
    raw : dict
        The same as JSON text, keys as the file spells them; empty for a value that was left out.
    bare : bool
        Whether the file is a bare array, or one event a line.
    truncated : bool
        Whether the text ends before the JSON does.
    size : int
        Bytes of text, once the walk is over.
    """

    def __init__(
        self,
        source: Source,
        parse: Callable[[bytes], T],
        *,
        chunk_bytes: int = CHUNK_BYTES,
        header_bytes: int = MAX_HEADER_VALUE,
    ) -> None:
        self.header: dict[str, Any] = {}
        self.raw: dict[str, bytes] = {}
        self.bare = False
        self.truncated = False
        self.size = 0
        self._source, self._parse, self._chunk_bytes = source, parse, chunk_bytes
        self._header_bytes = header_bytes
        self._passage = Passage(source)
        self._problems: list[Problem] = []
        self._count = 0
        self._events = ""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was met so far, merged by code."""
        return merge([*self._passage.stream.problems, *self._problems])

    def __iter__(self) -> Generator[T, None, None]:
        try:
            yield from self._whole()
        finally:
            self._passage.close()

    def _whole(self) -> Iterator[T]:
        passage = self._passage
        first = passage.skip(SPACE + b"\0")
        beginning = passage.text[passage.at : passage.at + 4096]
        if first == b"[":
            self.bare = True
            passage.at += 1
            yield from self._array()
        elif first == b"{" and self._is_line():
            self.bare = True
            self._note("json-lines", passage.offset)
            yield from self._array(lines=True)
        elif first == b"{":
            passage.at += 1
            yield from self._object()
        if not self._count:
            end = passage.offset if self.truncated else None
            layers = passage.stream.layers
            what = describe(beginning, self.header, self._events, end=end, layers=layers, problems=self.problems)
            raise FormatError(f"{self._source.name}: {what}")
        self._trailing()
        self.size = passage.offset
        if self.truncated:
            self._note("truncated-trace", self.size)

    def _note(self, code: str, offset: int, count: int = 1) -> None:
        self._problems.append(problem(code, count, f"byte {offset:,}"))

    def _array(self, *, lines: bool = False) -> Iterator[T]:
        self._events = "["
        elements = Elements(self._passage, self._parse, chunk_bytes=self._chunk_bytes, lines=lines)
        try:
            for value in elements:
                self._count += len(value)
                yield value
        finally:
            self.truncated |= elements.truncated
            self._problems += elements.problems

    def _is_line(self) -> bool:
        """Whether the object here is an event itself, and so the file one event a line."""
        passage = self._passage
        passage.fill(self._chunk_bytes)
        end = end_of(passage.text, passage.at, passage.at + NEAR)
        if end is None and _EVENTS.search(passage.text, passage.at) is None:
            end = end_of(passage.text, passage.at)
        try:
            first = decoded(passage.text[passage.at : end]) if end else {}
        except NOT_JSON:
            return False
        return "ph" in first and "traceEvents" not in first

    # The object form.

    def _object(self) -> Iterator[T]:
        """Read the members of the top-level object, whose brace is behind us."""
        passage = self._passage
        while letter := passage.skip(SPACE + b","):
            if letter == b"}":
                passage.at += 1
                return
            start = passage.offset
            key = self._key()
            if key == "traceEvents" and passage.skip(SPACE) == b"[":
                if self._events == "[":
                    self._note("repeated-events", start)
                passage.at += 1
                yield from self._array()
                continue
            value = None if key is None else self._value()
            if value is None:
                if not self._search_events(start):
                    return
            elif key == "traceEvents":
                self._events = value[:1].decode("latin-1")
            elif key is not None:
                self._keep(key, value, start)
        self.truncated = True

    def _key(self) -> str | None:
        passage = self._passage
        passage.fill(NEAR)
        match = _KEY.match(passage.text, passage.at)
        if match is None:
            return None
        passage.at = match.end()
        return match[1].decode("utf-8", "replace")

    def _keep(self, key: str, value: bytes, start: int) -> None:
        if not value:
            self.raw[key] = value
            return
        try:
            self.header[key] = decoded(value)
            self.raw[key] = value
        except NOT_JSON:
            self._note("damaged-header", start)
            mended = mend(value, 0, len(value)) if value.startswith(b"{") else None
            if mended is not None:
                self.header[key] = decoded(mended.text)
                self.raw[key] = mended.text

    def _search_events(self, start: int) -> bool:
        """Go to ``"traceEvents": [`` behind byte `start`, where the members make no sense; False if there is none."""
        passage = self._passage
        passage.seek(start)
        while True:
            passage.fill(self._chunk_bytes)
            match = _EVENTS.search(passage.text, passage.at)
            if match:
                self._note("damaged-header", start)
                passage.at = match.start()
                return True
            if passage.ended:
                break
            passage.at = max(passage.at + 1, len(passage.text) - NEAR)
        passage.at = len(passage.text)
        if self._count:
            self._note("damaged-header", start)
        self.truncated = True
        return False

    def _value(self) -> bytes | None:
        """Read a value; empty if it is longer than wanted, None if it has no end."""
        passage = self._passage
        letter = passage.skip(SPACE)
        passage.fill(NEAR)
        if letter not in (b"{", b"[", b'"'):
            match = _SCALAR.match(passage.text, passage.at)
            passage.at = match.end() if match else passage.at
            return match[0] if match else None
        start = passage.offset
        depth = 0
        at = passage.offset
        while True:
            stuck = False
            for token in TOKEN.finditer(passage.text, at - passage.base):
                letter = token[0]
                if letter == b'"':
                    at, stuck = passage.base + token.start(), True
                    break
                at = passage.base + token.end()
                depth += (letter in b"{[") - (letter in b"}]")
                if depth == 0:
                    passage.at = at - passage.base
                    begin = start - passage.base
                    return passage.text[begin : passage.at] if begin >= 0 and at - start <= self._header_bytes else b""
            if passage.ended or (stuck and passage.base + len(passage.text) - at > MAX_ELEMENT):
                return None
            at = at if stuck else passage.base + len(passage.text)
            if at - start > self._header_bytes:
                passage.at = at - passage.base
            passage.grow(self._chunk_bytes)

    def _trailing(self) -> None:
        """Say what stands behind the document."""
        passage = self._passage
        passage.skip(SPACE)
        start = passage.offset
        letter = passage.skip(SPACE + b"\0")
        if not letter:
            if passage.offset > start:
                self._note("trailing-nul", start)
            return
        start, events = passage.offset, 0
        while passage.fill(1):
            passage.fill(self._chunk_bytes)
            events += len(re.findall(rb'"ph"\s*:', passage.text[passage.at :]))
            passage.at = len(passage.text)
        if events:
            self._note("second-document", start, events)
        else:
            self._note("trailing-garbage", start)

"""An event array cut into chunks at element boundaries, each parsed in one go.

A chunk ends at the last ``},{`` of some 1 MB. That it parses proves that the cut was a real boundary, since a cut inside
a string or a nested list leaves quotes or brackets open. Where it does not parse, a tokenizer finds the elements; what
still makes no sense goes, element by element, to `tracegap.salvage`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from tracegap.brackets import SPACE, TOKEN, end_of
from tracegap.passage import NEAR, Passage
from tracegap.plain import decoded
from tracegap.problems import Problem, problem
from tracegap.salvage import mend

MAX_ELEMENT = 64 << 20
"""An element longer than this is given up, so that text without boundaries cannot fill the memory."""

NOT_JSON = (ValueError, RecursionError)
"""What a parser raises for text that is no JSON (`msgspec.DecodeError` is a ValueError)."""

_CANDIDATES = 3
_EVENT = re.compile(rb'\{\s*"?(?:ph|name|cat|pid|tid|ts|dur|args|id|id2|bp|s|tts|tdur|cname|bind_id)"\s*:')
_SCALAR = re.compile(rb"[^\s,\]}{\[]+")
_LINE_END = re.compile(rb"\}\s*\n\s*\{")
_ARRAY_END = re.compile(rb'\]\s*(?:,\s*"|\}|\Z|[\[{\0])')

T = TypeVar("T")


class Elements(Generic[T]):
    """The elements of an array, in file order.

    Parameters
    ----------
    passage : Passage
        Stands behind the opening bracket; behind the closing one when the iteration is over.
    parse : callable
        ``[element,…]`` as bytes to a value; raises `NOT_JSON`. Called until it succeeds, once for each element.
    chunk_bytes : int
    lines : bool
        Whether elements are divided by line ends, and end with the text.

    Attributes
    ----------
    truncated : bool
        Whether the text ended before the array.
    problems : list of Problem
    chunks : int
        How many values were yielded.
    """

    def __init__(self, passage: Passage, parse: Callable[[bytes], T], *, chunk_bytes: int, lines: bool = False) -> None:
        self.truncated = False
        self.problems: list[Problem] = []
        self.chunks = 0
        self._passage, self._parse, self._chunk_bytes, self._lines = passage, parse, chunk_bytes, lines
        self._separator = b""
        self._comma = True  # whether a comma, or nothing at all, stands before the next element
        self._lost = False  # whether the text just before made no sense

    def _note(self, code: str, at: int) -> None:
        self.problems.append(problem(code, 1, f"byte {self._passage.base + at:,}"))

    def __iter__(self) -> Iterator[T]:
        passage, size = self._passage, self._chunk_bytes
        while not self._at_end():
            passage.fill(size)
            limit = min(passage.at + size, len(passage.text))
            whole = self._chunk(limit)
            if whole is None:
                whole = self._outlined(limit)
            before = passage.offset
            if whole is None:
                whole = self._one_by_one(limit)
            if whole is not None:
                self.chunks += 1
                size = self._chunk_bytes
                yield whole
            elif passage.offset == before:
                size *= 2

    def _at_end(self) -> bool:
        """Go to the next element; True, behind the bracket, when there is none."""
        passage = self._passage
        while True:
            letter = passage.skip(SPACE)
            if letter == b"," or (letter == b"\0" and self._lost):
                if letter == b"," and self._comma:
                    self._note("stray-comma", passage.at)
                self._comma = True
                passage.at += 1
            elif not letter or letter == b"\0":
                self.truncated = not self._lines
                return True
            elif letter == b"]":
                passage.fill(NEAR)
                if self._lost and not _ARRAY_END.match(passage.text, passage.at):
                    passage.at += 1
                    continue
                if self._comma and self.chunks:
                    self._note("stray-comma", passage.at)
                passage.at += 1
                return True
            else:
                return False

    # Sound text: a chunk in one go.

    def _chunk(self, limit: int) -> T | None:
        """Parse up to the last boundary before `limit`; None where no boundary can be proven."""
        passage = self._passage
        for cut, after in self._cuts(limit):
            value = self._try(passage.at, cut)
            if value is not None:
                self._separator = passage.text[cut - 1 : after + 1]
                passage.at, self._comma, self._lost = after, True, False
                return value
        return None

    def _try(self, start: int, end: int) -> T | None:
        """Parse the elements of a stretch of the passage; None where it is no JSON."""
        text = b"".join((b"[", memoryview(self._passage.text)[start:end], b"]"))
        if self._lines:
            text = _LINE_END.sub(b"},{", text)
        try:
            if not text.isascii():
                text.decode()  # the parser does not look into the strings that it skips
            return self._parse(text)
        except NOT_JSON:
            return None

    def _cuts(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield places (end of an element, start of the next), the most promising first."""
        text, start = self._passage.text, self._passage.at
        if self._separator:
            at = text.rfind(self._separator, start, limit)
            if at >= 0:
                yield at + 1, at + len(self._separator) - 1
        at, tries = limit, 0
        for _ in range(10_000):
            at = text.rfind(b"{", start + 1, at)
            if at < 0 or tries == _CANDIDATES:
                return
            low = max(start, at - 64)
            before = text[low:at].rstrip(SPACE)
            if not self._lines and not before.endswith(b","):
                continue
            before = before.removesuffix(b",").rstrip(SPACE)
            if before.endswith(b"}"):
                tries += 1
                yield low + len(before), at

    def _outlined(self, limit: int) -> T | None:
        """Parse the whole elements that a tokenizer finds: those before the array's end, or before `limit`."""
        passage = self._passage
        text, depth, end = passage.text, 0, passage.at
        for token in TOKEN.finditer(text, passage.at, limit):
            letter = token[0]
            if letter in b"{[":
                depth += 1
            elif letter == b'"':
                break
            elif letter in b"}]":
                depth -= 1
                if depth < 0:
                    end = passage.at + len(text[passage.at : token.start()].rstrip(SPACE))
                    break
                if depth == 0:
                    end = token.end()
        if end == passage.at:
            return None
        comma = text[end - 1 : end] == b","
        value = self._try(passage.at, end - comma)
        if value is not None:
            passage.at, self._comma, self._lost = end, comma, False
        return value

    # Damaged text: one element after the other.

    def _one_by_one(self, limit: int) -> T | None:
        """Parse what can be parsed before `limit`; None with the passage unmoved when more text is needed."""
        passage = self._passage
        limit = passage.base + limit
        good: list[bytes] = []
        while passage.offset < limit:
            if not self._comma and not self._lost and not self._lines:
                self._note("missing-comma", passage.at)
            element = self._element()
            if element is None:
                break
            self._comma = False
            if element:
                good.append(element)
            letter = passage.skip(SPACE)
            while letter == b",":
                if self._comma and not self._lost:
                    self._note("stray-comma", passage.at)
                self._comma = True
                passage.at += 1
                letter = passage.skip(SPACE)
            if letter in (b"]", b"\0", b""):
                break
        return self._parse(b"[%b]" % b",".join(good)) if good else None

    def _element(self) -> bytes | None:
        """Return the next element as valid JSON, empty where it was skipped, None where it may go on behind the passage."""
        passage = self._passage
        text, start = passage.text, passage.at
        if text[start : start + 1] != b"{":
            return self._no_object()
        end = end_of(text, start, start + NEAR)
        if end is not None and _is_json(text[start:end]):
            return self._take(text[start:end], end)
        stop = self._next_event(start + 1)
        if stop is None and not passage.ended:
            if len(text) - start > MAX_ELEMENT:
                self._cut_off()
                return b""
            return None
        damaged = mend(text, start, len(text) if stop is None else stop)
        if damaged is None and (far := end_of(text, start)) is not None:
            if _is_json(text[start:far]):
                return self._take(text[start:far], far)
            if stop is not None and text[start:stop].rstrip(SPACE).endswith(b","):  # it may be a list inside this one
                damaged = mend(text, start, far)
        if damaged is not None:
            for code in damaged.codes:
                self._note(code, start)
            return self._take(damaged.text, damaged.end)
        if stop is None:
            self._cut_off()
        else:
            self._note("skipped-event", start)
            passage.at, self._lost = stop, True
        return b""

    def _take(self, text: bytes, end: int) -> bytes:
        self._passage.at, self._lost = end, False
        return text

    def _cut_off(self) -> None:
        """Leave out the last element: the text ends inside it, or nothing behind it can be read."""
        passage = self._passage
        self._note("skipped-event", passage.at)
        passage.at, self._lost = len(passage.text), True

    def _no_object(self) -> bytes | None:
        """Skip what stands where an object should; an item of another type goes to the parser, to be counted there."""
        passage = self._passage
        text, start = passage.text, passage.at
        if not self._lost:
            match = _SCALAR.match(text, start)
            end = end_of(text, start) if text[start : start + 1] == b"[" else match.end() if match else None
            if end is not None and _is_json(text[start:end]):
                return self._take(text[start:end], end)
            self._note("skipped-text", start)
        stop = self._next_event(start)
        closing = _ARRAY_END.search(text, start, len(text) if stop is None else stop)
        if closing is not None:
            stop = closing.start()
        if stop is None and not passage.ended:
            stop = max(start + 1, len(text) - NEAR)
        passage.at, self._lost = len(text) if stop is None else stop, True
        return b""

    def _next_event(self, start: int) -> int | None:
        """Find where the next event seems to start: an object whose first key is one of an event's, and that is no value or first item."""
        text = self._passage.text
        for match in _EVENT.finditer(text, start):
            before = text[max(start - 1, match.start() - 64) : match.start()].rstrip(SPACE)
            if not before.endswith((b":", b"[")):
                return match.start()
        return None


def _is_json(text: bytes) -> bool:
    try:
        decoded(text)
    except NOT_JSON:
        return False
    return True

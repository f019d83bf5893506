"""Mending one damaged element: what a strict JSON parser refuses, read as it was meant.

In: text that starts with an object. Out: the same object as valid JSON, where it ended, and what was wrong, or None
where no sense can be made of it. Used on damaged elements only, so it may take its time.
"""

import re
from typing import NamedTuple

from tracegap.brackets import end_of
from tracegap.plain import decoded

MAX_DEPTH = 200
"""What is nested deeper is left out."""

_SPACE = re.compile(rb"\s*")
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_SCALAR = re.compile(rb'[^\s,\]}\[{":]+')
_KEY = re.compile(rb'"((?:[^"\\]|\\.){0,4096}?)"\s*:', re.DOTALL)
_BROKEN_KEY = re.compile(rb'"?([A-Za-z_][^":,{}\[\]\n]{0,80}?)"?\s*:')
_QUOTED_KEY = rb'"[^"\\\n]{0,200}"\s*:'
_ANY_KEY = rb'(?:"[^"\n]{0,200}"|"?[A-Za-z_]\w*"?)\s*:'
_AFTER_MEMBER = re.compile(
    rb"\s*(?:\}\s*(?:[,\]}{\0]|\Z)|,\s*(?:" + _ANY_KEY + rb"|\})|\s*" + _QUOTED_KEY + rb")", re.DOTALL
)
_NEXT_MEMBER = re.compile(rb"\s*,\s*" + _QUOTED_KEY)
_AFTER_ITEM = re.compile(rb'\s*(?:\]|,\s*(?:["\[{\d\-tfnNI]|\]))')
_BAD_ESCAPE = re.compile(rb'(?<!\\)(?:\\\\)*\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CONTROL = re.compile(rb"[\x00-\x1f]")
_SURROGATES = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_NOT_NUMBERS = frozenset((b"nan", b"inf", b"infinity", b"-nan", b"-inf", b"-infinity", b"+inf", b"+infinity"))


class Mended(NamedTuple):
    """A damaged element made whole.

    ``text`` is valid JSON; the element ended at byte ``end`` of the text that was given; ``codes`` are the keys of
    `tracegap.problems.CATALOGUE` of what was wrong.
    """

    text: bytes
    end: int
    codes: tuple[str, ...]


def mend(text: bytes, start: int, stop: int) -> Mended | None:
    """Mend the object that starts at `start` and ends before `stop`.

    Examples
    --------
    >>> mend(b'{"name": "x", "ts": NaN,}', 0, 25)
    Mended(text=b'{"name":"x","ts":null}', end=25, codes=('not-a-number', 'stray-comma'))
    """
    scan = _Scan(text, start, stop)
    try:
        scan.run()
        clean = b"".join(scan.out)
        try:
            clean.decode()
        except UnicodeDecodeError:
            scan.saw("bad-utf8")
            clean = clean.decode("utf-8", "replace").encode()
        decoded(clean)
    except (_Hopeless, ValueError, RecursionError):
        return None
    return Mended(clean, scan.at, tuple(scan.codes))


class _Hopeless(Exception):
    """The text makes no sense as an object."""


class _Scan:
    def __init__(self, text: bytes, start: int, stop: int) -> None:
        self.text, self.at, self.stop = text, start, stop
        self.out: list[bytes] = []
        self.codes: dict[str, None] = {}
        self.open: list[bytes] = []

    def saw(self, code: str) -> None:
        self.codes.setdefault(code)

    def run(self) -> None:
        """Read members and items until what was opened first is closed."""
        self.value(self.letter())
        comma = True  # whether a comma, or nothing at all, stands before the next member or item
        while self.open:
            letter = self.letter()
            closing = b"}" if self.open[-1] == b"{" else b"]"
            if letter == b",":
                if comma:
                    self.saw("stray-comma")
                comma = True
                self.at += 1
                continue
            if letter == closing:
                if comma and self.out[-1] not in (b"{", b"["):
                    self.saw("stray-comma")
                self.close(closing)
                comma = False
                continue
            if not letter or letter in b"}]":
                raise _Hopeless
            if self.out[-1] not in (b"{", b"["):
                if not comma:
                    self.saw("missing-comma")
                self.out.append(b",")
            if self.open[-1] == b"{":
                self.key()
            before = len(self.open)
            self.value(self.letter())
            comma = len(self.open) > before

    def letter(self) -> bytes:
        match = _SPACE.match(self.text, self.at, self.stop)
        self.at = match.end() if match else self.at
        return self.text[self.at : min(self.at + 1, self.stop)]

    def close(self, letter: bytes) -> None:
        self.out.append(letter)
        self.open.pop()
        self.at += 1

    def key(self) -> None:
        match = _KEY.match(self.text, self.at, self.stop)
        if match is None:
            match = _BROKEN_KEY.match(self.text, self.at, self.stop)
            if match is None:
                raise _Hopeless
            self.saw("missing-quote")
        self.out.append(b'"%b":' % self.content(match[1]))
        self.at = match.end()

    def value(self, letter: bytes) -> None:
        if letter in (b"{", b"["):
            if len(self.open) == MAX_DEPTH:
                self.saw("deep-nesting")
                end = end_of(self.text, self.at, self.stop)
                if end is None:
                    raise _Hopeless
                self.out.append(b"null")
                self.at = end
                return
            self.out.append(letter)
            self.open.append(letter)
            self.at += 1
        elif letter == b'"':
            self.string()
        else:
            self.scalar()

    def scalar(self) -> None:
        match = _SCALAR.match(self.text, self.at, self.stop)
        if match is None:
            raise _Hopeless
        word = match[0]
        if word in (b"true", b"false", b"null") or _NUMBER.match(word):
            self.out.append(word)
        elif word.lower() in _NOT_NUMBERS:
            self.saw("not-a-number")
            self.out.append(b"null")
        else:
            self.saw("bare-value")
            self.out.append(b'"%b"' % self.content(word))
        self.at = match.end()

    def string(self) -> None:
        after = _AFTER_MEMBER if self.open and self.open[-1] == b"{" else _AFTER_ITEM
        begin = self.at + 1
        end = self.text.find(b'"', begin, self.stop)
        while end >= 0:
            before = self.text[begin:end]
            escaped = (len(before) - len(before.rstrip(b"\\"))) % 2
            # An escaped quote ends the text all the same where a key follows it: "C:\temp\", "pid": …
            if (_NEXT_MEMBER if escaped else after).match(self.text, end + 1, self.stop):
                break
            end = self.text.find(b'"', end + 1, self.stop)
        if end < 0:
            raise _Hopeless
        self.out.append(b'"%b"' % self.content(self.text[begin:end]))
        self.at = end + 1

    def content(self, content: bytes) -> bytes:
        """Make the inside of a string valid."""
        if len(content) > 1 and content[:1] == content[-1:] == b'"':
            self.saw("doubled-quotes")
            content = content[1:-1]
        if _BAD_ESCAPE.search(content) or (len(content) - len(content.rstrip(b"\\"))) % 2:
            self.saw("invalid-escape")
            content = content.replace(b"\\\\", b"\\").replace(b"\\", b"\\\\")
            content = content.replace(b'\\\\"', b'\\"')
        bare = re.sub(rb'(?<!\\)((?:\\\\)*)"', rb'\1\\"', content)
        if bare != content:
            self.saw("bare-quote")
        if _CONTROL.search(bare):
            self.saw("control-byte")
            bare = _CONTROL.sub(lambda match: b"\\u%04x" % match[0][0], bare)
        whole = _SURROGATES.sub(lambda match: match[0] if match[2] else match[1] + rb"\ufffd", bare)
        if whole != bare:
            self.saw("lone-surrogate")
        return whole

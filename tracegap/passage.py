"""The passage of a source's text that is in memory, and where it stands: what the reading of a file moves along.

In: a `Source`. Out: its bytes, as many as were asked for. Not looked at here: what they say.
"""

from tracegap.source import Source

NEAR = 1 << 16
"""Bytes ahead in which a short thing is looked for: a key, a sound event, the bracket that ends an array."""

_STRIDE = 64


class Passage:
    """``text[at:]`` is what comes next; the byte at ``text[0]`` is byte `base` of the whole.

    Attributes
    ----------
    text : bytes
    at : int
    base : int
        Places in `text` are counted from here.
    ended : bool
        Whether nothing follows the passage.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.stream = source.stream()
        self.text, self.at, self.base, self.ended = b"", 0, 0, False

    def close(self) -> None:
        """Close the file."""
        self.stream.close()

    def _restart(self) -> None:
        self.stream.close()
        self.stream = self._source.stream()
        self.text, self.at, self.base, self.ended = b"", 0, 0, False

    @property
    def offset(self) -> int:
        """Where ``text[at]`` stands in the whole text."""
        return self.base + self.at

    def fill(self, size: int) -> bool:
        """Have `size` bytes from here in the passage; False when the text ends before. May move `text` and `at`."""
        have = len(self.text) - self.at
        if have >= size or self.ended:
            return have >= size
        pieces = [self.text[self.at :]]
        self.base, self.at = self.offset, 0
        while have < size:
            piece = next(self.stream, None)
            if piece is None:
                self.ended = True
                break
            pieces.append(piece)
            have += len(piece)
        self.text = b"".join(pieces)
        return have >= size

    def grow(self, size: int) -> bool:
        """Have `size` bytes more than now; False when there are none."""
        before = len(self.text) - self.at
        self.fill(before + size)
        return len(self.text) - self.at > before

    def seek(self, offset: int) -> None:
        """Go to a place in the text; one that the passage has left behind is read again from the beginning."""
        if offset < self.base:
            self._restart()
        while offset > self.base + len(self.text) and not self.ended:
            self.at = len(self.text)
            self.fill(1)
        self.at = min(offset - self.base, len(self.text))

    def skip(self, letters: bytes) -> bytes:
        """Go to the next byte that is none of `letters` and return it; empty at the end of the text."""
        while self.fill(1):
            piece = self.text[self.at : self.at + _STRIDE]
            rest = piece.lstrip(letters)
            self.at += len(piece) - len(rest)
            if rest:
                return rest[:1]
        return b""

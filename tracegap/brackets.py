"""Where JSON values end, told by their strings and brackets alone: for text that a parser refuses or that is not all there.

In: bytes of UTF-8. Out: places. Not checked here: whether what stands between the brackets is JSON.
"""

import re

SPACE = b" \t\r\n"
"""What JSON takes for white space."""

TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
"""A whole string, a bracket, or the quote of a string that has no end."""


def end_of(text: bytes, start: int, stop: int | None = None) -> int | None:
    """Return where the object or list that starts at `start` ends, None if it does not before `stop`.

    Examples
    --------
    >>> end_of(b'[{"a}": [1]}, 2]', 1)
    12
    """
    depth = 0
    for token in TOKEN.finditer(text, start, len(text) if stop is None else stop):
        letter = token[0]
        if letter in b"{[":
            depth += 1
        elif letter in b"}]":
            depth -= 1
            if depth <= 0:
                return token.end()
        elif letter == b'"':
            return None
    return None

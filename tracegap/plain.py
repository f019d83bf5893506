"""JSON text to plain Python objects, whatever the size of its numbers.

In: the text of one value. Out: objects; a number that neither an ``int`` of a few thousand digits nor a ``float`` can hold
stands in them as its text, so that no event is lost for a number in it.
"""

import math
import re
from typing import Any

import msgspec

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*', re.DOTALL)
"""A string, or what starts as a number."""


def decoded(text: bytes | msgspec.Raw) -> Any:
    """Return the value that a text holds.

    Raises
    ------
    ValueError, RecursionError
        The text is no JSON, or is nested too deeply.

    Examples
    --------
    >>> decoded(b'{"ts": 1.5, "far": 1e999}')
    {'ts': 1.5, 'far': '1e999'}
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.ValidationError:  # the one thing that can be wrong with sound JSON here: a number out of range
        return msgspec.json.decode(_TOKEN.sub(_held, bytes(text)))


def _held(token: re.Match[bytes]) -> bytes:
    """Put quotes around a number that no float holds."""
    text = token[0]
    if text.startswith(b'"'):
        return text
    try:
        return text if math.isfinite(float(text)) else b'"%b"' % text
    except ValueError:
        return text

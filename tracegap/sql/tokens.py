"""SQL text to tokens, as far as statements, names and brackets need telling apart. Meaning is SQLite's business."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tracegap.errors import UsageError

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<text>'(?:[^']|'')*'|[xX]'[0-9a-fA-F]*')
      | (?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
      | (?P<word>[A-Za-z_\u0080-\U0010ffff][\w$]*)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*)
      | (?P<parameter>[$:@?]\w*)
      | (?P<mark>\|\||<<|>>|<=|>=|<>|!=|==|->>|->|.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A piece of SQL; ``kind`` is space, text, quoted, word, number, parameter or mark."""

    kind: str
    text: str

    def is_word(self, *words: str) -> bool:
        """Whether it is one of the (upper-case) keywords."""
        return self.kind == "word" and self.text.upper() in words

    @property
    def name(self) -> str:
        """The name it stands for, unquoted."""
        return self.text[1:-1] if self.kind == "quoted" else self.text


def tokenize(sql: str) -> list[Token]:
    """Split SQL into tokens; joined, they are the text again.

    Raises
    ------
    UsageError
        When a quoted text does not end, or it is no text: Python keeps bytes that are not UTF-8 as lone surrogates.

    Examples
    --------
    >>> [token.text for token in tokenize("select 'a;b' -- c") if token.kind != "space"]
    ['select', "'a;b'"]
    """
    if "\0" in sql:
        raise UsageError("the SQL has a NUL character, where it would end; leave it out")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the SQL is not UTF-8 at its character {error.start + 1}") from error
    tokens = []
    for match in _TOKEN.finditer(sql):
        token = Token(str(match.lastgroup), match.group())
        if token.kind == "mark" and token.text in "'\"`[":
            raise UsageError(f"the query has a {token.text} without its other half; close the quotes")
        tokens.append(token)
    return tokens


def statements(sql: str) -> list[list[Token]]:
    """Split SQL into statements at semicolons; blank ones are left out."""
    found: list[list[Token]] = [[]]
    for token in tokenize(sql):
        if token.text == ";":
            found.append([])
        else:
            found[-1].append(token)
    return [one for one in found if any(token.kind != "space" for token in one)]


def join(tokens: Sequence[Token]) -> str:
    """Write tokens as SQL text."""
    return "".join(token.text for token in tokens).strip()


def solid(tokens: Sequence[Token]) -> list[Token]:
    """Leave out blanks and comments."""
    return [token for token in tokens if token.kind != "space"]


def closing(tokens: Sequence[Token], opening: int) -> int:
    """Return the position of the bracket that closes the one at `opening`.

    Raises
    ------
    UsageError
        When there is none.
    """
    depth = 0
    for place in range(opening, len(tokens)):
        if tokens[place].text == "(":
            depth += 1
        elif tokens[place].text == ")":
            depth -= 1
            if depth == 0:
                return place
    raise UsageError("the query has a ( without its ); close the bracket")


def arguments(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split what stands between two brackets at its outer commas."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts if any(token.kind != "space" for part in parts for token in part) else []

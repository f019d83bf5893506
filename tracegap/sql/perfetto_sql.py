"""PerfettoSQL to SQLite's SQL: INCLUDE, CREATE PERFETTO …, macros, and functions that stand where a table does.

In: one statement's tokens. Out: what to run. What SQLite cannot carry is refused with one line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from tracegap.errors import UsageError
from tracegap.sql.tokens import Token, arguments, closing, join, solid

TABLE_FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "ancestor_slice": ("__ancestors", "slice"),
    "descendant_slice": ("__descendants", "slice"),
    "_slice_ancestor_and_self": ("__ancestors_and_self", "slice"),
    "_slice_descendant_and_self": ("__descendants_and_self", "slice"),
    "following_flow": ("__following", "flow"),
    "preceding_flow": ("__preceding", "flow"),
    "directly_connected_flow": ("__connected", "flow"),
}
"""Perfetto's functions that give rows: the function that gives their ids as a JSON array, and the table of the ids."""

_CLAUSES = ("JOIN", "LEFT", "INNER", "CROSS", "NATURAL", "WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "WINDOW")
_AFTER_TABLE = (*_CLAUSES, "ON", "USING", "UNION", "EXCEPT", "INTERSECT")


@dataclass(frozen=True, slots=True)
class Include:
    """``INCLUDE PERFETTO MODULE name``."""

    module: str


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function that the user makes; ``body`` is a SELECT with ``$argument`` in it."""

    name: str
    parameters: tuple[str, ...]
    body: str
    replace: bool


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its body stands in for ``name!(…)``."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class TableFunction:
    """A function of the user that gives rows: its ``body``, a SELECT with ``$argument`` in it, stands in for ``name(…)``."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Token, ...]
    replace: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL that SQLite can run.

    ``drops`` is what has to go first (``CREATE OR REPLACE``), ``explains`` the statement behind an EXPLAIN.
    """

    sql: str
    drops: str = ""
    explains: str = ""


Command = Include | Function | TableFunction | Macro | Statement

Made = Mapping[str, Macro | TableFunction]
"""What the user has made and is put in place here, by what calls it: ``name!`` for a macro, ``name`` for a function."""

_MOST_CALLS = 50  # macros and functions inside each other
_MOST_TOKENS = (
    1_000_000  # of a statement with its macros in place: macros that name each other twice grow as powers of two
)


@dataclass(frozen=True, slots=True)
class _Creation:
    """The head of a CREATE PERFETTO statement; ``rest`` are the solid and blank tokens behind the name.

    ``name`` is the name as it is, ``written`` as SQL has it, perhaps in quotes.
    """

    what: str
    name: str
    written: str
    rest: Sequence[Token]
    replace: bool = field(default=False)


def parse(tokens: Sequence[Token], made: Made) -> Command:
    """Say what to do for one statement.

    Raises
    ------
    UsageError
        For a statement that only the real engine can run.

    Examples
    --------
    >>> from tracegap.sql.tokens import tokenize
    >>> parse(tokenize("include perfetto module slices.with_context"), {})
    Include(module='slices.with_context')
    >>> parse(tokenize("create or replace perfetto table t as select 1"), {})
    Statement(sql='CREATE TABLE t AS select 1', drops='TABLE IF EXISTS t', explains='')
    """
    words = solid(tokens)
    if len(words) > 3 and words[0].is_word("INCLUDE") and words[1].is_word("PERFETTO"):
        return Include(join(words[3:]))
    creation = _creation(tokens, words)
    if creation is None or creation.what == "VIRTUAL":
        if creation is not None:
            _only_there("virtual tables, SPAN_JOIN among them,")
        expanded = expand(tokens, made)
        return Statement(join(expanded), explains=_explained(expanded))
    make = _MAKERS.get(creation.what)
    if make is None:
        _only_there(f"CREATE PERFETTO {creation.what}")
    return make(creation, made)


def expand(tokens: Sequence[Token], made: Made) -> list[Token]:
    """Put the bodies of macros and functions, and the ids of Perfetto's own functions, in place."""
    return _table_functions(_put(list(tokens), made, depth=0))


def _explained(tokens: Sequence[Token]) -> str:
    """Return what stands behind EXPLAIN or EXPLAIN QUERY PLAN; "" where neither does."""
    words = solid(tokens)
    if not words or not words[0].is_word("EXPLAIN"):
        return ""
    plan = len(words) > 2 and words[1].is_word("QUERY") and words[2].is_word("PLAN")
    return " ".join(word.text for word in words[3 if plan else 1 :])


def _creation(tokens: Sequence[Token], words: Sequence[Token]) -> _Creation | None:
    if not words or not words[0].is_word("CREATE"):
        return None
    replace = len(words) > 2 and words[1].is_word("OR")
    head = words[3:] if replace else words[1:]
    if head and head[0].is_word("VIRTUAL"):
        return _Creation("VIRTUAL", "", "", ())
    if len(head) < 3 or not head[0].is_word("PERFETTO"):
        return None
    rest = list(tokens[next(place for place, token in enumerate(tokens) if token is head[2]) + 1 :])
    return _Creation(head[1].text.upper(), head[2].name, head[2].text, rest, replace)


def _table(creation: _Creation, made: Made) -> Statement:
    columns, query = _split_as(creation)
    del columns  # the schema only declares types
    name = creation.written
    drops = f"{creation.what} IF EXISTS {name}" if creation.replace else ""
    return Statement(f"CREATE {creation.what} {name} AS {join(expand(query, made))}", drops)


def _index(creation: _Creation, made: Made) -> Statement:
    del made
    drops = f"INDEX IF EXISTS {creation.written}" if creation.replace else ""
    return Statement(f"CREATE INDEX {creation.written} {join(creation.rest)}", drops)


def _function(creation: _Creation, made: Made) -> Function | TableFunction:
    head, body = _split_as(creation)
    words = solid(head)
    end = closing(words, 0)
    parameters = _parameters(words[1:end])
    if [word.text.upper() for word in words[end + 1 : end + 3]] == ["RETURNS", "TABLE"]:
        inside = tuple(_put(list(body), made, depth=0))
        return TableFunction(creation.name, parameters, inside, creation.replace)
    query = expand(body, made)
    start = solid(query)[0] if solid(query) else None
    text = join(query) if start is not None and start.is_word("SELECT", "WITH") else f"SELECT {join(query)}"
    return Function(creation.name, parameters, text, creation.replace)


def _macro(creation: _Creation, made: Made) -> Macro:
    head, body = _split_as(creation)
    words = solid(head)
    return Macro(creation.name, _parameters(words[1 : closing(words, 0)]), tuple(_put(list(body), made, depth=0)))


_MAKERS: Mapping[str, Callable[[_Creation, Made], Command]] = {
    "TABLE": _table,
    "VIEW": _table,
    "INDEX": _index,
    "FUNCTION": _function,
    "MACRO": _macro,
}


def _only_there(what: str) -> NoReturn:
    raise UsageError(f"{what} cannot run on the embedded engine; use --engine perfetto")


def _split_as(creation: _Creation) -> tuple[list[Token], list[Token]]:
    """Split what follows the name at its first AS outside brackets."""
    depth = 0
    rest = list(creation.rest)
    for place, token in enumerate(rest):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.is_word("AS"):
            return rest[:place], rest[place + 1 :]
    raise UsageError(f"CREATE PERFETTO {creation.what} {creation.name} has no AS; write AS and the query behind it")


def _parameters(words: Sequence[Token]) -> tuple[str, ...]:
    parts = arguments(words)
    if not all(parts):
        raise UsageError("the function or macro has a parameter without a name; take out the comma, or name it")
    return tuple(part[0].name for part in parts)


def _put(tokens: list[Token], made: Made, *, depth: int) -> list[Token]:
    """Replace ``name!(a, b)`` by the macro's body, ``name(a, b)`` by that of the user's function that gives rows."""
    if depth > _MOST_CALLS:
        raise UsageError("the macros or functions of the query call each other without end; break the circle")
    out: list[Token] = []
    place = 0
    while place < len(tokens):
        name, opening = _call(tokens, place)
        called = made.get(name)
        if called is None:
            if name.endswith("!"):
                raise UsageError(f"there is no macro {name}; INCLUDE PERFETTO MODULE what has it, or make it")
            out.append(tokens[place])
            place += 1
            continue
        end = closing(tokens, opening)
        given = arguments(tokens[opening + 1 : end])
        if len(given) != len(called.parameters):
            wanted = ", ".join(called.parameters)
            raise UsageError(f"{name} is given {len(given)} values: write {name}({wanted})")
        out += _put(_body(called, given), made, depth=depth + 1)
        _bound(out)
        place = end + 1
    return out


def _bound(tokens: Sequence[Token]) -> None:
    if len(tokens) > _MOST_TOKENS:
        raise UsageError(f"the query has more than {_MOST_TOKENS:,} words with its macros in place; make it shorter")


def _call(tokens: Sequence[Token], place: int) -> tuple[str, int]:
    """Return what the token calls, as `Made` names it, and where its bracket opens; "" where it calls nothing."""
    if tokens[place].kind != "word":
        return "", place
    name, at = tokens[place].text, place + 1
    if at < len(tokens) and tokens[at].text == "!":
        name, at = f"{name}!", at + 1
    at = _skip(tokens, at)
    return (name, at) if at < len(tokens) and tokens[at].text == "(" else ("", place)


def _body(called: Macro | TableFunction, given: Sequence[list[Token]]) -> list[Token]:
    """Return the body with the arguments of a call in it; of a function, both stand in brackets."""
    opening, end = ([Token("mark", "(")], [Token("mark", ")")]) if isinstance(called, TableFunction) else ([], [])
    values = {name: [*opening, *one, *end] for name, one in zip(called.parameters, given, strict=True)}
    body = list(opening)
    for one in called.body:
        body += values.get(one.text[1:], [one]) if one.kind == "parameter" else [one]
        _bound(body)
    return body + end


def _table_functions(tokens: list[Token]) -> list[Token]:
    """Replace ``JOIN ancestor_slice(x) AS a`` by ``JOIN slice AS a ON a.id IN (ids)``, and after FROM by a subquery.

    In a FROM clause only a condition may speak of the tables before it, so the ids have to stand in one.
    """
    out: list[Token] = []
    place = 0
    while place < len(tokens):
        known = TABLE_FUNCTIONS.get(tokens[place].text.lower()) if tokens[place].kind == "word" else None
        after = _skip(tokens, place + 1)
        if known is None or after >= len(tokens) or tokens[after].text != "(":
            out.append(tokens[place])
            place += 1
            continue
        end = closing(tokens, after)
        ids = f"(SELECT value FROM json_each({known[0]}({join(_table_functions(tokens[after + 1 : end]))})))"
        alias, place = _alias(tokens, end + 1, tokens[place].text)
        before = next((number for number in reversed(range(len(out))) if out[number].kind != "space"), -1)
        if before < 0 or not (out[before].is_word("JOIN") or out[before].text == ","):
            out.append(Token("mark", f"(SELECT * FROM {known[1]} WHERE id IN {ids}) AS {alias}"))
            continue
        if out[before].text == ",":
            out[before] = Token("word", " JOIN")
        condition, place = _condition(tokens, place)
        also = f" AND ({condition})" if condition else ""
        out.append(Token("mark", f"{known[1]} AS {alias} ON {alias}.id IN {ids}{also} "))
    return out


def _skip(tokens: Sequence[Token], place: int) -> int:
    while place < len(tokens) and tokens[place].kind == "space":
        place += 1
    return place


def _alias(tokens: Sequence[Token], place: int, default: str) -> tuple[str, int]:
    at = _skip(tokens, place)
    if at < len(tokens) and tokens[at].is_word("AS"):
        at = _skip(tokens, at + 1)
        if at == len(tokens):
            raise UsageError(f"{default}(…) AS has no name behind it; give it one, or leave out AS")
        return tokens[at].text, at + 1
    if at < len(tokens) and tokens[at].kind in ("word", "quoted") and not tokens[at].is_word(*_AFTER_TABLE):
        return tokens[at].text, at + 1
    return default, place


def _condition(tokens: Sequence[Token], place: int) -> tuple[str, int]:
    """Take the ON condition that follows, up to the next clause."""
    at = _skip(tokens, place)
    if at >= len(tokens) or not tokens[at].is_word("ON"):
        return "", place
    end, depth = at + 1, 0
    while end < len(tokens):
        depth += (tokens[end].text == "(") - (tokens[end].text == ")")
        if depth < 0 or (depth == 0 and (tokens[end].is_word(*_AFTER_TABLE) or tokens[end].text == ",")):
            break
        end += 1
    return join(_table_functions(list(tokens[at + 1 : end]))), end

"""The named queries: one file each in ``queries/``, whose leading comment says what it answers."""

from dataclasses import dataclass
from importlib import resources

from tracegap.errors import UsageError


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A ready query; `text` is the first comment, in one line."""

    name: str
    text: str
    sql: str


def named_queries() -> tuple[NamedQuery, ...]:
    """Return all named queries, by name."""
    folder = resources.files("tracegap.sql") / "queries"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(_read(file.name.removesuffix(".sql"), file.read_text("utf-8")) for file in files)


def listing() -> tuple[str, ...]:
    """Return a line for each named query: its name and what it answers."""
    queries = named_queries()
    width = max(len(query.name) for query in queries)
    return tuple(f"{query.name:{width}}  {query.text}" for query in queries)


def named_query(name: str) -> NamedQuery:
    """Return one named query.

    Raises
    ------
    UsageError
        When there is none of that name.
    """
    known = {query.name: query for query in named_queries()}
    if name not in known:
        raise UsageError(f"there is no query named {name}: choose one of {', '.join(known)}")
    return known[name]


def _read(name: str, sql: str) -> NamedQuery:
    comment = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        comment.append(line.removeprefix("--").strip())
    return NamedQuery(name, " ".join(comment), sql)

"""What a query may do: read the trace's tables, make tables of its own, and nothing else; for so long and no longer."""

import sqlite3
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager

from tracegap.errors import UsageError

MAX_ROWS = 5_000_000
"""Rows one query may answer: all of them stand in memory, at a few hundred bytes each."""

_OPERATIONS = 5_000  # virtual machine steps between two looks at the clock: well under a millisecond

_PRAGMAS = frozenset(("table_info", "table_xinfo", "table_list", "index_list", "index_info", "function_list"))

_ALWAYS = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
    )
)
_OF_A_TABLE = frozenset(
    (
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_DROP_TEMP_TABLE,
        sqlite3.SQLITE_DROP_TEMP_VIEW,
    )
)

Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def authorizer(protected: Container[str]) -> tuple[Authorizer, list[str]]:
    """Make the callback that SQLite asks, and the list in which it says what it refused.

    Files, extensions, settings, virtual tables, triggers and transactions are refused, and so is every change of a
    protected table.
    """
    refused: list[str] = []

    def ask(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
        if action in _ALWAYS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second != "load_extension":
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS:
            return sqlite3.SQLITE_OK
        if action in _OF_A_TABLE and first not in protected:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_DROP_INDEX and second not in protected:
            return sqlite3.SQLITE_OK
        refused.append(_name(action, first, second))
        return sqlite3.SQLITE_DENY

    return ask, refused


def _name(action: int, first: str | None, second: str | None) -> str:
    if action == sqlite3.SQLITE_ATTACH:
        return "other database files"
    if action == sqlite3.SQLITE_FUNCTION:
        return f"the function {second}"
    if action == sqlite3.SQLITE_PRAGMA:
        return f"PRAGMA {first}"
    if action in _OF_A_TABLE or action == sqlite3.SQLITE_DROP_INDEX:
        return f"a change of {first}"
    return "statements that change the database's settings"


def limit(connection: sqlite3.Connection) -> None:
    """Bound what one value and one statement may take."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)


@contextmanager
def deadline(connection: sqlite3.Connection, seconds: float | None) -> Iterator[None]:
    """Stop what runs on the connection after that many seconds (None: never), or on Ctrl-C.

    Raises
    ------
    UsageError
        When the time is up.
    """
    end = None if seconds is None else time.monotonic() + seconds
    late: list[bool] = []

    def look() -> bool:
        if end is not None and time.monotonic() > end:
            late.append(True)
        return bool(late)

    connection.set_progress_handler(look, _OPERATIONS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if late:
            raise UsageError(
                f"the query ran for more than {seconds:g} s and was stopped; bound it with WHERE or LIMIT, "
                "or raise --time-limit"
            ) from error
        if str(error) == "interrupted":  # all that SQLite leaves of an exception in `look`: Ctrl-C was raised there
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.set_progress_handler(None, 0)

"""What a query may do: read the trace's tables, make tables of its own, and nothing else; for so long and no longer."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tracegap.errors import UsageError

MAX_ROWS = 5_000_000
"""Rows one query may answer: all of them stand in memory, at a few hundred bytes each."""

MAX_LENGTH = 1_000_000_000
"""Characters and bytes in all texts and blobs of one answer."""

_OPERATIONS = 5_000  # virtual machine steps between two looks at the clock: well under a millisecond

_PRAGMAS = frozenset(("table_info", "table_xinfo", "table_list", "index_list", "index_info", "function_list"))

_ALWAYS = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_REINDEX,
    )
)
_CREATIONS = frozenset(
    (
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_CREATE_INDEX,
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

    Files, extensions, settings, virtual tables, triggers and transactions are refused, and so are every change of a
    protected table, temporary tables that would stand before it, and names like those of the engine's own indexes.
    """
    refused: list[str] = []

    def taken(name: str) -> bool:
        return name.startswith("__") or name.lower() in protected

    def ask(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
        if action in _ALWAYS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and second != "load_extension":
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS:
            return sqlite3.SQLITE_OK
        if action in _CREATIONS and not taken(str(first)):
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
        return "another database file"
    if action == sqlite3.SQLITE_FUNCTION:
        return f"the function {second}"
    if action == sqlite3.SQLITE_PRAGMA:
        return f"PRAGMA {first}"
    if action in _CREATIONS:
        return f"a table, view or index named {first}"
    if action in _OF_A_TABLE or action == sqlite3.SQLITE_DROP_INDEX:
        return f"a change of {first}"
    return "a trigger, a transaction or a setting of the database"


def limit(connection: sqlite3.Connection) -> None:
    """Bound what one value and one statement may take."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)


def fetch(cursor: sqlite3.Cursor) -> tuple[tuple[Any, ...], ...]:
    """Return all rows, unless they are more than memory should hold.

    Raises
    ------
    UsageError
        When they are.
    """
    rows: list[tuple[Any, ...]] = []
    length = 0
    for row in cursor:
        rows.append(row)
        for value in row:
            if type(value) is str or type(value) is bytes:
                length += len(value)
        if length > MAX_LENGTH:
            raise UsageError(f"the query answers more than {MAX_LENGTH:,} characters; add a LIMIT, or shorten them")
        if len(rows) > MAX_ROWS:
            raise UsageError(f"the query answers more than {MAX_ROWS:,} rows; add a LIMIT, or sum them up")
    return tuple(rows)


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
        with _ctrl_c() as pressed:
            yield
    except (sqlite3.Error, MemoryError) as error:
        if pressed:
            raise KeyboardInterrupt from None
        if late:
            raise UsageError(
                f"the query ran for more than {seconds:g} s and was stopped; bound it with WHERE or LIMIT, "
                "or raise --time-limit"
            ) from error
        raise
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def _ctrl_c() -> Iterator[list[bool]]:
    """Note whether Ctrl-C was pressed: SQLite makes an error like any other of what a function called by it raises."""
    pressed: list[bool] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> Any:
        pressed.append(True)
        return before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)

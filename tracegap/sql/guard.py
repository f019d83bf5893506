"""What a query may do: read the trace's tables, make tables of its own, and nothing else; for so long and no longer."""

import sqlite3
import threading
import time
from collections.abc import Callable, Container
from concurrent.futures import Future, wait
from contextlib import closing
from typing import Any, TypeVar

from tracegap.errors import UsageError

MAX_ROWS = 5_000_000
"""Rows one query may answer: all of them stand in memory, at a few hundred bytes each."""

MAX_LENGTH = 1_000_000_000
"""Characters and bytes in all texts and blobs of one answer."""

_MAX_HEAP_BYTES = 2_000_000_000  # the tables themselves go to disk beyond their cache
_LOOK_S = 0.1  # between two looks at a query that runs
_PATIENCE_S = 1.0  # how long a query may take to notice that it is stopped

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

T = TypeVar("T")

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
    connection.setlimit(sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000)  # an expression that doubles in view after view
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)


def limit_process() -> None:
    """Bound the memory of all databases of this process, for good: queries that multiply eat it while they are planned."""
    with closing(sqlite3.connect("")) as connection:
        connection.execute(f"PRAGMA hard_heap_limit = {_MAX_HEAP_BYTES}")


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


def too_long(seconds: float | None) -> UsageError:
    """Return what is said of a query that ran past its limit."""
    return UsageError(
        f"the query ran for more than {seconds:g} s and was stopped; bound it with WHERE or LIMIT, or raise --time-limit"
    )


class Watch:
    """Runs what asks a connection, for so long and no longer.

    SQLite looks up neither while it plans a query nor while it works on one value. So a query runs in a thread of its own,
    and the one who waits for it can go.

    Parameters
    ----------
    connection : sqlite3.Connection
        One that may be used in several threads, as it is one after the other.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._end: float | None = None
        self._outcome: Future[Any] | None = None  # of what runs

    @property
    def lost(self) -> bool:
        """Whether a query that could not be stopped still holds the connection: nothing may touch that before it ends."""
        return self._outcome is not None and not self._outcome.done()

    def _left_s(self) -> float | None:
        return None if self._end is None else self._end - time.monotonic()

    def check(self) -> None:
        """Raise `UsageError` where an earlier query holds the connection."""
        if self.lost:
            raise UsageError("an earlier query could not be stopped and is still running; wait, or open the trace anew")

    def run(self, work: Callable[[], T], seconds: float | None) -> T:
        """Do `work`, which is stopped after that many seconds (None: never), or on Ctrl-C.

        Raises
        ------
        UsageError
            When the time is up. What `work` raises is raised, too.
        """
        self._end = None if seconds is None else time.monotonic() + seconds
        outcome: Future[T] = Future()
        self._outcome = outcome
        try:
            threading.Thread(target=_fulfil, args=(outcome, work), daemon=True).start()
            while not outcome.done() and not self._over():
                _wait(outcome, self._left_s())
        finally:  # whatever ends the waiting: Ctrl-C, or what the handler of another signal raises
            late = self._over()
            if self._stop(outcome):
                self._outcome = None
        try:
            if late and (not outcome.done() or outcome.exception() is not None):
                raise too_long(seconds)
            return outcome.result()
        finally:
            del outcome  # an error keeps this frame, and would keep itself and the rows behind it

    def afterwards(self, last: Callable[[], None]) -> None:
        """Do something when no query holds the connection: now, or when the one that does ends."""
        if self._outcome is None:
            last()
        else:
            self._outcome.add_done_callback(lambda _: last())

    def _over(self) -> bool:
        left = self._left_s()
        return left is not None and left <= 0

    def _stop(self, outcome: "Future[T]") -> bool:
        """Stop what runs, and say whether it could be."""
        end = time.monotonic() + _PATIENCE_S
        while not outcome.done() and time.monotonic() < end:
            self._connection.interrupt()  # once is not enough: a query that is being planned forgets it
            _wait(outcome, _LOOK_S)
        return outcome.done()


def _fulfil(outcome: "Future[T]", work: Callable[[], T]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)
    finally:
        del outcome  # as in `run`


def _wait(outcome: "Future[T]", seconds: float | None) -> None:
    """Wait for a moment at most: on Windows, Ctrl-C is not seen by one who waits."""
    wait((outcome,), timeout=_LOOK_S if seconds is None else min(max(seconds, 0), _LOOK_S))

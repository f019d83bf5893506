"""The embedded engine: SQLite with Perfetto's tables, filled from the trace as far as a query reads it.

A query is planned first (EXPLAIN) on whatever stands in the tables already; the plan names the tables and columns it will
read, these are filled, and then it runs. The database is a private temporary one: it goes to disk when it outgrows the
cache, and away when the engine closes.
"""

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from tracegap.errors import UsageError
from tracegap.source import Source
from tracegap.sql import Engine, guard, perfetto_sql
from tracegap.sql.arguments import Value
from tracegap.sql.filling import Filler
from tracegap.sql.functions import Relatives, register, register_relatives
from tracegap.sql.result import QueryResult
from tracegap.sql.schema import DETAIL_COLUMNS, DETAILS, OWN_TABLES, SEARCHED, TABLES
from tracegap.sql.tokens import statements
from tracegap.sql.user_functions import UserFunctions

if TYPE_CHECKING:
    from tracegap.timeline import Timeline, Window

T = TypeVar("T")

TIME_LIMIT_S = 60.0

_NEEDS = {  # what functions read of the trace behind SQLite's back
    "extract_arg": (DETAILS,),
    "trace_start": ("trace_bounds",),
    "trace_end": ("trace_bounds",),
    "trace_dur": ("trace_bounds",),
    **{name: ("slice", table) for name, table in perfetto_sql.TABLE_FUNCTIONS.values()},
}


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a statement reads: parts of the trace, columns by which it looks rows up, and all texts that stand in it."""

    parts: set[str] = field(default_factory=set)
    searched: set[tuple[str, str]] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


class EmbeddedEngine(Engine):
    """SQL over one trace; a context manager.

    Parameters
    ----------
    source : Source
    look : callable returning (Timeline, Window)
        Asked once, when a query first reads a table of ours.
    """

    def __init__(self, source: Source, look: "Callable[[], tuple[Timeline, Window]]") -> None:
        self._source = source
        self._connection = sqlite3.connect("", isolation_level=None, cached_statements=0, check_same_thread=False)
        for setting in (
            "journal_mode = MEMORY",
            "synchronous = OFF",
            "cache_size = -262144",
            "locking_mode = EXCLUSIVE",
        ):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.executescript(TABLES)
        for table, columns in OWN_TABLES.items():
            self._connection.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        self._protected = {str(row[0]) for row in self._connection.execute("SELECT name FROM sqlite_master")}
        self._authorizer, self._refused = guard.authorizer(self._protected)
        guard.limit(self._connection)
        self._watch = guard.Watch(self._connection)
        self._lock = threading.RLock()
        self._filler = Filler(self._connection, source, look)
        self._closed = False
        self._made: dict[str, perfetto_sql.Macro | perfetto_sql.TableFunction] = {}
        self._included: set[str] = set()
        register(self._connection, lambda: self._filler.bounds)
        register_relatives(self._connection, Relatives(self._connection))
        self._connection.create_function("extract_arg", 2, self._extract_arg, deterministic=True)
        self._functions = UserFunctions(self._connection, self._made)

    def close(self) -> None:
        """Let the database go; where a query that could not be stopped still holds it, when that ends."""
        self._closed = True  # the next statement of a query in another thread is refused
        with self._lock:
            self._watch.afterwards(self._connection.close)

    def query(self, sql: str, *, time_limit_s: float | None = TIME_LIMIT_S) -> QueryResult:
        """Run one or more statements; the rows are those of the last.

        Raises
        ------
        UsageError
            When a statement is wrong, refused, or runs past the limit; the text is one line.
        """
        with self._turn():
            self._connection.rollback()  # of a query that was given up
            result = QueryResult((), ())
            for tokens in statements(sql):
                try:
                    command = perfetto_sql.parse(tokens, self._made)
                except RecursionError as error:
                    raise UsageError("the query nests too deep; take it apart into views") from error
                result = self._run(command, time_limit_s)
            return result

    def tables(self) -> tuple[str, ...]:
        """Return the names of all tables and views, the user's too."""
        with self._turn():
            names = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
            )
            return tuple(name for (name,) in names if not name.startswith(("__", "sqlite_")))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Take one query after the other, whichever thread asks."""
        with self._lock:
            self._check_open()
            self._watch.check()
            yield

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the engine is closed; open the trace anew")

    def _run(self, command: perfetto_sql.Command, time_limit_s: float | None) -> QueryResult:
        self._check_open()
        match command:
            case perfetto_sql.Include(module):
                self._include(module)
            case perfetto_sql.Macro(name):
                self._made[f"{name}!"] = command
            case perfetto_sql.TableFunction():
                self._functions.make(command)
            case perfetto_sql.Function():
                self._create_function(command, time_limit_s)
            case perfetto_sql.Statement(sql, "", explained):
                self._fill(self._plan(explained or sql, time_limit_s))
                return self._execute(sql, time_limit_s)
            case perfetto_sql.Statement(sql, drops, _):
                return self._replace(drops, sql, time_limit_s)
        return QueryResult((), ())

    def _guarded(self, work: Callable[[], T], time_limit_s: float | None) -> T:
        """Run SQL of the user: it may only read, and what goes wrong is said in one line."""
        self._refused.clear()

        def guarded() -> T:
            self._connection.set_authorizer(self._authorizer)
            try:
                return work()
            finally:
                self._connection.set_authorizer(None)

        try:
            return self._watch.run(guarded, time_limit_s)
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, RecursionError) as error:
            raise self._explain(error) from error

    def _execute(self, sql: str, time_limit_s: float | None) -> QueryResult:
        def answer() -> QueryResult:
            with closing(self._connection.execute(sql)) as cursor:
                rows = guard.fetch(cursor)
                return QueryResult(tuple(column[0] for column in cursor.description or ()), rows)

        return self._guarded(answer, time_limit_s)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Do all of it, or nothing."""
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            if not self._watch.lost:
                self._connection.rollback()
            raise
        self._connection.commit()

    def _replace(self, drops: str, sql: str, time_limit_s: float | None) -> QueryResult:
        """Drop what the statement makes anew, and make it; what was there stays where that fails."""
        with self._transaction():
            self._execute(f"DROP {drops}", time_limit_s)
            plan = self._plan(sql, time_limit_s)
            self._connection.rollback()  # tables are filled outside of it
        self._fill(plan)
        with self._transaction():
            self._execute(f"DROP {drops}", time_limit_s)
            return self._execute(sql, time_limit_s)

    def _plan(
        self, sql: str, time_limit_s: float | None, parameters: Sequence[str] = (), seen: set[str] | None = None
    ) -> _Plan:
        """Return what the statement reads, the functions that it calls included, unless they are `seen` already."""
        tables = self._connection.execute("SELECT rootpage, tbl_name FROM sqlite_master WHERE rootpage > 0")
        owner = dict(tables.fetchall())

        def explain() -> list[Any]:
            return self._connection.execute(f"EXPLAIN {sql}", dict.fromkeys(parameters)).fetchall()

        self._connection.text_factory = _lenient
        try:
            rows = self._guarded(explain, time_limit_s)
        finally:
            self._connection.text_factory = str
        if any(len(row) < 6 for row in rows):  # of EXPLAIN QUERY PLAN: the statement itself began with QUERY PLAN
            raise UsageError('the query cannot run: near "query": syntax error')
        plan = _Plan()
        called: set[str] = set()
        cursors: dict[int, str] = {}
        literals = {place for _, operation, _, place, *_ in rows if operation == "String8"}
        for _, operation, cursor, place, database, text, *_ in rows:
            if operation in ("OpenRead", "ReopenIdx") and database == 0 and place in owner:
                cursors[cursor] = owner[place]
                plan.parts.add(owner[place])
            elif operation == "Column" and cursor in cursors:
                column = cursors[cursor], self._column(cursors[cursor], place)
                plan.searched.update({column}.intersection(SEARCHED))
                if column in DETAIL_COLUMNS:
                    plan.parts.add(DETAILS)
            elif operation == "String8":
                plan.texts.add(text)
            elif operation in ("Function", "PureFunc"):
                name = str(text).partition("(")[0].lower()
                called.add(name)
                if name == "extract_arg" and place + 1 not in literals:
                    plan.parts.add("__arg")  # the key is worked out: it may be any
        seen = set() if seen is None else seen
        called -= seen
        seen |= called
        for name in called:
            plan.parts.update(_NEEDS.get(name, ()))
            if name.startswith("__"):  # ancestors and their like
                plan.searched.update(one for one in SEARCHED if one[0] != "__arg")
            function = self._functions.find(name)
            if isinstance(function, perfetto_sql.Function):
                inside = self._plan(function.body, time_limit_s, function.parameters, seen)
                plan.parts.update(inside.parts)
                plan.searched.update(inside.searched)
                plan.texts.update(inside.texts)
        return plan

    def _fill(self, plan: _Plan) -> None:
        """Fill what a statement reads; any text in it may be the key of an argument."""
        self._filler.want(text for text in plan.texts if text.startswith("args.") or text in ("name", "cat"))
        try:
            for part in self._filler.parts:
                if part in plan.parts:
                    self._filler.fill(part)
            if DETAILS in plan.parts:
                self._filler.read_wanted()
            for table, one in plan.searched:
                self._filler.index(table, one)
        except (sqlite3.Error, MemoryError) as error:  # no room left for the database
            raise self._explain(error) from error

    def _column(self, table: str, place: int) -> str:
        stored = self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return str(stored[place][0]) if place < len(stored) else ""

    def _include(self, module: str) -> None:
        known = _modules()
        wanted = [name for name in known if re.fullmatch(re.escape(module).replace(r"\*", ".*"), name)]
        if not wanted:
            raise UsageError(
                f"the embedded engine has no module {module}, only {', '.join(known)}; use --engine perfetto for others"
            )
        for name in wanted:
            if name not in self._included:
                with self._transaction():  # whole, or not at all where a name is taken
                    for tokens in statements(known[name]):
                        self._run(perfetto_sql.parse(tokens, self._made), None)
                self._included.add(name)
                self._protected.update(re.findall(r"CREATE VIEW (\w+)", known[name]))

    def _create_function(self, function: perfetto_sql.Function, time_limit_s: float | None) -> None:
        before = self._functions.find(function.name)
        self._functions.make(function)
        try:
            self._plan(function.body, time_limit_s, function.parameters)
        except UsageError:
            if not self._watch.lost:
                self._functions.put(function.name, before)
            raise

    def _extract_arg(self, set_id: int | None, key: str) -> Value:
        return self._filler.values(key).get(set_id) if set_id is not None else None

    def _columns(self) -> set[str]:
        """Return the names of the columns of all tables and views."""
        found: set[str] = set()
        for table in self.tables():
            name = table.replace('"', '""')
            with suppress(sqlite3.Error):  # a view whose table is gone
                found.update(str(row[1]) for row in self._connection.execute(f'PRAGMA table_xinfo("{name}")'))
        return found

    def _explain(self, error: BaseException) -> UsageError:
        """Say in one line what is wrong with a statement."""
        if self._refused:
            return UsageError(f"queries may only read: {self._refused[0]} is refused")
        text = str(error).partition("\n")[0]
        if isinstance(error, MemoryError) or text == "out of memory":
            return UsageError("the query needs more memory than it may take; ask for less at once, or write it shorter")
        if text.startswith("no such table: "):
            table = text.removeprefix("no such table: ")
            home = next(
                (name for name, module in _modules().items() if re.search(rf"VIEW {re.escape(table)}\b", module)), None
            )
            hint = f"INCLUDE PERFETTO MODULE {home} first" if home else f"there are {', '.join(self.tables())}"
            return UsageError(f"no such table: {table}; {hint}")
        if text.startswith("no such column: "):
            near = get_close_matches(text.rpartition(" ")[2].rpartition(".")[2], self._columns(), 3)
            hint = f"; near: {', '.join(near)}" if near else ""
            return UsageError(f"the query cannot run: {text}{hint}")
        if "binding" in text.lower():
            return UsageError("the query has a parameter, such as ? or $x, as only functions have; write the value")
        if "user-defined " in text:
            return UsageError(
                "a function of the query failed: it got a value it cannot take, has a pattern that takes too long, or calls itself without end"
            )
        return UsageError(f"the query cannot run: {text}")


def _lenient(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _modules() -> dict[str, str]:
    """Return the modules that can be included: name to SQL."""
    folder = resources.files("tracegap.sql") / "modules"
    return {
        f"{part.name}.{file.name.removesuffix('.sql')}": file.read_text("utf-8")
        for part in sorted(folder.iterdir(), key=lambda one: one.name)
        for file in sorted(part.iterdir(), key=lambda one: one.name)
        if file.name.endswith(".sql")
    }

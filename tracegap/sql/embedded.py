"""The embedded engine: SQLite with Perfetto's tables, filled from the trace as far as a query reads it.

A query is planned first (EXPLAIN) on whatever stands in the tables already; the plan names the tables and columns it will
read, these are filled, and then it runs. The database is a private temporary one: it goes to disk when it outgrows the
cache, and away when the engine closes.
"""

import re
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from tracegap.errors import UsageError
from tracegap.source import Source
from tracegap.sql import Engine, guard, perfetto_sql
from tracegap.sql.filling import Filler
from tracegap.sql.functions import Relatives, register, register_relatives
from tracegap.sql.result import QueryResult
from tracegap.sql.schema import DETAIL, OWN_TABLES, SEARCHED, TABLES
from tracegap.sql.tokens import statements

if TYPE_CHECKING:
    from tracegap.timeline import Timeline

TIME_LIMIT_S = 60.0

_NEEDS = {  # functions that read tables behind SQLite's back
    "extract_arg": ("args",),
    "trace_start": ("slice",),
    "trace_end": ("slice",),
    "trace_dur": ("slice",),
    **{name: ("slice", table) for name, table in perfetto_sql.TABLE_FUNCTIONS.values()},
}
_MAX_DEPTH = 50  # functions of the user that call functions of the user


class EmbeddedEngine(Engine):
    """SQL over one trace; a context manager.

    Parameters
    ----------
    source : Source
    timeline : callable returning Timeline
        Asked once, when a query first reads a table of ours.
    """

    def __init__(self, source: Source, timeline: "Callable[[], Timeline]") -> None:
        self._source = source
        self._connection = sqlite3.connect("", isolation_level=None, cached_statements=0)
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
        self._filler = Filler(self._connection, source, timeline)
        self._made: dict[str, perfetto_sql.Macro | perfetto_sql.TableFunction] = {}
        self._functions: set[str] = set()
        self._included: set[str] = set()
        self._arguments: dict[str, dict[int, Any]] = {}
        self._depth = 0
        register(self._connection, self._filler.bounds)
        register_relatives(self._connection, Relatives(self._connection))
        self._connection.create_function("extract_arg", 2, self._extract_arg, deterministic=True)

    def close(self) -> None:
        """Let the database go."""
        self._connection.close()

    def query(self, sql: str, *, time_limit_s: float | None = TIME_LIMIT_S) -> QueryResult:
        """Run one or more statements; the rows are those of the last.

        Raises
        ------
        UsageError
            When a statement is wrong, refused, or runs past the limit; the text is one line.
        """
        result = QueryResult((), ())
        for tokens in statements(sql):
            command = perfetto_sql.parse(tokens, self._made)
            result = self._run(command, time_limit_s)
        return result

    def tables(self) -> tuple[str, ...]:
        """Return the names of all tables and views, the user's too."""
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return tuple(name for (name,) in names if not name.startswith(("__", "sqlite_")))

    def _run(self, command: perfetto_sql.Command, time_limit_s: float | None) -> QueryResult:
        match command:
            case perfetto_sql.Include(module):
                self._include(module)
            case perfetto_sql.Macro(name):
                self._made[f"{name}!"] = command
            case perfetto_sql.TableFunction(name, replace=replace):
                self._claim(name, replace=replace)
                self._made[name] = command
            case perfetto_sql.Function():
                self._create_function(command)
            case perfetto_sql.Statement(sql, drops):
                if drops:
                    self._execute(f"DROP {drops}", time_limit_s)
                return self._execute(sql, time_limit_s)
        return QueryResult((), ())

    def _execute(self, sql: str, time_limit_s: float | None) -> QueryResult:
        self._prepare(sql)
        self._refused.clear()
        self._connection.set_authorizer(self._authorizer)
        try:
            with guard.deadline(self._connection, time_limit_s):
                cursor = self._connection.execute(sql)
                rows = cursor.fetchmany(guard.MAX_ROWS)
                if cursor.fetchone() is not None:
                    raise UsageError(
                        f"the query answers more than {guard.MAX_ROWS:,} rows; add a LIMIT, or sum them up"
                    )
                names = tuple(column[0] for column in cursor.description or ())
        except (sqlite3.Error, sqlite3.Warning, OverflowError, MemoryError, RecursionError) as error:
            raise self._explain(error) from error
        finally:
            self._connection.set_authorizer(None)
        return QueryResult(names, tuple(rows))

    def _prepare(self, sql: str, parameters: Sequence[str] = ()) -> None:
        """Fill what the statement reads."""
        roots = dict(self._connection.execute("SELECT rootpage, name FROM sqlite_master WHERE rootpage > 0"))
        owner = dict(self._connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE rootpage > 0"))
        self._refused.clear()
        self._connection.set_authorizer(self._authorizer)
        try:
            plan = self._connection.execute(f"EXPLAIN {sql}", dict.fromkeys(parameters)).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise self._explain(error) from error
        finally:
            self._connection.set_authorizer(None)
        needed: set[str] = set()
        searched: set[tuple[str, str]] = set()
        cursors: dict[int, str] = {}
        for _, operation, cursor, place, _, text, *_ in plan:
            if operation in ("OpenRead", "ReopenIdx") and place in roots:
                cursors[cursor] = owner[roots[place]]
                needed.add(owner[roots[place]])
            elif operation == "Column" and cursor in cursors:
                column = cursors[cursor], self._column(cursors[cursor], place)
                searched.update({column}.intersection(SEARCHED))
                if column in DETAIL:
                    needed.add("args")
            elif operation in ("Function", "PureFunc", "AggStep", "Count"):
                name = str(text).partition("(")[0]
                needed.update(_NEEDS.get(name, ()))
                if name.startswith("__"):  # ancestors and their like
                    searched.update(SEARCHED)
            if operation == "Count" and cursor in cursors:
                needed.add(cursors[cursor])
        for part in self._filler.parts:
            if part in needed:
                self._filler.fill(part)
        for table, one in searched:
            self._filler.index(table, one)

    def _column(self, table: str, place: int) -> str:
        stored = [row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")]
        return str(stored[place]) if place < len(stored) else ""

    def _include(self, module: str) -> None:
        known = _modules()
        wanted = [name for name in known if re.fullmatch(re.escape(module).replace(r"\*", ".*"), name)]
        if not wanted:
            raise UsageError(
                f"the embedded engine has no module {module}, only {', '.join(known)}; use --engine perfetto for others"
            )
        for name in wanted:
            if name not in self._included:
                for tokens in statements(known[name]):
                    self._run(perfetto_sql.parse(tokens, self._made), None)
                self._included.add(name)
                self._protected.update(re.findall(r"CREATE VIEW (\w+)", known[name]))

    def _create_function(self, function: perfetto_sql.Function) -> None:
        self._claim(function.name, replace=function.replace)
        self._connection.create_function(function.name, len(function.parameters), partial(self._call, function))
        self._prepare(function.body, function.parameters)

    def _claim(self, name: str, *, replace: bool) -> None:
        """Take a name for a function of the user."""
        if name in self._functions and not replace:
            raise UsageError(f"the function {name} exists already; say CREATE OR REPLACE PERFETTO FUNCTION")
        self._functions.add(name)
        self._made.pop(name, None)

    def _call(self, function: perfetto_sql.Function, *values: Any) -> Any:
        if self._depth >= _MAX_DEPTH:
            raise RecursionError(function.name)
        self._depth += 1
        try:
            row = self._connection.execute(
                function.body, dict(zip(function.parameters, values, strict=True))
            ).fetchone()
        finally:
            self._depth -= 1
        return row[0] if row else None

    def _extract_arg(self, set_id: int | None, key: str) -> Any:
        values = self._arguments.get(key)
        if values is None:
            rows = self._connection.execute(
                "SELECT arg_set_id, coalesce(int_value, string_value, real_value) FROM args WHERE key = ?", (key,)
            )
            values = self._arguments[key] = dict(rows.fetchall())
        return values.get(set_id) if set_id is not None else None

    def _explain(self, error: BaseException) -> UsageError:
        """Say in one line what is wrong with a statement."""
        if self._refused:
            return UsageError(f"queries may only read: {self._refused[0]} is refused")
        text = str(error).partition("\n")[0]
        if text.startswith("no such table: "):
            table = text.removeprefix("no such table: ")
            home = next((name for name, module in _modules().items() if re.search(rf"VIEW {table}\b", module)), None)
            hint = f"INCLUDE PERFETTO MODULE {home} first" if home else f"there are {', '.join(self.tables())}"
            return UsageError(f"no such table: {table}; {hint}")
        if "user-defined function" in text:
            return UsageError(
                "a function of the query failed: it got a value it cannot take, or calls itself without end"
            )
        return UsageError(f"the query cannot run: {text}")


def _modules() -> dict[str, str]:
    """Return the modules that can be included: name to SQL."""
    folder = resources.files("tracegap.sql") / "modules"
    return {
        f"{part.name}.{file.name.removesuffix('.sql')}": file.read_text("utf-8")
        for part in sorted(folder.iterdir(), key=lambda one: one.name)
        for file in sorted(part.iterdir(), key=lambda one: one.name)
        if file.name.endswith(".sql")
    }

"""Functions that a user makes with CREATE PERFETTO FUNCTION: which there are, and SQLite's side of those that give one value."""

import sqlite3
from functools import partial
from typing import Any

from tracegap.errors import UsageError
from tracegap.sql.perfetto_sql import TABLE_FUNCTIONS, Function, Macro, TableFunction

_MAX_DEPTH = 50  # functions that call functions


class UserFunctions:
    """The functions of one engine; names are alike in any letter case.

    Parameters
    ----------
    connection : sqlite3.Connection
        With all functions of the engine's own.
    made : dict
        Where functions that give rows are put, for `tracegap.sql.perfetto_sql.parse`.
    """

    def __init__(self, connection: sqlite3.Connection, made: dict[str, Macro | TableFunction]) -> None:
        self._connection = connection
        self._made = made
        self._functions: dict[str, Function | TableFunction] = {}
        names = connection.execute("SELECT name FROM pragma_function_list")
        self._builtin = {name for (name,) in names}.union(TABLE_FUNCTIONS)
        self._depth = 0

    def find(self, name: str) -> Function | TableFunction | None:
        """Return a function by its name."""
        return self._functions.get(name.lower())

    def make(self, function: Function | TableFunction) -> None:
        """Add a function, whose name nothing else may have.

        Raises
        ------
        UsageError
            When it has.
        """
        name = function.name.lower()
        if name in self._functions and not function.replace:
            raise UsageError(f"the function {function.name} exists already; say CREATE OR REPLACE PERFETTO FUNCTION")
        if name not in self._functions and (name.startswith("__") or name in self._builtin):
            raise UsageError(f"the function {function.name} is one of the engine's own; choose another name")
        self.put(name, function)

    def put(self, name: str, function: Function | TableFunction | None) -> None:
        """Put a function in the place of what has its name, None for none."""
        before = self._functions.pop(name.lower(), None)
        if isinstance(before, Function):
            self._connection.create_function(before.name, len(before.parameters), None)
        elif before is not None:
            del self._made[before.name]
        if isinstance(function, TableFunction):
            self._made[function.name] = function
        elif function is not None:
            try:
                self._connection.create_function(function.name, len(function.parameters), partial(self._call, function))
            except sqlite3.Error as error:
                raise UsageError(
                    f"the function {function.name[:50]} cannot be made: its name is too long, or it has too many arguments"
                ) from error
        if function is not None:
            self._functions[name.lower()] = function

    def _call(self, function: Function, *values: Any) -> Any:
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

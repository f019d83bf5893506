"""The real engine: Perfetto's trace processor, run by the PyPI package `perfetto` and asked over loopback.

Its binary is the package's own pinned download, or the one whose path is given. Times there are doubles of µs turned to ns
(docs/reference/sql.md), so our tables find their slices by name and rounded time.
"""

import math
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cached_property
from itertools import islice
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING, Any

from tracegap.decode import decode
from tracegap.errors import FormatError, SourceError, UsageError
from tracegap.source import Source
from tracegap.sql import Engine
from tracegap.sql.guard import too_long
from tracegap.sql.importing import NO_NAME, Import, build
from tracegap.sql.result import QueryResult
from tracegap.sql.schema import OWN_TABLES
from tracegap.sql.tokens import tokenize

if TYPE_CHECKING:
    from tracegap.sql.own import Analysed
    from tracegap.timeline import Timeline, Window

_OPTION = "--trace-processor"
_STDERR, _ADVICE = "\nstderr: ", "\nIf this is a slow machine"
"""What stands around the program's own words where the package says that it did not start."""

_BATCH = 500  # rows an INSERT: well under SQLite's limit of a statement's length


class PerfettoEngine(Engine):
    """Perfetto's trace processor with one trace loaded; a context manager.

    Parameters
    ----------
    source : Source
    look : callable returning (Timeline, Window)
        Asked once, when a query first names a table of ours.
    shell : Path, optional
        The ``trace_processor_shell`` to run; by default the package downloads its own.

    Raises
    ------
    SourceError
        When the trace processor cannot be had or started.
    FormatError
        When it does not load the trace.
    """

    def __init__(
        self, source: Source, look: "Callable[[], tuple[Timeline, Window]]", *, shell: Path | None = None
    ) -> None:
        if shell is not None and not shell.is_file():
            raise SourceError(f"{_OPTION} {shell}: there is no such file")
        if shell is not None and not os.access(shell, os.X_OK):
            raise SourceError(f"{_OPTION} {shell}: may not be run; make it executable")
        self._source = source
        self._look = look
        self._own: set[str] = set()
        self._processor = _start(source, shell)
        try:
            self.query("SELECT id FROM slice LIMIT 0")
        except UsageError as error:  # the client keeps silent about a trace that ends too early
            self.close()
            raise FormatError(f"{source.name}: Perfetto's trace processor does not load it ({error})") from error

    def close(self) -> None:
        """Stop the trace processor."""
        self._processor.close()

    def query(self, sql: str, *, time_limit_s: float | None = None) -> QueryResult:
        """Run statements; the rows are those of the last.

        Raises
        ------
        UsageError
            When a statement is wrong, or runs past the limit, which ends the trace processor.
        """
        named = {token.name for token in tokenize(sql)}
        for table in OWN_TABLES:
            if table in named and table not in self._own:
                self._create(table)
                self._own.add(table)
        return self._ask(sql, time_limit_s)

    def tables(self) -> tuple[str, ...]:
        """Return the names of the tables and views that a query may read without INCLUDE."""
        names = self.query("SELECT name FROM perfetto_tables UNION SELECT name FROM sqlite_master ORDER BY 1")
        return tuple(name for (name,) in names if not str(name).startswith(("__", "_", "sqlite_")))

    def _ask(self, sql: str, time_limit_s: float | None) -> QueryResult:
        from perfetto.trace_processor.api import TraceProcessorException

        late: list[bool] = []

        def stop() -> None:
            late.append(True)
            self._processor.close()

        timer = threading.Timer(time_limit_s or 0, stop)
        if time_limit_s is not None:
            timer.start()
        try:
            answer = self._processor.query(sql)
            columns = tuple(answer.column_names)
            cells = iter(answer.cells)  # rows of the client lose all but one of the columns of one name
            return QueryResult(columns, tuple(zip(*[cells] * len(columns), strict=True)))
        except TraceProcessorException as error:
            raise UsageError(f"the query cannot run: {_last_line(str(error))}") from error
        except Exception as error:
            if late:
                raise too_long(time_limit_s) from error
            why = _last_line(str(error)) or type(error).__name__
            raise UsageError(
                f"the trace processor does not answer ({why}); it may be out of memory, or the query too big"
            ) from error
        finally:
            timer.cancel()

    def _create(self, table: str) -> None:
        """Make one of our tables there, with the slice ids that are valid there."""
        from tracegap.sql.own import ROWS

        columns = OWN_TABLES[table]
        imported, ids = self._matched
        slices = [name.endswith("slice_id") for name in columns]
        rows = (
            [ids.get(value) if is_slice else value for value, is_slice in zip(row, slices, strict=True)]
            for row in ROWS[table](self._analysed, imported)
        )
        batch = list(islice(rows, _BATCH))  # what cannot be worked out is said before there is a table
        self._ask(f"CREATE TABLE {table} ({', '.join(columns)})", None)
        while batch:
            values = ", ".join(f"({', '.join(map(_literal, row))})" for row in batch)
            self._ask(f"INSERT INTO {table} VALUES {values}", None)
            batch = list(islice(rows, _BATCH))

    @cached_property
    def _analysed(self) -> "Analysed":
        from tracegap.sql.own import Analysed

        return Analysed(self._look)

    @cached_property
    def _matched(self) -> tuple[Import, dict[int, int]]:
        """The trace by the embedded engine's rules, and its slices there: same name and rounded time, in order."""
        imported = build(decode(self._source, {}))
        there: defaultdict[tuple[str, int, int], list[int]] = defaultdict(list)
        for number, ts, dur, name in self._ask("SELECT id, ts, dur, name FROM slice ORDER BY id DESC", None):
            there[name, ts, dur].append(number)
        strings = [*imported.events.strings, ""]
        columns = zip(imported.start.tolist(), imported.duration.tolist(), imported.name.tolist(), strict=True)
        found = {}
        for number, (start, length, name) in enumerate(columns):
            known = there.get((strings[name] or NO_NAME, _rounded(start), _rounded(length)))
            if known:
                found[number] = known.pop()
        return imported, found


def _start(source: Source, shell: Path | None) -> Any:
    from perfetto.trace_processor.api import TraceProcessor, TraceProcessorConfig, TraceProcessorException

    def pieces() -> Iterator[bytes]:
        yield from source.stream()

    config = TraceProcessorConfig(bin_path=None if shell is None else str(shell))
    try:
        with redirect_stdout(sys.stderr):  # the package prints what it downloads
            return TraceProcessor(trace=pieces(), config=config)
    except TraceProcessorException as error:
        if _STDERR not in str(error):
            reason = _last_line(str(error))
            raise FormatError(f"{source.name}: Perfetto's trace processor does not load it ({reason})") from error
        said = _last_line(str(error).partition(_STDERR)[2].rpartition(_ADVICE)[0]) or "no answer"
        raise SourceError(f"Perfetto's trace processor does not start ({said}): name another with {_OPTION}") from error
    except Exception as error:  # of the download, the connection: whatever the package runs into
        failed = "the download failed" if isinstance(error, CalledProcessError) else _last_line(str(error))
        raise SourceError(
            f"Perfetto's trace processor cannot be had ({failed or type(error).__name__}): download "
            f"trace_processor_shell elsewhere and name it with {_OPTION}, or leave --engine perfetto out"
        ) from error


def _rounded(ns: int) -> int:
    """Round as the trace processor does: µs as a double, times 1000, half away from zero."""
    value = ns / 1000 * 1000
    return math.floor(value) + (value % 1 >= 0.5) if value >= 0 else -1


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)

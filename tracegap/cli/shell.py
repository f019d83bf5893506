"""The conversation of ``tracegap query --interactive``: statements in, tables out, until the end of input."""

import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracegap.cli.output import write
from tracegap.errors import TracegapError, UsageError
from tracegap.renderers.names import printable
from tracegap.sql import Engine
from tracegap.sql.formats import to_table
from tracegap.sql.named import listing, named_query

_LEAVE = (".quit", ".exit", "quit", "exit")

_HELP = """\
A statement ends with ; and may run over several lines.
.tables        what can be queried
.schema TABLE  the columns of a table
.queries       the ready queries
.run NAME      run a ready query
.help          this
.quit          leave, as does the end of input
"""


def converse(engine: Engine, trace: str, *, time_limit_s: float | None) -> None:
    """Read statements from stdin and write their rows to stdout until the input ends; errors do not end it.

    What stands behind the last ``;`` is run at the end. A terminal is asked with a prompt, a pipe is not.
    """
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="surrogateescape")  # refused with the statement they are in
    first, further = ("sql> ", "     … ") if sys.stdin.isatty() else ("", "")
    with _history():
        waiting = ""
        print(f"{printable(trace)}: type SQL, or .help", file=sys.stderr)
        while True:
            try:
                line = input(further if waiting else first)
            except EOFError:
                if waiting:
                    with _going_on():
                        _run(engine, waiting, time_limit_s)
                return
            except KeyboardInterrupt:
                print(file=sys.stderr)
                waiting = ""
                continue
            if not waiting and line.strip() in _LEAVE:
                return
            if not waiting and (line.strip().startswith(".") or line.strip() == "help"):
                with _going_on():
                    _answer(engine, line.split(), time_limit_s)
                continue
            waiting += line + "\n"
            if _is_complete(waiting):
                with _going_on():
                    _run(engine, waiting, time_limit_s)
                waiting = ""
            elif not waiting.strip():
                waiting = ""


def _is_complete(text: str) -> bool:
    """Whether text ends with a semicolon that stands in no quotes and no comment."""
    return sqlite3.complete_statement(text.encode("utf-8", "replace").decode().replace("\0", " "))


def _answer(engine: Engine, words: list[str], time_limit_s: float | None) -> None:
    """Do a command that begins with a dot."""
    match words:
        case [".tables"]:
            _list(engine.tables())
        case [".schema", table]:
            _list(_columns(engine, table))
        case [".queries"]:
            _list(listing())
        case [".run", name]:
            _run(engine, named_query(name).sql, time_limit_s)
        case [".help" | "help"]:
            write(_HELP, None)
        case _:
            raise UsageError(f"{' '.join(words)} is no command; .help lists them")


def _list(lines: Iterable[str]) -> None:
    write("".join(f"{printable(line)}\n" for line in lines), None)


def _columns(engine: Engine, table: str) -> tuple[str, ...]:
    quoted = table.replace("'", "''")
    columns = engine.query(f"PRAGMA table_xinfo('{quoted}')")["name"]
    if not columns:
        raise UsageError(f"no such table: {table}; .tables lists them")
    return columns


def _run(engine: Engine, sql: str, time_limit_s: float | None) -> None:
    write(to_table(engine.query(sql, time_limit_s=time_limit_s)), None)


@contextmanager
def _going_on() -> Iterator[None]:
    """Say what went wrong, and let the conversation go on."""
    try:
        yield
    except TracegapError as error:
        print(printable(str(error)), file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)


@contextmanager
def _history() -> Iterator[None]:
    """Keep the lines typed at a terminal in ``~/.tracegap_history``, where Python has readline and the user a home."""
    try:
        import readline

        file = Path("~/.tracegap_history").expanduser()
    except (ImportError, RuntimeError):
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    readline.set_history_length(1000)
    with suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        with suppress(OSError):
            readline.write_history_file(file)

"""The conversation of ``tracegap query --interactive``: statements in, tables out, until the end of input."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracegap.errors import TracegapError
from tracegap.renderers.names import printable
from tracegap.sql import Engine
from tracegap.sql.formats import to_table
from tracegap.sql.named import named_queries, named_query

_HELP = """\
A statement ends with ; and may run over several lines.
.tables        what can be queried
.queries       the ready queries
.run NAME      run a ready query
.help          this
.quit          leave, as does the end of input
"""


def converse(engine: Engine, trace: str, *, time_limit_s: float | None) -> None:
    """Read statements from stdin and write their rows to stdout until the input ends; errors do not end it."""
    with _history():
        waiting = ""
        print(f"{printable(trace)}: type SQL, or .help", file=sys.stderr)
        while True:
            try:
                line = input("     … " if waiting else "sql> ")
            except EOFError:
                return
            except KeyboardInterrupt:
                print(file=sys.stderr)
                waiting = ""
                continue
            if not waiting and line.strip().startswith("."):
                if line.strip() in (".quit", ".exit"):
                    return
                _answer(engine, line.split(), time_limit_s)
                continue
            waiting += line + "\n"
            if waiting.rstrip().endswith(";"):
                _run(engine, waiting, time_limit_s)
                waiting = ""
            elif not waiting.strip():
                waiting = ""


def _answer(engine: Engine, words: list[str], time_limit_s: float | None) -> None:
    """Do a command that begins with a dot."""
    match words:
        case [".tables"]:
            print("\n".join(engine.tables()))
        case [".queries"]:
            print("\n".join(f"{query.name}  {query.text}" for query in named_queries()))
        case [".run", name]:
            try:
                _run(engine, named_query(name).sql, time_limit_s)
            except TracegapError as error:
                print(printable(str(error)), file=sys.stderr)
        case _:
            print(_HELP, end="")


def _run(engine: Engine, sql: str, time_limit_s: float | None) -> None:
    try:
        result = engine.query(sql, time_limit_s=time_limit_s)
    except TracegapError as error:
        print(printable(str(error)), file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    else:
        print(to_table(result), end="")


@contextmanager
def _history() -> Iterator[None]:
    """Keep the lines typed at a terminal in ``~/.tracegap_history``, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    file = Path("~/.tracegap_history").expanduser()
    kept = sys.stdin.isatty()
    if kept:
        readline.set_history_length(1000)
        with suppress(OSError):
            readline.read_history_file(file)
    try:
        yield
    finally:
        if kept:
            with suppress(OSError):
                readline.write_history_file(file)

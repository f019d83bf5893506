"""``tracegap query TRACE SQL``: SQL over a trace."""

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import apart, created, status, write
from tracegap.errors import UsageError
from tracegap.renderers.names import printable

if TYPE_CHECKING:
    from tracegap.sql import QueryResult

NAME = "query"


def _formats() -> list[str]:
    from tracegap.sql.formats import FILE_FORMATS, TEXT_FORMATS

    return [*TEXT_FORMATS, *FILE_FORMATS]


def _names() -> list[str]:
    from tracegap.sql.named import named_queries

    return [query.name for query in named_queries()]


def run(
    trace: Annotated[str | None, typer.Argument(metavar="TRACE", help="A trace, as for analyze.")] = None,
    sql: Annotated[str | None, typer.Argument(metavar="SQL", help="Statements; - or nothing reads stdin.")] = None,
    *,
    file: Annotated[Path | None, typer.Option("-f", "--file", metavar="FILE", help="Read the SQL from a file.")] = None,
    named: Annotated[
        str | None, typer.Option("--named", metavar="NAME", help="Run a ready query.", autocompletion=_names)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the ready queries and what they answer.")] = False,
    interactive: Annotated[bool, typer.Option("--interactive", help="Ask one query after the other.")] = False,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="table|csv|json|md|parquet|arrow",
            help="How to write the rows.  [default: table]",
            autocompletion=_formats,
        ),
    ] = None,
    output: options.Output = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="embedded|perfetto", help="SQLite, or Perfetto's own trace processor.")
    ] = "embedded",
    trace_processor: Annotated[
        Path | None,
        typer.Option(
            "--trace-processor",
            metavar="PATH",
            envvar="TRACEGAP_TRACE_PROCESSOR",
            help="The trace_processor_shell to run, where it cannot be downloaded.",
        ),
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="Stop a query after that; 0 for never.", min=0)
    ] = 60.0,
    steps: options.Steps = None,
    between: options.Between = None,
    whole: options.Whole = False,
    step_name: options.StepName = None,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Run SQL over a trace, with Perfetto's tables."""
    if list_:
        if format not in (None, "table"):
            raise UsageError("--list writes a text: leave out --format")
        apart(output)
        write(_listing(), output)
        return
    if trace is None:
        raise UsageError("name a trace to query, or --list the ready queries")
    apart(output, trace, file)
    if interactive and (sql, file, named) != (None, None, None):
        raise UsageError("--interactive reads the SQL from the terminal: leave out the other SQL, or --interactive")
    if interactive and trace == "-":
        raise UsageError("trace and SQL cannot both come from stdin: give the name of a file")
    if interactive and (output is not None or format not in (None, "table")):
        raise UsageError("--interactive shows tables on the terminal: leave out --format and -o, or --interactive")
    name = _format(format, output)
    limit = options.size(max_bytes)
    text = "" if interactive else _sql(trace, sql, file, named)
    from tracegap.sql import open_engine
    from tracegap.sql.guard import limit_process
    from tracegap.sql.schema import WINDOWED
    from tracegap.sql.tokens import statements

    if engine == "embedded":
        limit_process()
    if not interactive and not statements(text):
        raise UsageError("the SQL has no statement: write one, or say --named NAME")

    if (
        not interactive
        and (steps, between, whole) != (None, None, False)
        and not any(table in text.lower() for table in WINDOWED)
    ):
        raise UsageError(
            f"--steps, --between and --whole are for {', '.join(sorted(WINDOWED))}, of which the query reads none: "
            "join one of them, or bound step or ts yourself"
        )
    seconds = time_limit if 0 < time_limit <= threading.TIMEOUT_MAX else None
    with open_engine(
        trace,
        engine=engine,
        trace_processor=trace_processor,
        steps=options.step_range(steps),
        between=options.time_range(between),
        whole=whole,
        dialect=dialect,
        step_name=step_name,
        max_bytes=limit,
    ) as opened:
        if interactive:
            from tracegap.cli.shell import converse

            converse(opened, trace, time_limit_s=seconds)
            return
        with status(f"querying {trace}"):
            result = opened.query(text, time_limit_s=seconds)
    _write(result, name, output)


def _listing() -> str:
    from tracegap.sql.named import listing

    return "".join(f"{line}\n" for line in listing())


def _sql(trace: str, sql: str | None, file: Path | None, named: str | None) -> str:
    """Return the SQL from where it was given; exactly one place may give it."""
    given = [place for place in (sql, file, named) if place is not None]
    if len(given) > 1:
        raise UsageError("give the SQL once: behind the trace, with -f, or with --named")
    if named is not None:
        from tracegap.sql.named import named_query

        return named_query(named).sql
    if file is not None:
        try:
            return file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"-f {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if sql is not None and sql != "-":
        if sql.endswith(".sql") and Path(sql).is_file():
            raise UsageError(f"{sql} is a file: run what is in it with -f {sql}")
        return sql
    if trace == "-":
        raise UsageError("trace and SQL cannot both come from stdin: give the SQL behind the trace, or with -f")
    if sql is None and sys.stdin.isatty():
        raise UsageError("no SQL: write it behind the trace, or say -f FILE, --named NAME or --interactive")
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"the SQL on stdin is not UTF-8: {error}") from error


def _format(format: str | None, output: Path | None) -> str:
    """Return the format: the one asked for, else the file's, else a table; one that can be written, before any work."""
    from tracegap.sql.formats import FILE_FORMATS, SUFFIXES
    from tracegap.sql.result import needed

    name = format
    if name is None:
        suffix = "" if output is None else output.suffix
        name = SUFFIXES.get(suffix.lower()) if suffix else "table"
        if name is None:
            raise UsageError(f"-o {output}: the suffix {suffix} names no format, say --format")
    if name not in _formats():
        raise UsageError(f"--format {format}: choose one of {', '.join(_formats())}")
    if name in FILE_FORMATS:
        if output is None:
            raise UsageError(f"--format {name} needs a file: say -o FILE")
        with needed("pyarrow", extra="arrow"):
            import pyarrow  # noqa: F401
    return name


def _write(result: "QueryResult", format: str, output: Path | None) -> None:
    from tracegap.sql.formats import FILE_FORMATS, TEXT_FORMATS

    if output is not None and format in FILE_FORMATS:
        with created(output, packed=False) as file:
            FILE_FORMATS[format](result, file)
        return
    text = TEXT_FORMATS[format](result)
    if output is None and sys.stdout.isatty():  # CSV and JSON hold names as they are, and those must not act there
        text = "\n".join(map(printable, text.split("\n")))
    write(text, output)

"""``tracegap query TRACE SQL``: SQL over a trace."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import apart, status, write
from tracegap.errors import UsageError

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
    step_name: options.StepName = None,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Run SQL over a trace, with Perfetto's tables."""
    if list_:
        write(_listing(), output)
        return
    if trace is None:
        raise UsageError("name a trace to query, or --list the ready queries")
    apart(output, trace)
    name = _format(format, output)
    limit = options.size(max_bytes)
    text = "" if interactive else _sql(trace, sql, file, named)
    from tracegap.sql import open_engine

    seconds = time_limit or None
    with open_engine(
        trace,
        engine=engine,
        trace_processor=trace_processor,
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
    from tracegap.sql.named import named_queries

    queries = named_queries()
    width = max(len(query.name) for query in queries)
    return "".join(f"{query.name:{width}}  {query.text}\n" for query in queries)


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
        return sql
    if trace == "-":
        raise UsageError("trace and SQL cannot both come from stdin: give the SQL behind the trace, or with -f")
    if sql is None and sys.stdin.isatty():
        raise UsageError("no SQL: write it behind the trace, or say -f FILE, --named NAME or --interactive")
    return sys.stdin.read()


def _format(format: str | None, output: Path | None) -> str:
    from tracegap.sql.formats import FILE_FORMATS

    known = _formats()
    name = format or (output.suffix.removeprefix(".") if output is not None and output.suffix else "table")
    if name not in known:
        if format is None:
            return "table"
        raise UsageError(f"--format {format}: choose one of {', '.join(known)}")
    if name in FILE_FORMATS and output is None:
        raise UsageError(f"--format {name} needs a file: say -o FILE")
    return name


def _write(result: "QueryResult", format: str, output: Path | None) -> None:
    from tracegap.sql.formats import FILE_FORMATS, TEXT_FORMATS

    if format in TEXT_FORMATS:
        write(TEXT_FORMATS[format](result), output)
    elif output is not None:
        try:
            FILE_FORMATS[format](result, output)
        except OSError as error:
            raise UsageError(f"-o {output}: cannot be written: {error.strerror or error}") from error

"""``tracegap export TRACE -o OUT.json.gz``: the trace with what was found drawn in, or its dependency graph."""

from pathlib import Path
from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import apart, created, say, say_written, status
from tracegap.errors import UsageError
from tracegap.units import duration

NAME = "export"

_SUFFIXES = {".json": "perfetto", ".graphml": "graphml", ".dot": "dot", ".gv": "dot"}


def formats() -> list[str]:
    """Return the formats, for completion."""
    return sorted(set(_SUFFIXES.values()))


def run(
    trace: options.Trace,
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to; .gz packs it, .graphml and .dot are graphs."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="perfetto|graphml|dot",
            help="What to write.  [default: perfetto]",
            autocompletion=formats,
        ),
    ] = None,
    steps: options.Steps = None,
    between: options.Between = None,
    whole: options.Whole = False,
    step_name: options.StepName = None,
    strict: options.Strict = False,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Write the trace with critical path, gaps and findings drawn in, for Perfetto; or its dependency graph."""
    if output is None:
        raise UsageError("export: say where to with -o, as -o annotated.json.gz")
    apart(output, trace)
    chosen = _chosen(format, output)
    window = options.step_range(steps), options.time_range(between)
    limit = options.size(max_bytes)
    from tracegap import pipeline
    from tracegap.graphs import check

    check(chosen)
    with status(f"exporting {trace}"), created(output) as file:
        done = pipeline.export(
            trace,
            file,
            format=chosen,
            steps=window[0],
            between=window[1],
            whole=whole,
            dialect=dialect,
            step_name=step_name,
            strict=strict,
            max_bytes=limit,
        )
    if done is None:
        return
    say_written(done)
    say(f"{output}: the critical path of {duration(done.wall_ns)} is in process {done.process}, tracegap")


def _chosen(format: str | None, output: Path) -> str:
    if format is not None:
        return format
    suffixes = [suffix.lower() for suffix in output.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in _SUFFIXES:
        return _SUFFIXES[suffixes[-1]]
    if not suffixes:
        return "perfetto"
    raise UsageError(f"-o {output}: the suffix {suffixes[-1]} names no format, say --format")

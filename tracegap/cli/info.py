"""``tracegap info TRACE``: what is in a trace, and what was wrong with it."""

from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import apart, chosen, emit, status

NAME = "info"


def run(
    context: typer.Context,
    trace: options.Trace,
    *,
    json: Annotated[bool, typer.Option("--json", help="Write it as JSON.")] = False,
    output: options.Output = None,
    step_name: options.StepName = None,
    strict: options.Strict = False,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Show what is in a trace: header, steps, devices, tracks, slices, events, problems and their remedies."""
    apart(output, trace)
    format = "json" if json else chosen(None, output)
    limit = options.size(max_bytes)
    from tracegap import pipeline

    with status(f"reading {trace}"):
        timeline = pipeline.load(trace, dialect=dialect, step_name=step_name, strict=strict, max_bytes=limit)
        report = pipeline.inventory(timeline, command=("tracegap", *context.obj))
    emit(report, format, output)

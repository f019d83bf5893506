"""``tracegap analyze TRACE``: where the time goes."""

from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import apart, chosen, emit, status

NAME = "analyze"


def run(
    context: typer.Context,
    trace: options.Trace,
    *,
    format: options.Format = None,
    output: options.Output = None,
    steps: options.Steps = None,
    between: options.Between = None,
    whole: options.Whole = False,
    step_name: options.StepName = None,
    wall_clock: Annotated[
        str | None, typer.Option("--wall-clock", metavar="MS", help="The time of a step without the profiler.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="MS", help="After how many steps is their mean within this time?")
    ] = None,
    device_limits: options.DeviceLimits = None,
    peak_flops: options.PeakFlops = None,
    peak_bandwidth: options.PeakBandwidth = None,
    counters: options.Counters = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            metavar="NAME",
            help="Only this section, in full; repeatable: steps, stages, gaps, serialisation, critical_path, utilisation, memory, "
            "overhead.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Everything, not one screen.")] = False,
    strict: options.Strict = False,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
    model: options.Model = None,
) -> None:
    """Say where the time of a trace goes: gaps, critical path, overhead."""
    name = chosen(format, output)
    apart(output, trace, model, device_limits, counters)
    window = options.step_range(steps), options.time_range(between)
    clean = options.time("--wall-clock", wall_clock)
    wanted = options.time("--target", target)
    peak = options.rate("--peak-flops", peak_flops), options.rate("--peak-bandwidth", peak_bandwidth)
    limit = options.size(max_bytes)
    from tracegap import pipeline

    pipeline.check_sections(section or ())
    with status(f"reading {trace}"):
        timeline = pipeline.load(
            trace, dialect=dialect, step_name=step_name, strict=strict, max_bytes=limit, model=model
        )
    with status("analysing"):
        report = pipeline.analyze(
            timeline,
            steps=window[0],
            between=window[1],
            whole=whole,
            wall_clock_ns=clean,
            target_ns=wanted,
            device_limits=device_limits,
            peak_flops=peak[0],
            peak_bandwidth=peak[1],
            counters=counters,
            sections=section or (),
            full=full,
            command=("tracegap", *context.obj),
        )
        emit(report, name, output)

"""``tracegap whatif TRACE``: how long it would take if something were faster, gone, or done meanwhile."""

from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import apart, chosen, emit, status
from tracegap.errors import UsageError
from tracegap.units import nanoseconds

NAME = "whatif"


def run(
    context: typer.Context,
    trace: options.Trace,
    *,
    scale: Annotated[
        list[str] | None,
        typer.Option("--scale", metavar="NAME=FACTOR", help="Multiply the work of a name: 0.5 is twice as fast."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=TIME", help="Let each slice of a name take a time: 5ms.")
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            "--remove", metavar="NAME", help="Take slices away, with what they hold, launched and waited for."
        ),
    ] = None,
    overlap: Annotated[
        list[str] | None,
        typer.Option("--overlap", metavar="A,B", help="Pipeline stages across steps, each on a lane of its own."),
    ] = None,
    speedup_device: Annotated[
        float,
        typer.Option("--speedup-device", metavar="TIMES", help="Make all work of the devices so many times as fast."),
    ] = 1.0,
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="NAME", help="Take a name from all of its work to none.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="TIME", help="By how much must all but --keep, or else --sweep, shrink for it?"
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="NAME", help="On the way to --target this stays as it is.")
    ] = None,
    format: options.Format = None,
    output: options.Output = None,
    steps: options.Steps = None,
    between: options.Between = None,
    whole: options.Whole = False,
    step_name: options.StepName = None,
    full: Annotated[bool, typer.Option("--full", help="Everything, not one screen.")] = False,
    strict: options.Strict = False,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
    model: options.Model = None,
) -> None:
    """Say how long the window would take with changes, by replay. NAME is exact, or a /regular expression/."""
    name = chosen(format, output)
    apart(output, trace, model)
    window = options.step_range(steps), options.time_range(between)
    limit = options.size(max_bytes)
    factors = [_factor(text) for text in scale or ()]
    lengths = [_length(text) for text in set_ or ()]
    wanted = options.time("--target", target)
    from tracegap import pipeline, scenarios

    changes = scenarios.Changes(
        scale=tuple(factors),
        set_ns=tuple(lengths),
        remove=tuple(remove or ()),
        overlap=tuple(_stages(text) for text in overlap or ()),
        speedup_device=speedup_device,
        sweep=sweep,
        target_ns=wanted,
        keep=tuple(keep or ()),
    )
    with status(f"reading {trace}"):
        timeline = pipeline.load(
            trace, dialect=dialect, step_name=step_name, strict=strict, max_bytes=limit, model=model
        )
    with status("replaying"):
        report = pipeline.replay(
            timeline,
            changes,
            steps=window[0],
            between=window[1],
            whole=whole,
            full=full,
            command=("tracegap", *context.obj),
        )
        emit(report, name, output)


def _parts(option: str, text: str, example: str) -> tuple[str, str]:
    """Split at the last =, since names may hold one."""
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise UsageError(f"{option} {text!r}: write a name, = and {example}")
    return name, value


def _factor(text: str) -> tuple[str, float]:
    name, value = _parts("--scale", text, "a factor, as in load_data=0.5")
    try:
        return name, float(value)
    except ValueError:
        raise UsageError(f"--scale {text!r}: {value!r} is no factor; write a number such as 0.5") from None


def _length(text: str) -> tuple[str, int]:
    name, value = _parts("--set", text, "a time, as in load_data=5ms")
    try:
        return name, nanoseconds(value)
    except ValueError as error:
        raise UsageError(f"--set {text!r}: {error}") from None


def _stages(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())

"""Arguments and options that several commands take, and how their values are read."""

from pathlib import Path
from typing import Annotated

import typer

from tracegap.errors import UsageError
from tracegap.units import nanoseconds


def formats() -> list[str]:
    """Return the formats, for completion."""
    from tracegap.renderers import RENDERERS

    return [format.name for format in RENDERERS]


def dialects() -> list[str]:
    """Return the dialects, for completion."""
    from tracegap.dialects import DIALECTS

    return [dialect.NAME for dialect in DIALECTS]


Trace = Annotated[
    str, typer.Argument(metavar="TRACE", help="A trace: a path, a URL, or - for stdin; plain, gzip, zstd or zip.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="text|md|json|html", help="How to write it.  [default: text]", autocompletion=formats
    ),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file; its suffix chooses the format.")
]
Steps = Annotated[
    str | None, typer.Option("--steps", metavar="A:B", help="Only steps A to B, as the trace numbers them.")
]
Between = Annotated[
    str | None, typer.Option("--between", metavar="T:T", help="Only this time, from the trace's start: 10ms:20ms.")
]
Whole = Annotated[bool, typer.Option("--whole", help="The whole trace, not its steps.")]
StepName = Annotated[
    str | None, typer.Option("--step-name", metavar="REGEX", help="Slices with such names are the steps.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Fail where reading loses or repairs anything.")]
Dialect = Annotated[
    str | None,
    typer.Option(
        "--dialect", metavar="NAME", help="The profiler, where it is not recognised.", autocompletion=dialects
    ),
]
MaxBytes = Annotated[
    str | None, typer.Option("--max-bytes", metavar="SIZE", help="How much unpacked JSON to read at most: 16GB.")
]
Model = Annotated[
    Path | None,
    typer.Option("--model", metavar="M.onnx", help="The ONNX model that ran: which node of it needs which."),
]

DeviceLimits = Annotated[
    Path | None,
    typer.Option("--device-limits", metavar="FILE", help="Limits of the devices (of the host without one), as TOML."),
]
PeakFlops = Annotated[
    str | None, typer.Option("--peak-flops", metavar="RATE", help="Their peak in FLOP/s for all types: 128e9.")
]
PeakBandwidth = Annotated[
    str | None, typer.Option("--peak-bandwidth", metavar="RATE", help="Their peak bandwidth in bytes/s: 13e9.")
]
Counters = Annotated[
    Path | None,
    typer.Option("--counters", metavar="FILE", help="What perf stat -x, or perf stat -j counted over the run."),
]

_SIZES = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "kb": 10**3,
    "m": 10**6,
    "mb": 10**6,
    "g": 10**9,
    "gb": 10**9,
    "t": 10**12,
    "tb": 10**12,
}


def step_range(text: str | None) -> tuple[int, int] | None:
    """Read ``--steps``: ``3:7``, or ``5`` for one.

    Examples
    --------
    >>> step_range("3:7"), step_range("5"), step_range(None)
    ((3, 7), (5, 5), None)
    """
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        return int(first), int(last if colon else first)
    except ValueError:
        raise UsageError(f"--steps {text!r}: write two step numbers as A:B, both inclusive") from None


def time_range(text: str | None) -> tuple[int, int] | None:
    """Read ``--between``: two times with a colon between them.

    Examples
    --------
    >>> time_range("10ms:1.5s")
    (10000000, 1500000000)
    """
    if text is None:
        return None
    first, colon, last = text.partition(":")
    try:
        start, end = nanoseconds(first), nanoseconds(last)
    except ValueError:
        start = end = 0
    if not colon or end <= start:
        raise UsageError(f"--between {text!r}: write two times as 10ms:20ms, the earlier one first")
    return start, end


def time(option: str, text: str | None) -> int | None:
    """Read a time that an option gives; a bare number is milliseconds."""
    if text is None:
        return None
    try:
        value = nanoseconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if value <= 0:
        raise UsageError(f"{option} {text!r}: the time must be longer than 0")
    return value


def rate(option: str, text: str | None) -> float | None:
    """Read a rate that an option gives, in units a second.

    Examples
    --------
    >>> rate("--peak-flops", "128e9")
    128000000000.0
    """
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"{option} {text!r}: write a positive number of units a second, as 128e9")
    return value


def size(text: str | None) -> int | None:
    """Read a size in bytes: ``16GB``.

    Examples
    --------
    >>> size("1.5GB"), size("4096")
    (1500000000, 4096)
    """
    if text is None:
        return None
    digits = text.strip().rstrip("bBkKmMgGtT ")
    try:
        value = int(float(digits) * _SIZES[text.strip()[len(digits) :].strip().lower()])
    except (ValueError, KeyError, OverflowError):
        value = 0
    if value <= 0:
        raise UsageError(f"--max-bytes {text!r}: write a size as 16GB or 500MB")
    return value

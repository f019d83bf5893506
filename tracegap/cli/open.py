"""``tracegap open TRACE``: a trace in the Perfetto UI."""

import gzip
import socket
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import say_shift, status

NAME = "open"


def run(
    trace: options.Trace,
    *,
    print_url: Annotated[
        bool,
        typer.Option("--print-url", help="Open no browser; print the link, and the tunnel that it needs from afar."),
    ] = False,
    step_name: options.StepName = None,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Show a trace in the Perfetto UI, critical path and gaps drawn in; ends when the browser has it."""
    limit = options.size(max_bytes)
    from tracegap import pipeline
    from tracegap.renderers.names import printable
    from tracegap.serve import PORT, Shelf

    with tempfile.TemporaryDirectory(prefix="tracegap-") as folder:
        file = Path(folder) / "trace.json.gz"
        with status(f"drawing into {trace}"), gzip.open(file, "wb", compresslevel=1) as packed:
            done = pipeline.export(
                trace,
                packed,  # type: ignore[arg-type]  # typeshed's GzipFile is no BinaryIO
                dialect=dialect,
                step_name=step_name,
                max_bytes=limit,
            )
        if done is not None:
            say_shift(done.shift_us)
        with Shelf(file, _name(trace)) as shelf:
            typer.echo(shelf.link)
            if print_url:
                typer.echo(
                    f"from another machine first: ssh -L {PORT}:127.0.0.1:{PORT} {printable(socket.gethostname())}"
                )
            else:
                typer.launch(shelf.link)
            with status("waiting for the browser to fetch the trace, Ctrl-C ends"):
                shelf.wait()


def _name(trace: str) -> str:
    """Return what the UI shows as the name: the file's own.

    Examples
    --------
    >>> _name("runs/step.json.gz"), _name("-")
    ('step.json.gz', 'trace.json.gz')
    """
    stem = Path(trace).name if trace != "-" else "trace.json"
    return stem if stem.endswith(".gz") else f"{stem}.gz"

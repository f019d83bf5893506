"""``tracegap open TRACE``: a trace in the Perfetto UI."""

import os
import re
import socket
import sys
import tempfile
import threading
from gzip import GzipFile
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import say_written, status
from tracegap.renderers.names import printable

NAME = "open"


def run(
    trace: options.Trace,
    *,
    print_url: Annotated[
        bool,
        typer.Option("--print-url", help="Open no browser; print the link, and the tunnel that it needs from afar."),
    ] = False,
    steps: options.Steps = None,
    between: options.Between = None,
    whole: options.Whole = False,
    step_name: options.StepName = None,
    strict: options.Strict = False,
    dialect: options.Dialect = None,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Show a trace in the Perfetto UI, critical path and gaps drawn in; ends when the browser has it."""
    window = options.step_range(steps), options.time_range(between)
    limit = options.size(max_bytes)
    from tracegap import pipeline
    from tracegap.serve import PORT, Shelf

    # A file without a name is gone whatever ends the program.
    with Shelf(_name(trace)) as shelf, tempfile.TemporaryFile(prefix="tracegap-") as file:
        with (
            status(f"drawing into {trace}"),
            GzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0) as packed,
        ):
            done = pipeline.export(
                trace,
                packed,  # type: ignore[arg-type]  # typeshed's GzipFile is no BinaryIO
                steps=window[0],
                between=window[1],
                whole=whole,
                dialect=dialect,
                step_name=step_name,
                strict=strict,
                max_bytes=limit,
            )
        file.flush()
        if done is not None:
            say_written(done)
        typer.echo(shelf.link)
        if print_url or not _has_screen():
            typer.echo(f"from another machine first: ssh -L {PORT}:127.0.0.1:{PORT} {printable(socket.gethostname())}")
        else:  # beside the server: some browsers come back only when they are closed
            threading.Thread(target=typer.launch, args=(shelf.link,), daemon=True).start()
        with status("waiting for the browser, which may ask to be let in; Ctrl-C ends"):
            shelf.give(mmap(file.fileno(), 0, access=ACCESS_READ))


def _has_screen() -> bool:
    """Return whether a browser can come up here; without a screen, only one that writes into the terminal could."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )


def _name(trace: str) -> str:
    """Return what the UI shows as the name: the file's own, as what it is served as.

    Examples
    --------
    >>> _name("runs/step.json.zst"), _name("-")
    ('step.json.gz', 'trace.json.gz')
    """
    name = Path(trace).name if trace != "-" else "trace.json"
    return f"{re.sub(r'[.](gz|zst|zip)$', '', name, flags=re.IGNORECASE)}.gz"

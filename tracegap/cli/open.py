"""``tracegap open TRACE``: a trace in the Perfetto UI."""

import gzip
import socket
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tracegap.cli import options
from tracegap.cli.output import status

NAME = "open"


def run(
    trace: options.Trace,
    *,
    print_url: Annotated[
        bool,
        typer.Option("--print-url", help="Open no browser; print the link, and the tunnel that it needs from afar."),
    ] = False,
    max_bytes: options.MaxBytes = None,
) -> None:
    """Show a trace in the Perfetto UI: hands it to the browser from this machine, and ends."""
    limit = options.size(max_bytes)
    from tracegap.renderers.names import printable
    from tracegap.serve import PORT, Shelf

    with tempfile.TemporaryDirectory(prefix="tracegap-") as folder:
        file = Path(folder) / "trace.json.gz"
        with status(f"reading {trace}"):
            name = _pack(trace, file, limit)
        with Shelf(file, name) as shelf:
            typer.echo(shelf.link)
            if print_url:
                typer.echo(
                    f"from another machine first: ssh -L {PORT}:127.0.0.1:{PORT} {printable(socket.gethostname())}"
                )
            else:
                typer.launch(shelf.link)
            with status("waiting for the browser to fetch the trace, Ctrl-C ends"):
                shelf.wait()


def _pack(trace: str, file: Path, max_bytes: int | None) -> str:
    """Write the trace as gzip, which the UI reads whatever it was before; return the name to show."""
    from tracegap.source import MAX_BYTES, open_source

    source = open_source(trace, max_bytes=MAX_BYTES if max_bytes is None else max_bytes)
    with gzip.open(file, "wb", compresslevel=1) as packed:
        for piece in source.stream():
            packed.write(piece)
    stem = Path(source.name).name or "trace"
    return stem if stem.endswith(".gz") else f"{stem}.gz"

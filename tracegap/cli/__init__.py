"""The command line: one file a command, `COMMANDS` is the registry. The only place that prints, exits and knows typer.

Exit codes: 0 done · 1 over budget (``check``) · 2 wrong usage or a file that cannot be analysed, with one line on stderr ·
130 interrupted. Any other exception is a bug and shows its traceback.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tracegap.cli import analyze, explain, export, info, open, query, whatif
from tracegap.errors import TracegapError
from tracegap.renderers.names import printable

COMMANDS = (analyze, whatif, info, query, export, open, explain)
_INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended; newer typers return it, older ones raise."""

app = typer.Typer(
    help="Finds where the time goes in the traces of torch.profiler, TensorFlow, JAX and ONNX Runtime.",
    rich_markup_mode=None,  # rich would double the time of --help
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command(command.NAME)(command.run)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the flag
    if asked:
        import tracegap

        typer.echo(f"tracegap {tracegap.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _open_closed_streams()
    sys.exit(_run(arguments))


def _open_closed_streams() -> None:
    """Put something in the place of standard streams that the caller has closed, for which Python has None.

    Standard input has nothing, standard output cannot be written, as a closed one cannot, and messages are lost.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            flags = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))


def _run(arguments: Sequence[str]) -> int:
    try:
        code = typer.main.get_command(app).main(
            list(arguments), prog_name="tracegap", standalone_mode=False, obj=tuple(arguments)
        )
        sys.stdout.flush()
    except TracegapError as error:
        return _fail(str(error))
    except OSError as error:
        _silence()
        where = "reading or writing" if error.filename is None else error.filename
        return _fail(f"{where}: {error.strerror or error}; check paths, permissions, standard output and disk space")
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except MemoryError:
        return _fail("out of memory: analyse a shorter recording, or a machine with more memory")
    except Exception as error:
        if not hasattr(error, "format_message"):  # the parser's own errors, wherever typer keeps them
            raise
        return _fail(_usage(error.format_message(), arguments))
    if code == _INTERRUPTED:
        print("tracegap: interrupted", file=sys.stderr)
    return code if isinstance(code, int) else 0


def _silence() -> None:
    """Let what standard output still holds go nowhere: Python would try again at exit."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(message: str, arguments: Sequence[str]) -> str:
    first = arguments[0] if arguments else ""
    if message.startswith("No such command") and Path(first).exists():
        return f"{first!r} is no command: say tracegap analyze {first}"
    known = first if first in {command.NAME for command in COMMANDS} else ""
    return f"{' '.join(message.split()).rstrip('.')}; see {' '.join(filter(None, ('tracegap', known, '--help')))}"


def _fail(message: str) -> int:
    print(f"tracegap: {printable(message)}", file=sys.stderr)
    return 2

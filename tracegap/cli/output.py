"""Where reports go: stdout, or a file that is written whole or not at all."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tracegap.errors import UsageError
from tracegap.renderers import by_suffix, renderer
from tracegap.renderers.names import printable
from tracegap.report import Report

if TYPE_CHECKING:
    from tracegap.overlay import Annotated


def chosen(format: str | None, output: Path | None) -> str:
    """Return the format: the one asked for, else the file's, else text.

    Raises
    ------
    UsageError
        When the format is unknown, or a file's suffix names none.
    """
    if format is not None:
        renderer(format)
        return format
    if output is None or not output.suffix:
        return "text"
    named = by_suffix(str(output))
    if named is None:
        raise UsageError(f"-o {output}: the suffix {output.suffix} names no format, say --format")
    return named


def apart(output: Path | None, *sources: str | Path | None) -> None:
    """Check, before any work, that the output is none of the files that are read and can be there.

    Raises
    ------
    UsageError
        When it is, or its folder is missing.
    """
    if output is None:
        return
    if str(output) == "-":
        raise UsageError("-o -: give the name of a file; a report goes to standard output without -o")
    if output.exists() and any(
        output.samefile(one) for one in sources if one not in (None, "-") and Path(one).exists()
    ):
        raise UsageError(f"-o {output} is a file that is read: choose another name")
    if output.is_dir():
        raise UsageError(f"-o {output} is a folder: add a file name")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"-o {output}: there is no folder {output.parent}")


def emit(report: Report, format: str, output: Path | None) -> None:
    """Write a report in a format to a file, else to stdout: with colour and at its width where that is a terminal."""
    if format != "text" or output is not None:
        text = renderer(format).render(report)
    else:
        from tracegap.renderers import text as terminal

        if sys.stdout.isatty():
            width = max(min(shutil.get_terminal_size().columns, 140), 40)
            # https://no-color.org: any value but the empty one.
            colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
            text = terminal.render(report, width=width, colour=colour)
        else:
            text = terminal.render(report)
    write(text, output)


def write(text: str, output: Path | None) -> None:
    """Write text to a file, whole or not at all, else to stdout.

    Raises
    ------
    UsageError
        When the file cannot be written.
    """
    if output is None:
        # A terminal of another encoding shows ? for what it lacks; a crash would show nothing.
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough. Python flushes again at exit, and must find a whole pipe then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    with created(output, packed=False) as file:
        file.write(text.encode("utf-8", "replace"))


@contextmanager
def created(output: Path, *, packed: bool = True) -> Iterator[BinaryIO]:
    """Open a file that takes its place when all is written, and leaves no trace when that fails.

    Parameters
    ----------
    packed : bool
        Whether a name that ends in ``.gz`` asks for gzip.

    Raises
    ------
    UsageError
        When the file cannot be written.
    """
    # A pipe or a device has no name to move over; /dev/stdout is a link to where no name leads.
    special = output.exists() and not output.is_file()
    target = output if special else _followed(output)
    pack = packed and target.suffix.lower() == ".gz"
    try:
        if special:
            with target.open("wb") as file, _packing(file, pack=pack) as inner:
                yield inner
            return
        beside = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
        try:
            with beside.open("xb") as file, _packing(file, pack=pack) as inner:
                yield inner
            beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"-o {output}: cannot be written: {error.strerror or error}") from error


def _followed(output: Path) -> Path:
    """Return where the links lead, so that the file they name is replaced and not they."""
    nowhere = UsageError(f"-o {output}: is a link that leads nowhere: choose another name")
    try:
        followed = output.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop, before Python 3.13
        raise nowhere from error
    if followed.is_symlink():  # a loop, from Python 3.13 on
        raise nowhere
    return followed


@contextmanager
def _packing(file: BinaryIO, *, pack: bool) -> Iterator[BinaryIO]:
    """Write through gzip: as fast as it goes, and the same bytes for the same content."""
    if not pack:
        yield file
        return
    import gzip

    with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0) as inner:
        yield inner  # type: ignore[misc]


@contextmanager
def status(text: str) -> Iterator[None]:
    """Show on a terminal's stderr what is being done, and wipe it when that is over."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    print(f"\r{printable(text)} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Say something beside the report, on stderr."""
    print(f"tracegap: {printable(text)}", file=sys.stderr)


def say_written(done: "Annotated") -> None:
    """Say what of a written trace differs from the trace it was made of."""
    if done.shift_us:
        say(f"all times are {done.shift_us} µs less than in the trace, so that Perfetto can hold them exactly")
    for key in done.left_out:
        say(f"the header's {key!r} is too long and was left out")

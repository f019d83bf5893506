"""A path, a URL or standard input to a stream of plain JSON text: what it is packed in is told by its content.

In: what the user typed. Out: a `Source`, which can be streamed as often as wanted; standard input, pipes and URLs are
spooled to a temporary file for that. Files are read, not held: only one piece of some 256 kB is in memory at a time.
Not looked at here: whether the text is JSON.
"""

import hashlib
import os
import stat
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from tracegap.errors import SourceError
from tracegap.problems import Problem
from tracegap.units import size as readable_size
from tracegap.unpack import unpack

PIECE_BYTES = 1 << 18
MAX_BYTES = 16 << 30
"""How much text is read at most, unpacked."""


class Stream(Iterator[bytes]):
    """The text of a source, piece by piece; `problems` fills as they are met.

    Attributes
    ----------
    problems : list of Problem
        Damage of the packing that was survived: a truncated archive, a wrong check sum.
    layers : list of str
        What the text is packed in, from outside in: ``zip member trace.json``, ``gzip archive``.
    """

    def __init__(self, source: "Source") -> None:
        self.problems: list[Problem] = []
        self.layers: list[str] = []
        self._name = source.name
        self._file = source._open()
        self._pieces = source._limited(unpack(self._file, source.name, self.problems, self.layers))

    def __next__(self) -> bytes:
        with _readable(self._name):
            return next(self._pieces)

    def close(self) -> None:
        """Close the file; nothing more can be read."""
        self._file.close()


@dataclass(frozen=True, eq=False)
class Source:
    """Bytes that can be read again.

    Attributes
    ----------
    name : str
        What the user typed; ``<stdin>`` for ``-``.
    path : Path
        The file to read: the user's, or the spooled copy.
    max_bytes : int
        `SourceError` is raised when more text than this comes out of it.
    """

    name: str
    path: Path
    max_bytes: int = MAX_BYTES

    @property
    def packed_size(self) -> int:
        """Bytes of the file as it is stored."""
        return self.path.stat().st_size

    @cached_property
    def sha256(self) -> str:
        """Check sum of the file as it is stored, in hexadecimal."""
        with self._open() as file, _readable(self.name):
            return hashlib.file_digest(file, "sha256").hexdigest()

    def stream(self) -> Stream:
        """Start reading the unpacked text from its beginning.

        Raises
        ------
        SourceError
            While iterating: the archive cannot be read, or holds more than `max_bytes`.
        """
        return Stream(self)

    def _open(self) -> BufferedReader:
        with _readable(self.name):
            return self.path.open("rb")

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        total = 0
        for piece in pieces:
            total += len(piece)
            if total > self.max_bytes:
                raise SourceError(
                    f"{self.name}: unpacks to more than {readable_size(self.max_bytes)}, which may be a decompression bomb; "
                    "if it is a trace, raise the limit with --max-bytes"
                )
            yield piece


def open_source(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Source:
    """Open what the user named.

    Parameters
    ----------
    path : str or Path
        A file, ``-`` for standard input, or an fsspec URL (``s3://bucket/trace.json.gz``; needs the extra ``remote``).
    max_bytes : int
        Size guard for the unpacked text, and for what is spooled.

    Raises
    ------
    SourceError
        There is no such file, it is a directory, or the URL cannot be read.
    """
    name = os.fspath(path)
    if name == "-":
        with _readable("<stdin>"):
            return _spool(sys.stdin.buffer, "<stdin>", max_bytes)
    if "://" in name:
        return _remote(name, max_bytes)
    if not name:
        raise SourceError("the trace has no name: give a path, a URL, or - for standard input")
    with _readable(name):
        mode = Path(name).stat().st_mode
    if stat.S_ISDIR(mode):
        raise SourceError(f"{name}: is a directory; name one trace in it{_such_as(Path(name))}")
    if not stat.S_ISREG(mode):
        with _readable(name), Path(name).open("rb") as pipe:
            return _spool(pipe, name, max_bytes)
    return Source(name, Path(name), max_bytes)


def _such_as(folder: Path) -> str:
    """Name a trace in a folder, or in the log folder of TensorFlow's and JAX's profilers."""
    with suppress(OSError):
        for pattern in ("*.json", "*.json.gz", "plugins/profile/*/*.trace.json.gz"):
            for found in sorted(folder.glob(pattern))[-1:]:
                return f", such as {found}"
    return ""


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn what the system says against a file into an error of ours."""
    try:
        yield
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}; check the path, its permissions and the disk") from error


def _remote(url: str, max_bytes: int) -> Source:
    try:
        import fsspec  # an optional extra
    except ImportError as error:
        raise SourceError(f"{url}: reading URLs needs fsspec; pip install 'tracegap[remote]'") from error
    try:
        with fsspec.open(url, "rb") as file:
            return _spool(file, url, max_bytes)
    except SourceError:
        raise
    except Exception as error:  # each file system of fsspec raises errors of its own library
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(f"{url}: {reason}; check the address and your credentials") from error


def _spool(file: BinaryIO, name: str, max_bytes: int) -> Source:
    """Copy a stream that can be read only once to a file that goes with its `Source`."""
    handle, path = tempfile.mkstemp(prefix="tracegap-", suffix=".trace")
    source = Source(name, Path(path), max_bytes)
    weakref.finalize(source, Path(path).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as copy:
        while piece := file.read(PIECE_BYTES):
            copy.write(piece)
            if copy.tell() > max_bytes:
                raise SourceError(f"{name}: longer than {readable_size(max_bytes)}; raise the limit with --max-bytes")
    return source

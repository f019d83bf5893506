"""Packed bytes to plain UTF-8 text: gzip, zstd, zip, and the encodings that a byte order mark tells of.

Each layer is told by its first bytes, whatever the file is called, and layers may stand in one another. Damage gives
what could be unpacked before it, and a problem.
"""

import codecs
import itertools
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from tracegap.errors import SourceError
from tracegap.problems import Problem, problem

_PIECE = 1 << 18
_LAYERS = 4
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_UNREADABLE = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar"}
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def unpack(file: BinaryIO, name: str, problems: list[Problem]) -> Iterator[bytes]:
    """Yield the text of an open file, which is closed at its end; problems are appended as they are met.

    Raises
    ------
    SourceError
        A packing that is not read, a zip of several files, or a library that is not there.
    """
    with file:
        start = file.read(4)
        file.seek(0)
        pieces = _zip(file, name, problems) if start == _ZIP else iter(lambda: file.read(_PIECE), b"")
        yield from _layer(pieces, name, problems, 0)


def _layer(pieces: Iterator[bytes], name: str, problems: list[Problem], depth: int) -> Iterator[bytes]:
    head = b""
    while len(head) < 8 and (piece := next(pieces, b"")):
        head += piece
    pieces = itertools.chain([head], pieces)
    packing = next((word for magic, word in _UNREADABLE.items() if head.startswith(magic)), None)
    if packing or depth > _LAYERS or (depth and head.startswith(_ZIP)):
        raise SourceError(f"{name}: {packing or 'several archives in one another'} is not read here; unpack it first")
    if head.startswith(_GZIP):
        yield from _layer(_gzip(pieces, name, problems), name, problems, depth + 1)
    elif head.startswith(_ZSTD):
        yield from _layer(_zstd(pieces, name, problems), name, problems, depth + 1)
    else:
        yield from _text(pieces, head, problems)


def _text(pieces: Iterator[bytes], head: bytes, problems: list[Problem]) -> Iterator[bytes]:
    if head.startswith(codecs.BOM_UTF8):
        problems.append(problem("byte-order-mark", 1, "byte 0"))
        next(pieces)
        yield head[3:]
        yield from pieces
        return
    encoding = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
    if encoding is None and len(head) >= 4:
        encoding = {b"\0x": "utf-16-be", b"x\0": "utf-16-le"}.get(bytes(b and ord("x") for b in head[:2]))
        encoding = encoding if head[2:4].count(0) == 1 else None
    if encoding is None:
        yield from pieces
        return
    problems.append(problem("other-encoding", 1, encoding))
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(piece).removeprefix("\ufeff").encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _gzip(pieces: Iterator[bytes], name: str, problems: list[Problem]) -> Iterator[bytes]:
    """Unpack all members. The deflate stream is read bare, so that a bad check sum costs no data."""
    rest, done = b"", 0
    while True:
        rest = _more(rest, pieces, 18)
        if not rest.startswith(_GZIP):
            if rest.strip(b"\0"):  # zeros behind the last member are padding: gzip(1) takes them, RFC 1952 says nothing
                problems.append(problem("archive-tail", 1, f"byte {done} of the archive"))
            return
        rest, header = _skip_header(rest, pieces)
        done += header
        inflate, check, length, ended = zlib.decompressobj(-zlib.MAX_WBITS), 0, 0, False
        while not ended:
            rest = rest or next(pieces, b"")
            before = inflate.copy()
            try:
                text = inflate.decompress(rest, _PIECE)
            except zlib.error:
                yield _salvage(before, rest)
                problems.append(problem("damaged-archive", 1, f"near byte {done} of the archive"))
                return
            ended = inflate.eof
            left = inflate.unused_data if ended else inflate.unconsumed_tail
            done += len(rest) - len(left)
            rest = left
            check, length = zlib.crc32(text, check), length + len(text)
            if text:
                yield text
            elif not (ended or rest or (rest := next(pieces, b""))):
                problems.append(problem("truncated-archive", 1, f"byte {done} of the archive"))
                return
        rest = _more(rest, pieces, 8)
        trailer = rest[:8]
        if len(trailer) < 8:
            problems.append(problem("truncated-archive", 1, f"byte {done} of the archive"))
            return
        if trailer != check.to_bytes(4, "little") + (length % 2**32).to_bytes(4, "little"):
            problems.append(problem("archive-checksum", 1, f"byte {done} of the archive"))
        rest, done = rest[8:], done + 8


def _more(rest: bytes, pieces: Iterator[bytes], least: int) -> bytes:
    while len(rest) < least and (piece := next(pieces, b"")):
        rest += piece
    return rest


def _skip_header(rest: bytes, pieces: Iterator[bytes]) -> tuple[bytes, int]:
    """Return what stands behind a member's header (RFC 1952, section 2.3) and the header's length."""
    flags, at = (rest[3:4] or b"\0")[0], 10
    if flags & 4:
        at += 2 + int.from_bytes(rest[10:12], "little")
    for flag in (8, 16):
        if flags & flag:
            rest = _more(rest, pieces, at + 1)
            while (zero := rest.find(b"\0", at)) < 0 and (piece := next(pieces, b"")):
                rest += piece
            at = zero + 1 if zero >= 0 else len(rest)
    at += 2 if flags & 2 else 0
    rest = _more(rest, pieces, at)
    return rest[at:], min(at, len(rest))


def _salvage(inflate: "zlib._Decompress", rest: bytes) -> bytes:
    """Unpack byte by byte up to the damage."""
    texts = []
    for at in range(len(rest)):
        try:
            texts.append(inflate.decompress(rest[at : at + 1]))
        except zlib.error:
            break
    return b"".join(texts)


class _Reader:
    """An iterator of pieces as the file that zstandard reads from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._pieces, b"")
        size = len(self._rest) if size < 0 else size
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def _zstd(pieces: Iterator[bytes], name: str, problems: list[Problem]) -> Iterator[bytes]:
    try:
        import zstandard  # an optional extra; Python has its own from 3.14 on
    except ImportError:
        yield from _standard_zstd(pieces, name, problems)
        return
    file = cast(BinaryIO, _Reader(pieces))
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, read_size=_PIECE, read_across_frames=True) as reader:
            yield from iter(lambda: reader.read(_PIECE), b"")
    except zstandard.ZstdError as error:
        problems.append(problem("damaged-archive", 1, str(error)))


def _standard_zstd(pieces: Iterator[bytes], name: str, problems: list[Problem]) -> Iterator[bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise SourceError(f"{name}: zstd needs a library; pip install 'tracegap[zstd]'") from error
    try:
        with zstd.ZstdFile(_Reader(pieces)) as file:
            yield from iter(lambda: file.read(_PIECE), b"")
    except (zstd.ZstdError, EOFError) as error:
        problems.append(problem("damaged-archive", 1, str(error)))


def _zip(file: BinaryIO, name: str, problems: list[Problem]) -> Iterator[bytes]:
    import zipfile

    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise SourceError(
            f"{name}: the zip archive cannot be read ({error}); it may be truncated, copy it again"
        ) from error
    members = [member.filename for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        listed = ", ".join(members[:5]) + (", …" if len(members) > 5 else "")
        raise SourceError(
            f"{name}: want one file in the zip archive, got {len(members)} ({listed}); unpack it and name one"
        )
    try:
        with archive.open(members[0]) as member:
            yield from iter(lambda: member.read(_PIECE), b"")
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        problems.append(problem("damaged-archive", 1, str(error)))
    except (RuntimeError, NotImplementedError) as error:
        raise SourceError(f"{name}: the zip archive cannot be read ({error}); unpack it first") from error

"""Packed bytes to plain UTF-8 text: gzip, zstd, zip, and the encodings that a byte order mark tells of.

Each layer is told by its first bytes, whatever the file is called, and layers may stand in one another. Damage gives
what could be unpacked before it, and a problem.
"""

import codecs
import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from tracegap.errors import SourceError
from tracegap.problems import Problem, problem

_PIECE = 1 << 18
_LAYERS = 4
_SIP = 1 << 8
"""Bytes of a zstd archive that are unpacked in one go: four of them can hold 128 kB."""
_GZIP, _ZSTD, _ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
_SKIPPED = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
"""What a zstd frame without text starts with (RFC 8878, section 3.1.2)."""
_ZIP_PIECE = 1 << 14
"""Bytes of a zip's member that are unpacked in one go, and lost where they are damaged or their check sum is wrong."""
_NO_FILES = re.compile(r"__MACOSX/|(?:.*/)?\.DS_Store\Z")
"""What macOS adds to a zip archive of a file."""
_UNREADABLE = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!": "rar"}
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def unpack(file: BinaryIO, name: str, problems: list[Problem], layers: list[str]) -> Iterator[bytes]:
    """Yield the text of an open file, which is closed at its end; problems and layers of packing are appended as they are met.

    Raises
    ------
    SourceError
        A packing that is not read, a zip of several files, or a library that is not there.
    """
    with file:
        start = file.read(4)
        file.seek(0)
        zipped = start.startswith(_ZIP)
        pieces = _zip(file, name, problems, layers) if zipped else iter(lambda: file.read(_PIECE), b"")
        yield from _layer(pieces, name, problems, layers)


def _layer(pieces: Iterator[bytes], name: str, problems: list[Problem], layers: list[str]) -> Iterator[bytes]:
    head = b""
    while len(head) < 8 and (piece := next(pieces, b"")):
        head += piece
    pieces = itertools.chain([head], pieces)
    unreadable = next((f"{word} is" for magic, word in _UNREADABLE.items() if head.startswith(magic)), None)
    if layers and head.startswith(_ZIP):
        unreadable = f"a zip archive inside the {layers[-1]} is"
    elif len(layers) > _LAYERS:
        unreadable = f"more than {_LAYERS} archives in one another are"
    if unreadable:
        raise SourceError(f"{name}: {unreadable} not read here; unpack it first")
    if head.startswith(_GZIP):
        layers.append("gzip archive")
        yield from _layer(_gzip(pieces, problems), name, problems, layers)
    elif head.startswith(_ZSTD):
        layers.append("zstd archive")
        yield from _layer(_zstd(pieces, name, problems), name, problems, layers)
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


def _gzip(pieces: Iterator[bytes], problems: list[Problem]) -> Iterator[bytes]:
    """Unpack all members. The deflate stream is read bare, so that a bad check sum costs no data."""
    rest, done = b"", 0
    while True:
        rest = _more(rest, pieces, 18)
        if not rest.startswith(_GZIP):
            if rest.strip(b"\0"):  # zeros behind the last member are padding: gzip(1) takes them, RFC 1952 says nothing
                problems.append(problem("archive-tail", 1, f"byte {done:,} of the archive"))
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
                problems.append(problem("damaged-archive", 1, f"near byte {done:,} of the archive"))
                return
            ended = inflate.eof
            left = inflate.unused_data if ended else inflate.unconsumed_tail
            done += len(rest) - len(left)
            rest = left
            check, length = zlib.crc32(text, check), length + len(text)
            if text:
                yield text
            elif not (ended or rest or (rest := next(pieces, b""))):
                problems.append(problem("truncated-archive", 1, f"byte {done:,} of the archive"))
                return
        rest = _more(rest, pieces, 8)
        trailer = rest[:8]
        if len(trailer) < 8:
            problems.append(problem("truncated-archive", 1, f"byte {done:,} of the archive"))
            return
        if trailer != check.to_bytes(4, "little") + (length % 2**32).to_bytes(4, "little"):
            problems.append(problem("archive-checksum", 1, f"byte {done:,} of the archive"))
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


def _zstd(pieces: Iterator[bytes], name: str, problems: list[Problem]) -> Iterator[bytes]:
    """Unpack all frames, a sip at a time, so that damage costs no more than what a sip holds."""
    frame_of, damage = _zstd_library(name)
    sips = _sips(pieces)
    rest, done = b"", 0
    while True:
        rest = _more(rest, sips, 4)
        if not (rest.startswith(_ZSTD) or _SKIPPED.match(rest)):
            if rest.strip(b"\0"):
                problems.append(problem("archive-tail", 1, f"byte {done:,} of the archive"))
            return
        frame = frame_of()
        while not frame.eof:
            sip = rest or next(sips, b"")
            if not sip:
                problems.append(problem("truncated-archive", 1, f"byte {done:,} of the archive"))
                return
            try:
                text = frame.decompress(sip)
            except damage as error:
                code = "archive-checksum" if "checksum" in str(error) else "damaged-archive"
                problems.append(problem(code, 1, f"near byte {done:,} of the archive"))
                return
            rest = frame.unused_data
            done += len(sip) - len(rest)
            if text:
                yield text


def _sips(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut pieces small; the last four bytes come alone: a check sum, which the text before it does not need."""
    rest = b""
    for piece in pieces:
        whole = rest + piece
        stop = max(len(whole) - 4, 0)
        yield from (whole[at : min(at + _SIP, stop)] for at in range(0, stop, _SIP))
        rest = whole[stop:]
    if rest:
        yield rest


def _zstd_library(name: str) -> tuple[Callable[[], Any], type[Exception]]:
    """Return what makes the unpacker of one frame, and what that raises when the frame is damaged."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python has it from 3.14 on
    except ImportError:
        pass
    else:
        return zstd.ZstdDecompressor, zstd.ZstdError
    try:
        import zstandard  # an optional extra
    except ImportError as error:
        raise SourceError(f"{name}: zstd needs a library; pip install 'tracegap[zstd]'") from error
    return zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError


def _zip(file: BinaryIO, name: str, problems: list[Problem], layers: list[str]) -> Iterator[bytes]:
    import zipfile

    try:
        archive = zipfile.ZipFile(file)
        if any(member.header_offset < 0 for member in archive.infolist()):
            raise zipfile.BadZipFile("it names places before the beginning")
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise SourceError(
            f"{name}: the zip archive cannot be read: no sound directory of it stands before its end at byte"
            f" {file.seek(0, 2):,} ({error}); it may be truncated, copy it again"
        ) from error
    members = [one.filename for one in archive.infolist() if not (one.is_dir() or _NO_FILES.match(one.filename))]
    if not members:
        raise SourceError(f"{name}: the zip archive holds no file; pack the trace again, or record again")
    if len(members) > 1:
        listed = ", ".join(members[:5]) + (", …" if len(members) > 5 else "")
        raise SourceError(
            f"{name}: want one file in the zip archive, got {len(members)} ({listed}); unpack it and name one"
        )
    layers.append(f"zip member {members[0]}")
    done = 0
    try:
        with archive.open(members[0]) as member:
            while piece := member.read(_ZIP_PIECE):
                done += len(piece)
                yield piece
    except EOFError:
        problems.append(problem("truncated-archive", 1, f"byte {done:,} of {members[0]}"))
    except (zipfile.BadZipFile, zlib.error):
        problems.append(problem("damaged-archive", 1, f"near byte {done:,} of {members[0]}"))
    except (RuntimeError, NotImplementedError) as error:
        raise SourceError(f"{name}: zip member {members[0]} cannot be read ({error}); unpack it first") from error

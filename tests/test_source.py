"""What a file is packed in is told by its content, and a damaged archive gives what it can."""

import gzip
import hashlib
import io
import os
import re
import sys
import threading
import zipfile
import zlib
from pathlib import Path

import pytest

from tracegap.errors import SourceError
from tracegap.source import open_source

TEXT = b'[{"ph":"X","name":"load","pid":1,"tid":1,"ts":0,"dur":5}]'
LONG = b"[" + b",".join(b'{"ph":"X","name":"n%d","ts":%d,"dur":1}' % (n, n * n) for n in range(20_000)) + b"]"


def read(path: Path) -> tuple[bytes, list[str]]:
    stream = open_source(path).stream()
    text = b"".join(stream)
    return text, [one.code for one in stream.problems]


def write(folder: Path, content: bytes, name: str = "trace.json") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        gzip.compress(TEXT),
        gzip.compress(gzip.compress(TEXT)),
        gzip.compress(TEXT[:20]) + gzip.compress(TEXT[20:]),
        gzip.compress(TEXT) + b"\0" * 512,
    ],
    ids=["plain", "gzip", "gzip in gzip", "gzip of two members", "gzip with padding"],
)
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz", "trace"])
def test_packing_is_told_by_content_whatever_the_suffix(tmp_path: Path, content: bytes, name: str) -> None:
    assert read(write(tmp_path, content, name)) == (TEXT, [])


def test_long_gzip_is_unpacked_whole(tmp_path: Path) -> None:
    assert read(write(tmp_path, gzip.compress(LONG))) == (LONG, [])


def test_gzip_header_may_hold_name_and_comment(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    header = packed[:3] + b"\x1c" + packed[4:10] + b"\x03\x00abc" + b"trace.json\0" + b"a comment\0"
    assert read(write(tmp_path, header + packed[10:])) == (TEXT, [])


def test_truncated_gzip_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    packed = gzip.compress(LONG)
    text, problems = read(write(tmp_path, packed[: len(packed) // 2]))
    assert LONG.startswith(text)
    assert len(text) > len(LONG) // 4
    assert problems == ["truncated-archive"]


def test_gzip_without_its_check_sum_keeps_all_text(tmp_path: Path) -> None:
    assert read(write(tmp_path, gzip.compress(TEXT)[:-5])) == (TEXT, ["truncated-archive"])
    assert read(write(tmp_path, gzip.compress(TEXT)[:-8] + bytes(8))) == (TEXT, ["archive-checksum"])


def test_gzip_damaged_in_the_middle_gives_what_came_before(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LONG))
    place = len(packed) * 3 // 4
    packed[place : place + 64] = b"\xff" * 64
    text, problems = read(write(tmp_path, bytes(packed)))
    assert text[: len(LONG) // 2] == LONG[: len(LONG) // 2]
    assert problems in (["damaged-archive"], ["archive-checksum"])


def test_text_behind_a_gzip_is_ignored_and_counted(tmp_path: Path) -> None:
    assert read(write(tmp_path, gzip.compress(TEXT) + b"garbage")) == (TEXT, ["archive-tail"])


def test_zstd_of_several_frames(tmp_path: Path) -> None:
    assert read(write(tmp_path, zstd_of(TEXT[:20]) + zstd_of(TEXT[20:]))) == (TEXT, [])


def zstd_of(text: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").compress(text))


def test_truncated_zstd_gives_what_came_before_the_cut(tmp_path: Path) -> None:
    packed = zstd_of(LONG)
    text, problems = read(write(tmp_path, packed[: len(packed) // 2]))
    assert LONG.startswith(text)
    assert len(text) > len(LONG) // 4
    assert problems == ["truncated-archive"]


def test_zstd_damaged_in_the_middle_gives_what_came_before(tmp_path: Path) -> None:
    packed = bytearray(zstd_of(LONG))
    place = len(packed) * 3 // 4
    packed[place : place + 64] = b"\xff" * 64
    text, problems = read(write(tmp_path, bytes(packed)))
    assert text[: len(LONG) // 2] == LONG[: len(LONG) // 2]
    assert problems == ["damaged-archive"]


def test_zstd_with_a_wrong_check_sum_keeps_all_text(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)
    assert read(write(tmp_path, packed[:-4] + bytes(4))) == (TEXT, ["archive-checksum"])
    assert read(write(tmp_path, packed[:-2])) == (TEXT, ["truncated-archive"])


def test_what_is_no_frame_behind_a_zstd_archive_is_ignored_and_counted(tmp_path: Path) -> None:
    assert read(write(tmp_path, zstd_of(TEXT) + bytes(512))) == (TEXT, [])
    assert read(write(tmp_path, zstd_of(TEXT) + b"garbage")) == (TEXT, ["archive-tail"])
    seek_table = b"\x5e\x2a\x4d\x18" + (9).to_bytes(4, "little") + bytes(9)
    assert read(write(tmp_path, zstd_of(TEXT[:20]) + seek_table + zstd_of(TEXT[20:]))) == (TEXT, [])


def test_unpacking_zstd_holds_only_small_pieces(tmp_path: Path) -> None:
    path = write(tmp_path, zstd_of(b" " * 50_000_000))
    assert max(map(len, open_source(path).stream())) <= 1 << 23


def test_zip_of_one_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "trace.json", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        archive.writestr("folder/trace.json.gz", gzip.compress(TEXT))
        archive.writestr("__MACOSX/folder/._trace.json.gz", bytes(100))
        archive.writestr("folder/.DS_Store", bytes(100))
    assert read(tmp_path / "trace.json") == (TEXT, [])


def test_zip_of_several_files_names_them(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        archive.writestr("rank0.json", TEXT)
        archive.writestr("rank1.json", TEXT)
    with pytest.raises(SourceError, match=r"want one file .* got 2 \(rank0.json, rank1.json\)"):
        read(tmp_path / "run.zip")


@pytest.mark.parametrize("folders", [[], ["folder"]])
def test_zip_of_no_file_says_so(tmp_path: Path, folders: list[str]) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        for folder in folders:
            archive.mkdir(folder)
    with pytest.raises(SourceError, match="the zip archive holds no file"):
        read(tmp_path / "run.zip")


@pytest.mark.parametrize("damage", [b"\xff" * 64, b""], ids=["overwritten", "check sum"])
def test_damaged_zip_gives_what_came_before(tmp_path: Path, damage: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rank0.json", LONG)
    packed = (tmp_path / "run.zip").read_bytes()
    if damage:
        place = len(packed) * 3 // 4
        packed = packed[:place] + damage + packed[place + len(damage) :]
    else:
        packed = packed.replace(zlib.crc32(LONG).to_bytes(4, "little"), b"\0\0\0\0")
    text, problems = read(write(tmp_path, packed, "damaged.zip"))
    assert text[: len(LONG) // 2] == LONG[: len(LONG) // 2]
    assert problems == ["damaged-archive"]


@pytest.mark.parametrize(
    ("wrapped", "message"),
    [
        (5, "more than 4 archives in one another are not read here; unpack it first"),
        (1, "a zip archive inside the gzip archive is not read here; unpack it first"),
    ],
)
def test_archives_in_one_another_are_told_where_they_are_not_read(tmp_path: Path, wrapped: int, message: str) -> None:
    content = TEXT
    if wrapped == 1:
        with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
            archive.writestr("rank0.json", TEXT)
        content = (tmp_path / "run.zip").read_bytes()
    for _ in range(wrapped):
        content = gzip.compress(content)
    with pytest.raises(SourceError, match=message):
        read(write(tmp_path, content))


def test_truncated_zip_is_a_clear_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        archive.writestr("rank0.json", TEXT)
    cut = write(tmp_path, (tmp_path / "run.zip").read_bytes()[:-30], "cut.zip")
    with pytest.raises(
        SourceError, match=r"zip archive cannot be read: no sound directory .* byte 145 .* copy it again"
    ):
        read(cut)


@pytest.mark.parametrize("start", [b"BZh91AY", b"\xfd7zXZ\0\0\0", b"Rar!\x1a\x07"])
def test_other_archives_are_named(tmp_path: Path, start: bytes) -> None:
    with pytest.raises(SourceError, match="unpack it first"):
        read(write(tmp_path, start + bytes(40)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_become_utf8(tmp_path: Path, encoding: str) -> None:
    text = '[{"ph":"X","name":"größe 🙂","ts":0,"dur":1}]'
    assert read(write(tmp_path, text.encode(encoding))) == (text.encode(), ["other-encoding"])


def test_byte_order_mark_is_skipped_and_counted(tmp_path: Path) -> None:
    assert read(write(tmp_path, b"\xef\xbb\xbf" + TEXT)) == (TEXT, ["byte-order-mark"])


def test_decompression_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b" " * 3_000_000))
    with pytest.raises(SourceError, match=r"more than 2.00 MB.*--max-bytes"):
        list(open_source(path, max_bytes=2_000_000).stream())
    assert sum(map(len, open_source(path, max_bytes=3_000_000).stream())) == 3_000_000


def test_unpacking_holds_only_small_pieces(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b" " * 50_000_000))
    assert max(map(len, open_source(path).stream())) <= 1 << 20


def test_standard_input_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    source = open_source("-")
    assert source.name == "<stdin>"
    assert [b"".join(source.stream()) for _ in range(2)] == [TEXT, TEXT]
    spooled = source.path
    del source
    assert not spooled.exists()


def test_endless_standard_input_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(3_000_000))))
    with pytest.raises(SourceError, match="--max-bytes"):
        open_source("-", max_bytes=1_000_000)


def test_url_is_read_through_fsspec(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    path = write(tmp_path, gzip.compress(TEXT))
    assert b"".join(open_source(path.as_uri()).stream()) == TEXT
    with pytest.raises(SourceError, match="check the address"):
        open_source((tmp_path / "absent").as_uri())


def test_url_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(SourceError, match=r"pip install 'tracegap\[remote\]'"):
        open_source("s3://bucket/trace.json")


def test_missing_file_and_directory_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"absent\.json: No such file"):
        open_source(tmp_path / "absent.json")
    with pytest.raises(SourceError, match=r"is a directory; name one trace in it$"):
        open_source(tmp_path)


@pytest.mark.parametrize("place", ["trace.json.gz", "plugins/profile/2025_01_31/host.trace.json.gz"])
def test_a_directory_s_error_names_a_trace_in_it(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_bytes(TEXT)
    with pytest.raises(SourceError, match=rf"name one trace in it, such as .*{re.escape(place)}$"):
        open_source(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything may be read here")
def test_a_file_that_may_not_be_read_is_a_clear_error(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    path.chmod(0)
    with pytest.raises(SourceError, match="Permission denied; check the path, its permissions"):
        open_source(path).stream()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_can_be_read_again(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(TEXT),))
    writer.start()
    source = open_source(pipe)
    writer.join()
    assert [b"".join(source.stream()) for _ in range(2)] == [TEXT, TEXT]


def test_a_file_without_a_name_is_a_clear_error() -> None:
    with pytest.raises(SourceError, match="no name"):
        open_source("")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file that opens but fails to read is Linux's")
def test_a_file_that_fails_while_it_is_read_is_a_clear_error() -> None:
    with pytest.raises(SourceError, match="/proc/self/mem: Input/output error"):
        list(open_source("/proc/self/mem").stream())


def test_check_sum_and_size_are_those_of_the_stored_file(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    source = open_source(write(tmp_path, packed))
    assert source.sha256 == hashlib.sha256(packed).hexdigest()
    assert source.packed_size == len(packed)

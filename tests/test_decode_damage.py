"""Damaged traces give what can be saved; every repair and loss is counted, with the place of the first."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegap import decode
from tracegap.errors import LossError, TracegapError
from tracegap.events import NO_TIME, ArgType, Events
from tracegap.source import open_source
from tracegap.strictness import refuse

ARGS = {"correlation": ArgType.INT, "key": ArgType.TEXT}
A = b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}'
B = b'{"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":2}'


def read(folder: Path, content: bytes, *, chunk_bytes: int = 1 << 20) -> Events:
    path = folder / "trace.json"
    path.write_bytes(content)
    source = open_source(path)
    events = decode.decode(source, ARGS, chunk_bytes=chunk_bytes)
    rows = list(decode.iterate(source, chunk_bytes=chunk_bytes))
    assert [row.get("name") for row in rows] == names(events), "iterate and decode must number events alike"
    return events


def names(events: Events) -> list[str | None]:
    return [events.strings[name] if name >= 0 else None for name in events.name]


def found(events: Events) -> dict[str, tuple[int, str]]:
    return {one.code: (one.count, one.example) for one in events.problems}


def named(name: bytes) -> bytes:
    return b'{"ph":"X","name":"%b","pid":1,"tid":1,"ts":5,"dur":2}' % name


@pytest.mark.parametrize(
    ("name", "read_as", "code"),
    [
        (b'f("x")', 'f("x")', "bare-quote"),  # B01
        (b'Library("_inductor_test", "IMPL")', 'Library("_inductor_test", "IMPL")', "bare-quote"),
        (b'a "b", c', 'a "b", c', "bare-quote"),
        (b'say "', 'say "', "bare-quote"),
        (b'{"key": "}', '{"key": "}', "bare-quote"),
        (b"a\x01b", "a\x01b", "control-byte"),  # B02
        (b"line\n(1): <module>", "line\n(1): <module>", "control-byte"),
        (b"torch\\cuda\\__init__.py", "torch\\cuda\\__init__.py", "invalid-escape"),
        (b"C:\\temp\\new\\q", "C:\\temp\\new\\q", "invalid-escape"),
        (b"C:\\users\\u12", "C:\\users\\u12", "invalid-escape"),
        (b"C:\\temp\\", "C:\\temp\\", "invalid-escape"),
        (b"a\xffb", "a\ufffdb", "bad-utf8"),  # B03
        (b"a\\ud800b", "a\ufffdb", "lone-surrogate"),
        (b"a\\udc00\\ud83d\\ude42", "a\ufffd🙂", "lone-surrogate"),
        (b'"load"', "load", "doubled-quotes"),
    ],
)
def test_damaged_name_is_mended_and_counted_where_it_is(tmp_path: Path, name: bytes, read_as: str, code: str) -> None:
    events = read(tmp_path, b"[%b,\n%b,\n%b]" % (A, named(name), B))
    assert names(events) == ["a", read_as, "b"]
    assert events.start.tolist() == [1_000, 5_000, 3_000]
    assert code in found(events)
    assert found(events)[code] == (1, "byte 55")
    with pytest.raises(LossError, match=r"byte 55"):
        refuse("trace.json", events.problems)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"[%b,%b,]" % (A, B), "stray-comma"),
        (b"[%b,,%b]" % (A, B), "stray-comma"),
        (b"[,%b,%b]" % (A, B), "stray-comma"),
        (b"[%b\n%b]" % (A, B), "missing-comma"),
        (b"[%b,%b" % (A, B), "truncated-trace"),
        (b"[%b,%b,\n" % (A, B), "truncated-trace"),
        (b'{"traceEvents":[%b,%b]' % (A, B), "truncated-trace"),
        (b'{"traceEvents":[%b,%b], "meta' % (A, B), "truncated-trace"),
        (b'{"traceEvents":[%b,%b], "meta": {"a": [1, ' % (A, B), "truncated-trace"),
        (b"[%b,%b]\0\0\0" % (A, B), "trailing-nul"),
        (b'[%b,%b] {"second": 1}' % (A, B), "trailing-garbage"),
        (b"[%b,%b]]]" % (A, B), "trailing-garbage"),
        (b'{"traceEvents":[],"traceEvents":[%b,%b]}' % (A, B), "repeated-events"),
        (b'{"traceEvents":[%b],"traceEvents":[%b]}' % (A, B), "repeated-events"),
        (b"%b\n%b\n" % (A, B), "json-lines"),
        (b'{"user": "a"b", "traceEvents": [%b,%b]}' % (A, B), "damaged-header"),
        (b'{"version": 1., "traceEvents": [%b,%b]}' % (A, B), "damaged-header"),
        (b'{"env": {"PATH": "/"C:/"}, traceEvents, "traceEvents": [%b,%b]}' % (A, B), "damaged-header"),
        (b"[%b,#!?,%b]" % (A, B), "skipped-text"),
    ],
)
def test_damage_between_events_costs_none_of_them(tmp_path: Path, content: bytes, code: str) -> None:
    events = read(tmp_path, content)
    assert names(events) == ["a", "b"]
    assert code in found(events)


@pytest.mark.parametrize("damage", [b'"correlation":NaN', b'"correlation":-Infinity', b'"correlation":inf'])
def test_not_a_number_counts_as_missing(tmp_path: Path, damage: bytes) -> None:
    events = read(tmp_path, b'[{"ph":"X","name":"a","ts":1,"dur":2,"args":{%b}}]' % damage)
    assert len(events.arg("correlation").rows) == 0
    assert found(events) == {"not-a-number": (1, "byte 1")}


def test_times_that_are_not_numbers_leave_the_event_without_one(tmp_path: Path) -> None:
    events = read(
        tmp_path, b'[{"ph":"X","ts":NaN,"dur":1},{"ph":"X","ts":1,"dur":Infinity},{"ph":"X","ts":"x","dur":1}]'
    )
    assert events.start.tolist() == [NO_TIME, 1_000, NO_TIME]
    assert events.duration.tolist() == [-1, -1, -1]
    assert {code: count for code, (count, _) in found(events).items()} == {
        "not-a-number": 2,
        "no-time": 2,
        "no-duration": 1,
    }


def test_trailing_comma_inside_an_event_is_tolerated(tmp_path: Path) -> None:  # B05
    event = b'{"ph":"X","name":"conv","ts":1,"dur":2,"args":{"input_type_shape":[{"float":[1,]},],}}'
    events = read(tmp_path, b"[%b,%b]" % (event, A))
    assert names(events) == ["conv", "a"]
    assert found(events) == {"stray-comma": (1, "byte 1")}


def test_missing_quotes_and_commas_inside_an_event_are_supplied(tmp_path: Path) -> None:
    event = b'{"ph":"X","name":"add" "ts":1,dur": 2,"args":{"correlation":5 key: yes}}'
    events = read(tmp_path, b"[%b,%b]" % (event, A))
    assert names(events) == ["add", "a"]
    assert events.duration.tolist() == [2_000, 2_000]
    assert events.arg("correlation").values.tolist() == [5]
    assert events.strings[events.arg("key").values[0]] == "yes"
    assert set(found(events)) == {"missing-comma", "missing-quote", "bare-value"}


def test_nesting_of_20000_levels_is_cut(tmp_path: Path) -> None:
    deep = b'{"ph":"X","name":"deep","ts":1,"dur":2,"args":{"x":%b,"correlation":4}}' % (b"[" * 20_000 + b"]" * 20_000)
    events = read(tmp_path, b"[%b,%b]" % (deep, A))
    assert names(events) == ["deep", "a"]
    assert events.arg("correlation").values.tolist() == [4]
    assert found(events) == {"deep-nesting": (1, "byte 1")}


def test_event_cut_off_by_the_end_is_left_out(tmp_path: Path) -> None:  # B04
    events = read(tmp_path, b'{"traceEvents":[%b,%b,{"ph":"X","name":"c","ts' % (A, B))
    assert names(events) == ["a", "b"]
    assert events.truncated
    assert {code: count for code, (count, _) in found(events).items()} == {"skipped-event": 1, "truncated-trace": 1}


def test_second_document_is_counted_and_left_out(tmp_path: Path) -> None:  # B04
    events = read(tmp_path, b"[%b,%b]\n[%b,%b,%b]" % (A, B, A, A, A))
    assert names(events) == ["a", "b"]
    assert found(events) == {"second-document": (3, "byte 108")}
    assert not events.truncated


def test_interleaved_writers_cost_the_broken_event_only(tmp_path: Path) -> None:
    events = read(tmp_path, b'[%b,\n{"ph":"X","na%b,\nme":"c","ts":7,"dur":1},\n%b]' % (A, B, A))
    assert names(events) == ["a", "b", "a"]
    assert found(events)["skipped-event"] == (1, "byte 55")


def test_hopeless_event_is_skipped_and_the_rest_read(tmp_path: Path) -> None:
    events = read(tmp_path, b'[%b,{"ph":"X","name":::]]"ts":,\n%b,%b]' % (A, B, A))
    assert names(events) == ["a", "b", "a"]
    assert found(events)["skipped-event"] == (1, "byte 54")


def test_truncated_gzip_gives_the_events_before_the_cut(tmp_path: Path) -> None:
    text = b"[" + b",\n".join(named(b"n%d" % (number * number)) for number in range(20_000)) + b"]"
    packed = gzip.compress(text)
    events = read(tmp_path, packed[: len(packed) // 2])
    assert 5_000 < len(events) < 20_000
    assert names(events) == [f"n{number * number}" for number in range(len(events))]
    assert events.truncated
    assert {"truncated-archive", "truncated-trace"} <= set(found(events))


def test_many_damaged_events_are_read_in_reasonable_time(tmp_path: Path) -> None:
    events = read(tmp_path, b"[" + b",\n".join([named(b'f("x'), named(b"C:\\q")] * 5_000) + b"]")
    assert len(events) == 10_000
    assert found(events)["bare-quote"][0] == 5_000
    assert found(events)["invalid-escape"][0] == 5_000


SOUND = [named(b"n%d" % number) for number in range(30)]


@settings(max_examples=60, deadline=None)
@given(
    damage=st.lists(st.tuples(st.integers(0, 1_700), st.binary(max_size=3), st.integers(0, 3)), max_size=4),
    cut=st.none() | st.integers(0, 1_700),
    chunk_bytes=st.integers(1, 3_000),
    bare=st.booleans(),
)
def test_whatever_the_damage_there_is_a_result_or_one_clear_error(
    tmp_path_factory: pytest.TempPathFactory,
    damage: list[tuple[int, bytes, int]],
    cut: int | None,
    chunk_bytes: int,
    bare: bool,  # noqa: FBT001 - hypothesis passes by name
) -> None:
    text = b"[" + b",\n".join(SOUND) + b"]" if bare else b'{"v":1,"traceEvents":[' + b",\n".join(SOUND) + b"]}"
    for place, new, old in damage:
        text = text[:place] + new + text[place + old :]
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    path.write_bytes(text[:cut])
    try:
        events = decode.decode(open_source(path), ARGS, chunk_bytes=chunk_bytes)
    except TracegapError:
        assert damage or cut is not None
        return
    assert len(list(decode.iterate(open_source(path), chunk_bytes=chunk_bytes))) == len(events)
    assert damage or cut is not None or not events.problems
    if cut is None and all(10 < place < 1_500 for place, _, _ in damage) and not bare:
        assert len(events) >= 30 - 6 * len(damage)


# Collected traces, where they stand beside the project.

COUNTS = {
    "derived-args-not-object.json": (92, "odd-arguments"),
    "derived-bom-utf8.json": (92, "byte-order-mark"),
    "derived-crlf.json": (92, None),
    "derived-cyclic-flows.json": (113, None),
    "derived-deep-nesting.json": (1, "deep-nesting"),
    "derived-duplicate-keys.json": (92, None),
    "derived-flow-id-collisions.json": (92, None),
    "derived-gzip-bad-crc.json.gz": (92, "archive-checksum"),
    "derived-gzip-content-json-suffix.json": (92, None),
    "derived-gzip-double.json.gz": (92, None),
    "derived-gzip-multi-member.json.gz": (92, None),
    "derived-gzip-truncated.json.gz": (47, "truncated-archive"),
    "derived-huge-timestamps.json": (92, "no-time"),
    "derived-instant-only.json": (38, None),
    "derived-json-lines.json": (92, "json-lines"),
    "derived-lone-surrogates.json": (92, "lone-surrogate"),
    "derived-missing-comma.json": (92, "missing-comma"),
    "derived-nan-infinity-args.json": (92, "not-a-number"),
    "derived-nan-ts-dur.json": (92, "not-a-number"),
    "derived-no-closing-brackets.json": (92, "truncated-trace"),
    "derived-non-object-events.json": (93, "not-an-object"),
    "derived-nul-bytes-tail.json": (92, "trailing-nul"),
    "derived-null-fields.json": (92, "no-duration"),
    "derived-ort-comma-in-type-shape.json": (8, "stray-comma"),
    "derived-ort-unterminated.json": (39, "truncated-trace"),
    "derived-plain-content-gz-suffix.json.gz": (92, None),
    "derived-raw-control-chars.json": (92, "control-byte"),
    "derived-traceevents-twice.json": (92, "repeated-events"),
    "derived-trailing-garbage.json": (92, "trailing-garbage"),
    "derived-utf16le-bom.json": (92, "other-encoding"),
    "derived-zero-durations.json": (92, None),
    "mlperf_loadgen-mlperf_log_trace.json.gz": (3152, "doubled-quotes"),
    "pytorch-issue113001-unescaped-quote-and-newline.json": (2, "bare-quote"),
    "pytorch-issue33961-missing-quote.json": (4, "missing-quote"),
    "pytorch-issue98432-windows-backslash.json": (1, "invalid-escape"),
    "speedscope-simple-partial-whitespace.json": (6, "truncated-trace"),
}
ERRORS = {
    "derived-bare-array-empty.json": "the list is empty",
    "derived-bare-null.json": "only a null",
    "derived-bare-string.json": "only a string",
    "derived-binary.json.gz": "binary data",
    "derived-empty.json": "the file is empty",
    "derived-git-lfs-pointer.json.gz": "Git LFS pointer",
    "derived-html-error-page.json": "HTML page",
    "derived-traceevents-dict.json": "is an object, not a list",
    "derived-traceevents-empty.json": "`traceEvents` is empty",
    "derived-traceevents-null.json": "`traceEvents` is no list",
    "derived-whitespace.json": "the file is empty",
    "hta-memory_timeline.raw.gz": "PyTorch memory timeline",
    "ort1.32-killed-process-0-bytes.json": "the file is empty",
    "tracelens-cpu_op_map_trace1-not_a_trace.json": "JSON without `traceEvents`",
}


def test_every_malformed_file_of_the_corpus_gives_its_salvage_or_one_line(corpus: Path) -> None:
    folder = corpus / "malformed"
    assert {path.name for path in folder.iterdir()} == COUNTS.keys() | ERRORS.keys()
    for name, (count, code) in COUNTS.items():
        source = open_source(folder / name)
        events = decode.decode(source, ARGS)
        assert (name, len(events)) == (name, count)
        assert code is None or code in found(events), name
        assert code is not None or not events.problems, name
        assert sum(1 for _ in decode.iterate(source)) == count
    for name, message in ERRORS.items():
        with pytest.raises(TracegapError, match=message):
            decode.decode(open_source(folder / name), ARGS)


def test_sound_files_of_the_corpus_hold_what_a_plain_parse_finds(corpus: Path) -> None:
    for name in (
        "onnxruntime/ort1.32-names.json",
        "recorded/tf1_timeline_branches.json.gz",
        "other/catapult-flow.json.gz",
    ):
        source = open_source(corpus / name)
        plain = json.loads(b"".join(source.stream()))
        plain = plain if isinstance(plain, list) else plain["traceEvents"]
        events = decode.decode(source, ARGS)
        assert list(decode.iterate(source)) == plain
        assert names(events) == [event.get("name") for event in plain]
        assert bytes(events.phase).decode() == "".join(event["ph"] for event in plain)

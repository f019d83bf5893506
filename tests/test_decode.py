"""Sound traces become columns: every event a row, in file order, whatever the form of the file."""

import gzip
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegap import decode
from tracegap.errors import FormatError
from tracegap.events import NO_TIME, ArgType, Events, Thread
from tracegap.source import Source, open_source

ARGS = {"correlation": ArgType.INT, "Input Dims": ArgType.TEXT, "occupancy": ArgType.REAL}
LOAD = {"ph": "X", "name": "load", "cat": "op", "pid": 1, "tid": 2, "ts": 10, "dur": 5}


def source(folder: Path, content: object) -> Source:
    path = folder / "trace.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return open_source(path)


def read(folder: Path, content: object, args: Mapping[str, ArgType] = ARGS) -> Events:
    return decode.decode(source(folder, content), args)


def codes(events: Events) -> dict[str, int]:
    return {one.code: one.count for one in events.problems}


def names(events: Events) -> list[str | None]:
    return [events.strings[name] if name >= 0 else None for name in events.name]


@pytest.mark.parametrize(
    "content",
    [
        [LOAD, LOAD],
        {"traceEvents": [LOAD, LOAD]},
        {"traceEvents": [LOAD, LOAD], "displayTimeUnit": "ns"},
        {"displayTimeUnit": "ns", "traceEvents": [LOAD, LOAD]},
        {"metadata": {"traceEvents": 'not "these"', "deep": [{"a": [1, "]"]}]}, "traceEvents": [LOAD, LOAD]},
    ],
    ids=["bare", "object", "keys after", "keys before", "metadata that looks like events"],
)
def test_every_form_of_file_gives_the_same_rows(tmp_path: Path, content: object) -> None:
    events = read(tmp_path, content)
    assert names(events) == ["load", "load"]
    assert [events.strings[category] for category in events.category] == ["op", "op"]
    assert bytes(events.phase) == b"XX"
    assert events.start.tolist() == [10_000, 10_000]
    assert events.duration.tolist() == [5_000, 5_000]
    assert [events.threads[thread] for thread in events.thread] == [Thread(1, 2), Thread(1, 2)]
    assert events.problems == ()


def test_the_first_of_one_event_a_line_may_be_long(tmp_path: Path) -> None:
    long = {**LOAD, "args": {"text": "x" * 200_000}}
    events = read(tmp_path, b"\n".join(json.dumps(one).encode() for one in (long, LOAD)))
    assert names(events) == ["load", "load"]
    assert codes(events) == {"json-lines": 1}


def test_header_has_the_keys_before_and_after_the_events(tmp_path: Path) -> None:
    events = read(
        tmp_path, b'{"schemaVersion": 1, "traceEvents": [{"ph":"i","ts":0}], "deviceProperties": [{"id": 0}]}'
    )
    assert events.header == {"schemaVersion": 1, "deviceProperties": [{"id": 0}]}
    assert events.size == 89


def test_header_values_over_a_megabyte_are_left_out(tmp_path: Path) -> None:
    events = read(tmp_path, {"source": "x" * 1_500_000, "files": ["y"] * 400_000, "v": 1, "traceEvents": [LOAD]})
    assert events.header == {"v": 1}
    assert len(events) == 1


def test_head_has_the_first_events_whole_and_the_keys_before_them(tmp_path: Path) -> None:
    event = {**LOAD, "args": {"anything": [1, {"a": None}]}}
    head = decode.read_head(source(tmp_path, {"before": 1, "traceEvents": [event] * 1_500, "after": 2}))
    assert head.header["before"] == 1
    assert len(head.events) == 1_000
    assert head.events[999] == event
    assert not head.bare
    assert decode.read_head(source(tmp_path, [event])).bare


def test_arguments_are_kept_sparse_and_by_type(tmp_path: Path) -> None:
    arguments: list[Any] = [
        {"correlation": 7, "Input Dims": [[8, 1024], []], "occupancy": 0.5},
        {"correlation": "8", "Input Dims": "[[8, 1024], []]", "occupancy": "0.25", "other": 1},
        {"correlation": None, "Input Dims": None},
        None,
        {"correlation": 9.0, "occupancy": 1},
        {"correlation": "0x10"},
        {"correlation": "none"},
    ]
    events = read(tmp_path, [{**LOAD, "args": args} for args in arguments])
    assert events.arg("correlation").rows.tolist() == [0, 1, 4, 5, 6]
    assert events.arg("correlation").values.tolist() == [7, 8, 9, 16, -1]
    assert events.arg("occupancy").rows.tolist() == [0, 1, 4]
    assert events.arg("occupancy").values.tolist() == [0.5, 0.25, 1.0]
    assert [events.strings[text] for text in events.arg("Input Dims").values] == ["[[8, 1024], []]"] * 2
    assert len(events.arg("other").rows) == 0


FAR = ["9" * 400, "9" * 5000, "-" + "9" * 5000, "1e400"]
"""Numbers that fit no float; Python gives up on the digits of the longer ones."""


@pytest.mark.parametrize("number", FAR)
@pytest.mark.parametrize("key", ["id", "pid", "tid", "ts", "dur", "name", "correlation", "bandwidth", "key", "unread"])
def test_a_number_of_any_size_costs_no_event(tmp_path: Path, number: str, key: str) -> None:
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5, "dur": 5, "args": {}}
    (event if key in ("id", "pid", "tid", "ts", "dur", "name") else event["args"])[key] = "@"
    text = json.dumps([LOAD, event, LOAD]).replace('"@"', number)
    file = source(tmp_path, text.encode())
    events = decode.decode(file, {"correlation": ArgType.INT, "bandwidth": ArgType.REAL, "key": ArgType.TEXT})
    assert events.start.tolist() == [10_000, NO_TIME if key == "ts" else 5_000, 10_000]
    assert len(list(decode.iterate(file))) == 3
    assert len(decode.read_head(file).events) == 3
    lost = {"ts": "no-time", "dur": "negative-duration" if number[0] == "-" else "no-time"}
    lost |= dict.fromkeys(("correlation", "bandwidth"), "long-integer")
    assert codes(events) == ({lost[key]: 1} if key in lost else {})
    if key == "key":
        assert events.strings[events.arg("key").values[0]] == number


def test_a_header_may_hold_a_number_of_any_size(tmp_path: Path) -> None:
    text = json.dumps({"baseTimeNanoseconds": "@", "traceEvents": [LOAD]}).replace('"@"', "9" * 5000)
    assert decode.read_head(source(tmp_path, text.encode())).header == {"baseTimeNanoseconds": "9" * 5000}


def test_integers_of_over_64_bits_are_text_exactly_and_a_number_missing(tmp_path: Path) -> None:  # B03
    event = {**LOAD, "args": {"Comms Id": 18446744073709551615, "correlation": 18446744073709551615}}
    events = read(tmp_path, [event], {"Comms Id": ArgType.TEXT, "correlation": ArgType.INT})
    assert events.strings[events.arg("Comms Id").values[0]] == "18446744073709551615"
    assert events.arg("correlation").values.tolist() == [-1]
    assert codes(events) == {"long-integer": 1}


def test_stream_ids_of_64_bits_are_kept(tmp_path: Path) -> None:  # B35
    events = read(tmp_path, [{**LOAD, "tid": 140234567890123, "args": {"correlation": 140234567890123}}])
    assert events.threads == (Thread(1, 140234567890123),)
    assert events.arg("correlation").values.tolist() == [140234567890123]


def test_pids_and_tids_are_kept_as_the_file_has_them(tmp_path: Path) -> None:
    pids: list[Any] = [0, -1, "GPU 0", "", None, 1.0]
    events = read(tmp_path, [{**LOAD, "pid": pid, "tid": "stream 7"} for pid in pids])
    assert [events.threads[thread].process for thread in events.thread] == [0, -1, "GPU 0", "", None, 1]


def test_fields_of_odd_types_count_as_missing_and_cost_no_event(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {**LOAD, "name": 5, "cat": ["a"], "pid": True, "tid": {"a": 1}, "id": [1]},
        {**LOAD, "ph": 1},
        {**LOAD, "args": "text"},
        {**LOAD, "args": [1]},
        {},
        {**LOAD, "args": {"correlation": [1], "Input Dims": [2]}},
    ]
    events = read(tmp_path, odd)
    assert names(events) == [None, "load", "load", "load", None, "load"]
    assert events.phase.tolist() == [ord("X"), 0, ord("X"), ord("X"), 0, ord("X")]
    assert events.threads[events.thread[0]] == Thread(None, None)
    assert len(events.arg("correlation").rows) == 0
    assert [events.strings[text] for text in events.arg("Input Dims").values] == ["[2]"]
    assert codes(events) == {"odd-arguments": 2}


def test_items_that_are_no_objects_are_left_out_and_counted(tmp_path: Path) -> None:
    content = [None, LOAD, 5, "text", [LOAD], True, LOAD]
    events = read(tmp_path, content)
    assert names(events) == ["load", "load"]
    assert codes(events) == {"not-an-object": 5}
    assert list(decode.iterate(source(tmp_path, content))) == [LOAD, LOAD]


def test_metadata_is_the_last_value_by_time(tmp_path: Path) -> None:
    def name(value: str, ts: int | None) -> dict[str, Any]:
        return {
            "ph": "M",
            "name": "thread_name",
            "pid": 1,
            "tid": 2,
            "args": {"name": value},
            **({"ts": ts} if ts else {}),
        }

    events = read(tmp_path, [name("last", 9), name("first", 1), name("untimed", None), LOAD])
    assert events.metadata == {("thread_name", Thread(1, 2)): "last"}
    whole = {"ph": "M", "name": "stackFrames", "pid": 1, "args": {"a": 1, "b": [2]}}
    assert read(tmp_path, [whole]).metadata == {("stackFrames", Thread(1, None)): {"a": 1, "b": [2]}}


def test_ids_are_integers_or_texts_and_id2_is_one_of_them(tmp_path: Path) -> None:
    ids: list[dict[str, Any]] = [{"id": 7}, {"id": "0x7"}, {"id2": {"local": "a"}}, {"id2": {"global": 7}}, {}]
    events = read(tmp_path, [{"ph": "b", "name": "n", "cat": "c", "ts": 1, **one} for one in ids])
    assert [events.ids[number] if number >= 0 else None for number in events.id] == [7, "0x7", "a", 7, None]


def test_rare_fields_are_kept(tmp_path: Path) -> None:
    events = read(
        tmp_path,
        [LOAD, {**LOAD, "bp": "e", "bind_id": 12, "flow_in": True, "flow_out": 1, "s": "g"}, {**LOAD, "bind_id": "12"}],
    )
    assert events.field("bp").rows.tolist() == [1]
    assert [events.ids[one] for one in events.field("bind_id").values] == [12, "12"]
    assert events.field("flow_in").values.tolist() == [1]
    assert events.field("flow_out").values.tolist() == [1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),  # B06
        (b" \n\t", "the file is empty"),
        (b"[]", "no events: the list is empty"),
        (b'{"traceEvents":[]}', "no events: `traceEvents` is empty"),
        (b'{"traceEvents":null}', "no events: `traceEvents` is no list"),
        (b'{"traceEvents":{"0":{}}}', "`traceEvents` is an object"),
        (b"null", "only a null"),
        (b'"traceEvents"', "only a string"),
        (b"12", "only a number"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (bytes(range(256)), "binary data"),
        (b"once upon a time", "text that is no JSON"),
        (b"[[-1, 1, 37888, 7]]", "a PyTorch memory timeline"),
        (b'{"schema": "1.0.1", "pid": 9, "nodes": [{"id": 1}]}', "a PyTorch execution trace"),  # B72
        (b'{"$schema": "https://www.speedscope.app/file-format-schema.json"}', "a speedscope profile"),
        (b'{"aten::add": ["kernel"]}', "JSON without `traceEvents` (it has `aten::add`)"),
        (b"[1, 2]", "no event object"),
        (
            b'{"traceEvents":[{"ph":"X","na',
            "what stands at byte 16 is cut off or damaged beyond repair, nothing else is whole, and the text ends at byte 29",
        ),
        (
            b'[{"ph":"X","na',
            "what stands at byte 1 is cut off or damaged beyond repair, nothing else is whole, and the text ends at byte 14",
        ),
        (b'{"traceEvents":[', "ends at byte 16, before the first;"),
        (
            b'{"schemaVersion": 1, "deviceProp',
            "damaged before byte 32 and has no `traceEvents` (it has `schemaVersion`)",
        ),
        (b"[#!?]", "what stands at byte 1 is cut off or damaged beyond repair, nothing else is whole;"),
        (
            gzip.compress(b'{"traceEvents":[{"ph":"X","name":"load"}]}', mtime=0)[:30],
            "cut off at byte 30, before its first event",
        ),
        (gzip.compress(b"", mtime=0), "the gzip archive is empty"),
        (b"\x1f\x8b", "cut off at byte 2, before its first event"),
        (b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 30, "damaged near byte 10, before its first event"),
        (b"\x28\xb5\x2f\xfd\x24", "cut off at byte 5, before its first event"),
        (b"trace.json" + bytes(247) + b"ustar  " + bytes(248), "a tar archive; unpack it"),
    ],
)
def test_what_is_no_trace_is_said_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    for attempt in (decode.read_head, lambda file: decode.decode(file, {}), lambda file: list(decode.iterate(file))):
        with pytest.raises(FormatError) as raised:
            attempt(source(tmp_path, content))
        assert message in str(raised.value)
        assert "\n" not in str(raised.value)


def test_metadata_alone_is_a_trace_without_times(tmp_path: Path) -> None:  # B07
    events = read(tmp_path, [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}] * 2)
    assert events.start.tolist() == [NO_TIME, NO_TIME]
    assert events.problems == ()


def test_memory_is_bounded_by_columns_not_by_text(tmp_path: Path) -> None:  # B68
    tracemalloc = pytest.importorskip("tracemalloc")
    event = json.dumps({**LOAD, "args": {"stack": "frame; " * 200}}).encode()
    path = tmp_path / "trace.json"
    path.write_bytes(b"[" + b",\n".join([event] * 20_000) + b"]")
    tracemalloc.start()
    try:
        events = decode.decode(open_source(path), ARGS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(events) == 20_000
    assert peak < path.stat().st_size / 2


# Whatever the white space and wherever the cuts fall, the columns are those of a plain parse.

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ['a"},{"ph":"X"', "},\n{", "]}", "\\"]
)
SCALAR = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
MICROSECONDS = st.decimals(-(10**12), 10**12, allow_nan=False, allow_infinity=False, places=5) | st.integers(0, 2**52)
EVENT = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from(["X", "B", "E", "i", "s", "f", "C"]),
        "name": TEXT,
        "cat": TEXT,
        "pid": st.integers(-1, 3) | TEXT,
        "tid": st.integers(0, 2**63) | TEXT,
        "ts": MICROSECONDS,
        "dur": MICROSECONDS,
        "id": st.integers(0, 5) | TEXT,
        "args": st.none() | st.dictionaries(TEXT | st.sampled_from(list(ARGS)), VALUE, max_size=4),
        "other": VALUE,
    },
)
SPACE = st.text(" \n\r\t", max_size=4)


def write_json(value: object, space: st.DataObject) -> str:
    def gap() -> str:
        return space.draw(SPACE)

    if isinstance(value, dict):
        members = [
            f"{gap()}{json.dumps(key)}{gap()}:{gap()}{write_json(item, space)}{gap()}" for key, item in value.items()
        ]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(f"{gap()}{write_json(item, space)}{gap()}" for item in value) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=space.draw(st.booleans()))


@settings(max_examples=60, deadline=None)
@given(
    items=st.lists(EVENT, min_size=1, max_size=12), chunk_bytes=st.integers(1, 400), bare=st.booleans(), data=st.data()
)
def test_columns_equal_those_of_a_plain_parse(
    tmp_path_factory: pytest.TempPathFactory,
    items: list[dict[str, Any]],
    chunk_bytes: int,
    bare: bool,  # noqa: FBT001 - hypothesis passes by name
    data: st.DataObject,
) -> None:
    text = (
        write_json(items, data) if bare else f'{{"a": [{{}},{{}}], "traceEvents": {write_json(items, data)}, "z": 1}}'
    )
    file = source(tmp_path_factory.mktemp("trace"), text.encode("utf-8"))
    events = decode.decode(file, ARGS, chunk_bytes=chunk_bytes)
    assert names(events) == [item.get("name") for item in items]
    assert [events.threads[thread] for thread in events.thread] == [
        Thread(item.get("pid"), item.get("tid")) for item in items
    ]
    for row, item in enumerate(items):
        start = round(Decimal(item["ts"]) * 1000) if "ts" in item else NO_TIME
        duration = -1
        if "ts" in item and item.get("dur", -1) >= 0:
            duration = round((Decimal(item["ts"]) + Decimal(item["dur"])) * 1000) - start
        assert (events.start[row], events.duration[row]) == (start, duration)
    plain = json.loads(json.dumps(items, default=float))
    have = [row for row, item in enumerate(plain) if (item.get("args") or {}).get("Input Dims") is not None]
    assert events.arg("Input Dims").rows.tolist() == have
    for row, text_id in zip(have, events.arg("Input Dims").values, strict=True):
        value = plain[row]["args"]["Input Dims"]
        stored = events.strings[text_id]
        assert stored == value if isinstance(value, str) else json.loads(stored) == value
    assert list(decode.iterate(file, chunk_bytes=chunk_bytes)) == plain
    assert not events.truncated
    assert not set(codes(events)) - {"no-time", "no-duration", "negative-duration", "long-integer", "odd-arguments"}

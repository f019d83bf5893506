"""``tracegap info``: what is in a file, and what was wrong with it."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tracegap import cli

STEPS = [
    {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": start, "dur": 100}
    for number, start in ((3, 1000), (4, 1110))
]
CALL = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1020, "dur": 5}
KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1030, "dur": 50}
LINK = {"correlation": 9, "device": 0, "stream": 7}
ARROW = {"cat": "ac2g", "name": "ac2g", "id": 9}
EVENTS: list[dict[str, Any]] = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "trainer"}},
    *STEPS,
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1010, "dur": 60},
    {**CALL, "args": {"correlation": 9}},
    {**KERNEL, "args": LINK},
    {"ph": "s", "pid": 1, "tid": 1, "ts": 1020, **ARROW},
    {"ph": "f", "pid": 0, "tid": 7, "ts": 1030, "bp": "e", **ARROW},
]
HEADER = {
    "schemaVersion": 1,
    "with_stack": True,
    "distributedInfo": {"rank": 2, "backend": "nccl", "groups": [1, 2]},
    "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 40_000_000_000, "numSms": 108}],
    "note": "n" * 1000,
    "nothing": None,
}


def written(path: Path, events: list[Any] | None = None, **header: object) -> Path:
    path.write_text(json.dumps({**header, "traceEvents": EVENTS if events is None else events}), "utf-8")
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return written(tmp_path / "trace.json", **HEADER)


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> "Said":
    return Said(capsys)


class Said:
    """What ``tracegap info`` prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def text(self, *arguments: object) -> str:
        with pytest.raises(SystemExit) as stop:
            cli.main(["info", *map(str, arguments)])
        out, err = self._capsys.readouterr()
        assert (stop.value.code, err) == (0, "")
        return out

    def json(self, *arguments: object) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.text(*arguments, "--json"))
        schema = json.loads(files("tracegap").joinpath("schema/info.json").read_text("utf-8"))
        Draft202012Validator(schema).validate(document)
        return document


def test_the_text_tells_what_a_reader_looks_for(said: Said, trace: Path) -> None:
    first, _, rest = said.text(trace).partition("\n\n")
    assert " ".join(first.split()).endswith("/trace.json · PyTorch on NVIDIA A100 · 2 steps, 210 µs · 8 events")
    assert rest == TEXT


TEXT = """\
  FILE  Who wrote the file, and what its header says
    Nothing was lost or repaired.

    producer                 PyTorch (dialect pytorch)
    size                     2.11 kB, as stored
    length                   210 µs
    time 0 is                0.001000000 s of the file's clock
    schemaVersion            1
    with_stack               true
    distributedInfo.rank     2
    distributedInfo.backend  nccl
    note                     nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…

  STEPS  The steps that are marked
    2 steps on thread 1, numbered 3 to 4: median 100 µs, 100 µs to 100 µs.

  DEVICES  Devices that were handed work

    device               tracks  slices   memory  processors
    GPU 0   NVIDIA A100       1       1  40.0 GB         108

  TRACKS  Tracks, where slices happen

    track     role    device  slices  from first to last
    thread 1  host                 4            210.0 µs
    stream 7  device  GPU 0        1             50.0 µs

  KINDS  What the slices are

    kind     slices  self time
    op            1    55.0 µs  operator
    runtime       1     5.0 µs  host API call
    step          2   200.0 µs  one iteration
    kernel        1    50.0 µs  device compute

  EVENTS  Events as the file has them

    category         events  slices  self time
    user_annotation       2       2   200.0 µs
    cpu_op                1       1    55.0 µs
    cuda_runtime          1       1     5.0 µs
    kernel                1       1    50.0 µs
    ac2g                  2
    (none)                1

    phase  events
    X           5  complete
    M           1  metadata
    f           1  flow end
    s           1  flow start
"""


def test_events_are_counted_by_phase_and_by_category(said: Said, trace: Path) -> None:
    document = said.json(trace)
    assert document["trace"]["events"] == len(EVENTS)
    assert document["phases"] == [
        {"phase": "X", "events": 5},
        {"phase": "M", "events": 1},
        {"phase": "f", "events": 1},
        {"phase": "s", "events": 1},
    ]
    counted = {row["category"]: (row["events"], row["slices"], row["self_ns"]) for row in document["categories"]}
    assert counted == {
        "user_annotation": (2, 2, 200_000),
        "cpu_op": (1, 1, 55_000),
        "cuda_runtime": (1, 1, 5_000),
        "kernel": (1, 1, 50_000),
        "ac2g": (2, 0, 0),
        "(none)": (1, 0, 0),
    }
    assert document["steps"] == {"count": 2, "cut": 0, "first": 3, "last": 4}


def test_an_empty_category_is_none_and_a_missing_phase_too(said: Said, tmp_path: Path) -> None:
    slices = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 10 * at, "dur": 5} for at in range(2)]
    document = said.json(written(tmp_path / "a.json", [slices[0], {**slices[1], "cat": ""}, {"name": "b", "cat": "c"}]))
    assert document["phases"] == [{"phase": "X", "events": 2}, {"phase": "(none)", "events": 1}]
    assert document["categories"] == [
        {"category": "(none)", "events": 2, "slices": 2, "self_ns": 10_000},
        {"category": "c", "events": 1, "slices": 0, "self_ns": 0},
    ]


def test_many_events_are_counted_as_few_are(said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracegap.census._ROWS", 3)
    document = said.json(written(tmp_path / "a.json"))
    assert sum(row["events"] for row in document["phases"]) == len(EVENTS)
    assert {row["category"]: row["events"] for row in document["categories"]}["ac2g"] == 2


def test_what_an_export_drew_in_is_counted_as_the_file_has_it(
    said: Said, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = tmp_path / "drawn.json"
    with pytest.raises(SystemExit):
        cli.main(["export", str(trace), "-o", str(drawn)])
    capsys.readouterr()
    document = said.json(drawn)
    counted = {row["category"]: row for row in document["categories"]}
    assert counted["tracegap"]["events"] > 0
    assert counted["tracegap"]["slices"] == 0
    assert sum(row["events"] for row in document["phases"]) == document["trace"]["events"]


def test_short_values_of_the_header_are_told_lists_are_not_and_long_ones_are_cut(said: Said, trace: Path) -> None:
    header = {row["key"]: row["value"] for row in said.json(trace)["header"]}
    assert header.pop("note") == "n" * 200 + "…"
    assert header == {
        "schemaVersion": "1",
        "with_stack": "true",
        "distributedInfo.rank": "2",
        "distributedInfo.backend": "nccl",
    }


def test_a_long_header_is_cut_in_the_text_and_whole_as_json(said: Said, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", **{f"key{number}": number for number in range(100)})
    text = said.text(path)
    assert "key39 " in text
    assert "key40 " not in text
    assert "of 104)" in text
    assert len(said.json(path)["header"]) == 100


def test_problems_come_with_their_remedy_and_losses_are_marked(said: Said, tmp_path: Path) -> None:
    broken = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 5}
    text = said.text(written(tmp_path / "a.json", [*EVENTS, broken, {"ph": "f", "pid": 9, "tid": 9, "ts": 1, "id": 1}]))
    assert "Problems, listed at the end: 2, of which 1 may have changed what is reported." in text
    assert "loss: 1 × no-duration: " in text
    assert "           1 × unbound-flow: " in text
    assert "They were still running when the recording stopped" in text


def test_a_trace_without_steps_says_how_to_mark_them(said: Said, tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", EVENTS[3:])
    assert "--step-name says which slices are steps" in said.text(path)
    told = said.text(path, "--step-name", "mm")
    assert "1 step on thread 1, number 0: 60.0 µs." in told


def test_tracks_of_one_name_are_told_apart_by_their_process(said: Said, tmp_path: Path) -> None:
    events = [EVENTS[0], *({**EVENTS[3], "pid": pid} for pid in (1, 2))]
    lines = [" ".join(line.split()) for line in said.text(written(tmp_path / "a.json", events)).splitlines()]
    assert "thread 1 host 1 60.00 µs trainer" in lines
    assert "thread 1 host 1 60.00 µs 2" in lines


def test_names_of_the_file_reach_a_terminal_as_text(said: Said, tmp_path: Path) -> None:
    evil = "\x1b[31mred\x1b]0;title\x07\r\n\u202eevil\ud800"
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 1, "args": {"name": f"{evil}{pid}"}} for pid in (1, 2)
    ]
    events += [{"ph": "M", "name": "thread_name", "pid": pid, "tid": 1, "args": {"name": evil}} for pid in (1, 2)]
    events += [{"ph": "X", "cat": evil, "name": evil, "pid": pid, "tid": 1, "ts": 1, "dur": 1} for pid in (1, 2)]
    events.append({"ph": "\x1b", "pid": 1, "tid": 1, "ts": 1})
    path = written(tmp_path / "evil.json", events, **{evil: evil, "inner": {evil: evil}})
    text = said.text(path)
    assert not [letter for letter in text if letter != "\n" and (not letter.isprintable())]
    assert max(map(len, text.splitlines())) <= 100
    assert "\\x1b[31mred" in text
    said.json(path)


@pytest.mark.parametrize(
    ("suffix", "start"), [(".md", "<sub>"), (".json", '{\n  "schema"'), (".html", "<!doctype html>"), ("", "tracegap ")]
)
def test_the_suffix_of_the_output_chooses_the_format(
    said: Said, trace: Path, tmp_path: Path, suffix: str, start: str
) -> None:
    output = tmp_path / f"out{suffix}"
    assert said.text(trace, "-o", output) == ""
    assert output.read_text("utf-8").startswith(start)


def test_every_sample_and_collected_trace_adds_up(said: Said, samples: Path, corpus: Path) -> None:
    paths = [*samples.glob("*.json*"), *corpus.glob("other/*"), *corpus.glob("jax/*")]
    without = {
        "catapult-chromeos_system_trace.json",
        "catapult-gpu_state_trace.json",
        "catapult-trace-with-bad-world-bounds.json",
        "chrome141-no-arg-data.json",
        "speedscope-mismatched-name.json",
        "speedscope-only-begin-events.json",
    }
    for path in paths:
        if path.name in without:  # no timed slice is in it
            continue
        document = said.json(path)
        trace = document["trace"]
        assert sum(row["events"] for row in document["phases"]) == trace["events"], path
        assert sum(row["events"] for row in document["categories"]) == trace["events"], path
        assert sum(row["slices"] for row in document["categories"]) == trace["slices"], path
        assert sum(row["slices"] for row in document["kinds"]) == trace["slices"], path
        assert sum(row["slices"] for row in trace["tracks"]) == trace["slices"], path

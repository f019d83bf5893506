"""The annotated trace: what was there is intact, what was found is drawn in, and Perfetto reads both."""

import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest

from tests.trace_processor import Refused, TraceProcessor, missing, server
from tracegap import cli, pipeline
from tracegap.source import open_source

EPOCH = 1_722_505_412_000_000
"""A time of day in µs, of the size at which doubles hold quarters of a microsecond."""


def operator(name: str, start: float, length: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length} | more


def device_trace(origin: int = 0) -> dict[str, Any]:
    """Two launches of 10 µs, 100 µs apart, whose kernels of 50 µs start 10 µs after them: the device idles 60 µs before, 50 between."""
    events = [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": origin, "dur": 220},
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
    ]
    for number, start in ((1, origin + 50), (2, origin + 150)):
        at = {"args": {"correlation": number, "device": 0, "stream": 7}}
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start, "dur": 10}
            | at,
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": start + 10, "dur": 50} | at,
        ]
    return {"schemaVersion": 1, "traceEvents": events, "traceName": "two launches"}


def export(trace: object, tmp_path: Path, **how: Any) -> tuple[Any, Any]:
    """Write a trace (a value, or JSON text), export it, and return what was said and the parsed result."""
    path = tmp_path / "trace.json"
    path.write_text(trace if isinstance(trace, str) else json.dumps(trace), "utf-8")
    file = io.BytesIO()
    done = pipeline.export(path, file, **how)
    return done, json.loads(file.getvalue(), parse_float=Decimal)


def drawn(document: dict[str, Any], process: int) -> dict[str, list[dict[str, Any]]]:
    """Return our slices by the name of their track."""
    mine = [event for event in document["traceEvents"] if event.get("pid") == process]
    names = {event["tid"]: event["args"]["name"] for event in mine if event["name"] == "thread_name"}
    return {
        name: [event for event in mine if event["ph"] == "X" and event["tid"] == track] for track, name in names.items()
    }


def test_the_critical_path_is_a_track_of_neighbours_that_fill_the_window(tmp_path: Path) -> None:
    done, document = export(device_trace(), tmp_path)
    path = drawn(document, done.process)["critical path"]
    assert done.wall_ns == 220_000
    assert [(one["name"], one["ts"], one["dur"]) for one in path] == [
        ("untraced_host", 0, 50),
        ("cudaLaunchKernel", 50, 10),
        ("untraced_host", 60, 90),
        ("launch", 150, 10),
        ("gemm", 160, 50),
        ("untraced_host", 210, 10),
    ]
    assert path[1]["args"] == {"cause": "runtime", "kind": "runtime", "track": "thread 1", "event": 2}
    assert path[0]["args"]["kind"] == "wait"


def test_gaps_hold_their_parts(tmp_path: Path) -> None:
    done, document = export(device_trace(), tmp_path)
    gaps = [one for one in drawn(document, done.process)["gaps of GPU 0"] if one["name"] == "gap"]
    assert [(one["ts"], one["dur"]) for one in gaps] == [(0, 60), (110, 50), (210, 10)]
    assert gaps[1]["args"]["before"] == gaps[1]["args"]["after"] == "gemm"
    assert [sum(one["args"]["parts"].values()) for one in gaps] == [60_000, 50_000, 10_000]
    parts = [one for one in drawn(document, done.process)["gaps of GPU 0"] if one["name"] != "gap"]
    assert sum(one["dur"] for one in parts) == 120


def test_steps_and_findings_have_tracks(tmp_path: Path) -> None:
    done, document = export(device_trace(), tmp_path)
    tracks = drawn(document, done.process)
    assert [(one["name"], one["ts"], one["dur"], one["args"]["number"]) for one in tracks["steps"]] == [
        ("step 3", 0, 220, 3)
    ]
    assert {(one["ts"], one["dur"]) for one in tracks["findings"]} == {(0, 220)}
    assert tracks["findings"][0]["args"]["bound"]


def test_arrows_lead_from_thread_to_thread_along_the_path(tmp_path: Path) -> None:
    trace = device_trace()
    wait = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 165, "dur": 50}
    trace["traceEvents"].append(wait)
    _, document = export(trace, tmp_path)
    arrows = [event for event in document["traceEvents"] if event["ph"] in "sf"]
    assert [(one["ph"], one["name"], one["pid"], one["tid"], float(one["ts"])) for one in arrows] == [
        ("s", "launch", 1, 1, 150.0),
        ("f", "launch", 0, 7, 160.0),
        ("s", "sync", 0, 7, 209.999),
        ("f", "sync", 1, 1, 214.999),
    ]
    assert {one["cat"] for one in arrows} == {"tracegap"}


def test_small_times_are_left_as_the_file_spells_them(tmp_path: Path) -> None:
    text = '{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5.500,"dur":1e1,"args":{"x":1.10}}],"end":1.0}'
    path = tmp_path / "trace.json"
    path.write_text(text, "utf-8")
    file = io.BytesIO()
    assert pipeline.export(path, file).shift_us == 0  # type: ignore[union-attr]
    assert b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":5.500,"dur":1e1,"args":{"x":1.10}}' in file.getvalue()
    assert b'"end": 1.0' in file.getvalue()


def test_times_too_large_for_doubles_lose_whole_seconds_and_no_digit(tmp_path: Path) -> None:
    trace = (
        '[{"ph":"X","name":"a","pid":1,"tid":1,"ts":%d.370,"dur":10}, {"ph":"M","name":"process_name","pid":1,"ts":0}]'
    )
    path = tmp_path / "trace.json"
    path.write_text(trace % (EPOCH + 1500), "utf-8")
    file = io.BytesIO()
    done = pipeline.export(path, file)
    assert done is not None
    assert done.shift_us == EPOCH
    assert b'"ts":1500.370,"dur":10}' in file.getvalue()
    assert b'{"ph":"M","name":"process_name","pid":1,"ts":0}' in file.getvalue()


@pytest.mark.parametrize(
    "event",
    [
        '{"ph":"X","name":"a","ts":%d,"dur":5,"args":{"ts":7,"more":1}}',
        '{"ph":"X","name":"a","args":{"ts":7},"dur":5,"ts" : %d}',
        '{"ph":"X","name":"a \\"ts\\": 7,","dur":5,"ts":"%d"}',
        '{"ph":"X","name":"ts","dur":5,"ts":%de0}',
        '{"ph":"X","name":"a","dur":5,"ts":3,"\\u0074s":%d}',
    ],
)
def test_only_an_events_own_time_is_shifted(event: str, tmp_path: Path) -> None:
    done, (first, *_) = export(f"[{event % (EPOCH + 1500)}]", tmp_path)
    given = json.loads(event % (EPOCH + 1500))
    assert done.shift_us == EPOCH
    assert Decimal(first["ts"]) == 1500
    assert {key: value for key, value in first.items() if key != "ts"} == {
        key: value for key, value in given.items() if key != "ts"
    }


def test_times_below_zero_are_shifted_up_for_perfetto_drops_them(tmp_path: Path) -> None:
    done, document = export({"traceEvents": [operator("a", -30.5, 50), operator("b", 30, 10)]}, tmp_path)
    assert done.shift_us == -1_000_000
    assert [event["ts"] for event in document["traceEvents"][:2]] == [Decimal("999969.5"), 1_000_030]
    assert drawn(document, done.process)["critical path"][0]["ts"] == Decimal("999969.5")


def test_a_time_far_off_all_others_keeps_the_clock_and_the_tracks_tile_as_perfetto_rounds(tmp_path: Path) -> None:
    far = {"ph": "i", "name": "started", "pid": 1, "tid": 1, "ts": 0}
    trace = {"traceEvents": [far, *(operator("a", EPOCH + number, 1) for number in range(20))]}
    done, document = export(trace, tmp_path)
    path = drawn(document, done.process)["critical path"]
    assert done.shift_us == 0
    rounded = [round(float(one["ts"]) * 1000) for one in path]
    assert [start + round(one["dur"] * 1000) for start, one in zip(rounded, path, strict=True)][:-1] == rounded[1:]


def test_a_taken_process_id_is_not_used(tmp_path: Path) -> None:
    taken = [operator("a", 0, 5, pid=2_000_000_000), operator("b", 0, 5, pid="2000000001")]
    done, _ = export({"traceEvents": taken}, tmp_path)
    assert done.process == 2_000_000_002


def test_header_keys_are_kept_on_their_side_of_the_events(tmp_path: Path) -> None:
    _, document = export(device_trace(), tmp_path)
    assert list(document) == ["schemaVersion", "tracegap", "traceEvents", "traceName"]
    assert document["tracegap"]["wall_ns"] == 220_000


def test_a_long_header_value_is_carried_over(tmp_path: Path) -> None:
    trace = {"stackFrames": {str(number): {"name": "f" * 1000} for number in range(2000)}} | device_trace()
    _, document = export(trace, tmp_path)
    assert document["stackFrames"] == trace["stackFrames"]


def test_what_can_be_salvaged_is_written_as_sound_json(tmp_path: Path) -> None:
    cut = (
        '[{"ph":"X","name":"say "hi"","ts":1,"dur":5,"args":{"x":NaN}},5,{"ph":"X","name":"b","ts":2,"dur":null},{"ph":'
    )
    _, events = export(cut, tmp_path)
    assert [event["name"] for event in events[:2]] == ['say "hi"', "b"]
    assert events[0]["args"] == {"x": None}
    assert "dur" not in events[1]  # the trace processor reads nothing of a file with a null there


def test_an_exported_trace_can_be_exported_again(tmp_path: Path) -> None:
    first, once = export(device_trace(), tmp_path)
    second, twice = export(json.dumps(once, default=float), tmp_path)
    assert second.process == first.process + 1
    assert twice["tracegap"]["pid"] == second.process


# The command.


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def test_the_suffix_gz_packs(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json.gz"
    assert run("export", samples / "toy_sequential.json", "-o", out) == 0
    assert json.loads(gzip.decompress(out.read_bytes()))["tracegap"]["wall_ns"] == 2_100_000_000
    told = capsys.readouterr()
    assert told.out == ""
    assert "the critical path of 2.10 s is in process 2000000000" in told.err


def test_the_shift_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(device_trace(EPOCH)), "utf-8")
    assert run("export", path, "-o", tmp_path / "out.json") == 0
    assert f"all times are {EPOCH} µs less than in the trace" in capsys.readouterr().err


def test_the_trace_itself_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(device_trace()), "utf-8")
    before = path.read_bytes()
    assert run("export", path, "-o", path) == 2
    assert "is a file that is read" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say where to with -o"),
        (("-o", "out.png"), "the suffix .png names no format"),
        (("-o", "out.json", "--format", "svg"), "'svg' is not known: use perfetto, graphml or dot"),
        (("-o", "nowhere/out.json"), "there is no folder nowhere"),
        (("-o", "out.json", "--steps", "99"), "no such step"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_no_file(
    arguments: tuple[str, ...], message: str, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run("export", samples / "cuda_host_bound.json.gz", *arguments) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# The graph.


def test_graphml_has_causes_and_weights_whose_longest_path_is_the_wall(samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.graphml"
    assert run("export", samples / "cuda_host_bound.json.gz", "-o", out, "--steps", "2") == 0
    graph = networkx.MultiDiGraph(networkx.read_graphml(out, force_multigraph=True))
    report = pipeline.analyze(samples / "cuda_host_bound.json.gz", steps=(2, 2))
    assert networkx.dag_longest_path_length(graph) == report.window["wall_ns"]
    assert {"thread", "launch"} <= {facts["cause"] for _, _, facts in graph.edges(data=True)}


def test_graphml_holds_names_that_xml_cannot(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [operator("odd \x01 name", 0, 5)]}), "utf-8")
    file = io.BytesIO()
    assert pipeline.export(path, file, format="graphml") is None
    assert "odd \ufffd name" in "".join(ElementTree.fromstring(file.getvalue()).itertext())


def test_dot_has_an_edge_a_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [operator('say "hi"', 0, 5)]}), "utf-8")
    file = io.BytesIO()
    pipeline.export(path, file, format="dot")
    lines = file.getvalue().decode().splitlines()
    assert lines[0] == "digraph tracegap {"
    assert lines[-1] == "}"
    assert (
        '  "0" -> "1" [label="thread 5000", ns="5000", lag="5000", delay="0", cause="thread", inferred="false"];'
        in lines
    )
    assert sum("->" in line for line in lines) == 3


def test_a_graph_too_large_to_look_at_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [operator("a", start, 1) for start in range(10_000)]}), "utf-8")
    assert run("export", path, "-o", tmp_path / "graph.dot") == 2
    assert "20,002 nodes" in capsys.readouterr().err
    assert not (tmp_path / "graph.dot").exists()


# Against the real trace processor.

SAMPLES = sorted(path.name for path in (Path(__file__).parent.parent / "sample_traces").glob("*.json*"))

COLLECTED = (
    "hta-cuda_event_sync_multi_stream.json.gz",
    "hta-ns_resolution-rank0.pt.trace.json.gz",
    "tf1_timeline_train_memory.json.gz",
    "torch_two_threads_all.pt.trace.json.gz",
    "torch_invalid_quote_in_name.pt.trace.json",
    "derived-huge-timestamps.json",
    "derived-utf16le-bom.json",
    "cxxtracing-trace.json",
)
"""Files of other shapes: many streams, epochs, times beyond int64, a far-off time, damage, another encoding."""

SUMS = """
SELECT t.name, sum(s.dur) FROM slice s JOIN thread_track k ON s.track_id = k.id JOIN thread t USING (utid)
JOIN process p USING (upid) WHERE p.name = 'tracegap' GROUP BY t.name
"""

FAULTS = "SELECT name, value FROM stats WHERE value > 0 AND severity IN ('error', 'data_loss')"


@pytest.fixture(scope="module")
def real() -> Iterator[TraceProcessor]:
    if missing():
        pytest.skip(missing())
    with server() as running:
        yield running


def check(path: Path, real: TraceProcessor, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with out.open("wb") as file:
        done = pipeline.export(path, file)
    assert done is not None
    try:
        real.load(path)
        before = dict(real.query(FAULTS)[1])
    except Refused:
        before = {}
    real.load(out)
    assert [fault for fault, number in real.query(FAULTS)[1] if number > before.get(fault, 0)] == []
    assert dict(real.query(SUMS)[1])["critical path"] == done.wall_ns
    events = _parsed(b"".join(open_source(path).stream()).decode(errors="replace"))
    if events is not None:
        assert _counted(_parsed(out.read_text("utf-8")) or [], done.process, 0) == _counted(
            events, done.process, done.shift_us
        )


def _parsed(text: str) -> list[dict[str, Any]] | None:
    """Return the events of sound JSON, numbers as they are spelt."""
    try:
        document = json.loads(text.removeprefix("\ufeff"), parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return None
    return document if isinstance(document, list) else document["traceEvents"]  # type: ignore[no-any-return]


def _counted(events: list[dict[str, Any]], process: int, shift_us: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in events:
        if event.get("pid") == process or event.get("cat") == "tracegap":
            continue
        time = event.get("ts")
        if isinstance(time, Decimal) and time >= shift_us:
            event = event | {"ts": time - shift_us}
        found[json.dumps(event, sort_keys=True, default=str)] += 1
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_perfetto_reads_every_sample(name: str, samples: Path, real: TraceProcessor, tmp_path: Path) -> None:
    check(samples / name, real, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", COLLECTED)
def test_perfetto_reads_collected_traces(name: str, corpus: Path, real: TraceProcessor, tmp_path: Path) -> None:
    check(next(corpus.rglob(name)), real, tmp_path)


@pytest.mark.slow
def test_perfetto_draws_the_arrows(samples: Path, real: TraceProcessor, tmp_path: Path) -> None:
    real.load(samples / "cuda_host_bound.json.gz")
    before = real.query("SELECT count(*) FROM flow")[1][0][0]
    out = tmp_path / "out.json"
    with out.open("wb") as file:
        pipeline.export(samples / "cuda_host_bound.json.gz", file)
    arrows = sum(
        event["ph"] == "s" and event["cat"] == "tracegap" for event in json.loads(out.read_bytes())["traceEvents"]
    )
    real.load(out)
    assert arrows > 0
    assert real.query("SELECT count(*) FROM flow")[1][0][0] == before + arrows


def test_an_exported_trace_gives_the_report_of_the_original(samples, tmp_path):
    out = tmp_path / "drawn.json"
    source = samples / "cuda_host_bound.json.gz"
    with out.open("wb") as file:
        pipeline.export(source, file)
    original, drawn = pipeline.load(source), pipeline.load(out)
    assert len(drawn.slices) == len(original.slices)
    assert len(drawn.flows) == len(original.flows)
    assert drawn.slices.start.tolist() == original.slices.start.tolist()
    assert "drawn-in" in {problem.code for problem in drawn.problems}

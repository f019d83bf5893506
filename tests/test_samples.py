"""The sample traces show what their rows in sample_traces/README.md say, to the nanosecond."""

import gzip
import importlib
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tracegap

MS = 1_000_000
SCRIPTS = Path(__file__).parent.parent / "sample_traces"


def script(name: str) -> ModuleType:
    """Return one of the scripts beside the samples."""
    if name in sys.modules:
        return sys.modules[name]
    sys.path.insert(0, str(SCRIPTS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(SCRIPTS))


def events(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file, with nothing done to them."""
    text = path.read_bytes()
    trace = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
    return trace if isinstance(trace, list) else trace["traceEvents"]


def totals(timeline: tracegap.Timeline) -> Counter[str]:
    """Return the time of all slices by name."""
    slices = timeline.slices
    lengths: Counter[str] = Counter()
    for name, start, end in zip(slices.name.tolist(), slices.start.tolist(), slices.end.tolist(), strict=True):
        lengths[timeline.names[name]] += end - start
    return lengths


def nodes(path: Path) -> list[dict[str, Any]]:
    """Return the operators of an ONNX Runtime file."""
    return [event for event in events(path) if event.get("cat") == "Node"]


def bytes_moved(node: dict[str, Any]) -> int:
    """Return what the file says an operator reads and writes."""
    return sum(int(node["args"][key]) for key in ("activation_size", "parameter_size", "output_size"))


def shape(sides: list[Mapping[str, list[int]]], place: int) -> list[int]:
    """Return one of the shapes of an operator."""
    (found,) = sides[place].values()
    return found


@pytest.mark.parametrize("name", script("make").SAMPLES)
def test_a_generated_sample_is_what_its_script_writes(samples: Path, name: str) -> None:
    stored = (samples / name).read_bytes()
    stored = gzip.decompress(stored) if name.endswith(".gz") else stored
    assert stored == script("make").SAMPLES[name]()


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in sorted(SCRIPTS.iterdir()) if path.suffix in (".json", ".gz")]
)
def test_a_sample_is_small_and_tells_of_nobody(path: Path) -> None:
    stored = path.read_bytes()
    assert len(stored) <= 200_000
    text = gzip.decompress(stored) if path.suffix == ".gz" else stored
    for private in (b"/home/", b"/root/", b"/tmp/", b"/Users/", b"C:\\"):
        assert private not in text


@pytest.mark.parametrize(
    ("name", "wall", "steps"),
    [
        ("toy_sequential.json", 2_100, [700, 700, 700]),
        ("toy_pipelined.json", 1_700, [700, 500, 500]),
        ("toy_fused.json", 800, [400, 200, 200]),
    ],
)
def test_the_toy_program_takes_its_time(samples: Path, name: str, wall: int, steps: list[int]) -> None:
    report = tracegap.analyze(samples / name)
    assert report.window["wall_ns"] == wall * MS
    assert [step.wall_ns for step in report.results["steps"].items] == [step * MS for step in steps]


def test_load_and_compute_follow_each_other_in_the_sequential_toy(samples: Path) -> None:
    assert totals(tracegap.load(samples / "toy_sequential.json")) == {
        "ProfilerStep#1": 700 * MS,
        "ProfilerStep#2": 700 * MS,
        "ProfilerStep#3": 700 * MS,
        "load_data": 1_500 * MS,
        "compute": 600 * MS,
    }


def test_the_frame_has_operators_of_6_2_of_11_4_ms(samples: Path) -> None:
    host = tracegap.analyze(samples / "frame.json").results["overhead"].host
    assert (host.wall_ns, host.operator_sum_ns, host.overhead_ns) == (11_400_000, 6_200_000, 5_200_000)
    assert round(host.overhead_ratio, 2) == 0.46


def test_the_segmentation_frame_is_split_as_it_says(samples: Path) -> None:
    report = tracegap.analyze(samples / "segmentation.json")
    time: Counter[str] = Counter()
    for node in nodes(samples / "segmentation.json"):
        operator = node["args"]["op_name"]
        part = "elementwise" if node["name"].startswith("gate_") else operator
        time[part] += 1000 * node["dur"]
    wall = report.window["wall_ns"]
    assert wall == 41_700_000
    assert (time["Conv"], time["elementwise"], time["Transpose"]) == (25_400_000, 9_300_000, 5_200_000)
    assert wall - time["Conv"] - time["elementwise"] - time["Transpose"] == 1_800_000
    assert report.results["overhead"].host.operator_sum_ns == sum(time.values())


def test_the_segmentation_frame_does_as_much_work_as_it_says(samples: Path) -> None:
    flops, chain, layout = 0, 0, 0
    for node in nodes(samples / "segmentation.json"):
        args = node["args"]
        if args["op_name"] == "Conv":
            weights, out = shape(args["input_type_shape"], 1), shape(args["output_type_shape"], 0)
            flops += 2 * math.prod(weights[1:]) * math.prod(out)
        chain += bytes_moved(node) if node["name"].startswith("gate_") else 0
        layout += bytes_moved(node) if args["op_name"] == "Transpose" else 0
    assert round(flops / 1e9, 3) == 1.9
    assert (chain, layout) == (117_440_512, 50_331_648)
    assert round(flops / 25.4e-3 / 1e9, 1) == 74.8


def test_the_detector_frame_is_split_as_it_says(samples: Path) -> None:
    path = samples / "detector.json"
    time = totals(tracegap.load(path, step_name="^frame"))
    assert time["frame#1"] == 61 * MS
    assert (time["preprocess"], time["colour_conversion"], time["model"]) == (26_500_000, 14 * MS, 21 * MS)
    assert time["frame#1"] - time["preprocess"] - time["model"] == 13_500_000
    assert sum(1000 * node["dur"] for node in nodes(path) if node["args"]["provider"].startswith("QNN")) == 8 * MS


def test_the_detector_has_seven_partitions_and_six_hand_offs(samples: Path) -> None:
    timeline = tracegap.load(samples / "detector.json", step_name="^frame")
    report = tracegap.analyze(timeline)
    assert report.window["wall_ns"] == 61 * MS
    partitions = report.results["overhead"].partitions
    assert (partitions.count, partitions.handoffs) == (7, 6)


@pytest.mark.parametrize("scenario", ["HOST_BOUND", "HEALTHY"])
@pytest.mark.parametrize("cuda_sync", [True, False])
def test_busy_and_idle_time_are_what_the_simulation_knows(
    tmp_path: Path,
    scenario: str,
    cuda_sync: bool,  # noqa: FBT001 - parametrised
) -> None:
    make_cuda = script("make_cuda")
    text, truth = make_cuda.simulate(replace(getattr(make_cuda, scenario), cuda_sync=cuda_sync, seed=3))
    path = tmp_path / "trace.json"
    path.write_bytes(text)
    report = tracegap.analyze(path)

    assert report.window["wall_ns"] == truth["window"]["end_ns"] - truth["window"]["start_ns"]
    (device,) = report.results["gaps"].devices
    known = truth["device"]
    assert (device.busy_ns, device.idle_ns, device.count) == (known["busy_ns"], known["idle_ns"], len(known["gaps"]))
    assert [step.end_ns - step.start_ns for step in report.results["steps"].items] == [
        step["end_ns"] - step["start_ns"] for step in truth["steps"]
    ]


@pytest.mark.parametrize("scenario", ["HOST_BOUND", "HEALTHY"])
def test_the_simulation_gives_every_idle_nanosecond_a_cause(scenario: str) -> None:
    make_cuda = script("make_cuda")
    known = make_cuda.simulate(getattr(make_cuda, scenario))[1]["device"]
    assert sum(known["causes"].values()) == known["idle_ns"]
    assert all(sum(gap["causes"].values()) == gap["duration_ns"] for gap in known["gaps"])


@pytest.mark.parametrize("name", ["cuda_host_bound.json.gz", "cuda_healthy.json.gz"])
def test_a_simulated_trace_reads_without_a_problem(samples: Path, name: str) -> None:
    assert tracegap.load(samples / name).problems == ()


def test_the_healthy_gpu_is_busy_and_gets_no_finding(samples: Path) -> None:
    report = tracegap.analyze(samples / "cuda_healthy.json.gz")
    (device,) = report.results["gaps"].devices
    assert device.idle_ratio < 0.05
    assert report.verdict is not None
    assert report.verdict.findings == ()


@pytest.mark.parametrize(
    ("name", "dialect", "steps"),
    [
        ("torch_cnn_train.json.gz", "pytorch", 4),
        ("torch_cnn_memory.json.gz", "pytorch", 2),
        ("onnxruntime_segmentation.json.gz", "onnxruntime", 10),
        ("jax_train.json.gz", "jax", 5),
    ],
)
def test_a_recording_is_recognised_with_its_steps(samples: Path, name: str, dialect: str, steps: int) -> None:
    report = tracegap.analyze(samples / name)
    assert report.trace["dialect"] == dialect
    assert report.results["steps"].count == steps


def test_operators_of_the_recorded_session_add_up_to_the_file(samples: Path) -> None:
    path = samples / "onnxruntime_segmentation.json.gz"
    summed: Counter[str] = Counter()
    for node in nodes(path):
        summed[node["name"].removesuffix("_kernel_time")] += 1000 * node["dur"]
    operators = tracegap.analyze(path).results["overhead"].operators
    assert {one.name: one.operator_ns for one in operators} == summed

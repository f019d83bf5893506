"""What is on the critical path, what that says of names, and what changes would bring."""

import json

import numpy as np
import pytest

from tests.conftest import SAMPLES
from tests.tracebuilder import ChromeTrace, Trace
from tracegap import change, schedule
from tracegap.analyses import critical_path
from tracegap.analyses.contract import Model
from tracegap.analyses.path_results import Named, OffPath, Part, Segment
from tracegap.dag import build
from tracegap.extent import choose_window
from tracegap.pipeline import load
from tracegap.report import unmarked


def device_bound():
    """Two kernels on one stream, of 100 and 40 µs, a third of 30 µs beside them, and the host waiting at the end."""
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 20)
    trace.stream(7).kernel("gemm", 10, 110, main.launch(2, 6))
    trace.stream(8).kernel("beside", 14, 44, main.launch(8, 12))
    trace.stream(7).kernel("relu", 112, 152, main.launch(14, 18))
    main.sync(20, 155)
    main.op("print", 155, 165)
    return trace


@pytest.fixture
def found():
    return critical_path.run(device_bound().model())


def test_the_path_is_as_long_as_the_window_and_divided_into_work_and_waits(found):
    assert (found.length_ns, found.work_ns, found.wait_ns) == (165_000, 152_000, 13_000)
    assert (found.inferred_ns, found.carried_in_ns) == (3_000, 0)
    assert found.by_cause == (
        Part("kernel", 140_000),
        Part("operator", 12_000),
        Part("launch", 6_000),
        Part("scheduling", 4_000),
        Part("sync", 3_000),
    )


def test_each_name_on_the_path_has_its_drag(found):
    # Without gemm, relu starts 6 µs after its launch at 14, and 2 µs late as it did.
    assert found.by_name == (
        Named("gemm", "kernel", 1, 100_000, 100 / 165, 90_000, 90_000),
        Named("relu", "kernel", 1, 40_000, 40 / 165, 40_000, 40_000),
        Named("print", "op", 1, 10_000, 10 / 165, 10_000, 10_000),
        Named("aten::mm", "op", 1, 2_000, 2 / 165, 2_000, 142_000),
    )


def test_names_off_the_path_have_slack(found):
    assert found.off_path == (OffPath("beside", 30_000, 108_000), OffPath("cudaLaunchKernel", 12_000, 90_000))


def test_the_section_says_what_would_help_and_what_would_not(found):
    lines = [unmarked(line) for line in critical_path.section(found).lines]
    assert lines == [
        "165 µs = host work 12.0 µs (7.3 %) + device work 140 µs (84.8 %) + waits 13.0 µs (7.9 %).",
        "Without the own work of gemm the window would be 90.0 µs shorter (54.5 %); it is on the path for 100 µs.",
        "Off the path: beside takes 30.0 µs and has at least 108 µs slack; making it faster changes nothing.",
    ]


def test_ranges_without_operators_are_told_apart_from_operators_and_no_part_is_nothing():
    trace = Trace()
    main = trace.thread(1)
    main.step(1, 0, 100)
    main.slice("preprocess", 0, 60, "user_annotation")
    main.op("aten::mm", 60, 100)
    section = critical_path.section(critical_path.run(trace.model()))
    assert section.lines[0] == "100 µs = host work 100 µs (100.0 %)."
    cause, time = section.tables[0].columns[:2]
    assert (cause.values, time.values) == (("range without operators", "operator"), (60_000, 40_000))


def test_segments_are_told_only_in_full(found):
    assert found.segments is None
    timeline = device_bound().timeline()
    window = choose_window(timeline)
    full = critical_path.run(Model(timeline, window, build(timeline, window), full=True))
    assert full.segments[:2] == (
        Segment(0, 2_000, "aten::mm", "op", "operator", 0),
        Segment(2_000, 6_000, "gemm", "kernel", "launch", 1),
    )
    assert sum(one.duration_ns for one in full.segments) == 165_000


def test_work_that_began_before_the_window_is_told():
    trace = ChromeTrace()
    trace.span("long", 0, 100)
    assert critical_path.run(trace.model(between=(40_000, 100_000))).carried_in_ns == 60_000


def test_an_empty_window_has_no_path():
    trace = ChromeTrace()
    trace.span("nothing", 5, 5)
    assert critical_path.run(trace.model()) is None


def test_a_name_with_more_than_one_kind_is_told_by_kind():
    trace = Trace()
    main = trace.thread()
    main.op("gemm", 0, 20)
    trace.stream().kernel("gemm", 20, 60, main.launch(10, 15))
    found = critical_path.run(trace.model())
    assert [(one.name, one.kind, one.duration_ns) for one in found.by_name] == [
        ("gemm", "kernel", 40_000),
        ("gemm", "op", 10_000),
    ]


# Changes


def test_a_mark_spreads_to_what_a_slice_holds_and_launched():
    trace = Trace()
    main = trace.thread()
    main.annotation("forward", 0, 50)
    main.op("aten::linear", 5, 45)
    main.op("aten::mm", 10, 40)
    trace.stream().kernel("gemm", 30, 90, main.launch(20, 25))
    main.op("other", 60, 70)
    timeline = trace.timeline()
    names = [timeline.names[name] for name in timeline.slices.name.tolist()]
    marks = np.array([name == "forward" for name in names], np.uint32)
    spread = change.spread(timeline, marks)
    marked = {name for name, mark in zip(names, spread.tolist(), strict=True) if mark}
    assert marked == {"forward", "aten::linear", "aten::mm", "cudaLaunchKernel", "gemm"}


def test_work_at_half_its_time_shortens_the_window_by_what_is_on_the_path():
    timeline = device_bound().timeline()
    window = choose_window(timeline)
    dag = build(timeline, window)
    gemm = timeline.slices.name == timeline.names.index("gemm")
    weight = change.shortened(dag, gemm, 0.5)
    plan = schedule.contract(dag.graph)
    assert schedule.replay_many(plan, [weight], dag.graph.time, dag.end).tolist() == [115_000]


def test_in_the_sequential_toy_all_work_is_on_the_path():
    found = critical_path.run(model_of("toy_sequential.json"))
    assert found.length_ns == found.work_ns == 2_100_000_000
    assert found.off_path == ()


def test_in_the_healthy_sample_the_device_is_the_path():
    found = critical_path.run(model_of("cuda_healthy.json.gz"))
    kernels = next(part.duration_ns for part in found.by_cause if part.cause == "kernel")
    assert kernels > 0.95 * found.length_ns
    assert found.inferred_ns == 0


def model_of(sample):
    timeline = load(SAMPLES / sample)
    window = choose_window(timeline)
    return Model(timeline, window, build(timeline, window))


def test_the_result_is_plain_numbers_and_text():
    found = critical_path.run(device_bound().model())
    assert json.dumps([part.duration_ns for part in found.by_cause] + [one.drag_ns for one in found.by_name])

"""Stages: nesting, counts, and whose device time it is."""

from tests.tracebuilder import ChromeTrace, Trace
from tracegap.analyses import stages
from tracegap.analyses.stages import Stage
from tracegap.report import unmarked


def stages_of(trace: Trace, **options: object) -> dict[str, Stage]:
    found = stages.run(trace.model(**options))
    assert found is not None
    return {stage.name: stage for stage in found}


def trained() -> Trace:
    """One step of 200 µs: forward with a nested layer, a backward pass on its own thread linked to the layer's operator."""
    trace = Trace()
    main, autograd, stream = trace.thread(1), trace.thread(2), trace.stream()
    main.step(0, 0, 200)
    main.annotation("forward", 0, 100)
    main.annotation("layer", 10, 50)
    linear = main.op("aten::linear", 10, 40)
    stream.kernel("gemm", 20, 60, main.launch(15, 20))
    main.op("aten::relu", 60, 80)
    stream.kernel("relu", 70, 80, main.launch(62, 64))
    backward = autograd.op("AddmmBackward0", 110, 150)
    autograd.op("aten::mm", 112, 140)
    stream.kernel("gemm_bwd", 120, 180, autograd.launch(115, 118))
    trace.arrow("fwdbwd", linear, backward)
    main.op("after", 200, 201)
    return trace


def test_stages_nest_and_tell_count_median_and_share() -> None:
    found = stages_of(trained())
    forward, layer = found["forward"], found["layer"]
    assert (forward.depth, forward.parent, forward.count, forward.median_ns, forward.ratio) == (
        0,
        None,
        1,
        100_000,
        0.5,
    )
    assert (layer.depth, layer.parent, layer.median_ns, layer.ratio) == (1, "forward", 40_000, 0.2)


def test_device_time_goes_to_the_innermost_stage_of_its_launch() -> None:
    found = stages_of(trained())
    # 10 µs of relu; 40 of gemm and 60 of its backward are the layer's
    assert found["forward"].device_busy_ns == 10_000
    assert found["forward"].device_total_ns == 110_000


def test_the_backward_pass_counts_to_the_stage_of_its_forward() -> None:
    layer = stages_of(trained())["layer"]
    assert (layer.device_busy_ns, layer.device_backward_ns) == (100_000, 60_000)


def test_an_unlinked_launch_on_another_thread_counts_to_the_stage_that_is_open() -> None:
    trace = Trace()
    main, autograd, stream = trace.thread(1), trace.thread(2), trace.stream()
    main.step(0, 0, 100)
    main.annotation("backward", 50, 100)
    main.op("aten::ones_like", 50, 55)
    autograd.op("MmBackward0", 60, 80)
    stream.kernel("gemm", 65, 95, autograd.launch(62, 64))
    found = stages_of(trace)
    assert found["backward"].device_busy_ns == 30_000
    assert found["backward"].device_backward_ns is None


def test_modules_are_stages() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 100)
    main.frame("train.py(3): step", 0, 100)
    main.frame("nn.Module: Linear_0", 10, 40)
    main.frame("torch/nn/modules/linear.py(5): forward", 12, 38)
    main.op("aten::linear", 15, 30)
    stream.kernel("gemm", 20, 45, main.launch(16, 18))
    assert stages_of(trace)["nn.Module: Linear_0"].device_busy_ns == 25_000


def test_a_stage_that_occurs_in_two_places_is_told_for_each() -> None:
    trace = Trace()
    main = trace.thread()
    for number in range(2):
        start = 100 * number
        main.step(number, start, start + 100)
        main.annotation("encode", start, start + 40)
        main.annotation("norm", start + 10, start + 20)
        main.op("aten::norm", start + 10, start + 20)
        main.annotation("norm", start + 50, start + 80)
        main.op("aten::norm", start + 50, start + 80)
    main.op("after", 200, 201)
    found = stages.run(trace.model())
    assert found is not None
    assert [(stage.name, stage.parent, stage.count, stage.median_ns) for stage in found] == [
        ("encode", None, 2, 40_000),
        ("norm", "encode", 2, 10_000),
        ("norm", None, 2, 30_000),
    ]
    assert stages.section(found).tables[0].indent == (0, 1, 0)


def test_without_a_device_there_is_no_device_time() -> None:
    trace = ChromeTrace()
    for number in range(3):
        trace.span("iteration", 700 * number, 700 * number + 700)
        trace.span("load_data", 700 * number, 700 * number + 500)
        trace.span("compute", 700 * number + 500, 700 * number + 700)
    found = stages_of(trace, step_name="iteration")
    assert found["load_data"].device_busy_ns is None
    assert (found["load_data"].total_ns, found["compute"].count) == (1_500_000, 3)
    line = stages.section(tuple(found.values())).lines[0]
    assert unmarked(line) == "load_data takes most: 1.50 ms on the host (71.4 % of the window), 3 × 500 µs."


def test_a_single_stage_is_not_said_to_take_most() -> None:
    trace = ChromeTrace()
    trace.span("iteration", 0, 10)
    trace.span("run", 0, 5)
    line = stages.section(tuple(stages_of(trace, step_name="iteration").values())).lines[0]
    assert unmarked(line) == "run is the one stage: 5.00 µs on the host (50.0 % of the window), 1 × 5.00 µs."


def test_a_trace_without_stages_has_none() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    assert stages.run(trace.model()) is None

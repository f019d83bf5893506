"""Activity without progress: each kind is found where it is, and told by its time, count and names; a healthy trace has none."""

from pathlib import Path
from typing import Any

import pytest

from tests.tracebuilder import OrtTrace, Thread, Trace
from tracegap import dag
from tracegap.analyses import Model
from tracegap.extent import choose_window
from tracegap.pipeline import load
from tracegap.waste import ADVICE, RULES, Waste, find_waste


def waste_of(trace: Trace, **options: Any) -> dict[str, Waste]:
    return {one.code: one for one in find_waste(trace.model(**options))}


def waste_in(path: Path) -> tuple[Waste, ...]:
    timeline = load(path)
    window = choose_window(timeline)
    return find_waste(Model(timeline, window, dag.build(timeline, window)))


def shaped(thread: Thread, name: str, start: float, end: float, *, rows: int = 8, **args: Any) -> None:
    thread.op(name, start, end, **{"Input Dims": [[rows, 8], [8, 8]], "Input type": ["float", "float"], **args})


@pytest.mark.parametrize("sample", ["cuda_healthy.json.gz", "torch_cnn_train.json.gz", "toy_fused.json"])
def test_a_healthy_sample_has_none(samples: Path, sample: str) -> None:
    assert waste_in(samples / sample) == ()


def test_the_segmentation_sample_converts_layouts_six_times_in_5_2_ms(samples: Path) -> None:
    (found,) = waste_in(samples / "segmentation.json")
    assert (found.code, found.count, found.duration_ns) == ("layout", 6, 5_200_000)


def test_every_rule_has_its_advice() -> None:
    assert len(RULES) == len(ADVICE)


def test_four_equal_calls_in_a_row_are_three_too_many() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    for number in range(4):
        shaped(main, "aten::mm", 10 * number, 10 * number + 10)
    shaped(main, "aten::relu", 50, 60)
    assert waste_of(trace) == {"repeated": Waste("repeated", 3, 30_000, ("aten::mm",))}


@pytest.mark.parametrize("case", ["three", "another between", "other shapes", "other steps", "no shapes"])
def test_calls_that_may_be_different_work_are_no_repeats(case: str) -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 50)
    main.step(1, 50, 100)
    for number in range(3 if case == "three" else 4):
        start = 10 * number + (30 if case == "other steps" else 0)
        if case == "no shapes":
            main.op("aten::mm", start, start + 8)
        else:
            shaped(main, "aten::mm", start, start + 8, rows=number if case == "other shapes" else 8)
        if case == "another between":
            main.op("aten::relu", start + 8, start + 9)
    assert waste_of(trace) == {}


def test_two_runs_that_another_operator_parts_are_not_one() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    for start in (0, 10, 20, 40, 50, 60):
        shaped(main, "aten::mm", start, start + 8)
    main.op("aten::relu", 30, 38)
    assert waste_of(trace) == {}


def test_a_module_that_is_called_more_often_than_its_siblings_repeats() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.frame("nn.Module: Net_0", 0, 90)
    for name, start in (("Embed_0", 0), ("Embed_0", 20), ("Embed_0", 40), ("Head_0", 60)):
        main.frame(f"nn.Module: {name}", start, start + 20)
        shaped(main, "aten::embedding", start + 5, start + 15)
    found = waste_of(trace)["repeated"]
    assert (found.count, found.duration_ns, found.names) == (2, 20_000, ("aten::embedding",))


def test_modules_that_are_all_called_equally_often_do_not_repeat() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.frame("nn.Module: Net_0", 0, 90)
    for name, start in (("A_0", 0), ("B_0", 20), ("A_0", 40), ("B_0", 60)):
        main.frame(f"nn.Module: {name}", start, start + 20)
        shaped(main, "aten::mm", start + 5, start + 15)
    assert waste_of(trace) == {}


def test_a_node_of_a_graph_that_runs_again_in_one_run_repeats() -> None:
    trace = OrtTrace()
    trace.run(0, 100)
    for name, start in (("pre", 10), ("pre", 20), ("pre", 30), ("conv", 40), ("head", 60)):
        trace.node(name, "Conv", start, start + 10)
    assert waste_of(trace) == {"repeated": Waste("repeated", 2, 20_000, ("pre",))}


def checkpointed(*, forward: int | None) -> Trace:
    trace = Trace()
    main, behind, stream = trace.thread(), trace.thread(2), trace.stream()
    main.step(0, 0, 1000)
    shaped(main, "aten::conv2d", 0, 50, **{"Sequence number": 5, "Fwd thread id": 0})
    node = "autograd::engine::evaluate_function: ReluBackward0"
    behind.op(node, 100, 400, **{"Sequence number": 6, "Fwd thread id": 1})
    if forward is not None:
        shaped(behind, "aten::conv2d", 110, 210, **{"Sequence number": 9, "Fwd thread id": forward})
        launch = behind.launch(120, 125)
        stream.kernel("implicit_gemm", 130, 190, launch)
    return trace


def test_a_forward_operator_inside_the_backward_pass_is_recomputed_and_costs_its_device_time() -> None:
    found = waste_of(checkpointed(forward=0))
    assert found["recomputation"] == Waste("recomputation", 1, 60_000, ("aten::conv2d",))


def test_a_backward_pass_without_forward_operators_recomputes_nothing() -> None:
    assert "recomputation" not in waste_of(checkpointed(forward=None))
    assert "recomputation" not in waste_of(checkpointed(forward=1))


def test_kernels_that_change_the_layout_are_told_with_the_copies_that_contiguous_asked_for() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 400)
    main.op("aten::contiguous", 0, 30)
    main.op("aten::copy_", 5, 25)
    stream.kernel("elementwise_copy", 50, 90, main.launch(10, 12))
    main.op("aten::contiguous", 30, 40)
    main.op("aten::conv2d", 40, 60)
    stream.kernel("void cudnn::ops::nchwToNhwcKernel<float, float>", 100, 130, main.launch(45, 47))
    stream.kernel("implicit_convolve_sgemm", 130, 400, main.launch(50, 52))
    found = waste_of(trace)["layout"]
    assert (found.count, found.duration_ns) == (2, 70_000)
    assert found.names == ("aten::contiguous", "void cudnn::ops::nchwToNhwcKernel<float, float>")


def test_a_cast_changes_the_type_and_a_move_does_not() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    for start, code in ((0, "5"), (40, "")):
        args = {"Input Dims": [[8, 8], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", code]}
        main.op("aten::_to_copy", start, start + 30, **args)
    assert waste_of(trace) == {"cast": Waste("cast", 1, 30_000, ("aten::_to_copy",))}


def copied(sizes: tuple[int, int], *, step: int = 0) -> Trace:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 100)
    main.step(1, 100, 200)
    main.op("aten::to", 0, 190)
    later = 100 * step
    for start, size, name in (
        (10, sizes[0], "DtoH (Device -> Pageable)"),
        (50 + later, sizes[1], "HtoD (Pageable -> Device)"),
    ):
        stream.slice(
            f"Memcpy {name}",
            start,
            start + 20,
            "gpu_memcpy",
            main.launch(start - 2, start, "cudaMemcpyAsync"),
            bytes=size,
        )
    return trace


def test_what_is_copied_to_the_host_and_back_in_one_step_is_a_round_trip() -> None:
    found = waste_of(copied((4096, 4096)))["round-trip"]
    assert (found.count, found.duration_ns) == (2, 40_000)


def test_copies_of_other_sizes_or_in_other_steps_are_no_round_trip() -> None:
    assert "round-trip" not in waste_of(copied((4, 4096)))
    assert "round-trip" not in waste_of(copied((4096, 4096), step=1))


def test_copy_nodes_both_ways_in_one_run_are_a_round_trip() -> None:
    trace = OrtTrace()
    trace.run(0, 100)
    trace.node("conv", "Conv", 0, 20, "CUDA")
    trace.node("down", "MemcpyToHost", 20, 30, "CUDA")
    trace.node("unique", "Unique", 30, 40)
    trace.node("up", "MemcpyFromHost", 40, 55, "CUDA")
    assert waste_of(trace) == {"round-trip": Waste("round-trip", 2, 25_000, ("up", "down"))}


def synchronised(*, further: bool) -> Trace:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 1000)
    main.op("aten::item", 100, 510)
    launch = main.launch(50, 60)
    main.sync(110, 505, "cudaStreamSynchronize")
    stream.kernel("gemm", 60, 500, launch)
    if further:
        trace.stream(8).kernel("other", 60, 900)
    return trace


def test_a_call_that_blocks_until_the_device_is_dry_is_told_by_its_operator() -> None:
    assert waste_of(synchronised(further=False))["blocking-sync"] == Waste("blocking-sync", 1, 395_000, ("aten::item",))


def test_a_call_that_returns_while_a_device_still_works_holds_nothing_up() -> None:
    assert "blocking-sync" not in waste_of(synchronised(further=True))


def test_memory_that_is_allocated_in_steady_steps_is_churn_and_in_the_first_step_is_not() -> None:
    trace = Trace()
    main = trace.thread()
    for number in range(3):
        main.step(number, 100 * number, 100 * number + 100)
        main.op("aten::empty", 100 * number, 100 * number + 40)
        main.call("cudaMalloc", 100 * number + 5, 100 * number + 25)
        main.call("cudaFree", 100 * number + 26, 100 * number + 36)
    found = waste_of(trace)["allocator"]
    assert (found.count, found.duration_ns, found.names) == (4, 60_000, ("cudaMalloc", "cudaFree"))
    assert "allocator" not in waste_of(trace, steps=(0, 0))


def kernels(end: float, length: float) -> Trace:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, end)
    main.op("aten::add", 0, 10)
    for number in range(10):
        stream.kernel("tiny", 60 * number, 60 * number + length)
    return trace


def test_short_kernels_are_confetti_where_the_device_waits_for_more() -> None:
    assert waste_of(kernels(600, 8)) == {"tiny-kernels": Waste("tiny-kernels", 10, 80_000, ("tiny",))}
    assert waste_of(kernels(600, 12)) == {}


def test_short_kernels_that_keep_the_device_busy_are_no_confetti() -> None:
    trace = kernels(600, 8)
    trace.stream(8).kernel("gemm", 0, 500)
    assert waste_of(trace) == {}


def test_an_operator_called_hundreds_of_times_a_step_is_told_while_it_is_quick() -> None:
    def calls(number: int, each: float) -> Trace:
        trace = Trace()
        main = trace.thread()
        main.step(0, 0, 30_000)
        for place in range(number):
            main.op("aten::add_", 50 * place, 50 * place + each)
        return trace

    assert waste_of(calls(300, 10)) == {
        "frequent-operator": Waste("frequent-operator", 300, 3_000_000, ("aten::add_",))
    }
    assert waste_of(calls(199, 10)) == {}
    assert waste_of(calls(300, 40)) == {}


def test_what_takes_less_than_a_hundredth_of_the_window_is_not_told() -> None:
    trace = OrtTrace()
    trace.run(0, 10_000)
    trace.node("nhwc", "Transpose", 0, 99)
    trace.node("conv", "Conv", 99, 9_000)
    assert waste_of(trace) == {}


def test_recomputation_in_a_recorded_training_with_checkpoints(corpus: Path) -> None:
    found = {
        one.code: one for one in waste_in(corpus / "pytorch-rocm" / "tracelens-mi300-resnet_act_checkpoint.json.gz")
    }
    assert found["recomputation"].names == ("aten::conv2d", "aten::batch_norm", "aten::add_", "aten::relu_")

"""Which call the time of operators and device work is charged to, and what the call costs."""

import pytest

from tests.tracebuilder import TfTrace, Trace
from tracegap import operators
from tracegap.operators import HOST, Measured
from tracegap.shapes import Told, price, shown

FLOAT2 = {"Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"]}


def measured(trace: Trace, **window: object) -> Measured:
    model = trace.model(**window)
    return operators.measure(model.timeline, model.window)


def charged(found: Measured) -> list[tuple[str, int, int]]:
    """Return name, device and µs of each call."""
    work = found.work
    rows = zip(work.call.tolist(), work.device.tolist(), work.duration.tolist(), strict=True)
    return sorted((found.calls[call].name, device, time // 1000) for call, device, time in rows)


def test_the_outermost_operator_with_a_model_has_the_device_time_of_all_below() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("wrapper", 0, 40)
    main.op("aten::linear", 2, 30, **{"Input Dims": [[8, 16], [4, 16], []], "Input type": ["float", "float", ""]})
    main.op("aten::addmm", 4, 28, **FLOAT2)
    first, second = main.launch(6, 8), main.launch(10, 12)
    stream.kernel("splitK", 20, 50, first)
    stream.kernel("gemm", 50, 70, second)
    assert charged(measured(trace)) == [("aten::linear", 0, 50)]


def test_an_operator_without_a_model_leaves_the_count_to_what_it_calls() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::lstm", 0, 40)
    main.op("aten::mm", 2, 10, **FLOAT2)
    first = main.launch(4, 6)
    main.op("aten::custom", 12, 20)
    second = main.launch(14, 16)
    stream.kernel("gemm", 20, 50, first)
    stream.kernel("custom", 50, 60, second)
    assert charged(measured(trace)) == [("aten::custom", 0, 10), ("aten::mm", 0, 30)]


def test_an_external_id_names_the_operator_where_the_launch_stands_in_none() -> None:
    trace = Trace()
    main, other, stream = trace.thread(), trace.thread(tid=2), trace.stream()
    main.op("aten::mm", 0, 40, **(FLOAT2 | {"External id": 77}))
    launch = other.launch(10, 12)
    stream.kernel("gemm", 20, 50, launch, **{"External id": 77})
    assert charged(measured(trace)) == [("aten::mm", 0, 30)]


def test_device_work_that_no_operator_launched_is_loose() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 10, **FLOAT2)
    stream.kernel("lonely", 20, 50)
    found = measured(trace)
    assert [found.calls[call].name for call in found.work.call.tolist()] == ["aten::mm"]
    assert len(found.loose) == 1


def test_on_the_host_a_modelled_operator_has_all_its_time_and_another_its_own() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("wrapper", 0, 100)
    main.op("aten::mm", 10, 70, **FLOAT2)
    main.op("aten::resize_", 20, 30)
    assert charged(measured(trace)) == [("aten::mm", HOST, 60), ("wrapper", HOST, 40)]


def test_device_time_goes_by_the_call_even_if_the_kernel_runs_after_the_window() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 20, **FLOAT2)
    before = main.launch(2, 4)
    main.op("aten::mm", 100, 120, **FLOAT2)
    inside = main.launch(102, 104)
    stream.kernel("gemm", 110, 130, before)
    stream.kernel("gemm", 190, 230, inside)
    assert charged(measured(trace, between=(90_000, 200_000))) == [("aten::mm", 0, 40)]


def test_copies_from_or_to_elsewhere_are_not_judged() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    shapes = {"Input Dims": [[64], [64], []], "Input type": ["float", "float", "Scalar"]}
    for number, name in enumerate(
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoD (Device -> Device)", "Memcpy PtoP (Device -> Device)")
    ):
        main.op("aten::copy_", 20 * number, 20 * number + 10, **shapes)
        launch = main.launch(20 * number + 2, 20 * number + 4, name="cudaMemcpyAsync")
        stream.copy(100 + 20 * number, 110 + 20 * number, launch, name=name)
    work = measured(trace).work
    assert work.judged.tolist() == [False, True, False]


def test_host_time_of_an_operator_whose_kernels_are_missing_is_not_judged() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 20, **FLOAT2)
    main.launch(2, 4)
    stream.kernel("other", 30, 40)
    work = measured(trace).work
    assert (work.device.tolist(), work.judged.tolist()) == ([HOST], [False])


def test_a_backward_operator_knows_the_shapes_of_its_forward() -> None:
    trace = Trace()
    main = trace.thread()
    forward = main.op("aten::slice", 0, 10, **{"Input Dims": [[100], [], [], [], []], "Input type": ["float"]})
    node = main.op("SliceBackward0", 20, 60)
    main.op("aten::slice_backward", 22, 58, **{"Input Dims": [[10], [], [], [], [], []], "Input type": ["float"]})
    trace.arrow("fwdbwd", forward, node)
    found = measured(trace)
    (call,) = [one for one in found.calls if one.name == "aten::slice_backward"]
    assert call.cost is not None
    assert call.cost.bytes == 4 * (10 + 10 + 100) - 4 * 10


def test_xla_operators_bring_their_own_counts_and_loops_are_not_counted_beside_their_bodies() -> None:
    trace = TfTrace()
    trace.device(1, "/device:TPU:0")
    trace.metadata("thread_name", 1, "XLA Ops", tid=2)
    trace.add("while.1", 0, 100, None, 1, 2, hlo_op="while.1")
    trace.add("fusion.3", 0, 60, None, 1, 2, model_flops="6000000", bytes_accessed="3000000")
    trace.add("copy.2", 60, 100, None, 1, 2, hlo_op="copy.2")
    found = measured(trace)
    assert charged(found) == [("fusion.3", 0, 60)]
    (call,) = found.calls
    assert call.cost is not None
    assert (call.cost.flops, call.cost.bytes, call.cost.note) == (6_000_000, 3_000_000, "counted by XLA")
    assert len(found.loose) == 1


def test_kernels_tell_the_type_of_lists_and_of_matrix_arithmetic() -> None:
    joined = Told("aten::cat", "[[[4, 8], [4, 8]], []]", '["TensorList", "Scalar"]')
    assert price(joined, "pytorch", ["CatArrayBatchedCopy<OpaqueType<4u>, 2>"]).cost.bytes == 2 * 64 * 4  # type: ignore[union-attr]
    product = Told("aten::mm", "[[8, 16], [16, 4]]", '["float", "float"]')
    assert price(product, "pytorch", ["cutlass_80_tensorop_s1688gemm_128x128"]).cost.dtype == "tf32"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (Told("aten::add", "[[2, 3], [], []]", '["c10::BFloat16", "Scalar", "Scalar"]'), "bf16[2,3]"),
        (Told("aten::stack", "[[[2], [2], [2]], []]", '["TensorList", "Scalar"]'), "3×[2]"),
        (Told("aten::randn"), ""),
    ],
)
def test_shapes_are_shown_with_their_types(told: Told, text: str) -> None:
    assert shown(price(told, "pytorch").call) == text

"""Operators against the wall clock: what is in none of them, and whose it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tracebuilder import OrtTrace, TfTrace, Trace
from tracegap.analyses import overhead
from tracegap.analyses.first_run import FirstRun
from tracegap.analyses.overhead_results import Operator, Overhead, Part, WallClock
from tracegap.analyses.partitions import Fallback
from tracegap.report import unmarked


def overhead_of(trace: Trace, **options: object) -> Overhead:
    found = overhead.run(trace.model(**options))
    assert found is not None
    return found


def parts(found: Overhead) -> dict[str, int]:
    assert found.host is not None
    assert found.host.parts is not None
    return {part.cause: part.duration_ns for part in found.host.parts}


def operators(found: Overhead) -> dict[str, Operator]:
    return {operator.name: operator for operator in found.operators}


def test_operators_and_the_rest_are_the_wall_clock() -> None:
    # a frame of 11.4 ms whose operators take 6.2 ms
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 11_400)
    main.op("aten::conv2d", 1_000, 6_000)
    main.op("aten::add", 7_000, 8_200)
    main.op("after", 11_400, 11_401)
    host = overhead_of(trace).host
    assert host is not None
    assert (host.operator_sum_ns, host.union_ns, host.wall_ns, host.overhead_ns) == (
        6_200_000,
        6_200_000,
        11_400_000,
        5_200_000,
    )
    assert host.parts == (Part("untraced_host", 5_200_000),)
    assert host.concurrency == 1.0


def test_each_moment_in_no_operator_goes_to_the_first_cause_that_applies() -> None:
    trace = Trace()
    main = trace.thread()
    for number in range(2):
        start = 200 * number
        main.step(number, start, start + 150)
        main.op("aten::mm", start, start + 40)
        main.sync(start + 40, start + 60)
        main.call("cudaMalloc", start + 60, start + 75)
        main.call("cudaEventRecord", start + 75, start + 80)
        main.slice(
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 80, start + 110, "user_annotation"
        )
    main.op("after", 350, 351)
    assert parts(overhead_of(trace)) == {
        "untraced_host": 80_000,
        "input": 60_000,
        "between_steps": 50_000,
        "sync": 40_000,
        "allocator": 30_000,
        "runtime": 10_000,
    }


def test_the_profilers_own_rows_are_charged_to_it() -> None:
    # huggingface/blog PR#3389: an odd gap in one step is the profiler asking for a buffer.
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.op("aten::mm", 0, 50)
    main.op("aten::mm", 90, 100)
    trace.add("Activity Buffer Request", 52, 88, "overhead", -1, 0)
    main.op("after", 100, 101)
    assert parts(overhead_of(trace)) == {"profiler": 36_000, "untraced_host": 4_000}


def test_the_session_is_divided_into_outside_the_executor_and_in_no_node() -> None:
    # onnxruntime#20398: Execute takes 10.4 ms of a model_run of 31.0 ms.
    trace = OrtTrace()
    trace.run(0, 31_038)
    trace.execute(7_274, 17_691)
    trace.node("conv1", "Conv", 7_300, 12_300)
    trace.node("conv2", "Conv", 12_400, 17_400)
    assert parts(overhead_of(trace)) == {"outside_execute": 20_621_000, "in_execute": 417_000}


def test_nodes_inside_a_loop_are_not_counted_twice() -> None:
    trace = OrtTrace()
    trace.run(0, 1_000)
    trace.execute(0, 1_000)
    trace.node("loop", "Loop", 100, 900)
    trace.execute(150, 850)
    trace.node("body", "Add", 200, 500)
    found = overhead_of(trace)
    assert found.host is not None
    assert (found.host.operator_sum_ns, found.host.union_ns) == (800_000, 800_000)
    assert parts(found) == {"in_execute": 200_000}
    assert {name: (one.operator_ns, one.total_ns) for name, one in operators(found).items()} == {
        "loop": (500_000, 800_000),
        "body": (300_000, 300_000),
    }


def test_api_calls_inside_an_operator_count_to_it_and_are_told_apart() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::linear", 0, 100)
    main.op("aten::addmm", 10, 80)
    main.call("cudaLaunchKernel", 20, 25)
    main.sync(30, 70)
    found = operators(overhead_of(trace))
    assert found["aten::addmm"] == Operator("aten::addmm", 1, 70_000, 25_000, 70_000, runtime_ns=5_000, sync_ns=40_000)
    assert found["aten::linear"] == Operator("aten::linear", 1, 30_000, 30_000, 100_000)


def test_operators_that_overlap_on_two_threads_make_a_concurrency_over_one() -> None:
    trace = Trace()
    trace.thread(1).op("aten::mm", 0, 100)
    trace.thread(2).op("aten::mm", 50, 150)
    host = overhead_of(trace).host
    assert host is not None
    assert (host.operator_sum_ns, host.union_ns, host.concurrency) == (200_000, 150_000, pytest.approx(4 / 3))


def test_a_device_sum_counts_the_kernels_and_no_annotation_over_them() -> None:
    # pytorch#130730: the wrapper [0, 100) was counted beside the kernels [0, 40) and [50, 90).
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 10)
    stream.annotation("forward", 0, 100)
    stream.kernel("gemm", 0, 40)
    stream.kernel("gemm", 50, 90)
    device = overhead_of(trace).device
    assert device is not None
    assert (device.operator_sum_ns, device.union_ns) == (80_000, 80_000)
    assert device.parts == (Part("unattributed", 10_000),)  # nothing tells who launched the second kernel


def test_communication_beside_compute_is_one_busy_time_and_without_any_nothing_fails() -> None:
    # HTA PR#109: with no communication its share was a division by zero.
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 10)
    trace.stream(7).kernel("gemm", 0, 100)
    alone = overhead_of(trace).device
    trace.stream(20).kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, 100)
    both = overhead_of(trace).device
    assert alone is not None
    assert both is not None
    assert (alone.union_ns, alone.concurrency) == (100_000, 1.0)
    assert (both.union_ns, both.concurrency) == (100_000, 2.0)


def test_device_time_is_the_operators_that_launched_it() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::linear", 0, 50)
    main.op("aten::addmm", 10, 40)
    stream.kernel("gemm", 30, 130, main.launch(20, 25))
    stream.kernel("bias", 130, 140, main.launch(42, 45))
    found = operators(overhead_of(trace))
    assert (found["aten::addmm"].device_ns, found["aten::linear"].device_ns) == (100_000, 10_000)


def test_what_reaches_over_the_window_is_clipped() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::linear", 0, 100)
    main.op("aten::addmm", 20, 80)
    main.op("aten::relu", 120, 200)
    found = overhead_of(trace, between=(50_000, 150_000))
    assert found.host is not None
    assert (found.host.operator_sum_ns, found.host.overhead_ns) == (80_000, 20_000)
    assert {name: one.operator_ns for name, one in operators(found).items()} == {
        "aten::linear": 20_000,
        "aten::addmm": 30_000,
        "aten::relu": 30_000,
    }


def delegated() -> OrtTrace:
    """Two runs of three partitions: on the NPU, on the CPU, on the NPU, with 50 µs before and 30 µs behind the CPU's."""
    trace = OrtTrace()
    for start in (0, 1_000):
        trace.run(start, start + 900)
        trace.execute(start, start + 900)
        trace.node("QNN_0", "QNN", start, start + 200, "QNN")
        trace.node("QNN_1", "QNN", start + 200, start + 300, "QNN")
        trace.node("resize", "Resize", start + 350, start + 450)
        trace.node("softmax", "Softmax", start + 450, start + 550)
        trace.node("QNN_2", "QNN", start + 580, start + 800, "QNN")
    return trace


def test_partitions_are_runs_on_one_provider_and_hand_offs_lie_between_them() -> None:
    split = overhead_of(delegated()).partitions
    assert split is not None
    assert (split.count, split.handoffs, split.handoff_ns, split.fallback_ns) == (6, 4, 160_000, 400_000)
    assert split.fallbacks == (
        Fallback("resize", 2, "CPUExecutionProvider", 200_000, cost_ns=300_000),
        Fallback("softmax", 2, "CPUExecutionProvider", 200_000, cost_ns=260_000),
    )
    assert unmarked(split.sentence()) == (
        "6 partitions (3 a step) over QNNExecutionProvider and CPUExecutionProvider: 4 hand-offs, 160 µs between them;"
        " 400 µs in operators that fell back to the CPU."
    )


def test_one_provider_is_no_partition_to_speak_of() -> None:
    trace = OrtTrace()
    trace.run(0, 100)
    trace.node("conv", "Conv", 0, 90)
    split = overhead_of(trace).partitions
    assert split is not None
    assert (split.count, split.handoffs, split.fallbacks) == (1, 0, ())


def test_node_time_on_a_gpu_is_dispatch_and_device_rows_are_used_where_they_are() -> None:
    # onnxruntime#7390: 50 µs on the node's row, 5 ms on the device.
    trace = OrtTrace()
    trace.run(0, 6_000)
    trace.execute(0, 6_000)
    trace.node("conv", "Conv", 0, 50, "CUDA")
    hidden = overhead_of(trace)
    note = (
        "Nodes of CUDAExecutionProvider: their time is that of handing work over; the trace has no rows of the device."
    )
    assert note in [unmarked(one) for one in overhead.section(hidden).notes]
    trace.add("conv_fprop", 100, 5_100, "Kernel", 1, 1, stream="7", parent_name="conv_kernel_time", op_name="Conv")
    shown = overhead_of(trace)
    assert shown.device is not None
    assert shown.device.union_ns == 5_000_000
    assert operators(shown)["conv"].operator_ns == 50_000
    assert note not in [unmarked(one) for one in overhead.section(shown).notes]


def test_a_node_without_a_name_is_called_by_its_operator() -> None:
    # onnxruntime#1297: "_kernel_time" with op_name Conv; the fences around it are no second Conv.
    trace = OrtTrace()
    trace.run(0, 100)
    trace.add("_fence_before", 0, 5, "Node", 1, 1, op_name="Conv")
    trace.node("", "Conv", 5, 60)
    trace.add("_fence_after", 60, 62, "Node", 1, 1, op_name="Conv")
    found = overhead_of(trace)
    assert {name: (one.count, one.total_ns) for name, one in operators(found).items()} == {"Conv": (1, 55_000)}


def test_rows_may_stand_in_any_order() -> None:
    # onnxruntime PR#14004: device rows before their nodes, in an unsorted file.
    trace = delegated()
    backwards = OrtTrace(events=trace.events[::-1])
    assert overhead_of(backwards) == overhead_of(trace)


def test_packed_rows_leave_time_unattributed_that_no_thread_can_own() -> None:
    trace = TfTrace()
    trace.device(1, "/job:localhost/replica:0/task:0/device:CPU:0 Compute")
    trace.op("a", "MatMul", 0, 40, pid=1)
    trace.op("b", "MatMul", 60, 100, pid=1, tid=1)
    found = overhead_of(trace)
    assert parts(found) == {"unattributed": 20_000}
    assert any(note.startswith("Unattributed") for note in overhead.section(found).notes)


def test_a_device_without_host_operators_has_a_device_side_only() -> None:
    trace = Trace()
    trace.stream().kernel("gemm", 0, 40)
    trace.stream().kernel("gemm", 60, 100)
    found = overhead_of(trace)
    assert found.host is None
    assert found.device is not None
    assert (found.device.overhead_ns, found.operators) == (20_000, ())


def timed_runs(*lengths: int) -> OrtTrace:
    trace, start = OrtTrace(), 0
    for length in lengths:
        trace.run(start, start + length)
        trace.node("conv", "Conv", start, start + length)
        start += length
    trace.node("after", "Conv", start, start + 1)
    return trace


def test_the_first_run_costs_what_it_takes_over_the_median_of_the_others() -> None:
    assert overhead_of(timed_runs(340, 12, 12, 13)).first_run == FirstRun(328_000)
    assert overhead_of(timed_runs(13, 12, 12, 13)).first_run is None


@pytest.mark.parametrize(("clean", "trusted"), [(95_000, True), (80_000, False), (120_000, False)])
def test_a_trace_over_ten_per_cent_from_the_clean_time_is_not_trusted(*, clean: int, trusted: bool) -> None:
    found = overhead_of(timed_runs(100, 100, 100), wall_clock_ns=clean)
    assert found.wall_clock == WallClock(clean, 100_000, 100_000 / clean, trusted)
    line = overhead.section(found).lines[0]
    assert line.startswith("The trace can be trusted" if trusted else "The profiler is being studied, not the program")


def test_without_the_clean_time_the_cost_of_recording_is_estimated() -> None:
    notes = overhead.section(overhead_of(timed_runs(100, 100, 100))).notes
    assert notes[0].startswith("Recording an operator costs 1 to 10 µs: about 3.00 µs to 30.0 µs of this window")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 2), st.sampled_from(["op", "call", "sync", "load"]), st.integers(0, 90), st.integers(0, 25)
        ),
        min_size=1,
        max_size=10,
    ),
    st.integers(0, 10**9),
)
def test_laws_parts_add_up_to_the_overhead_and_nothing_depends_on_the_origin(
    rows: list[tuple[int, str, int, int]], shift: int
) -> None:
    def built(origin: int) -> Overhead:
        trace = Trace()
        for number in range(2):
            trace.thread().step(number, origin + 60 * number, origin + 60 * number + 50)
        trace.thread().op("first", origin, origin + 1)
        for tid, kind, start, length in rows:
            thread, begin, end = trace.thread(tid), origin + start, origin + start + length
            if kind == "op":
                thread.op(f"op{length % 3}", begin, end)
            elif kind == "call":
                thread.call("cudaMalloc" if length % 2 else "cudaEventRecord", begin, end)
            elif kind == "sync":
                thread.sync(begin, end)
            else:
                thread.annotation("enumerate(DataLoader)#x.__next__", begin, end)
        return overhead_of(trace, between=(0, 120_000))

    found = built(0)
    assert found.host is not None
    assert found.host.parts is not None
    assert sum(part.duration_ns for part in found.host.parts) == found.host.overhead_ns
    assert found.host.union_ns + found.host.overhead_ns == found.host.wall_ns
    assert sum(one.operator_ns for one in found.operators) == found.host.operator_sum_ns
    assert built(shift) == found


def test_ranges_without_operators_are_named_where_the_time_in_no_operator_passed() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.annotation("decode", 0, 40)
    main.annotation("nms", 70, 90)
    main.op("aten::mm", 40, 70)
    result = overhead.run(trace.model())
    assert result is not None
    assert result.host is not None
    assert result.host.untraced is not None
    assert [(one.name, one.duration_ns) for one in result.host.untraced] == [
        ("decode", 40_000),
        ("nms", 20_000),
        (None, 10_000),
    ]
    assert unmarked(overhead.section(result).lines[0]).endswith(
        "in none of them; most of it in decode 40.0 µs, nms 20.0 µs."
    )


def test_time_in_which_the_path_is_in_no_operator_and_others_are_is_told_apart() -> None:
    trace = Trace()
    main, other = trace.thread(1), trace.thread(2)
    main.step(0, 0, 100)
    main.op("aten::mm", 0, 20)
    main.op("aten::mm", 80, 100)
    other.op("aten::add", 10, 90)
    result = overhead.run(trace.model())
    assert result is not None
    assert result.host is not None
    assert (result.host.overhead_ns, result.elsewhere_ns) == (0, 60_000)


def test_an_operator_inside_an_implausible_one_counts_by_itself():
    trace = Trace()
    main = trace.thread()
    main.op("aten::forever", 0, 4e12)
    main.op("aten::add", 10, 40)
    main.op("aten::mul", 40, 60)
    host = overhead.run(trace.model()).host
    assert host.operator_sum_ns == host.union_ns == 50_000

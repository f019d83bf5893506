"""When nothing runs on a device, what the gap lies between, and that busy and idle are the window."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tracebuilder import ChromeTrace, TfTrace, Trace
from tracegap.analyses import gaps
from tracegap.analyses.gaps import Gaps, Group, Slice
from tracegap.report import unmarked


def gaps_of(trace: Trace, **options: object) -> Gaps:
    found = gaps.run(trace.model(**options))
    assert found is not None
    return found


def with_a_gap() -> Trace:
    """A step of 100 µs: kernels [20, 40) and [60, 90)."""
    trace = Trace()
    main = trace.thread()
    main.step(1, 0, 100)
    main.op("aten::mm", 10, 20)
    first = main.launch(12, 14)
    main.op("aten::relu", 50, 60)
    second = main.launch(52, 55)
    trace.stream().kernel("gemm", 20, 40, first)
    trace.stream().kernel("relu", 60, 90, second)
    return trace


def test_busy_and_idle_are_the_window() -> None:
    (device,) = gaps_of(with_a_gap()).devices
    assert (device.window_ns, device.busy_ns, device.idle_ns, device.count) == (100_000, 50_000, 50_000, 3)
    assert device.idle_ratio == 0.5


def test_a_gap_names_what_ended_before_it_and_what_waited_with_its_launch() -> None:
    (device,) = gaps_of(with_a_gap()).devices
    gap = next(gap for gap in device.top if gap.before and gap.after)
    assert (gap.start_ns, gap.duration_ns) == (40_000, 20_000)
    assert gap.before == Slice("gemm")
    assert gap.after == Slice("relu", launch="cudaLaunchKernel", operator="aten::relu")


def test_the_first_gap_has_nothing_before_it_and_the_last_nothing_behind_it() -> None:
    (device,) = gaps_of(with_a_gap()).devices
    first, last = min(device.top, key=lambda gap: gap.start_ns), max(device.top, key=lambda gap: gap.start_ns)
    assert first.before is None
    assert first.after is not None
    assert first.after.name == "gemm"
    assert last.before == Slice("relu")
    assert last.after is None


def test_gaps_alike_are_grouped_and_all_are_counted() -> None:
    # nsys-ai PR#613: a table of 20 rows must not make 56 gaps 20.
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(1, 0, 570)
    for number in range(57):
        main.op("aten::add", 10 * number, 10 * number + 1)
        stream.kernel("add", 10 * number, 10 * number + 4)
    (device,) = gaps_of(trace, between=(0, 564_000)).devices
    assert device.count == 56
    assert device.idle_ns == 56 * 6_000
    assert len(device.top) == 20
    assert device.groups == (Group(56, 56 * 6_000, "add", "add", {"unattributed": 56 * 6_000}),)
    table = next(
        table
        for table in gaps.section(gaps_of(trace, between=(0, 564_000))).tables
        if table.title.startswith("Longest")
    )
    assert (table.rows, table.total) == (20, 56)


def test_a_device_is_idle_over_all_its_streams_and_the_denominator_is_said() -> None:
    # xprof#564: a full compute stream beside an almost empty copy stream is no idle device.
    trace = Trace()
    main = trace.thread()
    main.step(1, 0, 100)
    main.op("aten::mm", 0, 10)
    trace.stream(7).kernel("gemm", 0, 100)
    trace.stream(8).copy(10, 12)
    found = gaps_of(trace)
    assert (found.devices[0].busy_ns, found.devices[0].idle_ns, found.devices[0].count) == (100_000, 0, 0)
    assert unmarked(gaps.section(found).lines[0]) == "GPU 0 is idle 0 ns of 100 µs (0.0 %): it has no gap."


def test_overlapping_kernels_count_once_and_idle_is_never_negative() -> None:
    # HolisticTraceAnalysis gives −80 µs here: it subtracts the end of the row before, not the latest end so far.
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(1, 0, 200)
    main.op("aten::mm", 0, 10)
    stream.kernel("long", 0, 100)
    stream.kernel("short", 10, 20)
    stream.kernel("next", 150, 200)
    (device,) = gaps_of(trace).devices
    assert (device.busy_ns, device.idle_ns, device.count) == (150_000, 50_000, 1)
    assert device.top[0].before == Slice("long")


def test_rows_of_synchronisation_and_annotations_are_not_work() -> None:
    # HolisticTraceAnalysis turns these 250 µs of waiting into busy time; pytorch#130730 counts the annotation.
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(1, 0, 400)
    main.op("aten::mm", 0, 10)
    stream.kernel("gemm", 0, 100)
    stream.wait(100, 350)
    stream.annotation("forward", 0, 400)
    stream.kernel("add", 350, 400)
    (device,) = gaps_of(trace).devices
    assert (device.busy_ns, device.idle_ns) == (150_000, 250_000)


def test_the_slice_named_at_a_tie_is_the_longest() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(1, 0, 100)
    main.op("aten::mm", 0, 10)
    trace.stream(7).kernel("long", 0, 40)
    trace.stream(8).kernel("short", 30, 40)
    trace.stream(8).kernel("brief", 60, 70)
    trace.stream(7).kernel("lasting", 60, 100)
    (gap,) = gaps_of(trace).devices[0].top
    assert gap.before == Slice("long")
    assert gap.after is not None
    assert gap.after.name == "lasting"


def test_nothing_at_all_runs_only_where_no_thread_does_and_blocking_is_not_running() -> None:
    trace = with_a_gap()
    trace.thread().sync(92, 98)
    everything = gaps_of(trace).everything
    # neither thread nor device: [0, 10), [40, 50), [90, 100)
    assert (everything.idle_ns, everything.count) == (30_000, 3)


def test_tensorflow_streams_are_counted_once_and_operator_rows_are_no_device_time() -> None:
    # horovod#582: the rows of operators say when work was dispatched, packed into lanes; the streams say when it ran.
    trace = TfTrace()
    trace.device(1, "/job:localhost/replica:0/task:0/device:GPU:0 Compute")
    trace.device(2, "/device:GPU:0/stream:all Compute")
    trace.device(3, "/device:GPU:0/stream:13 Compute")
    trace.op("a/MatMul", "MatMul", 0, 10, pid=1)
    trace.op("b/MatMul", "MatMul", 5, 100, pid=1, tid=1)
    for pid in (2, 3):
        trace.op("a/MatMul", "MatMul", 20, 60, pid=pid)
        trace.op("b/MatMul", "MatMul", 60, 90, pid=pid)
    (device,) = gaps_of(trace).devices
    assert device.busy_ns == 70_000
    assert device.count == 2


def test_a_trace_without_steps_is_one_window() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 10)
    trace.stream().kernel("gemm", 20, 50)
    (device,) = gaps_of(trace).devices
    assert (device.window_ns, device.idle_ns) == (50_000, 20_000)


def test_without_a_device_the_gaps_are_those_of_all_threads() -> None:
    trace = ChromeTrace()
    trace.span("load", 0, 10)
    trace.span("compute", 15, 40)
    found = gaps_of(trace)
    assert found.devices == ()
    assert (found.everything.idle_ns, found.everything.groups) == (5_000, (Group(1, 5_000, "load", "compute"),))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 90), st.integers(0, 30)), min_size=1, max_size=12),
    st.integers(0, 10**9),
)
def test_laws_busy_and_idle_add_up_groups_are_complete_and_nothing_depends_on_the_origin(
    kernels: list[tuple[int, int, int]], shift: int
) -> None:
    def built(origin: int) -> Gaps:
        trace = Trace()
        main = trace.thread()
        main.step(1, origin, origin + 130)
        main.op("aten::mm", origin, origin + 1)
        for stream, start, length in kernels:
            trace.stream(stream).kernel(f"k{stream}", origin + start, origin + start + length)
        return gaps_of(trace, between=(0, 130_000))

    found = built(0)
    covered = {time for _, start, length in kernels for time in range(start, start + length)}
    for device in found.devices:
        assert device.busy_ns == 1_000 * len(covered)
        assert device.busy_ns + device.idle_ns == device.window_ns
        assert sum(group.total_ns for group in device.groups) == device.idle_ns
        assert sum(group.count for group in device.groups) == device.count
    assert built(shift) == found


@pytest.mark.parametrize("device", [0, 3])
def test_each_device_has_gaps_of_its_own(device: int) -> None:
    trace = Trace()
    main = trace.thread()
    main.step(1, 0, 100)
    main.op("aten::mm", 0, 10)
    trace.stream(7, device=0).kernel("gemm", 0, 40)
    trace.stream(7, device=3).kernel("gemm", 50, 100)
    idle = {one.device: one.idle_ns for one in gaps_of(trace).devices}
    assert idle[f"GPU {device}"] == {0: 60_000, 3: 50_000}[device]

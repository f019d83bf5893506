"""The two clocks of a step, its statistics, and why the slowest one is slow."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import SAMPLES
from tests.tracebuilder import ChromeTrace, OrtTrace, Trace
from tracegap import pipeline
from tracegap.analyses import steps
from tracegap.analyses.slowest import Part
from tracegap.analyses.steps import Steps
from tracegap.report import unmarked


def steps_of(trace: Trace, **options: object) -> Steps:
    found = steps.run(trace.model(**options))
    assert found is not None
    return found


def runs(*lengths: int) -> OrtTrace:
    """Runs of the given lengths in µs, 10 µs apart."""
    trace, start = OrtTrace(), 0
    for length in lengths:
        trace.run(start, start + length)
        trace.execute(start, start + length)
        trace.node("conv", "Conv", start, start + length // 2)
        start += length + 10
    trace.node("after", "Conv", start, start + 1)
    return trace


def test_statistics_are_of_the_spans_where_the_host_ends_last() -> None:
    found = steps_of(runs(100, 110, 90, 120))
    assert found.clock == "span"
    assert (found.count, found.median_ns, found.min_ns, found.max_ns, found.first_ns) == (
        4,
        105_000,
        90_000,
        120_000,
        100_000,
    )


def test_under_a_hundred_steps_the_99th_percentile_is_the_greatest_and_that_is_said() -> None:
    found = steps_of(runs(100, 110, 90, 120))
    assert (found.p99_ns, found.p99_reliable) == (120_000, False)
    assert steps.section(found).lines[0] == "median 105 µs · p99 120 µs (max of 4) · min 90.0 µs · first 100 µs"


def test_from_a_hundred_steps_on_the_99th_percentile_is_one() -> None:
    found = steps_of(runs(*range(101, 301)))
    assert (found.p99_ns, found.p99_reliable, found.max_ns) == (298_000, True, 300_000)


def test_a_first_step_over_one_and_a_half_medians_is_set_apart() -> None:
    found = steps_of(runs(340, 12, 14, 16))
    assert found.first_apart
    assert (found.count, found.first_ns, found.median_ns, found.max_ns) == (4, 340_000, 14_000, 16_000)
    assert "first 340 µs (24.3 × the median: set apart)" in steps.section(found).lines[0]
    assert not steps_of(runs(20, 14, 16, 14)).first_apart


def test_a_first_step_before_steps_of_no_length_is_set_apart_without_a_ratio() -> None:
    found = steps_of(runs(100, 0, 0, 0))
    assert found.median_ns == 0
    assert "first 100 µs (set apart)" in steps.section(found).lines[0]


def host_runs_ahead() -> Trace:
    """Five steps: the host's spans grow until its queue is full, the device takes 96 µs or so for each."""
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    start, busy = 0, 0
    for number, (span, work) in enumerate(zip((35, 72, 96, 96, 96), (98, 96, 96, 96, 95), strict=True)):
        main.step(number, start, start + span)
        main.op("aten::mm", start, start + 2)
        stream.kernel("gemm", busy, busy + work, main.launch(start, start + 1))
        start, busy = start + span, busy + work
    main.op("after", start, start + 1)
    return trace


def test_a_host_that_runs_ahead_is_measured_by_the_device() -> None:
    # The figures of HolisticTraceAnalysis' ns_resolution trace, in µs for ms.
    found = steps_of(host_runs_ahead())
    assert found.clock == "device"
    assert [item.wall_ns for item in found.items] == [35_000, 72_000, 96_000, 96_000, 96_000]
    assert [item.device_ns for item in found.items] == [98_000, 96_000, 96_000, 96_000, 95_000]
    assert (found.median_ns, found.min_ns, found.max_ns) == (96_000, 95_000, 98_000)


def test_a_kernel_belongs_to_the_step_that_launched_it_and_is_carried_into_the_next() -> None:
    found = steps_of(host_runs_ahead())
    # step 1 spans [35, 107): the kernel of step 0 runs until 98 in it
    assert [item.carried_in_ns for item in found.items] == [0, 63_000, 87_000, 87_000, 87_000]
    assert [item.kernels for item in found.items] == [1, 1, 1, 1, 1]


def test_the_span_is_the_annotation_and_time_between_steps_is_told() -> None:
    # kineto#747: five steps of 30 ms were told as 200 ms, the gaps between them counted in.
    trace = Trace()
    main = trace.thread()
    for number in range(5):
        main.step(number, 200 * number, 200 * number + 30)
        main.op("aten::mm", 200 * number, 200 * number + 10)
    main.op("after", 1000, 1001)
    found = steps_of(trace)
    assert [item.wall_ns for item in found.items] == [30_000] * 5
    assert found.between_steps_ns == 4 * 170_000
    assert unmarked(steps.section(found).lines[-1]).startswith("680 µs of the window (81.9 %) lie in no step")


def test_device_steps_tile_the_window_so_none_of_it_is_said_to_lie_in_no_step() -> None:
    found = steps_of(host_runs_ahead())
    assert found.clock == "device"
    assert not any("in no step" in line for line in steps.section(found).lines)


def test_a_sliver_between_steps_is_not_worth_a_sentence() -> None:
    trace = Trace()
    main = trace.thread()
    for number in range(3):
        main.step(number, 1000 * number, 1000 * number + 999)
        main.op("aten::mm", 1000 * number, 1000 * number + 10)
    found = steps_of(trace)
    assert found.between_steps_ns > 0
    assert not any("in no step" in line for line in steps.section(found).lines)


def test_a_trace_without_steps_has_none() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    assert steps.run(trace.model()) is None


def test_steps_are_what_their_name_says() -> None:
    trace = ChromeTrace()
    for number in range(3):
        trace.span("iteration", 100 * number, 100 * number + 80)
        trace.span("load", 100 * number, 100 * number + 50)
    found = steps_of(trace, step_name="^iteration$")
    assert (found.count, found.median_ns) == (3, 80_000)


def slow_tail() -> Trace:
    """Steps of 100 µs, the third of 150: 30 in a sync, 15 in the operator, 5 in no slice."""
    trace, start = Trace(), 0
    main = trace.thread()
    for number, (op, sync, rest) in enumerate(((40, 20, 40), (40, 20, 40), (55, 50, 45), (41, 20, 40))):
        main.step(number, start, start + op + sync + rest)
        main.op("aten::mm", start, start + op)
        main.sync(start + op, start + op + sync)
        start += op + sync + rest
    main.op("after", start, start + 1)
    return trace


def test_the_slowest_step_less_the_median_one_is_divided_by_cause_and_operator() -> None:
    found = steps_of(slow_tail())
    assert found.slowest is not None
    assert (found.slowest.number, found.slowest.median_number, found.slowest.excess_ns) == (2, 1, 50_000)
    assert found.slowest.parts == (
        Part("sync", 30_000, "cudaDeviceSynchronize"),
        Part("operator", 15_000, "aten::mm"),
        Part("untraced_host", 5_000),
    )


def test_an_untraced_stretch_is_named_by_the_innermost_annotation() -> None:
    trace, start = Trace(), 0
    main = trace.thread()
    for number, pause in enumerate((10, 10, 30)):
        main.step(number, start, start + 20 + pause)
        main.annotation("collate", start, start + 20 + pause)
        main.op("aten::cat", start, start + 20)
        start += 20 + pause
    main.op("after", start, start + 1)
    found = steps_of(trace)
    assert found.slowest is not None
    assert found.slowest.parts == (Part("untraced_host", 20_000, "collate"),)


def test_on_the_device_clock_a_slow_step_tells_the_operator_that_launched_the_work() -> None:
    trace, at = Trace(), 0
    main, stream = trace.thread(), trace.stream()
    for number, work in enumerate((100, 100, 140, 100)):
        main.step(number, 20 * number, 20 * number + 20)
        main.op("aten::conv2d", 20 * number, 20 * number + 5)
        stream.kernel("implicit_gemm", at + 5, at + 5 + work, main.launch(20 * number + 1, 20 * number + 2))
        at += work
    main.op("after", 90, 91)
    found = steps_of(trace)
    assert found.clock == "device"
    assert found.slowest is not None
    assert found.slowest.parts == (Part("kernel", 40_000, "aten::conv2d"),)


def test_two_threads_of_steps_are_told_apart() -> None:
    trace = OrtTrace()
    for tid in (1, 2):
        for number in range(2):
            trace.run(100 * number + tid, 100 * number + tid + 60, tid=tid)
            trace.node("conv", "Conv", 100 * number + tid, 100 * number + tid + 50, tid=tid)
    found = steps_of(trace)
    assert found.count == 4
    assert len({item.track for item in found.items}) == 2
    assert found.between_steps_ns == 39_000


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.tuples(*(st.integers(0, 20),) * 4), min_size=3, max_size=7),
    ahead=st.booleans(),
    shift=st.integers(0, 10**9),
)
def test_laws_parts_add_up_to_the_difference_and_nothing_depends_on_the_origin(
    *, lengths: list[tuple[int, int, int, int]], ahead: bool, shift: int
) -> None:
    def built(origin: int) -> Steps:
        trace, start, free = Trace(), origin, origin
        main, stream = trace.thread(), trace.stream()
        for number, (op, sync, rest, work) in enumerate(lengths):
            end = start + op + sync + rest + 2
            main.step(number, start, end)
            main.op(f"op{op % 3}", start, start + op + 1)
            begin = max(free, start)
            free = begin + work * (5 if ahead else 1) + 1
            stream.kernel("k", begin, free, main.launch(start, start + 1))
            main.sync(start + op + 1, start + op + 1 + sync)
            start = end
        main.op("after", start, start + 1)
        return steps_of(trace)

    found, moved = built(0), built(shift)
    if found.slowest is not None:
        assert sum(part.duration_ns for part in found.slowest.parts) == found.slowest.excess_ns
        assert found.slowest.excess_ns > 0
    assert moved == found


@pytest.mark.parametrize(("count", "sentence"), [(1, "The one step of the window takes 100 µs."), (2, "median 100 µs")])
def test_few_steps_are_not_called_a_distribution(count: int, sentence: str) -> None:
    assert steps.section(steps_of(runs(*[100] * count))).lines[0].startswith(sentence)


def test_a_thread_that_waits_for_a_range_of_another_is_dependent_not_untraced() -> None:
    report = pipeline.analyze(SAMPLES / "toy_pipelined.json")
    slowest = report.results["steps"].slowest
    assert [(part.cause, part.name, part.duration_ns) for part in slowest.parts] == [
        ("dependency", "load_data", 200_000_000)
    ]

"""What the verdict says, and what it keeps quiet about."""

import json

import pytest

from tests.conftest import SAMPLES
from tests.tracebuilder import ChromeTrace, OrtTrace, Trace
from tracegap import pipeline, schedule
from tracegap.analyses import ANALYSES, FINDINGS, judge
from tracegap.analyses.bounds import Share, bound_of, said
from tracegap.edges import Cause
from tracegap.report import Finding, Verdict, unmarked


def verdict_of(trace: Trace, **options: object) -> Verdict:
    model = trace.model(**options)
    results = {analysis.NAME: analysis.run(model) for analysis in ANALYSES}
    return judge(model, {name: result for name, result in results.items() if result is not None})


def finding_of(verdict: Verdict, code: str) -> Finding:
    (found,) = [finding for finding in verdict.findings if finding.code == code]
    return found


def looping(steps: int = 4, *, read: bool = True, kernel: int = 300) -> Trace:
    """Steps of 100 µs of host work before a kernel; with `read`, each waits for its kernel by ``.item()``."""
    trace, at, free = Trace(), 0, 0
    main, stream = trace.thread(), trace.stream()
    for number in range(steps):
        begun = at
        main.op("aten::mm", at + 80, at + 100)
        launch = main.launch(at + 90, at + 96)
        start = max(at + 100, free)
        free = start + kernel
        stream.kernel("gemm", start, free, launch)
        at += 100
        if read:
            main.op("aten::item", at + 2, free + 4)
            main.sync(at + 3, free + 2, "cudaStreamSynchronize")
            at = free + 4
        main.step(number, begun, at + 1)
        at += 1
    return trace


def test_a_busy_device_gets_no_finding() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 1_000)
    launches = [main.launch(1, 2), main.launch(3, 4)]
    main.op("aten::mm", 0, 5)
    stream.kernel("gemm", 5, 600, launches[0])
    stream.kernel("gemm", 602, 1_000, launches[1])
    found = verdict_of(trace)
    assert found == Verdict(
        "nothing stands out: GPU 0 is busy 99.3 % of the window, and no change that was replayed saves 1.0 % or more",
        "device",
    )


def test_a_step_with_item_says_so_and_is_priced_by_replay_without_the_wait() -> None:
    found = finding_of(verdict_of(looping()), "sync")
    # without the wait the host runs ahead: one lead of 100 µs, then four kernels of 300 µs
    assert found.text.startswith(
        "\ue000aten::item\ue001 (\ue000cudaStreamSynchronize\ue001) waits 4 times until GPU 0 has nothing left"
    )
    model = looping().model()
    weight = schedule.weights(model.dag.graph, model.dag.binding)
    weight[model.dag.cause == Cause.SYNC] = schedule.NEVER
    (end,) = schedule.replay_many(model.dag.plan, [weight], model.dag.graph.time, model.dag.end).tolist()
    assert found.saving_ns == model.window.end - end
    assert 250_000 <= found.saving_ns <= 330_000  # three times nearly 100 µs of host work are hidden


def test_without_the_wait_nothing_is_said_of_it() -> None:
    assert "sync" not in {finding.code for finding in verdict_of(looping(read=False)).findings}


def test_a_blocking_call_of_a_host_that_is_slower_anyway_is_not_blamed() -> None:
    found = verdict_of(looping(kernel=1))
    assert "sync" not in {finding.code for finding in found.findings}
    assert found.bound == "host"
    assert finding_of(found, "untraced-host").saving_ns == pytest.approx(4 * 80_000, rel=0.05)


def test_input_is_priced_by_a_replay_that_hides_it() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    for number in range(3):
        at = 200 * number
        main.step(number, at, at + 200)
        main.slice("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + 80, "user_annotation")
        launch = main.launch(at + 92, at + 98)
        main.op("aten::mm", at + 90, at + 100)
        stream.kernel("gemm", at + 100, at + 200, launch)
    found = finding_of(verdict_of(trace), "input")
    assert (found.cost_ns, found.saving_ns) == (240_000, 240_000)
    assert "without" not in found.text
    assert "hidden, the window takes 360 µs (−40.0 %)" in found.text


def test_each_nanosecond_has_one_owner_and_findings_come_in_the_order_of_their_payoff() -> None:
    # nsys-ai#230: two findings claimed the same idle time, 157 s of a window of 82.5 s.
    report = pipeline.analyze(SAMPLES / "cuda_host_bound.json.gz")
    assert report.verdict is not None
    findings = report.verdict.findings
    assert len(findings) == 5
    assert sum(finding.cost_ns for finding in findings) <= report.window["wall_ns"]
    savings = [finding.saving_ns or 0 for finding in findings]
    assert savings == sorted(savings, reverse=True)
    assert all(saving >= 0.01 * report.window["wall_ns"] for saving in savings)


def test_what_bounds_the_window_is_said_with_the_remainder() -> None:
    # nsys-ai#252: a share between two thresholds belonged to nobody.
    shares = [
        Share("host", "host work", 0.4),
        Share("communication", "communication", 0.4),
        Share("device", "device work", 0.1),
    ]
    rest = [Share("launch", "launching and scheduling", 0.1)]
    assert said([*shares, *rest]).endswith("40.0 % communication, 10.0 % device work, 10.0 % other")


@pytest.mark.parametrize(
    ("first", "second", "bound"), [(0.60, 0.40, "a"), (0.49, 0.2, "mixed"), (0.57, 0.43, "mixed"), (0.58, 0.42, "a")]
)
def test_a_bound_needs_half_of_the_path_and_a_lead(first: float, second: float, bound: str) -> None:
    assert bound_of([Share("a", "a", first), Share("b", "b", second)]) == bound


def test_what_is_not_recorded_bounds_nothing() -> None:
    assert bound_of([Share("unattributed", "unattributed", 1.0)]) == "unknown"


def test_work_off_the_path_that_has_no_name_is_not_spoken_of() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 1_000)
    main.op("aten::mm", 0, 1_000)
    del trace.thread(2).op("aten::add", 0, 900)["name"]
    assert "leave-it" not in [finding.code for finding in verdict_of(trace).findings]


def test_work_off_the_path_is_no_finding_since_it_saves_nothing() -> None:
    trace = Trace()
    main, stream, copies = trace.thread(), trace.stream(7), trace.stream(8)
    main.step(0, 0, 1_000)
    load = main.launch(1, 2, "cudaMemcpyAsync")
    launch = main.launch(901, 905)
    main.op("aten::copy_", 0, 5)
    main.op("aten::mm", 900, 910)
    copies.copy(5, 500, load)
    stream.kernel("gemm", 910, 1_000, launch)
    found = verdict_of(trace)
    assert found.findings
    assert all((finding.saving_ns or 0) >= 10_000 for finding in found.findings)
    assert "Memcpy" not in "".join(finding.text for finding in found.findings)


def test_a_device_that_never_waits_is_the_bound_though_the_path_is_host_work() -> None:
    # Kernels of communication spin while the host works; nothing on the path waits for them.
    trace = Trace()
    main, stream, other = trace.thread(), trace.stream(7), trace.stream(8)
    main.step(0, 0, 1_000)
    first, last = main.launch(1, 2), main.launch(985, 986)
    main.op("aten::send", 0, 5)
    main.op("aten::mm", 980, 990)
    other.kernel("ncclDevKernel_SendRecv(ncclDevComm*)", 3, 999, first)
    stream.kernel("gemm", 988, 1_000, last)
    found = verdict_of(trace)
    assert (found.bound, found.findings) == ("device", ())
    assert found.summary == (
        "no change that was replayed saves 1.0 % or more: GPU 0 is busy 99.7 % of the window"
        " (99.9 % of that with communication, which spins while it waits)"
    )


def test_what_holds_a_device_up_is_no_longer_than_the_device_was_idle() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 1_000)
    first, last = main.launch(1, 2), main.launch(995, 996)
    main.op("aten::mm", 0, 5)
    main.op("aten::mm", 990, 998)
    stream.kernel("gemm", 5, 600, first)
    stream.kernel("gemm", 998, 1_100, last)
    found = finding_of(verdict_of(trace), "untraced-host")
    assert found.cost_ns == 390_000  # from 600 to 990, though the thread is in no operator from 5 on
    assert found.text.startswith("Python between operators holds GPU 0 up for 390 µs (35.5 % of the window)")


def test_a_trace_without_steps_or_profiler_is_not_told_to_compile_its_step() -> None:
    trace = ChromeTrace()
    for number in range(5):
        trace.span("MessageLoop::RunTask", 1_000 * number, 1_000 * number + 50)
    found = verdict_of(trace)
    assert (found.bound, found.findings) == ("unknown", ())
    assert found.summary == (
        "no step is marked, and nothing says what threads wait for: 93.8 % of the critical path is untraced host time,"
        " 6.2 % operators"
    )


def test_without_a_device_nobody_is_told_to_capture_a_graph() -> None:
    for name in ("torch_cnn_train.json.gz", "jax_train.json.gz"):
        verdict = pipeline.analyze(SAMPLES / name).verdict
        assert verdict is not None
        assert verdict.findings
        assert not any(word in one.text for one in verdict.findings for word in ("capture", "GPU", "device"))


def test_a_call_that_waits_for_operators_of_other_threads_is_not_the_bound() -> None:
    trace = OrtTrace()
    for number in range(3):
        start = 100 * number
        trace.run(start, start + 100)
        trace.execute(start, start + 100)
        trace.node("conv", "Conv", start + 2, start + 98, tid=2)
    found = verdict_of(trace)
    assert found.bound == "other_threads"
    assert found.summary.startswith("bound by operators of other threads: ")
    assert "Execute is the largest" not in "".join(finding.text for finding in found.findings)


def test_stages_that_pipelining_cannot_hide_much_of_are_no_finding() -> None:
    trace = Trace()
    main = trace.thread()
    for number in range(4):
        start = 1_000 * number
        main.step(number, start, start + 900)
        main.annotation("load", start, start + 5)
        main.annotation("train", start + 5, start + 900)
    assert "serial-stages" not in {finding.code for finding in verdict_of(trace).findings}


def test_waste_is_a_finding_priced_by_a_replay_without_it() -> None:
    report = pipeline.analyze(SAMPLES / "segmentation.json")
    assert report.verdict is not None
    found = finding_of(report.verdict, "layout")
    assert (found.cost_ns, found.saving_ns) == (5_200_000, 5_200_000)
    assert "without it the window takes 36.5 ms (−12.5 %): keep one layout from end to end." in found.text


def test_findings_take_two_lines_of_100_columns() -> None:
    for name in ("cuda_host_bound.json.gz", "detector.json", "frame.json", "toy_sequential.json", "jax_train.json.gz"):
        verdict = pipeline.analyze(SAMPLES / name).verdict
        assert verdict is not None
        assert all(len(unmarked(finding.text)) <= 188 for finding in verdict.findings), name


def test_stages_that_follow_each_other_are_a_finding_with_the_prediction() -> None:
    report = pipeline.analyze(SAMPLES / "toy_sequential.json")
    assert report.verdict is not None
    found = finding_of(report.verdict, "serial-stages")
    assert found.saving_ns == 400_000_000
    assert report.verdict.bound == "load_data"


def test_a_time_that_cannot_be_right_withholds_the_verdict() -> None:
    # TraceLens#972: one event of ten steps' length was 99 % of the device's time, and idle 0.04 %.
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    for number in range(3):
        main.step(number, 100 * number, 100 * number + 100)
        main.op("aten::mm", 100 * number, 100 * number + 50)
        stream.kernel("gemm", 100 * number + 10, 100 * number + 60, main.launch(100 * number + 1, 100 * number + 5))
    main.op("aten::add", 260, 270)
    stream.kernel("wrong", 280, 1_380, main.launch(261, 265))
    main.op("after", 300, 301)
    found = verdict_of(trace)
    assert found.summary.startswith("withheld")
    assert (found.bound, found.findings) == ("unknown", ())


def test_partitions_and_executors_own_their_time() -> None:
    trace, start = OrtTrace(), 0
    for length in (300, 300, 300):
        trace.run(start, start + length)
        trace.execute(start + 60, start + length)
        trace.node("npu", "QNN", start + 60, start + 160, "QNN")
        trace.node("resize", "Resize", start + 200, start + 250)
        start += length
    trace.node("after", "Conv", start, start + 1)
    found = verdict_of(trace)
    assert {finding.code: (finding.cost_ns, finding.saving_ns) for finding in found.findings} == {
        "provider-fallback": (150_000, 150_000),
        "partition-handoffs": (120_000, 120_000),
        "between-nodes": (150_000, 150_000),
        "outside-executor": (180_000, 180_000),
        "largest-work": (300_000, 150_000),
    }


def test_a_payoff_too_small_to_be_measured_is_no_finding() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 100)
    for number in range(1, 11):
        main.op(f"aten::other{number}", 100 * number, 100 * number + 100)
    main.op("aten::mm", 1_105, 1_200)
    found = verdict_of(trace)
    assert found.findings == ()
    assert (
        found.summary
        == "nothing stands out: operators take 99.6 % of the window, and no change that was replayed saves 1.0 % or more"
    )


def test_an_idle_device_that_no_change_helps_is_not_called_healthy() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 1_000)
    launches = [main.launch(1, 2), main.launch(3, 4)]
    main.op("aten::mm", 0, 5)
    stream.kernel("gemm", 5, 300, launches[0])
    stream.kernel("gemm", 800, 1_000, launches[1])
    found = verdict_of(trace)
    assert found.findings == ()
    assert found.summary == (
        "no change that was replayed saves 1.0 % or more: GPU 0 is idle 50.5 % of the window, 99.0 % of that is scheduling"
    )


def test_every_finding_can_be_explained() -> None:
    for name in ("cuda_host_bound.json.gz", "detector.json", "frame.json", "toy_fused.json", "segmentation.json"):
        verdict = pipeline.analyze(SAMPLES / name).verdict
        assert verdict is not None
        assert {finding.code for finding in verdict.findings} <= set(FINDINGS)
        assert all(finding.saving_ns is not None and finding.evidence for finding in verdict.findings)
        assert all(unmarked(finding.text).endswith(".") for finding in verdict.findings)


def test_each_analysis_has_a_name_a_title_and_a_page() -> None:
    for analysis in ANALYSES:
        assert analysis.NAME
        assert analysis.TITLE
        assert "**How it is computed.**" in (analysis.__doc__ or "")


def _largest_work(name: str) -> Finding:
    verdict = pipeline.analyze(SAMPLES / name).verdict
    assert verdict is not None
    return next(one for one in verdict.findings if one.code == "largest-work")


def test_a_payoff_that_other_threads_may_bound_says_up_to_how_long() -> None:
    text = "500 ms (−37.5 %), 700 ms if other threads feed it: begin there"
    assert text in _largest_work("toy_fused.json").text
    assert "feed" not in _largest_work("toy_sequential.json").text


def test_a_finding_names_the_event_to_look_at() -> None:
    events = json.loads((SAMPLES / "toy_sequential.json").read_text())["traceEvents"]
    found = _largest_work("toy_sequential.json")
    assert found.event is not None
    assert unmarked(found.text).startswith(f"{events[found.event]['name']} is the largest piece")


def test_what_holds_a_device_up_adds_up_to_its_idle_time_and_is_what_the_gaps_say() -> None:
    report = pipeline.analyze(SAMPLES / "cuda_host_bound.json.gz")
    assert report.verdict is not None
    (device,) = report.results["gaps"].devices
    costs = {one.code: one.cost_ns for one in report.verdict.findings if "holds GPU 0 up for" in one.text}
    assert costs == {
        "launch-overhead": sum(device.causes[cause] for cause in ("dispatch", "runtime", "launch")),
        "untraced-host": device.causes["untraced_host"],
        "input": device.causes["input"],
        "allocation": device.causes["allocator"],
    }
    assert sum(costs.values()) <= device.idle_ns


def test_work_costs_what_it_has_of_the_critical_path() -> None:
    shapes = {"Input Dims": [[512, 512], [512, 512]], "Input type": ["float", "float"]}
    trace = Trace()
    main, stream, beside = trace.thread(), trace.stream(7), trace.stream(8)
    main.op("aten::mm", 0, 10, **shapes)
    main.op("aten::mm", 10, 20, **shapes)
    first, second = main.launch(2, 4), main.launch(12, 14)
    stream.kernel("sgemm", 20, 1020, first)
    beside.kernel("sgemm", 20, 520, second)
    found = finding_of(verdict_of(trace), "below-roof")
    assert "1.50 ms on GPU 0" in found.text
    assert found.cost_ns == 1_000_000  # the other 500 µs run beside it


def test_one_long_api_call_that_an_idle_device_waits_for_is_named() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 1_000)
    main.call("cuModuleLoadData", 5, 890)
    stream.kernel("gemm", 905, 1_000, main.launch(895, 900))
    found = verdict_of(trace)
    assert unmarked(finding_of(found, "largest-work").text).startswith(
        "cuModuleLoadData is the largest piece of host work on the critical path"
    )
    assert finding_of(found, "largest-work").saving_ns == 885_000


def test_launches_into_a_full_queue_are_not_what_the_window_waits_for() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 4_200)
    free = 10
    for at in range(5, 4_005, 400):  # each call returns when the kernel before it is done
        launch = main.launch(at, at + 399)
        stream.kernel("gemm", free, free + 400, launch)
        free += 405
    assert "largest-work" not in {finding.code for finding in verdict_of(trace).findings}
    for at in range(4_010, 4_190, 10):  # short calls of the same name are dispatch, and lend the long ones nothing
        stream.kernel("relu", free, free + 1, main.launch(at, at + 9))
        free += 2
    assert "largest-work" not in {finding.code for finding in verdict_of(trace).findings}


def test_the_largest_piece_of_host_work_saves_no_kernels() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::nonzero", 0, 300)
    stream.kernel("gemm", 300, 1_000, main.launch(290, 299))
    found = finding_of(verdict_of(trace), "largest-work")
    assert found.cost_ns == 290_000
    assert found.saving_ns == 145_000


def test_work_that_an_analysis_speaks_of_is_not_the_largest_piece_too() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    shapes = {"Input Dims": [[64], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "5"]}
    for at in range(0, 4_000, 1_000):
        main.op("aten::_to_copy", at, at + 900, **shapes)
        stream.kernel("copy", at + 900, at + 1_000, main.launch(at + 890, at + 899))
    codes = {finding.code for finding in verdict_of(trace).findings}
    assert "largest-work" not in codes

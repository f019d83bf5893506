"""What the verdict says, and what it keeps quiet about."""

import pytest

from tests.tracebuilder import OrtTrace, Trace
from tracegap.analyses import ANALYSES, FINDINGS, gaps, judge, overhead, stages, steps, utilisation
from tracegap.analyses.verdict import ADVICE
from tracegap.charges import Charge
from tracegap.report import Verdict, unmarked

MEASURED = (steps, stages, gaps, utilisation, overhead)


def verdict_of(trace: Trace, **options: object) -> Verdict:
    model = trace.model(**options)
    results = {analysis.NAME: analysis.run(model) for analysis in MEASURED}
    return judge(model, {name: result for name, result in results.items() if result is not None})


def on_a_device(*busy: tuple[int, int]) -> Trace:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 1_000)
    main.op("aten::mm", 0, 100)
    for start, end in busy:
        trace.stream().kernel("gemm", start, end)
    main.op("after", 1_000, 1_001)
    return trace


def test_a_healthy_trace_gets_no_finding() -> None:
    found = verdict_of(on_a_device((0, 600), (640, 1_000)))
    assert found == Verdict("nothing stands out: GPU 0 is busy 96.0 % of the window", "device")


def test_an_idle_device_is_a_finding_with_its_number() -> None:
    found = verdict_of(on_a_device((0, 200), (800, 1_000)))
    assert found.bound == "host"
    (finding,) = found.findings
    assert (finding.code, finding.cost_ns, finding.saving_ns) == ("device-idle", 600_000, None)
    assert "600 µs (60.0 % of the window), in one gap" in unmarked(finding.text)


def test_a_bound_needs_half_of_the_window_and_a_lead() -> None:
    assert verdict_of(on_a_device((0, 550))).bound == "mixed"
    assert verdict_of(on_a_device((0, 600))).bound == "device"


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


def test_costs_have_one_owner_each_and_come_dearest_first() -> None:
    trace, start = OrtTrace(), 0
    for length in (900, 300, 300, 300):
        trace.run(start, start + length)
        trace.execute(start + 60, start + length)
        trace.node("npu", "QNN", start + 60, start + 160, "QNN")
        trace.node("resize", "Resize", start + 200, start + 250)
        start += length
    trace.node("after", "Conv", start, start + 1)
    found = verdict_of(trace)
    costs = [finding.cost_ns for finding in found.findings]
    assert found.findings[0].code == "first-step"
    assert costs == sorted(costs, reverse=True)
    assert sum(costs) <= 1_800_000
    assert {finding.code for finding in found.findings} >= {
        "provider-fallback",
        "partition-handoffs",
        "host-outside_execute",
    }


def test_a_cost_too_small_to_matter_is_no_finding() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 980)
    main.op("aten::mm", 990, 1_000)
    found = verdict_of(trace)
    assert found.findings == ()
    assert (
        found.summary
        == "nothing stands out: no cause takes 3.0 % of the window (operators 99.0 %, untraced host 1.0 %)"
    )


def test_a_trace_of_ranges_alone_names_the_longest_stage() -> None:
    trace = Trace()
    main = trace.thread()
    for number in range(3):
        main.step(number, 700 * number, 700 * number + 700)
        main.annotation("load_data", 700 * number, 700 * number + 500)
        main.annotation("compute", 700 * number + 500, 700 * number + 700)
    main.annotation("after", 2_100, 2_101)
    found = verdict_of(trace)
    assert found.bound == "unknown"
    assert unmarked(found.summary).endswith("the longest stage, load_data, takes 71.4 % of it")


@pytest.mark.parametrize("cause", ADVICE)
def test_every_cause_of_overhead_has_a_finding_that_can_be_explained(cause: Charge) -> None:
    assert f"host-{cause.word}" in FINDINGS


def test_each_analysis_has_a_name_a_title_and_a_page() -> None:
    for analysis in ANALYSES:
        assert analysis.NAME
        assert analysis.TITLE
        assert "**How it is computed.**" in (analysis.__doc__ or "")

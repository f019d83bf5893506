"""The first run: its cost, and after how many steps their mean is within a target."""

import json
from pathlib import Path

import pytest

from tests.tracebuilder import Trace
from tracegap import cli
from tracegap.analyses.first_run import FirstRun, find_first_run
from tracegap.pipeline import analyze


def steps(*lengths_ms: int) -> Trace:
    trace = Trace()
    main, start = trace.thread(), 0
    for number, length in enumerate(lengths_ms):
        main.step(number, start, start + 1000 * length)
        main.op("aten::mm", start, start + 1000 * length)
        start += 1000 * length
    return trace


def first_run(trace: Trace, target_ms: int | None = None) -> FirstRun | None:
    target = None if target_ms is None else 1_000_000 * target_ms
    found: FirstRun | None = analyze(trace.timeline(), target_ns=target).results["overhead"].first_run
    return found


def test_a_first_step_of_340_ms_then_12_meets_15_after_110_steps() -> None:
    found = first_run(steps(340, 12, 12, 12, 12), 15)
    assert found == FirstRun(328_000_000, 110, 15_000_000, extrapolated=True)
    assert "after 110 steps, if those that the trace does not show take as long" in found.sentence()


def test_a_trace_of_that_many_steps_is_not_extrapolated() -> None:
    found = first_run(steps(340, *[12] * 119), 15)
    assert found == FirstRun(328_000_000, 110, 15_000_000, extrapolated=False)
    assert found.sentence().endswith("The mean is within 15.0 ms after 110 steps.")


def test_slower_steps_in_between_count_too() -> None:
    assert first_run(steps(30, 10, 40, 10), 21) == FirstRun(20_000_000, 2, 21_000_000, extrapolated=False)
    found = first_run(steps(40, 10, 30, 10, 10), 15)
    assert found == FirstRun(30_000_000, 10, 15_000_000, extrapolated=True)


def test_a_target_that_the_median_step_misses_is_never_met() -> None:
    found = first_run(steps(340, 12, 12), 12)
    assert found is not None
    assert found.steps_to_target is None
    assert "never falls to 12.0 ms" in found.sentence()


def test_a_first_step_like_the_others_is_told_only_when_a_target_is_set() -> None:
    assert first_run(steps(12, 12, 12)) is None
    found = first_run(steps(12, 12, 12), 15)
    assert found == FirstRun(0, 1, 15_000_000, extrapolated=False)
    assert (
        found.sentence()
        == "The first step costs no more than the median of the others. The mean is within 15.0 ms after 1 step."
    )


def test_one_step_alone_has_nothing_to_be_weighed_against() -> None:
    assert find_first_run(steps(340).model()) is None


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str, str]:
    """Run the command line and return its code, output and errors."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["analyze", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_the_command_line_takes_a_target(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, str(samples / "cuda_host_bound.json.gz"), "--target", "0.9ms", "--format", "json")
    told = json.loads(out)["overhead"]["first_run"]
    assert (code, told["target_ns"], told["steps_to_target"], told["extrapolated"]) == (0, 900_000, 7, True)


@pytest.mark.parametrize("target", ["soon", "0"])
def test_a_target_that_is_no_time_is_refused(samples: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    code, _, err = ran(capsys, str(samples / "frame.json"), "--target", target)
    assert code == 2
    assert "--target" in err

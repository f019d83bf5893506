"""What a graph cut into partitions costs: hand-offs, fallbacks, copies; what one partition would save."""

from pathlib import Path

import pytest

from tests.tracebuilder import OrtTrace
from tracegap.analyses.partitions import Fallback, Partitions, find_partitions
from tracegap.extent import choose_window
from tracegap.pipeline import load
from tracegap.report import unmarked

MS = 1_000_000


def partitions_of(trace: OrtTrace) -> Partitions:
    model = trace.model()
    found = find_partitions(model.timeline, model.window)
    assert found is not None
    return found


@pytest.mark.parametrize("step_name", [None, "^frame"])
def test_of_the_detector_13_ms_lie_outside_the_npu_whatever_its_steps_are(samples: Path, step_name: str | None) -> None:
    timeline = load(samples / "detector.json", step_name=step_name)
    found = find_partitions(timeline, choose_window(timeline))
    assert found is not None
    assert (found.count, found.handoffs, found.handoff_ns, found.fallback_ns) == (7, 6, 5_900_000, 6_700_000)
    assert found.outside_ns == 12_960_000  # model_run is 20.96 ms, the NPU's segments 8
    assert found.one_partition_saves_ns == 5_900_000
    assert sum(one.cost_ns or 0 for one in found.fallbacks) == found.fallback_ns + found.handoff_ns
    assert found.fallbacks[0] == Fallback("dfl_softmax", 1, "CPUExecutionProvider", 2_100_000, cost_ns=4_000_000)
    assert unmarked(found.payoff()[0]).startswith(
        "13.0 ms of the model's runs lie outside accelerators; one partition would save"
    )


def test_nodes_that_only_copy_are_saved_too() -> None:
    trace = OrtTrace()
    trace.run(0, 100)
    trace.node("conv", "Conv", 0, 20, "CUDA")
    trace.node("down", "MemcpyToHost", 20, 30, "CUDA")
    trace.node("unique", "Unique", 32, 40)
    trace.node("up", "MemcpyFromHost", 45, 55, "CUDA")
    found = partitions_of(trace)
    assert (found.count, found.handoffs, found.handoff_ns) == (3, 2, 7_000)
    assert (found.copies, found.copies_ns, found.one_partition_saves_ns) == (2, 20_000, 27_000)
    assert found.fallbacks == (Fallback("unique", 1, "CPUExecutionProvider", 8_000, cost_ns=15_000),)
    assert found.outside_ns == 60_000
    assert "the hand-offs and 2 copy nodes" in unmarked(found.payoff()[0])


def test_where_nothing_fell_back_there_is_nothing_to_save() -> None:
    trace = OrtTrace()
    trace.run(0, 100)
    trace.node("conv", "Conv", 0, 20)
    found = partitions_of(trace)
    assert (found.outside_ns, found.copies, found.one_partition_saves_ns, found.payoff()) == (None, None, None, [])

"""Elementwise operators in a row, and what collectives and copies moved."""

from typing import Any

import pytest

from tests.tracebuilder import Thread, Trace
from tracegap.analyses import utilisation
from tracegap.analyses.use_results import Utilisation
from tracegap.report import Finding

MEGABYTE = {"Input Dims": [[250_000]], "Input type": ["float"]}


def result(trace: Trace) -> Utilisation:
    found = utilisation.run(trace.model())
    assert found is not None
    return found


def findings(trace: Trace) -> list[Finding]:
    model = trace.model()
    found = utilisation.run(model)
    assert found is not None
    return [one.finding for one in utilisation.findings(found, model)]


def elementwise(main: Thread, names: list[str], start: float, **args: Any) -> None:
    for number, name in enumerate(names):
        main.op(name, start + 100 * number, start + 100 * number + 100, **(MEGABYTE | args))


def test_a_chain_is_what_follows_on_tensors_of_one_size_and_fused_moves_two_tensors() -> None:
    trace = Trace()
    elementwise(trace.thread(), ["aten::exp", "aten::neg", "aten::tanh"], 0)
    (chain,) = result(trace).chains
    assert chain.names == ("aten::exp", "aten::neg", "aten::tanh")
    assert (chain.count, chain.tensor_bytes, chain.duration_ns) == (1, 1_000_000, 300_000)
    assert (chain.bytes, chain.saving_bytes) == (6_000_000, 4_000_000)


def test_a_matrix_product_or_another_size_ends_a_chain_and_a_view_does_not() -> None:
    trace = Trace()
    main = trace.thread()
    elementwise(main, ["aten::exp"], 0)
    main.op("aten::view", 100, 110, **{"Input Dims": [[250_000], []], "Input type": ["float", "ScalarList"]})
    elementwise(main, ["aten::neg"], 110)
    main.op("aten::mm", 210, 300, **{"Input Dims": [[500, 500], [500, 500]], "Input type": ["float", "float"]})
    elementwise(main, ["aten::tanh"], 300)
    main.op("aten::tanh", 400, 410, **{"Input Dims": [[10]], "Input type": ["float"]})
    assert [chain.names for chain in result(trace).chains] == [("aten::exp", "aten::neg")]


@pytest.mark.parametrize("size", [-(2**63), 2**60, 2**63])
def test_tensors_that_no_memory_holds_are_no_chain(size: int) -> None:
    trace = Trace()
    elementwise(trace.thread(), ["aten::exp", "aten::neg"], 0, **{"Input Dims": [[size]]})
    assert result(trace).chains == ()


def test_parameters_that_an_optimizer_works_on_are_no_chain() -> None:
    trace = Trace()
    main = trace.thread()
    main.annotation("Optimizer.step#SGD.step", 0, 300)
    elementwise(main, ["aten::mul_", "aten::add_"], 0)
    assert result(trace).chains == ()


def test_a_chain_worth_it_is_a_finding_with_its_replayed_saving() -> None:
    trace = Trace()
    elementwise(trace.thread(), ["aten::exp", "aten::neg", "aten::tanh"], 0)
    (found,) = findings(trace)
    assert found.code == "elementwise-chain"
    # a third of each operator's time is left, rounded operator by operator
    assert found.saving_ns == pytest.approx(200_000, abs=2)
    assert found.code in utilisation.FINDINGS


def test_work_far_below_the_roof_is_a_finding_only_where_the_window_would_be_shorter() -> None:
    shapes = {"Input Dims": [[512, 512], [512, 512]], "Input type": ["float", "float"]}
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 10, **shapes)
    launch = main.launch(2, 4)
    stream.kernel("sgemm", 20, 1020, launch)
    (found,) = findings(trace)
    assert found.code == "below-roof"
    # 2·512³ FLOPs at 19.5 TFLOP/s take 13.8 µs
    assert found.saving_ns == 986_234
    main.op("python", 10, 3000)
    assert findings(trace) == []


def test_a_collective_has_algorithm_and_bus_bandwidth() -> None:
    trace = Trace()
    trace.thread().op("nccl:all_reduce", 0, 10)
    message = {
        "Collective name": "allreduce",
        "In msg nelems": 500_000_000,
        "Out msg nelems": 500_000_000,
        "dtype": "BFloat16",
        "Group size": 8,
    }
    trace.stream(9).kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, 10_020, **message)
    (use,) = result(trace).communication
    assert (use.name, use.ranks, use.count, use.bytes) == ("all_reduce", 8, 1, 1_000_000_000)
    assert use.algorithm_bytes_per_s == pytest.approx(100e9)
    assert use.bus_bytes_per_s == pytest.approx(175e9)


def test_a_collective_whose_size_is_not_told_has_no_bandwidth() -> None:
    trace = Trace()
    trace.thread().op("nccl:all_reduce", 0, 10)
    trace.stream(9).kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, 10_020)
    (use,) = result(trace).communication
    assert (use.name, use.bytes, use.algorithm_bytes_per_s) == ("all_reduce", None, None)


def test_copies_are_told_by_name_and_direction_with_their_bandwidth() -> None:
    trace = Trace()
    trace.thread().op("aten::copy_", 0, 10)
    stream = trace.stream()
    stream.slice("Memcpy HtoD (Pinned -> Device)", 20, 120, "gpu_memcpy", bytes=2_000_000)
    stream.slice("Memcpy HtoD (Pinned -> Device)", 130, 230, "gpu_memcpy", bytes=3_000_000)
    stream.slice("Memset (Device)", 240, 250, "gpu_memset", bytes=1000)
    first, second = result(trace).copies
    assert (first.direction, first.count, first.bytes, first.duration_ns) == ("host to device", 2, 5_000_000, 200_000)
    assert first.bytes_per_s == pytest.approx(25e9)
    assert second.direction == "set"


def test_blocks_on_multiprocessors_are_weighted_by_time_and_count_up_to_one() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    trace.stream().kernel("a", 0, 30, 0, **{"blocks per SM": 0.25})
    trace.stream().kernel("b", 30, 40, 0, **{"blocks per SM": 8.0})
    (device,) = result(trace).devices
    assert device.sm_efficiency_ratio == pytest.approx((30 * 0.25 + 10) / 40)

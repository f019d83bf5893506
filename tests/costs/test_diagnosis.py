"""The tree, and worked examples with their values."""

import pytest

from tracegap.costs import Call, cost
from tracegap.costs.diagnosis import Branch, chain_saving, diagnose, predicted_ns, steps_to_target
from tracegap.costs.limits import Limits, find_limits

BOARD = Limits("board", {"": 128e9}, 13e9, "example")
UNIT = Limits("unit", {"": 1e9}, 1e9, "example")


@pytest.mark.parametrize(
    ("f_c", "f_b", "branch"),
    [
        (0.61, 0.1, Branch.COMPUTE),
        (0.1, 0.61, Branch.BANDWIDTH),
        (0.9, 0.7, Branch.COMPUTE),
        (0.7, 0.9, Branch.BANDWIDTH),
        (0.39, 0.39, Branch.LATENCY),
        (0.0, 0.1, Branch.LATENCY),
        (0.5, 0.45, Branch.TWO_PHASE),
        (0.4, 0.6, Branch.TWO_PHASE),
        (0.5, 0.3, Branch.COMPUTE_INEFFICIENT),
        (0.3, 0.6, Branch.BANDWIDTH_INEFFICIENT),
        (None, 0.7, Branch.BANDWIDTH),
        (None, 0.5, Branch.UNKNOWN),
        (0.2, None, Branch.UNKNOWN),
        (None, None, Branch.UNKNOWN),
    ],
)
def test_fractions_lead_to_a_branch_and_each_has_an_action(
    f_c: float | None, f_b: float | None, branch: Branch
) -> None:
    flops = None if f_c is None else round(f_c * 1000)
    moved = None if f_b is None else round(f_b * 1000)
    found = diagnose(flops, moved, 1000, UNIT, "float32")
    assert (found.branch, found.over_limit) == (branch, False)
    assert found.action.endswith(".")


def test_matrix_vector_of_4096_squared_is_bound_by_its_access_pattern() -> None:
    shapes = ((4096, 4096), (4096,))
    made = cost(Call("aten::mv", shapes, ("float16", "float16")))
    assert made is not None
    assert made.flops == 33_554_432
    weights = 2 * 4096 * 4096
    found = diagnose(made.flops, weights, 4_600_000, BOARD, "float16")
    assert found.intensity == 1.0
    assert found.attainable_flops_per_s == pytest.approx(13e9)
    assert found.ideal_ns == pytest.approx(2.58e6, rel=1e-3)
    assert found.efficiency == pytest.approx(0.56, abs=0.005)
    assert found.f_b == pytest.approx(0.561, abs=0.001)
    assert found.branch is Branch.BANDWIDTH_INEFFICIENT

    assert found.ideal_ns is not None
    assert found.efficiency is not None
    assert predicted_ns(found.ideal_ns, bytes_ratio=0.5, efficiency=found.efficiency) == pytest.approx(2.30e6, rel=1e-3)
    assert predicted_ns(found.ideal_ns, efficiency=0.85) == pytest.approx(3.04e6, rel=2e-3)
    assert predicted_ns(found.ideal_ns, bytes_ratio=0.5, efficiency=0.85) == pytest.approx(1.52e6, rel=2e-3)


def test_a_chain_of_elementwise_operators_at_97_per_cent_of_bandwidth_is_bound_by_it() -> None:
    found = diagnose(None, 117_400_000, 9_300_000, BOARD, "float32")
    assert found.bytes_per_s == pytest.approx(12.6e9, rel=0.005)
    assert found.f_b == pytest.approx(0.97, abs=0.005)
    assert found.branch is Branch.BANDWIDTH
    assert "fuse" in found.action.lower()
    assert chain_saving(5, 1_000_000) == 8_000_000
    assert chain_saving(1, 1_000_000) == 0


def test_layout_conversions_and_convolutions_of_the_segmentation_model() -> None:
    layout = diagnose(0, 50_300_000, 5_200_000, BOARD, "float32")
    assert layout.bytes_per_s == pytest.approx(9.7e9, rel=0.005)
    assert layout.f_c == 0.0
    assert layout.branch is Branch.BANDWIDTH
    convolutions = diagnose(1_900_000_000, None, 25_400_000, BOARD, "float32")
    assert convolutions.flops_per_s == pytest.approx(74.8e9, rel=0.001)
    assert convolutions.f_c == pytest.approx(0.58, abs=0.005)


def test_a_petaflop_a_second_is_flagged_and_never_a_success() -> None:
    h100 = find_limits("NVIDIA H100 80GB HBM3")
    found = diagnose(10**15, None, 500_000_000, h100, "bfloat16")
    assert found.f_c == pytest.approx(2.02, abs=0.01)
    assert found.over_limit
    assert found.branch is Branch.UNKNOWN
    assert "wrong" in found.action


def test_more_bytes_than_memory_delivers_may_have_come_from_a_cache() -> None:
    found = diagnose(8_388_608, 33_554_432, 6_600, find_limits("NVIDIA GH200 480GB"), "float32")
    assert found.over_limit
    assert found.branch is Branch.UNKNOWN
    assert "cache" in found.action


def test_an_unknown_device_gets_achieved_numbers_and_a_request() -> None:
    found = diagnose(10**9, 10**9, 1_000_000, None, "float32")
    assert (found.flops_per_s, found.bytes_per_s) == (1e12, 1e12)
    assert (found.f_c, found.f_b, found.ideal_ns, found.efficiency) == (None, None, None, None)
    assert found.branch is Branch.UNKNOWN
    assert "--device-limits" in found.action


def test_no_time_gives_no_rates() -> None:
    found = diagnose(10, 10, 0, BOARD, "float32")
    assert (found.flops_per_s, found.efficiency, found.over_limit) == (None, None, False)


def test_a_first_step_of_340_ms_is_paid_off_after_110_steps() -> None:
    steps = steps_to_target(340_000_000, 12_000_000, 15_000_000)
    assert steps == 110
    assert (340 + 109 * 12) / 110 <= 15 < (340 + 108 * 12) / 109


def test_a_target_below_every_later_step_is_never_met() -> None:
    assert steps_to_target(340, 16, 15) is None
    assert steps_to_target(10, 16, 15) == 1

"""Bandwidth of collectives."""

import pytest

from tracegap.costs.communication import Bandwidth, bandwidth, bus_factor, collective, message_bytes


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("allreduce", "all_reduce"),
        ("_allgather_base", "all_gather"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("all_to_allv", "all_to_all"),
        ("nccl:broadcast", "broadcast"),
        ("gloo:all_reduce", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce_scatter"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("aten::gather", None),
        ("void at::native::reduce_kernel<512, 1>", None),
        ("barrier", None),
    ],
)
def test_collectives_are_known_by_all_their_spellings(name: str, word: str | None) -> None:
    assert collective(name) == word


@pytest.mark.parametrize(
    ("word", "factor"),
    [
        ("all_reduce", 1.5),
        ("all_gather", 0.75),
        ("reduce_scatter", 0.75),
        ("all_to_all", 0.75),
        ("broadcast", 1.0),
        ("send_recv", 1.0),
    ],
)
def test_the_busiest_link_of_four_carries(word: str, factor: float) -> None:
    assert bus_factor(word, 4) == factor


def test_a_message_is_the_whole_buffer() -> None:
    assert message_bytes("all_gather", 1024, 8192, "Float") == 32768
    assert message_bytes("reduce_scatter", 8192, 1024, "BFloat16") == 16384
    assert message_bytes("all_reduce", 1024, 1024, "Quaternion") is None
    assert message_bytes("all_reduce", -1, -1, "Float") is None


def test_without_the_group_the_bus_is_unknown() -> None:
    assert bandwidth("all_reduce", 1_000_000, 1_000_000, None) == Bandwidth(1e9, None)
    assert bandwidth("all_reduce", 1_000_000, 0, 8) is None

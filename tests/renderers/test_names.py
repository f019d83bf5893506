"""Names: harmless, short, and still telling one kernel from another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracegap.renderers.names import printable, shorten

REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<{}, at::native::func_wrapper_t<float>>>(float*)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain ✓ 卷积", "plain ✓ 卷积"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\u202etxt", "\\u202etxt"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_characters_that_act_are_escaped(name: str, shown: str) -> None:
    assert printable(name) == shown


def test_a_name_that_fits_is_left_alone_but_for_its_parameter_list() -> None:
    assert shorten(["ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"], 80) == [
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    ]
    assert shorten(["MatMul (node 3)"], 80) == ["MatMul (node 3)"]
    assert shorten(["train.py(12): step"], 80) == ["train.py(12): step"]


def test_overloads_keep_their_parameter_lists() -> None:
    assert shorten(["f<int>(int)", "f<int>(float)"], 40) == ["f<int>(int)", "f<int>(float)"]


def test_kernels_that_differ_in_the_middle_stay_apart() -> None:
    short = shorten([REDUCE.format("float"), REDUCE.format("c10::Half"), REDUCE.format("c10::BFloat16")], 48)
    assert len(set(short)) == 3
    assert all(len(name) <= 48 for name in short)


def test_a_kernel_shows_its_function_and_the_word_that_tells_it_from_the_others() -> None:
    kernel = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::{}<float>>(int)>(int)"
    assert shorten([kernel.format("MulFunctor"), kernel.format("neg_kernel_cuda")], 30) == [
        "elemen…ernel<…MulFunctor<flo…>",
        "elemen…ernel<…neg_kernel_cud…>",
    ]


def test_namespaces_go_unless_they_alone_differ() -> None:
    assert shorten(["at::native::fill<int>(int*)", "at::native::(anonymous namespace)::copy<int>"], 40) == [
        "fill<int>",
        "copy<int>",
    ]
    assert shorten(["a::fill<int>", "b::fill<int>"], 40) == ["a::fill<int>", "b::fill<int>"]
    assert shorten(["aten::addmm", "autograd::engine::evaluate_function: AddmmBackward0"], 80)[0] == "aten::addmm"


@given(st.lists(st.text(max_size=80), max_size=6), st.integers(4, 60))
def test_no_name_is_longer_than_the_width(names: list[str], width: int) -> None:
    assert all(len(name) <= width for name in shorten(names, width))

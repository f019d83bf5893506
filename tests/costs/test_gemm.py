"""Matrix products, by hand."""

import pytest

from tracegap.costs import Call, Cost, cost, texts

F32 = "float32"


@pytest.mark.parametrize(
    ("name", "shapes", "flops", "elements"),
    [
        ("aten::mm", ((8, 16), (16, 4)), 2 * 8 * 16 * 4, 8 * 16 + 16 * 4 + 8 * 4),
        ("aten::bmm", ((3, 8, 16), (3, 16, 4)), 3 * 2 * 8 * 16 * 4, 3 * (8 * 16 + 16 * 4 + 8 * 4)),
        ("aten::matmul", ((5, 1, 8, 16), (3, 16, 4)), 15 * 2 * 8 * 16 * 4, 5 * 8 * 16 + 3 * 16 * 4 + 15 * 8 * 4),
        ("aten::matmul", ((16,), (3, 16, 4)), 3 * 2 * 16 * 4, 16 + 3 * 16 * 4 + 3 * 4),
        ("aten::mv", ((8, 16), (16,)), 2 * 8 * 16, 8 * 16 + 16 + 8),
        ("aten::dot", ((16,), (16,)), 2 * 16, 16 + 16 + 1),
        ("aten::addmm", ((4,), (8, 16), (16, 4)), 2 * 8 * 16 * 4, 4 + 8 * 16 + 16 * 4 + 8 * 4),
        (
            "aten::baddbmm",
            ((3, 8, 4), (3, 8, 16), (3, 16, 4)),
            3 * 2 * 8 * 16 * 4,
            3 * (8 * 4 + 8 * 16 + 16 * 4 + 8 * 4),
        ),
        ("aten::addbmm", ((8, 4), (3, 8, 16), (3, 16, 4)), 3 * 2 * 8 * 16 * 4, 32 + 3 * (8 * 16 + 16 * 4) + 32),
        ("aten::linear", ((2, 10, 16), (4, 16), (4,)), 2 * 20 * 16 * 4, 2 * 10 * 16 + 4 * 16 + 4 + 2 * 10 * 4),
    ],
)
def test_a_product_is_two_mnk_and_each_operand_once(
    name: str, shapes: tuple[tuple[int, ...], ...], flops: int, elements: int
) -> None:
    made = cost(Call(name, shapes, (F32,) * len(shapes)))
    assert made == Cost(flops, 4 * elements, F32)


def test_a_repeated_row_of_stride_zero_is_read_once() -> None:
    call = texts.kineto("aten::mm", "[[512,128],[128,128]]", '["float","float"]', strides="[[0,1],[1,128]]")
    made = cost(call)
    assert made is not None
    assert made.bytes == 4 * (128 + 128 * 128 + 512 * 128)


def test_dimensions_that_do_not_fit_have_no_cost() -> None:
    assert cost(Call("aten::mm", ((8, 16), (15, 4)), (F32, F32))) is None


def test_an_unknown_type_leaves_the_bytes_unknown_and_not_zero() -> None:
    assert cost(Call("aten::mm", ((8, 16), (16, 4)))) == Cost(2 * 8 * 16 * 4, None, "")


def test_an_einsum_counts_when_its_equation_is_known() -> None:
    shapes = ((), ((6, 5, 7), (6, 7, 3)), ())
    known = Call("aten::einsum", shapes, ("", "list", ""), ("bij,bjk->bik", None, None), list_dtype=F32)
    assert cost(known) == Cost(2 * 6 * 5 * 7 * 3, 4 * (6 * 5 * 7 + 6 * 7 * 3 + 6 * 5 * 3), F32)
    assert cost(Call("aten::einsum", shapes, ("", "list", ""))) is None


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "flops", "size"),
    [
        # Weights among the inputs.
        (
            "MatMul",
            '[{"float":[2,48,64]},{"float":[64,32]}]',
            '[{"float":[2,48,32]}]',
            2 * 96 * 64 * 32,
            4 * (6144 + 2048 + 3072),
        ),
        # Weights packed beforehand: 64 × 64 of them.
        ("MatMul", '[{"float":[2,48,64]}]', '[{"float":[2,48,64]}]', 2 * 96 * 64 * 64, 4 * (6144 + 4096 + 6144)),
        ("Gemm", '[{"float":[2,32]},{"float":[10]}]', '[{"float":[2,10]}]', 2 * 2 * 32 * 10, 4 * (64 + 320 + 10 + 20)),
        # A stored K × M, which only the sides tell.
        ("Gemm", '[{"float":[32,2]},{"float":[32,10]}]', '[{"float":[2,10]}]', 2 * 2 * 32 * 10, 4 * (64 + 320 + 20)),
        (
            "MatMulNBits",
            '[{"float16":[1,1,4096]},{"uint8":[4096,128,16]},{"float16":[524288]}]',
            '[{"float16":[1,1,4096]}]',
            2 * 4096 * 4096,
            2 * 4096 + 4096 * 128 * 16 + 2 * 524288 + 2 * 4096,
        ),
        ("MatMulInteger", '[{"uint8":[8,16]},{"int8":[16,4]}]', '[{"int32":[8,4]}]', 2 * 8 * 16 * 4, 128 + 64 + 4 * 32),
    ],
)
def test_products_of_onnx_runtime_by_hand(name: str, inputs: str, outputs: str, flops: int, size: int) -> None:
    made = cost(texts.onnxruntime(name, inputs, outputs))
    assert made is not None
    assert (made.flops, made.bytes) == (flops, size)


def test_weights_that_were_packed_beforehand_are_said_so() -> None:
    made = cost(texts.onnxruntime("MatMul", '[{"float":[8,16]}]', '[{"float":[8,4]}]'))
    assert made is not None
    assert "packed" in made.note

"""Attention, by hand."""

import pytest

from tracegap.costs import Call, cost, texts
from tracegap.costs.attention import pairs

BF16 = "bfloat16"


def sdpa(*, causal: bool, keys: int = 128, key_heads: int = 16) -> Call:
    q, k = (2, 16, 128, 64), (2, key_heads, keys, 64)
    return Call(
        "aten::_scaled_dot_product_flash_attention",
        (q, k, k),
        (BF16,) * 3,
        (None, None, None, 0.0, causal, False, 0.125),
    )


def test_scores_and_values_are_two_products() -> None:
    made = cost(sdpa(causal=False))
    assert made is not None
    assert made.flops == 4 * 2 * 16 * 128 * 128 * 64
    assert made.bytes == 2 * 4 * (2 * 16 * 128 * 64)


def test_a_causal_mask_leaves_the_pairs_under_it() -> None:
    made = cost(sdpa(causal=True))
    assert made is not None
    assert made.flops == 4 * 2 * 16 * (128 * 129 // 2) * 64
    assert "causal" in made.note


def test_shared_heads_of_keys_save_bytes_and_no_arithmetic() -> None:
    made = cost(sdpa(causal=False, key_heads=4))
    assert made is not None
    assert made.flops == 4 * 2 * 16 * 128 * 128 * 64
    assert made.bytes == 2 * (2 * (2 * 16 * 128 * 64) + 2 * (2 * 4 * 128 * 64))


@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 7), (7, 3), (1, 9)])
@pytest.mark.parametrize("bottom_right", [False, True])
def test_pairs_are_those_of_a_drawn_mask(queries: int, keys: int, *, bottom_right: bool) -> None:
    shift = keys - queries if bottom_right else 0
    drawn = sum(column <= row + shift for row in range(queries) for column in range(keys))
    assert pairs(queries, keys, bottom_right=bottom_right) == drawn


def test_the_backward_is_five_products() -> None:
    q = (2, 16, 128, 64)
    arguments = (*(None,) * 10, 0.0, False)
    made = cost(Call("aten::_scaled_dot_product_flash_attention_backward", (q,) * 5, (BF16,) * 5, arguments))
    assert made is not None
    assert made.flops == 10 * 2 * 16 * 128 * 128 * 64
    assert made.bytes == 2 * 8 * (2 * 16 * 128 * 64)


def test_sequences_end_to_end_have_lengths_that_the_trace_does_not_hold() -> None:
    call = texts.kineto(
        "aten::_flash_attention_forward",
        "[[512,16,64],[512,16,64],[512,16,64],[9],[9],[],[],[],[],[]]",
        '["c10::Half","c10::Half","c10::Half","int","int","Scalar","Scalar","Scalar","Scalar","Scalar"]',
        concrete='["","","","","","64","64","0.","True","False"]',
    )
    made = cost(call)
    assert made is not None
    assert made.flops is None
    assert made.bytes == 2 * 4 * 512 * 16 * 64


def test_attention_of_onnx_runtime_projects_first() -> None:
    made = cost(
        texts.onnxruntime(
            "Attention", '[{"float":[1,128,768]},{"float":[768,2304]},{"float":[2304]}]', '[{"float":[1,128,768]}]'
        )
    )
    assert made is not None
    assert made.flops == 2 * 128 * 768 * 2304 + 4 * 128 * 128 * 768


def test_grouped_query_attention_counts_keys_of_the_past() -> None:
    inputs = '[{"float16":[1,1,2048]},{"float16":[1,1,512]},{"float16":[1,1,512]},{"float16":[1,8,99,64]},{"float16":[1,8,99,64]}]'
    outputs = '[{"float16":[1,1,2048]},{"float16":[1,8,100,64]},{"float16":[1,8,100,64]}]'
    made = cost(texts.onnxruntime("GroupQueryAttention", inputs, outputs))
    assert made is not None
    assert made.flops == 4 * 2048 * 100
    shared = cost(texts.onnxruntime("GroupQueryAttention", inputs.replace("99", "100"), outputs))
    assert shared is None

"""Reading the texts of traces, damaged ones included."""

import pytest

from tracegap.costs import Cost, dtypes, texts


def test_lists_of_tensors_keep_their_shapes() -> None:
    call = texts.kineto("aten::cat", "[[[2,3],[4,3]],[]]", '["TensorList","Scalar"]', concrete='["","0"]')
    assert call.tensors(0) == ((2, 3), (4, 3))
    assert call.dims(0) is None
    assert call.argument(1) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[2, 2]", (2, 2)),
        ("[True, False]", (True, False)),
        ("0.", 0.0),
        ("1e-05", 1e-05),
        ("", None),
        ("sum", "sum"),
        ("[1., 2.5]", (1.0, 2.5)),
    ],
)
def test_arguments_are_read_as_they_are_written(text: str, value: object) -> None:
    assert texts.kineto("x", "[[]]", '[""]', concrete=f'["{text}"]').argument(0) == value


@pytest.mark.parametrize("damaged", ["", "[[8, 16]", "null", "7", '"text"', "[[8, null]]", '[{"a": 1}]'])
def test_damaged_texts_give_a_call_of_which_nothing_is_known(damaged: str) -> None:
    call = texts.kineto("aten::mm", damaged, damaged, concrete=damaged, strides=damaged)
    assert call.dims(0) is None
    node = texts.onnxruntime("MatMul", damaged, damaged)
    assert node.outputs == () or node.output_dtypes == ("",)


def test_number_tags_of_old_traces_are_no_tensors() -> None:
    call = texts.kineto("aten::nll_loss_forward", "[[32,10],[32],[],[],[]]", '["float","long int","","Int","Int"]')
    assert call.dtypes == ("float32", "int64", "", "", "")
    assert call.dims(3) is None


def test_counts_of_xla_are_taken_over_and_zeros_are_unknown() -> None:
    assert texts.xla("2097152", "0") == Cost(2097152, None, "", "counted by XLA")
    assert texts.xla("0", None) is None
    assert texts.xla("nan", "x") is None


def test_kernels_tell_the_type_of_lists_and_of_tensor_core_arithmetic() -> None:
    adam = "multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<c10::BFloat16, 4>, float>"
    assert dtypes.of_kernels([adam]) == "bfloat16"
    assert dtypes.of_kernels(["Memset (Device)"]) == ""
    assert dtypes.on_kernels("float32", ["sm80_xmma_gemm_f32f32_tf32f32_f32_nn"]) == "tf32"
    assert dtypes.on_kernels("float16", ["tf32"]) == "float16"

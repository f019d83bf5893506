"""Convolutions, by hand; the example with a stride is ResNet-50's first layer."""

import pytest

from tracegap.costs import Call, Cost, cost, texts

F32 = "float32"
STEM = "[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]"
STEM_FLOPS = 2 * 32 * 64 * 112 * 112 * 3 * 7 * 7


def conv2d(x: tuple[int, ...], weight: tuple[int, ...], *, stride: int = 1, padding: int = 0, groups: int = 1) -> Call:
    arguments = (None, None, None, (stride, stride), (padding, padding), (1, 1), groups)
    return Call("aten::conv2d", (x, weight, (), (), (), (), ()), (F32, F32, "", "", "", "", ""), arguments)


def test_a_convolution_is_result_elements_by_filter_elements() -> None:
    made = cost(conv2d((32, 3, 224, 224), (64, 3, 7, 7), stride=2, padding=3))
    assert made == Cost(STEM_FLOPS, 4 * (32 * 3 * 224 * 224 + 64 * 3 * 49 + 32 * 64 * 112 * 112), F32)


def test_a_depthwise_one_has_one_channel_a_filter() -> None:
    made = cost(conv2d((1, 64, 112, 112), (64, 1, 3, 3), padding=1, groups=64))
    assert made is not None
    assert made.flops == 14_450_688  # 2 · 64 · 112² · 9


def test_a_grouped_one_has_its_share_of_the_channels() -> None:
    whole, grouped = cost(conv2d((1, 8, 9, 9), (6, 8, 3, 3))), cost(conv2d((1, 8, 9, 9), (6, 4, 3, 3), groups=2))
    assert whole is not None
    assert grouped is not None
    assert whole.flops == 2 * 6 * 49 * 8 * 9 == 2 * (grouped.flops or 0)


def test_vendor_operators_have_padding_before_stride() -> None:
    arguments = (None, None, (3, 3), (2, 2), (1, 1), 1, False, False, True)
    made = cost(Call("aten::cudnn_convolution", ((32, 3, 224, 224), (64, 3, 7, 7)), (F32, F32), arguments))
    assert made is not None
    assert made.flops == STEM_FLOPS


def test_a_transposed_one_visits_each_input_position() -> None:
    call = texts.kineto(
        "aten::conv_transpose2d",
        "[[2,8,8,8],[8,4,2,2],[4],[],[],[],[],[]]",
        '["float","float","float","ScalarList","ScalarList","ScalarList","Scalar","ScalarList"]',
        concrete='["","","","[2, 2]","[0, 0]","[0, 0]","1","[1, 1]"]',
    )
    made = cost(call)
    assert made == Cost(2 * 2 * 8 * 8 * 8 * 4 * 4, 4 * (2 * 8 * 64 + 8 * 4 * 4 + 4 + 2 * 4 * 16 * 16), F32)


@pytest.mark.parametrize(
    ("mask", "times"), [("[True, True, True]", 2), ("[False, True, False]", 1), ("[False, False, True]", 0)]
)
def test_the_backward_counts_the_gradients_that_were_asked_for(mask: str, times: int) -> None:
    call = texts.kineto(
        "aten::convolution_backward",
        "[[10,512,7,7],[10,256,7,7],[512,256,3,3],[],[],[],[],[],[],[],[]]",
        '["float","float","float","ScalarList","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar","ScalarList"]',
        concrete=f'["","","","[0]","[1, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","{mask}"]',
    )
    made = cost(call)
    assert made is not None
    assert made.flops == times * 2 * 10 * 512 * 49 * 256 * 9


def test_the_gradient_of_a_grouped_convolution_has_its_share_too() -> None:
    shapes = ((1, 64, 112, 112), (1, 64, 112, 112), (64, 1, 3, 3))
    arguments = (None, None, None, None, (1, 1), (1, 1), (1, 1), False, (0, 0), 64, (True, True, False))
    made = cost(Call("aten::convolution_backward", shapes, (F32,) * 3, arguments))
    assert made is not None
    assert made.flops == 2 * 14_450_688


def test_without_the_stride_nothing_is_known() -> None:
    assert cost(texts.kineto("aten::cudnn_convolution", STEM, '["float","float"]')) is None


def test_an_old_gradient_of_filters_takes_their_shape_from_the_forward() -> None:
    call = texts.kineto(
        "aten::cudnn_convolution_backward_weight",
        "[[],[32,64,112,112],[32,3,224,224]]",
        '["GenericList","float","float"]',
        forward_dims="[[32,3,224,224],[64,3,7,7]]",
    )
    made = cost(call)
    assert made is not None
    assert made.flops == STEM_FLOPS


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "flops", "size"),
    [
        (
            "Conv",
            '[{"float":[2,3,64,64]},{"float":[16,3,3,3]},{"float":[16]}]',
            '[{"float":[2,16,64,64]}]',
            2 * 2 * 16 * 4096 * 27,
            4 * (2 * 3 * 4096 + 16 * 27 + 16 + 2 * 16 * 4096),
        ),
        # A residual sum fused in: it has the result's shape and is read, but is no filter.
        (
            "FusedConv",
            '[{"float":[1,8,4,4]},{"float":[8,8,1,1]},{"float":[8]},{"float":[1,8,4,4]}]',
            '[{"float":[1,8,4,4]}]',
            2 * 8 * 16 * 8,
            4 * (128 + 64 + 8 + 128 + 128),
        ),
        (
            "QLinearConv",
            '[{"uint8":[1,3,8,8]},{"float":[]},{"uint8":[]},{"int8":[4,3,3,3]},{"float":[4]},{"int8":[4]},{"float":[]},{"uint8":[]},{"int32":[4]}]',
            '[{"uint8":[1,4,8,8]}]',
            2 * 4 * 64 * 27,
            192 + 4 + 1 + 108 + 16 + 4 + 4 + 1 + 16 + 256,
        ),
        (
            "ConvTranspose",
            '[{"float":[1,8,4,4]},{"float":[8,2,2,2]}]',
            '[{"float":[1,2,8,8]}]',
            2 * 8 * 16 * 2 * 4,
            4 * (128 + 64 + 128),
        ),
    ],
)
def test_convolutions_of_onnx_runtime_by_hand(name: str, inputs: str, outputs: str, flops: int, size: int) -> None:
    made = cost(texts.onnxruntime(name, inputs, outputs))
    assert made is not None
    assert (made.flops, made.bytes) == (flops, size)

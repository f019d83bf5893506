"""Convolutions: 2·N·Cout·Hout·Wout·(Cin/groups)·Kh·Kw FLOPs, which is 2 × result elements × elements of one filter.

The direct count (Sze et al., "Efficient Processing of Deep Neural Networks", Proc. IEEE 105(12), 2017, section II), also
`torch.utils.flop_counter`'s. Winograd and FFT kernels need fewer: against the peak they can seem too fast. A transposed
convolution visits each *input* position instead. Bias is left out of the FLOPs. Bytes: input, filters, bias, result once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from tracegap.costs.call import Call, Cost, Dims, size, total


@dataclass(frozen=True, slots=True)
class Places:
    """Where an operator has its arguments; −1 where it has none. `transposed` is "" or the place of the flag, or "yes"."""

    stride: int
    padding: int
    dilation: int = -1
    groups: int = -1
    output_padding: int = -1
    flag: int = -1
    transposed: bool = False
    bias: int = 2


# Signatures: aten/src/ATen/native/native_functions.yaml.
_FORWARD: dict[str, Places] = {
    **dict.fromkeys(("aten::conv1d", "aten::conv2d", "aten::conv3d"), Places(3, 4, 5, 6)),
    **dict.fromkeys(
        ("aten::convolution", "aten::_convolution", "aten::convolution_overrideable"),
        Places(3, 4, 5, 8, output_padding=7, flag=6),
    ),
    **dict.fromkeys(
        ("aten::conv_transpose1d", "aten::conv_transpose2d", "aten::conv_transpose3d"),
        Places(3, 4, 7, 6, output_padding=5, transposed=True),
    ),
    "aten::cudnn_convolution": Places(3, 2, 4, 5, bias=-1),
    "aten::cudnn_convolution_transpose": Places(4, 2, 5, 6, output_padding=3, transposed=True, bias=-1),
    **dict.fromkeys(("aten::cudnn_convolution_relu", "aten::miopen_convolution_relu"), Places(3, 4, 5, 6)),
    **dict.fromkeys(
        ("aten::cudnn_convolution_add_relu", "aten::miopen_convolution_add_relu"), Places(5, 6, 7, 8, bias=4)
    ),
    **dict.fromkeys(
        ("aten::miopen_convolution", "aten::miopen_depthwise_convolution", "aten::mkldnn_convolution"),
        Places(4, 3, 5, 6),
    ),
    **dict.fromkeys(("aten::_mps_convolution", "mkldnn::_convolution_pointwise"), Places(4, 3, 5, 6)),
    "aten::miopen_convolution_transpose": Places(5, 3, 6, 7, output_padding=4, transposed=True),
    **dict.fromkeys(
        ("aten::_slow_conv2d_forward", "aten::thnn_conv2d", "aten::slow_conv3d_forward"), Places(4, 5, bias=3)
    ),
    **dict.fromkeys(
        ("aten::_conv_depthwise2d", "aten::conv_depthwise3d", "aten::slow_conv_dilated2d", "aten::slow_conv_dilated3d"),
        Places(4, 5, 6, bias=3),
    ),
}


def forward(call: Call) -> Cost | None:
    """2 × result elements × (Cin/groups)·K, or 2 × input elements × (Cout/groups)·K for a transposed one."""
    where = _FORWARD[call.name]
    x, weight = call.dims(0), call.dims(1)
    transposed = _flag(call, where)
    if not x or not weight or len(weight) < 3 or len(x) not in (len(weight) - 1, len(weight)) or transposed is None:
        return None
    out = call.outputs[0] if call.outputs else _result(call, where, x, weight, transposed=transposed)
    moved = None if out is None else size(prod(out), call.dtype(0))
    seen = x if transposed else out
    flops = None if seen is None else 2 * prod(seen) * prod(weight[1:])
    added = call.size(where.bias) if where.bias >= 0 else 0
    return Cost(flops, total(call.inputs_size(0, 1), added, moved), call.dtype(0))


def result(x: Dims, weight: Dims, *, stride: Dims, padding: Dims, dilation: Dims) -> Dims:
    """Return the shape of a convolution's result: ⌊(X + 2P − D(K−1) − 1)/S⌋ + 1 a side (Dumoulin and Visin, 2016).

    Examples
    --------
    >>> result((1, 3, 224, 224), (64, 3, 7, 7), stride=(2, 2), padding=(3, 3), dilation=(1, 1))
    (1, 64, 112, 112)
    """
    sides = len(weight) - 2
    return (
        *x[: -sides - 1],
        weight[0],
        *(
            (size + 2 * pad - gap * (kernel - 1) - 1) // step + 1
            for size, kernel, step, pad, gap in zip(
                x[-sides:], weight[2:], _each(stride, sides), _each(padding, sides), _each(dilation, sides), strict=True
            )
        ),
    )


def _result(call: Call, where: Places, x: Dims, weight: Dims, *, transposed: bool) -> Dims | None:
    stride, padding = call.numbers(where.stride), call.numbers(where.padding)
    if not stride or not padding:
        return None
    dilation = call.numbers(where.dilation) or (1,)
    if not transposed:
        return result(x, weight, stride=stride, padding=padding, dilation=dilation)
    sides = len(weight) - 2
    groups, extra = call.argument(where.groups), call.numbers(where.output_padding) or (0,)
    if not isinstance(groups, int):
        return None
    spatial = zip(
        x[-sides:],
        weight[2:],
        _each(stride, sides),
        _each(padding, sides),
        _each(dilation, sides),
        _each(extra, sides),
        strict=True,
    )
    channels = weight[1] * groups
    return (
        *x[: -sides - 1],
        channels,
        *(
            (side - 1) * step - 2 * pad + gap * (kernel - 1) + more + 1
            for side, kernel, step, pad, gap, more in spatial
        ),
    )


def _each(values: Dims, sides: int) -> Dims:
    return values if len(values) == sides else values[:1] * sides


def _flag(call: Call, where: Places) -> bool | None:
    if where.flag < 0:
        return where.transposed
    flag = call.argument(where.flag)
    return flag if isinstance(flag, bool) else None


def backward(call: Call) -> Cost | None:
    """As many FLOPs as the forward for the gradient of the input, and again for that of the filters.

    Each pair (filter element, result element) meets once in either (`torch.utils.flop_counter` derives it). Which
    gradients were asked for is in ``output_mask``; without it nothing is known.
    """
    grad, x, weight = call.dims(0), call.dims(1), call.dims(2)
    flag, mask = call.argument(7), call.argument(10)
    if not grad or not x or not weight or not isinstance(flag, bool):
        return None
    return _gradients(call, grad_place=0, x_place=1, mask=mask, one=2 * prod(x if flag else grad) * prod(weight[1:]))


def vendor_backward(call: Call) -> Cost | None:
    """As `backward` does, for ``cudnn_convolution_backward(x, grad, weight, …)`` and its kin of before PyTorch 1.11."""
    x, grad, weight = call.dims(0), call.dims(1), call.dims(2)
    if not grad or not x or not weight:
        return None
    mask = call.argument(len(call.shapes) - 1)
    return _gradients(call, grad_place=1, x_place=0, mask=mask, one=2 * prod(grad) * prod(weight[1:]))


def _gradients(call: Call, *, grad_place: int, x_place: int, mask: object, one: int) -> Cost | None:
    if not isinstance(mask, tuple) or len(mask) < 2 or not all(isinstance(asked, bool) for asked in mask):
        return None
    dx, dw = bool(mask[0]), bool(mask[1])
    grad = call.dims(grad_place) or ()
    weight = call.dims(2) or ()
    channels = grad[-(len(weight) - 1)]
    moved = [call.size(grad_place)]
    moved += [call.size(2), call.size(x_place)] if dx else []
    moved += [call.size(x_place), call.size(2)] if dw else []
    moved += [size(channels, call.dtype(2))] if len(mask) > 2 and mask[2] else []
    return Cost(one * (dx + dw), total(*moved), call.dtype(grad_place))


def vendor_backward_input(call: Call) -> Cost | None:
    """2 × elements of the gradient × elements of one filter: ``cudnn_convolution_backward_input(size, grad, weight, …)``."""
    grad, weight = call.dims(1), call.dims(2)
    if not grad or not weight:
        return None
    x = call.numbers(0) or (call.forward[0] if call.forward else None)
    out = size(prod(x), call.dtype(1)) if x and all(isinstance(one, int) for one in x) else None  # type: ignore[arg-type]
    return Cost(2 * prod(grad) * prod(weight[1:]), total(call.inputs_size(1, 2), out), call.dtype(1))


def vendor_backward_weight(call: Call) -> Cost | None:
    """2 × elements of the gradient × elements of one filter, whose shape is an argument, or the forward's second input."""
    grad = call.dims(1)
    weight = call.numbers(0) or (call.forward[1] if len(call.forward) > 1 else None)
    if not grad or not weight or not all(isinstance(one, int) for one in weight):
        return None
    filters: Dims = weight  # type: ignore[assignment]
    flops = 2 * prod(grad) * prod(filters[1:])
    return Cost(flops, total(call.inputs_size(1, 2), size(prod(filters), call.dtype(1))), call.dtype(1))


def onnx(call: Call) -> Cost | None:
    """2 × result elements × elements of one filter; filters are M × C/groups × K…, in blocked layouts with C and M rounded up."""
    filters = _filters(call)
    if not filters or not call.outputs:
        return None
    return Cost(
        2 * prod(call.outputs[0]) * prod(filters[1:]), total(call.inputs_size(), call.outputs_size()), call.dtype(0)
    )


def onnx_transposed(call: Call) -> Cost | None:
    """2 × input elements × (M/groups)·K: filters are C × M/groups × K × …."""
    x, filters = call.dims(0), _filters(call)
    if not x or not filters:
        return None
    return Cost(2 * prod(x) * prod(filters[1:]), total(call.inputs_size(), call.outputs_size()), call.dtype(0))


def _filters(call: Call) -> Dims | None:
    """Find the filters: the first further input of the input's rank; absent where they were packed beforehand."""
    rank = len(call.dims(0) or ())
    if rank < 3:
        return None
    for place in range(1, len(call.shapes)):
        dims = call.dims(place)
        if dims and len(dims) == rank:
            # A fused sum has the result's shape and stands after the bias: no filter.
            return None if dims == (call.outputs[0] if call.outputs else None) and place > 1 else dims
    return None


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys(_FORWARD, forward),
    **dict.fromkeys(("aten::convolution_backward", "aten::convolution_backward_overrideable"), backward),
    **dict.fromkeys(
        ("aten::cudnn_convolution_backward", "aten::miopen_convolution_backward", "aten::mkldnn_convolution_backward"),
        vendor_backward,
    ),
    **dict.fromkeys(
        ("aten::cudnn_convolution_backward_input", "aten::miopen_convolution_backward_input"), vendor_backward_input
    ),
    **dict.fromkeys(
        ("aten::cudnn_convolution_backward_weight", "aten::miopen_convolution_backward_weight"), vendor_backward_weight
    ),
    **dict.fromkeys(
        ("Conv", "FusedConv", "NhwcConv", "NhwcFusedConv", "ConvInteger", "QLinearConv", "QConv", "NhwcQLinearConv"),
        onnx,
    ),
    **dict.fromkeys(("ConvTranspose", "ConvTransposeWithDynamicPads", "QLinearConvTranspose"), onnx_transposed),
}

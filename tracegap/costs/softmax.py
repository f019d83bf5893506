"""Softmax: 5 FLOPs an element: greatest, subtract, exp, sum, divide; the logarithm of it has as many.

The numerically safe three-pass definition (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
Bytes: one read, one write, if a row fits on the chip.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs import dtypes as types
from tracegap.costs.call import Call, Cost, size, total


def forward(call: Call) -> Cost | None:
    """5 FLOPs an element; a ``dtype`` argument, or half to float, makes the result wider."""
    x = call.dims(0)
    if not x:
        return None
    widened = call.argument(2) is True or (call.name in _OUTER and types.of_code(call.argument(2)) == "float32")
    out = "float32" if widened else call.dtype(0)
    return Cost(5 * prod(x), total(call.size(0), size(prod(x), out)), call.dtype(0))


def backward(call: Call) -> Cost | None:
    """4 FLOPs an element: multiply, sum, subtract, multiply. Reads gradient and result, writes one gradient."""
    grad = call.dims(0)
    if not grad:
        return None
    return Cost(4 * prod(grad), total(call.inputs_size(0, 1), call.size(0)), call.dtype(0))


def onnx(call: Call) -> Cost | None:
    """5 FLOPs an element."""
    x = call.dims(0)
    return Cost(5 * prod(x), total(call.inputs_size(), call.outputs_size()), call.dtype(0)) if x else None


_OUTER = ("aten::softmax", "aten::log_softmax")

MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys((*_OUTER, "aten::_softmax", "aten::_log_softmax", "aten::_safe_softmax"), forward),
    **dict.fromkeys(("aten::_softmax_backward_data", "aten::_log_softmax_backward_data"), backward),
    **dict.fromkeys(("Softmax", "LogSoftmax", "BiasSoftmax"), onnx),
}

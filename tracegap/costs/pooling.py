"""Pooling and resampling: one comparison or addition for each element of each window; a window's count is its volume.

Result sides: ⌊(X + 2P − D(K−1) − 1)/S⌋ + 1, or ⌈…⌉ where asked for (Dumoulin and Visin, "A guide to convolution
arithmetic", 2016). Bytes: input once, result once, and int64 places where they are kept.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs.call import Call, Cost, Dims, size, total


def windows(call: Call) -> Cost | None:
    """K FLOPs an element of the result: ``max_pool2d(x, kernel, stride, padding, dilation, ceil)``, ``avg_pool2d(…, ceil)``."""
    x, kernel = call.dims(0), call.numbers(1)
    if not x or not kernel:
        return None
    sides = int(call.name.split("pool")[1][0])
    averaged = "avg" in call.name
    dilation = (1,) if averaged else call.numbers(4) or (1,)
    out = _result(
        x,
        sides,
        kernel=kernel,
        stride=call.numbers(2) or kernel,
        padding=call.numbers(3) or (0,),
        dilation=dilation,
        up=call.argument(4 if averaged else 5) is True,
    )
    if out is None:
        return None
    places = size(prod(out), "int64") if call.name.endswith("with_indices") else 0
    volume = prod(_each(kernel, sides))
    return Cost(volume * prod(out), total(call.size(0), size(prod(out), call.dtype(0)), places), call.dtype(0))


def _result(x: Dims, sides: int, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims, up: bool) -> Dims | None:
    if len(x) < sides:
        return None
    out = []
    every = (_each(values, sides) for values in (kernel, stride, padding, dilation))
    for side, width, step, pad, gap in zip(x[-sides:], *every, strict=True):
        reach = side + 2 * pad - gap * (width - 1) - 1
        steps = -(-reach // step) if up else reach // step
        # A window that would start in the padding on the right is dropped (aten/src/ATen/native/Pool.h).
        if up and steps * step >= side + pad:
            steps -= 1
        out.append(steps + 1)
    return (*x[:-sides], *out)


def _each(values: Dims, sides: int) -> Dims:
    return values if len(values) == sides else values[:1] * sides


def adaptive(call: Call) -> Cost | None:
    """1 FLOP an input element: the windows tile the input when sizes divide, and overlap a little when not."""
    x, asked = call.dims(0), call.numbers(1)
    if not x or not asked:
        return Cost(prod(x), None, call.dtype(0)) if x else None
    sides = int(call.name.split("pool")[1][0])
    out = prod(x[:-sides]) * prod(_each(asked, sides))
    places = size(out, "int64") if "max" in call.name else 0
    return Cost(prod(x), total(call.size(0), size(out, call.dtype(0)), places), call.dtype(0))


def backward(call: Call) -> Cost | None:
    """1 FLOP an element of the gradient that comes in (maxima) or goes out (averages); the input itself need not be read."""
    grad, x = call.dims(0), call.dims(1)
    if not grad or not x:
        return None
    maxima = "max" in call.name
    places = call.size(len(call.shapes) - 1) if maxima else 0
    return Cost(prod(grad) if maxima else prod(x), total(call.size(0), places, call.size(1)), call.dtype(0))


# FLOPs of a weighted sum of 1, 2, 4, 8 and 16 neighbours.
_TAPS = {"nearest": 0, "linear": 3, "bilinear": 7, "trilinear": 15, "bicubic": 31}


def resampled(call: Call) -> Cost | None:
    """One multiply-add a neighbour and result element, less one addition; nearest only copies: ``upsample_*(x, size, …, scales)``."""
    x = call.dims(0)
    kind = call.name.removeprefix("aten::upsample_")[:-2]
    if not x or kind not in _TAPS:
        return None
    sides = _resized(call, x)
    if sides is None:
        return None
    out = prod(x[:2]) * prod(sides)
    return Cost(_TAPS[kind] * out, total(call.size(0), size(out, call.dtype(0))), call.dtype(0))


def _resized(call: Call, x: Dims) -> Dims | None:
    """Return the sides asked for: a size of whole numbers, or factors, which Kineto writes as ``[2., 2.]``."""
    for value in call.arguments[1:]:
        if isinstance(value, tuple) and len(value) == len(x) - 2:
            whole = all(isinstance(one, int) for one in value)
            pairs = zip(x[2:], value, strict=True)
            return tuple(int(one if whole else side * one) for side, one in pairs if isinstance(one, int | float))
    return None


def onnx_global(call: Call) -> Cost | None:
    """1 FLOP an input element."""
    x = call.dims(0)
    return Cost(prod(x), total(call.inputs_size(), call.outputs_size()), call.dtype(0)) if x else None


def onnx_windows(call: Call) -> Cost | None:
    """Bytes only: the size of the window is an attribute, which the trace does not hold."""
    return Cost(None, total(call.inputs_size(), call.outputs_size()), call.dtype(0), "window not in the trace")


_SIDES = ("1d", "2d", "3d")

MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys((f"aten::{kind}_pool{sides}" for kind in ("max", "avg") for sides in _SIDES), windows),
    **dict.fromkeys((f"aten::max_pool{sides}_with_indices" for sides in _SIDES), windows),
    "aten::mkldnn_max_pool2d": windows,
    **dict.fromkeys((f"aten::adaptive_{kind}_pool{sides}" for kind in ("max", "avg") for sides in _SIDES), adaptive),
    **dict.fromkeys((f"aten::_adaptive_avg_pool{sides}" for sides in _SIDES), adaptive),
    **dict.fromkeys((f"aten::max_pool{sides}_with_indices_backward" for sides in _SIDES[1:]), backward),
    **dict.fromkeys((f"aten::avg_pool{sides}_backward" for sides in _SIDES[1:]), backward),
    **dict.fromkeys((f"aten::_adaptive_avg_pool{sides}_backward" for sides in _SIDES[1:]), backward),
    **dict.fromkeys(
        (
            "aten::upsample_nearest1d",
            "aten::upsample_nearest2d",
            "aten::upsample_nearest3d",
            "aten::upsample_linear1d",
            "aten::upsample_bilinear2d",
            "aten::upsample_trilinear3d",
            "aten::upsample_bicubic2d",
        ),
        resampled,
    ),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "QLinearGlobalAveragePool"), onnx_global),
    **dict.fromkeys(
        ("MaxPool", "AveragePool", "LpPool", "NhwcMaxPool", "QLinearAveragePool", "Resize", "Upsample"), onnx_windows
    ),
}

"""Elementwise operators: a fixed number of FLOPs for each element of the broadcast result; every operand read once.

An elementary function (exp, tanh, erf, square root) counts as one FLOP, as in the roofline literature: what it costs in
instructions depends on the machine. These operators have an intensity far below one, so bytes decide.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs import dtypes as types
from tracegap.costs.call import Call, Cost, broadcast, size, total

# FLOPs an element of the result, from each function's definition.
_EACH: dict[str, int] = {
    **dict.fromkeys(
        [
            "add",
            "sub",
            "mul",
            "div",
            "rsub",
            "true_divide",
            "floor_divide",
            "remainder",
            "fmod",
            "pow",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "atan2",
            "hypot",
            "neg",
            "abs",
            "sign",
            "sgn",
            "sqrt",
            "rsqrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "tanh",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "erf",
            "erfc",
            "erfinv",
            "reciprocal",
            "square",
            "ceil",
            "floor",
            "round",
            "trunc",
            "frac",
            "relu",
            "threshold",
            "clamp_min",
            "clamp_max",
            "sigmoid",
            "softplus",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_not",
            "__and__",
            "__or__",
            "__xor__",
            "logical_and",
            "logical_or",
            "logical_xor",
            "logical_not",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "isnan",
            "isinf",
            "isfinite",
            "where",
            "masked_fill",
            "threshold_backward",
            "heaviside",
            "nextafter",
            "nan_to_num",
            "bernoulli",
            "uniform",
            "normal",
            "exponential",
            "random",
        ],
        1,
    ),
    **dict.fromkeys(
        [
            "clamp",
            "hardtanh",
            "relu6",
            "elu",
            "leaky_relu",
            "_prelu_kernel",
            "tanhshrink",
            "logit",
            "log_sigmoid",
            "log_sigmoid_forward",
            "leaky_relu_backward",
            "hardtanh_backward",
            "elu_backward",
            "softplus_backward",
            "native_dropout_backward",
            "native_dropout",
            "bitwise_left_shift",
            "bitwise_right_shift",
            "logaddexp",
            "xlogy",
        ],
        2,
    ),
    # silu: x / (1 + exp(-x)); lerp: a + w(b − a); addcmul: a + v·b·c.
    **dict.fromkeys(
        ["lerp", "addcmul", "addcdiv", "sigmoid_backward", "tanh_backward", "logit_backward", "mse_loss_backward"], 3
    ),
    **dict.fromkeys(["silu", "hardsigmoid", "hardswish"], 4),
    # gelu: x/2 · (1 + erf(x/√2)); its tanh form has four more.
    "gelu": 5,
    "mish": 5,
    "hardswish_backward": 5,
    "silu_backward": 7,
    "gelu_backward": 12,
}
_TO_BOOL = frozenset(
    [
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isnan",
        "isinf",
        "isfinite",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
    ]
)
_WRITES_ONLY = frozenset(["bernoulli_", "uniform_", "normal_", "exponential_", "random_"])

_ONNX_EACH: dict[str, int] = {
    **dict.fromkeys(
        [
            "Add",
            "Sub",
            "Mul",
            "Div",
            "Pow",
            "Mod",
            "Max",
            "Min",
            "Neg",
            "Abs",
            "Sign",
            "Sqrt",
            "Exp",
            "Log",
            "Sin",
            "Cos",
            "Tan",
            "Tanh",
            "Erf",
            "Reciprocal",
            "Ceil",
            "Floor",
            "Round",
            "Relu",
            "Sigmoid",
            "And",
            "Or",
            "Xor",
            "Not",
            "Equal",
            "Less",
            "LessOrEqual",
            "Greater",
            "GreaterOrEqual",
            "IsNaN",
            "IsInf",
            "Where",
            "PRelu",
            "Softplus",
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseNot",
        ],
        1,
    ),
    **dict.fromkeys(
        [
            "Clip",
            "Elu",
            "LeakyRelu",
            "Selu",
            "ThresholdedRelu",
            "QuantizeLinear",
            "DequantizeLinear",
            "QLinearAdd",
            "QLinearMul",
            "Dropout",
        ],
        2,
    ),
    **dict.fromkeys(["Celu", "HardSigmoid", "QLinearSigmoid", "QLinearLeakyRelu", "DynamicQuantizeLinear"], 3),
    **dict.fromkeys(["HardSwish", "QuickGelu", "BiasDropout"], 4),
    **dict.fromkeys(["Gelu", "Mish"], 5),
    "BiasGelu": 6,
    "FastGelu": 9,
}


def aten(call: Call) -> Cost | None:
    """So many FLOPs an element of the broadcast result; operands read once, the result written once."""
    name = call.name.removeprefix("aten::")
    plain = name if name in _EACH else name.removesuffix("_")
    places = [place for place in range(len(call.shapes)) if call.dims(place) is not None]
    out = broadcast([call.dims(place) or () for place in places])
    # With its condition alone, `where` finds the places that hold: how many there are is not in the trace.
    if not places or out is None or (plain == "where" and len(places) < 3):
        return None
    dtype = _result(call, places)
    written = "bool" if plain in _TO_BOOL else call.dtype(0) if name != plain else dtype
    read = 0 if name in _WRITES_ONLY else call.inputs_size(*places)
    moved = total(read, size(prod(out), written), prod(out) if plain == "native_dropout" else 0)
    return Cost(_EACH[plain] * prod(out), moved, dtype)


def _result(call: Call, places: list[int]) -> str:
    """Return the type of the result: operands without dimensions do not widen those that have them, of the same category."""
    if call.name in ("aten::where", "aten::masked_fill", "aten::masked_fill_"):
        places = [place for place in places if call.dtype(place) != "bool"]
    sized = [call.dtype(place) for place in places if call.dims(place)]
    return types.widest(sized) or types.widest(call.dtype(place) for place in places)


def gated(call: Call) -> Cost | None:
    """5 FLOPs an element of the result: silu of one half of the input, 4, times the other, 1: ``silu_and_mul(out, x)``."""
    out, x = call.dims(0), call.dims(1)
    if not out or not x or prod(x) != 2 * prod(out):
        return None
    return Cost(5 * prod(out), call.inputs_size(0, 1), call.dtype(0))


def onnx(call: Call) -> Cost | None:
    """So many FLOPs an element of the first result."""
    if not call.outputs:
        return None
    dtype = types.widest(call.dtype(place) for place in range(len(call.shapes)) if call.dims(place)) or call.dtype(0)
    return Cost(_ONNX_EACH[call.name] * prod(call.outputs[0]), total(call.inputs_size(), call.outputs_size()), dtype)


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys((f"aten::{name}" for name in _EACH), aten),
    **dict.fromkeys((f"aten::{name}" for name in _WRITES_ONLY), aten),
    **dict.fromkeys(("sgl_kernel::silu_and_mul", "_C::silu_and_mul"), gated),
    **dict.fromkeys(_ONNX_EACH, onnx),
}

"""Reductions: a FLOP or a few for each element that goes in; what comes out is small.

Which dimensions go is an argument (``Concrete Inputs``); without it the FLOPs are known and the bytes are not.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs import dtypes as types
from tracegap.costs import elementwise
from tracegap.costs.call import Call, Cost, Dims, size, total

# FLOPs an input element: sums and comparisons 1; squares before them 2; log-sum-exp subtract, exp, sum, after the greatest;
# a variance in two passes mean, subtract, square, add.
_EACH: dict[str, int] = {
    **dict.fromkeys(
        ["sum", "nansum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all"], 1
    ),
    **dict.fromkeys(["norm", "linalg_vector_norm"], 2),
    **dict.fromkeys(["var", "std", "logsumexp"], 4),
}
_KEPT_LIKE = frozenset(["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"])
_PLACES = frozenset(("argmax", "argmin"))
_FLAGS = frozenset(("any", "all"))
# A norm's order stands before its dimensions.
_DIMS_AT = {"norm": 2, "linalg_vector_norm": 2}


def aten(call: Call) -> Cost | None:
    """So many FLOPs an input element; `max` and `min` of two tensors are elementwise, along one dimension they give places too."""
    name = call.name.removeprefix("aten::")
    x = call.dims(0)
    if x is None:
        return None
    if name in ("max", "min") and call.dims(1) is not None:
        return elementwise.aten(Call("aten::maximum", call.shapes[:2], call.dtypes[:2], strides=call.strides[:2]))
    out = _kept(call, x, _DIMS_AT.get(name, 1))
    dtype = "int64" if name in _PLACES else "bool" if name in _FLAGS else call.dtype(0)
    written = None if out is None else size(out, dtype)
    if name in ("max", "min") and call.argument(1) is not None:
        written = total(written, None if out is None else size(out, "int64"))
    return Cost(_EACH[name] * prod(x), total(call.size(0), written), call.dtype(0))


def _kept(call: Call, x: Dims, place: int) -> int | None:
    """Return how many elements are left; None where the trace does not hold the dimensions."""
    if call.outputs:
        return prod(call.outputs[0])
    if not call.arguments:
        return 1 if len(call.shapes) == 1 else None
    gone = call.numbers(place)
    if not gone or isinstance(call.argument(place), bool):
        # `sum(x, dtype)` has a type where the others have dimensions: it is written as a number too, but is no list.
        return 1
    if (
        isinstance(call.argument(place), int)
        and call.name in ("aten::sum", "aten::mean", "aten::prod")
        and len(call.shapes) <= 2
    ):
        return 1
    rank = len(x)
    places = {dim % rank for dim in gone} if rank else set()
    return prod(dim for at, dim in enumerate(x) if at not in places)


def running(call: Call) -> Cost | None:
    """1 FLOP an element; as many results as inputs: ``cumsum``."""
    x = call.dims(0)
    return Cost(prod(x), total(call.size(0), call.size(0)), call.dtype(0)) if x is not None else None


def loss(call: Call) -> Cost | None:
    """4 FLOPs an element: difference, square or its like, a weight, the sum; one result, or as many as inputs (reduction 0)."""
    x, target = call.dims(0), call.dims(1)
    reduction = call.argument(3 if call.name == "aten::binary_cross_entropy" else 2)
    if not x or target is None or not isinstance(reduction, int):
        return None
    written = call.size(0) if reduction == 0 else size(1, call.dtype(0))
    return Cost(4 * prod(x), total(call.inputs_size(0, 1), written), call.dtype(0))


def likelihood(call: Call) -> Cost | None:
    """1 FLOP a row: ``nll_loss_forward(log_probabilities, target, …)`` picks one value of each row and adds them up."""
    target = call.dims(1)
    if target is None:
        return None
    rows = prod(target)
    return Cost(rows, total(call.size(1), size(rows, call.dtype(0)), size(2, call.dtype(0))), call.dtype(0))


def likelihood_backward(call: Call) -> Cost | None:
    """1 FLOP a row; the whole gradient is written: ``nll_loss_backward(grad, x, target, …)``."""
    target = call.dims(2)
    if target is None:
        return None
    return Cost(prod(target), total(call.size(0), call.size(1), call.size(2)), call.dtype(1))


_ONNX_EACH: dict[str, int] = {
    **dict.fromkeys(
        ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ArgMax", "ArgMin", "CumSum"], 1
    ),
    **dict.fromkeys(["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum"], 2),
    "ReduceLogSumExp": 4,
}


def onnx(call: Call) -> Cost | None:
    """So many FLOPs an input element."""
    x = call.dims(0)
    if not x:
        return None
    return Cost(_ONNX_EACH[call.name] * prod(x), total(call.inputs_size(), call.outputs_size()), call.dtype(0))


def onnx_sum(call: Call) -> Cost | None:
    """One FLOP less than inputs for each element of the result: ``Sum``, ``Mean`` of several tensors."""
    if not call.outputs:
        return None
    flops = max(len(call.shapes) - 1, 0) * prod(call.outputs[0])
    dtype = types.widest(call.dtypes)
    return Cost(flops, total(call.inputs_size(), call.outputs_size()), dtype)


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys((f"aten::{name}" for name in _EACH), aten),
    **dict.fromkeys((f"aten::{name}" for name in _KEPT_LIKE), running),
    **dict.fromkeys(("aten::mse_loss", "aten::smooth_l1_loss", "aten::huber_loss", "aten::binary_cross_entropy"), loss),
    **dict.fromkeys(("aten::nll_loss_forward", "aten::nll_loss2d_forward"), likelihood),
    **dict.fromkeys(("aten::nll_loss_backward", "aten::nll_loss2d_backward"), likelihood_backward),
    **dict.fromkeys(_ONNX_EACH, onnx),
    **dict.fromkeys(("Sum", "Mean"), onnx_sum),
}

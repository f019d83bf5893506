"""Optimiser steps over lists of tensors: a few FLOPs a parameter, and every state read and written once.

The element type of a list is not in the trace; `Call.list_dtype` brings it from the kernels' names, else bytes stay unknown.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs.call import Call, Cost, size

# FLOPs a parameter. Adam (Kingma and Ba 2015, algorithm 1): first moment 3, second 4, their corrections 2, root, ε and
# quotient 3, step 2; weight decay (decoupled: Loshchilov and Hutter 2019) 2. SGD with momentum 4, Adagrad 6.
_FUSED = {"adam": 14, "adamw": 16, "sgd": 4, "adagrad": 6}
# How many of the leading lists are state that is written back: parameters and moments, but not gradients.
_GRADIENTS_AT = 1


def fused(call: Call) -> Cost | None:
    """So many FLOPs a parameter; parameters and states are read and written, gradients read: ``_fused_adam_(params, grads, …)``."""
    parameters = call.tensors(0)
    if not parameters:
        return None
    word = call.name.removeprefix("aten::_fused_").removesuffix("_")
    count = sum(map(prod, parameters))
    states = sum(
        call.elements(place) or 0
        for place in range(len(call.shapes))
        if place != _GRADIENTS_AT and _is_state(call, place)
    )
    gradients = call.elements(_GRADIENTS_AT) or 0
    return Cost(_FUSED[word] * count, size(2 * states + gradients, call.list_dtype), call.list_dtype)


def _is_state(call: Call, place: int) -> bool:
    """Whether the list has the parameters' shapes; the list of step counts has scalars."""
    return call.tensors(place) == call.tensors(0)


# FLOPs an element of each function over lists.
_EACH: dict[str, int] = {
    **dict.fromkeys(
        [
            "add",
            "sub",
            "mul",
            "div",
            "neg",
            "abs",
            "sqrt",
            "rsqrt",
            "exp",
            "log",
            "reciprocal",
            "maximum",
            "minimum",
            "clamp_min",
            "clamp_max",
            "pow",
            "sign",
            "round",
        ],
        1,
    ),
    "norm": 2,
    **dict.fromkeys(["lerp", "addcmul", "addcdiv"], 3),
    **dict.fromkeys(("copy", "zero"), 0),
}


def each(call: Call) -> Cost | None:
    """So many FLOPs an element of the first list; every list read once, the result written once: ``_foreach_add_(xs, ys)``."""
    word = call.name.removeprefix("aten::_foreach_").removesuffix("_")
    if not call.tensors(0):
        return None
    count = call.elements(0) or 0
    lists = [place for place in range(len(call.shapes)) if call.tensors(place)]
    overwritten = word in ("copy", "zero")
    read = sum(call.elements(place) or 0 for place in lists if not (overwritten and place == 0))
    written = len(call.tensors(0)) if word == "norm" else count
    return Cost(_EACH[word] * count, size(read + written, call.list_dtype), call.list_dtype)


def unscale(call: Call) -> Cost | None:
    """2 FLOPs an element (a product and a test): ``_amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse)``."""
    if not call.tensors(0):
        return None
    count = call.elements(0) or 0
    return Cost(2 * count, size(2 * count, call.list_dtype), call.list_dtype)


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys((f"aten::_fused_{word}{end}" for word in _FUSED for end in ("", "_")), fused),
    **dict.fromkeys((f"aten::_foreach_{word}{end}" for word in _EACH for end in ("", "_")), each),
    "aten::_amp_foreach_non_finite_check_and_unscale_": unscale,
}

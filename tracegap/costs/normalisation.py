"""Normalisations: a few FLOPs an element, one read and one write: almost always bound by bandwidth.

FLOPs an element: the mean 1, the variance 3 (subtract, square, add), applying them 2 (subtract, multiply), scale 1, shift 1.
Root-mean-square norms skip the mean and the subtractions: 3. Batch normalisation at inference is one multiply-add. The
definitions: Ioffe and Szegedy 2015; Ba, Kiros, Hinton 2016; Wu and He 2018; Zhang and Sennrich 2019.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs.call import Call, Cost, size, total


def _forward(call: Call, *, weight: int, bias: int, each: int, statistics: int) -> Cost | None:
    """`each` FLOPs an element, plus one for a scale and one for a shift; `statistics` float32 values are written beside."""
    x = call.dims(0)
    if not x:
        return None
    each += (call.dims(weight) is not None) + (call.dims(bias) is not None)
    kept = size(statistics, "float32") if statistics else 0
    return Cost(each * prod(x), total(call.inputs_size(0, weight, bias), call.size(0), kept), call.dtype(0))


def layer(call: Call) -> Cost | None:
    """8 FLOPs an element with scale and shift; a mean and a deviation a row are kept: ``native_layer_norm(x, shape, w, b, eps)``."""
    return _forward(call, weight=2, bias=3, each=6, statistics=2 * _rows(call))


def rms(call: Call) -> Cost | None:
    """3 FLOPs an element (square, add, multiply), 4 with a scale: ``_fused_rms_norm(x, shape, weight, eps)``."""
    return _forward(call, weight=2, bias=-1, each=3, statistics=_rows(call))


def _rows(call: Call) -> int:
    """Return how many rows are normalised: the elements not in the normalised dimensions."""
    x, normal = call.dims(0) or (), call.numbers(1) or call.dims(2) or ()
    return prod(x[: len(x) - len(normal)]) if normal else 0


def group(call: Call) -> Cost | None:
    """8 FLOPs an element with scale and shift; a mean and a deviation a group are kept."""
    weight, bias = (1, 2) if call.name == "aten::native_group_norm" else (2, 3)
    groups = call.argument(6 if call.name == "aten::native_group_norm" else 1)
    x = call.dims(0)
    kept = 2 * x[0] * groups if x and isinstance(groups, int) else 0
    return _forward(call, weight=weight, bias=bias, each=6, statistics=kept)


def instance(call: Call) -> Cost | None:
    """8 FLOPs an element with scale and shift: a group is a channel of a sample."""
    return _forward(call, weight=1, bias=2, each=6, statistics=0)


def batch(call: Call) -> Cost | None:
    """8 FLOPs an element while training (statistics are computed), 2 at inference; bytes do not depend on it.

    ``(x, weight, bias, running_mean, running_var, training, …)``: without the flag the FLOPs are not known.
    """
    x = call.dims(0)
    if not x:
        return None
    training = call.argument(5)
    each = {True: 8, False: 2}.get(training) if isinstance(training, bool) else None
    running = call.inputs_size(3, 4)
    moved = total(call.inputs_size(0, 1, 2), call.size(0), running, running if training is True else 0)
    return Cost(None if each is None else each * prod(x), moved, call.dtype(0))


def backward(call: Call) -> Cost | None:
    """11 FLOPs or so an element: two sums over gradient and normalised input (5), their combination (4), scale (2).

    Reads the gradient and the input, writes the input's gradient; vectors of a channel or a row are counted as read.
    """
    grad, x = call.dims(0), call.dims(1)
    if not grad or not x or prod(grad) != prod(x):
        return None
    vectors = tuple(range(2, len(call.shapes)))
    small = [call.size(place) for place in vectors if prod(call.dims(place) or (0,)) < prod(x)]
    return Cost(11 * prod(x), total(call.size(0), call.size(1), call.size(1), *small), call.dtype(0))


def custom(call: Call) -> Cost | None:
    """4 FLOPs an element, 5 with the residual sum, for kernels with the result among the inputs (``aiter::rmsnorm(out, x, w)``)."""
    x = call.dims(0)
    if not x:
        return None
    each = 5 if "add" in call.name else 4
    # In place on both input and residual: each is read and written.
    twice = call.inputs_size(0, 1) if call.name == "_C::fused_add_rms_norm" else 0
    return Cost(each * prod(x), total(call.inputs_size(), twice), call.dtype(0))


_ONNX_EACH = {
    "BatchNormalization": 2,
    "LayerNormalization": 8,
    "SkipLayerNormalization": 9,
    "SimplifiedLayerNormalization": 4,
    "SkipSimplifiedLayerNormalization": 5,
    "RMSNormalization": 4,
    "InstanceNormalization": 8,
    "GroupNormalization": 8,
    "GroupNorm": 8,
    "SkipGroupNorm": 9,
    "LpNormalization": 4,
}


def onnx(call: Call) -> Cost | None:
    """As above with scale and shift, one FLOP more where a residual is added; at inference batch norms are a multiply-add."""
    x = call.dims(0)
    if not x:
        return None
    return Cost(_ONNX_EACH[call.name] * prod(x), total(call.inputs_size(), call.outputs_size()), call.dtype(0))


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys(("aten::layer_norm", "aten::native_layer_norm"), layer),
    **dict.fromkeys(("aten::rms_norm", "aten::_fused_rms_norm"), rms),
    **dict.fromkeys(("aten::group_norm", "aten::native_group_norm"), group),
    "aten::instance_norm": instance,
    **dict.fromkeys(
        (
            "aten::batch_norm",
            "aten::_batch_norm_impl_index",
            "aten::native_batch_norm",
            "aten::cudnn_batch_norm",
            "aten::miopen_batch_norm",
        ),
        batch,
    ),
    **dict.fromkeys(
        (
            "aten::native_layer_norm_backward",
            "aten::native_batch_norm_backward",
            "aten::cudnn_batch_norm_backward",
            "aten::miopen_batch_norm_backward",
            "aten::native_group_norm_backward",
            "aten::_fused_rms_norm_backward",
        ),
        backward,
    ),
    **dict.fromkeys(("aiter::rmsnorm", "aiter::add_rmsnorm", "_C::rms_norm", "_C::fused_add_rms_norm"), custom),
    **dict.fromkeys(_ONNX_EACH, onnx),
}

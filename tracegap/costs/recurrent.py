"""Recurrent layers that one kernel runs whole: 2 FLOPs for each weight of the matrices, each row and each step.

``aten::lstm``, ``aten::gru`` and ``aten::rnn_*`` only hand on to one of these, or to ``aten::linear`` and ``aten::mm``, and have no model:
what they call counts. The gates' elementwise work (some 10 FLOPs a hidden unit) is left out. The products are those of
Hochreiter and Schmidhuber's cell as cuDNN's guide counts it: W·x and R·h for 4 (LSTM), 3 (GRU) or 1 gates, which the
matrices' own shapes tell.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs.call import Call, Cost, size, total


def mkldnn_layer(call: Call) -> Cost | None:
    """2·T·N·(|W| + |R|) for one layer: ``mkldnn_rnn_layer(input, w0, w1, b0, b1, hx, cx, …)``."""
    return _mkldnn(call, hidden=call.dims(5), passes=1)


def mkldnn_layer_backward(call: Call) -> Cost | None:
    """4·T·N·(|W| + |R|): the gradients of the inputs and of the weights are one product each."""
    return _mkldnn(call, hidden=call.dims(5), passes=2)


def _mkldnn(call: Call, *, hidden: tuple[int, ...] | None, passes: int) -> Cost | None:
    x, w, r = call.dims(0), call.dims(1), call.dims(2)
    if not x or not w or not r or not hidden or len(x) != 3 or len(w) != 2 or len(r) != 2:
        return None
    rows = x[0] * x[1]
    out = size(rows * hidden[-1], call.dtype(0))
    # Written: the result; or the gradients of input, both matrices and both biases.
    written = total(out, call.inputs_size(5, 6)) if passes == 1 else call.inputs_size(0, 1, 2, 3, 4)
    read = call.inputs_size(0, 1, 2, 3, 4, 5, 6) if passes == 1 else total(call.inputs_size(0, 1, 2, 3, 4), out, out)
    return Cost(passes * 2 * rows * (prod(w) + prod(r)), total(read, written), call.dtype(0), "gates left out")


def vendor(call: Call) -> Cost | None:
    """2·T·N·Σ|matrices|, all layers and directions: ``_cudnn_rnn`` and ``miopen_rnn`` (input, weights, …)."""
    x, weights = call.dims(0), call.tensors(1)
    matrices = [dims for dims in weights if len(dims) == 2]
    if not x or len(x) != 3 or not matrices:
        return None
    flops = 2 * x[0] * x[1] * sum(map(prod, matrices))
    return Cost(flops, None, call.dtype(0), "gates left out")


def onnx(call: Call) -> Cost | None:
    """2·T·N·(|W| + |R|): ONNX ``LSTM``, ``GRU``, ``RNN`` have X[T, N, I], W[dirs, gates·H, I], R[dirs, gates·H, H]."""
    x, w, r = call.dims(0), call.dims(1), call.dims(2)
    if not x or not w or not r or not (len(x) == len(w) == len(r) == 3) or w[:2] != r[:2] or w[2] != x[2]:
        return None
    flops = 2 * x[0] * x[1] * (prod(w) + prod(r))
    return Cost(flops, total(call.inputs_size(), call.outputs_size()), call.dtype(0), "gates left out")


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    "aten::mkldnn_rnn_layer": mkldnn_layer,
    "aten::mkldnn_rnn_layer_backward": mkldnn_layer_backward,
    **dict.fromkeys(("aten::_cudnn_rnn", "aten::miopen_rnn"), vendor),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), onnx),
}

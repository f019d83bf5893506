"""Looking up, gathering and scattering: no arithmetic but the sums of what is accumulated; only the rows asked for are read.

Repeated indices are counted each time, as if none were in a cache: the trace does not hold the values of indices.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs.call import Call, Cost, size, total


def embedding(call: Call) -> Cost | None:
    """Read indices and one row each, write as many rows: ``embedding(weight, indices, …)``."""
    weight, indices = call.dims(0), call.dims(1)
    if not weight or indices is None:
        return None
    rows = size(prod(indices) * prod(weight[1:]), call.dtype(0))
    return Cost(0, total(call.size(1), rows, rows), call.dtype(0))


def embedding_backward(call: Call) -> Cost | None:
    """Add each row of the gradient up, into a gradient of all rows: ``embedding_dense_backward(grad, indices, rows, …)``."""
    grad, indices, rows = call.dims(0), call.dims(1), call.argument(2)
    if not grad or indices is None or not isinstance(rows, int):
        return None
    return Cost(prod(grad), total(call.inputs_size(0, 1), size(rows * grad[-1], call.dtype(0))), call.dtype(0))


def bag(call: Call) -> Cost | None:
    """One addition for each element of each row looked up; a result a bag: ``embedding_bag(weight, indices, offsets, …)``."""
    weight, indices, offsets = call.dims(0), call.dims(1), call.dims(2)
    if not weight or not indices or not offsets or len(weight) != 2:
        return None
    read = size(prod(indices) * weight[1], call.dtype(0))
    return Cost(
        prod(indices) * weight[1],
        total(call.inputs_size(1, 2), read, size(prod(offsets) * weight[1], call.dtype(0))),
        call.dtype(0),
    )


def gather(call: Call) -> Cost | None:
    """Read indices and an element each, write as many: ``gather(x, dim, index)``, ``take(x, index)``."""
    place = 1 if call.name == "aten::take" else 2
    index = call.dims(place)
    if call.dims(0) is None or index is None:
        return None
    picked = size(prod(index), call.dtype(0))
    return Cost(0, total(call.size(place), picked, picked), call.dtype(0))


def index_select(call: Call) -> Cost | None:
    """Read indices and a slice each, write as many: ``index_select(x, dim, index)``."""
    x, index, dim = call.dims(0), call.dims(2), call.argument(1)
    if not x or index is None or not isinstance(dim, int) or not x[dim]:
        return None
    picked = size(prod(x) // x[dim] * prod(index), call.dtype(0))
    return Cost(0, total(call.size(2), picked, picked), call.dtype(0))


def index(call: Call) -> Cost | None:
    """Read and write the elements picked, which only the result's shape tells: ``index(x, indices)``."""
    if not call.outputs:
        return None
    picked = size(prod(call.outputs[0]), call.dtype(0))
    return Cost(0, total(picked, picked), call.dtype(0))


def scatter(call: Call) -> Cost | None:
    """Read indices and sources, write an element each; adding reads the old ones too: ``scatter_add_(x, dim, index, source)``."""
    x, index = call.dims(0), call.dims(2)
    if x is None or not index:
        return None
    adds = "add" in call.name or "reduce" in call.name
    touched = prod(index)
    if call.name.startswith("aten::index_"):  # a slice for each index, not an element
        dim = call.argument(1)
        if not isinstance(dim, int) or not x or not x[dim]:
            return None
        touched = prod(x) // x[dim] * prod(index)
    one = size(touched, call.dtype(0))
    # Out of place, the rest of `x` is copied as well.
    copied = 0 if call.name.endswith("_") else total(call.size(0), call.size(0))
    source = one if call.dims(3) else 0
    return Cost(touched if adds else 0, total(call.size(2), source, one, one if adds else 0, copied), call.dtype(0))


def onnx_gather(call: Call) -> Cost | None:
    """Read indices and what the result holds, write the result."""
    moved = call.outputs_size()
    return (
        Cost(0, total(call.inputs_size(*range(1, len(call.shapes))), moved, moved), call.dtype(0))
        if call.outputs
        else None
    )


def onnx_scatter(call: Call) -> Cost | None:
    """Read all inputs, write the whole result."""
    return Cost(0, total(call.inputs_size(), call.outputs_size()), call.dtype(0))


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    "aten::embedding": embedding,
    "aten::embedding_dense_backward": embedding_backward,
    **dict.fromkeys(("aten::embedding_bag", "aten::_embedding_bag", "aten::_embedding_bag_forward_only"), bag),
    **dict.fromkeys(("aten::gather", "aten::take"), gather),
    "aten::index_select": index_select,
    "aten::index": index,
    **dict.fromkeys(
        (
            "aten::scatter",
            "aten::scatter_",
            "aten::scatter_add",
            "aten::scatter_add_",
            "aten::scatter_reduce",
            "aten::scatter_reduce_",
            "aten::index_add",
            "aten::index_add_",
            "aten::index_copy",
            "aten::index_copy_",
            "aten::index_fill_",
        ),
        scatter,
    ),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND"), onnx_gather),
    **dict.fromkeys(("ScatterElements", "ScatterND", "Scatter"), onnx_scatter),
}

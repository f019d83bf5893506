"""Copies, casts, concatenations and changes of layout: no arithmetic; every byte here is one that need not have moved.

`LAYOUT` and `CASTS` name the operators whose whole purpose is another order or another type of the same values.
"""

import re
from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs import dtypes as types
from tracegap.costs.call import Call, Cost, size, total

LAYOUT = frozenset(
    {
        "ReorderInput",
        "ReorderOutput",
        "Transpose",
        "aten::to_mkldnn",
        "aten::to_dense",
        "aten::mkldnn_reorder_conv2d_weight",
    }
)
"""Operators that change the order of elements in memory."""

# cuDNN's nchwToNhwcKernel and its kin; MIOpen's batched_transpose_32x32_half and transpose_NCHW2CNHW.
_LAYOUT_KERNEL = re.compile(r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|batched_transpose|transpose_[A-Z]{4}2")

CASTS = frozenset({"Cast", "CastLike", "aten::_to_copy", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})
"""Operators that change the element type (``_to_copy`` may change the device instead)."""


def is_layout(name: str) -> bool:
    """Whether an operator or a kernel only changes the order of elements in memory.

    Examples
    --------
    >>> is_layout("ReorderInput"), is_layout("void cudnn::ops::nchwToNhwcKernel<__half, __half>"), is_layout("aten::mm")
    (True, True, False)
    """
    return name in LAYOUT or _LAYOUT_KERNEL.search(name) is not None


def copy(call: Call) -> Cost | None:
    """Read the source, write the target: ``copy_(target, source)``."""
    if call.dims(0) is None or call.dims(1) is None:
        return None
    return Cost(0, total(call.size(1), size(prod(call.dims(0) or ()), call.dtype(0))), call.dtype(0))


def clone(call: Call) -> Cost | None:
    """Read each element, write as many as the shape says (an expanded input is written out in full)."""
    x = call.dims(0)
    return None if x is None else Cost(0, total(call.size(0), size(prod(x), call.dtype(0))), call.dtype(0))


def cast(call: Call) -> Cost | None:
    """Read the old type, write the new one: ``_to_copy(x, dtype, …)``; without a type only the device changes."""
    x = call.dims(0)
    if x is None:
        return None
    asked = types.of_code(call.argument(1)) if call.argument(1) is not None else call.dtype(0)
    return Cost(0, total(call.size(0), size(prod(x), asked)) if call.arguments else None, call.dtype(0))


def joined(call: Call) -> Cost | None:
    """Read every part, write the whole: ``cat``, ``stack``. The parts' type is `Call.list_dtype`."""
    if not call.tensors(0):
        return None
    whole = call.size(0)
    return Cost(0, total(whole, whole), call.list_dtype)


def filled(call: Call) -> Cost | None:
    """Write each element: ``fill_``, ``zero_``."""
    x = call.dims(0)
    return None if x is None else Cost(0, call.size(0), call.dtype(0))


def sliced_backward(call: Call) -> Cost | None:
    """Write zeros of the input's size, then the gradient into its place: ``slice_backward(grad, sizes, …)``."""
    sizes = call.numbers(1) or (call.forward[0] if call.forward else None)
    if call.dims(0) is None or not sizes or not all(isinstance(one, int) for one in sizes):
        return None
    return Cost(0, total(call.size(0), size(prod(sizes), call.dtype(0))), call.dtype(0))  # type: ignore[arg-type]


def repeated(call: Call) -> Cost | None:
    """Read the input once, write it as often as asked: ``repeat(x, repeats)``."""
    x, times = call.dims(0), call.numbers(1)
    if x is None or not times:
        return None
    return Cost(0, total(call.size(0), size(prod(x) * prod(times), call.dtype(0))), call.dtype(0))


def padded(call: Call) -> Cost | None:
    """Read the input, write it with its margins: ``constant_pad_nd(x, [left, right, top, bottom, …])``."""
    x, margins = call.dims(0), call.numbers(1)
    if not x or not margins or len(margins) > 2 * len(x):
        return None
    out = list(x)
    for pair in range(len(margins) // 2):
        out[-1 - pair] += margins[2 * pair] + margins[2 * pair + 1]
    return Cost(0, total(call.size(0), size(prod(out), call.dtype(0))), call.dtype(0))


def onnx(call: Call) -> Cost | None:
    """Read its inputs, write its results."""
    return Cost(0, total(call.inputs_size(), call.outputs_size()), call.dtype(0)) if call.outputs else None


def onnx_part(call: Call) -> Cost | None:
    """Read only what the result holds, write it: ``Slice``."""
    moved = call.outputs_size()
    return None if moved is None else Cost(0, 2 * moved, call.dtype(0))


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    "aten::copy_": copy,
    **dict.fromkeys(
        ("aten::clone", "aten::flip", "aten::roll", "aten::rot90", "aten::_pin_memory", "aten::tril", "aten::triu"),
        clone,
    ),
    **dict.fromkeys(("aten::to_mkldnn", "aten::to_dense", "aten::mkldnn_reorder_conv2d_weight"), clone),
    "aten::_to_copy": cast,
    **dict.fromkeys(("aten::cat", "aten::_cat", "aten::stack", "aten::concat"), joined),
    **dict.fromkeys(("aten::fill_", "aten::zero_"), filled),
    **dict.fromkeys(("aten::slice_backward", "aten::select_backward"), sliced_backward),
    "aten::repeat": repeated,
    "aten::constant_pad_nd": padded,
    **dict.fromkeys(
        (
            "Transpose",
            "ReorderInput",
            "ReorderOutput",
            "Cast",
            "CastLike",
            "Concat",
            "ConcatFromSequence",
            "Split",
            "Pad",
            "Expand",
            "Tile",
            "DepthToSpace",
            "SpaceToDepth",
            "MemcpyToHost",
            "MemcpyFromHost",
            "OneHot",
            "Trilu",
        ),
        onnx,
    ),
    "Slice": onnx_part,
}

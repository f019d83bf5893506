"""Views and allocations: another look at the same memory, or memory nobody has touched yet. They compute and move nothing."""

from collections.abc import Callable, Mapping

from tracegap.costs.call import Call, Cost

_ATEN = [
    "view",
    "view_as",
    "_unsafe_view",
    "_reshape_alias",
    "as_strided",
    "as_strided_",
    "expand",
    "expand_as",
    "transpose",
    "transpose_",
    "t",
    "numpy_T",
    "permute",
    "movedim",
    "moveaxis",
    "swapaxes",
    "select",
    "slice",
    "narrow",
    "squeeze",
    "squeeze_",
    "unsqueeze",
    "unsqueeze_",
    "unflatten",
    "unfold",
    "split",
    "split_with_sizes",
    "chunk",
    "tensor_split",
    "unbind",
    "detach",
    "detach_",
    "alias",
    "diagonal",
    "real",
    "imag",
    "conj",
    "resolve_conj",
    "resolve_neg",
    "lift_fresh",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
    "set_",
    "stride",
    "size",
    "sym_size",
    "result_type",
    "is_floating_point",
    "is_pinned",
    "record_stream",
    "requires_grad_",
    "broadcast_tensors",
]


def free(call: Call) -> Cost | None:
    """0 FLOPs, 0 bytes."""
    return Cost(0, 0, call.dtype(0))


# Reshape, Flatten and Identity share their input's buffer in ONNX Runtime (MayInplace, Alias in the kernels' definitions).
MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys((f"aten::{name}" for name in _ATEN), free),
    **dict.fromkeys(("detach", "detach_"), free),
    **dict.fromkeys(("Reshape", "Flatten", "Identity", "Squeeze", "Unsqueeze", "Shape", "Size"), free),
}

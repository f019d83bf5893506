"""Matrix products: 2·M·N·K FLOPs, one multiply and one add for each element of A with each column of B.

The count is that of the BLAS (Golub and Van Loan, "Matrix Computations", 4th ed., table 1.1.2); adding a bias or an old
result is left out, as `torch.utils.flop_counter` leaves it out. Bytes: the operands and the result once each.
"""

from collections.abc import Callable, Mapping
from math import prod

from tracegap.costs import dtypes as types
from tracegap.costs.call import Call, Cost, Dims, broadcast, size, total


def _made(call: Call, *, places: tuple[int, ...], out: Dims, inner: int, added: int | None = None) -> Cost:
    """Make the cost of out[..., M, N] = A @ B with `inner` = K; `places` are A and B, `added` a bias or old result."""
    dtype = call.dtype(places[0])
    read = places if added is None else (*places, added)
    return Cost(2 * prod(out) * inner, total(call.inputs_size(*read), size(prod(out), dtype)), dtype)


def product(call: Call, *, left: int = 0, right: int = 1, added: int | None = None) -> Cost | None:
    """2·M·N·K, times the broadcast batch: the rules of ``numpy.matmul``, vectors included."""
    a, b = call.dims(left), call.dims(right)
    if not a or not b:
        return None
    rows = a if len(a) > 1 else (1, *a)
    columns = b if len(b) > 1 else (*b, 1)
    batch = broadcast([rows[:-2], columns[:-2]])
    if batch is None or rows[-1] != columns[-2]:
        return None
    return _made(call, places=(left, right), out=(*batch, rows[-2], columns[-1]), inner=rows[-1], added=added)


def addmm(call: Call) -> Cost | None:
    """2·M·N·K, batched for ``baddbmm``: β·C + α·A·B."""
    return product(call, left=1, right=2, added=0)


def addbmm(call: Call) -> Cost | None:
    """2·B·M·N·K; the batch is summed into one M × N result."""
    a, b = call.dims(1), call.dims(2)
    if not a or not b or len(a) != 3 or len(b) != 3:
        return None
    one = _made(call, places=(1, 2), out=(a[1], b[2]), inner=a[0] * a[2], added=0)
    return one if a[2] == b[1] else None


def linear(call: Call) -> Cost | None:
    """2·M·N·K with B stored as N × K: ``linear(x, weight, bias)``."""
    a, b = call.dims(0), call.dims(1)
    if not a or not b or len(b) != 2 or a[-1] != b[1]:
        return None
    return _made(call, places=(0, 1), out=(*a[:-1], b[0]), inner=b[1], added=2)


def outer(call: Call) -> Cost | None:
    """M·N multiplications: the outer product of two vectors (``addr`` adds it to a matrix)."""
    left, added = (1, 0) if call.name.startswith("aten::addr") else (0, None)
    a, b = call.dims(left), call.dims(left + 1)
    if not a or not b or len(a) != 1 or len(b) != 1:
        return None
    made = _made(call, places=(left, left + 1), out=(a[0], b[0]), inner=1, added=added)
    return Cost(a[0] * b[0] * (1 if added is None else 2), made.bytes, made.dtype)


def scaled(call: Call) -> Cost | None:
    """2·M·N·K on operands of 8 bits: ``_scaled_mm``, ``_int_mm``. The result has the type asked for, if the trace says it."""
    made, a, b = product(call), call.dims(0), call.dims(1)
    if made is None or not a or not b:
        return None
    asked = types.of_code(call.argument(6)) if call.name == "aten::_scaled_mm" else "int32"
    out = size(a[0] * b[-1], asked)
    return Cost(made.flops, total(call.inputs_size(), out), made.dtype)


def weight_only(call: Call) -> Cost | None:
    """2·M·N·K with int8 weights stored N × K: ``_weight_int8pack_mm``; arithmetic is that of the activations."""
    a, b = call.dims(0), call.dims(1)
    if not a or not b or a[-1] != b[-1]:
        return None
    out = (*a[:-1], b[0])
    return Cost(2 * prod(out) * a[-1], total(call.inputs_size(), size(prod(out), call.dtype(0))), call.dtype(0))


def einsum(call: Call) -> Cost | None:
    """2 × the product of all index ranges for two operands with a sum, 1 × without; needs the equation.

    Kineto does not write the equation, so there the ``aten::bmm`` inside counts.
    """
    equation, shapes = call.argument(0), call.tensors(1)
    if not isinstance(equation, str) or "->" not in equation or len(shapes) != 2:
        return None
    terms, result = equation.replace(" ", "").split("->")
    indices = terms.split(",")
    if "." in equation or [len(one) for one in indices] != [len(shape) for shape in shapes]:
        return None
    ranges = {
        letter: dim for one, shape in zip(indices, shapes, strict=True) for letter, dim in zip(one, shape, strict=True)
    }
    out = prod(ranges[letter] for letter in result)
    each = 2 if set(ranges) - set(result) else 1
    dtype = call.dtype(1)
    return Cost(each * prod(ranges.values()), total(call.size(1), size(out, dtype)), dtype)


def onnx(call: Call) -> Cost | None:
    """2·(elements of the result)·K, where K is what A has beyond the rows of the result.

    ONNX Runtime leaves weights that it packed beforehand out of the shapes; they are K × N then, and counted as such.
    Attributes (``transA``) are not in the trace: the sides of A that are not M tell them.
    """
    a, out = call.dims(0), call.outputs[0] if call.outputs else ()
    if not a or not out:
        return None
    inner = _inner(a, out, transposable="MatMul" not in call.name or call.name.startswith("Fused"))
    columns = out[-1] if len(a) == 1 or len(out) >= 2 else 1
    weights = [place for place in range(1, len(call.shapes)) if _holds(call.dims(place), inner, columns)]
    packed = 0 if weights else size(inner * columns, call.dtype(0))
    return Cost(
        2 * prod(out) * inner,
        total(call.inputs_size(), packed, call.outputs_size()),
        call.dtype(0),
        "" if weights else "weights packed beforehand, taken as K × N",
    )


def onnx_quantised(call: Call) -> Cost | None:
    """2·(elements of the result)·K in whole numbers; scales and zero points are scalars or one a column."""
    a, out = call.dims(0), call.outputs[0] if call.outputs else ()
    if not a or not out:
        return None
    inner = _inner(a, out, transposable=call.name == "QGemm")
    weights = [place for place in range(1, len(call.shapes)) if len(call.dims(place) or ()) >= 2]
    # Without the weights in the list, how they are stored is not known: MatMulNBits has 4 bits, others 8.
    moved = total(call.inputs_size(), call.outputs_size()) if weights else None
    return Cost(2 * prod(out) * inner, moved, call.dtype(0))


def _inner(a: Dims, out: Dims, *, transposable: bool) -> int:
    if transposable and len(a) >= 2 and len(out) >= 2 and a[-1] == out[-2] != a[-2]:
        return a[-2]
    return a[-1]


def _holds(dims: Dims | None, inner: int, columns: int) -> bool:
    if not dims:
        return False
    if len(dims) == 1:
        return columns == 1 and dims[0] == inner
    return set(dims[-2:]) == {inner, columns}


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys(
        ("aten::mm", "aten::bmm", "aten::matmul", "aten::mv", "aten::dot", "aten::vdot", "aten::inner"), product
    ),
    **dict.fromkeys(("aten::addmm", "aten::baddbmm", "aten::addmv", "aten::_addmm_activation"), addmm),
    "aten::addbmm": addbmm,
    **dict.fromkeys(("aten::linear", "aten::mkldnn_linear", "mkldnn::_linear_pointwise", "aiter::gemm_a16w16"), linear),
    **dict.fromkeys(("vllm::rocm_unquantized_gemm", "aten::_sparse_semi_structured_linear"), linear),
    **dict.fromkeys(("aten::outer", "aten::ger", "aten::addr"), outer),
    **dict.fromkeys(("aten::_scaled_mm", "aten::_int_mm"), scaled),
    "aten::_weight_int8pack_mm": weight_only,
    "aten::einsum": einsum,
    **dict.fromkeys(("MatMul", "Gemm", "FusedMatMul", "FusedGemm", "FusedMatMulActivation", "TransposeMatMul"), onnx),
    **dict.fromkeys(
        ("MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul", "QGemm"), onnx_quantised
    ),
    **dict.fromkeys(("MatMulNBits", "MatMulBnb4", "MatMulFpQ4"), onnx_quantised),
}

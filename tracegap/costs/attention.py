"""Attention: 2·B·H·P·(D + Dv) FLOPs, where P is how many (query, key) pairs the result depends on: scores, then values.

Without a causal mask P = L·S. **Causal attention counts only the pairs under the mask**, about half, as FlashAttention's
authors do (Dao, "FlashAttention-2", 2023, section 4.1): it is what the answer needs, and a kernel that computes masked pairs
too shows as slower. `torch.utils.flop_counter` counts all pairs. The backward pass is five products where the forward has
two (scores again, then the gradients of values, weights, queries and keys): 2.5 × the forward, as both count. Softmax
itself, scaling and dropout are left out. Bytes: queries, keys, values, result (and their gradients) once: the scores need
never leave the chip.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from tracegap.costs.call import Call, Cost, Dims, size, total


@dataclass(frozen=True, slots=True)
class Places:
    """Where the queries stand (keys and values follow), and the causal flag; ``rows_first`` is B, L, H, D order."""

    query: int = 0
    causal: int = -1
    rows_first: bool = False
    bottom_right: bool = False
    lengths: int = -1


# Signatures: aten/src/ATen/native/native_functions.yaml; flash_attn/flash_attn_interface.py; aiter/ops/mha.py.
_FORWARD: dict[str, Places] = {
    "aten::scaled_dot_product_attention": Places(causal=5),
    "aten::_scaled_dot_product_attention_math": Places(causal=5),
    "aten::_scaled_dot_product_flash_attention": Places(causal=4),
    "aten::_scaled_dot_product_flash_attention_for_cpu": Places(causal=4),
    "aten::_scaled_dot_product_efficient_attention": Places(causal=6),
    "aten::_scaled_dot_product_cudnn_attention": Places(causal=6),
    "aten::_scaled_dot_product_fused_attention_overrideable": Places(causal=5),
    "aten::_flash_attention_forward": Places(causal=8, rows_first=True, bottom_right=True, lengths=3),
    "aten::_efficient_attention_forward": Places(causal=8, rows_first=True, lengths=4),
    "flash_attn::_flash_attn_forward": Places(causal=5, rows_first=True, bottom_right=True),
    "aiter::fmha_v3_fwd": Places(causal=5, rows_first=True, bottom_right=True),
}
_BACKWARD: dict[str, Places] = {
    "aten::_scaled_dot_product_flash_attention_backward": Places(1, causal=11, lengths=6),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": Places(1, causal=7),
    "aten::_scaled_dot_product_efficient_attention_backward": Places(1, causal=11),
    "aten::_scaled_dot_product_cudnn_attention_backward": Places(1, causal=14, lengths=9),
    "aten::_flash_attention_backward": Places(1, causal=11, rows_first=True, bottom_right=True, lengths=6),
    "aten::_efficient_attention_backward": Places(1, causal=12, rows_first=True, lengths=6),
    "flash_attn::_flash_attn_backward": Places(1, causal=11, rows_first=True, bottom_right=True),
}


@dataclass(frozen=True, slots=True)
class Sides:
    """Batch, heads, rows of queries and keys, and the lengths of a query and a value row."""

    batch: int
    heads: int
    queries: int
    keys: int
    depth: int
    width: int


def pairs(queries: int, keys: int, *, bottom_right: bool = False) -> int:
    """Count the (query, key) pairs under a causal mask whose diagonal starts top left, or ends bottom right.

    Examples
    --------
    >>> pairs(4, 4), pairs(2, 4), pairs(2, 4, bottom_right=True), pairs(4, 2)
    (10, 3, 7, 7)
    """
    if bottom_right:
        # Row i sees the keys up to i + (S − L); the first L − S rows of a longer query see none.
        seen = min(queries, keys)
        return seen * keys - seen * (seen - 1) // 2
    full = max(queries - keys, 0)
    square = queries - full
    return square * (square + 1) // 2 + full * keys


def forward(call: Call) -> Cost | None:
    """2·B·H·P·(D + Dv): two products, over the heads of the queries (grouped keys are repeated, not more)."""
    where = _FORWARD[call.name]
    sides = _sides(call, where)
    if sides is None:
        return None
    out = sides.batch * sides.heads * sides.queries * sides.width
    places = [where.query, where.query + 1, where.query + 2]
    if where.lengths < 0:
        places.append(where.query + 3)  # a mask, where there is one
    traffic = total(call.inputs_size(*places), size(out, call.dtype(where.query)))
    seen = _pairs(call, where, sides)
    flops = None if seen is None else 2 * sides.batch * sides.heads * seen * (sides.depth + sides.width)
    return Cost(flops, traffic, call.dtype(where.query), _note(call, where))


def backward(call: Call) -> Cost | None:
    """2·B·H·P·(3·D + 2·Dv): five products. Reads the result's gradient, q, k, v and the result; writes three gradients."""
    where = _BACKWARD[call.name]
    sides = _sides(call, where)
    if sides is None:
        return None
    first = where.query
    gradients = call.inputs_size(first, first + 1, first + 2)
    out = size(sides.batch * sides.heads * sides.queries * sides.width, call.dtype(first))
    traffic = total(call.size(0), call.inputs_size(first, first + 1, first + 2), out, gradients)
    seen = _pairs(call, where, sides)
    flops = None if seen is None else 2 * sides.batch * sides.heads * seen * (3 * sides.depth + 2 * sides.width)
    return Cost(flops, traffic, call.dtype(first), _note(call, where))


def _sides(call: Call, where: Places) -> Sides | None:
    q, k, v = (call.dims(where.query + place) for place in range(3))
    if not q or not k or not v or not (len(q) == len(k) == len(v)) or len(q) not in (3, 4) or q[-1] != k[-1]:
        return None
    if where.rows_first:
        # Three dimensions: sequences of several lengths end to end; only who reads the lengths could count them.
        q, k, v = ((1, *dims) if len(dims) == 3 else dims for dims in (q, k, v))
        return Sides(q[0], q[2], q[1], k[1], q[3], v[3])
    *batch, queries, depth = q
    heads = batch[-1] if len(batch) == 2 else 1
    return Sides(prod(batch) // heads if heads else 0, heads, queries, k[-2], depth, v[-1])


def _pairs(call: Call, where: Places, sides: Sides) -> int | None:
    if where.lengths >= 0 and call.dims(where.lengths):
        return None
    causal = call.argument(where.causal)
    if causal is None:
        return None
    if not causal:
        return sides.queries * sides.keys
    # `custom_mask_type` of the efficient kernels: 1 is top left, 2 bottom right.
    bottom_right = where.bottom_right or (causal == 2 and not isinstance(causal, bool))
    return pairs(sides.queries, sides.keys, bottom_right=bottom_right)


def _note(call: Call, where: Places) -> str:
    return "pairs under the causal mask only" if call.argument(where.causal) else ""


def onnx_attention(call: Call) -> Cost | None:
    """2·B·S·Din·(Dq + Dk + Dv) for the projection, then as attention; com.microsoft ``Attention`` projects itself.

    The mask is an attribute that the trace does not hold: all pairs are counted.
    """
    x, out = call.dims(0), call.outputs[0] if call.outputs else ()
    if not x or len(x) != 3 or len(out) != 3:
        return None
    projected = next((dims[-1] for place in (1, 2) if (dims := call.dims(place)) and len(dims) in (1, 2)), None)
    if projected is None:
        return None
    batch, rows, inner = x
    width = out[2]
    depth = (projected - width) // 2
    keys = call.outputs[1][3] if len(call.outputs) > 1 and len(call.outputs[1]) == 5 else rows
    flops = 2 * batch * rows * inner * projected + 2 * batch * rows * keys * (depth + width)
    packed = any(dims == (inner, projected) for dims in map(call.dims, range(1, len(call.shapes))))
    weights = 0 if packed else size(inner * projected, call.dtype(0))
    return Cost(
        flops, total(call.inputs_size(), weights, call.outputs_size()), call.dtype(0), "all pairs, mask not known"
    )


def onnx_multi_head(call: Call) -> Cost | None:
    """2·B·S·T·(D + Dv) over hidden sizes: ``MultiHeadAttention`` gets its queries, keys and values projected already."""
    q, k, out = call.dims(0), call.dims(1), call.outputs[0] if call.outputs else ()
    if not q or len(out) != 3:
        return None
    batch, rows, width = out
    keys = _onnx_keys(call, k, rows)
    if keys is None:
        return None
    depth = q[2] if len(q) == 3 else width
    flops = 2 * batch * rows * keys * (depth + width)
    return Cost(flops, total(call.inputs_size(), call.outputs_size()), call.dtype(0), "all pairs, mask not known")


def _onnx_keys(call: Call, k: Dims | None, rows: int) -> int | None:
    if len(call.outputs) > 1 and len(call.outputs[1]) == 4:
        return call.outputs[1][2]
    if k and len(k) == 3:
        return k[1]
    if k and len(k) == 4:
        return k[2]
    return rows if k is None or len(k) in (1, 5) else None


def onnx_grouped(call: Call) -> Cost | None:
    """4·B·Dq·P with P bottom right: ``GroupQueryAttention`` is causal.

    Where past and present have one shape they share a buffer of the greatest length, and how much of it is in use is not in
    the trace.
    """
    out = call.outputs[0] if call.outputs else ()
    if len(out) != 3:
        return None
    batch, rows, width = out
    traffic = total(call.inputs_size(), call.outputs_size())
    present = call.outputs[1] if len(call.outputs) > 1 else ()
    past = call.dims(3)
    if len(present) != 4 or (past == present and rows != present[2]):
        return Cost(None, None, call.dtype(0), "length in use not in the trace") if traffic is not None else None
    seen = pairs(rows, present[2], bottom_right=True)
    return Cost(4 * batch * width * seen, traffic, call.dtype(0), "pairs under the causal mask only")


MODELS: Mapping[str, Callable[[Call], Cost | None]] = {
    **dict.fromkeys(_FORWARD, forward),
    **dict.fromkeys(_BACKWARD, backward),
    **dict.fromkeys(("Attention", "QAttention"), onnx_attention),
    **dict.fromkeys(("MultiHeadAttention", "DecoderMaskedMultiHeadAttention"), onnx_multi_head),
    "GroupQueryAttention": onnx_grouped,
}

"""From the texts that traces hold to `Call`: Kineto's ``Input Dims``, ONNX Runtime's ``input_type_shape``, XLA's own counts.

Damaged or missing texts give empty fields, never an error: a call of which nothing is known simply has no model.
"""

import re
from typing import Any

import orjson

from tracegap.costs import dtypes
from tracegap.costs.call import Call, Cost, Dims, Shape, Value

_OPEN_FRACTION = re.compile(r"(\d)\.(?!\d)")


def kineto(
    name: str,
    dims: str,
    types: str = "",
    *,
    concrete: str = "",
    strides: str = "",
    forward_dims: str = "",
    list_dtype: str = "",
) -> Call:
    """Read a PyTorch operator recorded with ``record_shapes=True``.

    Parameters
    ----------
    name : str
        ``aten::addmm``.
    dims, types, concrete, strides : str
        JSON texts of ``Input Dims``, ``Input type``, ``Concrete Inputs`` and ``Input Strides``.
    forward_dims : str
        ``Input Dims`` of the forward operator of the same sequence number, for backward operators.
    list_dtype : str
        See `Call`.

    Examples
    --------
    >>> kineto("aten::mm", "[[8, 16], [16, 4]]", '["float", "c10::Half"]').dtypes
    ('float32', 'float16')
    >>> kineto("aten::sum", "[[2, 3], [], []]", '["float", "ScalarList", "Scalar"]', concrete='["", "[0]", "True"]').arguments
    (None, (0,), True)
    """
    return Call(
        name,
        shapes=_shapes(dims),
        dtypes=tuple(dtypes.of_text(one) if isinstance(one, str) else "" for one in _items(types)),
        arguments=tuple(_value(one) for one in _items(concrete)),
        strides=_shapes(strides),
        forward=_shapes(forward_dims),
        list_dtype=list_dtype,
    )


def onnxruntime(op_name: str, inputs: str, outputs: str) -> Call:
    """Read an ONNX Runtime node from the JSON texts of ``input_type_shape`` and ``output_type_shape``.

    Inputs that the runtime packed for its own use beforehand are missing from the list, which may shift positions: models
    of these nodes go by rank and output shape, not by position alone.

    Examples
    --------
    >>> onnxruntime("Gemm", '[{"float":[2,32]},{"float":[10]}]', '[{"float":[2,10]}]').outputs
    ((2, 10),)
    """
    ins, outs = _typed(inputs), _typed(outputs)
    return Call(
        op_name,
        shapes=tuple(dims for _, dims in ins),
        dtypes=tuple(dtype for dtype, _ in ins),
        outputs=tuple(dims for _, dims in outs),
        output_dtypes=tuple(dtype for dtype, _ in outs),
    )


def xla(
    model_flops: str | int | float | None, bytes_accessed: str | int | float | None, *, dtype: str = ""
) -> Cost | None:
    """Take over what XLA's own cost analysis counted (``model_flops``, ``bytes_accessed``); None where it counted nothing.

    Examples
    --------
    >>> xla("2097152", "98304")
    Cost(flops=2097152, bytes=98304, dtype='', note='counted by XLA')
    """
    flops, traffic = _count(model_flops), _count(bytes_accessed)
    if flops is None and traffic is None:
        return None
    return Cost(flops, traffic, dtype, "counted by XLA")


def _count(amount: str | int | float | None) -> int | None:
    try:
        number = int(float(amount)) if amount is not None else 0
    except (ValueError, OverflowError):
        return None
    # XLA writes 0 for what it does not analyse (custom calls).
    return number if number > 0 else None


def _items(text: str) -> list[Any]:
    try:
        parsed = orjson.loads(text) if text else []
    except ValueError:
        return []
    return parsed if isinstance(parsed, list) else []


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple(_shape(one) for one in _items(text))


def _shape(parsed: Any) -> Shape:
    if not isinstance(parsed, list):
        return ()
    if parsed and all(isinstance(one, list) for one in parsed):
        return tuple(_dims(one) for one in parsed)
    return _dims(parsed)


def _dims(parsed: list[Any]) -> Dims:
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in parsed)
    return tuple(parsed) if whole else ()


def _typed(text: str) -> list[tuple[str, Dims]]:
    pairs = []
    for one in _items(text):
        if isinstance(one, dict) and len(one) == 1:
            ((name, dims),) = one.items()
            pairs.append((dtypes.of_text(name), _dims(dims) if isinstance(dims, list) else ()))
    return pairs


def _value(text: Any) -> Value:
    """Read one entry of ``Concrete Inputs``: texts such as ``[2, 2]``, ``True``, ``1e-05``, "" for a tensor or nothing."""
    if not isinstance(text, str):
        return text if isinstance(text, bool | int | float) else None
    if text in ("True", "False"):
        return text == "True"
    if not text:
        return None
    # Numbers are written as C++ streams do ("0.", "[2., 2.]"), truths as Python does.
    plain = _OPEN_FRACTION.sub(r"\1.0", text).replace("True", "true").replace("False", "false")
    try:
        return _frozen(orjson.loads(plain))
    except ValueError:
        return text


def _frozen(parsed: Any) -> Value:
    if isinstance(parsed, list):
        return tuple(_frozen(one) for one in parsed)
    return parsed if isinstance(parsed, bool | int | float | str) else None

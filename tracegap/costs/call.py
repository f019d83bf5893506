"""One call of an operator, as far as a trace tells, and what the call must cost.

In: names, shapes, element types and arguments. Out: `Call`, which the models of this folder read, and `Cost`, which they
return. Counting conventions:

* a multiply-add is two FLOPs; comparisons and elementary functions (exp, sqrt, tanh) are one;
* bytes are *compulsory*: each element of an input read once, each element of an output written once, as if caches were
  perfect and nothing else were touched. The real traffic is never less (Williams, Waterman, Patterson, "Roofline",
  CACM 52(4), 2009, count the same way).
"""

from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from tracegap.costs import dtypes as types

Dims: TypeAlias = tuple[int, ...]
Shape: TypeAlias = Dims | tuple[Dims, ...]
Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call costs at least.

    Attributes
    ----------
    flops : int or None
        Arithmetic of the mathematical definition, not of the algorithm chosen (Winograd needs fewer).
    bytes : int or None
        Compulsory traffic.
    dtype : str
        Element type of the arithmetic, which picks the device's peak; "" where not known.
    note : str
        What was left out or taken for granted; "" when nothing was.
    """

    flops: int | None
    bytes: int | None
    dtype: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator. All positions run in parallel; position *i* is the operator's *i*-th argument.

    Attributes
    ----------
    name : str
        ``aten::mm``, or the ONNX operator (``MatMul``).
    shapes : tuple of tuple
        Dimensions; ``()`` for a scalar, a number or nothing; a tuple of tuples for a list of tensors.
    dtypes : tuple of str
        Words of `tracegap.costs.dtypes`; "" where the argument is no tensor.
    arguments : tuple
        Values of the arguments that are no tensors, None elsewhere; empty when the trace has none.
    strides : tuple of tuple
        Elements, as `shapes`; empty when the trace has none.
    outputs, output_dtypes : tuple
        Shapes and types of the results, where the trace tells (ONNX Runtime does, Kineto does not).
    forward : tuple of tuple
        Shapes of the forward operator's inputs, for a backward operator that lacks its own.
    list_dtype : str
        Element type of lists of tensors, where something else tells it (`dtypes.of_kernels`).
    """

    name: str
    shapes: tuple[Shape, ...] = ()
    dtypes: tuple[str, ...] = ()
    arguments: tuple[Value, ...] = ()
    strides: tuple[Shape, ...] = ()
    outputs: tuple[Dims, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    forward: tuple[Shape, ...] = field(default=())
    list_dtype: str = ""

    def dims(self, place: int) -> Dims | None:
        """Return the dimensions of the tensor at `place`; None where there is none, or it is a list."""
        if not 0 <= place < len(self.shapes):
            return None
        shape = self.shapes[place]
        if shape:
            return None if is_list(shape) else shape  # type: ignore[return-value]
        return () if place < len(self.dtypes) and self.dtypes[place] in types.SIZES else None

    def tensors(self, place: int) -> tuple[Dims, ...]:
        """Return the dimensions of the list of tensors at `place`; empty where there is none."""
        shape = self.shapes[place] if 0 <= place < len(self.shapes) else ()
        return shape if is_list(shape) else ()  # type: ignore[return-value]

    def dtype(self, place: int) -> str:
        """Return the element type at `place`, "" where not known; of a list, `list_dtype`."""
        dtype = self.dtypes[place] if 0 <= place < len(self.dtypes) else ""
        return self.list_dtype if dtype == types.LIST else dtype

    def argument(self, place: int) -> Value:
        """Return the value of the argument at `place`; None where the trace has none."""
        return self.arguments[place] if 0 <= place < len(self.arguments) else None

    def numbers(self, place: int) -> tuple[int, ...] | None:
        """Return a list of whole numbers; None where the trace has none."""
        value = self.argument(place)
        if isinstance(value, int) and not isinstance(value, bool):
            return (value,)
        if isinstance(value, tuple) and all(isinstance(one, int) for one in value):
            return value  # type: ignore[return-value]
        return None

    def elements(self, place: int) -> int | None:
        """Return how many different elements stand at `place`: a dimension of stride 0 repeats the same ones."""
        many = self.tensors(place)
        if many:
            return sum(prod(dims) for dims in many)
        dims = self.dims(place)
        if dims is None:
            return None
        strides = self.strides[place] if place < len(self.strides) else ()
        if len(strides) == len(dims) and not is_list(strides):
            return prod(dim for dim, stride in zip(dims, strides, strict=True) if stride != 0 or dim == 0)
        return prod(dims)

    def size(self, place: int) -> int | None:
        """Return the bytes that stand at `place`: 0 for what is no tensor, None where the element type is not known."""
        elements = self.elements(place)
        if elements is not None:
            return size(elements, self.dtype(place))
        return None if place < len(self.dtypes) and self.dtypes[place] == types.LIST else 0

    def inputs_size(self, *places: int) -> int | None:
        """Return the bytes at all the places, or of all inputs when none is named; None as soon as one is not known."""
        return total(*(self.size(place) for place in (places or range(len(self.shapes)))))

    def outputs_size(self) -> int | None:
        """Return the bytes of the outputs that the trace tells; None where it tells none."""
        if not self.outputs or len(self.outputs) != len(self.output_dtypes):
            return None
        return total(*(size(prod(dims), dtype) for dims, dtype in zip(self.outputs, self.output_dtypes, strict=True)))


def is_list(shape: Shape) -> bool:
    """Whether a shape is that of a list of tensors."""
    return bool(shape) and isinstance(shape[0], tuple)


def size(elements: int, dtype: str) -> int | None:
    """Return the bytes of so many elements; None where the type is not known."""
    one = types.SIZES.get(dtype)
    return None if one is None else elements * one


def total(*amounts: int | None) -> int | None:
    """Return the sum; None as soon as one is not known.

    Examples
    --------
    >>> total(3, 4), total(3, None)
    (7, None)
    """
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def broadcast(shapes: list[Dims]) -> Dims | None:
    """Return the shape that these broadcast to; None where they do not fit.

    Examples
    --------
    >>> broadcast([(8, 1, 5), (4, 5), ()])
    (8, 4, 5)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for back, dim in enumerate(reversed(shape), 1):
            if dim != 1:
                if out[-back] not in (1, dim):
                    return None
                out[-back] = dim
    return tuple(out)

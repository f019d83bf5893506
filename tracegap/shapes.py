"""What a trace tells of each operator's arguments: its distinct calls, read by dialect, and what each of them costs.

In: a `Timeline` and rows of it. Out: `Calls`, which numbers the distinct calls, and for each its `tracegap.costs.Cost`. Texts are parsed once
for each distinct call, however often it is made. Device time is not known here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracegap import costs
from tracegap.activity import Rows, enclosing
from tracegap.costs import Call, Cost, dtypes, texts
from tracegap.costs.call import is_list
from tracegap.naming import are
from tracegap.timeline import Timeline

MATRIX = ("gemm", "convolution", "attention", "recurrent")
"""Families whose kernels may multiply float32 operands as something narrower."""

_RECORDED = "counted by the profiler"


@dataclass(frozen=True, slots=True)
class Told:
    """All that the trace tells of a call; texts are as in the file, "" where it has none, and counts −1."""

    name: str
    inputs: str = ""
    types: str = ""
    concrete: str = ""
    strides: str = ""
    forward: str = ""
    outputs: str = ""
    flops: int = -1
    bytes: int = -1


@dataclass(frozen=True, eq=False)
class Calls:
    """The distinct calls among some rows.

    Attributes
    ----------
    of : int32[k]
        For each row its number in `told`.
    told : tuple of Told
    """

    of: NDArray[np.int32]
    told: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Priced:
    """A distinct call: `family` is "" and `cost` None where no model knows it; `call` is None where the trace has no shapes."""

    told: Told
    dialect: str
    family: str
    call: Call | None
    cost: Cost | None

    @property
    def name(self) -> str:
        """The operator."""
        return self.told.name

    def repriced(self, kernels: Iterable[str]) -> "Priced":
        """Return it as the names of its kernels tell it."""
        return price(self.told, self.dialect, kernels)

    @property
    def idle(self) -> bool:
        """Whether it is known to compute and move nothing, as a view."""
        return self.cost is not None and not self.cost.flops and self.cost.bytes == 0


Columns = Mapping[str, NDArray[np.int64]]


def find_calls(timeline: Timeline, rows: Rows) -> Calls:
    """Tell the distinct calls among slices apart; O(n log n) for each argument that the trace has."""
    columns = _READERS.get(timeline.dialect, _bare)(timeline, rows)
    label, first = group(list(columns.values()))
    told = tuple(
        _told(timeline.names, dict(zip(columns, values, strict=True)))
        for values in zip(*(column[first].tolist() for column in columns.values()), strict=True)
    )
    return Calls(label.astype(np.int32), told)


def group(columns: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Give rows that are alike in all columns one number: that of each row, and the first row of each number.

    Folded column by column and by rank, so that the key stays within int64.

    Examples
    --------
    >>> number, first = group([np.array([7, 7, -1]), np.array([1 << 60, 1 << 60, 2])])
    >>> number.tolist(), first.tolist()
    ([1, 1, 0], [2, 0])
    """
    label = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        known, part = np.unique(column, return_inverse=True)
        _, label = np.unique(label * len(known) + part, return_inverse=True)
    _, first = np.unique(label, return_index=True)
    return label, first


def _told(names: tuple[str, ...], values: dict[str, int]) -> Told:
    counts = {key: values.pop(key) for key in ("flops", "bytes") if key in values}
    texts_ = {key: names[value] if value >= 0 else "" for key, value in values.items()}
    return Told(**texts_, flops=counts.get("flops", -1), bytes=counts.get("bytes", -1))


def _bare(timeline: Timeline, rows: Rows) -> Columns:
    return {"name": timeline.slices.name[rows].astype(np.int64)}


def _pytorch(timeline: Timeline, rows: Rows) -> Columns:
    """Read shapes and types of all operators; further arguments, which tell many calls apart, only where a model may ask."""
    name = timeline.slices.name[rows].astype(np.int64)
    known = are(timeline.names, name, lambda text: costs.family(text) is not None)
    views = are(timeline.names, name, lambda text: costs.family(text) == "views")
    event = timeline.slices.event[rows]

    def column(argument: str, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.where(wanted, timeline.arg(argument).at(event), -1).astype(np.int64)

    dims = "Input Dims" if len(timeline.arg("Input Dims").rows) else "Input dims"
    columns = {
        "name": name,
        "inputs": timeline.arg(dims).at(event).astype(np.int64),
        "types": timeline.arg("Input type").at(event).astype(np.int64),
        "concrete": column("Concrete Inputs", known & ~views),
        "strides": column("Input Strides", known & ~views),
        "forward": np.where(known, _forward(timeline, rows, dims), -1),
        "flops": timeline.arg("flops").at(event).astype(np.int64),
    }
    return {key: values for key, values in columns.items() if key == "name" or values.max(initial=-1) >= 0}


def _forward(timeline: Timeline, rows: Rows, dims: str) -> NDArray[np.int64]:
    """Return the shapes of the forward operator, for operators inside the backward one that an arrow leads to."""
    out = np.full(len(rows), -1, np.int64)
    if "fwdbwd" not in timeline.flow_kinds:
        return out
    arrows = timeline.flows.kind == timeline.flow_kinds.index("fwdbwd")
    source, target = timeline.flows.source[arrows], timeline.flows.target[arrows]
    forward = np.full(len(timeline.slices), -1, np.int64)
    forward[target] = timeline.arg(dims).at(timeline.slices.event[source])
    around = enclosing(timeline.slices.parent, forward >= 0)[rows]
    # only models of backward operators read it, and each distinct text is one more call to price
    wanted = (around >= 0) & are(timeline.names, timeline.slices.name[rows], lambda text: "backward" in text)
    out[wanted] = forward[around[wanted]]
    return out


def _onnxruntime(timeline: Timeline, rows: Rows) -> Columns:
    event = timeline.slices.event[rows]
    operator = timeline.arg("op_name").at(event).astype(np.int64)
    sizes = [
        timeline.arg(key).at(event).astype(np.int64) for key in ("activation_size", "parameter_size", "output_size")
    ]
    moved = np.where(np.all([one >= 0 for one in sizes], axis=0), np.sum(sizes, axis=0), -1)
    recorded = timeline.arg("bytes").at(event).astype(np.int64)
    return {
        "name": np.where(operator >= 0, operator, timeline.slices.name[rows]),
        "inputs": timeline.arg("input_type_shape").at(event).astype(np.int64),
        "outputs": timeline.arg("output_type_shape").at(event).astype(np.int64),
        "flops": timeline.arg("flops").at(event).astype(np.int64),
        "bytes": np.where(recorded >= 0, recorded, moved),
    }


def _xla(timeline: Timeline, rows: Rows) -> Columns:
    event = timeline.slices.event[rows]
    return {
        "name": timeline.slices.name[rows].astype(np.int64),
        "flops": timeline.arg("model_flops").at(event).astype(np.int64),
        "bytes": timeline.arg("bytes_accessed").at(event).astype(np.int64),
    }


_READERS: Mapping[str, Callable[[Timeline, Rows], Columns]] = {
    "pytorch": _pytorch,
    "onnxruntime": _onnxruntime,
    "tensorflow": _xla,
    "jax": _xla,
}


def price(told: Told, dialect: str, kernels: Iterable[str] = ()) -> Priced:
    """Say what a call costs, as its model counts it, else as the profiler recorded it.

    Parameters
    ----------
    told : Told
    dialect : str
        `Timeline.dialect`.
    kernels : iterable of str
        Names of the kernels it ran: they tell the type of lists, and that matrices were multiplied in a narrower one.

    Examples
    --------
    >>> price(Told("aten::mm", "[[8, 16], [16, 4]]", '["float", "float"]'), "pytorch").cost
    Cost(flops=1024, bytes=896, dtype='float32', note='')
    >>> price(Told("aten::mm", flops=1024), "pytorch").cost.note
    'counted by the profiler'
    """
    kernels = tuple(kernels)
    family = costs.family(told.name) or ""
    call = _call(told, dialect, dtypes.of_kernels(kernels))
    cost = costs.cost(call) if call is not None else None
    if cost is None:
        cost = _recorded(told, dialect, family)
    elif kernels and family in MATRIX:
        cost = replace(cost, dtype=dtypes.on_kernels(cost.dtype, kernels))
    return Priced(told, dialect, family, call, cost)


def _call(told: Told, dialect: str, list_dtype: str) -> Call | None:
    if dialect == "pytorch" and told.inputs:
        return texts.kineto(
            told.name,
            told.inputs,
            told.types,
            concrete=told.concrete,
            strides=told.strides,
            forward_dims=told.forward,
            list_dtype=list_dtype,
        )
    if dialect == "onnxruntime" and (told.inputs or told.outputs):
        return texts.onnxruntime(told.name, told.inputs, told.outputs)
    return None


def _recorded(told: Told, dialect: str, family: str) -> Cost | None:
    if dialect in ("jax", "tensorflow"):
        return texts.xla(told.flops if told.flops > 0 else None, told.bytes if told.bytes > 0 else None)
    if family == "views" or (told.flops <= 0 and told.bytes <= 0):
        # profilers write 0 for what they do not count
        return None
    return Cost(told.flops if told.flops > 0 else None, told.bytes if told.bytes > 0 else None, "", _RECORDED)


def shown(call: Call | None) -> str:
    """Write the tensors of a call with their types; "" for none.

    Examples
    --------
    >>> shown(texts.kineto("aten::addmm", "[[4], [8, 16], [16, 4], []]", '["float", "float", "float", "Scalar"]'))
    'f32[4] f32[8,16] f32[16,4]'
    >>> shown(texts.kineto("aten::cat", "[[[2, 3], [5, 3]], []]", '["TensorList", ""]'))
    '2×[2,3]…'
    """
    if call is None:
        return ""
    parts = []
    for place, shape in enumerate(call.shapes):
        if is_list(shape):
            alike = len(set(shape)) == 1
            parts.append(f"{len(shape)}×{_short(call.dtype(place))}{_dims(shape[0])}{'' if alike else '…'}")
        elif shape or call.dims(place) is not None:
            parts.append(f"{_short(call.dtype(place))}{_dims(shape)}")
    return " ".join(parts)


def _short(dtype: str) -> str:
    """Return the letters for a type that XLA and others use: ``bf16``, ``i64``."""
    return (
        dtype.replace("complex", "c")
        .replace("bfloat", "bf")
        .replace("float", "f")
        .replace("uint", "u")
        .replace("int", "i")
    )


def _dims(shape: object) -> str:
    return f"[{','.join(map(str, shape if isinstance(shape, tuple) else ()))}]"

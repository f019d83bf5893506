"""Values that are written again in another order or another type."""

import numpy as np
from numpy.typing import NDArray

from tracegap import shapes
from tracegap.activity import Rows
from tracegap.costs import dtypes
from tracegap.costs.copies import CASTS, is_layout
from tracegap.kinds import Kind
from tracegap.naming import are
from tracegap.waste.scene import Found, Scene, holding, launched_in, operators, outermost, tell

_CONTIGUOUS = "aten::contiguous"
_COPY = "aten::copy_"
_MAY_MOVE = "aten::_to_copy"
"""A cast, or a move to another device, or both."""


def layouts(scene: Scene) -> Found | None:
    """Find changes of layout: operators and kernels for nothing else, and `contiguous` where it copied."""
    rows = operators(scene)
    operation = operations(scene, rows)
    changed = rows[are(scene.timeline.names, operation, is_layout)]
    asked = rows[are(scene.timeline.names, operation, lambda name: name == _CONTIGUOUS)]
    copied = holding(scene, asked, rows[are(scene.timeline.names, operation, lambda name: name == _COPY)])
    kernels = scene.device[scene.timeline.slices.kind[scene.device] == Kind.KERNEL]
    kernels = kernels[are(scene.timeline.names, scene.timeline.slices.name[kernels], is_layout)]
    return tell(scene, "layout", outermost(scene.timeline, np.concatenate((changed, copied))), kernels)


def casts(scene: Scene) -> Found | None:
    """Find changes of the element type. A `_to_copy` is one if its arguments say so, or, without any, if it ran a kernel."""
    rows = operators(scene)
    operation = operations(scene, rows)
    certain = rows[are(scene.timeline.names, operation, lambda name: name in CASTS - {_MAY_MOVE})]
    moves = rows[are(scene.timeline.names, operation, lambda name: name == _MAY_MOVE)]
    calls = shapes.find_calls(scene.timeline, moves)
    says = np.array([_says_cast(scene, told) for told in calls.told], np.int8)
    said = says[calls.of] if len(moves) else np.empty(0, np.int8)
    work, owner = launched_in(scene, moves)
    kinds = scene.timeline.slices.kind[work]
    by_kernel = np.isin(moves, owner[kinds == Kind.KERNEL]) & ~np.isin(moves, owner[kinds == Kind.COPY])
    real = (said > 0) | ((said < 0) & by_kernel)
    return tell(scene, "cast", outermost(scene.timeline, np.concatenate((certain, moves[real]))))


def operations(scene: Scene, rows: Rows) -> NDArray[np.int32]:
    """Return what each operator does: the name of its operation where the trace names nodes by themselves, else its own."""
    timeline = scene.timeline
    event = timeline.slices.event[rows]
    operation = timeline.arg("op_name").at(event) if timeline.dialect == "onnxruntime" else np.full(len(rows), -1)
    return np.where(operation >= 0, operation, timeline.slices.name[rows]).astype(np.int32)


def _says_cast(scene: Scene, told: shapes.Told) -> int:
    """Return 1 for a cast, 0 for none, −1 where the arguments do not tell."""
    call = shapes.price(told, scene.timeline.dialect).call
    if call is None or not call.arguments or not call.dtype(0):
        return -1
    asked = dtypes.of_code(call.argument(1))
    return int(bool(asked) and asked != call.dtype(0))

"""What an operator must compute and move, and how near a device came to its limits: pure functions of shapes and times.

`cost` finds the model of a call in `FAMILIES`, one file a family, each with ``MODELS``: names, or patterns of names, to a
function from `Call` to `Cost`. To add an operator is to add a line there; to add a family, a file and a place in the tuple.

An operator inside another one is part of it, so count the outermost that has a model and nothing below it
(``aten::linear`` and not again its ``aten::addmm``). Operators that only hand on, or that may do nothing
(``aten::lstm``, ``aten::to``, ``aten::contiguous``), have no model: what they call counts.
"""

import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TypeAlias

from tracegap.costs import (
    attention,
    convolution,
    copies,
    elementwise,
    gemm,
    indexing,
    normalisation,
    optimiser,
    pooling,
    recurrent,
    reduction,
    softmax,
    views,
)
from tracegap.costs.call import Call, Cost

__all__ = ["FAMILIES", "Call", "Cost", "cost", "family"]

Model: TypeAlias = Callable[[Call], Cost | None]

FAMILIES: tuple[ModuleType, ...] = (
    gemm,
    convolution,
    attention,
    recurrent,
    normalisation,
    softmax,
    pooling,
    indexing,
    optimiser,
    copies,
    reduction,
    views,
    elementwise,
)


def _registry() -> tuple[Mapping[str, tuple[str, Model]], tuple[tuple[re.Pattern[str], str, Model], ...]]:
    exact: dict[str, tuple[str, Model]] = {}
    patterns: list[tuple[re.Pattern[str], str, Model]] = []
    for module in FAMILIES:
        word = module.__name__.rpartition(".")[2]
        for key, model in module.MODELS.items():
            if isinstance(key, str):
                exact.setdefault(key, (word, model))
            else:
                patterns.append((key, word, model))
    return exact, tuple(patterns)


_EXACT, _PATTERNS = _registry()


def cost(call: Call) -> Cost | None:
    """Return what a call costs; None where no model knows it, or the trace tells too little of it.

    A cost whose `flops` or `bytes` is None is known in part. A view costs 0 and 0.

    Examples
    --------
    >>> cost(Call("aten::mm", shapes=((128, 256), (256, 64)), dtypes=("float16", "float16")))
    Cost(flops=4194304, bytes=114688, dtype='float16', note='')
    >>> cost(Call("aten::item", shapes=((),))) is None
    True
    """
    found = _find(call.name)
    made = found[1](call) if found else None
    return None if made is None or (made.flops is None and made.bytes is None) else made


def family(name: str) -> str | None:
    """Return the word of the family that has a model for the operator (``gemm``, ``copies``); None where none has.

    Examples
    --------
    >>> family("aten::add_"), family("ReorderInput"), family("aten::lstm")
    ('elementwise', 'copies', None)
    """
    found = _find(name)
    return found[0] if found else None


def _find(name: str) -> tuple[str, Model] | None:
    # `aten::add_` is `aten::add` in place: the same arithmetic, and its result stands where an input stood.
    for key in (name, name.removesuffix("_")):
        if key in _EXACT:
            return _EXACT[key]
    for pattern, word, model in _PATTERNS:
        if pattern.fullmatch(name):
            return word, model
    return None

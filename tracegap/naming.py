"""Rules about names, asked once for each name that occurs and not once for each slice."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def are(names: Sequence[str], ids: NDArray[Any], rule: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Tell which of some ids into `names` have a name of which the rule is true: bool, one an id; −1, no name, has none.

    Examples
    --------
    >>> are(("aten::mm", "cudaMalloc"), np.array([1, 0, -1, 1]), lambda name: name.startswith("cuda")).tolist()
    [True, False, False, True]
    """
    occurs = np.zeros(len(names) + 1, np.bool_)
    occurs[ids] = True
    true = np.zeros(len(names) + 1, np.bool_)
    for one in np.flatnonzero(occurs[:-1]).tolist():
        true[one] = rule(names[one])
    found: NDArray[np.bool_] = true[ids]
    return found

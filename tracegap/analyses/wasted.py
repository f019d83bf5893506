"""Findings about work that brings the result no nearer. Part of the utilisation analysis.

In: a `Model` and the waste that was found in it. Out: findings, priced by a replay in which that work takes no time. Blocking
calls, allocation and small kernels have findings of their own, which own their time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracegap import change, waste
from tracegap.analyses.contract import Model, Offered
from tracegap.report import Finding, named
from tracegap.units import count, duration, ratio
from tracegap.waste import Waste

COPYING = ("layout", "cast", "round-trip")
"""Waste that is copying: it owns the time of copies."""


@dataclass(frozen=True, slots=True)
class _Words:
    title: str
    action: str
    page: str


_TOLD: dict[str, _Words] = {
    "repeated": _Words(
        "Work done again",
        "compute it once, or batch it",
        "The same work is done again within a step.\n\nA node, a module or a heavy operator is called more often than what stands beside"
        " it, with the same inputs or shapes. A trace does not tell values: look whether the calls are one.",
    ),
    "recomputation": _Words(
        "Forward work done again in the backward pass",
        "checkpoint less, as far as memory allows",
        "Forward work is done again in the backward pass.\n\nActivation checkpointing pays time for memory. See in the memory section"
        " whether that much is needed.",
    ),
    "layout": _Words(
        "Changing the layout of data",
        "keep one layout from end to end",
        "Values are written again in another order.\n\nTransposing, permuting and making contiguous moves bytes and computes nothing.",
    ),
    "cast": _Words(
        "Changing the type of data",
        "keep one type, or cast once outside the loop",
        "Values are written again in another type.\n\nCasts move bytes and compute nothing: keep one type, or cast weights once.",
    ),
    "round-trip": _Words(
        "Copying to the host and back",
        "keep the data on the device",
        "Data is copied from the device to the host and back.\n\nAs many bytes return in the same step: an operator that runs on the"
        " host between two on the device.",
    ),
}

PAGES = {
    code: f"{words.page} The saving is that of a replay in which it takes no time, with all it launched."
    for code, words in _TOLD.items()
}
"""What each finding means and what to do, by code."""


def findings(found: tuple[Waste, ...], model: Model, least: float) -> Iterator[Offered]:
    """Yield what is worth it of the waste that was found; one replay each.

    Parameters
    ----------
    least : float
        ns under which a time or a saving is no finding.
    """
    if any(one.code in _TOLD and one.duration_ns >= least for one in found):
        for one in waste.find_rows(model):
            if one.waste.code in _TOLD and one.waste.duration_ns >= least:
                saving = change.saved(model.dag, change.whole(model.timeline, one.rows), 0.0)
                if saving >= least:
                    slices = model.timeline.slices
                    longest = one.rows[np.argmax(slices.end[one.rows] - slices.start[one.rows])]
                    yield Offered(_said(one.waste, model.window.wall, saving, model.timeline.event(longest)), one.rows)


def _said(one: Waste, wall: int, saving: int, event: int | None) -> Finding:
    words = _TOLD[one.code]
    most = f", most of it {named(one.names[0])}" if one.names else ""
    return Finding(
        code=one.code,
        title=words.title,
        text=f"{words.title} takes {duration(one.duration_ns)} ({count(one.count)} ×{most}); without it the window takes"
        f" {duration(wall - saving)} (−{ratio(saving / wall)}): {words.action}.",
        cost_ns=0,
        evidence="activity without progress in the utilisation section",
        saving_ns=saving,
        event=event,
    )

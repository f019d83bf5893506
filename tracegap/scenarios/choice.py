"""Which slices a name means, and which slices go with them."""

import re
from collections.abc import Callable
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from tracegap.errors import UsageError
from tracegap.kinds import CONTEXT, Role, is_any
from tracegap.timeline import Timeline, Window

_NEAR = 3
_SHOWN = 60
"""Characters of a name in a message."""


def find(timeline: Timeline, window: Window, text: str) -> NDArray[np.bool_]:
    """Return the slices of the window that a name, or a ``/regular expression/``, means: bool[n].

    Raises
    ------
    UsageError
        When it means none, with the names that are nearest.
    """
    slices = timeline.slices
    touches = slices.plausible & (slices.start <= window.end) & (slices.end >= window.start)
    fits = np.zeros(len(timeline.names) + 1, np.bool_)
    known = np.unique(slices.name[touches & (slices.name >= 0)]).tolist()
    for one in known:
        fits[one] = timeline.names[one] == text
    if not fits.any() and len(text) > 2 and text[0] == text[-1] == "/":
        pattern = _compiled(text)
        for one in known:
            fits[one] = pattern(timeline.names[one]) is not None
    if not fits.any():
        raise UsageError(_unknown(timeline, text, [timeline.names[one] for one in known]))
    return np.asarray(touches & fits[slices.name])


def _compiled(text: str) -> Callable[[str], re.Match[str] | None]:
    try:
        return re.compile(text[1:-1]).search
    except re.error as error:
        raise UsageError(f"{text!r} is no regular expression: {error}") from None


def _unknown(timeline: Timeline, text: str, names: list[str]) -> str:
    if text in timeline.names:
        return f"{_short(text)} is in the trace, but not in the window: choose other --steps, or --whole"
    if len(text) > 2 and text[0] == text[-1] == "/":
        return f"{_short(text)} fits no name in the window; tracegap analyze TRACE --full lists names"
    wanted = text.lower()
    near = [name for name in names if wanted and wanted in name.lower()][:_NEAR]
    near += [name for name in get_close_matches(text, names, _NEAR) if name not in near]
    hint = f"near: {', '.join(map(_short, near[:_NEAR]))}" if near else "tracegap analyze TRACE --full lists names"
    return f"no slice of the window is named {_short(text)}; {hint}"


def _short(name: str) -> str:
    return repr(name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…")


def together(timeline: Timeline, chosen: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return for each slice the outermost chosen one that it goes with: int32[n], −1 for none.

    A slice goes with itself, with what it stands in, and on a device with what the call that launched it goes with. As
    `tracegap.change.spread`, but saying with which. O(n) array passes, one a nesting depth.
    """
    slices = timeline.slices
    out = np.where(chosen, np.arange(len(slices)), -1).astype(np.int32)
    context = np.flatnonzero(is_any(slices.kind, CONTEXT) & (slices.context >= 0))
    while len(context):
        around = out[slices.context[context]]
        changed = (around >= 0) & (around != out[context])
        out[context[changed]] = around[changed]
        if not changed.any():
            break
    inside = np.flatnonzero(slices.context >= 0)
    _inherit(out, inside, slices.context[inside])
    children = np.flatnonzero(slices.parent >= 0)
    children = children[np.argsort(slices.depth[children], kind="stable")]
    depth = slices.depth[children]
    bounds = np.flatnonzero(np.diff(depth, prepend=depth[:1] - 1, append=depth[-1:] + 1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level = children[first:last]
        _inherit(out, level, slices.parent[level])
    launched = np.flatnonzero((slices.launch >= 0) & (timeline.tracks.role[slices.track] == Role.DEVICE))
    _inherit(out, launched, slices.launch[launched])
    return out


def _inherit(out: NDArray[np.int32], rows: NDArray[np.intp], around: NDArray[np.int32]) -> None:
    given = out[around]
    out[rows[given >= 0]] = given[given >= 0]

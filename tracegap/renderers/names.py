"""Names of a trace as they may be shown: without characters that act, and short.

A name in a trace is whatever a program wrote there. Before it reaches a terminal or a page, characters that move the
cursor, reorder the line or cannot be encoded are written as escapes; each renderer adds what its own format needs.
"""

import re
from collections.abc import Sequence

# C0 and C1 controls, line and paragraph separators, zero-width and bidirectional controls (Unicode UAX #9), byte order
# mark, tags, and lone surrogates, which no encoding can write.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_PARAMETERS = re.compile(r"\)(?: ?(?:const|volatile|noexcept|\[clone[^\]]*\]))*$")
ELLIPSIS = "…"


def printable(text: str) -> str:
    r"""Write characters that act on a terminal or a page as escapes; all others stay.

    Examples
    --------
    >>> print(printable("red\x1b[31m\nline\u202e"))
    red\x1b[31m\nline\u202e
    """
    return _ACTING.sub(_escape, text)


def shorten(names: Sequence[str], width: int) -> list[str]:
    """Shorten names to `width` characters in the middle; those that would look alike keep what tells them apart.

    The return type ``void`` and the parameter list of a kernel go first: they tell nothing that its name does not.

    Examples
    --------
    >>> shorten(["void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int, float*)"], 44)
    ['at::native::vectorized…e::AddFunctor<float>>']
    >>> shorten(["gemm_128x64_relu_nn_align8_fused_epilogue", "gemm_128x64_tanh_nn_align8_fused_epilogue"], 20)
    ['gemm_1…_relu_nn_…gue', 'gemm_1…_tanh_nn_…gue']
    """
    bare = _unless_alike(names, [_bare(name) for name in names])
    short = [_middle(name, width) for name in bare]
    groups: dict[str, set[int]] = {}
    for row, text in enumerate(short):
        groups.setdefault(text, set()).add(row)
    for rows in groups.values():
        alike = sorted({bare[row] for row in rows})
        if len(alike) > 1:
            shared = _shared(alike[0], alike[-1])  # of all, since they are sorted
            for row in rows:
                short[row] = _around(bare[row], shared, width)
    return short


def _bare(name: str) -> str:
    name = name.removeprefix("void ")
    tail = _PARAMETERS.search(name)
    if not tail or ("<" not in name and "::" not in name):
        return name
    depth = 0
    for place in range(tail.start(), -1, -1):  # back to the bracket that opens the parameter list
        depth += {")": 1, "(": -1}.get(name[place], 0)
        if depth == 0:
            return name[:place] or name
    return name


def _unless_alike(names: Sequence[str], bare: list[str]) -> list[str]:
    """Return `bare`, with the full name where several names (overloads) share a bare one."""
    full: dict[str, set[str]] = {}
    for name, text in zip(names, bare, strict=True):
        full.setdefault(text, set()).add(name)
    return [name if len(full[text]) > 1 else text for name, text in zip(names, bare, strict=True)]


def _middle(name: str, width: int) -> str:
    if len(name) <= width:
        return name
    head = width // 2
    tail = max(width - 1 - head, 0)
    return name[:head] + ELLIPSIS + name[len(name) - tail :] if tail else name[: max(width - 1, 0)] + ELLIPSIS


def _shared(one: str, other: str) -> int:
    """Return how many letters two different names begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _around(name: str, place: int, width: int) -> str:
    """Shorten to head, the part around `place`, and tail."""
    if len(name) <= width:
        return name
    ends = max((width - 2) // 3, 1)
    head, rest = name[:ends], width - 2 - ends
    start = max(place - 1, ends)
    if len(name) - start <= rest + 1:
        return head + ELLIPSIS + name[len(name) - (width - 1 - ends) :]
    tail = ends // 2
    middle = name[start : start + rest - tail]
    return (
        head + ELLIPSIS + middle + ELLIPSIS + name[len(name) - tail :] if tail else head + ELLIPSIS + middle + ELLIPSIS
    )


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in _SHORT:
        return _SHORT[code]
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


_SHORT = {9: "\\t", 10: "\\n", 13: "\\r"}

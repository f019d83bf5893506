"""Names of a trace as they may be shown: without characters that act, and short.

A name in a trace is whatever a program wrote there. Before it reaches a terminal or a page, characters that move the
cursor, reorder the line or cannot be encoded are written as escapes; each renderer adds what its own format needs.
"""

import re
from collections import Counter
from collections.abc import Sequence

# C0 and C1 controls, line and paragraph separators, zero-width and bidirectional controls (Unicode UAX #9), byte order
# mark, tags, and lone surrogates, which no encoding can write.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_PARAMETERS = re.compile(r"\)(?: ?(?:const|volatile|noexcept|\[clone[^\]]*\]))*$")
_NAMESPACES = re.compile(r"(?:\b[A-Za-z_]\w*::|\(anonymous namespace\)::)+(?=[A-Za-z_])")
_WORD = re.compile(r"[A-Za-z_]\w{2,}")
# Words of PyTorch's elementwise machinery: nearly every kernel has them, and they say nothing of what it computes.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "Array AUnaryFunctor BFloat16 BinaryFunctor BUnaryFunctor Half LoadWithoutCast OffsetCalculator ReduceOp "
        "StoreWithoutCast TensorIterator TensorIteratorBase TrivialOffsetCalculator char const float func_wrapper_t "
        "gpu_kernel_impl gpu_kernel_impl_nocast int lambda long operator unsigned void",
    )
)
_ROOM = 16
"""Where there is less, a kernel and a telling word do not fit side by side."""
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
    """Shorten names to `width` characters, keeping what tells them apart.

    Of a kernel's name the return type, the parameter list and the namespaces go first, as long as no other name among
    `names` becomes the same; then all of its template arguments but those around the word that fewest others have. Other
    names lose their middle.

    Examples
    --------
    >>> shorten(["void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int, float*)"], 60)
    ['vectorized_elementwise_kernel<4, AddFunctor<float>>']
    >>> kernel = "void at::native::elementwise_kernel<128, at::native::BinaryFunctor<float, {}Functor, float>>(int)"
    >>> shorten([kernel.format("at::native::Mul"), kernel.format("at::native::Add")], 36)
    ['element…kernel<…MulFunctor, float>>', 'element…kernel<…AddFunctor, float>>']
    """
    bare = _unless_alike(names, [_bare(name) for name in names])
    frequency = Counter(word for name in set(bare) for word in set(_WORD.findall(name)))
    return [_fitted(name, width, frequency) for name in bare]


def _fitted(name: str, width: int, frequency: Counter[str]) -> str:
    """Write ``kernel<…Telling<word>…>``; a name without template arguments, or without room for them, loses its middle."""
    if len(name) <= width:
        return name
    bracket = name.find("<")
    words = list(_WORD.finditer(name, bracket + 1)) if bracket > 0 and width >= _ROOM else []
    if not words:
        return _middle(name, width)
    telling = min(words, key=lambda match: (frequency[match[0]], match[0] in _COMMON, -len(match[0])))
    head = _middle(name[:bracket], max(width * 2 // 5, width - 6 - (len(name) - bracket)))
    rest = width - len(head) - len("<……>")
    start = max(min(telling.start(), len(name) - rest - 1), bracket + 1)
    before = ELLIPSIS if start > bracket + 1 else ""
    end = start + rest + (not before)
    return f"{head}<{before}{name[start:end]}{ELLIPSIS if end < len(name) - 1 else ''}>"


def _bare(name: str) -> str:
    if "<" not in name:
        return name
    return _NAMESPACES.sub("", _without_parameters(name.removeprefix("void ")))


def _without_parameters(name: str) -> str:
    tail = _PARAMETERS.search(name)
    if tail is None:
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


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in _SHORT:
        return _SHORT[code]
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


_SHORT = {9: "\\t", 10: "\\n", 13: "\\r"}

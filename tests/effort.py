"""How much work a call is, as a number that is the same every time: lines of Python run."""

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


def lines_run(modules: list[ModuleType], function: Callable[..., object], *arguments: object) -> int:
    """Return how many lines of the modules a call runs; what they call elsewhere is not counted."""
    files = {module.__file__ for module in modules}
    lines = 0

    def count(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        nonlocal lines
        lines += event == "line"
        return count if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return lines

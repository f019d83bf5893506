"""What ``strict`` forbids: every loss, and the repairs that cost nothing that we know of.

In: the problems of a trace. Out: nothing, or a `LossError`.
"""

from collections.abc import Iterable

from tracegap.errors import LossError
from tracegap.problems import Problem, Severity

REPAIRS = frozenset(
    (
        "repeated-events", "stray-comma", "missing-comma", "bare-quote", "doubled-quotes", "missing-quote", "bare-value",
        "not-a-number", "control-byte", "invalid-escape", "bad-utf8", "lone-surrogate", "odd-arguments", "long-integer",
    )
)  # fmt: skip
"""Problems that are no loss, and that a strict reader refuses all the same."""


def refuse(name: str, problems: Iterable[Problem]) -> None:
    """Refuse the trace called `name` if any of its problems is a loss or a repair.

    Raises
    ------
    LossError
        When one is.

    Examples
    --------
    >>> from tracegap.problems import problem
    >>> refuse("trace.json", [problem("json-lines")])
    >>> refuse("trace.json", [problem("stray-comma", 2, "byte 4")])
    Traceback (most recent call last):
    tracegap.errors.LossError: trace.json: stray-comma × 2 (first at byte 4); read it without --strict to see what can be salvaged
    """
    refused = [one for one in problems if one.severity is Severity.LOSS or one.code in REPAIRS]
    if not refused:
        return
    first = refused[0]
    where = f" (first at {first.example})" if first.example else ""
    more = f", with {len(refused)} kinds of damage in all" if len(refused) > 1 else ""
    raise LossError(
        f"{name}: {first.code} × {first.count}{where}{more}; read it without --strict to see what can be salvaged"
    )

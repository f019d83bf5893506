"""The report as JSON, schema ``tracegap.report/1``: stable keys, integers in nanoseconds, an absent metric is an absent key.

The JSON Schema ships with the package as ``tracegap/schema/report.json``. Keys stand in the order of their definition, so
that two reports can be compared as text.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import orjson

from tracegap.problems import Problem
from tracegap.report import Report, unmarked


def render(report: Report) -> str:
    """Write the report as JSON, indented by two.

    Examples
    --------
    >>> from tracegap.report import Report, Verdict
    >>> text = render(Report({"version": "1"}, {}, {}, (), {"gaps": {"idle_ns": 5}}, (), Verdict("fine", "device")))
    >>> text.splitlines()[1]
    '  "schema": "tracegap.report/1",'
    """
    document = {
        "schema": report.schema,
        "tool": report.tool,
        "trace": report.trace,
        "problems": [_problem(one) for one in report.problems],
        **({"window": report.window} if report.window else {}),
        **{key: result for key, result in report.results.items() if result is not None},
        **({} if report.verdict is None else {"verdict": report.verdict}),
    }
    return orjson.dumps(plain(document), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def plain(value: Any) -> Any:
    """Turn results into what JSON knows: dataclasses into objects without their Nones, tuples into arrays.

    Lone surrogates, which UTF-8 cannot hold, become U+FFFD.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Gap:
    ...     start_ns: int
    ...     before: str | None = None
    >>> plain((Gap(5), Gap(9, "gemm")))
    [{'start_ns': 5}, {'start_ns': 9, 'before': 'gemm'}]
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return (
            str(value)
            if value.isascii()
            else unmarked(value).encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        )
    if isinstance(value, int):
        return int(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(inner) for field in fields(value) if (inner := getattr(value, field.name)) is not None
        }
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # a numpy scalar
        return plain(value.item())
    if isinstance(value, float):
        return value
    raise TypeError(f"a result holds {type(value).__name__}, which is no value of JSON")


def _problem(one: Problem) -> dict[str, Any]:
    told = plain(one)
    assert isinstance(told, dict)
    if not one.example:
        del told["example"]
    return told

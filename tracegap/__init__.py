"""Finds where the time goes in the traces of torch.profiler, TensorFlow, JAX and ONNX Runtime.

>>> import tracegap
>>> tracegap.load, tracegap.analyze  # doctest: +ELLIPSIS
(<function load at ...>, <function analyze at ...>)

``load`` reads a trace into a `Timeline`, ``analyze`` answers where its time went as a `Report`, ``render`` writes that as
text, Markdown, JSON or HTML. Names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracegap.benchmark import Bench, bench
    from tracegap.errors import FormatError, LossError, SourceError, TracegapError, UsageError
    from tracegap.pipeline import analyze, load, render, whatif
    from tracegap.report import Finding, Report, Section, Table, Verdict
    from tracegap.sql import Engine, QueryResult, open_engine
    from tracegap.timeline import Timeline

_HOMES = {
    "Bench": "tracegap.benchmark",
    "Engine": "tracegap.sql",
    "Finding": "tracegap.report",
    "FormatError": "tracegap.errors",
    "LossError": "tracegap.errors",
    "QueryResult": "tracegap.sql",
    "Report": "tracegap.report",
    "Section": "tracegap.report",
    "SourceError": "tracegap.errors",
    "Table": "tracegap.report",
    "Timeline": "tracegap.timeline",
    "TracegapError": "tracegap.errors",
    "UsageError": "tracegap.errors",
    "Verdict": "tracegap.report",
    "analyze": "tracegap.pipeline",
    "bench": "tracegap.benchmark",
    "load": "tracegap.pipeline",
    "open_engine": "tracegap.sql",
    "render": "tracegap.pipeline",
    "whatif": "tracegap.pipeline",
}

__all__ = [
    "Bench",
    "Engine",
    "Finding",
    "FormatError",
    "LossError",
    "QueryResult",
    "Report",
    "Section",
    "SourceError",
    "Table",
    "Timeline",
    "TracegapError",
    "UsageError",
    "Verdict",
    "__version__",
    "analyze",
    "bench",
    "load",
    "open_engine",
    "render",
    "whatif",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tracegap")
        except PackageNotFoundError:  # a source tree that is not installed
            return "0+source"
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tracegap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

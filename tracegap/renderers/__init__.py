"""Renderers: how a report is written. One file a format; `RENDERERS` is the registry.

A renderer reads `tracegap.report.Report` and knows no analysis: sentences and tables for people, results for JSON. To add
a format, write the file and put it in the tuple.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import NamedTuple, Protocol

from tracegap.errors import UsageError
from tracegap.report import Report


class Renderer(Protocol):
    """What a module of this folder has."""

    render: Callable[[Report], str]
    """Write a report; more parameters have defaults."""


class Format(NamedTuple):
    """A line of the registry: enough to choose a format without importing it.

    ``name`` is its word (``--format``); a file whose name ends in one of ``suffixes`` chooses it.
    """

    name: str
    module: str
    suffixes: tuple[str, ...]


RENDERERS = (
    Format("text", "tracegap.renderers.text", (".txt",)),
    Format("md", "tracegap.renderers.markdown", (".md", ".markdown")),
    Format("json", "tracegap.renderers.json", (".json",)),
    Format("html", "tracegap.renderers.html", (".html", ".htm")),
)


def renderer(name: str) -> Renderer:
    """Return the renderer of a format.

    Raises
    ------
    UsageError
        When there is none of that name.

    Examples
    --------
    >>> renderer("json").__name__
    'tracegap.renderers.json'
    """
    for format in RENDERERS:
        if format.name == name:
            module: Renderer = import_module(format.module)
            return module
    raise UsageError(f"format {name!r} is not known: use one of {', '.join(format.name for format in RENDERERS)}")


def by_suffix(path: str) -> str | None:
    """Return the format that a file name asks for, None where it asks for none.

    Examples
    --------
    >>> by_suffix("report.md"), by_suffix("report")
    ('md', None)
    """
    suffix = PurePath(path).suffix.lower()
    return next((format.name for format in RENDERERS if suffix in format.suffixes), None)

"""Imports go one way, and each foreign library has its one place."""

import ast
from pathlib import Path

import networkx as nx
import pytest

PACKAGE = Path(__file__).parent.parent / "tracegap"

# A stage may import what stands before it, never what stands after. (`decode` shows the dialects the head of a file.)
STAGES = (
    *("unpack", "source", "passage", "elements", "chunks"),
    *("events", "decimals", "blocks", "dialects", "decode", "census"),
    *("tracks", "tables", "lanes", "arrows", "links", "stepping", "instants", "timeline", "extent", "loading"),
    *("dag", "analyses", "facts", "contents", "overlay", "replaying", "exporting", "pipeline", "sql", "cli"),
)

# Words and values that any stage may use; they know no stage.
LEAVES = (
    *("errors", "problems", "strictness", "units", "report", "columns", "kinds", "intervals", "schedule"),
    *("brackets", "salvage", "foreign", "numbering", "cells", "plain", "nesting", "clocks"),
)

# Which files may import which library, as prefixes of their paths; "" in front of all is the whole package.
HOMES = {
    "typer": ("cli/",),
    "rich": ("renderers/text.py", "renderers/grid.py", "sql/formats.py"),
    "orjson": ("",),
    "msgspec": ("",),
    "numpy": ("",),
    "networkx": ("",),
    "perfetto": ("sql/",),
}

# Slow to import, so they may stand only inside the functions that need them.
HEAVY = ("networkx", "perfetto", "pandas", "onnx", "fsspec", "plotly", "polars", "pyarrow", "zstandard")


def _files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _imports(tree: ast.AST, *, inside_functions: bool) -> list[str]:
    """Return the dotted names that a module imports when it runs, types only for checking left out."""
    found: list[str] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif not _is_type_checking(node) and (inside_functions or not isinstance(node, ast.FunctionDef)):
            found += _imports(node, inside_functions=inside_functions)
    return found


def _part(dotted: str) -> str:
    """Return the part of the package that an import names: a module, or a folder with all its files."""
    return dotted.split(".")[1] if dotted.startswith("tracegap.") else ""


@pytest.fixture(scope="module")
def graph() -> "nx.DiGraph[str]":
    """Return which part of the package imports which other."""
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in _files()}
    arrows: nx.DiGraph[str] = nx.DiGraph()
    for path in _files():
        source = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for dotted in _imports(ast.parse(path.read_text("utf-8")), inside_functions=True):
            target = _part(dotted)
            if target in parts and target != source:
                arrows.add_edge(source, target)
    arrows.add_nodes_from(parts)
    return arrows


def test_no_stage_imports_a_later_one(graph: "nx.DiGraph[str]") -> None:
    wrong = [
        " → ".join(nx.shortest_path(graph, early, late))
        for place, early in enumerate(STAGES)
        for late in STAGES[place + 1 :]
        if nx.has_path(graph, early, late)
    ]
    assert wrong == []


def test_leaves_know_no_stage(graph: "nx.DiGraph[str]") -> None:
    wrong = [f"{leaf} → {stage}" for leaf in LEAVES for stage in STAGES if nx.has_path(graph, leaf, stage)]
    assert wrong == []


def test_parts_of_the_package_do_not_import_each_other_in_circles(graph: "nx.DiGraph[str]") -> None:
    inside = graph.subgraph(set(graph) - {"__init__", "__main__"})
    assert [sorted(circle) for circle in nx.strongly_connected_components(inside) if len(circle) > 1] == []


def test_analyses_and_renderers_do_not_know_each_other(graph: "nx.DiGraph[str]") -> None:
    assert not nx.has_path(graph, "analyses", "renderers")
    assert not nx.has_path(graph, "renderers", "analyses")


def test_only_the_command_line_imports_the_command_line(graph: "nx.DiGraph[str]") -> None:
    assert set(graph.predecessors("cli")) <= {"__main__"}


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_only_in_its_place(library: str) -> None:
    wrong = [
        str(path.relative_to(PACKAGE))
        for path in _files()
        if library
        in {name.split(".")[0] for name in _imports(ast.parse(path.read_text("utf-8")), inside_functions=True)}
        and not path.relative_to(PACKAGE).as_posix().startswith(HOMES[library])
    ]
    assert wrong == []


def test_slow_libraries_are_imported_inside_functions() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in _files()
        for name in _imports(ast.parse(path.read_text("utf-8")), inside_functions=False)
        if name.split(".")[0] in HEAVY
    ]
    assert wrong == []


def test_imports_are_absolute() -> None:
    wrong = [
        str(path.relative_to(PACKAGE))
        for path in _files()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert wrong == []

"""The dependency graph of a window as a file for graph tools: GraphML, or DOT.

In: a `Dag` small enough to look at. Out: text with the attributes of `tracegap.dag.to_networkx`: causes and weights.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from tracegap.dag import Dag, to_networkx
from tracegap.errors import UsageError
from tracegap.units import count

MOST_NODES = 20_000
"""More nodes than this no graph tool lays out in reasonable time."""


def check(format: str) -> None:
    """Check that an export format is known.

    Raises
    ------
    UsageError
        When it is not.
    """
    if format != "perfetto" and format not in WRITERS:
        raise UsageError(f"--format {format!r} is not known: use perfetto, {' or '.join(WRITERS)}")


def write(dag: Dag, file: BinaryIO, format: str) -> None:
    """Write the graph of a window as one of `WRITERS`.

    Raises
    ------
    UsageError
        When the graph has more than `MOST_NODES` nodes.
    """
    nodes = len(dag.graph.nodes)
    if nodes > MOST_NODES:
        raise UsageError(
            f"--format {format}: the window has {count(nodes)} nodes, and a graph of more than {count(MOST_NODES)} serves nobody;"
            " choose less of it with --steps 3:3 or --between 10ms:12ms"
        )
    WRITERS[format](to_networkx(dag), file)


def _graphml(graph: Any, file: BinaryIO) -> None:
    from networkx import write_graphml_xml

    write_graphml_xml(_printable(graph), file)


def _printable(graph: Any) -> Any:
    """Replace what XML cannot hold in names and labels."""
    for _, facts in graph.nodes(data=True):
        for key, value in facts.items():
            if isinstance(value, str):
                facts[key] = "".join(letter if letter.isprintable() else "\ufffd" for letter in value)
    return graph


def _dot(graph: Any, file: BinaryIO) -> None:
    lines = ["digraph tracegap {", "  rankdir=LR;", "  node [shape=box];"]
    for node, facts in graph.nodes(data=True):
        label = " ".join(str(facts[key]) for key in ("name", "boundary") if key in facts) or str(node)
        lines.append(f"  {_quoted(node)} [label={_quoted(label)}, {_attributes(facts)}];")
    for source, target, facts in graph.edges(data=True):
        label = f"{facts['cause']} {facts['weight']}"
        style = ", style=dashed" if facts["inferred"] else ""
        lines.append(f"  {_quoted(source)} -> {_quoted(target)} [label={_quoted(label)}, {_attributes(facts)}{style}];")
    file.write("\n".join([*lines, "}", ""]).encode("utf-8", "replace"))


def _attributes(facts: Mapping[str, Any]) -> str:
    # weight means something else to Graphviz: how short an edge is drawn
    return ", ".join(f"{'ns' if key == 'weight' else key}={_quoted(value)}" for key, value in facts.items())


def _quoted(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return json.dumps(text, ensure_ascii=False)


WRITERS: dict[str, Callable[[Any, BinaryIO], None]] = {"graphml": _graphml, "dot": _dot}
"""What writes each format."""

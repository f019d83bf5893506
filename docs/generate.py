"""Write what the code already says: the pages on commands, analyses, findings, problems, JSON and Python, README's screen.

``python docs/generate.py`` writes them; the tests compare them with what it would write.
"""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tracegap
from tracegap import analyses
from tracegap.problems import CATALOGUE

FOLDER = Path(__file__).parent / "reference"
README = FOLDER.parent.parent / "README.md"
_SCREEN = "<!-- screen: written by docs/generate.py -->"
_END = "<!-- end -->"
_SCHEMAS = {"analyze": "report.json", "info": "info.json", "whatif": "whatif.json"}


def pages() -> dict[Path, str]:
    """Return the text of every generated page by its path."""
    made = {
        "cli.md": cli(),
        "problems.md": problems(),
        "findings.md": findings(),
        "json.md": json_keys(),
        "python.md": python(),
        "queries.md": queries(),
        "analyses/README.md": index(),
        **{f"analyses/{one.NAME}.md": analysis(one) for one in analyses.ANALYSES},
    }
    return {FOLDER / name: text.rstrip() + "\n" for name, text in made.items()} | {README: readme()}


def readme() -> str:
    """Return README.md with the report that its first command prints, on a terminal of 80 columns."""
    text = README.read_text("utf-8")
    head, _, rest = text.partition(_SCREEN)
    _, _, tail = rest.partition(_END)
    trace = re.search(r"tracegap analyze (\S+)", head)
    if trace is None:
        raise ValueError("README.md has no command that analyses a sample before its screen")
    # A fresh process, since the terminal's width is asked for once.
    screen = subprocess.run(
        [sys.executable, "-m", "tracegap", "analyze", trace[1]],
        cwd=README.parent,
        env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout
    lines = "\n".join(line.rstrip() for line in screen.strip("\n").splitlines())
    return f"{head}{_SCREEN}\n```text\n{lines}\n```\n{_END}{tail}"


def cli() -> str:
    """Return the page of commands: arguments and options with their help."""
    import typer

    from tracegap.cli import app

    group: Any = typer.main.get_command(app)
    out = ["# Commands", "", group.help, ""]
    out += _options(group)
    for name, command in sorted(group.commands.items()):
        arguments = " ".join(
            one.metavar or one.name.upper() for one in command.params if one.param_type_name == "argument"
        )
        out += [f"## tracegap {name}", "", inspect.cleandoc(command.help or ""), ""]
        out += [f"    tracegap {name} [OPTIONS] {arguments}".rstrip(), "", *_options(command)]
    out += [
        "## Exit codes",
        "",
        "0 done · 1 over budget · 2 wrong usage, or a file that cannot be analysed: one line on standard error says why.",
        "",
        "Reports go to standard output, everything else to standard error. Colour obeys `NO_COLOR`.",
    ]
    return "\n".join(out)


def _options(command: Any) -> list[str]:
    rows = []
    for one in command.params:
        if one.param_type_name == "argument":
            name = f"`{one.metavar or one.name.upper()}`"
        else:
            value = f" {one.metavar}" if one.metavar else ""
            name = ", ".join(f"`{flag}{value}`" for flag in [*one.opts, *one.secondary_opts])
        rows.append(f"| {_cell(name)} | {_cell(one.help or '')} |")
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []


def problems() -> str:
    """Return the page of faults that a trace can have."""
    rows = [
        f"| `{code}` | {fault.severity} | {_cell(fault.message)} | {_cell(fault.remedy)} |"
        for code, fault in sorted(CATALOGUE.items())
    ]
    return "\n".join(
        [
            "# Problems",
            "",
            "Faults of a trace that are counted and survived. A *loss* may have changed what is reported; *info* has not.",
            "`tracegap explain CODE` prints the same.",
            "",
            "| code | severity | what was seen | what to do |",
            "|---|---|---|---|",
            *rows,
        ]
    )


def findings() -> str:
    """Return the page of findings."""
    out = [
        "# Findings",
        "",
        "What a verdict can say. Each finding carries its cost, its evidence and, from replay, its saving.",
        "",
    ]
    for code, text in sorted(analyses.FINDINGS.items()):
        out += [f"## {code}", "", _markdown(text), ""]
    return "\n".join(out)


def index() -> str:
    """Return the list of analyses."""
    rows = [f"- [{one.NAME}]({one.NAME}.md): {one.TITLE}" for one in analyses.ANALYSES]
    return "\n".join(["# Analyses", "", "One page each, in the order of the report.", "", *rows])


def analysis(one: Any) -> str:
    """Return the page of an analysis: its docstring."""
    return f"# {one.NAME}\n\n{_markdown(inspect.getdoc(one) or '')}"


def queries() -> str:
    """Return the page of ready queries, each with its text."""
    from tracegap.sql.named import named_queries

    out = ["# Ready queries", "", "`tracegap query TRACE --named NAME` runs one; both engines know them.", ""]
    for query in named_queries():
        statement = re.sub(r"\A(?:--[^\n]*\n)+", "", query.sql).strip()
        out += [f"## {query.name}", "", query.text, "", "```sql", statement, "```", ""]
    return "\n".join(out)


def python() -> str:
    """Return the page of public names: signatures and docstrings."""
    out = [
        "# Python",
        "",
        "The public names of the package. What a user can cause is a `TracegapError`; see also",
        "[use it from Python](../how-to/python.md).",
        "",
    ]
    for name in tracegap.__all__:
        value = getattr(tracegap, name)
        if name == "__version__":
            out += ["## \\_\\_version\\_\\_", "", "The version of the package, as a string.", ""]
            continue
        # Quoted: types are shown as they are written, whatever the version of Python.
        head = f"{name}{_signature(value)}" if inspect.isfunction(value) else f"class {name}"
        out += [f"## {name}", "", "```text", head, "", inspect.getdoc(value) or "", "```", ""]
    return "\n".join(out)


def _signature(function: Any) -> str:
    source = inspect.getsource(function)
    found = re.match(r"def \w+(\(.*?\) -> [^\n]*):\n", source, re.DOTALL)
    return found[1] if found else "()"


def json_keys() -> str:
    """Return the page of JSON keys, from the schemas that ship with the package."""
    folder = Path(tracegap.__file__).parent / "schema"
    out = ["# JSON", ""]
    for command, name in _SCHEMAS.items():
        if not (folder / name).exists():
            continue
        schema = json.loads((folder / name).read_text("utf-8"))
        option = "--json" if command == "info" else "--format json"
        out += [f"## tracegap {command} {option}", "", schema.get("description", ""), ""]
        out += [f"The schema is `tracegap/schema/{name}` in the package. Keys marked with ? may be absent.", ""]
        out += ["| key | type |", "|---|---|"]
        out += [f"| `{path}` | {_cell(kind)} |" for path, kind in _keys(schema, schema, "", optional=False)]
        out += [""]
    return "\n".join(out)


def _keys(node: dict[str, Any], schema: dict[str, Any], path: str, *, optional: bool) -> Iterator[tuple[str, str]]:
    """Walk a schema; every property is a row."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]] | {
            key: value for key, value in node.items() if key != "$ref"
        }
    if node.get("type") == "array" or "items" in node:
        yield from _keys(node["items"], schema, f"{path}[]", optional=optional)
        return
    extra = node.get("additionalProperties")
    if "properties" not in node and not isinstance(extra, dict):
        yield path + ("?" if optional else ""), _kind(node)
        return
    required = node.get("required", [])
    for name, child in node.get("properties", {}).items():
        yield from _keys(child, schema, f"{path}.{name}".lstrip("."), optional=name not in required)
    if isinstance(extra, dict):
        yield from _keys(extra, schema, f"{path}.NAME", optional=False)


def _kind(node: dict[str, Any]) -> str:
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    told = node.get("description", "")
    kind = node.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    return f"{kind}: {told}" if told else kind


def _markdown(text: str) -> str:
    """Turn the double backticks of docstrings into Markdown's single ones."""
    return text.replace("``", "`")


def _cell(text: str) -> str:
    return " ".join(_markdown(text).split()).replace("|", "\\|")


def main() -> None:
    """Write all pages."""
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

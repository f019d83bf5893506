"""The documentation says what the code does: commands run, pages are up to date, nothing is left out."""

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tracegap
from tracegap import analyses
from tracegap.problems import CATALOGUE

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("sample_traces/*.md"), *ROOT.glob("benchmarks/*.md")]
)


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date() -> None:
    pages: dict[Path, str] = _generator().pages()
    stale = [path.relative_to(ROOT).as_posix() for path, text in pages.items() if not _says(path, text)]
    assert stale == [], "run: python docs/generate.py"


def _says(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


def test_the_help_names_every_section() -> None:
    row = re.search(
        r"^\| `--section NAME` \| (.*) \|$", (ROOT / "docs/reference/cli.md").read_text("utf-8"), re.MULTILINE
    )
    assert row is not None
    assert re.findall(r"[a-z_]+(?=[,.])", row[1].partition(":")[2]) == [analysis.NAME for analysis in analyses.ANALYSES]


def test_no_page_of_an_analysis_is_left_over() -> None:
    assert {path.stem for path in (ROOT / "docs/reference/analyses").glob("*.md")} == {"README"} | {
        analysis.NAME for analysis in analyses.ANALYSES
    }


def _blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_readme_has_two_commands_and_each_is_complete() -> None:
    first, second = _blocks()
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install")
    assert second.startswith("python3 -m venv .venv && .venv/bin/pip install")
    assert "tracegap analyze sample_traces/" in first
    assert "python -m pytest" in second


def _documented() -> Iterator[Any]:
    """Give every command in the pages that needs nothing but the samples."""
    seen = set()
    for page in PAGES:
        for found in re.finditer(r"tracegap [a-z]+ [^`\n|#]*", page.read_text("utf-8")):
            words = found[0].split("   ")[0].strip()
            if re.search(r"sample_traces/\w|explain [a-z]+$|--list$", words) and words not in seen:
                seen.add(words)
                yield pytest.param(words, id=words)


@pytest.mark.parametrize("command", list(_documented()))
def test_a_documented_command_runs(command: str, tmp_path: Path) -> None:
    words = shlex.split(command.replace("sample_traces/", f"{ROOT / 'sample_traces'}/"))
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_can_be_found_from_the_front_page() -> None:
    linked = (ROOT / "docs/README.md").read_text("utf-8") + (ROOT / "docs/reference/analyses/README.md").read_text(
        "utf-8"
    )
    pages = {path.name for path in ROOT.glob("docs/**/*.md")} - {"README.md"}
    assert [name for name in sorted(pages) if name not in linked] == []


def test_every_problem_finding_and_analysis_is_documented() -> None:
    reference = "".join(path.read_text("utf-8") for path in (ROOT / "docs/reference").rglob("*.md"))
    words = [*CATALOGUE, *analyses.FINDINGS, *(analysis.NAME for analysis in analyses.ANALYSES)]
    assert [word for word in words if word not in reference] == []


@pytest.mark.parametrize("analysis", [pytest.param(one, id=one.NAME) for one in analyses.ANALYSES])
def test_an_analysis_says_what_why_and_how(analysis: Any) -> None:
    for heading in ("What it shows", "Why it costs time", "How it is computed"):
        assert heading in analysis.__doc__


def test_every_option_has_help() -> None:
    import typer

    from tracegap.cli import app

    group: Any = typer.main.get_command(app)
    bare = [f"{name} {one.name}" for name, command in group.commands.items() for one in command.params if not one.help]
    assert bare == []


def test_python_in_the_readme_runs(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    exec(code.replace("trace.json.gz", str(samples / "cuda_host_bound.json.gz")), {})
    assert "GPU 0" in capsys.readouterr().out


def test_the_changelog_knows_this_version() -> None:
    assert f"## {tracegap.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_sample_has_its_row() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / "sample_traces/README.md").read_text("utf-8"), re.MULTILINE)
    files = {path.name for path in (ROOT / "sample_traces").iterdir() if path.suffix in (".json", ".gz")}
    assert set(rows) == files

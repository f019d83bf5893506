"""The house rules that tools check: lint, format and types."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check", "--no-cache", "."], id="lint"),
        pytest.param(["ruff", "format", "--check", "--no-cache", "."], id="format"),
        pytest.param(["mypy"], id="types", marks=pytest.mark.slow),
    ],
)
def test_the_project_keeps_its_rules(root: Path, command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

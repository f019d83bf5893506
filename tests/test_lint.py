"""The house rules that tools check: lint, format and types."""

import os
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


@pytest.mark.slow
def test_tests_are_named_alike_in_every_process(root: Path) -> None:
    # pytest-xdist compares what its workers collect: a name that holds a clock, an address or the order of a set fails a run.
    listings = set()
    for seed in ("1", "2"):  # the second collection starts seconds after the first
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        done = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        listings.add(tuple(line for line in done.stdout.splitlines() if "::" in line))
    (listing,) = listings
    assert len(listing) > 1000

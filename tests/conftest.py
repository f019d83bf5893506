"""Fixtures for all tests: the sample traces, the corpus where there is one, and a terminal that never varies."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_traces"


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make output 80 columns wide and colourless, whatever the environment of the person running the tests."""
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "PYTHONUTF8", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def samples() -> Path:
    """Return the folder of the sample traces: ``samples / "toy_sequential.json"``."""
    return SAMPLES


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of collected traces beside the project; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("no corpus of collected traces beside the project")
    return folder

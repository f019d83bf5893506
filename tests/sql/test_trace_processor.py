"""Starting Perfetto's trace processor: what is said when it cannot be had."""

import os
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest

from tracegap.errors import SourceError
from tracegap.sql import open_engine


def start(samples: Path, shell: Path | None = None) -> None:
    open_engine(samples / "toy_sequential.json", engine="perfetto", trace_processor=shell)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "trace_processor_shell"
    file.write_text("#!/bin/sh\necho starting >&2\necho its own reason >&2\nexit 3\n")
    file.chmod(0o755)
    return file


def test_a_program_that_is_not_there_is_said(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"--trace-processor .*nosuch: there is no such file"):
        start(samples, tmp_path / "nosuch")
    with pytest.raises(SourceError, match="there is no such file"):
        start(samples, tmp_path)


def test_a_program_that_ends_at_once_is_quoted(samples: Path, program: Path) -> None:
    with pytest.raises(SourceError, match=r"does not start \(its own reason\): name another") as caught:
        start(samples, program)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="every file may be run there")
def test_a_program_that_may_not_be_run_is_said(samples: Path, program: Path) -> None:
    program.chmod(0o644)
    with pytest.raises(SourceError, match=r"--trace-processor .*: may not be run; make it executable"):
        start(samples, program)


def test_a_failed_download_is_one_line_and_prints_nothing_among_rows(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fetch(manifest: Any) -> str:
        print("Downloading", len(manifest))
        raise CalledProcessError(6, ["curl"])

    monkeypatch.setattr("perfetto.trace_processor.platform.get_perfetto_prebuilt", fetch)
    with pytest.raises(SourceError, match=r"cannot be had \(the download failed\): download") as caught:
        start(samples)
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""

"""What a strict reader refuses."""

import json
from pathlib import Path

import pytest

from tracegap.errors import LossError
from tracegap.pipeline import load
from tracegap.problems import CATALOGUE
from tracegap.strictness import REPAIRS

SLICE = json.dumps({"ph": "X", "name": "load", "pid": 1, "tid": 1, "ts": 0, "dur": 5})


def written(folder: Path, text: str) -> Path:
    path = folder / "trace.json"
    path.write_text(text, "utf-8")
    return path


def test_strict_takes_a_sound_file(tmp_path: Path) -> None:
    assert len(load(written(tmp_path, f"\n[{SLICE}]\n"), strict=True).slices) == 1


def test_strict_refuses_a_repair_that_costs_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, f"[{SLICE},]")
    assert len(load(path).slices) == 1
    with pytest.raises(LossError, match=r"trace.json: stray-comma × 1 \(first at byte \d+\); .*without --strict"):
        load(path, strict=True)


def test_strict_refuses_a_loss(tmp_path: Path) -> None:
    with pytest.raises(LossError, match="truncated-trace × 1"):
        load(written(tmp_path, f"[{SLICE}"), strict=True)


def test_strict_tells_how_many_kinds_of_damage_there_are(tmp_path: Path) -> None:
    with pytest.raises(LossError, match=r"stray-comma × 1 .*, with 2 kinds of damage in all"):
        load(written(tmp_path, f"[{SLICE},,"), strict=True)


def test_repairs_are_known_problems() -> None:
    assert set(CATALOGUE) >= REPAIRS

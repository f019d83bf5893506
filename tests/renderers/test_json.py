"""JSON: the keys of the schema, integers, absent keys for absent metrics."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator, ValidationError

from tracegap.renderers.json import plain, render
from tracegap.report import Report


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files("tracegap").joinpath("schema", f"{name}.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", ["report", "info"])
def test_the_shipped_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))


def test_a_report_is_valid_and_begins_with_its_schema(report: Report, hostile: Report) -> None:
    for one in (report, hostile):
        document = json.loads(render(one))
        Draft202012Validator(schema("report")).validate(document)
        assert list(document)[:2] == ["schema", "tool"]
        assert list(document)[-1] == "verdict"


def test_times_are_exact_integers_and_absent_metrics_absent_keys(report: Report) -> None:
    document = json.loads(render(report))
    assert document["trace"]["origin_ns"] == 1_722_505_412_345_678_901
    assert document["idle"] == {"device": "GPU 0", "idle_ns": 308_000_000, "busy_ns": 1_615_000_000}
    assert "example" not in document["problems"][1]
    assert "device" not in document["trace"]["tracks"][0]


def test_the_schema_refuses_a_float_for_a_time(report: Report) -> None:
    document = json.loads(render(report))
    document["window"]["wall_ns"] = 1.5
    with pytest.raises(ValidationError):
        Draft202012Validator(schema("report")).validate(document)


def test_the_schema_allows_added_keys(report: Report) -> None:
    document = json.loads(render(report)) | {"new": 1}
    Draft202012Validator(schema("report")).validate(document)


def test_the_same_report_is_the_same_text(report: Report) -> None:
    assert render(report) == render(report)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Inner:
    a: int
    b: int | None = None


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ((Inner(1), Inner(2, 3)), [{"a": 1}, {"a": 2, "b": 3}]),
        ({Colour.RED: 1, "none": None}, {"red": 1}),
        (np.int64(2**62), 2**62),
        (np.bool_(1), True),
        (Colour.RED, "red"),
        ("\ud800", "\ufffd\ufffd\ufffd"),
    ],
)
def test_values_become_what_json_knows(value: object, told: object) -> None:
    assert plain(value) == told
    assert type(plain(value)) is type(told)


def test_a_value_that_json_does_not_know_is_an_error() -> None:
    with pytest.raises(TypeError, match="ndarray"):
        plain({"a": np.zeros(3)})


@pytest.mark.parametrize("name", ["report", "info"])
def test_every_reference_of_a_schema_leads_to_a_definition_and_every_definition_is_used(name: str) -> None:
    document = schema(name)
    used = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(document)))
    assert used == set(document["$defs"])

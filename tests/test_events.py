"""Begin and end events become one slice, each end to the begin it belongs to."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import lines_run
from tracegap import decode
from tracegap import events as pairing
from tracegap.events import NO_TIME, ArgType, Events, pair
from tracegap.source import open_source

ARGS = {"bytes": ArgType.INT, "op": ArgType.TEXT}


def paired(folder: Path, *events: dict[str, Any]) -> Events:
    path = folder / "trace.json"
    path.write_text(json.dumps(events))
    return pair(decode.decode(open_source(path), ARGS))


def event(phase: str, ts: int | None, name: str | None = None, **more: Any) -> dict[str, Any]:
    fields = {"ph": phase, "ts": ts, "name": name, "pid": 1, "tid": 1, **more}
    return {key: value for key, value in fields.items() if value is not None}


def found(events: Events) -> dict[str, tuple[int, str]]:
    return {one.code: (one.count, one.example) for one in events.problems}


def test_nested_begins_and_ends_are_paired(tmp_path: Path) -> None:
    events = paired(tmp_path, event("B", 0, "a"), event("B", 2, "b"), event("E", 5), event("E", 9))
    assert events.duration.tolist() == [9_000, 3_000, -1, -1]
    assert events.problems == ()


def test_pairs_follow_time_not_the_order_of_the_file(tmp_path: Path) -> None:
    events = paired(tmp_path, event("E", 9, "a"), event("E", 5, "b"), event("B", 2, "b"), event("B", 0, "a"))
    assert events.duration.tolist() == [-1, -1, 3_000, 9_000]


def test_end_belongs_to_the_topmost_begin_of_its_name_and_overlap_keeps_its_times(tmp_path: Path) -> None:  # B21
    events = paired(tmp_path, event("B", 0, "a"), event("B", 3, "b"), event("E", 5, "a"), event("E", 7, "b"))
    assert events.duration.tolist() == [5_000, 4_000, -1, -1]


def test_category_must_match_where_both_have_one(tmp_path: Path) -> None:
    events = paired(
        tmp_path,
        event("B", 0, "a", cat="x"),
        event("B", 1, "a", cat="y"),
        event("E", 5, "a", cat="x"),
        event("E", 8, "a"),
    )
    assert events.duration.tolist() == [5_000, 7_000, -1, -1]


def test_end_of_another_name_is_unmatched(tmp_path: Path) -> None:
    events = paired(tmp_path, event("B", 0, "a"), event("E", 5, "b"))
    assert events.duration.tolist() == [-1, -1]
    assert found(events) == {"begin-without-end": (1, "event 0"), "end-without-begin": (1, "event 1")}


def test_threads_are_apart(tmp_path: Path) -> None:
    events = paired(
        tmp_path, event("B", 0, "a"), event("B", 1, "a", tid=2), event("E", 4, "a"), event("E", 9, "a", tid=2)
    )
    assert events.duration.tolist() == [4_000, 8_000, -1, -1]


def test_adjacent_pairs_at_one_time_do_not_mix(tmp_path: Path) -> None:
    events = paired(tmp_path, event("B", 0, "a"), event("E", 5, "a"), event("B", 5, "a"), event("E", 9, "a"))
    assert events.duration.tolist() == [5_000, -1, 4_000, -1]


def test_zero_length_pair_is_a_slice(tmp_path: Path) -> None:
    events = paired(tmp_path, event("B", 5, "a"), event("E", 5, "a"))
    assert events.duration.tolist() == [0, -1]


def test_asynchronous_events_pair_by_category_and_id_across_threads(tmp_path: Path) -> None:
    events = paired(
        tmp_path,
        event("b", 0, "req", cat="net", id=1),
        event("b", 1, "req", cat="net", id=2),
        event("b", 1, "req", cat="disk", id=1),
        event("e", 5, "req", cat="net", id=1, tid=9),
        event("e", 6, "req", cat="disk", id=1),
        event("e", 8, "req", cat="net", id=2),
    )
    assert events.duration.tolist() == [5_000, 7_000, 5_000, -1, -1, -1]


def test_older_asynchronous_events_pair_too_and_apart_from_the_newer(tmp_path: Path) -> None:
    events = paired(
        tmp_path,
        event("S", 0, "r", cat="c", id=1),
        event("b", 1, "r", cat="c", id=1),
        event("F", 4, "r", cat="c", id=1),
    )
    assert events.duration.tolist() == [4_000, -1, -1]
    assert found(events) == {"begin-without-end": (1, "event 1")}


def test_arguments_of_the_end_join_those_of_the_begin_and_win(tmp_path: Path) -> None:
    events = paired(
        tmp_path,
        event("B", 0, "a", args={"bytes": 1, "op": "read"}),
        event("E", 5, "a", args={"bytes": 2}),
        event("B", 6, "b"),
        event("E", 7, "b", args={"bytes": 3}),
        event("X", 8, "c", dur=1, args={"bytes": 4}),
    )
    assert events.arg("bytes").rows.tolist() == [0, 2, 4]
    assert events.arg("bytes").values.tolist() == [2, 3, 4]
    assert events.arg("op").rows.tolist() == [0]
    assert [events.strings[text] for text in events.arg("op").values] == ["read"]


def test_events_without_time_take_no_part(tmp_path: Path) -> None:
    events = paired(tmp_path, event("B", None, "a"), event("B", 1, "a"), event("E", 5, "a"))
    assert events.start[0] == NO_TIME
    assert events.duration.tolist() == [-1, 4_000, -1]


def test_complete_events_are_left_as_they_are(tmp_path: Path) -> None:
    events = paired(tmp_path, event("X", 0, "a", dur=3), event("X", 5, "a"), event("X", 6, "a", dur=-2))
    assert events.duration.tolist() == [3_000, -1, -1]
    assert found(events) == {"no-duration": (1, "event 1"), "negative-duration": (1, "event 2")}


BOUND = st.tuples(st.sampled_from("BE"), st.sampled_from([None, "a", "b"]), st.sampled_from([None, "x", "y"]))


@settings(max_examples=200, deadline=None)
@given(bounds=st.lists(BOUND, min_size=1, max_size=24))
def test_any_ends_are_those_of_the_topmost_begin_that_fits(
    tmp_path_factory: pytest.TempPathFactory, bounds: list[tuple[str, str | None, str | None]]
) -> None:
    events = paired(
        tmp_path_factory.mktemp("trace"),
        event("X", 0, "x", dur=1),
        *(event(phase, at, name, cat=category) for at, (phase, name, category) in enumerate(bounds)),
    )
    open_: list[int] = []
    expected = [-1] * len(bounds)
    for at, (phase, name, category) in enumerate(bounds):
        if phase == "B":
            open_.append(at)
            continue
        for other in reversed(open_):
            wanted = zip((name, category), bounds[other][1:], strict=True)
            if all(one is None or two is None or one == two for one, two in wanted):
                expected[other] = 1_000 * (at - other)
                open_.remove(other)
                break
    assert events.duration.tolist() == [1_000, *expected]


@pytest.mark.parametrize("end", [lambda n, at: at, lambda n, at: n - 1 - at, lambda n, at: n])
def test_deep_begins_are_paired_in_proportion_to_their_number(tmp_path: Path, end: Any) -> None:
    looks = []
    for size in (200, 400):
        begins = [event("B", at, f"n{at}") for at in range(size)]
        ends = [event("E", size + at, f"n{end(size, at)}") for at in range(size)]
        path = tmp_path / "trace.json"
        path.write_text(json.dumps([*begins, *ends]))
        looks.append(lines_run([pairing], pair, decode.decode(open_source(path), ARGS)))
    assert looks[1] < 2.5 * looks[0]

"""What a what-if says where host threads may need more of one another than any edge says."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tracegap
from tests.tracebuilder import Trace
from tracegap import cli, dag
from tracegap.edges import Cause
from tracegap.extent import choose_window
from tracegap.scenarios import threads
from tracegap.scenarios.threads import ThreadOrder
from tracegap.scenarios.web import web

MS = 1_000_000
FUSED = Path(__file__).parent.parent / "sample_traces" / "toy_fused.json"


def pipeline(loads: list[float], computes: list[float], depth: int) -> list[tuple[float, float, float, float]]:
    """Run a loader and a consumer side by side: when each load and each compute starts and ends.

    A load starts once the one before it is done and the one `depth` before it was taken.
    """
    out: list[tuple[float, float, float, float]] = []
    for number, (load, compute) in enumerate(zip(loads, computes, strict=True)):
        start = max(out[-1][1] if out else 0, out[number - depth][2] if number >= depth else 0)
        begin = max(start + load, out[-1][3] if out else 0)
        out.append((start, start + load, begin, begin + compute))
    return out


def recorded(rounds: list[tuple[float, float, float, float]], *, steps: bool) -> Trace:
    trace, before = Trace(), 0.0
    main, loader = trace.thread(1), trace.thread(2)
    for number, (start, loaded, begin, computed) in enumerate(rounds):
        loader.annotation("load", start, loaded)
        main.annotation("compute", begin, computed)
        if steps:
            main.step(number, before, computed)
        before = computed
    return trace


LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=8)


@pytest.mark.parametrize("window", ["steps", "whole"])
@settings(max_examples=100, deadline=None)
@given(LENGTHS, st.integers(1, 3), st.sampled_from([(1, 0), (1, 0.3), (1, 2), (0, 1), (0.5, 1), (2, 1)]))
def test_a_pipeline_takes_what_the_replay_says_or_up_to_what_is_said_if_threads_need_more(
    window: str, lengths: list[tuple[int, int]], depth: int, factors: tuple[float, float]
) -> None:
    def run(load: float, compute: float) -> list[tuple[float, float, float, float]]:
        return pipeline([load * one for one, _ in lengths], [compute * one for _, one in lengths], depth)

    timeline = recorded(run(1, 1), steps=window == "steps").timeline()
    answer = tracegap.whatif(timeline, scale=dict(zip(("load", "compute"), factors, strict=True)))
    truth = round(1000 * run(*factors)[-1][3])
    most = answer.thread_order.wall_ns if answer.thread_order is not None else answer.replayed_wall_ns * 1.01
    assert answer.replayed_wall_ns <= truth <= most


def test_the_fused_toy_takes_700_ms_if_compute_needs_what_was_loaded_in_time() -> None:
    half = tracegap.whatif(FUSED, scale={"compute": 0.5})
    assert (half.replayed_wall_ns, half.thread_order) == (500 * MS, ThreadOrder(700 * MS, "load_data", "compute"))
    assert tracegap.whatif(FUSED, scale={"load_data": 0.5}).thread_order is None
    assert tracegap.whatif(FUSED).thread_order is None


def test_a_sweep_and_a_target_say_it_of_their_own_ends() -> None:
    answer = tracegap.whatif(FUSED, sweep="compute", target_ns=600 * MS)
    assert answer.thread_order is None
    assert answer.sweep is not None
    assert answer.sweep.thread_order == ThreadOrder(600 * MS, "load_data", "compute")
    assert answer.target is not None
    assert answer.target.thread_order == ThreadOrder(733_333_333, "load_data", "compute")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--scale", "compute=0.5"], "It takes up to 700 ms if slices need"),
        (["--sweep", "compute"], "Without compute it takes up to 600 ms if slices need"),
        (["--target", "700ms", "--keep", "load_data"], "With that it takes up to 767 ms if slices need"),
    ],
)
def test_it_is_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    with pytest.raises(SystemExit):
        cli.main(["whatif", str(FUSED), *arguments])
    text = " ".join(capsys.readouterr().out.split())
    assert (told in text, "compute may need load_data, which nothing records." in text) == (True, True)


def test_its_json_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(files("tracegap").joinpath("schema/whatif.json").read_text("utf-8"))
    with pytest.raises(SystemExit):
        cli.main(["whatif", str(FUSED), "--sweep", "compute", "--target", "600ms", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema).validate(document)
    said = {"wall_ns", "before", "after"}
    assert document["sweep"]["thread_order"].keys() == document["target"]["thread_order"].keys() == said
    assert set(schema["$defs"]["thread_order"]["required"]) == said


def ahead(**answers: Any) -> ThreadOrder | None:
    """Halve `compute`, after which a load of another thread ended in the trace and not in the replay."""
    trace = Trace()
    main, other = trace.thread(1), trace.thread(2)
    main.op("compute", 0, 100)
    main.op("next", 100, 150)
    (other.call if answers.pop("polls", False) else other.op)("load", 20, 90)
    return tracegap.whatif(trace.timeline(), scale={"compute": 0.5}, **answers).thread_order


def test_work_that_another_thread_had_finished_may_be_needed() -> None:
    assert ahead() == ThreadOrder(140_000, "load", "next")


def test_a_thread_that_only_polls_gives_nothing_that_is_needed() -> None:
    assert ahead(polls=True) is None


def test_pipelined_stages_need_what_the_user_says() -> None:
    assert ahead(overlap=[("compute", "next")]) is None


def test_threads_of_another_process_are_not_held_to_their_order() -> None:
    trace = Trace()
    trace.thread(1, 100).op("compute", 0, 100)
    trace.thread(1, 100).op("next", 100, 150)
    trace.thread(2, 200).op("load", 20, 90)
    assert tracegap.whatif(trace.timeline(), scale={"compute": 0.5}).thread_order is None


def test_where_the_trace_records_who_needs_whom_nothing_more_is_needed() -> None:
    graph = dag.build(timeline := tracegap.load(FUSED), choose_window(timeline))
    assert threads.hold(web(graph)) is not None
    assert threads.hold(web(replace(graph, cause=np.full_like(graph.cause, Cause.DATA)))) is None

"""What a window would take: numbers of the samples, laws that hold for every change, and what a user can get wrong."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import tracegap
from tests.tracebuilder import OrtTrace, Trace
from tracegap import change, cli, dag, scenarios
from tracegap.extent import choose_window
from tracegap.scenarios import choice, curve

MS = 1_000_000
SAMPLES = Path(__file__).parent.parent / "sample_traces"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run ``tracegap whatif`` in this process: exit code, stdout, stderr."""

    def command(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            cli.main(["whatif", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, out, err

    return command


def wall(trace: Any, **changes: Any) -> int:
    return tracegap.whatif(trace, **changes).replayed_wall_ns


def loop(*stages: tuple[str, int], steps: int = 3) -> Trace:
    """Write a loop of named stages of the given lengths in µs, one after the other on one thread."""
    trace, now = Trace(), 0
    main = trace.thread()
    for number in range(steps):
        start = now
        for name, length in stages:
            main.annotation(name, now, now + length)
            now += length
        main.step(number, start, now)
    return trace


# Numbers.


def test_the_sequential_toy_pipelined_takes_the_maximum_of_its_stages_and_one_fill() -> None:
    answer = tracegap.whatif(SAMPLES / "toy_sequential.json", overlap=[("load_data", "compute")])
    assert (answer.measured_wall_ns, answer.replayed_wall_ns) == (2_100 * MS, 1_700 * MS)
    (pipeline,) = answer.pipelines or ()
    assert (pipeline.step_ns, pipeline.bottleneck) == (500 * MS, "load_data")


def test_the_order_in_which_stages_are_named_does_not_matter() -> None:
    assert wall(SAMPLES / "toy_sequential.json", overlap=[("compute", "load_data")]) == 1_700 * MS


def test_pipelined_and_loading_at_two_fifths_the_sequential_toy_takes_800_ms(run: Any) -> None:
    code, out, _ = run(
        SAMPLES / "toy_sequential.json",
        "--overlap",
        "load_data,compute",
        "--scale",
        "load_data=0.4",
        "--format",
        "json",
    )
    assert code == 0
    assert json.loads(out)["replayed_wall_ns"] == 800 * MS


def test_in_the_pipelined_toy_loading_is_critical_and_compute_idles_300_ms_a_step() -> None:
    answer = tracegap.whatif(SAMPLES / "toy_pipelined.json", overlap=[("load_data", "compute")])
    assert answer.replayed_wall_ns == answer.measured_wall_ns == 1_700 * MS
    assert [(one.name, one.duration_ns) for one in answer.critical_by_name] == [
        ("load_data", 1_500 * MS),
        ("compute", 200 * MS),
    ]
    (pipeline,) = answer.pipelines or ()
    assert [(stage.name, stage.idle_ns) for stage in pipeline.stages] == [("load_data", 0), ("compute", 300 * MS)]
    assert not pipeline.shared


def test_less_loading_in_the_pipelined_toy_pays_until_it_is_as_short_as_computing() -> None:
    swept = tracegap.whatif(SAMPLES / "toy_pipelined.json", sweep="load_data").sweep
    assert swept is not None
    assert len(swept.points) == 11
    assert (swept.points[0].wall_ns, swept.points[-1].wall_ns) == (1_700 * MS, 600 * MS)
    assert swept.knee is not None
    assert (round(swept.knee.factor, 2), round(swept.knee.wall_ns / MS)) == (0.4, 800)


def test_the_detector_without_its_model_takes_40_ms_and_with_half_of_it_50_5() -> None:
    assert wall(SAMPLES / "detector.json", remove=["model"]) == 40 * MS
    answer = tracegap.whatif(SAMPLES / "detector.json", scale={"model": 0.5})
    assert answer.replayed_wall_ns == 50_500_000
    assert round(answer.measured_wall_ns / answer.replayed_wall_ns, 2) == 1.21


def test_for_33_3_ms_all_of_the_detector_but_its_model_must_shrink_by_69_per_cent(run: Any) -> None:
    target = tracegap.whatif(SAMPLES / "detector.json", target_ns=33_300_000, keep=["model"]).target
    assert target is not None
    assert target.factor == pytest.approx((33.3 - 21) / 40, abs=1e-5)
    _, out, _ = run(SAMPLES / "detector.json", "--target", "33.3ms", "--keep", "model")
    assert "For 33.3 ms, all but model must shrink by 69.3 %, to 30.7 %." in " ".join(out.split())


def test_a_target_is_reached_by_less_of_one_name_or_not_at_all() -> None:
    def factor(target: float) -> float | None:
        found = tracegap.whatif(SAMPLES / "detector.json", sweep="model", target_ns=round(target * MS)).target
        assert found is not None
        return found.factor

    assert factor(50.5) == pytest.approx(0.5, abs=1e-5)
    assert factor(39) is None
    assert factor(70) == 1


def test_fourteen_and_nine_milliseconds_side_by_side_take_fourteen_a_step() -> None:
    timeline = loop(("preprocess", 14_000), ("forward", 9_000), steps=20).timeline()
    answer = tracegap.whatif(timeline, overlap=[("preprocess", "forward")])
    assert answer.replayed_wall_ns == (20 * 14 + 9) * MS
    assert [one.step_ns for one in answer.pipelines or ()] == [14 * MS]


def test_what_follows_a_stage_and_is_not_named_stays_in_order_behind_it() -> None:
    timeline = loop(("load", 300), ("forward", 100), ("optimiser", 250)).timeline()
    answer = tracegap.whatif(timeline, overlap=[("load", "forward")])
    # forward waits for the optimiser of the step before: 300, then three times 350
    assert answer.replayed_wall_ns == (300 + 3 * 350) * 1_000
    assert [(one.step_ns, one.bottleneck) for one in answer.pipelines or ()] == [(350_000, "forward")]


def test_three_stages_follow_the_recurrence_of_a_pipeline() -> None:
    timeline = loop(("a", 10), ("b", 30), ("c", 20), steps=4).timeline()
    assert wall(timeline, overlap=[("a", "b", "c")]) == (10 + 4 * 30 + 20) * 1_000


def test_an_annotation_takes_the_idleness_of_its_thread_along() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.annotation("forward", 20, 80)
    main.op("aten::mm", 30, 50)
    main.op("aten::add", 90, 95)
    timeline = trace.timeline()
    assert wall(timeline, remove=["forward"]) == 40_000
    assert wall(timeline, scale={"forward": 0.5}) == 70_000
    assert wall(timeline, remove=["aten::mm"]) == 80_000


def test_device_work_goes_with_what_launched_it() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 210)
    main.op("aten::mm", 0, 10)
    stream.kernel("gemm", 8, 108, main.launch(3, 8))
    main.op("aten::add", 10, 20)
    stream.kernel("add", 108, 208, main.launch(12, 18))
    timeline = trace.timeline()
    assert wall(timeline, scale={"aten::add": 0.5}) == wall(timeline, scale={"add": 0.5}) == 160_000
    assert wall(timeline, scale={"gemm": 0.5}) == 160_000
    assert wall(timeline, speedup_device=2) == 110_000


def test_set_gives_every_slice_its_length() -> None:
    timeline = loop(("load", 100), ("compute", 50)).timeline()
    assert wall(timeline, set_ns={"load": 20_000}) == 3 * 70_000
    assert wall(timeline, set_ns={"load": 20_000}, scale={"compute": 2}) == 3 * 120_000


def test_a_removed_call_waits_for_nothing() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 300)
    main.op("aten::mm", 0, 10)
    stream.kernel("gemm", 8, 108, main.launch(3, 8))
    main.sync(20, 110)
    main.op("aten::add", 110, 300)
    timeline = trace.timeline()
    assert wall(timeline, scale={"cudaDeviceSynchronize": 0}) == 298_000
    assert wall(timeline, remove=["cudaDeviceSynchronize"]) == 210_000


def test_changes_of_the_same_work_multiply() -> None:
    timeline = loop(("load", 100), ("compute", 50)).timeline()
    assert wall(timeline, scale={"load": 0.5, "/lo/": 0.5}) == 3 * 75_000


def test_a_replay_without_change_keeps_the_idleness_at_the_end_though_several_threads_reach_it() -> None:
    trace = OrtTrace()
    for thread, last in ((1, 300), (2, 260)):
        trace.run(0, last + 40, tid=thread)
        trace.node("mm", "MatMul", 10, last, tid=thread)
    answer = tracegap.whatif(trace.timeline())
    assert answer.replayed_wall_ns == answer.measured_wall_ns


# Laws.


@pytest.fixture(scope="module", params=sorted(path.name for path in SAMPLES.iterdir() if ".json" in path.name))
def graph(request: pytest.FixtureRequest) -> dag.Dag:
    timeline = tracegap.load(SAMPLES / request.param)
    return dag.build(timeline, choose_window(timeline))


def some_names(graph: dag.Dag) -> list[str]:
    """Return the names with most work, a few of the others, and a stage."""
    timeline = graph.timeline
    slices = timeline.slices
    total = np.zeros(len(timeline.names) + 1, np.int64)
    inside = (slices.start < graph.window.end) & (slices.end > graph.window.start) & slices.plausible
    np.add.at(total, slices.name[inside], slices.self_time[inside])
    order = np.argsort(-total, kind="stable")[: np.count_nonzero(total)]
    chosen = [*order[:4].tolist(), *order[4::40].tolist(), *timeline.stages.name[:1].tolist()]
    return list(dict.fromkeys(timeline.names[one] for one in chosen))


def asked(graph: dag.Dag, **changes: Any) -> scenarios.Answer:
    return scenarios.ask(graph, scenarios.Changes(**changes))


def test_a_replay_without_change_takes_what_was_measured(graph: dag.Dag) -> None:
    answer = asked(graph)
    assert answer.replayed_wall_ns == answer.measured_wall_ns == graph.window.wall
    assert all(one.duration_ns == one.measured_ns for one in answer.critical_by_name)


def test_the_wall_never_falls_as_a_factor_grows_and_one_changes_nothing(graph: dag.Dag) -> None:
    for name in some_names(graph):
        walls = [asked(graph, scale=((name, factor),)).replayed_wall_ns for factor in (0, 0.3, 0.7, 1, 1.6)]
        assert walls == sorted(walls)
        assert walls[3] == graph.window.wall


def test_removing_never_lengthens_and_gains_at_least_the_total_drag(graph: dag.Dag) -> None:
    timeline = graph.timeline
    names = some_names(graph)
    ids = [timeline.names.index(name) for name in names]
    _, drags = change.drags(graph, ids)
    for name, drag in zip(names, drags, strict=True):
        answer = asked(graph, remove=(name,))
        assert answer.replayed_wall_ns <= graph.window.wall - drag <= graph.window.wall


def test_pipelining_never_lengthens(graph: dag.Dag) -> None:
    timeline = graph.timeline
    outer = timeline.stages.parent < 0
    stages = list(dict.fromkeys(timeline.names[name] for name in timeline.stages.name[outer].tolist()))
    if len(stages) > 1:
        assert asked(graph, overlap=(tuple(stages),)).replayed_wall_ns <= graph.window.wall


def test_the_path_of_a_replay_adds_up_to_its_wall(graph: dag.Dag) -> None:
    for name in some_names(graph)[:3]:
        answer = asked(graph, scale=((name, 0.5),))
        assert sum(part.duration_ns for part in answer.critical_by_cause) == answer.replayed_wall_ns
        assert sum(part.measured_ns for part in answer.critical_by_cause) == answer.measured_wall_ns
        assert 0 <= answer.inferred_ratio <= 1


def test_what_goes_together_is_what_marks_spread_to(graph: dag.Dag) -> None:
    for name in some_names(graph):
        chosen = choice.find(graph.timeline, graph.window, name)
        spread = change.spread(graph.timeline, chosen.astype(np.uint32)) > 0
        assert ((choice.together(graph.timeline, chosen) >= 0) == spread).all()


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6), st.integers(1, 2000))
def test_the_factor_found_reaches_the_target_and_a_greater_one_does_not(
    paths: list[tuple[int, int]], target: int
) -> None:
    def walls(factors: Any) -> list[int]:
        return [max(fixed + round(factor * rest) for fixed, rest in paths) for factor in factors]

    factor = curve.needed(walls, target)
    if factor is None:
        assert walls([0.0])[0] > target
    else:
        assert walls([factor])[0] <= target
        assert factor == 1 or walls([min(factor + 0.001, 1)])[0] >= target


# The command.


def test_json_of_every_kind_of_change_is_valid(run: Any) -> None:
    schema = json.loads(files("tracegap").joinpath("schema/whatif.json").read_text("utf-8"))
    code, out, _ = run(
        *(SAMPLES / "cuda_host_bound.json.gz", "--scale", "/gemm/=0.5", "--set", "forward=0.1ms", "--remove", "/item/"),
        *("--overlap", "/DataLoader/,forward", "--speedup-device", "2", "--sweep", "/Backward/", "--target", "2ms"),
        *("--format", "json"),
    )
    assert code == 0
    document = json.loads(out)
    Draft202012Validator(schema).validate(document)
    assert document["schema"] == "tracegap.whatif/1"
    assert [one["change"] for one in document["changes"]] == ["scale", "set", "speedup-device", "remove", "overlap"]
    assert document["replayed_wall_ns"] < document["measured_wall_ns"] == 3_792_266


def test_the_window_is_chosen_as_for_analyze(run: Any) -> None:
    _, out, _ = run(SAMPLES / "toy_sequential.json", "--steps", "2:3", "--remove", "compute", "--format", "json")
    document = json.loads(out)
    assert (document["measured_wall_ns"], document["replayed_wall_ns"]) == (1_400 * MS, 1_000 * MS)


@pytest.mark.parametrize(
    ("suffix", "start"), [("md", "<sub>tracegap"), ("json", '{\n  "schema"'), ("txt", "tracegap ")]
)
def test_the_suffix_of_the_output_chooses_the_format(run: Any, tmp_path: Path, suffix: str, start: str) -> None:
    output = tmp_path / f"answer.{suffix}"
    assert run(SAMPLES / "toy_sequential.json", "--remove", "compute", "-o", output) == (0, "", "")
    assert output.read_text("utf-8").startswith(start)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--remove", "load_dta"], "near: 'load_data'"),
        (["--remove", "LOAD"], "near: 'load_data'"),
        (["--remove", "/nothing/"], "fits no name"),
        (["--remove", "/(/"], "no regular expression"),
        (["--scale", "load_data"], "write a name, = and a factor"),
        (["--scale", "load_data=fast"], "is no factor"),
        (["--scale", "load_data=-1"], "must be 0 or more"),
        (["--scale", "load_data=nan"], "must be 0 or more"),
        (["--set", "load_data=soon"], "is no time"),
        (["--overlap", "load_data"], "two stages or more"),
        (["--overlap", "load_data,ProfilerStep#1,quux"], "no slice of the window is named 'quux'"),
        (["--speedup-device", "0"], "must be more than 0"),
        (["--speedup-device", "1e-300"], "must be more than 0"),
        (["--scale", "load_data=1e308"], "at most 1e+12"),
        (["--scale", "load_data=1e12"], "more work than the replay can count"),
        (["--set", "load_data=99999999999s"], "longer than a hundred years"),
        (["--set", "load_data=2999999999s"], "more work than the replay can count"),
        (["--keep", "compute"], "give --target"),
        (["--target", "soon"], "is no time"),
        (["--steps", "3:3", "--remove", "ProfilerStep#1"], "not in the window"),
    ],
)
def test_what_the_user_got_wrong_is_one_line_and_exit_2(run: Any, arguments: list[str], told: str) -> None:
    code, out, err = run(SAMPLES / "toy_sequential.json", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert told in err


def test_names_that_would_act_on_a_terminal_are_escaped(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(loop(("red\x1b[31m", 100), ("b|<b>\nx", 50)).bytes())
    for arguments in (["--remove", "/red/"], ["--remove", "red"]):
        _, out, err = run(path, *arguments)
        assert "\x1b" not in out + err
        assert "red\\x1b[31m" in out + err
    _, out, _ = run(path, "--overlap", "/red/,/<b>/", "--format", "md")
    assert "<b>\n" not in out
    assert "\x1b" not in out

"""Data edges of ONNX Runtime's nodes, from the model that ran."""

import sys
from pathlib import Path
from typing import Any

import pytest

import tracegap
from tests.tracebuilder import OrtTrace, Trace
from tracegap import dag, dataedges
from tracegap.cli import main
from tracegap.datagraph import parallelism
from tracegap.edges import Cause
from tracegap.errors import SourceError, UsageError
from tracegap.extent import choose_window
from tracegap.timeline import Timeline

DIAMOND = dataedges.Model(
    names=("stem", "left", "right", "join"),
    needs=((), (0,), (0,), (1, 2)),
    of_value={"s": 0, "l": 1, "r": 2, "y": 3},
)


def diamond(*, runs: int = 1) -> OrtTrace:
    trace = OrtTrace()
    for run in range(runs):
        at = 1000 * run
        trace.run(at, at + 600)
        trace.execute(at + 5, at + 595)
        trace.node("stem", "Conv", at + 10, at + 110)
        trace.node("left", "Sigmoid", at + 110, at + 310)
        trace.node("right", "Tanh", at + 310, at + 410)
        trace.node("join", "Add", at + 410, at + 460)
    return trace


def arrows(timeline: Timeline) -> list[tuple[str, str]]:
    slices, names = timeline.slices, timeline.names
    ends = zip(timeline.flows.source.tolist(), timeline.flows.target.tolist(), strict=True)
    return sorted((names[slices.name[a]], names[slices.name[b]]) for a, b in ends)


def test_each_node_is_linked_to_what_makes_its_inputs() -> None:
    timeline = dataedges.add(diamond().timeline(), DIAMOND, source="m.onnx")
    assert arrows(timeline) == [("left", "join"), ("right", "join"), ("stem", "left"), ("stem", "right")]
    assert timeline.flow_kinds == ("data",)
    assert timeline.problems == ()


def test_runs_do_not_mix() -> None:
    timeline = dataedges.add(diamond(runs=3).timeline(), DIAMOND, source="m.onnx")
    step = timeline.slices.step
    assert len(timeline.flows) == 12
    assert (step[timeline.flows.source] == step[timeline.flows.target]).all()


def test_runs_at_the_same_time_on_two_threads_do_not_mix() -> None:
    trace = OrtTrace()
    for tid in (1, 2):
        trace.run(10 * tid, 500 + tid, tid=tid)
        trace.node("stem", "Conv", 10 * tid + 20, 200 + tid, tid=tid)
        trace.node("left", "Sigmoid", 200 + tid, 400 + tid, tid=tid)
    timeline = dataedges.add(trace.timeline(), DIAMOND, source="m.onnx")
    track = timeline.slices.track
    assert arrows(timeline) == [("stem", "left")] * 2
    assert (track[timeline.flows.source] == track[timeline.flows.target]).all()


def test_data_edges_are_in_the_dependency_graph() -> None:
    timeline = dataedges.add(diamond().timeline(), DIAMOND, source="m.onnx")
    graph = dag.build(timeline, choose_window(timeline))
    assert int((graph.cause == Cause.DATA).sum()) == 4


def test_branches_that_ran_in_turn_without_need_are_told() -> None:
    timeline = dataedges.add(diamond().timeline(), DIAMOND, source="m.onnx")
    found = parallelism(timeline, choose_window(timeline))
    assert found is not None
    assert (found.work_ns, found.span_ns) == (450_000, 350_000)
    assert [(pair.first, pair.second, pair.saving_ns) for pair in found.serial] == [("left", "right", 100_000)]


def test_what_runs_inside_an_operator_is_counted_once() -> None:
    model = dataedges.Model(("stem", "If_1", "inner", "join"), ((), (0,), (0,), (1,)), {})
    trace = OrtTrace()
    trace.run(0, 500)
    trace.node("stem", "Conv", 10, 110)
    trace.node("If_1", "If", 110, 310)
    trace.node("inner", "Relu", 120, 300)
    trace.node("join", "Add", 310, 400)
    timeline = dataedges.add(trace.timeline(), model, source="m.onnx")
    assert ("stem", "inner") in arrows(timeline)
    found = parallelism(timeline, choose_window(timeline))
    assert found is not None
    assert (found.work_ns, found.span_ns) == (390_000, 390_000)


def test_a_node_that_was_fused_away_is_stepped_over() -> None:
    model = dataedges.Model(("conv", "relu", "tail"), ((), (0,), (1,)), {"c": 0, "r": 1, "y": 2})
    trace = OrtTrace()
    trace.run(0, 300)
    trace.node("fused conv", "FusedConv", 10, 110)
    trace.node("tail", "Add", 110, 200)
    assert arrows(dataedges.add(trace.timeline(), model, source="m.onnx")) == [("fused conv", "tail")]


def test_a_loop_reads_its_own_turn() -> None:
    model = dataedges.Model(("a", "b"), ((), (0,)), {})
    trace = OrtTrace()
    trace.run(0, 900)
    for turn in range(3):
        trace.node("a", "Add", 100 * turn, 100 * turn + 40)
        trace.node("b", "Mul", 100 * turn + 50, 100 * turn + 90)
    timeline = dataedges.add(trace.timeline(), model, source="m.onnx")
    start = timeline.slices.start
    assert (start[timeline.flows.target] - start[timeline.flows.source]).tolist() == [50_000] * 3


def test_nodes_that_the_model_does_not_name_are_counted() -> None:
    trace = diamond()
    trace.node("ReorderOutput", "ReorderOutput", 470, 480)
    timeline = dataedges.add(trace.timeline(), DIAMOND, source="m.onnx")
    assert [(one.code, one.count, one.example) for one in timeline.problems] == [
        ("unmatched-model-node", 1, "ReorderOutput")
    ]


def test_a_model_of_something_else_is_refused() -> None:
    other = dataedges.Model(("gemm",), ((),), {})
    with pytest.raises(UsageError, match=r"^m\.onnx: none of its 1 nodes is in the trace"):
        dataedges.add(diamond().timeline(), other, source="m.onnx")


def test_a_trace_of_another_profiler_is_refused() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    with pytest.raises(UsageError, match=r"^m\.onnx: a model explains traces of ONNX Runtime"):
        dataedges.add(trace.timeline(), DIAMOND, source="m.onnx")


def test_a_model_without_the_package_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    trace = tmp_path / "t.json"
    trace.write_bytes(diamond().bytes())
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["analyze", str(trace), "--model", "m.onnx"])
    error = capsys.readouterr().err
    assert error.startswith("tracegap: reading the model m.onnx needs the package onnx")
    assert error.count("\n") == 1


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    for name, content in (("no.onnx", b"\xff\xfe no model"), ("empty.onnx", b""), ("no.json", b"{")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="no ONNX model"):
            dataedges.read_model(tmp_path / name)
    with pytest.raises(SourceError, match="cannot be read"):
        dataedges.read_model(tmp_path / "absent.onnx")


def model_of(onnx: Any, nodes: list[Any], *, shape: list[int]) -> Any:
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in ("x", "y")]
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [8, 8, 3, 3], [0.01] * 576)
    graph = onnx.helper.make_graph(nodes, "graph", ends[:1], [onnx.helper.make_empty_tensor_value_info("y")], [weight])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)


def test_a_model_is_read_with_names_as_the_runtime_gives_them(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    node, info = onnx.helper.make_node, onnx.helper.make_empty_tensor_value_info
    then = onnx.helper.make_graph([node("Neg", ["a"], ["t"], name="then/neg")], "then", [], [info("t")])
    other = onnx.helper.make_graph([node("Abs", ["x"], ["e"])], "else", [], [info("e")])
    one = onnx.helper.make_tensor("one", onnx.TensorProto.BOOL, [], [True])
    nodes = [
        node("Constant", [], ["yes"], value=one),
        node("Relu", ["x"], ["a"], name="first"),
        node("If", ["yes"], ["b"], then_branch=then, else_branch=other),
        node("Exp", ["b"], ["y"]),
    ]
    path = tmp_path / "m.onnx"
    onnx.save(model_of(onnx, nodes, shape=[2]), str(path))
    model = dataedges.read_model(path)
    assert sorted(model.names) == ["Abs_0", "Exp_2", "If_1", "first", "then/neg"]
    needs = {name: [model.names[row] for row in rows] for name, rows in zip(model.names, model.needs, strict=True)}
    assert needs == {"first": [], "If_1": ["first"], "Exp_2": ["If_1"], "then/neg": ["first"], "Abs_0": []}


@pytest.mark.filterwarnings("ignore")  # what ONNX Runtime warns of is not ours
@pytest.mark.parametrize("optimised", [False, True])
def test_a_profile_of_the_model_itself(tmp_path: Path, *, optimised: bool) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    import numpy as np

    node = onnx.helper.make_node
    one = onnx.helper.make_tensor("one", onnx.TensorProto.FLOAT, [1], [1.0])
    nodes = [
        node("Constant", [], ["c"], value=one),
        node("Conv", ["x", "w"], ["a"], name="conv", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["r"], name="relu"),
        node("Sigmoid", ["r"], ["p"], name="left"),
        node("Erf", ["r"], ["q"]),
        node("Add", ["p", "q"], ["s"], name="join"),
        node("Mul", ["s", "c"], ["y"], name="scale"),
    ]
    path = tmp_path / "m.onnx"
    onnx.save(model_of(onnx, nodes, shape=[1, 8, 16, 16]), str(path))
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for _ in range(3):
        session.run(None, {"x": np.ones((1, 8, 16, 16), np.float32)})
    timeline = tracegap.load(session.end_profiling(), model=path)

    names = set(arrows(timeline))
    if optimised:
        assert ("left", "join") in names
        assert ("Erf_3", "join") in names
        convolution = {source for source, target in names if target == "left"}
        assert len(convolution) == 1  # whatever the runtime made of convolution and activation
        assert {source for source, target in names if target == "Erf_3"} == convolution
    else:
        assert names == {
            ("conv", "relu"),
            ("relu", "left"),
            ("relu", "Erf_3"),
            ("left", "join"),
            ("Erf_3", "join"),
            ("join", "scale"),
        }
        assert len(timeline.flows) == 18
        assert timeline.problems == ()
    evidence = tracegap.analyze(timeline).results["serialisation"].parallelism
    assert evidence is not None
    assert evidence.span_ns <= evidence.work_ns

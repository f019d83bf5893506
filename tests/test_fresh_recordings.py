"""Traces recorded while the tests run say the same here as in the tools of the frameworks that wrote them.

Skipped where PyTorch or ONNX Runtime is not installed (the extra ``frameworks``).
"""

import json
from collections import Counter
from pathlib import Path

import pytest

import tracegap


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what PyTorch warns of is not ours
def test_self_times_agree_with_key_averages(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(1800, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(8, 3, 17, 17), torch.randint(10, (8,))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))

    ours = {one.name: one for one in tracegap.analyze(path, whole=True).results["overhead"].operators}
    theirs = {one.key: one for one in profiler.key_averages() if not one.is_user_annotation}
    assert ours.keys() == theirs.keys()
    assert len(ours) > 30
    for name, one in ours.items():
        assert one.count == theirs[name].count, name
        assert abs(one.self_ns / 1000 - theirs[name].self_cpu_time_total) <= one.count, name
        assert abs(one.total_ns / 1000 - theirs[name].cpu_time_total) <= one.count, name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what ONNX Runtime warns of is not ours
def test_operator_times_are_the_sums_over_an_onnx_runtime_file(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    import numpy as np

    names = ["Relu", "Exp", "Sqrt", "Tanh"]
    edges = ["start", "a", "b", "c", "end"]
    nodes = [onnx.helper.make_node(one, [edges[i]], [edges[i + 1]], name=f"{one}_{i}") for i, one in enumerate(names)]
    ends = [onnx.helper.make_tensor_value_info(edge, onnx.TensorProto.FLOAT, [64, 64]) for edge in ("start", "end")]
    graph = onnx.helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for _ in range(5):
        session.run(None, {"start": np.ones((64, 64), np.float32)})
    path = Path(session.end_profiling())

    summed: Counter[str] = Counter()
    for event in json.loads(path.read_text("utf-8")):
        if event["cat"] == "Node":
            summed[event["name"].removesuffix("_kernel_time")] += 1000 * event["dur"]
    report = tracegap.analyze(path)
    assert report.results["steps"].count == 5
    assert {one.name: one.operator_ns for one in report.results["overhead"].operators} == summed

"""What ready queries count, and what they leave out."""

import json
from pathlib import Path
from typing import Any

from tracegap.pipeline import analyze
from tracegap.sql import open_engine
from tracegap.sql.named import named_queries

SQL = {query.name: query.sql for query in named_queries()}


def converted(trace: Path) -> dict[Any, int]:
    with open_engine(trace) as engine:
        return {row[1]: row[3] for row in engine.query(SQL["layout-conversions"])}


def test_a_convolution_in_another_layout_is_no_conversion(samples: Path) -> None:
    found = converted(samples / "onnxruntime_segmentation.json.gz")
    assert len(found) == 7
    assert all(name.startswith("Reorder") for name in found)


def test_conversions_of_the_segmentation_sample_take_5_2_ms(samples: Path) -> None:
    assert sum(converted(samples / "segmentation.json").values()) == 5_200_000


def test_a_copy_counts_once_on_the_host_and_a_broadcast_never(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    named = [
        *[("aten::to", "cpu_op", 90), ("aten::_to_copy", "cpu_op", 80), ("aten::copy_", "cpu_op", 70)],
        *[("cudaMemcpyAsync", "cuda_runtime", 60), ("c10d::broadcast_", "cpu_op", 50)],
    ]
    kernels = [
        *[("void nchwToNhwcKernel<float>", "kernel", 20), ("Memcpy DtoD (Device -> Device)", "gpu_memcpy", 10)],
        *[("void max_pool_forward_nchw<float>", "kernel", 30), ("igemm_fwd_gtcx3_nhwc_bf16", "kernel", 40)],
    ]
    host = [{"ph": "X", "name": name, "cat": cat, "ts": 0, "dur": dur, "pid": 1, "tid": 1} for name, cat, dur in named]
    device = [
        {"ph": "X", "name": name, "cat": cat, "ts": 100 * number, "dur": dur, "pid": 0, "tid": 7}
        for number, (name, cat, dur) in enumerate(kernels)
    ]
    path.write_text(json.dumps({"traceEvents": host + device}))
    assert converted(path) == {
        "aten::copy_": 70_000,
        "void nchwToNhwcKernel<float>": 20_000,
        "Memcpy DtoD (Device -> Device)": 10_000,
    }


def test_waste_in_sql_is_what_the_analysis_says(samples: Path) -> None:
    path = samples / "segmentation.json"
    with open_engine(path) as engine:
        rows = engine.query("SELECT code, count(*), sum(time_ns) FROM tracegap_waste GROUP BY code").rows
    told = analyze(path).results["utilisation"].waste
    assert set(rows) == {(one.code, one.count, one.duration_ns) for one in told}
    assert rows

"""How near operators come to the limits of what ran them: the worked examples, and what must never be said."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tracegap
from tests.tracebuilder import OrtTrace, Trace
from tracegap import cli, dag
from tracegap.analyses import Model, utilisation
from tracegap.analyses.roofline import Use
from tracegap.analyses.use_results import Utilisation
from tracegap.errors import UsageError
from tracegap.extent import choose_window
from tracegap.hardware import Hardware, read_hardware
from tracegap.renderers.json import plain
from tracegap.report import Report


def result(trace: Trace, hardware: Hardware | None = None) -> Utilisation:
    found = utilisation.run(replace(trace.model(), hardware=hardware or Hardware()))
    assert found is not None
    return found


def report(trace: Trace, folder: Path, **options: Any) -> Report:
    path = folder / "trace.json"
    path.write_bytes(trace.bytes())
    return tracegap.analyze(path, **options)


def product(m: int, k: int, n: int, dtype: str = "c10::BFloat16") -> dict[str, Any]:
    return {"Input Dims": [[m, k], [k, n]], "Input type": [dtype, dtype]}


def on_gpu(name: str, microseconds: float, kernel: str = "gemm", **args: Any) -> Trace:
    """Write one operator whose only kernel takes so long."""
    trace = Trace()
    main = trace.thread()
    main.op(name, 0, 10, **args)
    trace.stream().kernel(kernel, 20, 20 + microseconds, main.launch(2, 4))
    return trace


def unknown_device(trace: Trace, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = trace.document()
    assert isinstance(document, dict)
    document["deviceProperties"][0]["name"] = name
    monkeypatch.setattr(trace, "document", lambda: document)


@pytest.fixture(scope="module")
def frame(samples: Path) -> Utilisation:
    """Return the segmentation sample on a board of 128 GFLOP/s and 13 GB/s."""
    found = tracegap.analyze(samples / "segmentation.json", peak_flops=128e9, peak_bandwidth=13e9)
    use: Utilisation = found.results["utilisation"]
    return use


def test_the_elementwise_chain_of_the_segmentation_sample_is_bandwidth_bound_and_to_be_fused(
    frame: Utilisation,
) -> None:
    (chain,) = frame.chains
    assert (len(chain.names), chain.bytes, chain.duration_ns) == (7, 117_440_512, 9_300_000)
    assert chain.bytes_per_s == pytest.approx(12.6e9, rel=0.005)
    assert chain.f_b == pytest.approx(0.97, abs=0.005)
    assert (chain.diagnosis, chain.action) == ("bandwidth bound", "Fuse them into one kernel.")
    assert chain.saving_bytes == 2 * 6 * 8_388_608


def test_the_layout_conversions_of_the_segmentation_sample_move_half_a_hundred_megabytes(frame: Utilisation) -> None:
    (layout,) = [use for use in frame.families if use.name == "layout"]
    assert (layout.count, layout.bytes, layout.duration_ns) == (6, 50_331_648, 5_200_000)
    assert layout.bytes_per_s == pytest.approx(9.7e9, rel=0.005)


def test_the_convolutions_of_the_segmentation_sample_reach_three_fifths_of_the_peak(frame: Utilisation) -> None:
    (convolution,) = [use for use in frame.families if use.name == "convolution"]
    assert (convolution.count, convolution.duration_ns) == (10, 25_400_000)
    assert convolution.flops == pytest.approx(1.9e9, rel=0.005)
    assert convolution.flops_per_s == pytest.approx(74.8e9, rel=0.005)
    assert convolution.f_c == pytest.approx(0.58, abs=0.005)
    assert convolution.diagnosis == "compute bound, inefficiently"


def test_the_segmentation_sample_is_modelled_whole_and_told_what_the_roof_allows(frame: Utilisation) -> None:
    assert frame.modelled_ratio == 1.0
    lost = sum(use.duration_ns - (use.attainable_ns or 0) for use in frame.operators)
    assert frame.ideal_wall_ns == pytest.approx(41_700_000 - lost, abs=100)


def test_a_matrix_vector_product_at_half_the_bandwidth_is_bandwidth_bound_inefficiently() -> None:
    trace = Trace()
    trace.thread().op("aten::mv", 0, 4600, **{"Input Dims": [[4096, 4096], [4096]], "Input type": ["c10::Half"] * 2})
    (use,) = result(trace, Hardware(peak_flops=128e9, peak_bandwidth=13e9)).operators
    assert use.flops == 33_554_432
    assert use.bytes == pytest.approx(33.55e6, rel=0.001)
    assert use.attainable_ns == pytest.approx(2.58e6, rel=0.001)
    assert use.f_b == pytest.approx(0.56, abs=0.005)
    assert use.diagnosis == "bandwidth bound, inefficiently"


def test_counters_stand_on_the_roofline_of_one_thread(tmp_path: Path) -> None:
    trace, each = OrtTrace(), 4900
    trace.run(0, 200 * each)
    shapes = {
        "op_name": "Conv",
        "provider": "CPUExecutionProvider",
        "input_type_shape": [{"float": [1, 64, 112, 112]}, {"float": [64, 1, 3, 3]}],
        "output_type_shape": [{"float": [1, 64, 112, 112]}],
    }
    for number in range(200):
        trace.add("depthwise_kernel_time", number * each, (number + 1) * each, "Node", 1, 1, **shapes)
    counted = tmp_path / "perf.csv"
    counted.write_text(
        "1960000000,,cycles,1,100.00,,\n2352000000,,instructions,1,100.00,,\n21000000,,cache-misses,1,80.00,,\n"
    )
    hardware = read_hardware(peak_flops=32e9, peak_bandwidth=6e9, counters=counted)
    found = result(trace, hardware).counters
    assert found is not None
    assert found.duration_ns == 980_000_000
    assert found.instructions_per_cycle == pytest.approx(1.2)
    assert found.flops_per_s == pytest.approx(2.95e9, rel=0.005)
    assert found.bytes_per_s == pytest.approx(1.37e9, rel=0.005)
    assert found.flops_per_instruction == pytest.approx(1.23, abs=0.005)
    assert found.vectorised is False
    assert found.f_c == pytest.approx(2.95 / 32, abs=0.001)
    assert found.diagnosis == "latency bound"
    assert found.warnings == ("cache-misses was counted 80% of the time and extrapolated: count fewer events at once.",)


def test_a_kernel_is_judged_by_the_limits_of_its_device_and_type() -> None:
    # 2·4096³ FLOPs at half of an A100's 312 TFLOP/s
    found = result(on_gpu("aten::mm", 881, **product(4096, 4096, 4096)))
    (use,) = [one for one in found.operators if one.device == "GPU 0"]
    assert (use.shapes, use.count, use.flops) == ("bf16[4096,4096] bf16[4096,4096]", 1, 2 * 4096**3)
    assert use.f_c == pytest.approx(0.5, abs=0.001)
    assert (use.attainable_ns, use.diagnosis) == (440_509, "compute bound, inefficiently")
    assert found.limits is not None
    assert (found.limits.flops_per_s, found.limits.bytes_per_s) == (312e12, 2039e9)
    # the window's 901 µs less what the kernel loses
    assert found.ideal_wall_ns == 901_000 - (881_000 - 440_509)


def test_float32_on_tensor_cores_is_judged_by_their_peak() -> None:
    shapes = product(4096, 4096, 4096, "float")
    plain_ = result(on_gpu("aten::mm", 10_000, kernel="ampere_sgemm_128x64_nn", **shapes)).operators[0]
    tensor = result(on_gpu("aten::mm", 10_000, kernel="cutlass_80_tensorop_s1688gemm_128x128", **shapes)).operators[0]
    assert plain_.f_c == pytest.approx(8 * (tensor.f_c or 0))


def test_a_gpu_never_judges_work_of_the_host() -> None:
    trace = on_gpu("aten::mm", 881, **product(4096, 4096, 4096))
    trace.thread().op("aten::mm", 2000, 3000, **product(64, 64, 64, "float"))
    for hardware in (Hardware(), Hardware(peak_flops=1e12, peak_bandwidth=1e12)):
        (use,) = [one for one in result(trace, hardware).operators if one.device == "host"]
        assert use.flops_per_s == pytest.approx(2 * 64**3 / 1e-3)
        assert (use.f_c, use.f_b, use.attainable_ns, use.diagnosis) == (None, None, None, None)


def test_a_fraction_over_one_is_a_problem_and_no_success(tmp_path: Path) -> None:
    # 1e15 FLOPs in 0.5 s would be 2000 TFLOP/s
    trace = on_gpu("aten::mm", 500_000, **product(50_000, 100_000, 100_000))
    said = report(trace, tmp_path, full=True)
    (found,) = [one for one in said.problems if one.code == "over-limit"]
    assert (found.count, found.severity) == (1, "loss")
    use = said.results["utilisation"].operators[0]
    assert use.f_c == pytest.approx(2000 / 312, rel=0.001)
    assert (use.over_limit, use.attainable_ns, use.diagnosis) == (True, None, "over the limit")
    text = tracegap.render(said, "text")
    assert "641" not in text
    assert "over the limit" in text


def test_an_unknown_device_gets_achieved_rates_and_a_request_for_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = on_gpu("aten::mm", 881, **product(4096, 4096, 4096))
    unknown_device(trace, "Graphics Device 9000", monkeypatch)
    found = result(trace)
    assert found.limits is None
    assert found.operators[0].flops_per_s == pytest.approx(156e12, rel=0.001)
    assert (found.operators[0].f_c, found.operators[0].diagnosis, found.ideal_wall_ns) == (None, None, None)
    assert any("--device-limits" in note for note in utilisation.section(found).notes)


def test_limits_of_a_file_hold_for_an_unknown_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limits = tmp_path / "board.toml"
    limits.write_text('device = "board"\nbandwidth = 1e12\n[flops]\nbfloat16 = 200e12\n')
    trace = on_gpu("aten::mm", 881, **product(4096, 4096, 4096))
    unknown_device(trace, "Graphics Device 9000", monkeypatch)
    found = result(trace, read_hardware(limits))
    assert found.operators[0].f_c == pytest.approx(156 / 200, abs=0.001)
    assert found.limits is not None
    assert found.limits.source == "board.toml"


def test_flops_that_the_profiler_counted_are_shown_with_the_share_of_time_they_cover() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 30, flops=3_000_000)
    main.op("MmBackward0", 40, 110)
    found = result(trace)
    assert found.operators[1].flops_per_s == pytest.approx(100e9)
    assert found.modelled_ratio == pytest.approx(0.3)
    lines = utilisation.section(found).lines
    assert any("30.0 % of operator time" in line and "100 GFLOP/s" in line for line in lines)


def test_operators_alike_in_name_shapes_and_device_are_one_row() -> None:
    trace = Trace()
    main = trace.thread()
    for number, rows in enumerate((8, 8, 16)):
        main.op("aten::mm", 20 * number, 20 * number + 10, **product(rows, 16, 4, "float"))
    rows_ = [(use.shapes, use.count, use.duration_ns) for use in result(trace).operators]
    assert rows_ == [("f32[8,16] f32[16,4]", 2, 20_000), ("f32[16,16] f32[16,4]", 1, 10_000)]


def test_a_trace_without_shapes_says_that_work_is_not_known() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    found = result(trace)
    assert found.modelled_ratio == 0.0
    assert any("record_shapes=True" in note for note in utilisation.section(found).notes)


@pytest.mark.parametrize("options", [{"peak_flops": 0.0}, {"peak_bandwidth": -1.0}, {"counters": "nowhere.csv"}])
def test_what_cannot_be_read_is_a_wrong_usage(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read_hardware(**options)


def _worst(use: Use) -> float:
    return max(use.f_c or 0.0, use.f_b or 0.0)


@pytest.mark.parametrize(
    "name",
    [
        "pytorch-cuda/tracelens-h100-qwen1.5.json.gz",
        "pytorch-cuda/tracelens-b200-eager.json.gz",
        "pytorch-cuda/particle_transformer-gpu.json.gz",
        "pytorch-rocm/tracelens-mi300-nsfw_vit.json.gz",
        "pytorch-cpu/particle_transformer-eval_mode.json.gz",
        "onnxruntime/ort1.32-seq.json",
    ],
)
def test_real_traces_have_no_unflagged_fraction_over_one_no_nan_and_a_stated_share(corpus: Path, name: str) -> None:
    timeline = tracegap.load(corpus / name)
    window = choose_window(timeline)
    found = utilisation.run(Model(timeline, window, dag.build(timeline, window)))
    assert found is not None
    assert [
        use for use in (*found.operators, *found.families, *found.totals) if _worst(use) > 1 and not use.over_limit
    ] == []
    json.dumps(plain(found), allow_nan=False)
    assert found.modelled_ratio is not None
    assert 0 < found.modelled_ratio <= 1


def test_limits_and_counters_are_options_of_the_command(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = tmp_path / "perf.csv"
    counted.write_text("1000,,cycles,1,100.00,,\n1500,,instructions,1,100.00,,\n")
    limits = ["--peak-flops", "128e9", "--peak-bandwidth", "13e9", "--counters", str(counted)]
    with pytest.raises(SystemExit) as stop:
        cli.main(["analyze", str(samples / "segmentation.json"), *limits, "--format", "json"])
    assert stop.value.code == 0
    use = json.loads(capsys.readouterr().out)["utilisation"]
    assert use["limits"] == {
        "device": "host",
        "source": "options",
        "flops_per_s": 128e9,
        "bytes_per_s": 13e9,
        "types": {"any": 128e9},
    }
    assert use["counters"]["instructions_per_cycle"] == 1.5


def test_a_rate_that_is_no_number_is_one_line_and_code_2(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["analyze", str(samples / "segmentation.json"), "--peak-flops", "fast"])
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--peak-flops 'fast'" in line

"""FLOPs of operators in fresh torch traces against `torch.utils.flop_counter`, which counts the same runs by dispatch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracegap.costs import Call, cost, family, texts

torch = pytest.importorskip("torch")
# Families that torch.utils.flop_counter knows; it leaves out all others.
COUNTED = ("gemm", "convolution", "attention")


def recorded(path: Path, run: Callable[[], object]) -> list[tuple[int, int, Any, Call]]:
    """Record `run` with shapes; (start, end, thread, call) of each operator, outer ones first."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        run()
    profiler.export_chrome_trace(str(path))
    calls = []
    for event in json.loads(path.read_text())["traceEvents"]:
        args = event.get("args", {})
        if event.get("cat") == "cpu_op" and "Input Dims" in args:
            names = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")
            dims, types, concrete, strides = (json.dumps(args[name]) for name in names)
            call = texts.kineto(event["name"], dims, types, concrete=concrete, strides=strides)
            start = round(event["ts"] * 1000)
            calls.append((start, start + round(event["dur"] * 1000), event["tid"], call))
    return sorted(calls, key=lambda one: (str(one[2]), one[0], -one[1]))


def counted(calls: list[tuple[int, int, Any, Call]]) -> int:
    """Add up the outermost operators that have a cost."""
    flops, thread, until = 0, None, 0
    for start, end, where, call in calls:
        if where == thread and start < until:
            continue
        made = cost(call) if family(call.name) in COUNTED else None
        if made is not None and made.flops is not None:
            flops += made.flops
            thread, until = where, end
    return flops


def expected(run: Callable[[], object]) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def small_cnn() -> Callable[[], object]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2, padding=1),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 24, 5, padding=2, dilation=1),
        torch.nn.MaxPool2d(2),
        torch.nn.ConvTranspose2d(24, 8, 3, stride=2, output_padding=1),
        torch.nn.Conv2d(8, 8, (1, 3), padding=(0, 1)),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 10),
    )
    x = torch.randn(4, 3, 33, 29)
    return lambda: model(x).square().sum().backward()


def small_transformer() -> Callable[[], object]:
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    x = torch.randn(3, 17, 32)

    def run() -> None:
        # The counter does not know the CPU's fused attention; as plain products it does.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            model(x).sum().backward()

    return run


def small_lstm() -> Callable[[], object]:
    model = torch.nn.LSTM(12, 20, num_layers=2, bidirectional=True)
    x = torch.randn(7, 5, 12)

    def run() -> None:
        # Without oneDNN the layer is linear and mm calls, which the counter knows.
        with torch.backends.mkldnn.flags(enabled=False):
            model(x)[0].sum().backward()

    return run


def matrix_products() -> Callable[[], object]:
    a, b, v = torch.randn(6, 5, 7), torch.randn(6, 7, 3), torch.randn(3)

    def run() -> None:
        torch.baddbmm(v, a, b)
        torch.einsum("bij,bjk->bik", a, b)
        torch.matmul(a[:, None], b[None])
        torch.nn.functional.linear(a, torch.randn(4, 7))

    return run


@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("make", [small_cnn, small_transformer, small_lstm, matrix_products])
def test_flops_agree_with_torch_within_one_per_cent(make: Callable[[], Callable[[], object]], tmp_path: Path) -> None:
    torch.manual_seed(0)
    run = make()
    ours = counted(recorded(tmp_path / "trace.json", run))
    assert ours == pytest.approx(expected(run), rel=0.01)
    assert ours > 10_000


def test_fused_attention_and_its_backward_count_as_torch_counts_a_gpus(tmp_path: Path) -> None:
    from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

    q, k, v = (torch.randn(2, 4, length, 8, requires_grad=True) for length in (16, 24, 24))
    calls = recorded(
        tmp_path / "trace.json", lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v).sum().backward()
    )
    made = {call.name: cost(call) for *_, call in calls}
    forward = made["aten::_scaled_dot_product_flash_attention_for_cpu"]
    backward = made["aten::_scaled_dot_product_flash_attention_for_cpu_backward"]
    assert forward is not None
    assert backward is not None
    assert forward.flops == sdpa_flop_count(q.shape, k.shape, v.shape)
    assert backward.flops == sdpa_backward_flop_count(q.shape, q.shape, k.shape, v.shape)


def test_the_fused_lstm_layer_counts_what_its_products_would(tmp_path: Path) -> None:
    model = torch.nn.LSTM(12, 20)
    x = torch.randn(7, 5, 12)
    calls = [call for *_, call in recorded(tmp_path / "trace.json", lambda: model(x))]
    (fused,) = [call for call in calls if call.name == "aten::mkldnn_rnn_layer"]
    made = cost(fused)
    assert made is not None
    assert made.flops == 2 * 7 * 5 * (4 * 20 * 12 + 4 * 20 * 20)


def test_no_operator_of_a_recorded_step_costs_less_than_nothing(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Softmax(-1))
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randn(4, 8)

    def run() -> None:
        model(x).sum().backward()
        optimiser.step()

    made = {call.name: cost(call) for *_, call in recorded(tmp_path / "trace.json", run)}
    for name in (
        "aten::linear",
        "aten::layer_norm",
        "aten::gelu",
        "aten::softmax",
        "aten::_fused_adamw_",
        "aten::gelu_backward",
    ):
        assert made[name] is not None, name
    assert all((one.flops or 0) >= 0 and (one.bytes or 0) >= 0 for one in made.values() if one)

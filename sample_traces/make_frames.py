"""Single frames of an inference program: one seen by PyTorch, two by ONNX Runtime."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import kineto

_US = 1_000
_BYTES = {"float": 4, "int64": 8}

Shape = list[int]
Span = tuple[str, str, int, int, dict[str, Any]]


def frame() -> bytes:
    """Return a frame of 11.4 ms in which operators run for 6.2 ms; 5.2 ms belong to none of them."""
    image, features, logits = [1, 3, 224, 224], [1, 64, 112, 112], [1, 1000]
    # Operators in order: µs since the one before ended, name with what it calls, µs, shapes of its inputs.
    operators: list[tuple[int, list[str], int, list[Shape]]] = [
        (700, ["aten::to", "aten::_to_copy", "aten::copy_"], 300, [image]),
        (650, ["aten::div"], 150, [image]),
        (900, ["aten::conv2d", "aten::convolution", "aten::mkldnn_convolution"], 3000, [image, [64, 3, 7, 7], [64]]),
        (150, ["aten::relu", "aten::clamp_min"], 600, [features]),
        (200, ["aten::adaptive_avg_pool2d", "aten::mean"], 850, [features]),
        (250, ["aten::linear", "aten::addmm"], 900, [[1, 64], [1000, 64], [1000]]),
        (1150, ["aten::softmax", "aten::_softmax"], 300, [logits]),
        (600, ["aten::topk"], 100, [logits]),
    ]
    rows: list[tuple[str, str, int, int, list[Shape]]] = []
    clock = 0
    for pause, names, length, shapes in operators:
        clock += pause * _US
        for depth, name in enumerate(names):
            # Each call inside is 2 µs later and ends 1 µs sooner than the one around it.
            rows.append(("cpu_op", name, clock + 2 * depth * _US, clock + (length - depth) * _US, shapes))
        clock += length * _US
    end = clock + 600 * _US
    rows += [
        ("user_annotation", "ProfilerStep#1", 0, end, []),
        ("user_annotation", "preprocess", 500 * _US, 1_900 * _US, []),
        ("user_annotation", "model", 2_400 * _US, 9_000 * _US, []),
        ("user_annotation", "postprocess", 9_100 * _US, 10_900 * _US, []),
    ]
    events = kineto.process(5200, "CPU", {5200: "thread 5200 (python)"})
    margin = 200 * _US
    for number, (cat, name, start, stop, shapes) in enumerate(sorted(rows, key=lambda row: (row[2], -row[3])), 1):
        args: dict[str, Any] = {"External id": number, "Record function id": 0, "Ev Idx": number}
        if shapes:
            args |= {"Input Dims": shapes, "Input type": ["float"] * len(shapes)}
        events.append(kineto.slice_(cat, name, 5200, 5200, start + margin, stop + margin, args))
    return kineto.document(events, end=end + 2 * margin, name="frame.json", header={"record_shapes": 1})


def segmentation() -> bytes:
    """Return a frame of 41.7 ms: convolutions 25.4, an elementwise chain 9.3, six layout conversions 5.2, the rest 1.8."""
    first, small, full, wide = [1, 16, 128, 256], [1, 32, 128, 256], [1, 64, 128, 256], [1, 64, 64, 128]
    small_last, classes, edges = [1, 128, 256, 32], [1, 19, 128, 256], [1, 4, 64, 128]

    def conv(name: str, microseconds: int, source: Shape, out: Shape, kernel: int, *, groups: int = 1) -> _Node:
        weights = [out[1], source[1] // groups, kernel, kernel]
        return _Node(name, "Conv", microseconds, [source, weights, [out[1]]], [out], parameters=2)

    def plain(name: str, operator: str, microseconds: int, source: Shape, out: Shape) -> _Node:
        return _Node(name, operator, microseconds, [source], [out])

    def there_and_back(number: int, there: int, back: int) -> list[_Node]:
        return [
            plain(f"to_nhwc_{number}", "Transpose", there, small, small_last),
            plain(f"to_nchw_{number}", "Transpose", back, small_last, small),
        ]

    chain = (
        ("Neg", 1300),
        ("Exp", 1340),
        ("Softplus", 1330),
        ("Tanh", 1350),
        ("HardSigmoid", 1310),
        ("Sqrt", 1345),
        ("Clip", 1325),
    )
    nodes = [
        conv("stem", 700, [1, 3, 256, 512], first, 3),
        conv("stage1", 3800, first, small, 3),
        *there_and_back(1, 860, 870),
        conv("stage2", 7550, small, small, 3),
        *there_and_back(2, 875, 865),
        conv("mix", 950, small, small, 1),
        *there_and_back(3, 862, 868),
        conv("widen", 1900, small, full, 1),
        *(plain(f"gate_{operator.lower()}", operator, microseconds, full, full) for operator, microseconds in chain),
        conv("classes", 1300, full, classes, 1),
        _Node("labels", "ArgMax", 400, [classes], [[1, 128, 256]], out_type="int64"),
        plain("pool", "MaxPool", 830, full, wide),
        conv("context", 7650, wide, wide, 3),
        conv("depthwise", 450, wide, wide, 3, groups=64),
        conv("pointwise", 900, wide, wide, 1),
        conv("edges", 200, wide, edges, 1),
        plain("edge_softmax", "Softmax", 40, edges, edges),
    ]
    begin, clock = 5_000, 5_000 + 104
    rows: list[Span] = []
    for index, node in enumerate(nodes):
        rows.append(node.row(index, clock, "CPUExecutionProvider"))
        clock += node.microseconds + 12
    rows.append(("Session", "SequentialExecutor::Execute", begin + 90, begin + 41_610, {}))
    rows.append(("Session", "model_run", begin, begin + 41_700, {}))
    return _session(rows)


def detector() -> bytes:
    """Return a frame of 61 ms on an NPU delegate.

    Preprocessing 26.5 ms, of which colour conversion 14; the model 21 ms in seven partitions with six hand-offs, 8 ms of it
    on the NPU; the rest 13.5 ms.
    """
    npu, cpu = "QNNExecutionProvider", "CPUExecutionProvider"
    coarse, grid, wide, boxes = [1, 64, 40, 40], [1, 64, 80, 80], [1, 128, 80, 80], [1, 84, 8400]
    partitions: list[tuple[str, list[_Node]]] = [
        (npu, [_Node("QNN_0", "QNN_0", 2600, [[1, 3, 640, 640]], [coarse])]),
        (
            cpu,
            [
                _Node("resize_1", "Resize", 1700, [coarse], [grid]),
                _Node("concat_1", "Concat", 600, [grid, grid], [wide]),
            ],
        ),
        (npu, [_Node("QNN_1", "QNN_1", 2100, [wide], [coarse])]),
        (
            cpu,
            [
                _Node("resize_2", "Resize", 1600, [coarse], [grid]),
                _Node("concat_2", "Concat", 700, [grid, grid], [wide]),
            ],
        ),
        (npu, [_Node("QNN_2", "QNN_2", 2000, [wide], [[1, 16, 4, 8400]])]),
        (cpu, [_Node("dfl_softmax", "Softmax", 2100, [[1, 16, 4, 8400]], [[1, 16, 4, 8400]])]),
        (npu, [_Node("QNN_3", "QNN_3", 1300, [[1, 16, 4, 8400]], [boxes])]),
    ]
    # Between two partitions the tensors are handed over (µs).
    handoffs = (1100, 900, 1150, 850, 1050, 850)
    frame, model = 2_000, 2_000 + 26_600
    rows: list[Span] = []
    clock, index = model + 170, 0
    for (provider, nodes), handoff in zip(partitions, (*handoffs, 0), strict=True):
        for node in nodes:
            rows.append(node.row(index, clock, provider))
            clock += node.microseconds
            index += 1
        clock += handoff
    rows += [
        ("Session", "SequentialExecutor::Execute", model + 90, model + 20_900, {}),
        ("Session", "model_run", model + 20, model + 20_980, {}),
        *_stage("model", model, 21_000),
        *_stage("preprocess", frame, 26_500),
        *_stage("decode", frame + 100, 5_200),
        *_stage("colour_conversion", frame + 5_350, 14_000),
        *_stage("resize", frame + 19_400, 4_700),
        *_stage("normalise", frame + 24_150, 2_250),
        *_stage("postprocess", frame + 47_700, 13_200),
        *_stage("nms", frame + 47_800, 7_300),
        *_stage("draw", frame + 55_200, 5_600),
        *_stage("frame#1", frame, 61_000),
    ]
    return _session(rows)


@dataclass(frozen=True)
class _Node:
    """One operator of an ONNX graph and how long it took; ``parameters`` of its inputs, from the last, are weights."""

    name: str
    operator: str
    microseconds: int
    inputs: list[Shape]
    outputs: list[Shape]
    parameters: int = 0
    out_type: str = "float"

    def row(self, index: int, start: int, provider: str) -> Span:
        activations = self.inputs[: len(self.inputs) - self.parameters]
        args = {
            "op_name": self.operator,
            "provider": provider,
            "node_index": str(index),
            "thread_scheduling_stats": "",
            "input_type_shape": [{"float": shape} for shape in self.inputs],
            "output_type_shape": [{self.out_type: shape} for shape in self.outputs],
            "activation_size": str(_size(activations)),
            "parameter_size": str(_size(self.inputs[len(activations) :])),
            "output_size": str(_size(self.outputs, self.out_type)),
        }
        return ("Node", f"{self.name}_kernel_time", start, start + self.microseconds, args)


def _size(shapes: Iterable[Sequence[int]], kind: str = "float") -> int:
    total = 0
    for shape in shapes:
        elements = _BYTES[kind]
        for side in shape:
            elements *= side
        total += elements
    return total


def _stage(name: str, start: int, microseconds: int) -> list[Span]:
    """Return a range that the program around the session wrote into the same file."""
    return [("application", name, start, start + microseconds, {})]


def _session(rows: list[Span]) -> bytes:
    """Write an ONNX Runtime profile: a bare array, whole µs, children before the slices around them."""
    start: list[Span] = [
        ("Session", "model_loading_uri", 3, 640, {}),
        ("Session", "session_initialization", 700, 1_900, {}),
    ]
    lines = []
    for cat, name, begin, end, args in [*start, *sorted(rows, key=lambda row: (row[3], -row[2]))]:
        place = f'"cat" : "{cat}","pid" :7300,"tid" :7300,"dur" :{end - begin},"ts" :{begin},"ph" : "X"'
        lines.append(f'{{{place},"name" :{json.dumps(name)},"args" : {json.dumps(args)}}}')
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()

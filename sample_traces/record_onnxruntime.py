"""Record a small segmentation network with ONNX Runtime on the CPU.

Needs onnx and onnxruntime (recorded with 1.23.2 and 1.32.0). Times differ from run to run; the file here is one run.
"""

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from scrub import scrubbed


def network() -> onnx.ModelProto:
    """Return convolutions with leftover layout conversions between them and an elementwise chain behind."""
    random = np.random.default_rng(0)
    weights, nodes, value = [], [], "image"

    def add(operator: str, *parameters: str, **attributes: object) -> None:
        nonlocal value
        out = f"{operator.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(operator, [value, *parameters], [out], name=out, **attributes))
        value = out

    def convolve(source: int, target: int) -> None:
        name = f"weight_{len(nodes)}"
        tensor = (random.standard_normal((target, source, 3, 3)) / 10).astype(np.float32)
        weights.append(numpy_helper.from_array(tensor, name))
        add("Conv", name, pads=[1, 1, 1, 1])

    for source, target in ((3, 16), (16, 32), (32, 32)):
        convolve(source, target)
        add("Transpose", perm=[0, 2, 3, 1])
        add("Softplus")
        add("Transpose", perm=[0, 3, 1, 2])
    for operator in ("Abs", "Sqrt", "Exp", "Tanh"):
        add(operator)
    convolve(32, 8)
    add("ArgMax", axis=1, keepdims=0)
    graph = helper.make_graph(
        nodes,
        "segmentation",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 96, 96])],
        [helper.make_tensor_value_info(value, TensorProto.INT64, [1, 96, 96])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main() -> None:
    """Run ten frames with profiling on and write the trace beside this file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = onnxruntime.InferenceSession(
            network().SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        image = np.random.default_rng(1).standard_normal((1, 3, 96, 96)).astype(np.float32)
        for _ in range(10):
            session.run(None, {"image": image})
        trace = Path(session.end_profiling()).read_bytes()
    (Path(__file__).parent / "onnxruntime_segmentation.json.gz").write_bytes(scrubbed(trace))


if __name__ == "__main__":
    main()

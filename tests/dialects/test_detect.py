import pytest

from tracegap.dialects import DIALECTS, Head, detect
from tracegap.errors import UsageError


def head(*events, bare=False, **header):
    return Head(header=header, events=events, bare=bare)


KINETO = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 1}
LEGACY = {"ph": "X", "name": "aten::mm", "pid": "CPU functions", "tid": 1, "ts": 0, "dur": 1, "args": {}}
ORT = {"ph": "X", "cat": "Session", "name": "model_run", "pid": 1, "tid": 1, "ts": 0, "dur": 1}
HOST = {"ph": "M", "name": "process_name", "pid": 701, "args": {"name": "/host:CPU"}}


def process(name):
    return {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": name}}


def thread(name):
    return {"ph": "M", "name": "thread_name", "pid": 701, "tid": 5, "args": {"name": name}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (head(KINETO), "pytorch"),
        (head(LEGACY, bare=True), "pytorch"),
        (head(deviceProperties=[]), "pytorch"),
        (head(HOST, thread("tf_Compute/48447815")), "tensorflow"),
        (head(HOST, thread("python"), {"ph": "X", "name": "TFE_Py_Execute", "pid": 701, "tid": 5}), "tensorflow"),
        (head(process("/job:localhost/replica:0/task:0/device:CPU:0 Compute")), "tensorflow"),
        (head(process("/gpu:0/stream:all Compute")), "tensorflow"),
        (head(HOST, thread("tf_XLAPjRtCpuClient/30721")), "jax"),
        (head(HOST, {"ph": "X", "name": "PjitFunction(loss)", "pid": 701, "tid": 5}), "jax"),
        (head(process("vm /host:CPU"), thread("tf_data_iterator_resource/7")), "tensorflow"),
        (head(ORT, bare=True), "onnxruntime"),
        (head(process("onnxruntime-mlx-ep"), bare=True), "onnxruntime"),
        (head({"ph": "X", "cat": "foo", "name": "work", "pid": 1, "tid": 1, "ts": 0, "dur": 1}), "chrome"),
        (head(), "chrome"),
        (head({**KINETO, "cat": {}, "pid": []}), "chrome"),
    ],
)
def test_a_file_is_known_by_its_head(given, expected):
    assert expected == detect(given).NAME


def test_a_name_overrules_the_head():
    assert detect(head(KINETO), name="chrome").NAME == "chrome"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UsageError, match="'torch': choose one of pytorch, tensorflow, jax, onnxruntime, chrome"):
        detect(head(KINETO), name="torch")


def test_two_dialects_at_once_ask_for_the_option():
    with pytest.raises(UsageError, match="pytorch and onnxruntime at once: choose with --dialect pytorch"):
        detect(head(KINETO, ORT))


def test_every_dialect_has_a_title_and_a_name_of_its_own():
    assert len({dialect.NAME for dialect in DIALECTS}) == len({dialect.TITLE for dialect in DIALECTS}) == 5


@pytest.mark.parametrize("name", [dialect.NAME for dialect in DIALECTS])
def test_any_dialect_marks_any_trace(mark, name):
    kernel = {**KINETO, "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "args": {"correlation": 3, "stream": 7}}
    plane = {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "/device:GPU:0/stream:all Compute"}}
    node = {**ORT, "cat": "Node", "name": "_kernel_time", "args": {"op_name": "Conv"}}
    told = mark([KINETO, {**LEGACY, "args": None}, ORT, HOST, plane, thread("python"), kernel, node, {}], dialect=name)
    assert told.dialect == name
    assert told.kinds()["model_run"] in ("STEP", "OP", "OTHER", "ANNOTATION")

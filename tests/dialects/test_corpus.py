"""Every trace of the corpus is known by its dialect, and marked without an error."""

import numpy as np
import pytest

from tracegap.errors import FormatError
from tracegap.kinds import DEVICE_WORK, Kind

FOLDERS = {
    "pytorch-cpu": "pytorch",
    "pytorch-cuda": "pytorch",
    "pytorch-rocm": "pytorch",
    "pytorch-other": "pytorch",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "onnxruntime": "onnxruntime",
    "other": "chrome",
}
PREFIXES = {
    "torch": "pytorch",
    "toy": "pytorch",
    "ort": "onnxruntime",
    "tf": "tensorflow",
    "jax": "jax",
    "viz": "chrome",
}
NOT_KINETO = ("ascend-event_list", "ibm-aiu")
LARGE = 3_000_000


def expected(path):
    if path.name.startswith(NOT_KINETO):
        return "chrome"
    if path.parent.name == "recorded":
        return next(dialect for prefix, dialect in PREFIXES.items() if path.name.startswith(prefix))
    return FOLDERS[path.parent.name]


def traces(corpus, *folders):
    paths = [path for folder in folders for path in sorted((corpus / folder).iterdir()) if path.suffix != ".md"]
    assert paths
    return [path for path in paths if path.stat().st_size < LARGE]


@pytest.mark.slow
@pytest.mark.parametrize("folder", [*FOLDERS, "recorded"])
def test_every_trace_is_marked_by_the_dialect_of_its_folder(corpus, read, folder):
    for path in traces(corpus, folder):
        told = read(path)
        marks = told.marks
        assert told.dialect == expected(path), path.name
        track = told.events.thread if marks.track is None else marks.track
        on_device = np.isin(marks.kind, (*DEVICE_WORK, Kind.WAIT))
        assert (marks.tracks.device[track[on_device]] >= 0).all(), path.name
        assert (marks.tracks.device < len(marks.devices)).all(), path.name
        assert bool(on_device.any()) <= bool(marks.devices), path.name
        assert len(marks.devices) <= 2, f"{path.name}: the corpus holds no trace of more devices"
        assert (marks.launch[~on_device] == -1).all(), path.name
        launched = marks.launch[marks.launch >= 0]
        assert not np.isin(marks.kind[launched], (*DEVICE_WORK, Kind.NONE)).any(), path.name


@pytest.mark.slow
def test_damaged_traces_are_marked_or_refused_in_one_line(corpus, read):
    refused = []
    for path in traces(corpus, "malformed"):
        try:
            told = read(path)
        except FormatError as error:
            refused.append(str(error))
            continue
        assert told.dialect in ("pytorch", "onnxruntime", "chrome"), path.name
    assert refused
    assert not [text for text in refused if "\n" in text]


@pytest.mark.parametrize(
    ("name", "devices", "linked", "steps"),
    [
        ("pytorch-cuda/deepseek-train.json.gz", ["NVIDIA H800"], 983, [1]),
        ("pytorch-cuda/hta-cuda_event_sync.json.gz", ["NVIDIA A100-PG509-200"], 5, [100]),
        ("pytorch-rocm/tracelens-vllm_decode_full_graph_execution.json.gz", [""], 434, []),
        ("pytorch-rocm/hta-mi250_minitoy_ROCm6_2.json.gz", ["AMD Radeon Graphics"], 16, [1, 2]),
        ("tensorflow/xprof-tf2-cnn-logs_load.trace.json.gz", [""], 2415, [*range(109, 128)]),
        ("recorded/torch_schedule_cycle1.pt.trace.json.gz", [], 0, [6, 7]),
        ("recorded/jax_train.trace.json.gz", [], 0, [0, 1, 2, 3, 4]),
        ("recorded/tf_train_steps.streaming_viewer.json.gz", [], 0, [0, 1, 2, 3, 4]),
        ("recorded/ort_encoder_two_clients.json.gz", [], 0, [*range(20)]),
    ],
)
def test_devices_launches_and_steps_of_known_traces(corpus, read, name, devices, linked, steps):
    told = read(corpus / name)
    works = np.isin(told.marks.kind, DEVICE_WORK)
    assert [device.name for device in told.marks.devices] == devices
    assert int((told.marks.launch[works] >= 0).sum()) == linked
    assert told.steps() == steps

"""Profiles of ONNX Runtime, and of its plug-in execution providers and the onnx-genai engine.

``model_run`` ⊃ ``SequentialExecutor::Execute`` ⊃ nodes (``<node>_kernel_time``). A node's time on a GPU provider is the
time to hand work over; device rows (category Kernel) hold the work, where the provider records them. Programs write
ranges of their own into the same file: those are annotations, and one named like a step that holds a run is the step.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.chrome import STEP_NAME
from tracegap.dialects.kineto_names import device_kind, runtime_kind
from tracegap.dialects.marks import Device, Head, Marks, TrackMarks
from tracegap.dialects.rows import NONE, are_slices, host_tracks, labels, latest, nothing, tell, threads_of
from tracegap.events import ArgType, Events
from tracegap.kinds import Kind, Role

NAME = "onnxruntime"
TITLE = "ONNX Runtime"

ARGS: Mapping[str, ArgType] = {
    "op_name": ArgType.TEXT,
    "op_type": ArgType.TEXT,
    "provider": ArgType.TEXT,
    "device": ArgType.TEXT,
    "stream": ArgType.TEXT,
    "parent_name": ArgType.TEXT,
    "node_index": ArgType.INT,
    "input_type_shape": ArgType.TEXT,
    "output_type_shape": ArgType.TEXT,
    "input_shapes": ArgType.TEXT,
    "output_shapes": ArgType.TEXT,
    "activation_size": ArgType.INT,
    "parameter_size": ArgType.INT,
    "output_size": ArgType.INT,
    "bytes": ArgType.INT,
    "flops": ArgType.INT,
}

_SESSION = ("model_run", "SequentialExecutor::Execute", "session_initialization", "model_loading_")
_NODE = ("_kernel_time", "_fence_before", "_fence_after")
_ENGINE = ("engine.", "loop.", "native.session_run", "session.executor_build")
_SUFFIX = "_kernel_time"
_OWN = ("Session", "Node", "Kernel", "gpu", "Api", "engine", "loop", "native", "session")
"""Categories of the runtime, its providers and its engine, beside those that begin with ``op`` and ``ep``."""


def sniff(head: Head) -> bool:
    """Whether the file is ONNX Runtime's: session and node rows, an execution provider's tracer, or onnx-genai."""
    for event in head.events:
        name, category = str(event.get("name", "")), event.get("cat")
        if category == "Session" and name.startswith(_SESSION):
            return True
        if category == "Node" and name.endswith(_NODE):
            return True
        if category in ("engine", "loop", "native", "session") and name.startswith(_ENGINE):
            return True
    return any(name.startswith("onnxruntime-") for name in head.given("process_name"))


def mark(events: Events) -> Marks:
    """Say what each event means: nodes are operators, runs are steps, rows of the Kernel category run on a device."""
    slices = are_slices(events)
    kinds = np.full(len(events), NONE, np.uint8)
    for category in np.unique(events.category[slices]).tolist():
        rows = np.flatnonzero(slices & (events.category == category))
        text = events.strings[category] if category >= 0 else ""
        kinds[rows] = tell(events.name[rows], events.strings, lambda name, text=text: _kind(text, name))  # type: ignore[misc]
    _program_steps(events, kinds)
    on_device = _device_rows(events, kinds)
    strings, name = _names(events, kinds)
    tracks, devices, track = _tracks(events, on_device)
    return Marks(
        kind=kinds,
        name=name,
        launch=_launches(events, kinds, on_device),
        strings=strings,
        tracks=tracks,
        devices=devices,
        step_number=_number_steps(events, kinds),
        provider=_providers(events, kinds, on_device),
        producer=TITLE,
        track=track,
    )


def _kind(category: str, name: str) -> Kind:
    match category:
        case "Session":
            return {"model_run": Kind.STEP, "SequentialExecutor::Execute": Kind.ANNOTATION}.get(name, Kind.OTHER)
        case "Node":
            return Kind.RUNTIME if name.endswith(_NODE[1:]) else Kind.OP
        case "Kernel" | "gpu":
            return device_kind(name)
        case "Api":
            return runtime_kind(name)
        case "op" | "op.fast" | "op.worker":
            return Kind.OP
        case "loop":
            return Kind.STEP if name in ("loop.step", "loop.prefill") else Kind.OTHER
        case "ep":
            return Kind.ANNOTATION
        case "ep.phase":
            return Kind.SYNC if name.endswith("_wait") else Kind.RUNTIME
    own = not category or category in _OWN or category.startswith(("op.", "ep."))
    return Kind.OTHER if own else Kind.ANNOTATION


def _program_steps(events: Events, kinds: NDArray[np.uint8]) -> None:
    """Where the program's own ranges named like steps hold runs of the session, make those the steps, in place."""
    ranges = np.flatnonzero(kinds == Kind.ANNOTATION)
    ranges = ranges[tell(events.name[ranges], events.strings, lambda name: bool(STEP_NAME.match(name))) > 0]
    runs = np.flatnonzero(kinds == Kind.STEP)
    start, end, thread = events.start, events.start + events.duration, events.thread.astype(np.int64)
    around = latest(thread[ranges], start[ranges], thread[runs], start[runs])
    runs, around = runs[around >= 0], ranges[around[around >= 0]]
    holds = (start[around] <= start[runs]) & (end[runs] <= end[around])
    if holds.any():
        kinds[kinds == Kind.STEP] = Kind.ANNOTATION
        kinds[ranges[np.isin(thread[ranges], thread[around[holds]])]] = Kind.STEP


def _device_rows(events: Events, kinds: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the rows that ran on a device; a provider's wait for its GPU, on a thread of host work, becomes SYNC."""
    claimed = (kinds == Kind.KERNEL) | (kinds == Kind.COMM) | (kinds == Kind.COPY)
    if "gpu" in events.strings:
        evaluation = claimed & (events.category == events.strings.index("gpu"))
        shared = threads_of(events, (kinds != Kind.NONE) & ~claimed)
        waits = evaluation & shared[events.thread]
        kinds[waits] = Kind.SYNC
        claimed &= ~waits
    return np.asarray(claimed)


def _names(events: Events, kinds: NDArray[np.uint8]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Name a node's row by the node, and by its operator where the node has no name."""
    strings = list(events.strings)
    shown = np.arange(len(strings) + 1, dtype=np.int32)
    shown[-1] = -1
    nameless = np.zeros(len(strings) + 1, bool)
    nodes = np.flatnonzero((kinds == Kind.OP) | (kinds == Kind.RUNTIME))
    for known in np.unique(events.name[nodes]).tolist():
        text = events.strings[known] if known >= 0 else ""
        nameless[known] = text in _NODE
        if text.endswith(_SUFFIX) and text != _SUFFIX:
            shown[known] = len(strings)
            strings.append(text.removesuffix(_SUFFIX))
    name = events.name.copy()
    name[nodes] = shown[name[nodes]]
    operator = events.arg("op_name").at(nodes)
    unnamed = nameless[events.name[nodes]] & (operator >= 0)
    name[nodes[unnamed]] = operator[unnamed]
    return tuple(strings), name


def _number_steps(events: Events, kinds: NDArray[np.uint8]) -> dict[int, int]:
    """Return the numbers of the session's runs, by time; the program's own steps have theirs in their names."""
    rows = np.flatnonzero(kinds == Kind.STEP)
    if tell(events.name[rows], events.strings, lambda name: bool(STEP_NAME.match(name))).any():
        return {}
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    return {row: number for number, row in enumerate(rows.tolist())}


def _providers(events: Events, kinds: NDArray[np.uint8], on_device: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the execution provider of each operator; a provider's own tracer says ``device`` instead."""
    rows = np.arange(len(events))
    provider, device = events.arg("provider").at(rows), events.arg("device").at(rows)
    chosen = np.where(provider >= 0, provider, device)
    return np.where((kinds == Kind.OP) | on_device, chosen, -1).astype(np.int32)


def _launches(events: Events, kinds: NDArray[np.uint8], on_device: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Give device rows to the node that their ``parent_name`` names, else to the latest node of their operator."""
    launch = nothing(events)
    nodes = np.flatnonzero((kinds == Kind.OP) & ~on_device)
    for wanted, own in (
        (events.arg("parent_name"), events.name[nodes]),
        (events.arg("op_name"), events.arg("op_name").at(nodes)),
    ):
        rows = wanted.rows[on_device[wanted.rows]].astype(np.int64)
        rows = rows[launch[rows] < 0]
        found = latest(own.astype(np.int64), events.start[nodes], wanted.at(rows).astype(np.int64), events.start[rows])
        launch[rows[found >= 0]] = nodes[found[found >= 0]]
    return launch


def _tracks(
    events: Events, on_device: NDArray[np.bool_]
) -> tuple[TrackMarks, tuple[Device, ...], NDArray[np.int32] | None]:
    """Return host threads, and behind them a track for each stream: the file puts all streams on one thread."""
    host = host_tracks(events)
    rows = np.flatnonzero(on_device)
    if not len(rows):
        return host, (), None
    stream = events.arg("stream").at(rows).astype(np.int64)
    thread = events.thread[rows].astype(np.int64)
    _, first, place = np.unique(labels(thread, stream), return_index=True, return_inverse=True)
    keys = np.stack((thread[first], stream[first]), axis=1)
    count = len(keys)
    texts = [events.strings[one] if one >= 0 else str(events.threads[thread].thread) for thread, one in keys.tolist()]
    name = events.arg("device").at(rows[first[:1]])[0]
    tracks = TrackMarks(
        role=np.concatenate((host.role, np.full(count, Role.DEVICE, np.uint8))),
        device=np.concatenate((host.device, np.zeros(count, np.int32))),
        ordered=np.concatenate((host.ordered, np.ones(count, bool))),
        label=(*host.label, *(f"stream {text}" for text in texts)),
    )
    track = events.thread.copy()
    track[rows] = len(host) + place.reshape(-1)
    return tracks, (Device("GPU 0", events.strings[name] if name >= 0 else ""),), track.astype(np.int32)

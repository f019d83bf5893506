"""Traces of PyTorch: Kineto since 2020 on any device, and the autograd profiler's export before it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects import kineto_links, kineto_tracks
from tracegap.dialects.kineto_names import CATEGORIES, STEP, Source, kind
from tracegap.dialects.marks import Head, Marks
from tracegap.dialects.rows import NONE, are_slices, process_texts, tell
from tracegap.events import ArgType, Events
from tracegap.kinds import Kind

NAME = "pytorch"
TITLE = "PyTorch"

# In the order in which Kineto writes them: msgspec looks for a key from the last one it found on.
ARGS: Mapping[str, ArgType] = {
    "External id": ArgType.INT,
    "external id": ArgType.INT,
    "Sequence number": ArgType.INT,
    "Fwd thread id": ArgType.INT,
    "Collective name": ArgType.TEXT,
    "In msg nelems": ArgType.INT,
    "Out msg nelems": ArgType.INT,
    "Group size": ArgType.INT,
    "dtype": ArgType.TEXT,
    "Concrete Inputs": ArgType.TEXT,
    "Input type": ArgType.TEXT,
    "Input Strides": ArgType.TEXT,
    "Input Dims": ArgType.TEXT,
    "Input dims": ArgType.TEXT,
    "wait_on_stream": ArgType.INT,
    "wait_on_cuda_event_record_corr_id": ArgType.INT,
    "cuda_sync_kind": ArgType.TEXT,
    "device": ArgType.INT,
    "stream": ArgType.INT,
    "correlation": ArgType.INT,
    "blocks per SM": ArgType.REAL,
    "warps per SM": ArgType.REAL,
    "est. achieved occupancy %": ArgType.REAL,
    "bytes": ArgType.INT,
    "flops": ArgType.INT,
    "Device Type": ArgType.INT,
    "Device Id": ArgType.INT,
    "Addr": ArgType.INT,
    "Bytes": ArgType.INT,
    "Total Allocated": ArgType.INT,
    "Total Reserved": ArgType.INT,
}

_HEADER = ("deviceProperties", "distributedInfo", "baseTimeNanoseconds", "schemaVersion")
_LEGACY = ("CPU functions", "CUDA functions")
_OWN = frozenset(CATEGORIES) - {"Kernel", "Memcpy", "Memset", "Trace", "overhead", "enqueue", "dequeue"} | {
    "ac2g",
    "fwdbwd",
}
_PSEUDO = ("Spans", "Traces")


def sniff(head: Head) -> bool:
    """Whether the file is PyTorch's: by its top-level keys, its categories, or the old exporter's process names."""
    if any(key in head.header for key in _HEADER):
        return True
    return any(
        str(event.get("cat")) in _OWN  # as text: a damaged file may hold anything there
        or str(event.get("pid")) in _LEGACY
        or str(event.get("name", "")).startswith("ProfilerStep#")
        for event in head.events
    )


def mark(events: Events) -> Marks:
    """Say what each event means: kinds by category and name, devices by process, launches by correlation id."""
    slices = are_slices(events)
    source = _sources(events)
    kinds = _kinds(events, slices, source)
    on_device = slices & _from_device(source)
    _demote_device_steps(kinds, on_device)
    tracks, devices, track = kineto_tracks.tracks(events, on_device, slices & ~on_device & (kinds != Kind.NONE))
    calls = slices & ~on_device & ((kinds == Kind.RUNTIME) | (kinds == Kind.SYNC))
    operators = slices & ~on_device & ((kinds == Kind.OP) | (kinds == Kind.INPUT))
    works = on_device & (kinds != Kind.ANNOTATION) & (kinds != Kind.NONE)
    links = kineto_links.launches(events, calls, operators, works)
    sources, targets = (np.empty(0, np.int32),) * 2
    if "fwdbwd" not in events.strings:
        sources, targets = kineto_links.backward(events, operators)
    return Marks(
        kind=kinds,
        name=events.name,
        launch=links.launch,
        strings=events.strings,
        tracks=tracks,
        devices=devices,
        step_number=_step_numbers(events, kinds),
        sources=sources,
        targets=targets,
        flow_kind=np.zeros(len(sources), np.uint8),
        flow_kinds=("fwdbwd",) if len(sources) else (),
        producer=TITLE,
        problems=links.problems,
        track=track,
    )


def _sources(events: Events) -> NDArray[np.uint8]:
    """Return who wrote each row: its category, else its process; uint8[n] of `Source`."""
    labels, names = process_texts(events, "process_labels"), process_texts(events, "process_name")
    by_process: dict[Any, Source] = {
        process: _process_source(process, labels.get(process, ""), names.get(process, ""))
        for process in {thread.process for thread in events.threads}
    }
    by_thread = np.array([by_process[thread.process] for thread in events.threads], np.uint8)
    by_category = tell(events.category, events.strings, lambda text: CATEGORIES.get(text, Source.UNKNOWN))
    return np.where(by_category == Source.UNKNOWN, by_thread[events.thread], by_category).astype(np.uint8)


def _process_source(process: int | str | None, label: str, name: str) -> Source:
    """Tell what rows without a known category are by the process they stand in."""
    if process in _PSEUDO:
        return Source.NOTHING
    if process == "CUDA functions" or name == "Ascend Hardware":
        return Source.DEVICE
    if name == "CANN":
        return Source.RUNTIME
    # msprof draws the kernels again, summed up by what they overlap with
    if name in ("Overlap Analysis", "Communication") and label.startswith("NPU"):
        return Source.NOTHING
    return Source.DEVICE if kineto_tracks.DEVICE_LABEL.search(label) else Source.OPERATOR


def _from_device(source: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray((source >= Source.DEVICE) & (source <= Source.DEVICE_ANNOTATION))


def _kinds(events: Events, slices: NDArray[np.bool_], source: NDArray[np.uint8]) -> NDArray[np.uint8]:
    kinds = np.full(len(events), NONE, np.uint8)
    for one in np.unique(source[slices]).tolist():
        rows = np.flatnonzero(slices & (source == one))
        writer = Source(one)
        kinds[rows] = tell(events.name[rows], events.strings, lambda name, writer=writer: kind(writer, name))  # type: ignore[misc]
    collective = events.arg("Collective name").rows
    kinds[collective[kinds[collective] == Kind.KERNEL]] = Kind.COMM
    return kinds


def _demote_device_steps(kinds: NDArray[np.uint8], on_device: NDArray[np.bool_]) -> None:
    """Keep steps on the host: Kineto repeats their annotations on the device."""
    kinds[on_device & (kinds == Kind.STEP)] = Kind.ANNOTATION


def _step_numbers(events: Events, kinds: NDArray[np.uint8]) -> dict[int, int]:
    found = {row: STEP.match(events.strings[events.name[row]]) for row in np.flatnonzero(kinds == Kind.STEP).tolist()}
    return {row: int(match[1]) for row, match in found.items() if match and len(match[1]) < 18}

"""Threads, streams and devices of Kineto traces."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.marks import Device, TrackMarks
from tracegap.dialects.rows import apart, host_label, number, process_texts, thread_names
from tracegap.events import Events
from tracegap.kinds import Role

DEVICE_LABEL = re.compile(r"\b(GPU|NPU|MTIA|XPU|HPU|TPU|CUDA|HIP)\s*:?\s*(\d+)?$")
"""What ``process_labels`` says of a device's process: ``GPU 0``."""

_CANN = "CANN"


def tracks(
    events: Events, on_device: NDArray[np.bool_], on_host: NDArray[np.bool_]
) -> tuple[TrackMarks, tuple[Device, ...], NDArray[np.int32] | None]:
    """Return the tracks, the devices, and the track of each row where that is not its thread's.

    A thread that holds host and device rows (both masks bool[n]) becomes two tracks, a thread that goes by two names one.
    """
    count = len(events.threads)
    own = _one_name(events)
    thread = own[events.thread]
    device_rows = np.bincount(thread[on_device], minlength=count)
    host_rows = np.bincount(thread[on_host], minlength=count)
    split = np.flatnonzero((device_rows > 0) & (host_rows > 0))
    owner = np.concatenate((np.arange(count), split)).tolist()
    is_device = np.concatenate(((device_rows > 0) & (host_rows == 0), np.ones(len(split), bool)))
    devices, device_of = _devices(events, thread, on_device, np.flatnonzero(device_rows > 0).tolist())
    names = _names(events, own)
    marks = TrackMarks(
        role=np.where(is_device, Role.DEVICE, Role.HOST).astype(np.uint8),
        device=np.where(is_device, [device_of.get(one, -1) for one in owner], -1).astype(np.int32),
        ordered=_ordered(events, thread, on_device)[owner] | ~is_device,
        label=tuple(
            _stream_label(events.threads[one].thread, names[one])
            if stream
            else host_label(events.threads[one], names[one])
            for one, stream in zip(owner, is_device.tolist(), strict=True)
        ),
    )
    if not len(split) and (own == np.arange(count)).all():
        return marks, devices, None
    second = np.arange(count, dtype=np.int32)
    second[split] = count + np.arange(len(split))
    return marks, devices, np.where(on_device, second[thread], thread).astype(np.int32)


def _one_name(events: Events) -> NDArray[np.int32]:
    """Return int32[t]: the thread that stands for each thread.

    Kineto of 2021 writes a thread's id as text in slices and as a number in arrows. torch_npu draws the calls of a
    thread into the runtime library in a process of their own, whose id is the host's with two digits behind.
    """
    names = process_texts(events, "process_name")
    calls = {process for process, name in names.items() if name == _CANN}
    hosts = {str(thread.process) for thread in events.threads if thread.process not in calls}
    first: dict[tuple[str, str], int] = {}
    own = np.arange(len(events.threads), dtype=np.int32)
    in_order = sorted(range(len(events.threads)), key=lambda row: events.threads[row].process in calls)
    for row in in_order:
        process, thread = map(str, events.threads[row])
        if events.threads[row].process in calls and process[:-2] in hosts:
            process = process[:-2]
        own[row] = first.setdefault((process, thread), row)
    return own


def _names(events: Events, own: NDArray[np.int32]) -> list[str]:
    names = thread_names(events)
    for row, stands in enumerate(own.tolist()):
        names[stands] = names[stands] or names[row]
    return names


def _ordered(events: Events, thread: NDArray[np.int32], on_device: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell streams, on which rows follow each other, from MTIA's tracks, which hold many processing elements."""
    if "mtia_ccp_events" not in events.strings:
        return np.ones(len(events.threads), bool)
    grid = on_device & (events.category == events.strings.index("mtia_ccp_events"))
    return np.asarray(np.bincount(thread[grid], minlength=len(events.threads)) == 0)


def _devices(
    events: Events, thread: NDArray[np.int32], on_device: NDArray[np.bool_], threads: list[int]
) -> tuple[tuple[Device, ...], dict[int, int]]:
    """Return the devices, (process, index) each, and the place among them of each of `threads`."""
    signs = process_texts(events, "process_labels")
    index = _indices(events, thread, on_device, threads, signs)
    keys = {one: (index[one], str(events.threads[one].process)) for one in threads}
    order = sorted(set(keys.values()))
    sign = {keys[one]: signs.get(events.threads[one].process, "") for one in threads}
    properties = _properties(events.header.get("deviceProperties"))
    devices = apart([(process, _device(number, sign[number, process], properties)) for number, process in order])
    return devices, {one: order.index(key) for one, key in keys.items()}


def _indices(
    events: Events,
    thread: NDArray[np.int32],
    on_device: NDArray[np.bool_],
    threads: list[int],
    signs: Mapping[int | str | None, str],
) -> dict[int, int]:
    """Return the device index of each thread: as its process is labelled, else its rows' ``device``, its process, 0."""
    given = events.arg("device")
    keep = on_device[given.rows] & (given.values >= 0)
    told, first = np.unique(thread[given.rows[keep]], return_index=True)
    said = dict(zip(told.tolist(), given.values[keep][first].tolist(), strict=True))
    indices = {}
    for one in threads:
        process, stream = events.threads[one]
        named = DEVICE_LABEL.search(signs.get(process, ""))
        index = int(named[2]) if named and named[2] else said.get(one)
        if index is None and process == "CUDA functions":
            index = number(stream)
        if index is None and isinstance(process, int) and 0 <= process < 64:
            index = process
        indices[one] = index or 0
    return indices


def _properties(given: object) -> dict[int, Mapping[str, Any]]:
    rows = given if isinstance(given, list) else []
    return {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), int)}


def _device(index: int, sign: str, properties: Mapping[int, Mapping[str, Any]]) -> Device:
    sort = match[1] if (match := DEVICE_LABEL.search(sign)) else "GPU"
    record = properties.get(index, {})
    return Device(f"{sort} {index}", str(record.get("name", "")).strip(), record)


def _stream_label(stream: int | str | None, name: str) -> str:
    return name or (stream if isinstance(stream, str) and stream.startswith("stream") else f"stream {stream}")

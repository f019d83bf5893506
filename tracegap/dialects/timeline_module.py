"""The timeline module of TensorFlow 1 (``tensorflow.python.client.timeline``): one process a device, packed lanes.

The rows of ``…/device:GPU:0 Compute`` are dispatches on the host; ``…/stream:13 Compute`` holds the device's work, which
``stream:all`` and ``memcpy`` repeat.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.kineto_names import device_kind
from tracegap.dialects.marks import Device, Head, Marks, TrackMarks
from tracegap.dialects.rows import NONE, are_slices, labels, latest, nothing, process_texts, tell
from tracegap.events import ArgType, Events
from tracegap.kinds import Kind, Role

_INPUTS = tuple(f"input{place}" for place in range(64))
ALLOCATORS = ("cpu", "mklcpu", "cuda_host_bfc", "gpu_host_bfc", *(f"GPU_{place}_bfc" for place in range(16)))
"""Allocators, whose counters are named as they are; so is the value of each."""
ARGS: Mapping[str, ArgType] = {
    "name": ArgType.TEXT,
    "op": ArgType.TEXT,
    **dict.fromkeys(_INPUTS, ArgType.TEXT),
    "snapshot": ArgType.TEXT,
    **dict.fromkeys(ALLOCATORS, ArgType.INT),
}

_COMPUTE = re.compile(
    r".*?\b(?:device:)?(?P<sort>(?!job|replica|task)[a-zA-Z_]+):(?P<index>\d+)(?:/(?P<line>stream:\w+|memcpy))? Compute$"
)
# a producer's output number, and the number of a send and receive pair, follow its name; ^ marks a control input
_DECORATION = re.compile(r"^\^|/_\d+$|:\d+$")
_REPEATS = ("stream:all", "memcpy")


def sniff(head: Head) -> bool:
    """Whether the processes are those of the timeline module."""
    if is_timeline(head.given("process_name")):
        return True
    return any(event.get("cat") == "DataFlow" and event.get("ph") in ("s", "t") for event in head.events)


def is_timeline(names: Iterable[str]) -> bool:
    """Whether any process name is one of the timeline module's."""
    return any(_COMPUTE.match(name) for name in names)


def mark(events: Events) -> Marks:
    """Say what each event means."""
    slices = are_slices(events)
    names = process_texts(events, "process_name")
    place = [_COMPUTE.match(names.get(thread.process, "")) for thread in events.threads]
    streams = np.array([match is not None and match["line"] is not None for match in place], bool)
    repeats = _repeats(place)
    kinds = np.full(len(events), NONE, np.uint8)
    host = np.flatnonzero(slices & ~streams[events.thread])
    kinds[host] = tell(events.name[host], events.strings, _host_kind)
    device = np.flatnonzero(slices & (streams & ~repeats)[events.thread])
    kinds[device] = tell(events.name[device], events.strings, device_kind)
    _mark_copies(events, kinds, device, slices, place)
    tracks, devices = _tracks(events, place, streams)
    sources, targets = _data(events, host)
    strings, provider = _providers(events, place, host)
    return Marks(
        kind=kinds,
        name=events.name,
        launch=_launches(events, host, device),
        strings=strings,
        tracks=tracks,
        devices=devices,
        sources=sources,
        targets=targets,
        flow_kind=np.zeros(len(sources), np.uint8),
        flow_kinds=("data",) if len(sources) else (),
        provider=provider,
        producer="TensorFlow",
    )


def _host_kind(name: str) -> Kind:
    return Kind.INPUT if name.startswith("IteratorGetNext") else Kind.OP


def _repeats(place: list[re.Match[str] | None]) -> NDArray[np.bool_]:
    """Return bool[t]: the lines that repeat a device's numbered streams, where it has any."""
    numbered = {
        match["sort"] + match["index"] for match in place if match and match["line"] and match["line"] not in _REPEATS
    }
    said = [
        match is not None and match["line"] in _REPEATS and match["sort"] + match["index"] in numbered
        for match in place
    ]
    return np.array(said, bool)


def _mark_copies(
    events: Events,
    kinds: NDArray[np.uint8],
    device: NDArray[np.intp],
    slices: NDArray[np.bool_],
    place: list[re.Match[str] | None],
) -> None:
    """Mark as copies what the device's ``memcpy`` line repeats: an Assign on a stream is one, by name it is not. In place."""
    copies = np.array([match is not None and match["line"] == "memcpy" for match in place], bool)
    rows = np.flatnonzero(slices & copies[events.thread])
    if len(rows) and len(device):
        both = np.concatenate((rows, device))
        label = labels(events.start[both], events.duration[both], events.name[both])
        kinds[device[np.isin(label[len(rows) :], label[: len(rows)])]] = Kind.COPY


def _launches(events: Events, host: NDArray[np.intp], device: NDArray[np.intp]) -> NDArray[np.int32]:
    """Give a stream's row to the latest dispatch of its node."""
    launch = nothing(events)
    node = events.arg("name")
    from_node, to_node = node.at(host).astype(np.int64), node.at(device).astype(np.int64)
    known = to_node >= 0
    found = latest(from_node, events.start[host], to_node[known], events.start[device[known]])
    launch[device[known][found >= 0]] = host[found[found >= 0]]
    return launch


def _data(events: Events, host: NDArray[np.intp]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges from producer to consumer that ``inputN`` name: producers that ended before their consumer began."""
    node = events.arg("name")
    host = host[node.at(host) >= 0]
    by_text = {events.strings[known]: known for known in np.unique(node.at(host)).tolist()}
    sources, targets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for name in _INPUTS:
        given = events.arg(name)
        if not len(given.rows):
            continue
        table = np.full(len(events.strings), -2, np.int64)
        for known in np.unique(given.values).tolist():
            table[known] = by_text.get(_DECORATION.sub("", events.strings[known]), -2)
        wanted, rows = table[given.values], given.rows.astype(np.int64)
        end = events.start[host] + events.duration[host]
        found = latest(node.at(host).astype(np.int64), end, wanted, events.start[rows])
        fits = (found >= 0) & (end[found] <= events.start[rows]) if len(end) else np.zeros(len(rows), bool)
        sources.append(host[found[fits]])
        targets.append(rows[fits])
    return np.concatenate(sources).astype(np.int32), np.concatenate(targets).astype(np.int32)


def _providers(
    events: Events, place: list[re.Match[str] | None], host: NDArray[np.intp]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Name the device that each operator was placed on: ``CPU:0``, ``GPU:0``."""
    strings = list(events.strings)
    numbers: dict[str, int] = {}
    by_thread = np.full(len(events.threads), -1, np.int32)
    for thread, match in enumerate(place):
        if match:
            text = f"{match['sort'].upper()}:{match['index']}"
            if text not in numbers:
                numbers[text] = len(strings)
                strings.append(text)
            by_thread[thread] = numbers[text]
    provider = nothing(events)
    provider[host] = by_thread[events.thread[host]]
    return tuple(strings), provider


def _tracks(
    events: Events, place: list[re.Match[str] | None], streams: NDArray[np.bool_]
) -> tuple[TrackMarks, tuple[Device, ...]]:
    """Mark the tracks: a tid is a lane into which rows were packed, whose order holds on a stream and says nothing on a host."""
    keys = [f"{match['sort'].upper()} {match['index']}" if match and match["line"] else "" for match in place]
    used = sorted(set(keys) - {""})
    called = []
    for match, thread in zip(place, events.threads, strict=True):
        lane = f" lane {thread.thread}" if thread.thread else ""
        text = (match["line"] or f"{match['sort'].upper()}:{match['index']}") if match else f"{thread.process}"
        called.append(text.replace("stream:", "stream ") + lane)
    return TrackMarks(
        role=np.where(streams, Role.DEVICE, Role.HOST).astype(np.uint8),
        device=np.array([used.index(key) if key else -1 for key in keys], np.int32),
        ordered=streams.copy(),
        label=tuple(called),
    ), tuple(Device(key) for key in used)

"""The contract of a dialect: the head of a file that it is told by, and the marks that it puts on the events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tracegap.columns import Bool, Columns, Int32, UInt8
from tracegap.events import ArgType, Events
from tracegap.problems import Problem


@dataclass(frozen=True, slots=True)
class Head:
    """What a dialect is told by: the top of the file.

    Attributes
    ----------
    header : mapping of str to object
        Top-level keys that stand before the events; empty for a bare array.
    events : tuple of dict
        The first thousand events (fewer if the file has fewer), parsed whole.
    bare : bool
        Whether the file is a bare array.
    """

    header: Mapping[str, Any]
    events: tuple[dict[str, Any], ...]
    bare: bool

    def given(self, kind: str) -> tuple[str, ...]:
        """Return the names that metadata events of a kind (``process_name``, ``thread_name``) give.

        Examples
        --------
        >>> Head({}, ({"ph": "M", "name": "process_name", "args": {"name": "/host:CPU"}},), bare=True).given("process_name")
        ('/host:CPU',)
        """
        arguments = (event.get("args") for event in self.events if event.get("name") == kind)
        return tuple(str(one.get("name", "")) for one in arguments if isinstance(one, dict))


@dataclass(frozen=True, eq=False)
class TrackMarks(Columns):
    """One row a thread of `Events.threads`: what sort of track it is.

    Attributes
    ----------
    role : uint8[t]
        `tracegap.kinds.Role`.
    device : int32[t]
        Index into `Marks.devices`; −1 for host tracks.
    ordered : bool[t]
        Whether rows happen one after the other by nature (a thread, a stream), not packed.
    label : tuple of str
        What a person calls the track: ``thread 48213 (python3.11)``, ``stream 7``.
    """

    role: UInt8
    device: Int32
    ordered: Bool
    label: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """A device that ran something: (process, device index) and what the trace says it is.

    ``name`` is the model (``NVIDIA A100-SXM4-80GB``), "" where the trace does not tell; ``label`` is short (``GPU 0``).
    ``properties`` is the trace's own record of it (``numSms``), as far as there is one.
    """

    label: str
    name: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Marks(Columns):
    """What a dialect says of each event: n rows, as `Events` has.

    Attributes
    ----------
    kind : uint8[n]
        `tracegap.kinds.Kind`; `Kind.NONE` for a row that is no slice, or must not count (duplicates, pseudo-events).
    name : int32[n]
        Ids into `strings`, the name to show; −1 where the event has none.
    launch : int32[n]
        Event row of the host call that handed this device row its work; −1 where unknown or a host row.
    strings : tuple of str
        `Events.strings`, with the dialect's own texts behind them.
    tracks : TrackMarks
        One row an `Events.threads` entry.
    devices : tuple of Device
    step_number : mapping of int to int
        Number of each row marked `Kind.STEP`; rows left out are numbered in order of time.
    sources, targets : int32 arrays of equal length
        Flows between event rows that the dialect knows beside s/t/f arrows, with `flow_kind` naming each (an index
        into `flow_kinds`): data edges of TensorFlow (``data``), ``fwdbwd`` by sequence number and the like.
    provider : int32[n] or None
        Ids into `strings`: the execution provider or device that ran an operator (ONNX Runtime, TensorFlow).
    producer : str
        What wrote the file, for people: ``PyTorch``, ``ONNX Runtime``.
    shared_clock : bool
        Whether the processes in the file share one clock.
    track : int32[n] or None
        Row of `tracks` of each event, where that is not its thread's (asynchronous slices on tracks of their own).
    """

    kind: UInt8
    name: Int32
    launch: Int32
    strings: tuple[str, ...]
    tracks: TrackMarks
    devices: tuple[Device, ...] = ()
    step_number: Mapping[int, int] = field(default_factory=dict)
    sources: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    targets: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))
    flow_kind: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))
    flow_kinds: tuple[str, ...] = ()
    provider: np.ndarray | None = None
    producer: str = ""
    shared_clock: bool = True
    problems: tuple[Problem, ...] = ()
    track: np.ndarray | None = None


class Dialect(Protocol):
    """What a module of this folder has."""

    NAME: str
    """The word for it: ``pytorch``."""
    TITLE: str
    """The producer, for people."""
    ARGS: Mapping[str, ArgType]
    """The arguments that decoding must keep."""

    def sniff(self, head: Head) -> bool:
        """Whether the file is of this dialect."""
        ...

    def mark(self, events: Events) -> Marks:
        """Say what each event means. `events` are paired (`tracegap.events.pair`)."""
        ...

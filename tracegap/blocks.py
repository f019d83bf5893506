"""One chunk of text to a block of columns: the seam where a compiled twin may stand.

In: ``[event,…]`` as bytes. Out: a frozen `Block`. A typed decoder (msgspec) makes only the fields that are wanted and
skips the rest; times stay text until `tracegap.decimals` reads them exactly. A chunk with values of odd types goes event by event.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracegap.cells import Scalar, copies, identities, integers, present, reals, transposed, whole
from tracegap.decimals import far_origin, times
from tracegap.events import NO_TIME, ArgType, Argument, Thread
from tracegap.numbering import NULL, Numbers, Phases, Texts, numbered
from tracegap.plain import decoded

RARE = {"bp": ArgType.TEXT, "bind_id": ArgType.ID, "flow_in": ArgType.INT, "flow_out": ArgType.INT, "s": ArgType.TEXT}
"""Top-level fields that few events have."""

_NO_RAW = msgspec.Raw(b"")


@dataclass(frozen=True, slots=True)
class Block:
    """The columns of one chunk of m events, ids into the parser's tables; as `tracegap.events.Events` has them.

    ``args`` and ``fields`` have rows counted from this block; ``metadata`` is (row, name, thread, value) of M events;
    ``faults`` is (code, count, row of the first).
    """

    phase: NDArray[np.uint8]
    name: NDArray[np.int32]
    category: NDArray[np.int32]
    thread: NDArray[np.int32]
    start: NDArray[np.int64]
    duration: NDArray[np.int64]
    id: NDArray[np.int32]
    args: Mapping[str, Argument]
    fields: Mapping[str, Argument]
    metadata: tuple[tuple[int, str, int, object], ...]
    faults: tuple[tuple[str, int, int], ...]

    def __len__(self) -> int:
        return len(self.phase)


class BlockParser:
    """Parse chunks, numbering names, ids and threads through all of them.

    Attributes
    ----------
    args, rare : mapping of str to ArgType
    """

    def __init__(self, args: Mapping[str, ArgType]) -> None:
        self.args = dict(args)
        self.rare = RARE
        self._names: Numbers[str] = Numbers()
        self._texts = Texts(self._names)
        self._ids: Numbers[int | str | float] = Numbers()
        self._threads: Numbers[tuple[Scalar, Scalar]] = Numbers()
        self._phases = Phases()
        self._origin: int | None = None
        self._slots = {name: f"a{place}" for place, name in enumerate(self.args)}
        self._event = self._schema()
        self._decoder = msgspec.json.Decoder(list[self._event])  # type: ignore[name-defined]
        self._one = msgspec.json.Decoder(self._event)

    def _schema(self) -> Any:
        arguments = msgspec.defstruct(
            "Arguments",
            [(slot, _TYPES[self.args[name]], None) for name, slot in self._slots.items()],
            rename={slot: name for name, slot in self._slots.items()},
            gc=False,
        )
        self._no_args = arguments()
        identity = msgspec.defstruct(
            "Identity", [("local", Scalar, None), ("globally", Scalar, None)], rename={"globally": "global"}, gc=False
        )
        fields: list[tuple[str, Any, Any]] = [
            ("ph", str | None, None),
            ("name", str | None, None),
            ("cat", str | None, None),
            ("pid", Scalar, None),
            ("tid", Scalar, None),
            ("ts", msgspec.Raw, _NO_RAW),
            ("dur", msgspec.Raw, _NO_RAW),
            ("id", Scalar, None),
            ("id2", identity | None, None),
            ("args", arguments | None, None),
            *((name, _TYPES[kind], None) for name, kind in self.rare.items()),
        ]
        return msgspec.defstruct("Event", fields, gc=False)

    @property
    def origin(self) -> int:
        """Nanoseconds that starts are counted from: 0, unless the file's clock does not fit int64."""
        return self._origin or 0

    def strings(self) -> tuple[str, ...]:
        """Names, categories and text arguments, by number."""
        return tuple(self._names.in_order())

    def ids(self) -> tuple[int | str, ...]:
        """Ids of asynchronous events and flows, by number."""
        return tuple(whole(one) for one in self._ids.in_order())

    def threads(self) -> tuple[Thread, ...]:
        """Threads, by number."""
        return tuple(Thread(whole(process), whole(thread)) for process, thread in self._threads.in_order())

    def typed(self, text: bytes) -> list[Any]:
        """Decode ``[event,…]`` into objects that have the wanted fields."""
        events: list[Any] = self._decoder.decode(text)
        return events

    def parse(self, text: bytes) -> Block:
        """Parse ``[event,…]``.

        Raises
        ------
        msgspec.DecodeError, RecursionError
            The text is no JSON. Events of odd types are no error; what is odd in them counts as missing.
        """
        faults: list[tuple[str, int, int]] = []
        try:
            events = self.typed(text)
        except msgspec.ValidationError:
            events = list(self._loosely(text, faults))
        metadata = self._metadata(text, events) if "M" in map(attrgetter("ph"), events) else ()
        return self._block(events, metadata, faults)

    def _block(self, events: list[Any], metadata: Any, faults: list[tuple[str, int, int]]) -> Block:
        columns = transposed(self._event.__struct_fields__, events)
        everywhere = np.arange(len(events), dtype=np.int32)
        holders = everywhere[present(columns["args"])]
        arguments = transposed(self._slots, filter(None, columns["args"]))
        phase = numbered(self._phases, columns["ph"], np.uint8)
        if self._origin is None:
            self._origin = far_origin(columns["ts"])
        read = times(columns["ts"], columns["dur"], origin=self._origin)
        return Block(
            phase=phase,
            name=numbered(self._names, columns["name"], np.int32),
            category=numbered(self._names, columns["cat"], np.int32),
            thread=numbered(self._threads, tuple(zip(columns["pid"], columns["tid"], strict=True)), np.int32),
            start=read.start,
            duration=read.duration,
            id=numbered(self._ids, identities(columns["id"], columns["id2"]), np.int32),
            args=self._arguments(arguments, self.args, holders, faults),
            fields=self._arguments({name: columns[name] for name in self.rare}, self.rare, everywhere, faults),
            metadata=metadata,
            faults=(*faults, *_time_faults(phase, read.start, read.duration, columns["dur"])),
        )

    def _arguments(
        self,
        columns: Mapping[str, tuple[Any, ...]],
        kinds: Mapping[str, ArgType],
        places: NDArray[np.int32],
        faults: list[tuple[str, int, int]],
    ) -> dict[str, Argument]:
        found = {}
        absent = (None,) * len(places)
        for name, cells in columns.items():
            if cells == absent:
                continue
            there = present(cells)
            rows = places[there]
            picked = list(compress(cells, there.tolist()))
            values: NDArray[Any]
            if kinds[name] is ArgType.TEXT:
                values = numbered(self._texts, copies(picked), np.int32)
                if (values < 0).any():  # null
                    rows, values = rows[values >= 0], values[values >= 0]
            elif kinds[name] is ArgType.ID:
                values = numbered(self._ids, picked, np.int32)
            else:
                values, long = (reals if kinds[name] is ArgType.REAL else integers)(picked)
                if long:
                    faults.append(("long-integer", len(long), int(rows[long[0]])))
            found[name] = Argument(rows, values)
        return found

    def _metadata(self, text: bytes, events: list[Any]) -> tuple[tuple[int, str, int, object], ...]:
        """Parse the M events of a chunk whole."""
        objects = (raw for raw in msgspec.json.decode(text, type=list[msgspec.Raw]) if _is_object(raw))
        return tuple(
            (row, event.name, self._threads[event.pid, event.tid], _value_of(decoded(raw).get("args")))
            for row, (event, raw) in enumerate(zip(events, objects, strict=True))
            if event.ph == "M" and event.name is not None
        )

    def _loosely(self, text: bytes, faults: list[tuple[str, int, int]]) -> Iterator[Any]:
        """Parse event by event, taking each field whose type is right."""
        row = 0
        for raw in msgspec.json.decode(text, type=list[msgspec.Raw]):
            if not _is_object(raw):
                faults.append(("not-an-object", 1, row))
                continue
            try:
                yield self._one.decode(raw)
            except msgspec.ValidationError:
                yield self._rebuilt(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]), row, faults)
            row += 1

    def _rebuilt(self, members: dict[str, msgspec.Raw], row: int, faults: list[tuple[str, int, int]]) -> Any:
        fields = {}
        for name, kind in self._event.__annotations__.items():
            raw = members.get(name)
            if raw is None:
                continue
            if name == "args":
                if _is_object(raw):
                    fields[name] = self._rebuilt_args(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]))
                elif bytes(raw) != NULL:
                    faults.append(("odd-arguments", 1, row))
            else:
                fields[name] = _converted(raw, kind)
        return self._event(**{name: value for name, value in fields.items() if value is not None})

    def _rebuilt_args(self, members: dict[str, msgspec.Raw]) -> Any:
        fields = {
            slot: _converted(members[name], _TYPES[self.args[name]])
            for name, slot in self._slots.items()
            if name in members
        }
        return type(self._no_args)(**{slot: value for slot, value in fields.items() if value is not None})


_TYPES: dict[ArgType, Any] = {
    ArgType.INT: bool | int | str | float | None,
    ArgType.REAL: int | str | float | None,
    ArgType.TEXT: msgspec.Raw,
    ArgType.ID: Scalar,
}


def _is_object(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"


def _converted(raw: msgspec.Raw, kind: Any) -> Any:
    """Return a field's value; `None` where it has another type, its text where it is a number out of range."""
    if kind is msgspec.Raw:
        return raw
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        value = decoded(raw)
        return value if isinstance(value, str) else None


def _value_of(args: object) -> object:
    """Return what a metadata event says: the only argument's value, or all of them."""
    if isinstance(args, dict) and len(args) == 1:
        return next(iter(args.values()))
    return args


def _time_faults(
    phase: NDArray[np.uint8], start: NDArray[np.int64], duration: NDArray[np.int64], texts: Sequence[Any]
) -> Iterator[tuple[str, int, int]]:
    timed = (phase != ord("M")) & (phase != 0)
    lost = np.flatnonzero(timed & (start == NO_TIME))
    if len(lost):
        yield "no-time", len(lost), int(lost[0])
    kinds: dict[str, list[int]] = {}
    for row in np.flatnonzero((phase == ord("X")) & (duration < 0) & (start != NO_TIME)).tolist():
        kinds.setdefault(_why_no_duration(bytes(texts[row])), []).append(row)
    for code, rows in kinds.items():
        yield code, len(rows), rows[0]


def _why_no_duration(text: bytes) -> str:
    if text in (b"", NULL):
        return "no-duration"
    return "negative-duration" if text.lstrip(b'" ').startswith(b"-") else "no-time"

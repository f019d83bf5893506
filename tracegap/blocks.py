"""One chunk of text to a block of columns: the seam where a compiled twin may stand.

In: ``[event,…]`` as bytes. Out: a frozen `Block`. A typed decoder (msgspec) makes only the fields that are wanted and
skips the rest; times stay text until `tracegap.decimals` reads them exactly. A chunk with values of odd types goes event by event.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracegap.decimals import times
from tracegap.events import NO_TIME, Argument, ArgType, Thread
from tracegap.problems import Problem, problem

RARE = {"bp": ArgType.TEXT, "bind_id": ArgType.TEXT, "flow_in": ArgType.INT, "flow_out": ArgType.INT, "s": ArgType.TEXT}
"""Top-level fields that few events have."""

_INTEGER = re.compile(r"\s*[+-]?\d+\s*\Z")
_HEX = re.compile(r"\s*0[xX][0-9a-fA-F]+\s*\Z")
_NO_RAW = msgspec.Raw(b"")
_NULL = b"null"
_Scalar = int | str | float | None

_K = TypeVar("_K", bound=Hashable)


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


class _Ids(dict[_K, int], Generic[_K]):
    """Number keys in order of appearance; `None` has −1."""

    def __missing__(self, key: _K) -> int:
        self[key] = number = len(self)
        return number


class _Names(_Ids[str | None]):
    """Numbers for strings, with −1 for `None`."""

    def __missing__(self, key: str | None) -> int:
        number = -1 if key is None else len(self) - (None in self)
        self[key] = number
        return number


class _Texts(dict[bytes, int]):
    """JSON text of a value to the number of its string; other values keep their text."""

    def __init__(self, names: _Names) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, raw: bytes) -> int:
        text = msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()
        self[raw] = number = self._names[text]
        return number


class _Phases(dict[str | None, int]):
    def __missing__(self, phase: str | None) -> int:
        self[phase] = code = ord(phase[0]) if phase and ord(phase[0]) < 256 else 0
        return code


class BlockParser:
    """Parse chunks, numbering names, ids and threads through all of them.

    Attributes
    ----------
    args, rare : mapping of str to ArgType
    """

    def __init__(self, args: Mapping[str, ArgType]) -> None:
        self.args = dict(args)
        self.rare = RARE
        self._names = _Names()
        self._texts = _Texts(self._names)
        self._ids = _Names()
        self._threads: _Ids[tuple[_Scalar, _Scalar]] = _Ids()
        self._phases = _Phases()
        self._slots = {name: f"a{place}" for place, name in enumerate(self.args)}
        self._event = self._schema()
        self._decoder = msgspec.json.Decoder(list[self._event])  # type: ignore[name-defined]
        self._one = msgspec.json.Decoder(self._event)

    def _schema(self) -> Any:
        arguments = msgspec.defstruct(
            "Arguments",
            [(slot, _TYPES[self.args[name]], _default(self.args[name])) for name, slot in self._slots.items()],
            rename={slot: name for name, slot in self._slots.items()},
            gc=False,
        )
        self._no_args = arguments()
        identity = msgspec.defstruct(
            "Identity", [("local", _Scalar, None), ("globally", _Scalar, None)], rename={"globally": "global"}, gc=False
        )
        fields: list[tuple[str, Any, Any]] = [
            ("ph", str | None, None),
            ("name", str | None, None),
            ("cat", str | None, None),
            ("pid", _Scalar, None),
            ("tid", _Scalar, None),
            ("ts", msgspec.Raw, _NO_RAW),
            ("dur", msgspec.Raw, _NO_RAW),
            ("id", _Scalar, None),
            ("id2", identity | None, None),
            ("args", arguments | None, None),
            *((name, _TYPES[kind], _default(kind)) for name, kind in self.rare.items()),
        ]
        return msgspec.defstruct("Event", fields, gc=False)

    @property
    def strings(self) -> Iterator[str]:
        """Names, categories and text arguments, by number."""
        return (text for text in self._names if text is not None)

    @property
    def ids(self) -> Iterator[int | str]:
        """Ids of asynchronous events and flows, by number."""
        return (one for one in self._ids if one is not None)

    def threads(self) -> Iterator[Thread]:
        """Threads, by number."""
        return (Thread(_whole(process), _whole(thread)) for process, thread in self._threads)

    def problems(self, blocks: Iterable[Block]) -> Iterator[Problem]:
        """What was odd in the blocks, with the event's number in the file."""
        base = 0
        for block in blocks:
            for code, count, row in block.faults:
                yield problem(code, count, f"event {base + row:,}")
            base += len(block.phase)

    def parse(self, text: bytes) -> Block:
        """Parse ``[event,…]``.

        Raises
        ------
        msgspec.DecodeError, RecursionError
            The text is no JSON. Events of odd types are no error; what is odd in them counts as missing.
        """
        faults: list[tuple[str, int, int]] = []
        try:
            events = self._decoder.decode(text)
        except msgspec.ValidationError:
            events = list(self._loosely(text, faults))
        metadata = self._metadata(text, events) if any(event.ph == "M" for event in events) else ()
        return self._block(events, metadata, faults)

    def _block(self, events: list[Any], metadata: Any, faults: list[tuple[str, int, int]]) -> Block:
        phase = _numbered(self._phases, [event.ph for event in events], np.uint8)
        read = times([event.ts for event in events], [event.dur for event in events])
        return Block(
            phase=phase,
            name=_numbered(self._names, [event.name for event in events], np.int32),
            category=_numbered(self._names, [event.cat for event in events], np.int32),
            thread=_numbered(self._threads, [(event.pid, event.tid) for event in events], np.int32),
            start=read.start,
            duration=read.duration,
            id=_numbered(self._ids, [_identity(event) for event in events], np.int32),
            args=self._arguments(self._slots, self.args, [event.args or self._no_args for event in events], faults),
            fields=self._arguments({name: name for name in self.rare}, self.rare, events, faults),
            metadata=metadata,
            faults=(*faults, *_time_faults(phase, read.start, read.duration, [event.dur for event in events])),
        )

    def _arguments(
        self, slots: Mapping[str, str], kinds: Mapping[str, ArgType], holders: list[Any], faults: list[tuple[str, int, int]]
    ) -> dict[str, Argument]:
        found = {}
        for name, slot in slots.items():
            kind = kinds[name]
            if kind is ArgType.TEXT:
                texts = [bytes(getattr(holder, slot)) for holder in holders]
                rows = [row for row, text in enumerate(texts) if text and text != _NULL]
                values: NDArray[Any] = np.array([self._texts[texts[row]] for row in rows], np.int32)
            else:
                numbers = [getattr(holder, slot) for holder in holders]
                if numbers.count(None) == len(numbers):
                    continue
                rows = [row for row, number in enumerate(numbers) if number is not None]
                picked = [numbers[row] for row in rows]
                values = _reals(picked) if kind is ArgType.REAL else _integers(picked, rows, faults)
            if rows:
                found[name] = Argument(np.array(rows, np.int32), values)
        return found

    def _metadata(self, text: bytes, events: list[Any]) -> tuple[tuple[int, str, int, object], ...]:
        """Parse the M events of a chunk whole."""
        whole = [item for item in msgspec.json.decode(text) if isinstance(item, dict)]
        return tuple(
            (row, event.name, self._threads[event.pid, event.tid], _value_of(whole[row].get("args")))
            for row, event in enumerate(events)
            if event.ph == "M" and event.name is not None
        )

    def _loosely(self, text: bytes, faults: list[tuple[str, int, int]]) -> Iterator[Any]:
        """Parse event by event, taking each field whose type is right."""
        row = 0
        for raw in msgspec.json.decode(text, type=list[msgspec.Raw]):
            if not bytes(raw[:1] if isinstance(raw, bytes) else memoryview(raw)[:1]) == b"{":
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
                if memoryview(raw)[:1] == b"{":
                    fields[name] = self._rebuilt_args(msgspec.json.decode(raw, type=dict[str, msgspec.Raw]))
                elif bytes(raw) != _NULL:
                    faults.append(("odd-arguments", 1, row))
            else:
                fields[name] = _converted(raw, kind)
        return self._event(**{name: value for name, value in fields.items() if value is not None})

    def _rebuilt_args(self, members: dict[str, msgspec.Raw]) -> Any:
        fields = {
            slot: _converted(members[name], _TYPES[self.args[name]]) for name, slot in self._slots.items() if name in members
        }
        return type(self._no_args)(**{slot: value for slot, value in fields.items() if value is not None})


_TYPES: dict[ArgType, Any] = {ArgType.INT: bool | int | str | float | None, ArgType.REAL: int | str | float | None, ArgType.TEXT: msgspec.Raw}


def _default(kind: ArgType) -> Any:
    return _NO_RAW if kind is ArgType.TEXT else None


def _converted(raw: msgspec.Raw, kind: Any) -> Any:
    """Return a field's value, `None` where it has another type."""
    if kind is msgspec.Raw:
        return raw
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        return None


def _numbered(ids: dict[Any, int], keys: list[Any], dtype: Any) -> NDArray[Any]:
    return np.fromiter(map(ids.__getitem__, keys), dtype, len(keys))


def _identity(event: Any) -> int | str | None:
    if event.id is None and event.id2 is not None:
        either = event.id2.local if event.id2.local is not None else event.id2.globally
        return _whole(either)
    return _whole(event.id) if isinstance(event.id, float) else event.id  # type: ignore[no-any-return]


def _whole(number: _Scalar) -> int | str | None:
    if isinstance(number, float):
        return int(number) if number.is_integer() else repr(number)
    return number


def _value_of(args: object) -> object:
    """Return what a metadata event says: the only argument's value, or all of them."""
    if isinstance(args, dict) and len(args) == 1:
        return next(iter(args.values()))
    return args


def _integers(values: list[Any], rows: list[int], faults: list[tuple[str, int, int]]) -> NDArray[np.int64]:
    if set(map(type, values)) == {int}:
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    whole = [_integer(value) for value in values]
    long = [place for place, value in enumerate(whole) if not -(2**63) <= value < 2**63]
    if long:
        faults.append(("long-integer", len(long), rows[long[0]]))
        for place in long:
            whole[place] = -1
    return np.array(whole, np.int64)


def _integer(value: Any) -> int:
    if isinstance(value, str):
        if _INTEGER.match(value) and len(value) < 400:
            return int(value)
        return int(value, 16) if _HEX.match(value) and len(value) < 400 else -1
    if isinstance(value, float):
        return int(value) if value.is_integer() else -1
    return int(value)


def _reals(values: list[Any]) -> NDArray[np.float64]:
    """Read floats; NaN, which no analysis can meet in JSON, marks text that is no number."""
    try:
        return np.array(values, np.float64)
    except (ValueError, OverflowError):
        return np.array([_real(value) for value in values], np.float64)


def _real(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return -1.0


def _time_faults(
    phase: NDArray[np.uint8], start: NDArray[np.int64], duration: NDArray[np.int64], texts: list[Any]
) -> Iterator[tuple[str, int, int]]:
    timed = (phase != ord("M")) & (phase != 0)
    lost = np.flatnonzero(timed & (start == NO_TIME))
    if len(lost):
        yield "no-time", len(lost), int(lost[0])
    bare = np.flatnonzero((phase == ord("X")) & (duration < 0) & (start != NO_TIME)).tolist()
    negative = [row for row in bare if bytes(texts[row]).lstrip(b'" ').startswith(b"-")]
    missing = [row for row in bare if bytes(texts[row]) in (b"", _NULL)]
    for code, found in (("negative-duration", negative), ("no-duration", missing)):
        if found:
            yield code, len(found), found[0]
    odd = len(bare) - len(negative) - len(missing)
    if odd:
        first = next(row for row in bare if row not in negative and row not in missing)
        yield "no-time", odd, first


_Parse = Callable[[bytes], Block]

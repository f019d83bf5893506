"""The events of a file as columns, in file order, before anything is known of what they mean.

In: blocks of columns from `tracegap.decode`. Out: one `Events` table. Not checked here: kinds, nesting, launches;
that is the dialects' and the timeline's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.columns import Columns, Int32, Int64, UInt8
from tracegap.problems import Problem, merge, problem

NO_TIME: int = int(np.iinfo(np.int64).min)
"""`Events.start` of a row that has no usable time stamp."""


class ArgType(StrEnum):
    """How the values of one argument are stored.

    ``INT`` int64, numeric strings included (−1 where it is no integer) · ``REAL`` float64 · ``TEXT`` int32 ids into
    `Events.strings`; a value that is no string is kept as its JSON text (``[[8, 1024], []]``) · ``ID`` int32 ids into
    `Events.ids`, which keep numbers and texts apart.
    """

    INT = "int"
    REAL = "real"
    TEXT = "text"
    ID = "id"


class Thread(NamedTuple):
    """A thread as the file names it; `None` where the field is missing."""

    process: int | str | None
    thread: int | str | None


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument (or rare field) of those events that have it.

    Attributes
    ----------
    rows : int32[k]
        Event rows, ascending.
    values : int64[k], float64[k] or int32[k]
        By `ArgType`.
    """

    rows: NDArray[np.int32]
    values: NDArray[Any]

    def at(self, rows: NDArray[Any], missing: int = -1) -> NDArray[Any]:
        """Return the values at the given event rows, `missing` where a row lacks the argument.

        Examples
        --------
        >>> Argument(np.array([2, 5], np.int32), np.array([70, 71])).at(np.array([5, 3, 2])).tolist()
        [71, -1, 70]
        """
        out = np.full(len(rows), missing, self.values.dtype)
        if len(self.rows):
            place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            hit = self.rows[place] == rows
            out[hit] = self.values[place[hit]]
        return out


NO_ARGUMENT = Argument(np.empty(0, np.int32), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Events(Columns):
    """All events of a file, in file order; the row number is the event's number.

    Attributes
    ----------
    phase : uint8[n]
        ``ord`` of the first letter of ``ph``; 0 where it is missing.
    name, category : int32[n]
        Ids into `strings`; −1 where the field is missing or no string.
    thread : int32[n]
        Rows of `threads`.
    start : int64[n]
        Nanoseconds as the file counts them (absolute), half-even from the exact decimal; `NO_TIME` if there is none.
    duration : int64[n]
        Nanoseconds, end − start, each rounded apart; −1 where there is none. After `pair`, B and b rows have one too.
    id : int32[n]
        Ids into `ids` (``id``, or ``id2``'s global or local part); −1 where there is none.
    strings : tuple of str
        Names, categories and text arguments.
    ids : tuple of str or int
    threads : tuple of Thread
    args : mapping of str to Argument
        The arguments that the dialect asked for; use `arg`, which knows absent ones.
    fields : mapping of str to Argument
        Rare top-level fields that occur: ``bp``, ``bind_id``, ``flow_in``, ``flow_out``, ``s``.
        Ids into `strings`, of ``bind_id`` into `ids`; the flags are numbers.
    metadata : mapping of (str, Thread) to object
        The value of each M event by its name; the last one (by time) wins.
    header : mapping of str to object
        The top-level keys beside ``traceEvents``, parsed; values of over 1 MB are left out.
    size : int
        Bytes of JSON text that were read.
    problems : tuple of Problem
    truncated : bool
        Whether the file ends before its JSON does.
    origin : int
        Nanoseconds that `start` is counted from: 0, unless the file's clock does not fit int64.
    """

    phase: UInt8
    name: Int32
    category: Int32
    thread: Int32
    start: Int64
    duration: Int64
    id: Int32
    strings: tuple[str, ...]
    ids: tuple[int | str, ...]
    threads: tuple[Thread, ...]
    args: Mapping[str, Argument] = field(default_factory=dict)
    fields: Mapping[str, Argument] = field(default_factory=dict)
    metadata: Mapping[tuple[str, Thread], object] = field(default_factory=dict)
    header: Mapping[str, object] = field(default_factory=dict)
    size: int = 0
    problems: tuple[Problem, ...] = ()
    truncated: bool = False
    origin: int = 0

    def arg(self, name: str) -> Argument:
        """Return an argument by its name in the file; one that no event has is empty."""
        return self.args.get(name, NO_ARGUMENT)

    def field(self, name: str) -> Argument:
        """Return a rare top-level field by its name; one that no event has is empty."""
        return self.fields.get(name, NO_ARGUMENT)


DRAWN = "tracegap"
"""Category of the events that an export draws into a trace."""


def without_drawn(events: Events) -> Events:
    """Blank the events that an export drew into the trace: they keep their rows, and are neither slices nor arrows."""
    if DRAWN not in events.strings:
        return events
    drawn = events.category == events.strings.index(DRAWN)
    if not drawn.any():
        return events
    return replace(
        events,
        phase=np.where(drawn, np.uint8(0), events.phase).astype(np.uint8),
        duration=np.where(drawn, -1, events.duration),
        problems=merge([*events.problems, problem("drawn-in", int(np.count_nonzero(drawn)))]),
    )


def pair(events: Events) -> Events:
    """Give begin events the duration and the arguments of their end events.

    B and E of a thread, b and e (and the older S and F) of one category and id, in order of time, then of the file. An
    end belongs to the topmost open begin of equal name and category, a missing one being equal to any; intervals that
    overlap without nesting keep their times. Of an argument that both have, the end's value is kept. O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> column = lambda *values, dtype=np.int32: np.array(values, dtype)
    >>> paired = pair(Events(
    ...     phase=np.frombuffer(b"BE", np.uint8).copy(), name=column(0, 0), category=column(-1, -1), thread=column(0, 0),
    ...     start=column(5, 9, dtype=np.int64), duration=column(-1, -1, dtype=np.int64), id=column(-1, -1),
    ...     strings=("load",), ids=(), threads=(Thread(1, 1),)))
    >>> paired.duration.tolist()
    [4, -1]
    """
    begins, ends, open_rows, lost_ends = _matches(events)
    if not (begins or open_rows or lost_ends):
        return events
    begin, end = np.array(begins, np.int64), np.array(ends, np.int64)
    duration = events.duration.copy()
    duration[np.isin(events.phase, np.frombuffer(_BEGINS, np.uint8))] = -1
    duration[begin] = events.start[end] - events.start[begin]
    target = np.arange(len(events), dtype=np.int32)
    target[end] = begin
    faults = [
        problem(code, len(rows), f"event {min(rows):,}")
        for code, rows in (("begin-without-end", open_rows), ("end-without-begin", lost_ends))
        if rows
    ]
    return replace(
        events,
        duration=duration,
        args={name: _moved(argument, target) for name, argument in events.args.items()},
        problems=merge([*events.problems, *faults]),
    )


_BEGINS, _ENDS = b"BbS", b"EeF"


def _matches(events: Events) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return begin rows, the end row of each, begin rows left open, and end rows left over."""
    pairable = np.isin(events.phase, np.frombuffer(_BEGINS + _ENDS, np.uint8)) & (events.start != NO_TIME)
    rows = np.flatnonzero(pairable)
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    phase = events.phase[rows]
    synchronous = (phase == ord("B")) | (phase == ord("E"))
    owner = np.where(synchronous | (events.id[rows] < 0), events.thread[rows], -1)
    one = np.where(synchronous, -1, events.id[rows])
    scope = np.where(synchronous, -1, events.category[rows])
    kind = np.where(synchronous, 0, np.where((phase == ord("b")) | (phase == ord("e")), 1, 2))
    is_begin = np.isin(phase, np.frombuffer(_BEGINS, np.uint8))
    name, category = events.name[rows].tolist(), events.category[rows].tolist()
    stacks: dict[tuple[int, int, int, int], _Stack] = {}
    begins, ends, left = [], [], []
    keys = zip(owner.tolist(), one.tolist(), scope.tolist(), kind.tolist(), strict=True)
    for at, (key, begin) in enumerate(zip(keys, is_begin.tolist(), strict=True)):
        stack = stacks.get(key)
        if stack is None:
            stack = stacks[key] = _Stack(name, category)
        if begin:
            stack.push(at)
        elif (found := stack.match(at)) >= 0:
            begins.append(found)
            ends.append(at)
        else:
            left.append(at)
    still = [at for stack in stacks.values() for at in stack.open()]
    paired, ended, still, left = (rows[places].tolist() if places else [] for places in (begins, ends, still, left))
    return paired, ended, still, left


class _Stack:
    """Open begin events of one thread or id, by their places in the order of time, the topmost last.

    One that is deep when an end does not fit the topmost is from then on indexed by name; what was closed in its middle
    goes when it comes to lie on top.
    """

    def __init__(self, name: list[int], category: list[int]) -> None:
        self._name, self._category = name, category
        self._rows: list[int] = []
        self._by_name: dict[int, list[int]] | None = None
        self._closed: set[int] = set()

    def open(self) -> list[int]:
        """Return what is open, the topmost last."""
        return [row for row in self._rows if row not in self._closed]

    def push(self, row: int) -> None:
        """Open a begin event."""
        self._rows.append(row)
        if self._by_name is not None:
            self._by_name.setdefault(self._name[row], []).append(row)

    def match(self, end: int) -> int:
        """Close the topmost begin event of equal name and category, a missing one being equal to any; −1 if there is none."""
        rows = self._rows
        name = self._name[end]
        if self._by_name is None:
            if rows and self._fits(rows[-1], end):
                return rows.pop()
            if len(rows) <= _DEEP:
                place = next((at for at in range(len(rows) - 2, -1, -1) if self._fits(rows[at], end)), -1)
                return rows.pop(place) if place >= 0 else -1
            self._by_name = {}
            for row in rows:
                self._by_name.setdefault(self._name[row], []).append(row)
        among = [rows] if name < 0 else [self._by_name.get(one, []) for one in (name, -1)]
        found = max(self._topmost(some, end) for some in among)
        self._closed.add(found)
        return found

    def _topmost(self, rows: list[int], end: int) -> int:
        while rows and rows[-1] in self._closed:
            rows.pop()
        return next((row for row in reversed(rows) if row not in self._closed and self._fits(row, end)), -1)

    def _fits(self, begin: int, end: int) -> bool:
        name, other = self._name[end], self._name[begin]
        if name >= 0 and other >= 0 and name != other:
            return False
        category, other = self._category[end], self._category[begin]
        return category < 0 or other < 0 or category == other


_DEEP = 32
"""Open begin events that are sooner looked at one by one than indexed."""


def _moved(argument: Argument, target: NDArray[np.int32]) -> Argument:
    """Move values to the rows `target` names; where two meet, the moved one stays."""
    rows = target[argument.rows]
    if np.array_equal(rows, argument.rows):
        return argument
    own = rows == argument.rows
    order = np.lexsort((~own, rows))  # a begin's own value comes before the one of its end
    rows = rows[order]
    last = np.append(rows[1:] != rows[:-1], True)
    return Argument(rows[last], argument.values[order][last])

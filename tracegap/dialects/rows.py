"""Event rows picked out, classified and matched, whole columns at a time: the tools that dialects share."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.marks import Device, TrackMarks
from tracegap.events import NO_TIME, Argument, Events, Thread
from tracegap.kinds import Kind, Role


def are_slices(events: Events) -> NDArray[np.bool_]:
    """Return bool[n]: the rows that are timed intervals (X, and B and b that found their end)."""
    phase = events.phase
    interval = (phase == ord("X")) | (phase == ord("B")) | (phase == ord("b"))
    return np.asarray(interval & (events.start != NO_TIME) & (events.duration >= 0))


def tell(ids: NDArray[np.int32], strings: Sequence[str], rule: Callable[[str], int]) -> NDArray[np.uint8]:
    """Apply `rule` to the text behind each id, once for each id that occurs; −1 is the empty text.

    Examples
    --------
    >>> tell(np.array([1, 0, 1, -1], np.int32), ("relu", "add"), len).tolist()
    [3, 4, 3, 0]
    """
    seen = np.zeros(len(strings) + 1, bool)
    seen[ids] = True
    table = np.zeros(len(strings) + 1, np.uint8)
    for known in np.flatnonzero(seen).tolist():
        table[known] = rule(strings[known] if known < len(strings) else "")
    return np.asarray(table[ids])


def latest(
    key: NDArray[np.int64], time: NDArray[np.int64], sought: NDArray[np.int64], when: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each of `sought`, the position of the latest equal `key` whose `time` is not after `when`.

    Where all equal keys are later, it is the first of them; −1 where there is none. O(n log n).

    Examples
    --------
    >>> found = latest(np.array([7, 7, 8]), np.array([10, 20, 5]), np.array([7, 7, 8, 9]), np.array([15, 25, 1, 1]))
    >>> found.tolist()
    [0, 1, 2, -1]
    """
    if not len(key) or not len(sought):
        return np.full(len(sought), -1, np.int64)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    place = np.minimum(np.searchsorted(ordered, sought), len(ordered) - 1)
    hit = ordered[place] == sought
    if (ordered[1:] != ordered[:-1]).all():
        return np.where(hit, order[place], -1)
    # several of one key: merge both sides by time, and carry the last candidate on
    keys, times = np.concatenate((key, sought)), np.concatenate((time, when))
    asks = np.arange(len(keys)) >= len(key)
    merged = np.lexsort((asks, times, keys))
    last = np.maximum.accumulate(np.where(asks[merged], -1, np.arange(len(merged))))
    before = np.full(len(keys), -1, np.int64)
    before[merged] = np.where(last >= 0, merged[last], -1)
    before = before[len(key) :]
    fits = hit & (before >= 0) & (keys[before] == sought)
    first = np.lexsort((time, key))[place]
    return np.where(fits, before, np.where(hit, first, -1))


def positive(argument: Argument, wanted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and values of an argument for the wanted rows, where it is over 0: 0 and −1 mean none."""
    keep = wanted[argument.rows] & (argument.values > 0)
    return argument.rows[keep].astype(np.int64), argument.values[keep].astype(np.int64)


def labels(*columns: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return a number for each row, the same for rows alike in all `columns`, in order of their values. O(n log n).

    Examples
    --------
    >>> labels(np.array([7, 7, 3]), np.array([1, 1, 1])).tolist()
    [1, 1, 0]
    """
    order = np.lexsort(columns[::-1])
    changes = np.zeros(len(order), bool)
    for column in columns:
        changes[1:] |= column[order][1:] != column[order][:-1]
    out = np.empty(len(order), np.int64)
    out[order] = np.cumsum(changes)
    return out


def number(value: object) -> int | None:
    """Read a whole number from a process or thread id; None where it is none.

    Examples
    --------
    >>> number(7), number("7"), number("stream 7"), number(None)
    (7, 7, None, None)
    """
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else None


def thread_names(events: Events) -> list[str]:
    """Return the name that the file gives each thread; "" where it gives none."""
    return [str(events.metadata.get(("thread_name", thread)) or "").strip() for thread in events.threads]


def process_texts(events: Events, kind: str) -> dict[int | str | None, str]:
    """Return the text of a metadata event (``process_name``, ``process_labels``) by process."""
    return {
        thread.process: str(value).strip()
        for (name, thread), value in events.metadata.items()
        if name == kind and value
    }


def host_label(thread: Thread, name: str) -> str:
    """Return what a person calls a host thread; Kineto writes ``thread 7 ()`` where it has no name."""
    return name.removesuffix(" ()") or (f"thread {thread.thread}" if thread.thread not in (None, "") else "thread")


def host_tracks(events: Events, *, packed: Sequence[int] = ()) -> TrackMarks:
    """Return marks that take each thread for a host track, in order by nature but for the `packed` ones."""
    ordered = np.ones(len(events.threads), bool)
    ordered[list(packed)] = False
    return TrackMarks(
        role=np.full(len(events.threads), Role.HOST, np.uint8),
        device=np.full(len(events.threads), -1, np.int32),
        ordered=ordered,
        label=tuple(map(host_label, events.threads, thread_names(events))),
    )


def threads_of(events: Events, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool[t]: the threads that have any of the rows."""
    return np.asarray(np.bincount(events.thread[rows], minlength=len(events.threads)) > 0)


def nothing(events: Events) -> NDArray[np.int32]:
    """Return int32[n] of −1."""
    return np.full(len(events), -1, np.int32)


def apart(devices: Sequence[tuple[object, Device]]) -> tuple[Device, ...]:
    """Return the devices, those of one label told apart by their process."""
    labels = [device.label for _, device in devices]
    return tuple(
        device
        if labels.count(device.label) == 1
        else Device(f"{device.label} (process {process})", device.name, device.properties)
        for process, device in devices
    )


NONE = np.uint8(Kind.NONE)

"""Which host call handed a device row its work, in traces of Kineto.

By correlation id inside the process that owns the device row, else by External id (DESIGN: Device, Correlation).
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.rows import labels, latest, positive, process_texts
from tracegap.events import NO_TIME, Events
from tracegap.kinds import Kind
from tracegap.problems import Problem, problem

_HANDOVER = ("ac2g", "async", "async_gpu", "async_cpu_to_gpu", "async_npu", "HostToDevice", "cpu_to_cuda")
_CALLS = (Kind.RUNTIME, Kind.SYNC)
_NAMED = re.compile(r"\b(CPU|GPU|NPU|MTIA|XPU|HPU)\b[\s:]*\d*", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True)
class Links:
    """``launch`` int32[n]: the event row of each device row's launch, −1 where unknown; and what could not be told."""

    launch: NDArray[np.int32]
    problems: tuple[Problem, ...]


def launches(
    events: Events, calls: NDArray[np.bool_], operators: NDArray[np.bool_], device: NDArray[np.bool_]
) -> Links:
    """Find the launch of every row of `device` (all masks bool[n]): among `calls` by correlation, then `operators`.

    Ids of 0 and −1 mean none. One launch may start many rows. In a file of several host processes a row whose owner
    cannot be told, and whose id several of them use, stays unlinked.
    """
    launch = np.full(len(events), -1, np.int32)
    correlation = events.arg("correlation")
    from_rows, from_id = positive(correlation, calls)
    to_rows, to_id = positive(correlation, device)
    process = _processes(events)
    hosts = np.unique(process[events.thread[from_rows]])
    if len(hosts) < 2:
        found = latest(from_id, events.start[from_rows], to_id, events.start[to_rows])
        launch[to_rows[found >= 0]] = from_rows[found[found >= 0]]
        _by_external_id(events, operators, device, launch, to_rows, to_id)
        return Links(launch, ())
    owner = owners(events, process, hosts, to_rows)
    slot = np.searchsorted(hosts, process[events.thread[from_rows]])
    first = latest(from_id, events.start[from_rows], to_id, events.start[to_rows])
    used_by = _users(from_id, slot, to_id)
    lone = (owner < 0) & (used_by == 1)
    owner[lone] = slot[first[lone]]
    # ids and processes folded into one key; an id that wraps around still differs from its neighbours
    found = latest(
        from_id * len(hosts) + slot, events.start[from_rows], to_id * len(hosts) + owner, events.start[to_rows]
    )
    found[owner < 0] = -1
    launch[to_rows[found >= 0]] = from_rows[found[found >= 0]]
    unclear = (owner < 0) & (used_by > 1)
    example = f"event {to_rows[np.argmax(unclear)]}, correlation {to_id[np.argmax(unclear)]}" if unclear.any() else ""
    return Links(launch, (problem("ambiguous-launch", int(np.count_nonzero(unclear)), example),))


def owners(
    events: Events, process: NDArray[np.int32], hosts: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the position in `hosts` of the process that owns each device row; −1 where nothing tells.

    By the arrow that ends at it, its External id, the processes' labels, the part of the file it stands in, in this order.
    """
    owner = np.full(len(rows), -1, np.int64)
    for evidence in (_by_arrow, _by_external, _by_label, _by_part):
        open_ = np.flatnonzero(owner < 0)
        if len(open_):
            owner[open_] = evidence(events, process, hosts, rows[open_])
    return owner


def _processes(events: Events) -> NDArray[np.int32]:
    numbers: dict[int | str | None, int] = {}
    return np.array([numbers.setdefault(thread.process, len(numbers)) for thread in events.threads], np.int32)


def _users(key: NDArray[np.int64], slot: NDArray[np.intp], sought: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many different slots have each sought key."""
    _, first = np.unique(labels(key, slot), return_index=True)
    pairs = np.sort(key[first])
    return np.asarray(np.searchsorted(pairs, sought, side="right") - np.searchsorted(pairs, sought, side="left"))


def _by_external_id(
    events: Events,
    operators: NDArray[np.bool_],
    device: NDArray[np.bool_],
    launch: NDArray[np.int32],
    correlated: NDArray[np.int64],
    correlation: NDArray[np.int64],
) -> None:
    """Give device rows that no call claims to the operator of their External id, in place.

    An External id that repeats the row's correlation is a known fault of ROCm builds and says nothing.
    """
    given = events.arg("External id" if len(events.arg("External id").rows) else "external id")
    from_rows, from_id = positive(given, operators)
    to_rows, to_id = positive(given, device & (launch < 0))
    if not len(from_rows) or not len(to_rows):
        return
    if len(correlated):
        place = np.minimum(np.searchsorted(correlated, to_rows), len(correlated) - 1)
        echo = (correlated[place] == to_rows) & (correlation[place] == to_id)
        to_rows, to_id = to_rows[~echo], to_id[~echo]
    found = latest(from_id, events.start[from_rows], to_id, events.start[to_rows])
    launch[to_rows[found >= 0]] = from_rows[found[found >= 0]]


def _by_arrow(
    events: Events, process: NDArray[np.int32], hosts: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Follow the handover arrows whose (category, id) starts in one process only."""
    kinds = [events.strings.index(name) for name in _HANDOVER if name in events.strings]
    arrows = np.isin(events.category, kinds) & (events.id >= 0) & (events.start != NO_TIME)
    leave = np.flatnonzero(arrows & (events.phase == ord("s")))
    arrive = np.flatnonzero(arrows & (events.phase == ord("f")))
    slot = _slots(hosts, process[events.thread[leave]])
    leave, slot = leave[slot >= 0], slot[slot >= 0]
    width = len(events.ids) + 1
    key = events.category[leave].astype(np.int64) * width + events.id[leave]
    sought = events.category[arrive].astype(np.int64) * width + events.id[arrive]
    found = latest(key, events.start[leave], sought, events.start[arrive])
    clear = (found >= 0) & (_users(key, slot, sought) == 1)
    arrive, came = arrive[clear], slot[found[clear]]
    # an arrow's end carries the thread and the start of the device row it points to
    both = np.concatenate((arrive, rows))
    label = labels(events.thread[both], events.start[both])
    table = np.full(int(label.max(initial=-1)) + 1, -1, np.int64)
    table[label[: len(arrive)]] = came
    return np.asarray(table[label[len(arrive) :]])


def _by_external(
    events: Events, process: NDArray[np.int32], hosts: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Ask who else has the row's External id, where that is one process only."""
    given = events.arg("External id" if len(events.arg("External id").rows) else "external id")
    slot = _slots(hosts, process[events.thread[given.rows]])
    keep = (slot >= 0) & (given.values > 0)
    key, slot = given.values[keep].astype(np.int64), slot[keep]
    sought = given.at(rows).astype(np.int64)
    found = latest(key, np.zeros(len(key), np.int64), sought, np.zeros(len(sought), np.int64))
    return np.where((found >= 0) & (_users(key, slot, sought) == 1), slot[found] if len(slot) else -1, -1)


def _by_label(
    events: Events, process: NDArray[np.int32], hosts: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Compare what processes are called beside "CPU" and "GPU 3": a merging tool writes the rank there."""
    signs, names = process_texts(events, "process_labels"), process_texts(events, "process_name")
    owner = np.full(len(rows), -1, np.int64)
    for texts in (
        [_NAMED.sub(" ", signs.get(thread.process, "")) for thread in events.threads],
        [_NAMED.sub(" ", names.get(thread.process, "")) for thread in events.threads],
        [_LAST_NUMBER.sub("", str(thread.process)) for thread in events.threads],
    ):
        called = [" ".join(text.split()) for text in texts]
        slots: dict[str, set[int]] = {}
        for thread, text in enumerate(called):
            slot = int(_slots(hosts, process[thread : thread + 1])[0])
            if slot >= 0 and text:
                slots.setdefault(text, set()).add(slot)
        table = np.array([min(found) if len(found := slots.get(text, set())) == 1 else -1 for text in called], np.int64)
        owner = np.where(owner >= 0, owner, table[events.thread[rows]])
    return owner


def _by_part(
    events: Events, process: NDArray[np.int32], hosts: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Take the process in whose stretch of the file a row stands, where the stretches do not mix."""
    slot = _slots(hosts, process[events.thread])
    at = np.flatnonzero(slot >= 0)
    changes = np.flatnonzero(np.diff(slot[at])) + 1
    if len(changes) != len(hosts) - 1:
        return np.full(len(rows), -1, np.int64)
    begins = np.concatenate((at[:1], at[changes]))
    return np.asarray(slot[begins][np.maximum(np.searchsorted(begins, rows, side="right") - 1, 0)])


def _slots(hosts: NDArray[np.int32], process: NDArray[np.int32]) -> NDArray[np.int64]:
    place = np.minimum(np.searchsorted(hosts, process), len(hosts) - 1)
    return np.where(hosts[place] == process, place, -1).astype(np.int64)


def backward(events: Events, operators: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Join forward and backward operators by sequence number, for traces that have no ``fwdbwd`` arrows.

    The forward operator that made the autograd node is the latest of those with the number; of the backward ones the
    outermost stands for all (PyTorch, ``kineto_shim``/``profiler_kineto``: generateForwardBackwardLinks).

    Returns
    -------
    source, target : int32[k]
        Event rows, forward to backward.
    """
    none = np.empty(0, np.int32)
    number, thread = events.arg("Sequence number"), events.arg("Fwd thread id")
    keep = operators[number.rows] & (number.values >= 0)
    rows, sequence = number.rows[keep].astype(np.int64), number.values[keep].astype(np.int64)
    is_backward = thread.at(rows) > 0
    if not is_backward.any() or is_backward.all():
        return none, none
    ahead, behind = np.flatnonzero(~is_backward), np.flatnonzero(is_backward)
    start = events.start[rows]
    behind = behind[np.lexsort((-events.duration[rows[behind]], start[behind], sequence[behind]))]
    outermost = np.concatenate(([True], np.diff(sequence[behind]) != 0))
    behind = behind[outermost]
    found = latest(sequence[ahead], start[ahead], sequence[behind], start[behind])
    fits = (found >= 0) & (start[ahead[found]] <= start[behind])
    return rows[ahead[found[fits]]].astype(np.int32), rows[behind[fits]].astype(np.int32)

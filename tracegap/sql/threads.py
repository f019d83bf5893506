"""Processes and threads as Perfetto numbers them: utid and upid in order of first mention, names from metadata.

The process of the idle thread (utid 0, upid 0) is always there. A process brings its main thread (tid = pid); tid 0 and
a missing tid mean that main thread. A pid or tid that is text gets a made-up number, and the text as its name.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.events import Events, Thread

_LARGEST = 2**63 - 1
_MADE_UP = 1 << 30  # above any real pid (Linux: at most 2**22), below int32's end


@dataclass(frozen=True, eq=False)
class Threads:
    """Threads and processes.

    Attributes
    ----------
    utid : int32[t]
        Per row of ``Events.threads``; −1 for one that no imported event uses.
    tid : int64[u]
    upid : int32[u]
        Process of each thread.
    pid : int64[p]
    thread_name, process_name : list of (str or None)
    """

    utid: NDArray[np.int32]
    tid: NDArray[np.int64]
    upid: NDArray[np.int32]
    pid: NDArray[np.int64]
    thread_name: list[str | None]
    process_name: list[str | None]


def find_threads(events: Events, order: NDArray[np.int64]) -> Threads:
    """Find the threads and processes, in order of their first event; `order` are the imported rows."""
    numbers = _Numbers()
    utid = np.full(len(events.threads), -1, np.int32)
    used, first = np.unique(events.thread[order], return_index=True)
    for row in used[np.argsort(first)].tolist():
        utid[row] = numbers.thread(events.threads[row])
    _apply_names(events, numbers)
    return Threads(
        utid,
        np.array(numbers.tid, np.int64),
        np.array(numbers.upid, np.int32),
        np.array(numbers.pid, np.int64),
        numbers.thread_name,
        numbers.process_name,
    )


class _Numbers:
    """The tables while they grow."""

    def __init__(self) -> None:
        self.tid, self.upid, self.thread_name = [0], [0], [None]  # the idle thread
        self.pid, self.process_name = [0], [None]
        self._threads: dict[tuple[int, int], int] = {}
        self._processes: dict[int, int] = {}
        self._texts: dict[str, int] = {}
        self.named: set[int] = set()  # threads whose tid is a text: metadata does not rename them

    tid: list[int]
    upid: list[int]
    pid: list[int]
    thread_name: list[str | None]
    process_name: list[str | None]

    def number(self, value: Any) -> tuple[int, str | None]:
        if isinstance(value, str) or (isinstance(value, int) and value > _LARGEST):
            return self._texts.setdefault(str(value), _MADE_UP + len(self._texts)), str(value)
        return (value, None) if isinstance(value, int) and value > 0 else (0, None)

    def process(self, value: Any) -> int:
        pid, name = self.number(value)
        if pid not in self._processes:
            self._processes[pid] = upid = len(self.pid)
            self.pid.append(pid)
            self.process_name.append(name)
            self._add(pid, upid, None)
        return self._processes[pid]

    def thread(self, thread: Thread) -> int:
        upid = self.process(thread.process)
        tid, name = self.number(thread.thread)
        tid = tid or self.pid[upid]
        if (tid, upid) not in self._threads:
            self._add(tid, upid, name)
        utid = self._threads[tid, upid]
        if name is not None:
            self.thread_name[utid] = name
            self.named.add(utid)
        return utid

    def _add(self, tid: int, upid: int, name: str | None) -> None:
        self._threads[tid, upid] = len(self.tid)
        self.tid.append(tid)
        self.upid.append(upid)
        self.thread_name.append(name)


def _apply_names(events: Events, numbers: _Numbers) -> None:
    """Set the names that metadata events give; `Events.metadata` holds the last one by time of each kind."""
    for (kind, thread), value in events.metadata.items():
        name = value.get("name") if isinstance(value, dict) else value
        if not isinstance(name, str) or not name:
            continue
        if kind == "thread_name":
            utid = numbers.thread(thread)
            if utid not in numbers.named:
                numbers.thread_name[utid] = name
        elif kind == "process_name":
            numbers.process_name[numbers.process(thread.process)] = name

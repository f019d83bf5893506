"""Filling the embedded engine's tables from a trace, part by part, each when a query first needs it."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tracegap.decode import decode
from tracegap.errors import SourceError
from tracegap.source import Source
from tracegap.sql.arguments import CounterValues, Details, Value, read_counters
from tracegap.sql.flows import FlowRow, find_flows
from tracegap.sql.importing import ASYNCHRONOUS, GLOBAL, NO_NAME, PROCESS, SPILLED, THREAD, Import, build
from tracegap.sql.schema import DETAILS, OWN_TABLES

if TYPE_CHECKING:
    from tracegap.sql.own import Analysed
    from tracegap.timeline import Timeline, Window

_Read = TypeVar("_Read")

_TRACK_TYPES = {
    THREAD: "thread_execution",
    SPILLED: "thread_overlapping_slice",
    PROCESS: "chrome_process_instant",
    GLOBAL: "legacy_chrome_global_instants",
    ASYNCHRONOUS: "legacy_async_global_slice",
}

_STATS = {
    "json_tokenizer_failure": ("error", "trace", "events without a phase or a usable time"),
    "trace_sorter_negative_timestamp_dropped": ("error", "trace", "events before the time 0"),
    "misplaced_end_event": ("data_loss", "analysis", "slices cut short because one around them ended"),
    "slice_spill_overlapping_complete_event": ("info", "analysis", "overlapping slices on a track of their own"),
    "flow_duplicate_id": ("error", "trace", "second starts of a flow"),
    "flow_no_enclosing_slice": ("error", "trace", "flow events outside all slices"),
    "flow_step_without_start": ("info", "trace", "steps of a flow that never started"),
    "flow_end_without_start": ("info", "trace", "ends of a flow that never started"),
    "flow_invalid_id": ("error", "trace", "flow events without a usable id"),
}


class Filler:
    """A trace, and which of its parts stand in the tables of `connection` already."""

    def __init__(
        self, connection: sqlite3.Connection, source: Source, look: "Callable[[], tuple[Timeline, Window]]"
    ) -> None:
        self._connection = connection
        self._source = source
        self._look = look
        self._done: set[str] = set()
        self._read: tuple[int, ...] = ()
        self._keys: set[str] = set()
        self._arguments: dict[str, dict[int, Value]] = {}

    @property
    def parts(self) -> dict[str, Callable[[], None]]:
        """The parts by the name of the table, and the columns of `tracegap.sql.schema.DETAIL_COLUMNS`; best filled in this order."""
        return {
            "__arg": self._fill_arguments,
            DETAILS: self._fill_details,  # has nothing to read where the arguments were
            "slice": self._fill_slices,
            "thread": self._fill_threads,
            "process": self._fill_processes,
            "__track": self._fill_tracks,
            "flow": self._fill_flows,
            "counter": self._fill_counters,
            "stats": self._fill_stats,
            "trace_bounds": self._fill_bounds,
            **{name: partial(self._fill_own, name) for name in OWN_TABLES},
        }

    def fill(self, part: str) -> None:
        """Fill one table if it is still empty: whole, or not at all where the trace cannot be read."""
        if part in self._done:
            return
        done = set(self._done)
        try:
            with self._connection:  # commits, or rolls back
                self._connection.execute("BEGIN")
                self._fill(part)
        except BaseException:
            self._done = done
            raise

    def index(self, table: str, column: str) -> None:
        """Make an index on a column if there is none yet."""
        self._connection.execute(f"CREATE INDEX IF NOT EXISTS __{table}_by_{column} ON {table} ({column})")

    def _fill(self, part: str) -> None:
        if part not in self._done:
            self._done.add(part)
            self.parts[part]()

    @cached_property
    def imported(self) -> Import:
        """The trace by Perfetto's rules; the file is read when this is first asked."""
        self._read = self._state()
        return build(decode(self._source, {}))

    def _again(self, read: Callable[[], _Read]) -> _Read:
        """Read the file another time: its rows are those of `imported` only where it is the same still."""
        found = read()
        if self._state() != self._read:
            raise SourceError(f"{self._source.name}: changed since it was first read; open it again when it is written")
        return found

    def _state(self) -> tuple[int, ...]:
        try:
            state = self._source.path.stat()
        except OSError:  # it is gone
            return ()
        return state.st_ino, state.st_size, state.st_mtime_ns

    @cached_property
    def _analysed(self) -> "Analysed":
        from tracegap.sql.own import Analysed

        return Analysed(lambda: self._again(self._look))

    @cached_property
    def _details(self) -> Details:
        return Details(self._source, self.imported)

    def want(self, keys: Iterable[str]) -> None:
        """Say of which arguments the `values` will be asked: they are then read together with the details."""
        self._keys.update(keys)

    def read_wanted(self) -> None:
        """Read, in one pass, those arguments that were wanted after the details were read."""
        missing = self._keys.difference(self._arguments)
        if missing and "__arg" not in self._done:
            self._arguments.update(self._again(lambda: self._details.values(missing)))

    def values(self, key: str) -> Mapping[int, Value]:
        """Return the values of an argument by the number of the set."""
        found = self._arguments.get(key)
        if found is not None:
            return found
        if "__arg" in self._done:
            sql = "SELECT arg_set_id, value FROM __arg WHERE key_id IN (SELECT id FROM __key WHERE key = ?)"
            found = dict(self._connection.execute(sql, (key,)).fetchall())
        else:
            found = self._again(lambda: self._details.values([key]))[key]
        self._arguments[key] = found
        return found

    @cached_property
    def _found_flows(self) -> tuple[list[FlowRow], Counter[str]]:
        return find_flows(self.imported)

    @cached_property
    def _counters(self) -> CounterValues:
        imported = self.imported
        return self._again(lambda: read_counters(self._source, imported))

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """First and last moment of the trace in ns, of slices and of counters; 0 and 0 where there are none."""
        imported = self.imported
        counted = np.array([ts for ts, _, _ in self._counters.rows], np.int64)
        starts = np.append(imported.start, counted)
        ends = np.append(imported.start + np.maximum(imported.duration, 0), counted)
        return (int(starts.min()), int(ends.max())) if len(starts) else (0, 0)

    def _insert(self, sql: str, rows: object) -> None:
        self._connection.executemany(sql, rows)  # type: ignore[arg-type]

    def _fill_slices(self) -> None:
        imported = self.imported
        strings: list[str | None] = [*imported.events.strings, None]
        names = [text or NO_NAME for text in strings]
        categories = [text or None for text in strings]
        columns = "id, ts, dur, track_id, category, name, depth, parent_id"
        details: tuple[list[int | None], ...] = ()
        if DETAILS in self._done:
            columns, details = f"{columns}, arg_set_id, thread_ts, thread_dur", self._details.slice_columns()
        places = ", ".join("?" * (columns.count(",") + 1))
        self._insert(
            f"INSERT INTO slice ({columns}) VALUES ({places})",
            zip(
                range(len(imported)),
                imported.start.tolist(),
                imported.duration.tolist(),
                imported.track.tolist(),
                map(categories.__getitem__, imported.category.tolist()),
                map(names.__getitem__, imported.name.tolist()),
                imported.depth.tolist(),
                (None if parent < 0 else parent for parent in imported.parent.tolist()),
                *details,
                strict=True,
            ),
        )

    def _fill_threads(self) -> None:
        threads = self.imported.threads
        pids = threads.pid[threads.upid]
        columns = zip(threads.tid.tolist(), threads.thread_name, threads.upid.tolist(), pids.tolist(), strict=True)
        self._insert(
            "INSERT INTO thread (utid, tid, name, upid, is_main_thread, is_idle) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (utid, tid, name, upid, int(tid == pid), int(utid == 0))
                for utid, (tid, name, upid, pid) in enumerate(columns)
            ),
        )

    def _fill_processes(self) -> None:
        threads = self.imported.threads
        self._insert(
            "INSERT INTO process (upid, pid, name) VALUES (?, ?, ?)",
            zip(range(len(threads.pid)), threads.pid.tolist(), threads.process_name, strict=True),
        )

    def _fill_tracks(self) -> None:
        imported = self.imported
        strings = imported.events.strings
        of_thread, of_process = (THREAD, SPILLED), (PROCESS,)
        self._insert(
            "INSERT INTO __track (id, name, type, utid, upid, counts) VALUES (?, ?, ?, ?, ?, 0)",
            (
                (
                    number,
                    None if name is None or name < 0 else strings[name],
                    _TRACK_TYPES[kind],
                    owner if kind in of_thread else None,
                    owner if kind in of_process else None,
                )
                for number, (kind, owner, name) in enumerate(
                    zip(imported.track_kind, imported.track_owner, imported.track_name, strict=True)
                )
            ),
        )
        self._insert(
            "INSERT INTO __track (id, name, type, upid, counts) VALUES (?, ?, 'json_counter', ?, 1)",
            ((number, *track) for number, track in enumerate(self._counters.tracks, len(imported.track_kind))),
        )

    def _fill_counters(self) -> None:
        first = len(self.imported.track_kind)
        self._insert(
            "INSERT INTO counter (id, ts, track_id, value) VALUES (?, ?, ?, ?)",
            ((number, ts, first + track, value) for number, (ts, track, value) in enumerate(self._counters.rows)),
        )

    def _fill_flows(self) -> None:
        self._insert(
            "INSERT INTO flow (id, slice_out, slice_in, trace_id) VALUES (?, ?, ?, ?)",
            ((number, *flow[:3]) for number, flow in enumerate(self._found_flows[0])),
        )

    def _fill_details(self) -> None:
        if "__arg" not in self._done:
            self._arguments = self._again(lambda: self._details.values(self._keys))
        if "slice" in self._done:
            self._insert(
                "UPDATE slice SET arg_set_id = ?, thread_ts = ?, thread_dur = ? WHERE id = ?",
                zip(*self._details.slice_columns(), range(len(self.imported)), strict=True),
            )
        self._fill("flow")
        self._insert(
            "UPDATE flow SET arg_set_id = ? WHERE id = ?",
            ((self._details.flow_sets.get(flow[3:]), number) for number, flow in enumerate(self._found_flows[0])),
        )

    def _fill_arguments(self) -> None:
        keys: dict[tuple[str, str, str], int] = {}
        rows = (
            (set_id, keys.setdefault((flat, key, kind), len(keys)), value)
            for set_id, flat, key, kind, value in self._details.rows()
        )
        self._again(lambda: self._insert("INSERT INTO __arg (arg_set_id, key_id, value) VALUES (?, ?, ?)", rows))
        self._insert(
            "INSERT INTO __key (flat_key, key, value_type, id) VALUES (?, ?, ?, ?)",
            ((*key, number) for key, number in keys.items()),
        )

    def _fill_stats(self) -> None:
        flow_stats = self._found_flows[1]
        stats = self.imported.stats + flow_stats
        self._insert(
            "INSERT INTO stats (name, severity, source, value, description) VALUES (?, ?, ?, ?, ?)",
            ((name, severity, source, stats[name], text) for name, (severity, source, text) in _STATS.items()),
        )

    def _fill_bounds(self) -> None:
        self._insert("INSERT INTO trace_bounds VALUES (?, ?)", [self.bounds])

    def _fill_own(self, table: str) -> None:
        from tracegap.sql.own import ROWS  # brings the analyses, which other queries do without

        places = ", ".join("?" * len(OWN_TABLES[table]))
        self._insert(f"INSERT INTO {table} VALUES ({places})", ROWS[table](self._analysed, self.imported))

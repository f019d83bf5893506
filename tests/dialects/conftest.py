"""A trace written in the test, read and marked by the dialect that knows it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tracegap import decode, dialects, events
from tracegap.dialects import Marks
from tracegap.events import Events
from tracegap.kinds import Kind, Role
from tracegap.source import open_source


@dataclass(frozen=True)
class Marked:
    """What a dialect says of a trace, by the names that the test wrote."""

    dialect: str
    events: Events
    marks: Marks

    def kinds(self) -> dict[str, str]:
        """Return the kind of every slice by its name in the file; what does not count is left out."""
        return {
            self.events.strings[name]: Kind(kind).name
            for name, kind in zip(self.events.name.tolist(), self.marks.kind.tolist(), strict=True)
            if name >= 0 and kind != Kind.NONE
        }

    def shown(self) -> list[str]:
        """Return the names to show of all slices, in file order."""
        return [
            self.marks.strings[self.marks.name[row]] for row in (self.marks.kind != Kind.NONE).nonzero()[0].tolist()
        ]

    def launches(self) -> dict[str, str | None]:
        """Return the name of the launch of every device row, by the row's name."""
        strings, name = self.events.strings, self.events.name
        return {
            strings[name[row]]: strings[name[self.marks.launch[row]]] if self.marks.launch[row] >= 0 else None
            for row in range(len(self.events))
            if self.marks.kind[row] in (Kind.KERNEL, Kind.COMM, Kind.COPY, Kind.WAIT)
        }

    def tracks(self) -> dict[str, tuple[str, int, bool]]:
        """Return role, device and order by label, of the tracks that hold a slice."""
        track = self.events.thread if self.marks.track is None else self.marks.track
        table = self.marks.tracks
        return {
            table.label[one]: (Role(table.role[one]).name, int(table.device[one]), bool(table.ordered[one]))
            for one in sorted(set(track[self.marks.kind != Kind.NONE].tolist()))
        }

    def arrows(self) -> list[tuple[str, str, str]]:
        """Return the dialect's own arrows: kind, source and target by name in the file."""
        strings, name, marks = self.events.strings, self.events.name, self.marks
        return [
            (marks.flow_kinds[kind], strings[name[source]], strings[name[target]])
            for kind, source, target in zip(marks.flow_kind, marks.sources, marks.targets, strict=True)
        ]

    def steps(self) -> list[int]:
        """Return the numbers of the steps, in order of time."""
        rows = sorted(self.marks.step_number, key=lambda row: int(self.events.start[row]))
        return [self.marks.step_number[row] for row in rows]

    def problems(self) -> dict[str, int]:
        """Return how often each problem occurred."""
        return {one.code: one.count for one in self.marks.problems if one.count}


def read_marked(path: Path, *, dialect: str | None = None) -> Marked:
    """Read and mark a file."""
    source = open_source(path)
    spoken = dialects.detect(decode.read_head(source), name=dialect)
    table = events.pair(decode.decode(source, spoken.ARGS))
    return Marked(spoken.NAME, table, spoken.mark(table))


@pytest.fixture
def mark(tmp_path: Path) -> Callable[..., Marked]:
    """Return a function that writes events (or a whole document) to a file, reads it and marks it."""

    def read(document: list[dict[str, Any]] | dict[str, Any], *, dialect: str | None = None) -> Marked:
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return read_marked(path, dialect=dialect)

    return read


@pytest.fixture
def read() -> Callable[..., Marked]:
    """Return the function that reads and marks a file."""
    return read_marked

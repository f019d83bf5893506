"""SQL over a trace: an embedded engine with Perfetto's tables, and the real trace processor behind the same face.

>>> from tracegap.sql import open_engine
>>> with open_engine("trace.json") as engine:  # doctest: +SKIP
...     engine.query("SELECT name, sum(dur) FROM slice GROUP BY name").to_pandas()
"""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from tracegap.errors import UsageError
from tracegap.sql.result import QueryResult

if TYPE_CHECKING:
    from tracegap.timeline import Timeline, Window

__all__ = ["ENGINES", "Engine", "QueryResult", "open_engine"]

ENGINES = ("embedded", "perfetto")


class Engine(Protocol):
    """A trace that answers SQL; a context manager.

    ``query(sql, time_limit_s=60)`` runs statements and returns a `QueryResult`, ``tables()`` names what can be read, ``close()`` lets
    it all go. The text of a ready query is ``tracegap.sql.named.named_query(name).sql``.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let everything go."""
        ...

    def query(self, sql: str, *, time_limit_s: float | None = ...) -> QueryResult:
        """Run one or more statements; the rows are those of the last."""
        ...

    def tables(self) -> tuple[str, ...]:
        """Return the names of what a query can read."""
        ...


def open_engine(
    path: str | Path,
    *,
    engine: str = "embedded",
    trace_processor: Path | None = None,
    steps: tuple[int, int] | None = None,
    between: tuple[int, int] | None = None,
    whole: bool = False,
    dialect: str | None = None,
    step_name: str | None = None,
    max_bytes: int | None = None,
) -> Engine:
    """Open a trace for queries.

    Parameters
    ----------
    path : str or Path
        A file, ``-`` or a URL.
    engine : {"embedded", "perfetto"}
        SQLite with Perfetto's tables, or Perfetto's own trace processor.
    trace_processor : Path, optional
        The ``trace_processor_shell`` to run, for ``perfetto``.
    steps, between, whole
        The window of the ``tracegap_`` tables, as for `tracegap.analyze`; the other tables hold the whole trace.
    dialect, step_name, max_bytes
        As for `tracegap.load`; the first two matter to the ``tracegap_`` tables only.

    Raises
    ------
    SourceError, FormatError
        When the trace, or the trace processor, cannot be had. The embedded engine reads when it is first asked.
    UsageError
        When there is no such engine.
    """
    from tracegap.source import MAX_BYTES, open_source

    source = open_source(path, max_bytes=MAX_BYTES if max_bytes is None else max_bytes)

    def look() -> "tuple[Timeline, Window]":
        from tracegap.extent import choose_window
        from tracegap.loading import load

        timeline = load(source.path, dialect=dialect, step_name=step_name, max_bytes=max_bytes)
        return timeline, choose_window(timeline, steps=steps, between=between, whole=whole)

    if engine == "embedded":
        from tracegap.sql.embedded import EmbeddedEngine

        return EmbeddedEngine(source, look)
    if engine == "perfetto":
        from tracegap.sql.trace_processor import PerfettoEngine

        return PerfettoEngine(source, look, shell=trace_processor)
    raise UsageError(f"there is no engine {engine!r}: choose one of {', '.join(ENGINES)}")

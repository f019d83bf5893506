"""A trace written again, with what was found drawn in; or the dependency graph of a window."""

from pathlib import Path
from typing import BinaryIO

from tracegap import analyses, dag, graphs, overlay
from tracegap.analyses import Model
from tracegap.extent import choose_window
from tracegap.loading import read
from tracegap.source import MAX_BYTES, open_source


def export(
    path: str | Path,
    file: BinaryIO,
    *,
    format: str = "perfetto",
    steps: tuple[int, int] | None = None,
    between: tuple[int, int] | None = None,
    whole: bool = False,
    dialect: str | None = None,
    step_name: str | None = None,
    strict: bool = False,
    max_bytes: int | None = None,
) -> overlay.Annotated | None:
    """Write a trace with what was found drawn in, or the dependency graph of a window.

    Parameters
    ----------
    path : str or Path
        What `load` reads.
    file : BinaryIO
        Where to.
    format : {"perfetto", "graphml", "dot"}
        The whole trace as Chrome trace JSON with the critical path, gaps, steps and findings; or the graph.
    steps, between, whole
        The window, as for `analyze`.
    dialect, step_name, strict, max_bytes
        How to read, as for `load`.

    Returns
    -------
    Annotated or None
        What was written, and by how much its times are shifted; None for a graph.

    Raises
    ------
    SourceError, FormatError, LossError
        As `load` does.
    UsageError
        When the format is unknown, the window does not fit the trace, or it holds too much for a graph.
    """
    graphs.check(format)
    source = open_source(path, max_bytes=MAX_BYTES if max_bytes is None else max_bytes)
    paired, timeline = read(source, dialect=dialect, step_name=step_name, strict=strict)
    window = choose_window(timeline, steps=steps, between=between, whole=whole)
    built = dag.build(timeline, window)
    if format in graphs.WRITERS:
        graphs.write(built, file, format)
        return None
    model = Model(timeline, window, built)
    return overlay.annotate(source, paired, model, analyses.judge(model, analyses.run_all(model)), file)

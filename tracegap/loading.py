"""From a file to a timeline: unpacked, decoded, paired, and marked by what its profiler means.

::

    source ─▶ decode ─▶ events ─▶ dialects ─▶ timeline
"""

from dataclasses import replace
from pathlib import Path

from tracegap import census, dataedges, decode, dialects, events
from tracegap.errors import FormatError
from tracegap.events import Events
from tracegap.source import MAX_BYTES, Source, open_source
from tracegap.strictness import refuse
from tracegap.timeline import Timeline, build


def load(
    path: str | Path,
    *,
    dialect: str | None = None,
    step_name: str | None = None,
    strict: bool = False,
    max_bytes: int | None = None,
    model: str | Path | None = None,
) -> Timeline:
    """Read a trace into a timeline.

    Parameters
    ----------
    path : str or Path
        A file, ``-`` for standard input, or an fsspec URL; plain, gzip, zstd or zip, whatever its name says.
    dialect : str, optional
        The profiler that wrote it; by default it is recognised.
    step_name : str, optional
        A regular expression: slices with such names are the steps.
    strict : bool
        Whether any loss or repair while reading is an error.
    max_bytes : int, optional
        How much unpacked text to read at most.
    model : str or Path, optional
        The ONNX model that a trace of ONNX Runtime ran: it says which node needs which. Needs the package onnx.

    Raises
    ------
    SourceError
        When the bytes cannot be had.
    FormatError
        When they are no trace, or hold no timed slice.
    LossError
        When `strict`, and something was lost or repaired.
    UsageError
        When `dialect` is unknown, `step_name` fits nothing, or `model` is no model of this trace.
    """
    nodes = None if model is None else dataedges.read_model(model)
    source = open_source(path, max_bytes=MAX_BYTES if max_bytes is None else max_bytes)
    timeline = read(source, dialect=dialect, step_name=step_name, strict=strict)[1]
    return timeline if nodes is None else dataedges.add(timeline, nodes, source=str(model))


def read(source: Source, *, dialect: str | None, step_name: str | None, strict: bool) -> tuple[Events, Timeline]:
    """Return a trace's events, paired, and its timeline; as `load`."""
    head = decode.read_head(source)
    spoken = dialects.detect(head, name=dialect)
    decoded = decode.decode(source, spoken.ARGS)
    counted = census.take(decoded)
    paired = events.pair(events.without_drawn(decoded))
    del decoded
    try:
        timeline = build(paired, spoken.mark(paired), dialect=spoken.NAME, step_name=step_name)
    except FormatError as error:
        raise FormatError(f"{source.name}: {error}") from error
    if strict:
        refuse(source.name, timeline.problems)
    file = {"source": source.name, "sha256": source.sha256, "bytes": source.packed_size, "events": len(paired)}
    return paired, replace(timeline, file=file, census=counted)

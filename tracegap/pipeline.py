"""The stages in order: from a file to a timeline, from a timeline to a report. The table of contents of the package.

::

    source ─▶ decode ─▶ events ─▶ dialects ─▶ timeline ─▶ window ─▶ analyses ─▶ report ─▶ renderers
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, BinaryIO

import tracegap
from tracegap import analyses, dag, dataedges, decode, dialects, events, facts, graphs, overlay, scenarios
from tracegap.analyses import Model, utilisation
from tracegap.errors import FormatError, UsageError
from tracegap.events import Events
from tracegap.extent import choose_window
from tracegap.hardware import read_hardware
from tracegap.median_step import chart
from tracegap.problems import merge
from tracegap.renderers import renderer
from tracegap.report import Report
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
    timeline = _read(source, dialect=dialect, step_name=step_name, strict=strict)[1]
    return timeline if nodes is None else dataedges.add(timeline, nodes, source=str(model))


def analyze(
    trace: str | Path | Timeline,
    *,
    steps: tuple[int, int] | None = None,
    between: tuple[int, int] | None = None,
    whole: bool = False,
    wall_clock_ns: int | None = None,
    device_limits: str | Path | None = None,
    peak_flops: float | None = None,
    peak_bandwidth: float | None = None,
    counters: str | Path | None = None,
    target_ns: int | None = None,
    sections: Sequence[str] = (),
    full: bool = False,
    command: Sequence[str] = (),
) -> Report:
    """Say where the time of a trace goes.

    Parameters
    ----------
    trace : str, Path or Timeline
        What `load` reads, or what it returned.
    steps : (int, int), optional
        First and last step number to look at, both inclusive.
    between : (int, int), optional
        The time to look at, ns from the trace's start, half-open.
    whole : bool
        Whether to look at the whole trace and not at its steps.
    wall_clock_ns : int, optional
        The time of a step without the profiler, in ns.
    device_limits : str or Path, optional
        A TOML file with the limits of the devices, or of the host of a trace without one.
    peak_flops, peak_bandwidth : float, optional
        The same as numbers: FLOP/s for all types, bytes/s.
    counters : str or Path, optional
        What ``perf stat -x,`` or ``perf stat -j`` counted over the run.
    target_ns : int, optional
        The mean time of a step that is wanted, in ns: after how many steps is the first one paid off.
    sections : sequence of str
        Names of analyses: only these, in full. All by default.
    full : bool
        Whether everything is said, not one screen.
    command : sequence of str
        The command line that asked, for the report to tell.

    Raises
    ------
    UsageError
        When an option does not fit the trace.
    """
    check_sections(sections)
    hardware = read_hardware(device_limits, peak_flops=peak_flops, peak_bandwidth=peak_bandwidth, counters=counters)
    timeline = trace if isinstance(trace, Timeline) else load(trace)
    window = choose_window(timeline, steps=steps, between=between, whole=whole)
    deep = full or bool(sections)
    model = Model(
        timeline,
        window,
        dag.build(timeline, window),
        wall_clock_ns,
        full=deep,
        hardware=hardware,
        target_ns=target_ns,
    )
    results = _results(model)
    told = [analysis.section(results[analysis.NAME]) for analysis in analyses.ANALYSES if analysis.NAME in results]
    wanted = set(sections) or results.keys()
    return Report(
        tool=_tool(command),
        trace=facts.trace_facts(timeline),
        window=facts.window_facts(window),
        problems=merge((*timeline.problems, *model.dag.problems, *utilisation.problems(results.get(utilisation.NAME)))),
        results={name: result for name, result in results.items() if name in wanted},
        sections=tuple(section for section in told if section.name in wanted),
        verdict=analyses.judge(model, results),
        command=facts.reproduce(tuple(command), timeline.file),
        headline=facts.headline(timeline, window),
        chart=chart(timeline, window),
        full=deep,
    )


def whatif(
    trace: str | Path | Timeline,
    *,
    scale: Mapping[str, float] | None = None,
    set_ns: Mapping[str, int] | None = None,
    remove: Sequence[str] = (),
    overlap: Sequence[Sequence[str]] = (),
    speedup_device: float = 1.0,
    sweep: str | None = None,
    target_ns: int | None = None,
    keep: Sequence[str] = (),
    steps: tuple[int, int] | None = None,
    between: tuple[int, int] | None = None,
    whole: bool = False,
) -> scenarios.Answer:
    """Say how long a window would take with changes, by replay of its dependency graph.

    Names are exact, or ``/regular expressions/``. A change acts on the slices of a name, on what they hold and on the device
    work that they launched; where several meet, their factors multiply.

    Parameters
    ----------
    trace : str, Path or Timeline
        What `load` reads, or what it returned.
    scale : mapping of str to float, optional
        The work of a name times a factor: 0.5 is twice as fast.
    set_ns : mapping of str to int, optional
        How long each slice of a name takes, in ns.
    remove : sequence of str
        Names whose slices are gone, with what they waited for on a device.
    overlap : sequence of sequences of str
        Groups of stages to pipeline across steps.
    speedup_device : float
        How many times as fast all work on devices runs.
    sweep : str, optional
        A name to take from all of its work to none.
    target_ns : int, optional
        A wall time: what factor of the work of `sweep`, else of all time but that of `keep`, reaches it?
    keep : sequence of str
        Names that stay as they are on the way to the target.
    steps, between, whole
        The window, as for `analyze`.

    Returns
    -------
    Answer
        ``measured_wall_ns``, ``replayed_wall_ns``, and the other keys of the JSON report of ``tracegap whatif``.

    Raises
    ------
    UsageError
        When a name means nothing in the window, or a value makes no sense.
    """
    changes = scenarios.Changes(
        scale=tuple((scale or {}).items()),
        set_ns=tuple((set_ns or {}).items()),
        remove=tuple(remove),
        overlap=tuple(map(tuple, overlap)),
        speedup_device=speedup_device,
        sweep=sweep,
        target_ns=target_ns,
        keep=tuple(keep),
    )
    timeline = trace if isinstance(trace, Timeline) else load(trace)
    window = choose_window(timeline, steps=steps, between=between, whole=whole)
    return scenarios.ask(dag.build(timeline, window), changes)


def replay(
    trace: str | Path | Timeline,
    changes: scenarios.Changes,
    *,
    steps: tuple[int, int] | None = None,
    between: tuple[int, int] | None = None,
    whole: bool = False,
    full: bool = False,
    command: Sequence[str] = (),
) -> Report:
    """Return the answer to a what-if as a report; as `whatif`."""
    timeline = trace if isinstance(trace, Timeline) else load(trace)
    window = choose_window(timeline, steps=steps, between=between, whole=whole)
    graph = dag.build(timeline, window)
    answer = scenarios.ask(graph, changes)
    return Report(
        tool=_tool(command),
        trace=facts.trace_facts(timeline),
        window=facts.window_facts(window),
        problems=merge((*timeline.problems, *graph.problems)),
        results={field.name: getattr(answer, field.name) for field in fields(answer)},
        sections=scenarios.sections(answer),
        verdict=None,
        command=facts.reproduce(tuple(command), timeline.file),
        headline=facts.headline(timeline, window),
        full=full,
        schema="tracegap.whatif/1",
    )


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
    read, timeline = _read(source, dialect=dialect, step_name=step_name, strict=strict)
    window = choose_window(timeline, steps=steps, between=between, whole=whole)
    built = dag.build(timeline, window)
    if format in graphs.WRITERS:
        graphs.write(built, file, format)
        return None
    model = Model(timeline, window, built)
    return overlay.annotate(source, read, model, analyses.judge(model, _results(model)), file)


def inventory(trace: str | Path | Timeline, *, command: Sequence[str] = ()) -> Report:
    """Say what is in a trace: tracks, kinds, categories, problems; no analysis is run."""
    timeline = trace if isinstance(trace, Timeline) else load(trace)
    window = choose_window(timeline)
    return Report(
        tool=_tool(command),
        trace=facts.trace_facts(timeline),
        window=facts.window_facts(window),
        problems=timeline.problems,
        results=facts.contents(timeline),
        sections=facts.inventory(timeline),
        verdict=None,
        command=facts.reproduce(tuple(command), timeline.file),
        headline=facts.headline(timeline, window),
        full=True,
        schema="tracegap.info/1",
    )


def render(report: Report, format: str = "text") -> str:
    """Write a report as ``text``, ``md``, ``json`` or ``html``.

    Raises
    ------
    UsageError
        When the format is another.
    """
    return renderer(format).render(report)


def check_sections(names: Sequence[str]) -> None:
    """Check that all names are analyses.

    Raises
    ------
    UsageError
        When one is not.
    """
    known = [analysis.NAME for analysis in analyses.ANALYSES]
    for name in names:
        if name not in known:
            raise UsageError(f"section {name!r} is not known: use one of {', '.join(known)}")


def _read(source: Source, *, dialect: str | None, step_name: str | None, strict: bool) -> tuple[Events, Timeline]:
    head = decode.read_head(source)
    spoken = dialects.detect(head, name=dialect)
    read = events.pair(events.without_drawn(decode.decode(source, spoken.ARGS)))
    try:
        timeline = build(read, spoken.mark(read), dialect=spoken.NAME, step_name=step_name)
    except FormatError as error:
        raise FormatError(f"{source.name}: {error}") from error
    if strict:
        refuse(source.name, timeline.problems)
    file = {"source": source.name, "sha256": source.sha256, "bytes": source.packed_size, "events": len(read)}
    return read, replace(timeline, file=file)


def _results(model: Model) -> dict[str, Any]:
    """Run all analyses; those that have no answer are left out."""
    answers = ((analysis.NAME, analysis.run(model)) for analysis in analyses.ANALYSES)
    return {name: result for name, result in answers if result is not None}


def _tool(command: Sequence[str]) -> dict[str, str]:
    return (
        {"version": tracegap.__version__, "command": shlex.join(command)}
        if command
        else {"version": tracegap.__version__}
    )

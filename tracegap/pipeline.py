"""The stages in order: from a file to a timeline, from a timeline to a report. The table of contents of the package.

::

    source ─▶ decode ─▶ events ─▶ dialects ─▶ timeline ─▶ window ─▶ analyses ─▶ report ─▶ renderers
"""

from collections.abc import Sequence
from pathlib import Path

from tracegap import analyses, contents, dag, facts
from tracegap.analyses import Model, utilisation
from tracegap.errors import UsageError
from tracegap.exporting import export
from tracegap.extent import choose_window
from tracegap.hardware import read_hardware
from tracegap.loading import load
from tracegap.median_step import chart
from tracegap.problems import merge
from tracegap.renderers import renderer
from tracegap.replaying import replay, whatif
from tracegap.report import Report
from tracegap.timeline import Timeline

__all__ = ["analyze", "check_sections", "export", "inventory", "load", "render", "replay", "whatif"]


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
    sections = check_sections(sections)
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
    results = analyses.run_all(model)
    told = [analysis.section(results[analysis.NAME]) for analysis in analyses.ANALYSES if analysis.NAME in results]
    wanted = set(sections) or results.keys()
    return Report(
        tool=facts.tool_facts(command),
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


def inventory(trace: str | Path | Timeline, *, command: Sequence[str] = ()) -> Report:
    """Say what is in a trace: header, steps, devices, tracks, slices, events, problems; no analysis is run."""
    timeline = trace if isinstance(trace, Timeline) else load(trace)
    window = choose_window(timeline)
    return Report(
        tool=facts.tool_facts(command),
        trace=facts.trace_facts(timeline),
        window=facts.window_facts(window),
        problems=timeline.problems,
        results=contents.keys(timeline),
        sections=contents.sections(timeline),
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


def check_sections(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the analyses that are meant, by their names or the labels of their sections.

    Raises
    ------
    UsageError
        When one is not known.

    Examples
    --------
    >>> check_sections(["gaps", "PATH"])
    ('gaps', 'critical_path')
    """
    for name in names:
        if name.lower() not in analyses.NAMES:
            known = ", ".join(analysis.NAME for analysis in analyses.ANALYSES)
            raise UsageError(f"section {name!r} is not known: use one of {known}")
    return tuple(analyses.NAMES[name.lower()] for name in names)

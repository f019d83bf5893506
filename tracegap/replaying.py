"""A what-if from a trace to its answer, as a value or as a report."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from tracegap import dag, facts, scenarios
from tracegap.extent import choose_window
from tracegap.loading import load
from tracegap.problems import merge
from tracegap.report import Report
from tracegap.timeline import Timeline


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
        tool=facts.tool_facts(command),
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

"""What the analysis of serialisation says: its sentences and its table."""

from collections.abc import Iterator, Sequence

from tracegap.analyses.serial_results import Pair, Serialisation
from tracegap.report import Column, Section, Table, named
from tracegap.units import Unit, duration, ratio

TITLE = "What is serialised that could be concurrent?"
LABEL = "serial"

NOTABLE = 0.01
"""Share of the window that two stages must cost by never overlapping before a sentence is spent on them."""

GAINS = 0.005
"""Share of the window that pipelining must save to be called a gain."""


def section(result: Serialisation) -> Section:
    """Say what never overlaps, what pipelining gives and what is exposed."""
    lines = [*_pipelining_lines(result), *_exposed_lines(result), *_parallel_lines(result)]
    if not lines and not result.pairs:
        lines.append("Nothing to compare: the window has no device, and no step with two stages.")
    tables = [_pair_table(result.pairs)] if result.pairs else []
    notes = []
    if result.pipelining is not None and result.pipelining.blocked_by is not None:
        notes.append("Which stages carry a dependence from step to step is inferred from their names and order.")
    if any(pair.relation == "unknown" for pair in result.pairs):
        notes.append("unknown: no recorded dependence joins the two, but the trace does not record all of them.")
    return Section("serialisation", TITLE, tuple(lines), tuple(tables), tuple(notes), label=LABEL)


def _pipelining_lines(result: Serialisation) -> Iterator[str]:
    found = result.pipelining
    if found is None:
        return
    names = {stage.name for stage in found.stages}
    apart = [
        pair
        for pair in result.pairs
        if {pair.a, pair.b} <= names and not pair.overlap_ns and pair.relation != "dependent"
    ]
    worth = [pair for pair in apart if pair.sum_ns - pair.max_ns >= NOTABLE * found.measured_wall_ns]
    for pair in sorted(worth, key=lambda pair: pair.max_ns - pair.sum_ns)[:2]:
        yield (
            f"{named(pair.a)} and {named(pair.b)} never overlap: {duration(pair.sum_ns)} in turn, side by side"
            f" {duration(pair.max_ns)}."
        )
    change = found.predicted_wall_ns / found.measured_wall_ns - 1
    steady = f"{duration(found.steady_step_ns)} a step once it is full, set by {named(found.bottleneck)}"
    if change < -GAINS:
        yield (
            f"Pipelined across steps the window takes {duration(found.predicted_wall_ns)} instead of"
            f" {duration(found.measured_wall_ns)} (−{ratio(-change)}): {steady}."
        )
    else:
        yield f"Pipelining the stages gains nothing more; the longest is {named(found.bottleneck)}, {duration(found.steady_step_ns)} a step."


def _exposed_lines(result: Serialisation) -> Iterator[str]:
    found = result.exposed
    if found is None:
        return
    parts = [
        f"{what} exposed {duration(exposed)} of {duration(whole)} ({ratio(exposed / whole)})"
        for what, exposed, whole in (
            ("communication", found.comm_ns, found.comm_total_ns),
            ("copies", found.copy_ns, found.copy_total_ns),
        )
        if whole
    ]
    yield "; ".join(parts).capitalize() + "." if parts else "No communication and no copies on the device."
    alone = result.alone
    if alone is not None:
        yield (
            f"Host and device ran together {duration(alone.both_ns)}, the host alone {duration(alone.host_only_ns)},"
            f" the device alone {duration(alone.device_only_ns)}."
        )


def _parallel_lines(result: Serialisation) -> Iterator[str]:
    found = result.parallelism
    if found is None or not found.span_ns:
        return
    yield (
        f"The data graph holds {duration(found.work_ns)} of work and its longest path {duration(found.span_ns)}:"
        f" {found.work_ns / found.span_ns:.1f} operators could run side by side on average."
    )
    if found.serial:
        pair = found.serial[0]
        others = len(found.serial) - 1
        more = f"; so did {others} more {'pair' if others == 1 else 'pairs'}" if others else ""
        yield (
            f"{named(pair.first)} and {named(pair.second)} ran in turn although neither needs the other:"
            f" {duration(pair.saving_ns)}{more}."
        )


def _pair_table(pairs: Sequence[Pair]) -> Table:
    rows = sorted(pairs, key=lambda pair: pair.max_ns - pair.union_ns)
    columns = (
        Column("a", Unit.TEXT, tuple(pair.a for pair in rows)),
        Column("b", Unit.TEXT, tuple(pair.b for pair in rows)),
        Column("sum", Unit.NANOSECONDS, tuple(pair.sum_ns for pair in rows)),
        Column("longer", Unit.NANOSECONDS, tuple(pair.max_ns for pair in rows)),
        Column("either", Unit.NANOSECONDS, tuple(pair.union_ns for pair in rows)),
        Column("both", Unit.NANOSECONDS, tuple(pair.overlap_ns for pair in rows)),
        Column("relation", Unit.TEXT, tuple(pair.relation for pair in rows)),
        Column("evidence", Unit.TEXT, tuple(pair.evidence for pair in rows)),
    )
    return Table("Resources and stages, pair by pair", columns, brief=4)

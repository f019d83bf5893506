"""What the analysis of overhead says: its sentences and tables."""

from tracegap.analyses.overhead_results import Overhead, Range, Side, WallClock
from tracegap.charges import Charge, spoken
from tracegap.report import Column, Section, Table, named
from tracegap.units import Unit, duration, ratio

TITLE = "What belongs to no operator"

NAMED = 3
"""Ranges that a sentence names."""

TOLD = 0.05
"""Share of the window from which the path's time in no operator is told apart from the overhead."""

COST_OF_RECORDING = (1_000, 10_000)
"""ns that recording an operator costs, least and most."""


def section(result: Overhead) -> Section:
    """Say how much of the wall clock is in no operator, and whose it is."""
    lines, notes, tables = [], [], []
    if result.wall_clock is not None:
        lines.append(_against_clean(result.wall_clock))
    first = result.first_run
    asked = first is not None and first.target_ns is not None
    if first is not None and asked:
        lines.append(first.sentence())
    if result.host is not None:
        lines.append(_sentence("Operators", "in none of them", result.host))
        if result.elsewhere_ns is not None and result.elsewhere_ns >= TOLD * result.host.wall_ns:
            lines.append(
                f"The critical path is in no operator for {duration(result.elsewhere_ns)} more, in which operators run on"
                " other threads."
            )
        tables.append(_parts_table("Host time in no operator, by cause", result.host, brief=4))
    if result.device is not None:
        lines.append(_sentence("Device work", "with no device at work", result.device))
        if result.device.parts:
            tables.append(_parts_table("Time with no device at work, by cause", result.device, brief=0))
    if result.partitions is not None:
        lines += [result.partitions.sentence(), *result.partitions.payoff()]
        tables += result.partitions.tables()
        if result.device is None:
            notes += result.partitions.dispatching()
    if first is not None and not asked:
        lines.append(first.sentence())
    if result.operators:
        tables.append(_operators_table(result))
        if result.wall_clock is None:
            least, most = (cost * sum(one.count for one in result.operators) for cost in COST_OF_RECORDING)
            notes.append(
                f"Recording an operator costs 1 to 10 µs: about {duration(least)} to {duration(most)} of this window may be"
                " the profiler's. --wall-clock MS compares with the time without it."
            )
    if result.host is not None and any(part.cause == Charge.UNATTRIBUTED.word for part in result.host.parts or ()):
        notes.append("Unattributed: the trace records neither a step nor a thread that could own this time.")
    return Section("overhead", TITLE, tuple(lines), tuple(tables), tuple(notes))


def _sentence(what: str, rest: str, side: Side) -> str:
    overlap, where = "", _ranges(side)
    if side.concurrency is not None and side.operator_sum_ns != side.union_ns:
        overlap = f" ({side.concurrency:.2f} at a time where any runs, {duration(side.union_ns)} in all)"
    return (
        f"{what}: {duration(side.operator_sum_ns)}{overlap}, and {duration(side.overhead_ns)} of {duration(side.wall_ns)}"
        f" ({ratio(side.overhead_ratio)}) {rest}{f'; most of it in {where}' if where else ''}."
    )


def _against_clean(clock: WallClock) -> str:
    both = f"traced {duration(clock.traced_ns)}, without the profiler {duration(clock.clean_ns)} ({clock.ratio:.2f} ×)"
    if clock.trustworthy:
        return f"The trace can be trusted: {both}."
    return f"The profiler is being studied, not the program: {both}, more than 10 % apart."


def _parts_table(title: str, side: Side, *, brief: int) -> Table:
    parts = side.parts or ()
    columns = [
        Column("cause", Unit.TEXT, tuple(spoken(part.cause) for part in parts)),
        Column("time", Unit.NANOSECONDS, tuple(part.duration_ns for part in parts), bar=True),
        Column("of window", Unit.RATIO, tuple(part.duration_ns / side.wall_ns for part in parts)),
    ]
    first = _named(side)[:1]
    if first:
        untraced = Charge.UNTRACED_HOST.word
        columns.append(
            Column("most in", Unit.TEXT, tuple(first[0].name if part.cause == untraced else "" for part in parts))
        )
    return Table(title=title, columns=tuple(columns), total=len(parts), brief=brief)


def _ranges(side: Side) -> str:
    """Name the ranges that have most of the time in no operator."""
    large = [one for one in _named(side)[:NAMED] if one.duration_ns >= 0.1 * side.overhead_ns]
    return ", ".join(f"{named(one.name or '')} {duration(one.duration_ns)}" for one in large)


def _named(side: Side) -> list[Range]:
    return [one for one in side.untraced or () if one.name is not None]


def _operators_table(result: Overhead) -> Table:
    shown = result.operators[:20]
    wall = result.host.wall_ns if result.host else 0
    columns = [
        Column("operator", Unit.TEXT, tuple(one.name for one in shown)),
        Column("count", Unit.COUNT, tuple(one.count for one in shown)),
        Column("time", Unit.NANOSECONDS, tuple(one.operator_ns for one in shown), bar=True),
        Column("of window", Unit.RATIO, tuple(one.operator_ns / wall if wall else None for one in shown)),
        Column("self", Unit.NANOSECONDS, tuple(one.self_ns for one in shown)),
        Column("total", Unit.NANOSECONDS, tuple(one.total_ns for one in shown)),
    ]
    if result.device is not None:
        columns.append(Column("device", Unit.NANOSECONDS, tuple(one.device_ns for one in shown)))
    return Table("Operators by their own time on the host", tuple(columns), total=len(result.operators), brief=0)

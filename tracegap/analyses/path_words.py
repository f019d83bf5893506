"""What the analysis of the critical path says: its sentences and tables."""

from tracegap.analyses.path_results import TOP, CriticalPath, Part
from tracegap.charges import Charge, spoken
from tracegap.kinds import Kind
from tracegap.report import Column, Section, Table, named
from tracegap.units import Unit, count, duration, ratio

TITLE = "What is on the critical path?"
LABEL = "path"

NEAR = 0.01
"""Share of the window of slack under which a name off the path is nearly critical: a change of that size puts it on the path."""

NOTABLE = 0.01
"""Share of the window that a name must cost before a sentence is spent on it."""

_HOST = (Charge.OPERATOR, Charge.RUNTIME, Charge.INPUT, Charge.ALLOCATOR)
_DEVICE = (Charge.KERNEL, Charge.COMMUNICATION, Charge.COPY)
_RANGE = Kind.ANNOTATION.name.lower()


def section(result: CriticalPath) -> Section:
    """Say what the path consists of, what would shorten it and what would not."""
    by_cause = {part.cause: part.duration_ns for part in result.by_cause}
    host, device = (sum(by_cause.get(charge.word, 0) for charge in charges) for charges in (_HOST, _DEVICE))
    parts = (("host work", host), ("device work", device), ("waits", result.wait_ns))
    told = (f"{what} {duration(time)} ({ratio(time / result.length_ns)})" for what, time in parts if time)
    lines = [f"{duration(result.length_ns)} = {' + '.join(told)}."]
    best = max(result.by_name, key=lambda one: one.drag_ns or 0, default=None)
    if best is not None and (best.drag_ns or 0) >= NOTABLE * result.length_ns:
        lines.append(
            f"Without the own work of {named(best.name)} the window would be {duration(best.drag_ns or 0)} shorter"
            f" ({ratio((best.drag_ns or 0) / result.length_ns)}); it is on the path for {duration(best.duration_ns)}."
        )
    lines += _beside(result)
    return Section("critical_path", TITLE, tuple(lines), _tables(result), tuple(_notes(result)), label=LABEL)


def _beside(result: CriticalPath) -> list[str]:
    """Say what looks expensive off the path, and what is nearly on it."""
    large = [one for one in result.off_path if one.duration_ns >= NOTABLE * result.length_ns]
    far = [one for one in large if one.slack_ns >= NEAR * result.length_ns]
    near = [one for one in large if one.slack_ns < NEAR * result.length_ns]
    lines = []
    if far:
        lines.append(
            f"Off the path: {named(far[0].name)} takes {duration(far[0].duration_ns)} and has at least"
            f" {duration(far[0].slack_ns)} slack; making it faster changes nothing."
        )
    if near:
        lines.append(
            f"Nearly on the path: {named(near[0].name)}, {duration(near[0].duration_ns)} with"
            f" {duration(near[0].slack_ns)} slack."
        )
    return lines


def _causes(result: CriticalPath) -> list[Part]:
    """Return the causes in words, and work of ranges that hold no operator apart from that of operators."""
    ranges = sum(one.duration_ns for one in result.by_name if one.kind == _RANGE)
    parts = []
    for part in result.by_cause:
        if part.cause == Charge.OPERATOR.word:
            parts.append(Part("operator", part.duration_ns - ranges))
            parts.append(Part("range without operators", ranges))
        else:
            parts.append(Part(spoken(part.cause), part.duration_ns))
    return sorted((part for part in parts if part.duration_ns), key=lambda part: -part.duration_ns)


def _tables(result: CriticalPath) -> tuple[Table, ...]:
    causes, names, off = _causes(result), result.by_name[:TOP], result.off_path
    whole = result.length_ns
    tables = [
        Table(
            "The path by cause",
            (
                Column("cause", Unit.TEXT, tuple(part.cause for part in causes)),
                Column("time", Unit.NANOSECONDS, tuple(part.duration_ns for part in causes), bar=True),
                Column("of the window", Unit.RATIO, tuple(part.duration_ns / whole for part in causes)),
            ),
        ),
        Table(
            "Work on the path by name",
            (
                Column("name", Unit.TEXT, tuple(one.name for one in names)),
                Column("count", Unit.COUNT, tuple(one.count for one in names)),
                Column("time", Unit.NANOSECONDS, tuple(one.duration_ns for one in names)),
                Column("of the window", Unit.RATIO, tuple(one.ratio for one in names)),
                Column("drag", Unit.NANOSECONDS, tuple(one.drag_ns for one in names)),
                Column("total drag", Unit.NANOSECONDS, tuple(one.total_drag_ns for one in names)),
            ),
            total=len(result.by_name),
            keep=3,
        ),
    ]
    if off:
        tables.append(
            Table(
                "Work off the path",
                (
                    Column("name", Unit.TEXT, tuple(one.name for one in off)),
                    Column("time", Unit.NANOSECONDS, tuple(one.duration_ns for one in off)),
                    Column("slack", Unit.NANOSECONDS, tuple(one.slack_ns for one in off)),
                ),
                brief=2,
            )
        )
    return tuple(tables)


def _notes(result: CriticalPath) -> list[str]:
    notes = []
    if result.inferred_ns:
        notes.append(
            f"{duration(result.inferred_ns)} of the path ({ratio(result.inferred_ns / result.length_ns)}) lie on dependencies"
            " that are inferred, not recorded."
        )
    if result.carried_in_ns:
        notes.append(f"{duration(result.carried_in_ns)} of the path are work that began before the window.")
    if len(result.by_name) > TOP:
        notes.append(f"Drag is known of the top {TOP} of {count(len(result.by_name))} names.")
    return notes

"""The answer in sentences and tables."""

from collections.abc import Iterator

from tracegap.charges import WORK, spoken
from tracegap.report import Column, Section, Table, named
from tracegap.scenarios.answer import Answer, Pipeline, Sweep, Target
from tracegap.scenarios.changes import Change
from tracegap.scenarios.threads import ThreadOrder
from tracegap.units import Unit, count, duration, ratio

_ROWS = 20


def sections(answer: Answer) -> tuple[Section, ...]:
    """Say the answer: the wall, the target, the sweep and pipelines; then what is critical and how far that is known."""
    lines = [_wall(answer), *_ahead(answer.thread_order, "It")]
    asked = [_needed(answer.target)] if answer.target is not None else []
    asked += [_swept(answer.sweep)] if answer.sweep is not None else []
    lines += [" ".join(asked)] if asked else []
    if answer.target is not None:
        lines += _ahead(answer.target.thread_order, "With that it")
    if answer.sweep is not None:
        lines += _ahead(answer.sweep.thread_order, f"Without {named(answer.sweep.name)} it")
    lines += [_pace(one) for one in answer.pipelines or ()]
    tables = [_changes(answer.changes)] if answer.changes else []
    tables += [_curve(answer.sweep)] if answer.sweep is not None else []
    first = Section("what_if", "What if?", tuple(lines), tuple(tables), tuple(_notes(answer)), label="what if")
    if not answer.critical_by_cause:
        return (first,)
    then = "What is critical then?" if answer.changes else "What is critical?"
    return first, Section("critical", then, (_critical(answer), _inferred(answer)), _path(answer))


def _wall(answer: Answer) -> str:
    measured, then = answer.measured_wall_ns, answer.replayed_wall_ns
    if not answer.changes:
        return f"The window takes {duration(measured)}; replayed without a change, {duration(then)}."
    if then == measured:
        return f"Nothing is gained: the window would take its {duration(measured)} as before."
    change = then / measured - 1 if measured else 0.0
    times = f", {measured / then:.2f} × as fast" if 0 < then < measured else ""
    sign = "+" if change > 0 else "−"
    return (
        f"The window would take {duration(then)} instead of {duration(measured)} ({sign}{ratio(abs(change))}{times})."
    )


def _ahead(one: ThreadOrder | None, where: str) -> Iterator[str]:
    """Say how long it takes if slices need more of other threads than any edge says."""
    if one is not None:
        yield (
            f"{where} takes up to {duration(one.wall_ns)} if slices need what other threads had finished when they started:"
            f" {named(one.after)} may need {named(one.before)}, which nothing records."
        )


def _pace(one: Pipeline) -> str:
    idle = [f"{named(stage.name)} idles {duration(stage.idle_ns)}" for stage in one.stages if stage.idle_ns]
    told = f" a step, in which {' and '.join(idle)}" if idle else " a step"
    given = ", if none of these stages needs a later one of the step before" if one.shared else ""
    return f"Pipelined, {named(one.bottleneck)} sets the pace: {duration(one.step_ns)}{told}{given}."


def _critical(answer: Answer) -> str:
    wall = max(answer.replayed_wall_ns, 1)
    told = [(one.duration_ns, named(one.name)) for one in answer.critical_by_name[:3]]
    waits = [part for part in answer.critical_by_cause if part.cause not in {charge.word for charge in WORK}]
    told += [(part.duration_ns, spoken(part.cause)) for part in waits[:3]]
    most = sorted((one for one in told if one[0]), reverse=True)[:3]
    listed = ", ".join(f"{name} with {duration(time)} ({ratio(time / wall)})" for time, name in most)
    return f"{'Critical then' if answer.changes else 'Critical'}: {listed}."


def _inferred(answer: Answer) -> str:
    if not answer.inferred_edges:
        return "No dependency on that path is inferred."
    number = answer.inferred_edges
    ties = f"{count(number)} dependencies that are" if number > 1 else "one dependency that is"
    return f"That path passes {ties} inferred, not recorded; {ratio(answer.inferred_ratio)} of its time is there."


def _swept(one: Sweep) -> str:
    first, last, name = one.points[0].wall_ns, one.points[-1].wall_ns, named(one.name)
    if last >= first:
        return f"Less of {name} gains nothing: the window takes {duration(first)} even without it."
    if one.knee is None:
        return f"Less of {name} pays evenly all the way, down to {duration(last)} without it."
    rest = one.knee.wall_ns - last
    after = f"each further part gains less, {duration(rest)} in all" if rest else "less than that gains nothing"
    return (
        f"Less of {name} pays until {ratio(one.knee.factor)} of it is left and the window takes"
        f" {duration(one.knee.wall_ns)}; {after}."
    )


def _needed(one: Target) -> str:
    what = "everything"
    if one.name is not None:
        what = named(one.name)
    elif one.keep:
        what = f"all but {', '.join(map(named, one.keep))}"
    if one.factor is None:
        return f"{duration(one.wall_ns)} cannot be reached: with {what} gone the window still takes longer."
    if one.factor >= 1:
        return f"{duration(one.wall_ns)} is reached without a further change."
    return f"For {duration(one.wall_ns)}, {what} must shrink by {ratio(1 - one.factor)}, to {ratio(one.factor)}."


def _path(answer: Answer) -> tuple[Table, ...]:
    rows, causes = answer.critical_by_name[:_ROWS], answer.critical_by_cause
    return (
        Table(
            "Work on the path",
            (
                Column("name", Unit.TEXT, tuple(one.name for one in rows)),
                Column("then", Unit.NANOSECONDS, tuple(one.duration_ns for one in rows), bar=True),
                Column("of the window", Unit.RATIO, tuple(one.ratio for one in rows)),
                Column("measured", Unit.NANOSECONDS, tuple(one.measured_ns for one in rows)),
            ),
            total=len(answer.critical_by_name),
            brief=8,
        ),
        Table(
            "The path by cause",
            (
                Column("cause", Unit.TEXT, tuple(spoken(part.cause) for part in causes)),
                Column("then", Unit.NANOSECONDS, tuple(part.duration_ns for part in causes)),
                Column("measured", Unit.NANOSECONDS, tuple(part.measured_ns for part in causes)),
            ),
        ),
    )


def _curve(one: Sweep) -> Table:
    return Table(
        "The window as less of it is left",
        (
            Column("left", Unit.RATIO, tuple(point.factor for point in one.points)),
            Column("window", Unit.NANOSECONDS, tuple(point.wall_ns for point in one.points), bar=True),
        ),
        brief=len(one.points),
    )


def _changes(changes: tuple[Change, ...]) -> Table:
    return Table(
        "Changes",
        (
            Column("name", Unit.TEXT, tuple(", ".join(one.names) or "all devices" for one in changes)),
            Column("change", Unit.TEXT, tuple(map(_change, changes))),
            Column("slices", Unit.COUNT, tuple(one.slices for one in changes)),
            Column(
                "work", Unit.NANOSECONDS, tuple(None if one.change == "overlap" else one.work_ns for one in changes)
            ),
        ),
    )


def _change(one: Change) -> str:
    if one.set_ns is not None:
        return f"{duration(one.set_ns)} each"
    match one.change:
        case "scale":
            return f"× {one.factor:g}"
        case "speedup-device":
            return f"{1 / (one.factor or 1):g} × as fast"
        case "overlap":
            return "pipelined"
    return "removed"


def _notes(answer: Answer) -> list[str]:
    idle = [one for one in answer.changes if one.names and one.change != "overlap" and not one.work_ns]
    notes = [
        f"{named(', '.join(one.names))} has no work of its own in the window: only what it idled or waited for can change."
        for one in idle
    ]
    for one in answer.pipelines or ():
        names = " and ".join(named(stage.name) for stage in one.stages)
        if one.shared:
            notes.append(
                f"{names} each need a thread or process, and take along what follows them; work on devices stays on its streams, in its order."
            )
        else:
            notes.append(f"{names} run on threads of their own already: their order stays as it is.")
    return notes

"""What the gaps analysis says: its sentences and tables."""

from tracegap.analyses.gap_results import TOP, DeviceGaps, Everything, Gap, Gaps, Slice
from tracegap.charges import spoken
from tracegap.report import Column, Section, Table, named
from tracegap.units import Unit, count, duration, ratio

TITLE = "Where are the gaps?"


def section(result: Gaps) -> Section:
    """Say how idle the devices are and what the gaps lie between."""
    lines = [line for device in result.devices for line in _sentences(device)]
    whole = result.everything
    if result.devices:
        lines.append(
            f"Nothing at all ran, on no device and no thread, for {duration(whole.idle_ns)} ({ratio(whole.idle_ratio)})."
        )
    else:
        lines.append(
            f"The trace has no device; no thread ran for {duration(whole.idle_ns)} of the window"
            f" ({ratio(whole.idle_ratio)}), in {_times(whole.count)}."
            if whole.count
            else "The trace has no device; at every moment of the window a thread runs."
        )
    tables = [table for device in result.devices for table in _tables(device)]
    if not result.devices:
        tables = _gap_tables("all threads", whole.idle_ns, whole)
    return Section("gaps", TITLE, tuple(lines), tuple(tables), tuple(_notes(result)))


def _sentences(device: DeviceGaps) -> list[str]:
    idle = f"{device.device} is idle {duration(device.idle_ns)} of {duration(device.window_ns)} ({ratio(device.idle_ratio)})"
    if not device.top:
        return [f"{idle}: it has no gap."]
    longest = device.top[0]
    where = (
        f"{duration(longest.duration_ns)} at {duration(longest.start_ns)}, {_between(longest.before, longest.after)}"
        f"{_because(longest)}."
    )
    return [f"{idle} in {_times(device.count)}.", f"{'The longest: ' if device.count > 1 else 'It is '}{where}"]


def _because(gap: Gap) -> str:
    if gap.exposed_by is None:
        return ""
    return f"; exposed by {blame(gap.exposed_by.name, gap.exposed_by.operator)}"


def blame(name: str, operator: str | None) -> str:
    """Write what exposed a gap: the operator that was called, and what blocked in it."""
    return named(name) if operator is None else f"{named(operator)} ({named(name)})"


def _times(number: int) -> str:
    return "one gap" if number == 1 else f"{count(number)} gaps"


def _between(before: Slice | None, after: Slice | None) -> str:
    made = f" ({named(after.operator)})" if after and after.operator else ""
    ends = [f"after {named(before.name)}"] if before else []
    ends.append(f"before {named(after.name)}{made}" if after else "to the end")
    return ", ".join(ends)


def _tables(device: DeviceGaps) -> list[Table]:
    if not device.count:
        return []
    return [_causes_table(device), *_gap_tables(device.device, device.idle_ns, device)]


def _causes_table(device: DeviceGaps) -> Table:
    causes = list(device.causes.items())
    return Table(
        title=f"Why {device.device} is idle",
        columns=(
            Column("cause", Unit.TEXT, tuple(spoken(cause) for cause, _ in causes)),
            Column("idle", Unit.NANOSECONDS, tuple(time for _, time in causes), bar=True),
            Column("of window", Unit.RATIO, tuple(time / device.window_ns for _, time in causes)),
            Column("mostly", Unit.TEXT, tuple(_mostly(device, cause) for cause, _ in causes)),
        ),
        total=len(causes),
        brief=6,
        keep=4,
    )


def _mostly(device: DeviceGaps, cause: str) -> str:
    """Say where a cause is found: in the name that has most of it, else in the gaps that are alike and have most of it."""
    best = next((one for one in device.by_name if one.cause == cause and one.name is not None), None)
    if best is not None and best.duration_ns >= 0.5 * device.causes[cause]:
        return best.name or ""
    group = max(device.groups, key=lambda one: (one.causes or {}).get(cause, 0))
    return f"{_times(group.count)} before {_edge(group.after, '(end)')}"


def _gap_tables(where: str, idle: int, told: Everything | DeviceGaps) -> list[Table]:
    if not told.count:
        return []
    shown, top = told.groups[:TOP], told.top
    groups = Table(
        title=f"Gaps of {where} by what they lie between",
        columns=(
            Column("after", Unit.TEXT, tuple(_edge(one.before, "(start)") for one in shown)),
            Column("before", Unit.TEXT, tuple(_edge(one.after, "(end)") for one in shown)),
            Column("gaps", Unit.COUNT, tuple(one.count for one in shown)),
            Column("idle", Unit.NANOSECONDS, tuple(one.total_ns for one in shown), bar=True),
            Column("of idle", Unit.RATIO, tuple(one.total_ns / idle for one in shown)),
        ),
        total=len(told.groups),
        brief=2,
    )
    columns = [
        Column("at", Unit.NANOSECONDS, tuple(gap.start_ns for gap in top)),
        Column("length", Unit.NANOSECONDS, tuple(gap.duration_ns for gap in top), bar=True),
        Column("after", Unit.TEXT, tuple(_edge(gap.before.name if gap.before else None, "(start)") for gap in top)),
        Column("before", Unit.TEXT, tuple(_edge(gap.after.name if gap.after else None, "(end)") for gap in top)),
        Column("launched by", Unit.TEXT, tuple(_launcher(gap.after) for gap in top)),
    ]
    if isinstance(told, DeviceGaps):
        columns.append(Column("mainly", Unit.TEXT, tuple(_main(gap) for gap in top)))
        columns.append(Column("exposed by", Unit.TEXT, tuple(_exposer(gap.exposed_by) for gap in top)))
    longest = Table(f"Longest gaps of {where}", tuple(columns), total=told.count, brief=0)
    return [groups, longest]


def _main(gap: Gap) -> str:
    if not gap.parts:
        return ""
    part = gap.parts[0]
    return f"{spoken(part.cause)} {ratio(part.duration_ns / gap.duration_ns)}"


def _exposer(slice_: Slice | None) -> str:
    return "" if slice_ is None else slice_.operator or slice_.name


def _edge(name: str | None, edge: str) -> str:
    return edge if name is None else name


def _launcher(slice_: Slice | None) -> str:
    return "" if slice_ is None else slice_.operator or slice_.launch or ""


def _notes(result: Gaps) -> list[str]:
    if not result.unseen_launches:
        return []
    of = f"{count(result.unseen_launches)} of {count(result.launches or 0)}"
    return [f"Busy time is a lower bound: {of} launches have no work on a device in the trace."]

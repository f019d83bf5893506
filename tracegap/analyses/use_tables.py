"""How much work was done, as tables. Fractions over 1 are left blank; the diagnosis says why."""

from collections.abc import Iterator, Sequence

from tracegap import waste
from tracegap.analyses.chains import ChainUse
from tracegap.analyses.roofline import HOST_LABEL, Use
from tracegap.analyses.transfers import CollectiveUse, CopyUse
from tracegap.analyses.use_results import LooseKernel, Utilisation
from tracegap.report import Column, Table
from tracegap.units import Unit

TOP = 20
"""Rows of a long table."""


def tables(result: Utilisation) -> Iterator[Table]:
    """Return the tables of the section."""
    if result.families:
        yield _use_table("What kinds of operators do", result.families, shapes=False)
    if any(use.flops or use.bytes for use in result.operators):
        # what a host with a device does by itself is no work to set against limits
        on_device = [use for use in result.operators if use.device != HOST_LABEL]
        uses = on_device or result.operators
        yield _use_table("Operators by shapes", uses[:TOP], shapes=True, total=len(uses))
    if result.chains:
        yield _chain_table(result.chains)
    if result.waste:
        yield waste.table(result.waste)
    if result.communication:
        yield _communication_table(result.communication)
    if result.copies:
        yield _copy_table(result.copies)
    if result.kernels:
        yield _kernel_table(result.kernels)
    yield Table(
        title="Threads and streams",
        columns=(
            Column("track", Unit.TEXT, tuple(track.name for track in result.tracks)),
            Column("busy", Unit.NANOSECONDS, tuple(track.busy_ns for track in result.tracks), bar=True),
            Column("of window", Unit.RATIO, tuple(track.busy_ratio for track in result.tracks)),
        ),
        total=len(result.tracks),
        brief=0,
    )


def _use_table(title: str, uses: Sequence[Use], *, shapes: bool, total: int | None = None) -> Table:
    """Make a table of uses; fractions and rates over a limit are left blank, the diagnosis says why."""
    where = tuple(use.device for use in uses)
    fair = [None if use.over_limit else use for use in uses]
    columns = [
        Column("", Unit.TEXT, tuple(use.name for use in uses)),
        *([Column("shapes", Unit.TEXT, tuple(use.shapes or "" for use in uses))] if shapes else []),
        *([Column("on", Unit.TEXT, where)] if len(set(where)) > 1 else []),
        Column("calls", Unit.COUNT, tuple(use.count for use in uses)),
        Column("time", Unit.NANOSECONDS, tuple(use.duration_ns for use in uses)),
        Column("bound", Unit.TEXT, tuple(use.diagnosis or "" for use in uses)),
        Column("compute", Unit.RATE_FLOPS, tuple(use and (use.flops_per_s or None) for use in fair)),
        Column("of peak", Unit.RATIO, tuple(use and use.f_c for use in fair)),
        Column("memory", Unit.RATE_BYTES, tuple(use and (use.bytes_per_s or None) for use in fair)),
        Column("of limit", Unit.RATIO, tuple(use and use.f_b for use in fair)),
        Column("least time", Unit.NANOSECONDS, tuple(use.attainable_ns for use in uses)),
    ]
    kept = tuple(column for column in columns if any(value not in (None, "") for value in column.values))
    return Table(title, kept, total=total if total is not None else len(uses), brief=0)


def _chain_table(found: Sequence[ChainUse]) -> Table:
    shown = found[:TOP]
    return Table(
        "Elementwise operators in a row, and what fusing them would not move",
        (
            Column("", Unit.TEXT, tuple(" → ".join(chain.names) for chain in shown)),
            Column("chains", Unit.COUNT, tuple(chain.count for chain in shown)),
            Column("tensor", Unit.BYTES, tuple(chain.tensor_bytes for chain in shown)),
            Column("time", Unit.NANOSECONDS, tuple(chain.duration_ns for chain in shown)),
            Column("moved", Unit.BYTES, tuple(chain.bytes for chain in shown)),
            Column("less", Unit.BYTES, tuple(chain.saving_bytes for chain in shown)),
        ),
        total=len(found),
        brief=0,
    )


def _communication_table(found: Sequence[CollectiveUse]) -> Table:
    return Table(
        "Communication",
        (
            Column("", Unit.TEXT, tuple(use.name for use in found)),
            Column("on", Unit.TEXT, tuple(use.device for use in found)),
            Column("ranks", Unit.COUNT, tuple(use.ranks for use in found)),
            Column("calls", Unit.COUNT, tuple(use.count for use in found)),
            Column("time", Unit.NANOSECONDS, tuple(use.duration_ns for use in found)),
            Column("bytes", Unit.BYTES, tuple(use.bytes for use in found)),
            Column("algorithm", Unit.RATE_BYTES, tuple(use.algorithm_bytes_per_s for use in found)),
            Column("bus", Unit.RATE_BYTES, tuple(use.bus_bytes_per_s for use in found)),
        ),
        total=len(found),
        brief=0,
    )


def _copy_table(found: Sequence[CopyUse]) -> Table:
    return Table(
        "Copies",
        (
            Column("", Unit.TEXT, tuple(use.name for use in found)),
            Column("on", Unit.TEXT, tuple(use.device for use in found)),
            Column("calls", Unit.COUNT, tuple(use.count for use in found)),
            Column("time", Unit.NANOSECONDS, tuple(use.duration_ns for use in found)),
            Column("bytes", Unit.BYTES, tuple(use.bytes for use in found)),
            Column("rate", Unit.RATE_BYTES, tuple(use.bytes_per_s for use in found)),
        ),
        total=len(found),
        brief=0,
    )


def _kernel_table(found: Sequence[LooseKernel]) -> Table:
    shown = found[:TOP]
    return Table(
        "Device work that no operator launched",
        (
            Column("", Unit.TEXT, tuple(kernel.name for kernel in shown)),
            Column("on", Unit.TEXT, tuple(kernel.device for kernel in shown)),
            Column("calls", Unit.COUNT, tuple(kernel.count for kernel in shown)),
            Column("time", Unit.NANOSECONDS, tuple(kernel.duration_ns for kernel in shown)),
        ),
        total=len(found),
        brief=0,
    )

"""Waste in words and as a table, for the section it stands in."""

from collections.abc import Iterator

from tracegap.report import Column, Table, named
from tracegap.units import Unit, count, duration
from tracegap.waste.scene import Waste

ADVICE: dict[str, str] = {
    "repeated": "called again with the same inputs or shapes, more often than what stands beside it; compute it once, or batch it",
    "recomputation": "forward work done again in the backward pass (checkpointing), the price of the memory it saves",
    "layout": "changes of the order of elements in memory; keep one layout from end to end",
    "cast": "changes of the element type; keep one type, or cast once outside the loop",
    "round-trip": "copied to the host and back; keep it on the device",
    "blocking-sync": "the host waits until the device has nothing left to do; read results later, or asynchronously",
    "allocator": "memory allocated and freed in steady steps; reuse buffers",
    "tiny-kernels": "kernels that take no longer than their launch; fuse them, batch, or capture a graph",
    "frequent-operator": "called hundreds of times a step for a few µs each; batch them, or compile the step",
}
"""What each code says, and what to do about it."""
SAID = 2
"""Sentences at most; the table has the rest."""


def sentences(found: tuple[Waste, ...]) -> Iterator[str]:
    """Say the ones with most time."""
    for one in found[:SAID]:
        most = f", most of it {named(one.names[0])}" if one.names else ""
        yield f"No progress: {duration(one.duration_ns)} of {one.code} ({count(one.count)} ×{most}): {ADVICE[one.code]}."


def table(found: tuple[Waste, ...]) -> Table:
    """Tell all of them."""
    return Table(
        title="Activity without progress",
        columns=(
            Column("what", Unit.TEXT, tuple(one.code for one in found)),
            Column("count", Unit.COUNT, tuple(one.count for one in found)),
            Column("time", Unit.NANOSECONDS, tuple(one.duration_ns for one in found), bar=True),
            Column("most of it", Unit.TEXT, tuple(one.names[0] if one.names else "" for one in found)),
        ),
        total=len(found),
        brief=0,
    )

"""Hardware counters from ``perf stat -x,`` (CSV) or ``perf stat -j`` (JSON lines), and what they say of the work measured.

Formats: linux/tools/perf/Documentation/perf-stat.txt, sections "CSV FORMAT" and "JSON FORMAT". Rows of one event (by CPU, by
interval) are added up. Bandwidth is that of last-level cache misses, a line of 64 bytes each: traffic that prefetchers and
write-backs cause is not in it, so it is a lower bound.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracegap.errors import UsageError

LINE_BYTES = 64
"""A cache line of x86-64 and most ARM cores."""
ENOUGH = 0.9
"""Share of the time that an event must have been counted for its scaled value to be trusted."""

# FLOPs an instruction counted; Intel's events count a fused multiply-add twice themselves (SDM, volume 3, FP_ARITH_INST_RETIRED).
_FLOPS = {
    "scalar_single": 1,
    "scalar_double": 1,
    "128b_packed_double": 2,
    "128b_packed_single": 4,
    "256b_packed_double": 4,
    "256b_packed_single": 8,
    "512b_packed_double": 8,
    "512b_packed_single": 16,
}
_MISSES = ("LLC-load-misses", "LLC-store-misses")
_NUMBER = re.compile(r"^\d+(\.\d+)?$")


@dataclass(frozen=True, slots=True)
class Counters:
    """Counted events, and how long they ran.

    Attributes
    ----------
    values : mapping of str to float
        By event, modifiers (``:u``) and PMU (``cpu_core/…/``) taken off; events not counted are absent.
    running : mapping of str to float
        Share of the time each was really counted, 0…1; the rest was extrapolated by perf.
    duration_ns : int or None
        From ``duration_time`` where it was counted.
    warnings : tuple of str
        Sentences about what cannot be trusted.
    """

    values: Mapping[str, float]
    running: Mapping[str, float]
    duration_ns: int | None
    warnings: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Derived:
    """What counters and FLOPs say together; None where a part is missing."""

    instructions_per_cycle: float | None
    bytes: int | None
    bytes_per_s: float | None
    flops: int | None
    flops_per_s: float | None
    flops_per_instruction: float | None


def read_counters(text: str) -> Counters:
    """Read the output of ``perf stat`` in either machine format.

    Raises
    ------
    UsageError
        When no counted event is in it.

    Examples
    --------
    >>> read_counters("1960000000,,cycles,980000000,100.00,,").values
    {'cycles': 1960000000.0}
    """
    rows = list(_rows(text))
    values: dict[str, float] = {}
    shares: dict[str, float] = {}
    for event, value, share in rows:
        if value is not None:
            values[event] = values.get(event, 0.0) + value
            shares[event] = min(shares.get(event, 1.0), share)
    if not values:
        raise UsageError(
            "counters: no counted event found; record with `perf stat -x, -o FILE` or `perf stat -j -o FILE`"
        )
    missing = sorted({event for event, value, _ in rows if value is None} - values.keys())
    warnings = [
        f"{event} was counted {share:.0%} of the time and extrapolated: count fewer events at once."
        for event, share in shares.items()
        if share < ENOUGH
    ]
    warnings += [f"{event} was not counted on this machine." for event in missing]
    duration = values.get("duration_time")
    return Counters(values, shares, None if duration is None else round(duration), tuple(warnings))


def derive(counters: Counters, *, duration_ns: int | None = None, flops: int | None = None) -> Derived:
    """Put counters in relation to each other, to time and to arithmetic.

    Parameters
    ----------
    counters : Counters
    duration_ns : int or None
        Wall time of what was counted; None takes ``duration_time``.
    flops : int or None
        Arithmetic of what was counted; None takes the ``fp_arith_inst_retired`` events, if they were counted.
    """
    values = counters.values
    elapsed = duration_ns or counters.duration_ns
    cycles, instructions = values.get("cycles"), values.get("instructions")
    misses = [values[event] for event in _MISSES if event in values] or [
        values[e] for e in ("cache-misses",) if e in values
    ]
    moved = round(sum(misses) * LINE_BYTES) if misses else None
    counted = flops if flops is not None else _counted_flops(values)
    return Derived(
        instructions_per_cycle=instructions / cycles if instructions is not None and cycles else None,
        bytes=moved,
        bytes_per_s=moved * 1e9 / elapsed if moved is not None and elapsed else None,
        flops=counted,
        flops_per_s=counted * 1e9 / elapsed if counted is not None and elapsed else None,
        flops_per_instruction=counted / instructions if counted is not None and instructions else None,
    )


def vectorised(derived: Derived, *, vector_bits: int = 128, element_bits: int = 32) -> bool | None:
    """Whether the arithmetic went through vector units: at least three quarters of a vector's FLOPs an instruction.

    A full vector multiply or add does ``vector_bits ÷ element_bits`` FLOPs; loads and loop control dilute it. None where the
    FLOPs or the instructions are not known.
    """
    rate = derived.flops_per_instruction
    return None if rate is None else rate >= 0.75 * vector_bits / element_bits


def _counted_flops(values: Mapping[str, float]) -> int | None:
    found = [(values[event], _FLOPS[event.split(".", 1)[1]]) for event in values if _is_flops(event)]
    return round(sum(value * each for value, each in found)) if found else None


def _is_flops(event: str) -> bool:
    family, _, kind = event.partition(".")
    return family == "fp_arith_inst_retired" and kind in _FLOPS


def _rows(text: str) -> Iterable[tuple[str, float | None, float]]:
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        row = _json_row(line) if line.startswith(("{", "[")) else _csv_row(line)
        if row is not None:
            yield row


def _json_row(line: str) -> tuple[str, float | None, float] | None:
    try:
        parsed: Any = json.loads(line.rstrip(","))
    except ValueError:
        return None
    if not isinstance(parsed, dict) or "event" not in parsed or "counter-value" not in parsed:
        return None
    return (
        _event(str(parsed["event"])),
        _number(str(parsed["counter-value"])),
        _share(str(parsed.get("pcnt-running", "100"))),
    )


def _csv_row(line: str) -> tuple[str, float | None, float] | None:
    """Find the value: first, or after a time stamp (``-I``), or after a CPU and a count (``-A``, ``--per-core``)."""
    fields = line.split(",")
    for at in range(min(4, len(fields) - 2)):
        event = fields[at + 2]
        counted = _NUMBER.match(fields[at]) or fields[at].startswith("<not ")
        if counted and event and not _NUMBER.match(event) and not fields[at + 1][:1].isdigit():
            share = fields[at + 4] if len(fields) > at + 4 else "100"
            return _event(event), _number(fields[at]), _share(share)
    return None


def _event(text: str) -> str:
    inner = text.split("/")[1] if text.count("/") >= 2 else text
    return inner.split(":")[0]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _share(text: str) -> float:
    number = _number(text)
    return 1.0 if number is None else number / 100

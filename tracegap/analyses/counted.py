"""Hardware counters set beside what the operators of the window did, and judged by the same limits.

In: what ``perf stat`` counted over the whole run, and the modelled work. FLOPs are those that the processor counted, else those of the
modelled operators; the time is the counters' own (``duration_time``), else the window's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tracegap.analyses.roofline import Part, said_of
from tracegap.costs.counters import Counters, derive, vectorised
from tracegap.costs.diagnosis import diagnose
from tracegap.costs.limits import Limits
from tracegap.operators import HOST


@dataclass(frozen=True, slots=True)
class CounterUse:
    """What the counters say; ``basis`` says where FLOPs and time are from, ``warnings`` what cannot be trusted."""

    basis: str
    duration_ns: int
    instructions_per_cycle: float | None = None
    bytes: int | None = None
    bytes_per_s: float | None = None
    flops: int | None = None
    flops_per_s: float | None = None
    flops_per_instruction: float | None = None
    vectorised: bool | None = None
    f_c: float | None = None
    f_b: float | None = None
    diagnosis: str | None = None
    action: str | None = None
    over_limit: bool | None = None
    warnings: tuple[str, ...] = ()


def place(counters: Counters | None, found: Sequence[Part], wall_ns: int, limits: Limits | None) -> CounterUse | None:
    """Put counters on the roofline of the host; None without counters."""
    if counters is None:
        return None
    time = counters.duration_ns or wall_ns
    own = derive(counters, duration_ns=time)
    modelled = [part for part in found if part.device == HOST and part.cost is not None and part.cost.flops]
    work = sum(part.count * (part.cost.flops or 0) for part in modelled if part.cost is not None)
    told = own if own.flops is not None else derive(counters, duration_ns=time, flops=work or None)
    types = {part.cost.dtype for part in modelled if part.cost is not None}
    judged = diagnose(told.flops, told.bytes, time, limits, types.pop() if len(types) == 1 else "")
    source = "the processor's" if own.flops is not None else "the modelled operators'"
    clock = "the counters'" if counters.duration_ns else "the window's"
    return CounterUse(
        basis=f"{source if told.flops else 'no'} FLOPs, {clock} time",
        duration_ns=time,
        instructions_per_cycle=told.instructions_per_cycle,
        bytes=told.bytes,
        bytes_per_s=told.bytes_per_s,
        flops=told.flops,
        flops_per_s=told.flops_per_s,
        flops_per_instruction=told.flops_per_instruction,
        vectorised=vectorised(told),
        f_c=judged.f_c,
        f_b=judged.f_b,
        warnings=counters.warnings,
        **said_of(judged),
    )

"""What holds an operator back: the roofline, and the branch that the two fractions of the limits lead to.

    f_c = achieved FLOP/s ÷ peak,  f_b = achieved bytes/s ÷ peak bandwidth

    f_c > 0.6              compute bound       less or cheaper arithmetic
    f_b > 0.6              bandwidth bound     fewer bytes
    both below 0.4         latency bound       fewer, larger launches
    both between           two phases          split and measure each
    one between, one below bound by that one, inefficiently

The attainable rate is min(peak, intensity × bandwidth) (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009), so the
ideal time is max(FLOPs ÷ peak, bytes ÷ bandwidth).
"""

from dataclasses import dataclass
from enum import StrEnum

from tracegap.costs.limits import Limits

BOUND = 0.6
"""Above this fraction of a limit, the limit is what holds."""
IDLE = 0.4
"""Below this fraction of a limit, the limit is not what holds."""


class Branch(StrEnum):
    """Where the tree ends."""

    COMPUTE = "compute bound"
    BANDWIDTH = "bandwidth bound"
    LATENCY = "latency bound"
    TWO_PHASE = "two phases"
    COMPUTE_INEFFICIENT = "compute bound, inefficiently"
    BANDWIDTH_INEFFICIENT = "bandwidth bound, inefficiently"
    UNKNOWN = "unknown"


ACTIONS: dict[Branch, str] = {
    Branch.COMPUTE: "Do less or cheaper arithmetic: lower precision, a cheaper algorithm, no work done twice.",
    Branch.BANDWIDTH: "Move fewer bytes: fuse with neighbours, lower precision, avoid layout changes.",
    Branch.LATENCY: "Make fewer, larger launches: fuse, batch, remove syncs, capture a graph, leave the interpreter.",
    Branch.TWO_PHASE: "Split it and measure each phase: one computes while the other moves.",
    Branch.COMPUTE_INEFFICIENT: "Improve the kernel: tile sizes, vector or matrix units, shapes that divide evenly.",
    Branch.BANDWIDTH_INEFFICIENT: "Improve the access pattern: contiguous, aligned reads; then move fewer bytes.",
    Branch.UNKNOWN: "Give the device's limits (--device-limits FILE.toml, --peak-flops, --peak-bandwidth).",
}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How near a stretch of work came to its device's limits.

    Attributes
    ----------
    flops_per_s, bytes_per_s : float or None
        Achieved rates; None where the count is not known, or no time passed.
    f_c, f_b : float or None
        Fractions of the limits; None where one side is not known.
    intensity : float or None
        FLOPs a byte.
    attainable_flops_per_s : float or None
        What the roofline allows at that intensity.
    ideal_ns : float or None
        The shortest time that the limits allow, as far as counts and limits are known; None without any.
    efficiency : float or None
        Ideal ÷ measured time.
    branch : Branch
    action : str
        What to do about it.
    over_limit : bool
        Whether a fraction exceeds 1: the count, the clock or the limit is wrong, or (bytes only) the data came from a
        cache; nothing can be concluded.
    """

    flops_per_s: float | None
    bytes_per_s: float | None
    f_c: float | None
    f_b: float | None
    intensity: float | None
    attainable_flops_per_s: float | None
    ideal_ns: float | None
    efficiency: float | None
    branch: Branch
    action: str
    over_limit: bool


def diagnose(flops: int | None, bytes: int | None, duration_ns: int, limits: Limits | None, dtype: str) -> Diagnosis:
    """Judge work of known counts that took `duration_ns` on a device with `limits`.

    Parameters
    ----------
    flops, bytes : int or None
        As `tracegap.costs.cost` counts them, summed over calls; None where not known.
    duration_ns : int
        Time on the device, summed over the same calls.
    limits : Limits or None
        None for an unknown device: achieved rates only.
    dtype : str
        Element type of the arithmetic.

    Examples
    --------
    >>> board = Limits("board", {"": 128e9}, 13e9, "example")
    >>> found = diagnose(33_554_432, 33_554_432, 4_600_000, board, "float16")
    >>> found.branch.value, round(found.ideal_ns), round(found.efficiency, 2)
    ('bandwidth bound, inefficiently', 2581110, 0.56)
    """
    rate_c, rate_b = _rate(flops, duration_ns), _rate(bytes, duration_ns)
    peak = limits.peak(dtype) if limits else None
    width = limits.bytes_per_s if limits else None
    f_c, f_b = _fraction(rate_c, peak), _fraction(rate_b, width)
    intensity = flops / bytes if flops is not None and bytes else None
    attainable = min(peak, intensity * width) if peak and width and intensity is not None else None
    parts = [amount / limit * 1e9 for amount, limit in ((flops, peak), (bytes, width)) if amount is not None and limit]
    ideal = max(parts, default=None)
    over = (f_c or 0) > 1 or (f_b or 0) > 1
    branch = Branch.UNKNOWN if over else _branch(f_c, f_b)
    return Diagnosis(
        flops_per_s=rate_c,
        bytes_per_s=rate_b,
        f_c=f_c,
        f_b=f_b,
        intensity=intensity,
        attainable_flops_per_s=attainable,
        ideal_ns=ideal,
        efficiency=ideal / duration_ns if ideal is not None and duration_ns > 0 else None,
        branch=branch,
        action=ACTIONS[branch] if not over else _TOO_FAST if (f_c or 0) > 1 else _TOO_WIDE,
        over_limit=over,
    )


_TOO_FAST = (
    "Faster than the device can be: the count, the clock or the limit is wrong; check them before believing any of it."
)
_TOO_WIDE = (
    "More bytes than memory delivers: they came from a cache, or the count, the clock or the limit is wrong; "
    "judge it with inputs larger than the cache."
)


def _branch(f_c: float | None, f_b: float | None) -> Branch:
    if f_c is not None and f_c > BOUND and f_c >= (f_b or 0):
        return Branch.COMPUTE
    if f_b is not None and f_b > BOUND:
        return Branch.BANDWIDTH
    # From here on the answer needs both sides.
    if f_c is None or f_b is None:
        return Branch.UNKNOWN
    if f_c < IDLE and f_b < IDLE:
        return Branch.LATENCY
    if f_c >= IDLE and f_b >= IDLE:
        return Branch.TWO_PHASE
    return Branch.COMPUTE_INEFFICIENT if f_c > f_b else Branch.BANDWIDTH_INEFFICIENT


def _rate(amount: int | None, duration_ns: int) -> float | None:
    return None if amount is None or duration_ns <= 0 else amount * 1e9 / duration_ns


def _fraction(rate: float | None, limit: float | None) -> float | None:
    # Nothing computed is a known fraction of any limit, a copy's f_c is 0 on a device of unknown peak.
    if rate == 0:
        return 0.0
    return None if rate is None or limit is None else rate / limit


def predicted_ns(ideal_ns: float, *, bytes_ratio: float = 1.0, efficiency: float) -> float:
    """Return the time of bandwidth-bound work after a change: so much of the bytes, at so much of the bandwidth.

    Examples
    --------
    >>> round(predicted_ns(2_581_110, bytes_ratio=0.5, efficiency=0.85))
    1518300
    """
    return ideal_ns * bytes_ratio / efficiency


def chain_saving(operators: int, tensor_bytes: int) -> int:
    """Return the bytes that fusing a chain of elementwise operators saves: 2·(k − 1)·N.

    Apart, each of k operators reads and writes N bytes; fused, one does.

    Examples
    --------
    >>> chain_saving(3, 1_000_000)
    4000000
    """
    return 2 * max(operators - 1, 0) * tensor_bytes


def steps_to_target(first_ns: int, later_ns: int, target_ns: int) -> int | None:
    """Return after how many steps the running mean, the first one included, is no longer above the target; None if never.

    Examples
    --------
    >>> steps_to_target(340_000_000, 12_000_000, 15_000_000)
    110
    >>> steps_to_target(340, 12, 12) is None
    True
    """
    if first_ns <= target_ns:
        return 1
    if later_ns >= target_ns:
        return None
    # (first + (n − 1)·later) ≤ n·target, solved for n and rounded up.
    return -(-(first_ns - later_ns) // (target_ns - later_ns))

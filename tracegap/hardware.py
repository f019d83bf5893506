"""What the user knows of what ran the program: limits of its devices, and counters of its processor."""

from dataclasses import dataclass
from pathlib import Path

from tracegap.costs.counters import Counters, read_counters
from tracegap.costs.limits import Limits, load_limits, override
from tracegap.errors import UsageError


@dataclass(frozen=True, slots=True)
class Hardware:
    """Limits and counters given by the user; they are those of the trace's devices, and of its host where it has no device.

    Attributes
    ----------
    limits : Limits or None
        Instead of those found by a device's name.
    peak_flops, peak_bandwidth : float or None
        FLOP/s for all types, and bytes/s, instead of those in either.
    counters : Counters or None
        Counted over the whole run, on the host.
    """

    limits: Limits | None = None
    peak_flops: float | None = None
    peak_bandwidth: float | None = None
    counters: Counters | None = None


def read_hardware(
    device_limits: str | Path | None = None,
    *,
    peak_flops: float | None = None,
    peak_bandwidth: float | None = None,
    counters: str | Path | None = None,
) -> Hardware:
    """Read what is given: a TOML file of limits, rates, a file of ``perf stat``.

    Raises
    ------
    UsageError
        When a file cannot be read or holds something else, or a rate is not positive.

    Examples
    --------
    >>> read_hardware(peak_flops=128e9).peak_flops
    128000000000.0
    """
    override(None, peak_flops=peak_flops, peak_bandwidth=peak_bandwidth)
    return Hardware(
        limits=None if device_limits is None else load_limits(device_limits),
        peak_flops=peak_flops,
        peak_bandwidth=peak_bandwidth,
        counters=None if counters is None else _counters(Path(counters)),
    )


def _counters(file: Path) -> Counters:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"counters {file}: cannot be read ({error.strerror}); give the output of perf stat -x,"
        ) from error
    return read_counters(text)

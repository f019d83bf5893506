"""The limits of a device: what it can compute and move in a second, found by its name in a trace, or given by the user.

A device that is not in the table has no limits: achieved rates are still true, fractions of a guess would not be.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracegap.costs import dtypes as types
from tracegap.costs.devices import DEVICES
from tracegap.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can do at most.

    Attributes
    ----------
    device : str
    flops_per_s : mapping of str to float
        Peak by element type, dense; the key "" holds for all types that are not named.
    bytes_per_s : float or None
        Peak memory bandwidth; None where the vendor states none.
    source : str
        Where the numbers are from.
    """

    device: str
    flops_per_s: Mapping[str, float]
    bytes_per_s: float | None
    source: str

    def peak(self, dtype: str) -> float | None:
        """Return the peak for arithmetic on a type, in FLOP/s; None where it is not known.

        ``tf32`` falls back to ``float32`` on devices that have no such mode, complex types to the type of their parts.

        Examples
        --------
        >>> limits = Limits("box", {"float32": 2e12}, 1e11, "example")
        >>> limits.peak("tf32"), limits.peak("complex64"), limits.peak("float16")
        (2000000000000.0, 2000000000000.0, None)
        """
        for key in (dtype, _FALLS_BACK.get(dtype, ""), ""):
            if key in self.flops_per_s:
                return self.flops_per_s[key]
        return None


_FALLS_BACK = {
    "tf32": "float32",
    "complex64": "float32",
    "complex128": "float64",
    "complex32": "float16",
    "uint8": "int8",
}


def find_limits(device_name: str) -> Limits | None:
    """Return the limits of a device by its name as drivers report it; None for one that is not in the table.

    Examples
    --------
    >>> found = find_limits("NVIDIA A100-SXM4-80GB")
    >>> found.device, found.peak("bfloat16"), found.bytes_per_s
    ('NVIDIA A100 80 GB SXM', 312000000000000.0, 2039000000000.0)
    >>> find_limits("AMD Radeon Graphics") is None
    True
    """
    name = " ".join(device_name.lower().split())
    if re.search(r"\bmig\b|\bgrid\b|\bvgpu\b", name):  # a slice of a device under the device's name
        return None
    for row in DEVICES:
        if name and re.search(row.pattern, name):
            rates = {dtype: tera * 1e12 for dtype, tera in row.tera.items()}
            bandwidth = None if row.giga_bytes is None else row.giga_bytes * 1e9
            return Limits(row.device, rates, bandwidth, row.source)
    return None


def load_limits(path: str | Path) -> Limits:
    """Read limits from a TOML file; rates are FLOP/s and bytes/s.

    ::

        device = "my board"
        bandwidth = 13e9
        source = "measured with a stream benchmark"

        [flops]                  # or one number: flops = 128e9
        float16 = 128e9
        float32 = 64e9

    Raises
    ------
    UsageError
        When the file cannot be read, is no TOML, names an unknown type or key, or a rate is no positive number.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"device limits {file}: cannot be read ({error}); give a TOML file") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"device limits {file}: no TOML ({error}); see `tracegap explain utilisation`") from error
    unknown = sorted(set(content) - {"device", "bandwidth", "flops", "source"})
    if unknown:
        raise UsageError(
            f"device limits {file}: unknown key {unknown[0]!r}; known are device, flops, bandwidth, source"
        )
    flops = content.get("flops", {})
    rates = flops if isinstance(flops, dict) else {"": flops}
    for dtype in rates:
        if dtype and dtype != "tf32" and dtype not in types.SIZES:
            raise UsageError(f"device limits {file}: unknown type {dtype!r} under flops; say float32, bfloat16, int8 …")
    bandwidth = content.get("bandwidth")
    return Limits(
        str(content.get("device", file.stem)),
        {dtype: _rate(file, f"flops of {dtype or 'all types'}", rate) for dtype, rate in rates.items()},
        None if bandwidth is None else _rate(file, "bandwidth", bandwidth),
        str(content.get("source", file.name)),
    )


def _rate(file: Path, what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(
            f"device limits {file}: {what} is {value!r}; give a positive number of units a second, as 128e9"
        )
    return float(value)


_FASTEST = 1e30
"""Units a second: beyond all machines, and far from where numbers overflow."""


def override(
    limits: Limits | None, *, peak_flops: float | None = None, peak_bandwidth: float | None = None
) -> Limits | None:
    """Return limits with the rates a user gave: one FLOP rate for all types, one bandwidth; the rest stays.

    Raises
    ------
    UsageError
        When a rate is not from 1 to 1e30 a second.

    Examples
    --------
    >>> override(None, peak_flops=128e9, peak_bandwidth=13e9).peak("float16")
    128000000000.0
    """
    if peak_flops is None and peak_bandwidth is None:
        return limits
    for option, rate in (("--peak-flops", peak_flops), ("--peak-bandwidth", peak_bandwidth)):
        if rate is not None and not 1 <= rate <= _FASTEST:
            raise UsageError(f"{option}: {rate!r} is no rate; give a number of units a second, as 128e9")
    base = limits or Limits("given by option", {}, None, "")
    return replace(
        base,
        flops_per_s=base.flops_per_s if peak_flops is None else {"": peak_flops},
        bytes_per_s=base.bytes_per_s if peak_bandwidth is None else peak_bandwidth,
        source="; ".join(filter(None, (base.source, "options"))),
    )

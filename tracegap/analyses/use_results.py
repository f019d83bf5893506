"""What the analysis of utilisation finds: the keys of its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracegap.analyses.busy import DeviceUse, TrackUse
from tracegap.analyses.chains import ChainUse
from tracegap.analyses.counted import CounterUse
from tracegap.analyses.roofline import Use
from tracegap.analyses.transfers import CollectiveUse, CopyUse
from tracegap.waste import Waste


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of the device with most work: ``flops_per_s`` for the type in which most of its arithmetic is, ``types`` for all."""

    device: str
    source: str
    flops_per_s: float | None = None
    bytes_per_s: float | None = None
    types: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class LooseKernel:
    """Device work that no operator launched, by name."""

    name: str
    device: str
    count: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Result of the analysis.

    ``families`` and ``totals`` (one a device) sum up the ``operators`` that have a cost; ``modelled_ratio`` is their share of the time of
    kernels, or of host operators where there is no device. ``ideal_wall_ns`` is from replay.
    """

    tracks: tuple[TrackUse, ...]
    devices: tuple[DeviceUse, ...]
    operators: tuple[Use, ...] = ()
    families: tuple[Use, ...] = ()
    totals: tuple[Use, ...] = ()
    modelled_ratio: float | None = None
    ideal_wall_ns: int | None = None
    limits: DeviceLimits | None = None
    chains: tuple[ChainUse, ...] = ()
    kernels: tuple[LooseKernel, ...] = ()
    communication: tuple[CollectiveUse, ...] = ()
    copies: tuple[CopyUse, ...] = ()
    counters: CounterUse | None = None
    wall_ns: int | None = None
    waste: tuple[Waste, ...] = ()

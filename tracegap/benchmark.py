"""Measure a call without a profiler: the clean time that a trace is held against (``--wall-clock``)."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np

from tracegap.columns import Columns, Int64
from tracegap.errors import UsageError


@dataclass(frozen=True, eq=False)
class Bench(Columns):
    """The times of all measured calls, none left out.

    Attributes
    ----------
    samples : int64[iters]
        ns of each call, in order, until the device was done with it.
    """

    samples: Int64

    @property
    def median_ns(self) -> int:
        """The middle time, or the mean of the two middle ones rounded down: what a call costs."""
        ordered = np.sort(self.samples)
        return (int(ordered[(len(ordered) - 1) // 2]) + int(ordered[len(ordered) // 2])) // 2

    @property
    def p99_ns(self) -> int:
        """The least time that 99 % of the calls did not exceed; of under 100 calls that is the greatest."""
        ordered = np.sort(self.samples)
        return int(ordered[-(-99 * len(ordered) // 100) - 1])

    @property
    def min_ns(self) -> int:
        """The shortest time: what a call costs when nothing disturbs it."""
        return int(self.samples.min())


def bench(
    fn: Callable[[], Any],
    *,
    warmup: int = 50,
    iters: int = 500,
    clock: Callable[[], int] = perf_counter_ns,
    synchronise: Callable[[], Any] | None = None,
) -> Bench:
    """Time `fn`, each call by itself, with the device's work in it.

    Parameters
    ----------
    fn : callable
        What to measure: one step. It has to wait for its own result where no device of torch did the work
        (``jax.block_until_ready``).
    warmup : int
        Calls before the measured ones, for compilation, caches and clocks to settle.
    iters : int
        Measured calls, at least 1.
    clock : callable
        Returns ns.
    synchronise : callable, optional
        Waits for the device. By default torch's, if the program has loaded torch and uses a device (CUDA and ROCm, XPU, MPS); else
        there is nothing to wait for.

    Raises
    ------
    UsageError
        When `iters` is under 1, or `warmup` under 0.

    Examples
    --------
    >>> from itertools import accumulate, cycle
    >>> ticks = accumulate(cycle((5, 100)))
    >>> bench(lambda: None, warmup=3, iters=8, clock=lambda: next(ticks)).median_ns
    100
    """
    if iters < 1 or warmup < 0:
        raise UsageError(f"bench: iters={iters}, warmup={warmup}: measure once at least, warm up 0 times or more")
    for _ in range(warmup):
        fn()
    # Only now has a first call begun to use a device.
    wait = synchronise or _synchroniser() or (lambda: None)
    samples = np.empty(iters, np.int64)
    for place in range(iters):
        wait()
        begin = clock()
        fn()
        wait()
        samples[place] = clock() - begin
    return Bench(samples)


def _synchroniser() -> Callable[[], Any] | None:
    """Return what waits for torch's device; None where the program has not loaded torch, or it has no device."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    for name in ("cuda", "xpu"):
        device = getattr(torch, name, None)
        if device is not None and device.is_available() and device.is_initialized():
            return _of(device)
    mps = getattr(getattr(torch, "backends", None), "mps", None)
    return _of(torch.mps) if mps is not None and mps.is_available() else None


def _of(device: Any) -> Callable[[], Any]:
    wait: Callable[[], Any] = device.synchronize
    return wait

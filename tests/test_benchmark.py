"""Measuring a call: by a clock that the test turns, without waiting for time."""

import sys
from collections.abc import Callable, Iterable
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import tracegap
from tracegap.benchmark import Bench, bench


class World:
    """A clock, and calls that take time on the host and leave some on a device."""

    def __init__(self, host: Iterable[int] = (), device: int = 0) -> None:
        self.now, self.queued, self.calls = 0, 0, 0
        self.host, self.device = iter(host), device

    def clock(self) -> int:
        return self.now

    def call(self) -> None:
        self.calls += 1
        self.now += next(self.host, 100)
        self.queued += self.device

    def wait(self) -> None:
        self.now, self.queued = self.now + self.queued, 0


def test_every_sample_is_kept_in_order_and_warming_up_is_not_among_them() -> None:
    world = World((900, 800, 30, 10, 20))
    found = bench(world.call, warmup=2, iters=3, clock=world.clock)
    assert found.samples.tolist() == [30, 10, 20]
    assert (found.median_ns, found.min_ns, found.p99_ns, len(found), world.calls) == (20, 10, 30, 3, 5)


def test_a_call_takes_until_its_device_is_done_and_does_not_pay_for_what_was_queued_before() -> None:
    world = World(device=1_000)
    found = bench(world.call, warmup=7, iters=2, clock=world.clock, synchronise=world.wait)
    assert found.samples.tolist() == [1_100, 1_100]


def test_it_warms_up_fifty_times_and_measures_five_hundred_unless_told() -> None:
    world = World()
    assert len(bench(world.call, clock=world.clock)) == 500
    assert world.calls == 550


def test_of_a_hundred_calls_and_more_the_slowest_one_in_a_hundred_is_left_to_the_p99() -> None:
    assert Bench(np.arange(1, 501)).p99_ns == 495
    assert Bench(np.arange(1, 100)).p99_ns == 99
    assert Bench(np.array([1, 4])).median_ns == 2


def torch_like(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], None], *, used: bool) -> None:
    """Put a module in torch's place that has a device."""
    torch = ModuleType("torch")
    cuda = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: used, synchronize=wait)
    torch.cuda = cuda  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)


def test_the_device_of_a_loaded_torch_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(device=1_000)
    torch_like(monkeypatch, world.wait, used=True)
    assert bench(world.call, warmup=1, iters=1, clock=world.clock).samples.tolist() == [1_100]


def test_a_device_that_the_program_does_not_use_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(device=1_000)
    torch_like(monkeypatch, world.wait, used=False)
    assert bench(world.call, warmup=1, iters=1, clock=world.clock).samples.tolist() == [100]


@pytest.mark.parametrize(("warmup", "iters"), [(0, 0), (-1, 5)])
def test_counts_that_measure_nothing_are_refused(warmup: int, iters: int) -> None:
    with pytest.raises(tracegap.UsageError, match=f"iters={iters}, warmup={warmup}"):
        bench(lambda: None, warmup=warmup, iters=iters)


def test_it_is_a_public_name() -> None:
    assert tracegap.bench is bench
    assert tracegap.Bench is Bench

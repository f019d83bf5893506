"""How busy threads, streams and devices are."""

import pytest

from tests.tracebuilder import Trace
from tracegap.analyses import utilisation
from tracegap.analyses.use_results import Utilisation


def use_of(trace: Trace, **options: object) -> Utilisation:
    found = utilisation.run(trace.model(**options))
    assert found is not None
    return found


def test_a_track_is_busy_in_the_union_of_what_runs_and_blocking_is_waiting() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 100)
    main.op("aten::item", 0, 60)
    main.op("aten::_local_scalar_dense", 5, 55)
    main.sync(10, 50)
    stream.kernel("gemm", 0, 40)
    stream.kernel("gemm", 20, 50)
    busy = {track.name: (track.busy_ns, track.busy_ratio) for track in use_of(trace).tracks}
    assert sorted(busy.values()) == [(20_000, 0.2), (50_000, 0.5)]


def test_a_device_tells_kernels_their_median_and_the_share_of_short_ones() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(0, 0, 100)
    main.op("aten::mm", 0, 10)
    for start, end in ((0, 5), (10, 15), (20, 40)):
        stream.kernel("k", start, end)
    trace.stream(8).copy(50, 70)
    (device,) = use_of(trace).devices
    assert (device.busy_ns, device.kernels, device.median_kernel_ns) == (50_000, 3, 5_000)
    assert device.short_ratio == pytest.approx(10 / 30)
    assert (device.median_queue, device.occupancy_ratio) == (None, None)


def test_the_queue_is_what_was_launched_and_has_not_started() -> None:
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 10)
    launches = [main.launch(number, number + 1) for number in range(5)]
    for number, launch in enumerate(launches):
        stream.kernel("k", 10 + 10 * number, 20 + 10 * number, launch)
    (device,) = use_of(trace).devices
    assert (device.median_queue, device.median_launch_delay_ns) == (2, 28_000)


def test_occupancy_is_weighted_by_the_kernels_times() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    trace.stream().kernel("a", 0, 30, **{"est. achieved occupancy %": 20})
    trace.stream().kernel("b", 30, 40, **{"est. achieved occupancy %": 60})
    (device,) = use_of(trace).devices
    assert device.occupancy_ratio == pytest.approx(0.3)


def test_a_trace_without_a_device_says_so() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 10)
    found = use_of(trace)
    assert found.devices == ()
    assert utilisation.section(found).lines[0].startswith("The trace has no device.")

"""Why a device was idle: the parts of gaps, what exposed them, and that all adds up."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.conftest import ROOT, SAMPLES
from tests.test_laws import traces, windows
from tests.test_samples import script
from tests.tracebuilder import Trace
from tracegap import dag
from tracegap.analyses import Model, gaps, overhead
from tracegap.analyses.gaps import DeviceGaps, Gap, Slice
from tracegap.extent import choose_window
from tracegap.pipeline import load
from tracegap.report import unmarked
from tracegap.timeline import Timeline, Window

GENERATOR = ROOT.parent / "shared" / "tools" / "make_trace.py"


def devices_of(timeline: Timeline, window: Window) -> tuple[DeviceGaps, ...]:
    found = gaps.run(Model(timeline, window, dag.build(timeline, window)))
    return () if found is None else found.devices


def device_of(trace: Trace, **options: object) -> DeviceGaps:
    found = gaps.run(trace.model(**options))
    assert found is not None
    (device,) = found.devices
    return device


def parts_of(gap: Gap) -> dict[tuple[str, str | None], int]:
    return {(part.cause, part.name): part.duration_ns for part in gap.parts or ()}


def with_item() -> Trace:
    """Two steps of 100 µs; the first ends by reading a value, and the second has to fill the empty queue."""
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(1, 0, 60)
    first = main.launch(4, 8)
    main.op("aten::mm", 2, 10)
    stream.kernel("gemm", 6, 40, first)
    main.op("aten::item", 12, 46)
    main.op("aten::_local_scalar_dense", 13, 45)
    main.sync(14, 42, "cudaStreamSynchronize")
    main.step(2, 60, 120)
    main.annotation("forward", 62, 90)
    second = main.launch(76, 80)
    main.op("aten::mm", 70, 84)
    stream.kernel("gemm", 82, 110, second)
    return trace


def test_a_gap_is_divided_among_what_ran_on_the_way_to_what_waited() -> None:
    gap = next(gap for gap in device_of(with_item()).top if gap.before and gap.after)
    assert (gap.start_ns, gap.duration_ns) == (40_000, 42_000)
    assert parts_of(gap) == {
        ("sync", "cudaStreamSynchronize"): 2_000,
        ("dispatch", "aten::_local_scalar_dense"): 3_000,
        ("dispatch", "aten::item"): 1_000,
        ("untraced_host", None): 16_000,  # 46 to 62, in no range
        ("untraced_host", "forward"): 8_000,  # 62 to 70
        ("dispatch", "aten::mm"): 6_000,
        ("launch", None): 2_000,
        ("scheduling", None): 4_000,
    }


def test_reading_a_value_exposes_the_gap_behind_it() -> None:
    device = device_of(with_item())
    gap = next(gap for gap in device.top if gap.before and gap.after)
    assert gap.exposed_by == Slice("cudaStreamSynchronize", operator="aten::item")
    (exposed,) = [one for one in device.exposed if one.operator == "aten::item"]
    assert (exposed.name, exposed.count, exposed.total_ns) == ("cudaStreamSynchronize", 1, 42_000)
    assert "exposed by aten::item (cudaStreamSynchronize)" in unmarked(
        gaps.section(gaps.run(with_item().model())).lines[1]
    )


def test_loading_of_input_and_work_of_another_thread_expose_gaps_too() -> None:
    trace = Trace()
    main, other, stream = trace.thread(1), trace.thread(2), trace.stream()
    main.step(1, 0, 200)
    main.slice("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 30, "user_annotation")
    launch = main.launch(42, 44)
    main.op("aten::mm", 40, 46)
    stream.kernel("gemm", 45, 60, launch)
    main.op("aten::add", 60, 100)
    launch = other.launch(112, 114)
    other.op("AddBackward0", 110, 116)
    stream.kernel("grad", 115, 200, launch)
    first, second = sorted(device_of(trace).top, key=lambda gap: gap.start_ns)
    assert first.exposed_by is not None
    assert first.exposed_by.name.startswith("enumerate(DataLoader)")
    assert second.exposed_by == Slice("aten::add")
    assert parts_of(second)["dependency", None] == 10_000


def test_the_profiler_owns_what_passes_while_it_works() -> None:
    # huggingface/blog PR#3389: a gap [50, 90) in one step with "Activity Buffer Request" [52, 88) in it.
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.step(1, 0, 120)
    first, second = main.launch(2, 4), main.launch(50, 89)
    main.op("aten::mm", 0, 5)
    main.op("aten::mm", 48, 90)
    main.slice("Activity Buffer Request", 52, 88, "overhead")
    stream.kernel("gemm", 10, 50, first)
    stream.kernel("gemm", 90, 120, second)
    gap = next(gap for gap in device_of(trace).top if gap.before)
    assert (gap.start_ns, gap.duration_ns) == (50_000, 40_000)
    assert parts_of(gap)["profiler", "Activity Buffer Request"] == 36_000


def test_launches_without_a_kernel_make_busy_time_a_lower_bound() -> None:
    # pytorch#192021: 10 launches, 6 kernels; the others were dropped when the session started.
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    main.op("aten::mm", 0, 200)
    for number in range(10):
        launch = main.launch(10 * number, 10 * number + 2)
        if number >= 4:
            stream.kernel("gemm", 10 * number + 3, 10 * number + 8, launch)
    found = gaps.run(trace.model())
    assert found is not None
    assert (found.unseen_launches, found.launches) == (4, 10)
    notes = ("Busy time is a lower bound: 4 of 10 launches have no work on a device in the trace.",)
    assert gaps.section(found).notes == notes


def test_the_parts_of_the_devices_overhead_are_the_causes_of_the_gaps() -> None:
    weighed = overhead.run(with_item().model())
    assert weighed is not None
    assert weighed.device is not None
    assert {part.cause: part.duration_ns for part in weighed.device.parts or ()} == device_of(with_item()).causes


@pytest.mark.parametrize("scenario", ["host-bound", "healthy"])
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("cuda_sync", [True, False])
def test_the_causes_are_those_that_the_simulation_knows(
    tmp_path: Path, scenario: str, seed: int, *, cuda_sync: bool
) -> None:
    make_cuda = script("make_cuda")
    chosen = replace(make_cuda.SCENARIOS[scenario], seed=seed, cuda_sync=cuda_sync)
    data, truth = make_cuda.simulate(chosen)
    (tmp_path / "trace.json").write_bytes(data)
    timeline = load(tmp_path / "trace.json")
    (device,) = devices_of(timeline, choose_window(timeline))
    assert (device.busy_ns, device.idle_ns) == (truth["device"]["busy_ns"], truth["device"]["idle_ns"])
    assert device.count == len(truth["device"]["gaps"])
    known = alike(truth["device"]["causes"])
    assert alike(device.causes) == known
    found = {gap.start_ns: alike({part.cause: 0 for part in gap.parts or ()} | totals(gap)) for gap in device.top}
    for gap in truth["device"]["gaps"]:
        if gap["start_ns"] in found:
            assert found[gap["start_ns"]] == alike(gap["causes"])


def totals(gap: Gap) -> Counter[str]:
    sums: Counter[str] = Counter()
    for part in gap.parts or ():
        sums[part.cause] += part.duration_ns
    return sums


def alike(causes: "dict[str, int] | Counter[str]") -> dict[str, int]:
    """Put together what no trace can tell apart: Python after a thread's last operator, and the waking of the next thread."""
    sums = Counter(causes)
    sums["untraced_host"] += sums.pop("dependency", 0)
    return {cause: time for cause, time in sums.items() if time}


@pytest.mark.parametrize("name", ["cuda_host_bound.json.gz", "cuda_healthy.json.gz"])
def test_hardly_any_idle_time_of_a_sample_is_unattributed(name: str) -> None:
    timeline = load(SAMPLES / name)
    for device in devices_of(timeline, choose_window(timeline)):
        assert device.causes.get("unattributed", 0) <= 0.02 * device.idle_ns


@pytest.mark.skipif(not GENERATOR.exists(), reason="the other generator is not there")
@pytest.mark.parametrize("scale", ["0.3", "4"])
@pytest.mark.parametrize("sync", [(), ("--no-cuda-sync",)])
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_hardly_any_idle_time_of_another_generators_traces_is_unattributed(
    tmp_path: Path, scale: str, sync: tuple[str, ...], seed: str
) -> None:
    file = tmp_path / "trace.json.gz"
    options = ["--events", "6000", "--steps", "3", "--streams", "3", "--seed", seed, "--kernel-scale", scale, *sync]
    subprocess.run([sys.executable, str(GENERATOR), *options, str(file)], check=True, capture_output=True)
    timeline = load(file)
    (device,) = devices_of(timeline, choose_window(timeline))
    assert device.idle_ns > 0
    assert device.causes.get("unattributed", 0) <= 0.02 * device.idle_ns


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(traces())
def test_laws_parts_add_up_to_each_gap_and_causes_to_the_idle_time(trace: Trace) -> None:
    timeline = trace.timeline()
    for window in windows(timeline):
        for device in devices_of(timeline, window):
            assert device.busy_ns + device.idle_ns == device.window_ns
            assert sum(device.causes.values()) == device.idle_ns
            assert sum(one.duration_ns for one in device.by_name) == device.idle_ns
            assert sum(group.total_ns for group in device.groups) == device.idle_ns
            for group in device.groups:
                assert sum((group.causes or {}).values()) == group.total_ns
            for gap in device.top:
                assert sum(part.duration_ns for part in gap.parts or ()) == gap.duration_ns
                assert all(part.duration_ns > 0 for part in gap.parts or ())
            assert sum(one.count for one in device.exposed) <= device.count


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(traces())
def test_laws_causes_do_not_depend_on_the_origin(trace: Trace) -> None:
    early = trace.timeline()
    before = [devices_of(early, window) for window in windows(early)]
    for event in trace.events:
        event["ts"] += 123_456_789
    late = trace.timeline()
    assert [devices_of(late, window) for window in windows(late)] == before

"""Peaks of memory, their holders, growth: from PyTorch's marks, TensorFlow's counters, ONNX Runtime's sizes."""

import gzip
import json
from collections import defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.tracebuilder import OrtTrace, TfTrace, Trace
from tracegap import allocations
from tracegap.analyses import memory
from tracegap.analyses.memory import DeviceMemory, Holder, Memory, StepLevel
from tracegap.analyses.node_sizes import NodeSizes
from tracegap.extent import choose_window
from tracegap.pipeline import analyze, load
from tracegap.report import unmarked

GPU = {"Device Type": 1, "Device Id": 0}


def mark(trace: Trace, at: float, size: int, address: int, *, tid: int = 1, **args: Any) -> None:
    """Write one allocation, or its end."""
    given = {"Bytes": size, "Addr": address, **GPU, **args}
    trace.events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": tid, "ts": at, "args": given})


def memory_of(trace: Trace, **options: Any) -> Memory:
    found = memory.run(trace.model(**options))
    assert found is not None
    return found


def device_of(trace: Trace, **options: Any) -> DeviceMemory:
    (device,) = memory_of(trace, **options).devices
    return device


def test_the_peak_has_its_time_step_stage_and_what_was_reserved_and_not_in_use() -> None:
    trace = Trace()
    main = trace.thread()
    main.step(3, 0, 100)
    main.annotation("forward", 10, 50)
    main.op("aten::mm", 20, 40)
    mark(trace, 25, 300, 1, **{"Total Allocated": 1300, "Total Reserved": 2000})
    mark(trace, 60, -300, 1, **{"Total Allocated": 1000, "Total Reserved": 4000})
    device = device_of(trace)
    assert (device.device, device.peak_bytes, device.peak_at_ns) == ("GPU 0", 1300, 25_000)
    assert (device.peak_step, device.peak_stage) == (3, "forward")
    assert (device.reserved_bytes, device.unused_bytes) == (4000, 700)
    assert (device.start_bytes, device.end_bytes) == (1000, 1000)


def test_holders_are_the_innermost_operators_that_do_not_only_make_tensors_and_add_up_to_the_peak() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::linear", 0, 20)
    main.op("aten::addmm", 5, 15)
    main.op("aten::empty", 6, 8)
    main.op("aten::zeros", 20, 30)
    main.op("aten::empty", 21, 23)
    mark(trace, 7, 400, 1, **{"Total Allocated": 900})
    mark(trace, 10, 50, 2, **{"Total Allocated": 950})
    mark(trace, 12, -50, 2, **{"Total Allocated": 900})
    mark(trace, 22, 100, 2, **{"Total Allocated": 1000})
    mark(trace, 40, -400, 1, **{"Total Allocated": 600})
    main.op("aten::relu", 40, 50)
    device = device_of(trace)
    assert device.holders == (Holder("", 500), Holder("aten::addmm", 400), Holder("aten::zeros", 100))
    assert sum(holder.bytes for holder in device.holders) == device.peak_bytes == 1000


def test_without_totals_levels_count_from_the_start_of_the_recording_and_say_so() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 100)
    for at, size in ((10, 64), (20, 32), (30, -96)):
        trace.events.append(
            {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": 1, "ts": at, "args": {"Bytes": size, **GPU}}
        )
    found = memory_of(trace)
    (device,) = found.devices
    assert (device.peak_bytes, device.end_bytes, device.relative, device.holders) == (96, 0, True, ())
    assert [(point.at_ns, point.allocated_bytes) for point in device.points] == [
        (10_000, 64),
        (20_000, 96),
        (30_000, 0),
    ]
    assert "start of the recording" in memory.section(found).notes[0]


def leaking(ends: tuple[int, ...]) -> Trace:
    trace = Trace()
    main = trace.thread()
    for number, end in enumerate(ends):
        main.step(number, 100 * number, 100 * number + 100)
        main.op("aten::mm", 100 * number, 100 * number + 50)
        before = ends[number - 1] if number else 0
        mark(trace, 100 * number + 20, end - before, number + 1, **{"Total Allocated": end})
    return trace


def test_memory_that_every_step_leaves_higher_grows() -> None:
    found = memory_of(leaking((100, 140, 190, 230)))
    (device,) = found.devices
    assert (device.growth_bytes, device.grows) == (40, True)
    assert device.steps[1] == StepLevel(1, 140, 140)
    assert "every step ends higher than the one before, by 40 B" in unmarked(memory.section(found).lines[1])


def test_memory_that_falls_once_or_is_seen_for_too_few_steps_does_not_grow() -> None:
    assert device_of(leaking((100, 140, 130, 170))).grows is False
    assert device_of(leaking((100, 140, 180))).grows is None


def test_the_peak_of_a_window_counts_what_was_allocated_before_it() -> None:
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 100)
    mark(trace, 10, 500, 1, **{"Total Allocated": 500})
    mark(trace, 70, -200, 9, **{"Total Allocated": 300})
    device = device_of(trace, between=(50_000, 100_000))
    assert (device.peak_bytes, device.peak_at_ns, device.start_bytes, device.end_bytes) == (500, 50_000, 500, 300)
    assert device.holders == (Holder("aten::mm", 500),)


def test_of_many_changes_the_greatest_of_each_part_of_the_window_is_kept() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 1000)
    for at in range(1000):
        mark(trace, at, 1, at, **{"Total Allocated": 1000 - abs(500 - at)})
    device = device_of(trace)
    assert len(device.points) == 200
    assert max(point.allocated_bytes for point in device.points) == device.peak_bytes == 1000


def test_devices_of_several_sorts_stand_apart_and_the_greatest_comes_first() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 100)
    mark(trace, 10, 8, 1, **{"Total Allocated": 8, "Device Type": 0, "Device Id": -1})
    mark(trace, 20, 4096, 1, **{"Total Allocated": 4096, "Device Type": 1, "Device Id": 1})
    found = memory_of(trace)
    assert [(device.device, device.peak_bytes) for device in found.devices] == [("GPU 1", 4096), ("CPU", 8)]
    assert len(memory.section(found).lines) == 1


def test_a_trace_that_tells_nothing_of_memory_has_no_such_section() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 100)
    assert memory.run(trace.model()) is None


def test_tensorflow_counts_allocators_and_its_tensors_hold_them() -> None:
    trace = TfTrace()
    trace.device(1, "/job:localhost/replica:0/task:0/device:CPU:0 Compute")
    trace.op("Relu", "Relu", 0, 100, 1)
    for at, level in ((10, 400), (20, 700), (40, 300)):
        event = {"ph": "C", "cat": "Memory", "name": "GPU_0_bfc", "pid": 0, "tid": 0, "ts": at}
        trace.events.append(event | {"args": {"GPU_0_bfc": level}})
    for number, (name, made, gone, size) in enumerate((("w", 9, 90, 400), ("x", 19, 35, 300))):
        about = (
            f"dtype: DT_FLOAT\nallocation_description {{\n  requested_bytes: {size}\n  allocator_name: GPU_0_bfc\n}}\n"
        )
        snapshot = {"snapshot": {"tensor_description": about}}
        for phase, when in (("N", float(made)), ("O", made + 0.5), ("D", gone)):
            event = {"ph": phase, "cat": "Tensor", "name": name, "pid": 2, "tid": 0, "ts": when, "id": number}
            trace.events.append(event | ({"args": snapshot} if phase == "O" else {}))
    device = device_of(trace)
    assert (device.device, device.peak_bytes, device.peak_at_ns) == ("GPU_0_bfc", 700, 20_000)
    assert device.holders == (Holder("w", 400), Holder("x", 300))


def test_nodes_of_onnx_runtime_tell_the_least_that_a_run_needs() -> None:
    trace = OrtTrace()
    for start in (0, 100):
        trace.run(start, start + 100)
        for name, at, weights, into, out in (("conv", 10, 500, 100, 200), ("relu", 40, 0, 200, 200)):
            node = trace.node(name, name, start + at, start + at + 20)
            sizes = {"parameter_size": weights, "activation_size": into, "output_size": out}
            node["args"] |= {key: str(value) for key, value in sizes.items()}
    found = memory_of(trace)
    assert found == Memory((), NodeSizes(500, "relu", 400, 900))
    assert (
        unmarked(memory.section(found).lines[0])
        == "A run needs 900 B at least: weights 500 B, and 400 B in and out of relu."
    )


def test_a_recording_agrees_with_its_events_summed_by_hand(samples: Path) -> None:
    path = samples / "torch_cnn_memory.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    marks = sorted((event for event in events if event.get("name") == "[memory]"), key=lambda event: event["ts"])
    sums = list(accumulate(event["args"]["Bytes"] for event in marks))
    timeline = load(path)
    (level,) = allocations.levels(timeline)
    assert level.allocated.tolist() == sums
    window = choose_window(timeline)
    found = analyze(timeline).results["memory"]
    inside = [sum_ for sum_, at in zip(sums, level.time.tolist(), strict=True) if window.start <= at < window.end]
    (device,) = found.devices
    assert device.peak_bytes == max(inside)
    assert [point.allocated_bytes for point in device.points if point.at_ns == device.peak_at_ns] == [max(inside)]
    alive: dict[int, int] = defaultdict(int)
    for event in marks[: inside.index(max(inside)) + 1 + len(sums) - len(inside)]:
        alive[event["args"]["Addr"]] += event["args"]["Bytes"]
    assert sum(holder.bytes for holder in device.holders) == sum(alive.values())

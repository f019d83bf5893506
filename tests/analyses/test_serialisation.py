"""What never overlaps, what pipelining gives, what is exposed, what could run side by side."""

import pytest

from tests.tracebuilder import TfTrace, Trace
from tracegap import dag, stagetimes
from tracegap.analyses import Model, serialisation
from tracegap.extent import choose_window
from tracegap.pipeline import load


def pair(result, a, b):
    (found,) = [one for one in result.pairs if {one.a, one.b} == {a, b}]
    return found


def stepped(*stages, steps=3):
    """A loop of named stages of the given lengths in µs, one after the other on one thread."""
    trace = Trace()
    main = trace.thread()
    now = 0
    for number in range(steps):
        start = now
        for name, length in stages:
            main.annotation(name, now, now + length)
            now += length
        main.step(number, start, now)
    return trace


def test_stages_in_turn_take_the_sum_and_pipelined_the_maximum():
    result = serialisation.run(stepped(("load_data", 500), ("compute", 200)).model())
    found = pair(result, "load_data", "compute")
    assert (found.sum_ns, found.max_ns, found.union_ns, found.overlap_ns) == (2_100_000, 1_500_000, 2_100_000, 0)
    assert found.relation == "unknown"
    pipelining = result.pipelining
    assert (pipelining.measured_wall_ns, pipelining.predicted_wall_ns) == (2_100_000, 1_700_000)
    assert (pipelining.steady_step_ns, pipelining.bottleneck, pipelining.blocked_by) == (500_000, "load_data", None)


def test_fourteen_and_nine_milliseconds_predict_fourteen():
    result = serialisation.run(stepped(("preprocess", 14_000), ("forward", 9_000), steps=20).model())
    assert result.pipelining.steady_step_ns == 14_000_000


def test_the_optimiser_ties_the_next_forward_to_this_step():
    stages = ("load_data", 300), ("forward", 100), ("backward", 200), ("Optimizer.step#SGD.step", 50)
    pipelining = serialisation.run(stepped(*stages).model()).pipelining
    assert [(stage.name, stage.median_ns) for stage in pipelining.stages] == [
        ("load_data", 300_000),
        ("forward … Optimizer.step#SGD.step", 350_000),
    ]
    assert pipelining.blocked_by == "Optimizer.step#SGD.step → the next forward"
    assert pipelining.predicted_wall_ns == 300_000 + 3 * 350_000


def test_time_outside_all_stages_is_a_stage():
    trace = stepped(("load_data", 50), ("compute", 40))
    trace.thread().step(3, 270, 400)
    names = [stage.name for stage in serialisation.run(trace.model()).pipelining.stages]
    assert names == ["load_data", "compute", "outside stages"]


def test_of_very_many_names_those_with_the_most_time_are_stages(monkeypatch):
    monkeypatch.setattr(stagetimes, "_MOST_CELLS", 6)
    monkeypatch.setattr(stagetimes, "_FEW", 2)
    trace = Trace()
    main = trace.thread()
    for number in range(3):
        start = 100 * number
        main.step(number, start, start + 100)
        main.annotation("load_data", start, start + 50)
        main.annotation(f"batch {number}", start + 50, start + 60)
        main.annotation("compute", start + 60, start + 100)
    pipelining = serialisation.run(trace.model()).pipelining
    assert [(stage.name, stage.median_ns) for stage in pipelining.stages] == [
        ("load_data", 50_000),
        ("compute", 40_000),
        ("outside stages", 10_000),
    ]


def test_a_prefetcher_on_another_thread_is_a_stage_of_the_step_it_feeds():
    trace = Trace()
    main, loader = trace.thread(1), trace.thread(2)
    for number in range(3):
        loader.annotation("load_data", 500 * number, 500 * number + 500)
        main.step(number, 500 * number + 200 if number else 0, 500 * number + 700)
        main.annotation("compute", 500 * number + 500, 500 * number + 700)
    pipelining = serialisation.run(trace.model()).pipelining
    assert [stage.name for stage in pipelining.stages] == ["load_data", "compute"]
    assert (pipelining.predicted_wall_ns, pipelining.steady_step_ns) == (1_700_000, 500_000)


def test_an_arrow_between_stages_is_a_dependence():
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.annotation("forward", 0, 50)
    main.annotation("backward", 50, 100)
    source, target = main.op("aten::mm", 10, 20), main.op("MmBackward0", 60, 80)
    trace.arrow("fwdbwd", source, target)
    found = pair(serialisation.run(trace.model()), "forward", "backward")
    assert (found.relation, found.evidence) == ("dependent", "forward → backward (flow 1)")


def overlapping():
    trace = Trace()
    main = trace.thread()
    calls = [main.launch(at, at + 1) for at in (0, 2, 4)]
    trace.stream(7).kernel("gemm", 10, 50, calls[0])
    trace.stream(20).kernel("ncclDevKernel_AllReduce_Sum", 40, 90, calls[1])
    trace.stream(24).copy(85, 95, calls[2])
    return trace


def test_exposed_times_and_idle_sum_to_the_window():
    result = serialisation.run(overlapping().model(between=(0, 95_000)))
    exposed = result.exposed
    assert (exposed.compute_ns, exposed.comm_ns, exposed.copy_ns, exposed.idle_ns) == (40_000, 40_000, 5_000, 10_000)
    assert (exposed.comm_total_ns, exposed.copy_total_ns) == (50_000, 10_000)


def test_without_communication_there_is_no_share_of_it():
    trace = Trace()
    call = trace.thread().launch(0, 1)
    trace.stream().kernel("gemm", 5, 9, call)
    result = serialisation.run(trace.model())
    assert (result.exposed.comm_ns, result.exposed.comm_total_ns) == (0, 0)
    assert any("No communication" in line for line in serialisation.section(result).lines)


def test_host_and_device_alone_and_together():
    trace = Trace()
    main = trace.thread()
    main.op("aten::mm", 0, 10)
    call = main.launch(1, 2)
    trace.stream().kernel("gemm", 5, 25, call)
    alone = serialisation.run(trace.model()).alone
    assert (alone.host_only_ns, alone.device_only_ns, alone.both_ns) == (5_000, 15_000, 5_000)


def test_work_and_span_of_a_data_graph_and_what_ran_in_turn_without_need():
    trace = TfTrace()
    trace.device(1, "/job:localhost/replica:0/task:0/device:CPU:0 Compute")
    done = {}
    for name, start, end, inputs in (("a", 0, 10, ""), ("b", 10, 40, "a"), ("c", 40, 60, "a"), ("d", 60, 65, "bc")):
        done[name] = trace.op(name, name.upper(), start, end, pid=1)
        done[name]["args"] |= {f"input{place}": one for place, one in enumerate(inputs)}
    found = serialisation.run(trace.model()).parallelism
    assert (found.work_ns, found.span_ns) == (65_000, 45_000)
    assert [(one.first, one.second, one.saving_ns) for one in found.serial] == [("B", "C", 20_000)]


def test_a_device_bound_loop_gains_nothing_from_pipelining_the_host():
    trace = Trace()
    main, stream = trace.thread(), trace.stream()
    for number in range(3):
        now = 100 * number
        main.step(number, now, now + 90)
        main.annotation("load_data", now, now + 10)
        main.annotation("forward", now + 10, now + 90)
        main.op("aten::mm", now + 10, now + 20)
        stream.kernel("gemm", 1000 * number + 20, 1000 * number + 1020, main.launch(now + 12, now + 14))
    pipelining = serialisation.run(trace.model()).pipelining
    assert (pipelining.bottleneck, pipelining.steady_step_ns) == ("device", 1_000_000)
    assert pipelining.measured_wall_ns == 3_020_000


@pytest.mark.slow
def test_exposed_times_and_idle_sum_to_the_window_of_real_traces(corpus):
    for path in sorted(corpus.glob("pytorch-*/tracelens-*.json.gz")):
        timeline = load(path)
        window = choose_window(timeline)
        exposed = serialisation.run(Model(timeline, window, dag.build(timeline, window))).exposed
        if exposed is not None:
            parts = exposed.compute_ns, exposed.comm_ns, exposed.copy_ns, exposed.idle_ns
            assert all(isinstance(part, int) and part >= 0 for part in parts), path.name
            assert sum(parts) == window.wall, path.name
            assert exposed.comm_ns <= exposed.comm_total_ns, path.name

"""Edges by cause, the critical path they give, and what it says of traces that other tools read wrong."""

import pytest

from tests.daglaws import lawful
from tests.tracebuilder import ChromeTrace, Trace
from tracegap import schedule
from tracegap.charges import Charge
from tracegap.dag import build
from tracegap.edges import Cause
from tracegap.extent import choose_window
from tracegap.segments import path
from tracegap.timeline import Window


def dag_of(trace, **window):
    """The lawful graph of the chosen window of a trace."""
    timeline = trace.timeline()
    return lawful(timeline, choose_window(timeline, **window))


def edges(dag, cause):
    """The edges of a cause: (from, to, lag in µs), boundaries written ``name[`` and ``name]``."""
    table = dag.graph.edges
    rows = [row for row in range(len(table)) if dag.cause[row] == cause]
    return sorted(
        (boundary(dag, int(table.source[row])), boundary(dag, int(table.target[row])), int(table.lag[row]) / 1000)
        for row in rows
    )


def boundary(dag, node):
    if node >= dag.source:
        return "SOURCE" if node == dag.source else "END"
    return dag.timeline.names[int(dag.timeline.slices.name[node >> 1])] + "[]"[node % 2]


def told(dag):
    """The critical path: (charge, slice, µs)."""
    segments = path(dag)
    names, name = dag.timeline.names, dag.timeline.slices.name
    rows = zip(segments.charge, segments.slice, segments.end - segments.start, strict=True)
    return [
        (Charge(charge).word, names[name[row]] if row >= 0 else "", int(length) / 1000) for charge, row, length in rows
    ]


def sums(dag):
    """µs of the critical path by charge."""
    found = {}
    for charge, _, length in told(dag):
        found[charge] = found.get(charge, 0) + length
    return found


def inferred(dag, cause):
    return {bool(flag) for flag in dag.inferred[dag.cause == cause]}


# Threads


def test_lane_edges_carry_the_work_of_the_deepest_open_slice():
    trace = Trace()
    main = trace.thread()
    main.op("outer", 0, 100)
    main.op("inner", 20, 50)
    main.op("next", 130, 140)
    dag = dag_of(trace)
    assert edges(dag, Cause.THREAD) == [
        ("inner[", "inner]", 30),
        ("inner]", "outer]", 50),
        ("next[", "next]", 10),
        ("outer[", "inner[", 20),
        ("outer]", "next[", 0),
    ]
    assert told(dag) == [
        ("operator", "outer", 20),
        ("operator", "inner", 30),
        ("operator", "outer", 50),
        ("untraced_host", "next", 30),
        ("operator", "next", 10),
    ]


def test_context_is_no_work_and_an_annotation_without_operators_is():
    trace = Trace()
    main = trace.thread()
    main.annotation("forward", 0, 60)
    main.op("mm", 10, 30)
    main.annotation("load_data", 60, 100)
    assert told(dag_of(trace, whole=True)) == [
        ("operator", "mm", 20),
        ("untraced_host", "load_data", 30),
        ("operator", "load_data", 40),
    ]


def test_work_on_a_further_lane_hangs_on_the_previous_boundary_of_its_thread():
    trace = Trace()
    main = trace.thread()
    main.op("first", 0, 50)
    main.op("crossing", 30, 80)
    dag = dag_of(trace)
    assert ("first[", "crossing[", 0) in edges(dag, Cause.THREAD)
    assert sum(length for _, _, length in told(dag)) == 80


def test_slices_of_packed_rows_are_not_ordered():
    trace = Trace()
    trace.metadata("process_name", 1, "/job:localhost/replica:0/task:0/device:CPU:0 Compute")
    for start in (0, 20):
        trace.add("MatMul", start, start + 10, "Op", 1, 0, name=f"node{start}", op="MatMul")
    timeline = trace.timeline(dialect="tensorflow")
    dag = lawful(timeline, choose_window(timeline))
    assert edges(dag, Cause.THREAD) == [("MatMul[", "MatMul]", 10)] * 2


# Launches and streams


def test_waits_are_on_the_path_and_the_whole_adds_up_to_the_wall():
    """A step of 1,000 µs of which only 65 are recorded."""
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 1000)
    main.op("a", 0, 10)
    main.op("b", 900, 910)
    trace.stream().kernel("gemm", 905, 955, main.launch(901, 904))
    dag = dag_of(trace)
    assert told(dag) == [
        ("operator", "a", 10),
        ("untraced_host", "b", 890),
        ("operator", "b", 1),
        ("launch", "gemm", 4),
        ("kernel", "gemm", 50),
        ("untraced_host", "gemm", 45),
    ]


def test_a_graph_launch_starts_all_its_kernels():
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 2000)
    graph = main.launch(10, 30, "cudaGraphLaunch")
    for number in range(5):
        trace.stream().kernel(f"k{number}", 40 + 192 * number, 230 + 192 * number, graph)
    dag = dag_of(trace)
    assert len(edges(dag, Cause.LAUNCH)) == 5
    assert sums(dag)["kernel"] == 950
    assert sums(dag)["in_graph"] == 8
    assert sums(dag)["launch"] == 30


def test_kernels_of_a_graph_on_another_stream_wait_inside_the_graph():
    trace = Trace()
    main = trace.thread()
    graph = main.launch(0, 10, "cudaGraphLaunch")
    trace.stream(7).kernel("a", 20, 50, graph)
    trace.stream(8).kernel("b", 60, 90, graph)
    assert told(dag_of(trace)) == [("launch", "b", 20), ("in_graph", "b", 40), ("kernel", "b", 30)]


def test_the_least_launch_lag_is_a_low_percentile_where_the_stream_was_free():
    trace = Trace()
    main = trace.thread()
    stream = trace.stream()
    for start, delay in ((0, 8), (100, 5), (200, 20), (300, 12)):
        stream.kernel(f"k{delay}", start + delay, start + delay + 10, main.launch(start, start + 4))
    dag = dag_of(trace)
    assert {lag for _, _, lag in edges(dag, Cause.LAUNCH)} == {5}
    assert ("scheduling", "k12", 7) in told(dag)


def test_a_kernel_before_its_launch_keeps_its_negative_lag_and_shows_as_nothing():
    trace = Trace()
    main = trace.thread()
    main.op("before", 0, 90)
    trace.stream().kernel("gemm", 98, 120, main.launch(100, 105))
    dag = dag_of(trace)
    assert edges(dag, Cause.LAUNCH) == [("cudaLaunchKernel[", "gemm[", -2)]
    assert told(dag) == [("operator", "before", 90), ("untraced_host", "cudaLaunchKernel", 10), ("kernel", "gemm", 20)]


def test_a_wait_for_work_carried_in_is_charged_to_it():
    trace = Trace()
    main = trace.thread()
    stream = trace.stream()
    main.step(0, 0, 100)
    stream.kernel("long", 40, 5040, main.launch(10, 20))
    main.step(1, 100, 5200)
    stream.kernel("gemm", 5045, 5100, main.launch(112, 120))
    timeline = trace.timeline()
    dag = lawful(timeline, choose_window(timeline, steps=(1, 1)))
    assert told(dag)[:3] == [("kernel", "long", 4940), ("scheduling", "gemm", 5), ("kernel", "gemm", 55)]
    assert path(dag).carried.tolist()[:3] == [True, False, False]


def test_dependent_launch_hangs_a_start_on_the_start_before():
    trace = Trace()
    main = trace.thread()
    stream = trace.stream()
    first, second = main.launch(0, 2), main.launch(2, 4)
    stream.kernel("a", 10, 60, first)
    stream.kernel("b", 40, 90, second)
    dag = dag_of(trace)
    assert ("a[", "b[", 30) in edges(dag, Cause.STREAM)
    assert told(dag) == [("launch", "a", 10), ("kernel", "a", 30), ("kernel", "b", 50)]


def test_what_follows_overlapping_slices_waits_for_the_one_that_ends_last():
    trace = Trace()
    stream = trace.stream()
    stream.kernel("long", 0, 100)
    stream.kernel("short", 10, 20)
    stream.kernel("after", 110, 120)
    dag = dag_of(trace)
    assert ("long]", "after[", 0) in edges(dag, Cause.STREAM)
    assert ("unattributed", "after", 10) in told(dag)


# Synchronisation


@pytest.mark.parametrize(
    "call", ["cudaStreamSynchronize", "hipStreamSynchronize", "cuStreamSynchronize", "hipDeviceSynchronize", "cudaFree"]
)
def test_a_sync_call_without_a_row_waits_by_its_name(call):
    trace = Trace()
    main = trace.thread()
    trace.stream().kernel("gemm", 5, 109, main.launch(0, 3))
    main.op("aten::item", 8, 115)
    main.sync(10, 110, call)
    dag = dag_of(trace)
    assert edges(dag, Cause.SYNC) == [("gemm]", f"{call}]", 1)]
    assert inferred(dag, Cause.SYNC) == {True}
    assert told(dag) == [
        ("launch", "gemm", 5),
        ("kernel", "gemm", 104),
        ("sync", call, 1),
        ("operator", "aten::item", 5),
    ]


def test_a_recorded_stream_sync_waits_for_its_stream_only():
    trace = Trace()
    main = trace.thread()
    trace.stream(7).kernel("a", 5, 50, main.launch(0, 1))
    trace.stream(8).kernel("b", 6, 90, main.launch(1, 2))
    sync = main.launch(10, 100, "cudaStreamSynchronize")
    trace.stream(7).slice("Stream Sync", 10, 99, "cuda_sync", sync)
    main.op("next", 100, 120)
    dag = dag_of(trace)
    assert edges(dag, Cause.SYNC) == [("a]", "cudaStreamSynchronize]", 50)]
    assert inferred(dag, Cause.SYNC) == {False}


def test_a_recorded_context_sync_waits_for_every_stream():
    trace = Trace()
    main = trace.thread()
    trace.stream(7).kernel("a", 5, 50, main.launch(0, 1))
    trace.stream(8).kernel("b", 6, 90, main.launch(1, 2))
    sync = main.launch(10, 100, "cudaDeviceSynchronize")
    trace.stream(-1).slice("Context Sync", 10, 99, "cuda_sync", sync)
    main.op("next", 100, 120)
    assert edges(dag_of(trace), Cause.SYNC) == [
        ("a]", "cudaDeviceSynchronize]", 10),
        ("b]", "cudaDeviceSynchronize]", 10),
    ]


def test_a_recorded_event_sync_waits_for_what_stood_before_the_record():
    trace = Trace()
    main = trace.thread()
    stream = trace.stream(7)
    stream.kernel("before", 5, 50, main.launch(0, 1))
    record = main.launch(2, 3, "cudaEventRecord")
    stream.kernel("after", 50, 90, main.launch(4, 5))
    sync = main.launch(10, 55, "cudaEventSynchronize")
    waits = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": record}
    trace.stream(-1).slice("Event Sync", 10, 54, "cuda_sync", sync, **waits)
    assert edges(dag_of(trace, whole=True), Cause.SYNC) == [("before]", "cudaEventSynchronize]", 5)]


def test_a_sync_that_found_nothing_to_wait_for_is_its_own_work():
    trace = Trace()
    main = trace.thread()
    trace.stream().kernel("gemm", 5, 20, main.launch(0, 3))
    main.sync(50, 60, "cudaDeviceSynchronize")
    main.op("next", 60, 70)
    dag = dag_of(trace)
    assert edges(dag, Cause.SYNC) == [("gemm]", "cudaDeviceSynchronize]", 0)]
    assert ("sync", "cudaDeviceSynchronize", 10) in told(dag)


def test_a_copy_that_ended_inside_its_call_blocked_it():
    trace = Trace()
    main = trace.thread()
    copy = main.launch(0, 100, "cudaMemcpyAsync")
    trace.stream().copy(20, 95, copy, "Memcpy HtoD (Pageable -> Device)")
    main.op("next", 100, 120)
    assert told(dag_of(trace)) == [
        ("launch", "Memcpy HtoD (Pageable -> Device)", 20),
        ("copy", "Memcpy HtoD (Pageable -> Device)", 75),
        ("sync", "cudaMemcpyAsync", 5),
        ("operator", "next", 20),
    ]


def test_a_copy_call_whose_copy_ended_later_keeps_its_own_time():
    trace = Trace()
    main = trace.thread()
    copy = main.launch(0, 60, "cudaMemcpyAsync")
    trace.stream().copy(50, 70, copy)
    main.op("next", 60, 120)
    dag = dag_of(trace)
    assert edges(dag, Cause.SYNC) == []
    assert told(dag)[0] == ("runtime", "cudaMemcpyAsync", 60)


def test_reading_a_value_waits_even_where_no_api_call_was_recorded():
    trace = Trace()
    main = trace.thread()
    launch = main.launch(0, 5)
    trace.stream().kernel("gemm", 10, 80, launch)
    main.op("aten::_local_scalar_dense", 20, 90)
    assert edges(dag_of(trace), Cause.SYNC) == [("gemm]", "aten::_local_scalar_dense]", 10)]


# Events between streams


def two_streams(*, rows, record=True):
    trace = Trace()
    main = trace.thread()
    trace.stream(7).kernel("gemm", 10, 60, main.launch(0, 1))
    recorded = main.launch(2, 3, "cudaEventRecord") if record else 0
    wait = main.launch(4, 5, "cudaStreamWaitEvent")
    trace.stream(20).kernel("ncclDevKernel_AllReduce", 62, 90, main.launch(6, 7))
    if rows:
        waits = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": recorded}
        trace.stream(20).slice("Stream Wait Event", 4, 5, "cuda_sync", wait, **waits)
    return trace


@pytest.mark.parametrize(("rows", "record"), [(True, True), (False, True), (False, False)])
def test_a_stream_waits_for_an_event_of_another(rows, record):
    dag = dag_of(two_streams(rows=rows, record=record))
    assert edges(dag, Cause.EVENT) == [("gemm]", "ncclDevKernel_AllReduce[", 0)]
    assert inferred(dag, Cause.EVENT) == {not rows}
    assert told(dag)[-3:] == [
        ("kernel", "gemm", 50),
        ("scheduling", "ncclDevKernel_AllReduce", 2),
        ("communication", "ncclDevKernel_AllReduce", 28),
    ]


def test_an_event_that_would_lead_back_in_time_is_left_out_and_counted():
    trace = Trace()
    main = trace.thread()
    trace.stream(7).kernel("gemm", 10, 80, main.launch(0, 1))
    record = main.launch(2, 3, "cudaEventRecord")
    wait = main.launch(4, 5, "cudaStreamWaitEvent")
    trace.stream(20).kernel("copy", 62, 90, main.launch(6, 7))
    waits = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": record}
    trace.stream(20).slice("Stream Wait Event", 4, 5, "cuda_sync", wait, **waits)
    dag = dag_of(trace)
    assert edges(dag, Cause.EVENT) == []
    assert [(one.code, one.count, one.example) for one in dag.problems] == [("backward-edge", 1, "1 × event")]


# A full launch queue


def full_queue(long):
    """1,000 launches of 2 µs and kernels of 50; then one that takes `long` µs and returns when a kernel has started."""
    trace = Trace()
    main = trace.thread()
    stream = trace.stream()
    for number in range(1000):
        stream.kernel("gemm", 10 + 50 * number, 60 + 50 * number, main.launch(2 * number, 2 * number + 2))
    late = main.launch(2000, 2000 + long)
    stream.kernel("last", 60_000, 60_050, late)
    return trace


def test_a_launch_that_stalls_on_a_full_queue_waits_for_the_start_that_freed_a_place():
    dag = dag_of(full_queue(61))
    assert edges(dag, Cause.QUEUE) == [("gemm[", "cudaLaunchKernel]", 1)]
    assert inferred(dag, Cause.QUEUE) == {True}


def test_a_launch_of_usual_length_does_not_stall():
    assert edges(dag_of(full_queue(20)), Cause.QUEUE) == []


# Arrows and handing over


def test_an_arrow_joins_the_end_of_its_source_to_the_start_of_its_target():
    trace = Trace()
    forward = trace.thread(1).op("aten::mm", 0, 50)
    backward = trace.thread(2).op("MmBackward0", 70, 100)
    trace.arrow("fwdbwd", forward, backward)
    dag = dag_of(trace)
    assert edges(dag, Cause.FLOW) == [("aten::mm]", "MmBackward0[", 0)]
    assert edges(dag, Cause.HANDOFF) == []
    assert told(dag) == [
        ("operator", "aten::mm", 50),
        ("dependency", "MmBackward0", 20),
        ("operator", "MmBackward0", 30),
    ]


def test_an_arrow_into_a_slice_that_began_inside_its_source_joins_the_starts():
    trace = Trace()
    outer = trace.thread(1).op("submit", 0, 50)
    inner = trace.thread(2).op("run", 20, 60)
    trace.arrow("async", outer, inner)
    assert edges(dag_of(trace), Cause.FLOW) == [("submit[", "run[", 0)]


def test_arrows_in_a_circle_are_broken():
    trace = Trace()
    one, two = trace.thread(1).op("one", 10, 10), trace.thread(2).op("two", 10, 10)
    trace.arrow("async", one, two)
    trace.arrow("async", two, one)
    trace.thread(1).op("rest", 10, 20)
    dag = dag_of(trace)
    assert [(one.code, one.count) for one in dag.problems] == [("cyclic-edge", 1)]


def test_a_thread_that_wakes_right_after_another_was_handed_its_work():
    trace = Trace()
    main, worker = trace.thread(1), trace.thread(2)
    main.op("forward", 0, 100)
    worker.op("backward", 110, 300)
    main.op("optimizer", 320, 350)
    dag = dag_of(trace)
    assert edges(dag, Cause.HANDOFF) == [("backward]", "optimizer[", 0), ("forward]", "backward[", 0)]
    assert inferred(dag, Cause.HANDOFF) == {True}
    assert told(dag) == [
        ("operator", "forward", 100),
        ("dependency", "backward", 10),
        ("operator", "backward", 190),
        ("dependency", "optimizer", 20),
        ("operator", "optimizer", 30),
    ]


def test_a_thread_that_wakes_long_after_did_something_untraced():
    trace = Trace()
    trace.thread(1).op("load", 0, 100)
    trace.thread(2).op("train", 300, 350)
    assert told(dag_of(trace))[1] == ("untraced_host", "train", 200)


def test_work_that_ended_before_the_threads_own_last_hands_nothing_over():
    trace = Trace()
    trace.thread(1).op("a", 0, 100)
    trace.thread(1).op("b", 130, 150)
    trace.thread(2).op("other", 0, 90)
    assert edges(dag_of(trace), Cause.HANDOFF) == []


def test_work_is_handed_over_within_a_process_only():
    trace = Trace()
    for pid, names in ((100, ("a", "b")), (200, ("c", "d"))):
        for tid, name in enumerate(names):
            trace.thread(tid, pid).op(name, pid + 100 * tid, pid + 100 * tid + 90)
    assert edges(dag_of(trace), Cause.HANDOFF) == [("a]", "b[", 0), ("c]", "d[", 0)]


def test_a_thread_that_only_polls_is_neither_sink_nor_source():
    trace = Trace()
    main, watchdog = trace.thread(1), trace.thread(2)
    main.op("a", 0, 100)
    for moment in range(0, 400, 20):
        watchdog.call("cudaEventQuery", moment, moment + 5)
    main.op("b", 200, 250)
    dag = dag_of(trace)
    assert edges(dag, Cause.HANDOFF) == []
    assert edges(dag, Cause.BOUNDARY)[-1][0] == "b]"
    assert sums(dag) == {"operator": 150, "untraced_host": 235}


# Boundaries


def test_a_thread_that_sits_in_a_frame_all_the_time_is_no_sink_where_others_have_operators():
    trace = Trace()
    trace.thread(1).op("a", 0, 100)
    waiting = trace.thread(2)
    waiting.frame("threading.py(973): _bootstrap", 0, 400)
    waiting.frame("queue.py(154): get", 1, 400)
    dag = dag_of(trace)
    assert edges(dag, Cause.BOUNDARY)[-1][0] == "a]"
    assert sums(dag) == {"operator": 100, "untraced_host": 300}


def test_frames_are_followed_where_nothing_else_is_known():
    trace = Trace()
    trace.thread(1).frame("train.py(1): main", 0, 400)
    dag = dag_of(trace)
    assert edges(dag, Cause.BOUNDARY)[-1][0] == "train.py(1): main]"


def test_the_sink_is_the_last_device_slice_that_the_steps_launched():
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    trace.stream().kernel("gemm", 20, 400, main.launch(10, 15))
    trace.thread(2).op("elsewhere", 0, 390)
    dag = dag_of(trace)
    assert edges(dag, Cause.BOUNDARY)[-1] == ("gemm]", "END", 0)
    assert dag.window.wall == 400_000


def test_the_device_still_has_to_finish_in_a_replay_in_which_the_host_does_not_wait_for_it():
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    launch = main.launch(2, 4)
    main.op("aten::mm", 0, 6)
    trace.stream().kernel("gemm", 6, 90, launch)
    main.sync(8, 92)
    main.op("aten::add", 92, 100)
    dag = dag_of(trace)
    weight = schedule.weights(dag.graph, dag.binding)
    weight[dag.cause == Cause.SYNC] = schedule.NEVER
    assert schedule.replay_many(dag.plan, [weight], dag.graph.time, dag.end).tolist() == [90_000]


def test_work_that_the_windows_end_cuts_off_is_its_tail():
    trace = Trace()
    main = trace.thread()
    main.op("a", 0, 50)
    main.op("b", 60, 200)
    assert told(dag_of(trace, between=(10_000, 100_000))) == [
        ("operator", "a", 40),
        ("untraced_host", "b", 10),
        ("operator", "b", 40),
    ]


def test_time_between_steps_and_the_profilers_own_have_their_names():
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.op("a", 0, 100)
    main.step(1, 150, 300)
    trace.thread().slice("Activity Buffer Request", 180, 200, "overhead")
    main.op("b", 250, 300)
    assert told(dag_of(trace)) == [
        ("operator", "a", 100),
        ("between_steps", "b", 50),
        ("untraced_host", "b", 30),
        ("profiler", "b", 20),
        ("untraced_host", "b", 50),
        ("operator", "b", 50),
    ]


def test_a_window_in_which_nothing_happens_is_one_wait():
    trace = ChromeTrace()
    trace.span("a", 0, 10)
    trace.span("b", 90, 100)
    timeline = trace.timeline()
    dag = lawful(timeline, Window(20_000, 80_000, "user"))
    assert told(dag) == [("unattributed", "", 60)]


# What follows from the graph


def test_the_twin_of_the_path_that_is_1_us_shorter_has_1_us_of_slack():
    trace = Trace()
    main = trace.thread()
    trace.stream(7).kernel("long", 10, 110, main.launch(0, 1))
    trace.stream(8).kernel("twin", 11, 110 - 1, main.launch(1, 2))
    main.sync(5, 110, "cudaDeviceSynchronize")
    dag = dag_of(trace)
    slack = schedule.slack(dag.plan, dag.graph, dag.binding, dag.end)
    by_name = {dag.timeline.names[name]: row for row, name in enumerate(dag.timeline.slices.name.tolist())}
    assert slack[2 * by_name["long"] + 1] == 0
    assert slack[2 * by_name["twin"] + 1] == 1000


def test_replaying_without_a_kernel_ends_as_soon_as_the_rest_allows():
    trace = Trace()
    main = trace.thread()
    trace.stream().kernel("gemm", 10, 100, main.launch(0, 4))
    main.sync(4, 102, "cudaDeviceSynchronize")
    main.op("after", 102, 122)
    dag = dag_of(trace)
    weight = schedule.weights(dag.graph, dag.binding)
    kernel = dag.timeline.slices.name[dag.owner] == dag.timeline.names.index("gemm")
    weight[(dag.owner >= 0) & kernel] = 0
    plan = schedule.contract(dag.graph)
    assert schedule.replay_many(plan, [weight], dag.graph.time, dag.end).tolist() == [32_000]


def test_events_without_arguments_are_no_trouble():
    trace = Trace()
    trace.add("bare", 0, 10, "cpu_op", 100, 1)
    assert told(dag_of(trace)) == [("operator", "bare", 10)]


def test_ranks_of_one_file_that_share_correlation_ids_are_not_joined():
    trace = Trace()
    for pid, device in ((100, 0), (200, 1)):
        trace.metadata("process_labels", device, f"GPU {device}")
        trace.correlations = 0
        trace.stream(7, device).kernel(f"gemm{device}", 10, 50, trace.thread(pid, pid).launch(0, 5))
    joined = {(source, target) for source, target, _ in edges(dag_of(trace), Cause.LAUNCH)}
    assert len(joined) <= 2
    assert build(trace.timeline(), choose_window(trace.timeline())).problems == ()

"""From events to slices: kinds of work, nesting, launches, flows, steps."""

import json

import pytest

import tracegap
from tracegap.errors import FormatError, UsageError
from tracegap.kinds import Kind
from tracegap.pipeline import load

HOST = {"pid": 10, "tid": 10}


def x(name, start, end, cat="cpu_op", *, pid=10, tid=10, **args):
    """One complete event, times in µs."""
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": start, "dur": end - start, "args": args}


def kernel(name, start, end, correlation, *, stream=7):
    return x(name, start, end, "kernel", pid=0, tid=stream, correlation=correlation, stream=stream, device=0)


def launch(start, end, correlation, name="cudaLaunchKernel"):
    return x(name, start, end, "cuda_runtime", correlation=correlation)


@pytest.fixture
def read(tmp_path):
    def read_events(*events, header=True, **options):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": list(events)} if header else list(events)))
        return load(path, **options)

    return read_events


def row(timeline, name):
    """The only slice of that name."""
    (found,) = [i for i, n in enumerate(timeline.slices.name.tolist()) if timeline.names[n] == name]
    return found


def name_of(timeline, number):
    return timeline.names[timeline.slices.name[number]] if number >= 0 else None


def parent(timeline, name):
    return name_of(timeline, timeline.slices.parent[row(timeline, name)])


def codes(timeline):
    return {problem.code: problem.count for problem in timeline.problems}


def test_children_may_be_written_before_their_parents(read):
    timeline = read(x("FIRST", 0, 10), x("SECOND", 0, 20))
    assert parent(timeline, "FIRST") == "SECOND"
    assert timeline.slices.self_time[row(timeline, "SECOND")] == 10_000


def test_context_crosses_work_without_disturbing_it(read):
    timeline = read(x("ProfilerStep#1", 0, 50, "user_annotation"), x("aten::add", 40, 60), x("aten::mul", 42, 44))
    add = row(timeline, "aten::add")
    assert timeline.slices.parent[add] == -1
    assert name_of(timeline, timeline.slices.context[add]) == "ProfilerStep#1"
    assert timeline.slices.end[add] - timeline.slices.start[add] == 20_000
    assert parent(timeline, "aten::mul") == "aten::add"
    assert "spilled-slice" not in codes(timeline)


def test_partial_overlap_keeps_both_times_and_moves_one_to_a_further_lane(read):
    timeline = read(x("A", 0, 5), x("B", 3, 7))
    a, b = row(timeline, "A"), row(timeline, "B")
    assert (timeline.slices.lane[a], timeline.slices.lane[b]) == (0, 1)
    assert timeline.slices.self_time[[a, b]].tolist() == [5_000, 4_000]
    assert codes(timeline)["spilled-slice"] == 1


def test_a_call_that_starts_just_before_its_operator_is_still_its_child(read):
    timeline = read(x("aten::add", 100, 120), launch(99.8, 103, 1))
    assert parent(timeline, "cudaLaunchKernel") == "aten::add"
    assert codes(timeline)["clipped-child"] == 1


def test_a_call_that_ends_before_the_operator_stands_alone(read):
    timeline = read(x("aten::add", 100, 120), launch(99.2, 99.9, 1))
    assert parent(timeline, "cudaLaunchKernel") is None


def test_frames_that_the_profiler_closed_at_its_end_are_clipped(read):
    timeline = read(
        x("f", 0, 10, "python_function"),
        x("<built-in g>", 2, 1000, "python_function"),
        x("h", 20, 1000, "python_function"),
    )
    built_in = row(timeline, "<built-in g>")
    assert timeline.slices.end[built_in] == 10_000
    assert codes(timeline)["unfinished-frame"] == 1


def test_an_annotation_without_operators_is_the_work_itself(read):
    timeline = read(
        x("ProfilerStep#1", 0, 100, "user_annotation"),
        x("load_data", 0, 60, "user_annotation"),
        x("forward", 60, 90, "user_annotation"),
        x("aten::add", 61, 80),
    )
    slices = timeline.slices
    assert slices.runs[row(timeline, "load_data")]
    assert not slices.runs[row(timeline, "forward")]
    assert not slices.runs[row(timeline, "ProfilerStep#1")]


def test_frames_are_work_only_on_threads_without_operators(read):
    timeline = read(
        x("main.py(1): loop", 0, 100, "python_function"),
        x("aten::add", 10, 20),
        x("worker.py(7): fetch", 0, 100, "python_function", tid=11),
    )
    assert not timeline.slices.runs[row(timeline, "main.py(1): loop")]
    assert timeline.slices.runs[row(timeline, "worker.py(7): fetch")]


def test_a_kernel_belongs_to_the_step_that_launched_it(read):
    timeline = read(
        x("ProfilerStep#4", 0, 100, "user_annotation"),
        x("ProfilerStep#5", 100, 200, "user_annotation"),
        launch(90, 95, 1),
        kernel("late", 150, 250, 1),
    )
    late = row(timeline, "late")
    assert timeline.steps.number[timeline.slices.step[late]] == 4
    assert timeline.steps.device_end.tolist() == [250_000, -1]


def test_a_step_that_ends_with_the_recording_is_cut(read):
    end = {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 200, "s": "g"}
    timeline = read(
        x("ProfilerStep#1", 0, 100, "user_annotation"), x("ProfilerStep#2", 100, 200, "user_annotation"), end
    )
    assert timeline.steps.cut.tolist() == [False, True]
    assert codes(timeline)["cut-step"] == 1


def test_the_last_step_may_be_cut_unless_its_thread_goes_on(read):
    steps = [x(f"ProfilerStep#{i}", 100 * i, 100 * i + 90, "user_annotation") for i in range(2)]
    assert read(*steps).steps.may_be_cut.tolist() == [False, True]
    assert read(*steps, x("aten::add", 195, 199)).steps.may_be_cut.tolist() == [False, False]


def test_device_side_mirrors_of_steps_are_no_steps(read):
    timeline = read(
        x("ProfilerStep#2", 5, 90, "gpu_user_annotation", pid=0, tid=7),
        x("ProfilerStep#1", 0, 50, "user_annotation"),
        x("ProfilerStep#2", 50, 100, "user_annotation"),
        kernel("k", 20, 30, 0),
    )
    assert timeline.steps.number.tolist() == [1, 2]
    assert timeline.steps.start.tolist() == [0, 50_000]


def test_a_kernel_of_ten_steps_is_implausible(read):
    timeline = read(
        *(x(f"ProfilerStep#{i}", 100 * i, 100 * i + 100, "user_annotation") for i in range(3)),
        launch(210, 212, 1),
        kernel("malformed", 220, 1220, 1),
    )
    assert not timeline.slices.plausible[row(timeline, "malformed")]
    assert not timeline.slices.runs[row(timeline, "malformed")]
    assert codes(timeline)["implausible-duration"] == 1


def test_a_kernel_without_time_stamp_does_not_stretch_the_trace(read):
    base = 1_600_000_000_000_000
    timeline = read(kernel("lost", 0, 0, 0), x("aten::add", base, base + 10), kernel("k", base + 5, base + 9, 0))
    assert (timeline.start, timeline.end) == (0, 10_000)
    assert codes(timeline)["implausible-time"] == 1


def test_a_kernel_before_its_launch_is_clock_skew(read):
    timeline = read(launch(100, 105, 1), kernel("k", 98, 120, 1))
    assert name_of(timeline, timeline.slices.launch[row(timeline, "k")]) == "cudaLaunchKernel"
    assert codes(timeline)["clock-skew"] == 1


def test_correlation_zero_links_nothing(read):
    timeline = read(launch(0, 5, 29170), launch(6, 9, 0), kernel("ncclDevKernel", 10, 20, 0))
    assert timeline.slices.launch[row(timeline, "ncclDevKernel")] == -1


def test_flow_ends_bind_to_the_innermost_open_slice(read):
    def arrow(phase, time, **more):
        return {"ph": phase, "id": 1, "cat": "fwdbwd", "name": "fwdbwd", **HOST, "ts": time, **more}

    timeline = read(
        x("forward", 0, 50), x("inner", 10, 20), x("backward", 60, 90), arrow("s", 10), arrow("f", 60, bp="e")
    )
    flows = timeline.flows
    assert [(name_of(timeline, a), name_of(timeline, b)) for a, b in zip(flows.source, flows.target, strict=True)] == [
        ("inner", "backward")
    ]


def test_a_finish_without_binding_point_binds_to_the_next_slice(read):
    def arrow(phase, time):
        return {"ph": phase, "id": "a", "cat": "c", "name": "n", **HOST, "ts": time}

    timeline = read(x("from", 0, 5), x("next", 12, 20), arrow("s", 2), arrow("f", 10))
    assert name_of(timeline, timeline.flows.target[0]) == "next"


def test_arrows_without_a_partner_are_counted(read):
    timeline = read(x("a", 0, 5), {"ph": "f", "id": 3, "cat": "c", "name": "n", **HOST, "ts": 1, "bp": "e"})
    assert codes(timeline)["unbound-flow"] == 1


def test_adjacent_slices_of_absolute_fractional_times_stay_adjacent(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(
        '[{"ph":"X","name":"a","cat":"cpu_op","pid":1,"tid":1,"ts":1722505412345678.901,"dur":0.512},'
        '{"ph":"X","name":"b","cat":"cpu_op","pid":1,"tid":1,"ts":1722505412345679.413,"dur":1}]'
    )
    timeline = load(path)
    assert timeline.origin == 1_722_505_412_345_678_901
    assert timeline.slices.end[row(timeline, "a")] == timeline.slices.start[row(timeline, "b")] == 512


def test_named_steps_replace_the_dialects_own(read):
    timeline = read(
        x("batch 7", 0, 50, "user_annotation"),
        x("batch 8", 50, 90, "user_annotation"),
        x("aten::add", 1, 2),
        step_name=r"^batch \d+$",
    )
    assert timeline.steps.number.tolist() == [7, 8]
    assert timeline.slices.kind[row(timeline, "batch 7")] == Kind.STEP


def test_a_step_name_that_finds_nothing_is_an_error(read):
    with pytest.raises(UsageError, match="finds no host slice"):
        read(x("aten::add", 0, 1), step_name="nowhere")


def test_a_name_that_repeats_like_steps_is_hinted_at(read):
    timeline = read(*(x("batch", 100 * i, 100 * i + 80, "user_annotation") for i in range(3)))
    (hint,) = [problem for problem in timeline.problems if problem.code == "unmarked-steps"]
    assert (hint.count, hint.example) == (3, "--step-name '^batch$'")
    operators = read(*(x("aten::conv2d", 100 * i, 100 * i + 80, "cpu_op") for i in range(3)))
    assert "unmarked-steps" not in [problem.code for problem in operators.problems]


def test_events_without_a_timed_slice_are_an_error(read):
    with pytest.raises(FormatError, match="no timed slice"):
        read(
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
            {"ph": "i", "name": "mark", **HOST, "ts": 1},
        )


def test_shifting_all_times_changes_nothing_but_the_origin(read):
    events = [
        x("ProfilerStep#1", 0, 50, "user_annotation"),
        x("aten::add", 4, 9),
        launch(5, 6, 1),
        kernel("k", 8, 20, 1),
    ]
    shifted = [{**event, "ts": event["ts"] + 5_000_000_000} for event in events]
    one, other = read(*events), read(*shifted)
    assert other.origin - one.origin == 5_000_000_000_000
    for column in ("start", "end", "self_time", "parent", "launch", "step"):
        assert getattr(one.slices, column).tolist() == getattr(other.slices, column).tolist()


def test_load_is_public():
    assert tracegap.load is load

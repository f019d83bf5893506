"""The stretch of time that is analysed."""

import json

import pytest

from tracegap.errors import UsageError
from tracegap.extent import choose_window
from tracegap.pipeline import load


@pytest.fixture
def timeline(tmp_path):
    def x(name, start, end, cat, pid=1, tid=1, **args):
        return {
            "ph": "X",
            "name": name,
            "cat": cat,
            "pid": pid,
            "tid": tid,
            "ts": start,
            "dur": end - start,
            "args": args,
        }

    events = [
        x("ProfilerStep#7", 10, 50, "user_annotation"),
        x("ProfilerStep#8", 50, 90, "user_annotation"),
        x("ProfilerStep#9", 90, 130, "user_annotation"),
        x("aten::add", 0, 5, "cpu_op"),
        x("cudaLaunchKernel", 125, 126, "cuda_runtime", correlation=1),
        x("k", 128, 160, "kernel", pid=0, tid=7, correlation=1),
        {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 300, "s": "g"},
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return load(path)


def test_the_window_runs_from_the_first_step_to_the_end_of_the_last_ones_device_work(timeline):
    window = choose_window(timeline)
    assert (window.start, window.end, window.basis, window.steps) == (10_000, 160_000, "steps", (0, 1, 2))


def test_steps_are_chosen_by_their_numbers_both_inclusive(timeline):
    window = choose_window(timeline, steps=(7, 8))
    assert (window.start, window.end, window.basis, window.steps) == (10_000, 90_000, "user", (0, 1))


def test_the_whole_runs_from_the_first_to_the_last_slice_that_runs(timeline):
    window = choose_window(timeline, whole=True)
    assert (window.start, window.end, window.basis) == (0, 160_000, "whole")


def test_between_clips_at_the_ends_of_the_trace(timeline):
    window = choose_window(timeline, between=(45_000, 999_000_000))
    assert (window.start, window.end, window.basis, window.steps) == (45_000, 160_000, "user", (1, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": (20, 30)}, "the trace has steps 7 to 9"),
        ({"between": (9, 9)}, "must lie behind"),
        ({"between": (500_000, 600_000)}, "nothing is there"),
        ({"whole": True, "steps": (7, 7)}, "exclude each other"),
    ],
)
def test_windows_that_hold_nothing_say_what_is_there(timeline, options, message):
    with pytest.raises(UsageError, match=message):
        choose_window(timeline, **options)

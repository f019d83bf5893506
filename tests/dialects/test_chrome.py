import pytest


def row(name, ts, dur, *, pid=1, tid=1, cat="work", **rest):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **rest}


def thread(tid, name):
    return {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("step", "STEP"),
        ("Step #7", "STEP"),
        ("iteration", "STEP"),
        ("frame", "STEP"),
        ("iter_12", "STEP"),
        ("stepper", "OP"),
        ("frame decode", "OP"),
        ("render", "OP"),
        ("", "OP"),
    ],
)
def test_slices_named_like_steps_are_steps_and_all_others_operators(mark, name, kind):
    told = mark([row(name, 0, 5)])
    assert (told.dialect, told.kinds()) == ("chrome", {name: kind})


def test_begin_and_end_make_a_slice(mark):
    told = mark([
        {"ph": "B", "name": "work", "pid": "p", "tid": "t", "ts": 0},
        {"ph": "E", "pid": "p", "tid": "t", "ts": 5},
        {"ph": "i", "name": "mark", "pid": "p", "tid": "t", "ts": 3},
    ])  # fmt: skip
    assert told.kinds() == {"work": "OP"}
    assert told.tracks() == {"thread t": ("HOST", -1, True)}


def test_asynchronous_slices_have_a_packed_track_of_their_own(mark):
    told = mark([
        thread(1, "main"),
        row("work", 0, 50),
        {"ph": "b", "cat": "net", "name": "request", "id": "0x1", "pid": 1, "tid": 1, "ts": 10},
        {"ph": "e", "cat": "net", "name": "request", "id": "0x1", "pid": 1, "tid": 1, "ts": 90},
    ])  # fmt: skip
    assert told.kinds() == {"work": "OP", "request": "OP"}
    assert told.tracks() == {"main": ("HOST", -1, True), "main, asynchronous": ("HOST", -1, False)}


def test_a_thread_whose_slices_cross_by_habit_is_packed(mark):
    told = mark([row(f"task {number}", 10 * number, 15, tid="worker:7") for number in range(8)])
    assert told.tracks() == {"thread worker:7": ("HOST", -1, False)}


def test_nested_slices_and_a_rare_crossing_leave_a_thread_in_order(mark):
    told = mark(
        [row(f"call {number}", 10 * number, 9.5) for number in range(20)] + [row("odd", 5, 12), row("all", 0, 500)]
    )
    assert told.tracks() == {"thread 1": ("HOST", -1, True)}


def test_rows_that_repeat_others_do_not_count(mark):
    told = mark([
        thread(0, "Critical Path"),
        row("action 'Compiling'", 0, 50, tid=0),
        row("Compiling", 0, 50),
        row("Total Frontend", 0, 70, tid=40, args={"count": 1, "avg ms": 70}),
        row("Total recall", 0, 5),
    ])  # fmt: skip
    assert told.kinds() == {"Compiling": "OP", "Total recall": "OP"}

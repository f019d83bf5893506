def process(pid, name):
    return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}


def thread(pid, tid, name):
    return {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def row(name, ts, dur, /, *, pid, tid=0, **args):
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def node(name, ts, dur, *, pid, tid=0, op=None, **inputs):
    return {"cat": "Op", **row(op or "MatMul", ts, dur, pid=pid, tid=tid, name=name, op=op or "MatMul", **inputs)}


HOST = process(1, "/job:localhost/replica:0/task:0/device:CPU:0 Compute")
DISPATCH = process(3, "/job:localhost/replica:0/task:0/device:GPU:0 Compute")


def test_a_timeline_has_packed_host_lanes_with_data_edges(mark):
    told = mark(
        {
            "traceEvents": [
                HOST,
                process(2, "/job:localhost/replica:0/task:0/device:CPU:0 Tensors"),
                node("x", 0, 5, pid=1, op="_Arg"),
                node("a", 5, 10, pid=1, op="Relu", input0="x"),
                node("b", 5, 20, pid=1, tid=1, op="Tanh", input0="x/_3"),
                node("c", 30, 5, pid=1, op="Add", input0="a", input1="b:1", input2="^x"),
                {"ph": "N", "cat": "Tensor", "name": "x", "pid": 2, "tid": 0, "ts": 0, "id": 0},
                {"ph": "C", "cat": "Memory", "name": "cpu", "pid": 0, "tid": 0, "ts": 0, "args": {"cpu": 8}},
            ]
        }
    )
    assert told.dialect == "tensorflow"
    assert told.kinds() == {"_Arg": "OP", "Relu": "OP", "Tanh": "OP", "Add": "OP"}
    assert told.arrows() == [
        ("data", "_Arg", "Relu"),
        ("data", "_Arg", "Tanh"),
        ("data", "Relu", "Add"),
        ("data", "Tanh", "Add"),
        ("data", "_Arg", "Add"),
    ]
    assert told.tracks() == {"CPU:0": ("HOST", -1, False), "CPU:0 lane 1": ("HOST", -1, False)}


def test_device_time_is_taken_from_the_streams_once(mark):
    told = mark(
        {
            "traceEvents": [
                DISPATCH,
                process(5, "/device:GPU:0/stream:13 Compute"),
                process(7, "/device:GPU:0/stream:all Compute"),
                process(9, "/device:GPU:0/memcpy Compute"),
                node("dense/MatMul", 0, 2, pid=3),
                node("dense/Assign", 3, 2, pid=3, op="Assign"),
                node("dense/MatMul", 10, 50, pid=5),
                node("dense/MatMul", 10, 50, pid=7),
                node("dense/Assign", 70, 5, pid=5, op="Assign"),
                node("dense/Assign", 70, 5, pid=9, op="Assign"),
            ]
        }
    )
    assert told.marks.kind.tolist()[4:] == [0, 0, 9, 255, 11, 255]
    assert told.launches() == {"MatMul": "MatMul", "Assign": "Assign"}
    assert told.tracks() == {"GPU:0": ("HOST", -1, False), "stream 13": ("DEVICE", 0, True)}
    assert [device.label for device in told.marks.devices] == ["GPU 0"]


def test_stream_all_counts_where_no_other_stream_is(mark):
    told = mark({"traceEvents": [process(7, "/gpu:0/stream:all Compute"), node("a", 10, 50, pid=7)]})
    assert told.kinds() == {"MatMul": "KERNEL"}


def test_a_node_of_a_later_run_takes_the_producer_of_that_run(mark):
    told = mark(
        {
            "traceEvents": [
                HOST,
                node("x", 0, 5, pid=1, op="first x"),
                node("y", 10, 5, pid=1, op="first y", input0="x"),
                node("x", 100, 5, pid=1, op="second x"),
                node("y", 110, 5, pid=1, op="second y", input0="x"),
            ]
        }
    )
    assert told.arrows() == [("data", "first x", "first y"), ("data", "second x", "second y")]


def test_operators_of_a_timeline_know_their_device(mark):
    told = mark({"traceEvents": [HOST, DISPATCH, node("a", 0, 5, pid=1), node("b", 0, 5, pid=3)]})
    assert [told.marks.strings[one] for one in told.marks.provider.tolist()[2:]] == ["CPU:0", "GPU:0"]


PLANES = [
    process(501, "/host:CPU"),
    thread(501, 5, "python3"),
    thread(501, 6, "tf_Compute/48447815"),
    thread(501, 7, "tf_data_iterator_get_next/7"),
]


def test_host_threads_of_xprof(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                row("train 0", 0, 100, pid=501, tid=5, step_num="0", step_name="train 0", group_id="0"),
                row("forward_backward", 5, 80, pid=501, tid=5, group_id="0"),
                row("EagerExecute", 6, 70, pid=501, tid=5),
                row("TensorHandle::GetResourceHandleInfo WaitReady", 7, 1, pid=501, tid=5),
                row("ExecutorState::Process", 10, 50, pid=501, tid=6, id="1", iter_num="0"),
                row("MatMul", 11, 40, pid=501, tid=6, long_name="dense/MatMul:MatMul", is_eager="0"),
                row("Iterator::Prefetch", 0, 30, pid=501, tid=7),
                row("ThreadpoolListener::StartRegion", 10, 0.000001, pid=501, tid=6),
                {},
            ]
        }
    )
    assert told.dialect == "tensorflow"
    assert told.kinds() == {
        "train 0": "STEP",
        "forward_backward": "ANNOTATION",
        "EagerExecute": "RUNTIME",
        "TensorHandle::GetResourceHandleInfo WaitReady": "SYNC",
        "ExecutorState::Process": "OTHER",
        "MatMul": "OP",
        "Iterator::Prefetch": "INPUT",
    }
    assert told.steps() == [0]


def test_a_step_is_shown_by_its_name_and_keeps_its_number(mark):
    told = mark(
        {"traceEvents": [*PLANES, row("TraceContext", 0, 9, pid=501, tid=5, step_num="109", step_name="train 109")]}
    )
    assert (told.steps(), told.shown()) == ([109], ["train 109"])


def test_numbered_ranges_are_steps_where_the_export_has_no_arguments(mark):
    told = mark({"traceEvents": [*PLANES, row("train 3", 0, 9, pid=501, tid=5), row("train 4", 10, 9, pid=501, tid=5)]})
    assert told.steps() == [3, 4]


def test_a_device_plane_counts_its_streams_and_not_what_is_derived_from_them(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                process(1, "/device:GPU:0"),
                thread(1, 19, "Stream #19(Compute)"),
                thread(1, 20, "Stream #20(MemcpyH2D)"),
                thread(1, 30, "Steps"),
                thread(1, 31, "TensorFlow Ops"),
                thread(1, 32, "XLA Modules"),
                row("gemm", 20, 5, pid=501, tid=6, correlation_id="128183"),
                row("gemm kernel", 40, 30, pid=1, tid=19, correlation_id="128183"),
                row("MemcpyH2D", 10, 5, pid=1, tid=20, correlation_id="128187"),
                row("0", 10, 90, pid=1, tid=30, group_id="0"),
                row("MatMul", 40, 30, pid=1, tid=31),
                row("jit_train", 40, 30, pid=1, tid=32),
            ]
        }
    )
    assert told.kinds() == {"gemm": "RUNTIME", "gemm kernel": "KERNEL", "MemcpyH2D": "COPY", "0": "STEP"}
    assert told.launches() == {"gemm kernel": "gemm", "MemcpyH2D": None}
    assert told.steps() == [0]
    assert told.tracks()["Stream #19(Compute)"] == ("DEVICE", 0, True)
    assert [device.label for device in told.marks.devices] == ["GPU 0"]


def test_machines_in_one_file_keep_their_launches(mark):
    told = mark(
        {
            "traceEvents": [
                process(501, "a /host:CPU"),
                thread(501, 6, "tf_Compute/1"),
                process(1501, "b /host:CPU"),
                process(1, "a /device:GPU:0"),
                thread(1, 19, "Stream #19(Compute)"),
                process(1001, "b /device:GPU:0"),
                thread(1001, 19, "Stream #19(Compute)"),
                row("launch a", 20, 5, pid=501, tid=6, correlation_id="7"),
                row("launch b", 30, 5, pid=1501, tid=6, correlation_id="7"),
                row("kernel b", 40, 5, pid=1001, tid=19, correlation_id="7"),
                row("kernel a", 50, 5, pid=1, tid=19, correlation_id="7"),
            ]
        }
    )
    assert told.launches() == {"kernel b": "launch b", "kernel a": "launch a"}
    assert [device.label for device in told.marks.devices] == ["GPU 0 (process 1)", "GPU 0 (process 1001)"]


def test_a_plane_without_streams_counts_its_operators(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                process(1, "/device:TPU:0"),
                thread(1, 3, "XLA Ops"),
                thread(1, 4, "XLA Modules"),
                thread(1, 5, "Framework Ops"),
                row("fusion.4", 40, 30, pid=1, tid=3),
                row("all-reduce.1", 70, 5, pid=1, tid=3),
                row("copy-done.2", 75, 5, pid=1, tid=3),
                row("jit_train", 40, 30, pid=1, tid=4),
                row("MatMul", 40, 30, pid=1, tid=5),
            ]
        }
    )
    assert told.kinds() == {
        "fusion.4": "KERNEL",
        "all-reduce.1": "COMM",
        "copy-done.2": "COPY",
        "jit_train": "ANNOTATION",
    }
    assert [device.label for device in told.marks.devices] == ["TPU 0"]


def test_a_plane_of_an_unknown_sort_counts_all_lines_that_are_not_derived(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                process(1, "/device:CUSTOM:0"),
                thread(1, 3, "Queue 0"),
                thread(1, 4, "Framework Ops"),
                row("gemm", 40, 30, pid=1, tid=3),
                row("MatMul", 40, 30, pid=1, tid=4),
            ]
        }
    )
    assert told.kinds() == {"gemm": "KERNEL"}


def test_a_plane_without_rows_is_no_device(mark):
    told = mark({"traceEvents": [*PLANES, process(1, "/device:GPU:0"), row("MatMul", 0, 5, pid=501, tid=6)]})
    assert told.marks.devices == ()


def test_a_thread_with_steps_runs_python_whatever_it_is_called(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                thread(501, 8, "train.sh"),
                row("train 0", 0, 90, pid=501, tid=8, step_num="0"),
                row("load_data", 1, 50, pid=501, tid=8),
                row("load_data ", 1, 50, pid=501, tid=6),
            ]
        }
    )
    assert told.kinds() == {"train 0": "STEP", "load_data": "ANNOTATION", "load_data ": "OTHER"}


def test_the_two_lowest_bits_of_a_flow_say_which_end_it_is(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                row("FunctionRun", 0, 9, pid=501, tid=5, flow=str(40 << 2 | 2)),
                row("ExecutorState::Process", 20, 9, pid=501, tid=6, flow=str(40 << 2 | 1)),
                row("ExecutorState::Process", 40, 9, pid=501, tid=6, flow=str(41 << 2 | 1)),
            ]
        }
    )
    assert told.arrows() == [("flow", "FunctionRun", "ExecutorState::Process")]


def test_a_flow_that_ends_at_a_mark_stands_for_the_slice_around_it(mark):
    told = mark(
        {
            "traceEvents": [
                *PLANES,
                row("EagerExecute", 0, 9, pid=501, tid=5),
                {
                    "ph": "i",
                    "name": "ThreadpoolListener::Record",
                    "pid": 501,
                    "tid": 5,
                    "ts": 4,
                    "args": {"flow": "162"},
                },
                row("ThreadpoolListener::Region", 20, 9, pid=501, tid=6),
                {
                    "ph": "i",
                    "name": "ThreadpoolListener::StartRegion",
                    "pid": 501,
                    "tid": 6,
                    "ts": 20,
                    "args": {"flow": "161"},
                },
            ]
        }
    )
    assert told.arrows() == [("flow", "EagerExecute", "ThreadpoolListener::Region")]

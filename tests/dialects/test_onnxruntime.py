def row(name, ts, dur, *, cat="Node", pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def session(name, ts, dur, *, tid=1):
    return row(name, ts, dur, cat="Session", tid=tid)


def test_a_run_is_a_step_around_its_executor_and_nodes(mark):
    told = mark(
        [
            session("model_loading_uri", 0, 10),
            session("session_initialization", 10, 20),
            row("conv1_kernel_time", 110, 20, op_name="Conv", provider="CPUExecutionProvider"),
            row("relu1_kernel_time", 131, 4, op_name="Relu", provider="CPUExecutionProvider"),
            session("SequentialExecutor::Execute", 105, 35),
            session("model_run", 100, 50),
        ]
    )
    assert told.dialect == "onnxruntime"
    assert told.kinds() == {
        "model_loading_uri": "OTHER",
        "session_initialization": "OTHER",
        "conv1_kernel_time": "OP",
        "relu1_kernel_time": "OP",
        "SequentialExecutor::Execute": "ANNOTATION",
        "model_run": "STEP",
    }
    assert told.shown() == [
        "model_loading_uri",
        "session_initialization",
        "conv1",
        "relu1",
        "SequentialExecutor::Execute",
        "model_run",
    ]


def test_runs_are_numbered_in_order_of_time(mark):
    told = mark([session("model_run", 100, 50, tid=2), session("model_run", 0, 50), session("model_run", 110, 50)])
    assert told.steps() == [0, 1, 2]
    assert told.marks.step_number == {1: 0, 0: 1, 2: 2}


def test_a_node_without_a_name_is_called_by_its_operator(mark):
    told = mark([session("model_run", 0, 50), row("_kernel_time", 5, 9, op_name="Conv"), row("_kernel_time", 15, 9)])
    assert told.shown() == ["model_run", "Conv", "_kernel_time"]


def test_fences_are_calls_beside_their_node(mark):
    told = mark(
        [
            session("model_run", 0, 50),
            row("mul_fence_before", 5, 1, op_name="Mul"),
            row("mul_kernel_time", 6, 9, op_name="Mul", provider="CPUExecutionProvider"),
            row("mul_fence_after", 15, 1, op_name="Mul"),
        ]
    )
    assert told.kinds() == {
        "model_run": "STEP",
        "mul_fence_before": "RUNTIME",
        "mul_kernel_time": "OP",
        "mul_fence_after": "RUNTIME",
    }


def test_operators_know_their_provider(mark):
    told = mark(
        [
            session("model_run", 0, 50),
            row("a_kernel_time", 5, 9, op_name="Conv", provider="CUDAExecutionProvider"),
            row("b_kernel_time", 15, 9, op_name="Shape", provider="CPUExecutionProvider"),
            row("c_kernel_time", 25, 9),
        ]
    )
    provider = told.marks.provider.tolist()
    assert [told.marks.strings[one] if one >= 0 else None for one in provider] == [
        None,
        "CUDAExecutionProvider",
        "CPUExecutionProvider",
        None,
    ]


def test_rows_of_the_kernel_category_run_on_a_device_one_track_a_stream(mark):
    told = mark(
        [
            session("model_run", 0, 90),
            row("a_kernel_time", 10, 5, op_name="Conv", provider="CUDAExecutionProvider"),
            row("b_kernel_time", 20, 5, op_name="MatMul", provider="CUDAExecutionProvider"),
            row("sgemm", 25, 40, cat="Kernel", pid=-1, tid=-1, stream="13", op_name="MatMul"),
            row("cudnn::conv", 8, 5, cat="Kernel", pid=-1, tid=-1, stream="14", op_name="Conv"),
            row("Memcpy HtoD", 12, 5, cat="Kernel", pid=-1, tid=-1, stream="13", parent_name="a_kernel_time"),
        ]
    )
    assert told.launches() == {"sgemm": "b_kernel_time", "cudnn::conv": "a_kernel_time", "Memcpy HtoD": "a_kernel_time"}
    assert told.tracks() == {
        "thread 1": ("HOST", -1, True),
        "stream 13": ("DEVICE", 0, True),
        "stream 14": ("DEVICE", 0, True),
    }
    assert [device.label for device in told.marks.devices] == ["GPU 0"]


def test_a_provider_that_waits_for_its_gpu_on_the_host_thread_is_a_sync(mark):
    told = mark(
        [
            {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "onnxruntime-mlx-ep"}},
            row("mlx.subgraph", 0, 50, cat="ep", pid=7, tid=0),
            row("Attention", 1, 5, cat="op", pid=7, tid=0),
            row("mlx.eval", 10, 30, cat="gpu", pid=7, tid=0, device="gpu"),
        ]
    )
    assert told.kinds() == {"mlx.subgraph": "ANNOTATION", "Attention": "OP", "mlx.eval": "SYNC"}


def test_gpu_rows_on_a_thread_of_their_own_are_device_work(mark):
    told = mark(
        [
            {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "onnxruntime-ep-vulkan"}},
            row("vulkan.submit", 0, 5, cat="ep.phase", pid=7, tid=0),
            row("vulkan.fence_wait", 6, 30, cat="ep.phase", pid=7, tid=0),
            row("vulkan.gpu.gemv", 10, 20, cat="gpu", pid=7, tid=99, device="vulkan-gpu"),
        ]
    )
    assert told.kinds() == {"vulkan.submit": "RUNTIME", "vulkan.fence_wait": "SYNC", "vulkan.gpu.gemv": "KERNEL"}
    assert [(device.label, device.name) for device in told.marks.devices] == [("GPU 0", "vulkan-gpu")]


def test_tokens_of_a_generation_loop_are_steps(mark):
    told = mark(
        [
            row("loop.prefill", 0, 90, cat="loop"),
            row("native.session_run", 1, 80, cat="native"),
            row("Cast", 5, 3, cat="op", op_type="Cast"),
            row("loop.step", 100, 30, cat="loop"),
        ]
    )
    assert told.dialect == "onnxruntime"
    assert told.steps() == [0, 1]
    assert told.kinds()["Cast"] == "OP"


def test_a_frame_of_the_program_around_a_run_is_the_step(mark):
    told = mark(
        [
            session("model_run", 0, 50),
            row("frame#1", 100, 200, cat="application"),
            row("resize", 110, 60, cat="application"),
            session("model_run", 180, 50),
            row("frame#2", 300, 200, cat="application"),
            session("model_run", 380, 50),
        ]
    )
    assert told.kinds() == {"model_run": "ANNOTATION", "frame#1": "STEP", "resize": "ANNOTATION", "frame#2": "STEP"}
    assert told.marks.step_number == {}


def test_a_frame_that_holds_no_run_is_a_range_like_any_other(mark):
    told = mark([row("frame#1", 0, 100, cat="application"), session("model_run", 120, 50)])
    assert told.kinds() == {"frame#1": "ANNOTATION", "model_run": "STEP"}

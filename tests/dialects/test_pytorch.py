import pytest


def op(name, ts, dur, *, cat="cpu_op", pid=100, tid=100, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def call(name, ts, dur, *, pid=100, tid=100, cat="cuda_runtime", **args):
    return op(name, ts, dur, cat=cat, pid=pid, tid=tid, **args)


def kernel(name, ts, dur, *, pid=0, tid=7, cat="kernel", **args):
    return op(name, ts, dur, cat=cat, pid=pid, tid=tid, **{"device": 0, "stream": 7, **args})


def meta(kind, value, *, pid=100, tid=0):
    key = "labels" if kind == "process_labels" else "name"
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "ts": 0, "args": {key: value}}


def test_categories_of_today_give_kinds(mark):
    told = mark(
        [
            op("ProfilerStep#7", 0, 100, cat="user_annotation"),
            op("forward", 1, 50, cat="user_annotation"),
            op("nn.Module: Linear_0", 2, 40, cat="python_function"),
            op("aten::mm", 3, 30),
            call("cudaLaunchKernel", 4, 5),
            call("cuLaunchKernel", 9, 2, cat="cuda_driver"),
            call("cudaStreamSynchronize", 11, 5),
            op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 60, 9, cat="user_annotation"),
            op("gloo:all_reduce", 70, 3, cat="user_annotation", tid=103),
            op("profiler::_record_function_enter_new", 0, 1),
            op("Activity Buffer Request", 75, 3, cat="overhead", pid=-1, tid=0),
            kernel("sgemm", 10, 5),
            kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, 5),
            kernel("Memcpy HtoD (Pageable -> Device)", 30, 5, cat="gpu_memcpy"),
            kernel("Memset (Device)", 36, 1, cat="gpu_memset"),
            kernel("Stream Wait Event", 40, 5, cat="cuda_sync"),
            kernel("forward ", 10, 50, cat="gpu_user_annotation"),
            op("PyTorch Profiler (0)", 0, 500, cat="Trace", pid="Spans", tid="PyTorch Profiler"),
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100, "ts": 5, "s": "t"},
        ]
    )
    assert told.dialect == "pytorch"
    assert told.kinds() == {
        "ProfilerStep#7": "STEP",
        "forward": "ANNOTATION",
        "nn.Module: Linear_0": "FRAME",
        "aten::mm": "OP",
        "cudaLaunchKernel": "RUNTIME",
        "cuLaunchKernel": "RUNTIME",
        "cudaStreamSynchronize": "SYNC",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": "INPUT",
        "gloo:all_reduce": "OTHER",
        "profiler::_record_function_enter_new": "PROFILER",
        "Activity Buffer Request": "PROFILER",
        "sgemm": "KERNEL",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "COMM",
        "Memcpy HtoD (Pageable -> Device)": "COPY",
        "Memset (Device)": "COPY",
        "Stream Wait Event": "WAIT",
        "forward ": "ANNOTATION",
    }


def test_categories_of_2021_give_the_same_kinds(mark):
    told = mark(
        [
            op("ProfilerStep#5", 0, 90, cat="Operator", tid="4093687616"),
            op("aten::mm", 1, 30, cat="Operator", tid="4093687616"),
            op("Optimizer.step#SGD.step", 40, 30, cat="Operator", tid="4093687616"),
            call("cudaLaunchKernel", 4, 5, cat="Runtime", tid="4093687616", correlation=60031),
            kernel("sgemm", 10, 5, cat="Kernel", tid="stream 7", correlation=60031),
            kernel("Memset (Device)", 20, 5, cat="Memset", tid="stream 7", correlation=60032),
            op("PyTorch Profiler (0)", 0, 500, cat="Trace", pid="Traces", tid="PyTorch Profiler"),
        ]
    )
    assert told.kinds() == {
        "ProfilerStep#5": "STEP",
        "aten::mm": "OP",
        "Optimizer.step#SGD.step": "ANNOTATION",
        "cudaLaunchKernel": "RUNTIME",
        "sgemm": "KERNEL",
        "Memset (Device)": "COPY",
    }
    assert told.launches() == {"sgemm": "cudaLaunchKernel", "Memset (Device)": None}
    assert told.tracks() == {"thread 4093687616": ("HOST", -1, True), "stream 7": ("DEVICE", 0, True)}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaDeviceSynchronize", "SYNC"),
        ("cudaEventSynchronize", "SYNC"),
        ("cuCtxSynchronize", "SYNC"),
        ("hipStreamSynchronize", "SYNC"),
        ("hipDeviceSynchronize", "SYNC"),
        ("cudaMemcpy", "SYNC"),
        ("cudaMemcpyToSymbol", "SYNC"),
        ("cuMemcpyDtoH_v2", "SYNC"),
        ("hipMemcpyWithStream", "SYNC"),
        ("cudaFree", "SYNC"),
        ("cudaHostAlloc", "SYNC"),
        ("cudaMemcpyAsync", "RUNTIME"),
        ("cuMemcpyHtoDAsync_v2", "RUNTIME"),
        ("hipMemcpyAsync", "RUNTIME"),
        ("cudaMalloc", "RUNTIME"),
        ("cudaFreeAsync", "RUNTIME"),
        ("cudaStreamWaitEvent", "RUNTIME"),
        ("cudaEventQuery", "RUNTIME"),
        ("cudaGraphLaunch", "RUNTIME"),
        ("hipExtModuleLaunchKernel", "RUNTIME"),
    ],
)
def test_calls_that_block_on_a_device_are_syncs(mark, name, kind):
    assert mark([call(name, 0, 5, correlation=1)]).kinds() == {name: kind}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", "COMM"),
        ("rcclGenericKernel", "COMM"),
        ("void deep_ep::internode::dispatch<false, 8, true, 8>(int4*)", "COMM"),
        ("nvshmemi_transfer_rma_nbi", "COMM"),
        ("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)", "COMM"),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", "COMM"),
        ("hipblasltGemmKernel_f16", "KERNEL"),
        ("void at::native::vectorized_gather_kernel<16, long>(char*, char*)", "KERNEL"),
        ("void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>>", "KERNEL"),
        ("triton_poi_fused_all_reduce_wait_tensor_0", "KERNEL"),
        ("void layer_norm<warp_all_reduce_sum>(float*)", "KERNEL"),
    ],
)
def test_communication_is_told_by_a_list_of_names(mark, name, kind):
    assert mark([kernel(name, 0, 5)]).kinds() == {name: kind}


def test_a_kernel_with_a_collective_in_its_arguments_is_communication(mark):
    told = mark([kernel("my_ring", 0, 5, **{"Collective name": "allreduce", "Group size": 8})])
    assert told.kinds() == {"my_ring": "COMM"}


def test_steps_are_host_ranges_and_keep_their_numbers(mark):
    told = mark(
        [
            kernel("ProfilerStep#4", 5, 90, cat="gpu_user_annotation"),
            op("ProfilerStep#5", 100, 100, cat="user_annotation"),
            op("ProfilerStep#4", 0, 100, cat="user_annotation"),
        ]
    )
    assert told.steps() == [4, 5]
    assert told.marks.kind.tolist() == [6, 7, 7]


def test_devices_are_called_as_the_file_calls_them(mark):
    told = mark(
        {
            "deviceProperties": [
                {"id": 0, "name": "NVIDIA H800", "numSms": 132},
                {"id": 1, "name": "NVIDIA H800", "numSms": 131},
            ],
            "traceEvents": [
                meta("process_name", "python3"),
                meta("process_labels", "CPU"),
                meta("thread_name", "thread 100 (python3)", tid=100),
                meta("process_labels", "GPU 0", pid=0),
                meta("process_labels", "GPU 1", pid=1),
                meta("thread_name", "stream 23 ", pid=1, tid=23),
                op("aten::mm", 0, 9),
                kernel("sgemm", 10, 5, pid=1, tid=23, device=1, stream=23),
            ],
        }
    )
    assert [(device.label, device.name, device.properties["numSms"]) for device in told.marks.devices] == [
        ("GPU 1", "NVIDIA H800", 131)
    ]
    assert told.tracks() == {"thread 100 (python3)": ("HOST", -1, True), "stream 23": ("DEVICE", 0, True)}


def test_a_thread_that_holds_host_and_device_rows_becomes_two_tracks(mark):
    told = mark([op("aten::mm", 0, 9, tid=7, pid=3), kernel("sgemm", 10, 5, pid=3, tid=7, device=2)])
    assert told.tracks() == {"thread 7": ("HOST", -1, True), "stream 7": ("DEVICE", 0, True)}
    assert [device.label for device in told.marks.devices] == ["GPU 2"]


def test_a_graph_launch_starts_all_rows_of_its_correlation(mark):
    told = mark(
        [call("cudaGraphLaunch", 0, 5, correlation=50)]
        + [kernel(f"kernel {number}", 10 * number, 5, correlation=50) for number in range(1, 6)]
    )
    assert told.launches() == {f"kernel {number}": "cudaGraphLaunch" for number in range(1, 6)}


def test_correlation_0_and_minus_1_join_nothing(mark):
    told = mark(
        [
            call("cudaLaunchKernel", 0, 5, correlation=0),
            call("cudaMemcpyAsync", 6, 5, correlation=-1),
            kernel("ncclDevKernel", 10, 5, correlation=0),
            kernel("Memset (Device)", 20, 5, cat="gpu_memset", correlation=-1),
        ]
    )
    assert told.launches() == {"ncclDevKernel": None, "Memset (Device)": None}


def test_a_correlation_that_was_used_twice_takes_the_latest_call_before_the_row(mark):
    told = mark(
        [
            call("hipModuleLaunchKernel", 50, 5, correlation=9),
            call("hipLaunchKernel", 0, 5, correlation=9),
            kernel("first", 10, 5, correlation=9),
            kernel("second", 60, 5, correlation=9),
        ]
    )
    assert told.launches() == {"first": "hipLaunchKernel", "second": "hipModuleLaunchKernel"}


def test_a_row_without_a_call_takes_the_operator_of_its_external_id(mark):
    told = mark(
        [
            op("aten::mm", 0, 9, **{"External id": 17}),
            kernel("sgemm", 10, 5, correlation=400, **{"External id": 17}),
            kernel("stray", 20, 5, correlation=17, **{"External id": 17}),
        ]
    )
    assert told.launches() == {"sgemm": "aten::mm", "stray": None}, (
        "an External id that repeats the correlation is none"
    )


def test_a_correlation_wins_over_a_wrong_external_id(mark):
    told = mark(
        [
            op("aten::add", 0, 9, **{"External id": 1}),
            op("aten::mm", 10, 9, **{"External id": 2}),
            call("cudaLaunchKernel", 11, 5, correlation=70),
            kernel("sgemm", 20, 5, correlation=70, **{"External id": 1}),
        ]
    )
    assert told.launches() == {"sgemm": "cudaLaunchKernel"}


def rank(pid, name, device, at):
    return [
        call(f"launch {name}", at, 5, pid=pid, tid=pid, correlation=5),
        kernel(f"kernel {name}", at + 10, 5, pid=device, correlation=5),
    ]


def test_two_ranks_in_one_file_link_by_the_part_of_the_file(mark):
    told = mark([*rank(100, "a", 0, 0), *rank(200, "b", 1, 0)])
    assert told.launches() == {"kernel a": "launch a", "kernel b": "launch b"}


def test_two_ranks_link_by_what_their_processes_are_called(mark):
    first, second = rank(100, "a", "r0 0", 0), rank(200, "b", "r1 0", 0)
    told = mark(
        [
            meta("process_labels", "[rank 0] CPU"),
            meta("process_labels", "[rank 1] CPU", pid=200),
            meta("process_labels", "[rank 0] GPU 0", pid="r0 0"),
            meta("process_labels", "[rank 1] GPU 0", pid="r1 0"),
            first[0],
            second[0],
            call("more", 50, 1, pid=100, correlation=6),
            second[1],
            first[1],
        ]
    )
    assert told.launches() == {"kernel a": "launch a", "kernel b": "launch b"}
    assert [device.label for device in told.marks.devices] == ["GPU 0 (process r0 0)", "GPU 0 (process r1 0)"]


def test_two_ranks_link_by_their_arrows(mark):
    first, second = rank(100, "a", 0, 0), rank(200, "b", 1, 0)

    def arrow(number, pid, device):
        return [
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": number, "pid": pid, "tid": pid, "ts": 0},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": number, "pid": device, "tid": 7, "ts": 10, "bp": "e"},
        ]

    rows = [first[0], second[0], call("more", 50, 1, pid=100, correlation=6), second[1], first[1]]
    told = mark([*rows, *arrow(1, 100, 0), *arrow(2, 200, 1)])
    assert told.launches() == {"kernel a": "launch a", "kernel b": "launch b"}


def test_a_row_that_nothing_tells_apart_stays_unlinked_and_is_counted(mark):
    first, second = rank(100, "a", 0, 0), rank(200, "b", 1, 0)
    told = mark([first[0], second[0], call("more", 50, 1, pid=100, correlation=6), second[1], first[1]])
    assert told.launches() == {"kernel a": None, "kernel b": None}
    assert told.problems() == {"ambiguous-launch": 2}


def test_backward_operators_follow_their_forward_by_sequence_number(mark):
    told = mark(
        [
            op("aten::linear", 0, 20, **{"Sequence number": 4}),
            op("aten::addmm", 2, 9, **{"Sequence number": 4}),
            op(
                "autograd::engine::evaluate_function: AddmmBackward0",
                50,
                20,
                tid=200,
                **{"Sequence number": 4, "Fwd thread id": 1},
            ),
            op("AddmmBackward0", 51, 15, tid=200, **{"Sequence number": 4, "Fwd thread id": 1}),
            op("aten::relu", 30, 5, **{"Sequence number": 5}),
        ]
    )
    assert told.arrows() == [("fwdbwd", "aten::addmm", "autograd::engine::evaluate_function: AddmmBackward0")]


def test_arrows_in_the_file_leave_the_sequence_numbers_alone(mark):
    told = mark(
        [
            op("aten::addmm", 2, 9, **{"Sequence number": 4}),
            op("AddmmBackward0", 51, 15, tid=200, **{"Sequence number": 4, "Fwd thread id": 1}),
            {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 100, "tid": 100, "ts": 2},
            {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 100, "tid": 200, "ts": 51, "bp": "e"},
        ]
    )
    assert told.arrows() == []


def test_the_export_before_kineto_tells_devices_by_process(mark):
    told = mark(
        [
            op("aten::mm", 0, 9, cat=None, pid="CPU functions", tid=1),
            op("aten::mm ", 5, 9, cat=None, pid="CUDA functions", tid=0),
        ]
    )
    assert told.kinds() == {"aten::mm": "OP", "aten::mm ": "KERNEL"}
    assert [device.label for device in told.marks.devices] == ["GPU 0"]


def test_ascend_processes_are_host_calls_device_and_repetition(mark):
    told = mark(
        [
            meta("process_name", "Python", pid=437675),
            meta("process_name", "CANN", pid=43767502),
            meta("process_labels", "CPU", pid=43767502),
            meta("process_name", "Ascend Hardware", pid=800),
            meta("process_labels", "NPU", pid=800),
            meta("thread_name", "Stream 3", pid=800, tid=3),
            meta("process_name", "Overlap Analysis", pid=900),
            meta("process_labels", "NPU", pid=900),
            op("aten::mm", "100.000", 9, pid=437675, tid=437675),
            op("AscendCL@aclrtSynchronizeStream", "110.000", 9, cat=None, pid=43767502, tid=437675),
            op("AscendCL@aclnnMatmul", "101.000", 3, cat=None, pid=43767502, tid=437675),
            op("aclnnMatmul_MatMulCommon_MatMulV2", "105.000", 9, cat=None, pid=800, tid=3),
            op("Computing", "105.000", 9, cat=None, pid=900, tid=0),
        ]
    )
    assert told.kinds() == {
        "aten::mm": "OP",
        "AscendCL@aclrtSynchronizeStream": "SYNC",
        "AscendCL@aclnnMatmul": "RUNTIME",
        "aclnnMatmul_MatMulCommon_MatMulV2": "KERNEL",
    }
    assert [device.label for device in told.marks.devices] == ["NPU 0"]


def test_rows_of_many_processing_elements_have_no_order(mark):
    told = mark(
        [
            meta("process_labels", "MTIA 9", pid=9),
            op("runFunction", 0, 5, cat="mtia_runtime", correlation=3),
            op("fc", 10, 5, cat="mtia_ccp_events", pid=9, tid=4, correlation=3),
            op("dma_request", 12, 9, cat="mtia_ccp_events", pid=9, tid=4),
        ]
    )
    assert told.launches() == {"fc": "runFunction", "dma_request": None}
    assert told.tracks()["stream 4"] == ("DEVICE", 0, False)
    assert [device.label for device in told.marks.devices] == ["MTIA 9"]


def test_streams_are_opaque_keys(mark):
    wide = 140234567890123
    told = mark(
        [
            kernel("a", 0, 5, tid=wide, stream=wide),
            kernel("b", 0, 5, tid=0, stream=0),
            kernel("c", 0, 5, tid=-1, stream=-1),
        ]
    )
    assert set(told.tracks()) == {f"stream {wide}", "stream 0", "stream -1"}


def test_a_thread_written_as_text_and_as_a_number_is_one_track(mark):
    told = mark(
        [
            meta("thread_name", "thread 25738 (python)", tid=25738),
            op("aten::mm", 0, 9, cat="Operator", tid="25738"),
            {"ph": "s", "cat": "async", "name": "launch", "id": 1, "pid": 100, "tid": 25738, "ts": 0},
        ]
    )
    assert told.tracks() == {"thread 25738 (python)": ("HOST", -1, True)}
    assert len(set(told.marks.track.tolist())) == 1


def test_runtime_calls_that_ascend_draws_in_a_process_of_their_own_return_to_their_thread(mark):
    told = mark(
        [
            meta("process_name", "Python", pid=437675),
            meta("process_name", "CANN", pid=43767502),
            op("AscendCL@aclrtSynchronizeStream", "102.000", 3, cat=None, pid=43767502, tid=437675),
            op("aten::item", "100.000", 9, pid=437675, tid=437675),
            op("AscendCL@aclrtMalloc", "100.000", 9, cat=None, pid=43767502, tid=439085),
        ]
    )
    assert told.tracks() == {"thread 437675": ("HOST", -1, True), "thread 439085": ("HOST", -1, True)}
    assert told.marks.track.tolist()[2:4] == [told.marks.track[3]] * 2

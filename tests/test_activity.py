"""Time has one owner: the innermost slice, the earlier start, the layer that comes first."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.tracebuilder import Trace
from tracegap import activity, intervals
from tracegap.charges import Charge
from tracegap.layers import Layer, Share, context_layer, device_layers, divide, host_layer


def told(trace: Trace, layer: Layer) -> list[tuple[int, int, str, str | None]]:
    names = trace.timeline().names
    return [
        (start // 1_000, end // 1_000, Charge(cause).word, names[name] if name >= 0 else None)
        for start, end, cause, name in zip(
            layer.start.tolist(), layer.end.tolist(), layer.cause.tolist(), layer.name.tolist(), strict=True
        )
    ]


def nested() -> Trace:
    trace = Trace()
    main = trace.thread()
    main.step(0, 0, 100)
    main.annotation("forward", 0, 80)
    main.op("aten::linear", 10, 60)
    main.op("aten::addmm", 20, 50)
    main.call("cudaMalloc", 20, 30)
    main.sync(40, 50)
    return trace


def test_a_thread_works_on_its_innermost_slice() -> None:
    trace = nested()
    assert told(trace, host_layer(trace.timeline(), 0, 0, 100_000)) == [
        (10, 20, "operator", "aten::linear"),
        (20, 30, "allocator", "cudaMalloc"),
        (30, 40, "operator", "aten::addmm"),
        (40, 50, "sync", "cudaDeviceSynchronize"),
        (50, 60, "operator", "aten::linear"),
    ]


def test_while_a_device_waits_operators_are_dispatch() -> None:
    trace = nested()
    layer = host_layer(trace.timeline(), 0, 0, 20_000, waiting_device=True)
    assert told(trace, layer)[0][2:] == ("dispatch", "aten::linear")


def test_context_names_what_no_slice_owns_and_a_step_is_no_name() -> None:
    trace = nested()
    assert told(trace, context_layer(trace.timeline(), 0, 0, 100_000)) == [
        (0, 80, "untraced_host", "forward"),
        (80, 100, "untraced_host", None),
    ]


def test_compute_owns_time_before_communication_and_that_before_copies() -> None:
    trace = Trace()
    trace.thread().op("aten::mm", 0, 1)
    trace.stream(7).kernel("gemm", 10, 30)
    trace.stream(8).kernel("gemm_late", 20, 40)
    trace.stream(9).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 0, 60)
    trace.stream(10).copy(50, 80)
    timeline = trace.timeline()
    layers = device_layers(timeline, 0, 80_000, timeline.slices.name)
    whole = intervals.union(np.array([0]), np.array([80_000]))
    shares, rest = divide(whole, layers)
    assert {(share.cause.word, timeline.names[share.name]): share.duration for share in shares} == {
        ("kernel", "gemm"): 20_000,
        ("kernel", "gemm_late"): 10_000,
        ("communication", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"): 30_000,
        ("copy", "Memcpy HtoD (Pinned -> Device)"): 20_000,
    }
    assert intervals.total(rest) == 0


def test_a_thread_that_blocks_inside_an_operator_is_not_busy() -> None:
    trace = nested()
    _, busy = activity.busy_by_track(trace.timeline(), 0, 100_000)
    assert list(zip(busy.start.tolist(), busy.end.tolist(), strict=True)) == [(10_000, 40_000), (50_000, 60_000)]


layers = st.lists(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10), st.integers(-1, 2)), max_size=5), max_size=4
)


@given(layers)
def test_law_shares_and_rest_add_up(rows: list[list[tuple[int, int, int]]]) -> None:
    def layer(spans: list[tuple[int, int, int]]) -> Layer:
        start, end, name, free = [], [], [], 0
        for begin, length, one in sorted(spans):
            start.append(max(begin, free))
            end.append(start[-1] + length)
            name.append(one)
            free = end[-1]
        return Layer(
            np.array(start, np.int64), np.array(end, np.int64), np.zeros(len(start), np.uint8), np.array(name, np.int32)
        )

    whole = intervals.union(np.array([5]), np.array([45]))
    shares, rest = divide(whole, [layer(spans) for spans in rows])
    assert sum(share.duration for share in shares) + intervals.total(rest) == 40
    assert all(share.duration > 0 for share in shares)
    assert len({(share.cause, share.name) for share in shares}) == len(shares)


def test_no_layer_leaves_all() -> None:
    whole = intervals.union(np.array([0]), np.array([9]))
    assert divide(whole, []) == ([], whole)
    one = Layer(np.array([0]), np.array([9]), np.array([1], np.uint8), np.array([-1], np.int32))
    assert divide(whole, [one, one])[0] == [Share(Charge.RUNTIME, -1, 9)]

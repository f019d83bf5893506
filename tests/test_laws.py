"""The laws of the dependency graph, on random timelines, on every sample, and on every collected trace there is."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT, SAMPLES
from tests.daglaws import lawful
from tests.tracebuilder import ChromeTrace, Trace
from tracegap.dag import build
from tracegap.errors import TracegapError
from tracegap.extent import choose_window
from tracegap.pipeline import load
from tracegap.segments import path
from tracegap.timeline import Window

CALLS = (
    "cudaLaunchKernel",
    "cudaMemcpyAsync",
    "cudaGraphLaunch",
    "cudaMalloc",
    "cudaEventRecord",
    "cudaStreamWaitEvent",
)
SYNCS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaFree")
SYNC_ROWS = ("Stream Sync", "Context Sync", "Event Sync", "Stream Wait Event")
COLLECTED = ROOT.parent / "shared" / "corpus"


@st.composite
def host_work(draw, start, end, depth=0):
    """Slices inside ``[start, end]`` that nest or are apart, as (name, start, end); lengths of zero and ties are many."""
    slices = []
    at = start
    while at <= end and len(slices) < 4 and draw(st.booleans()):
        first = draw(st.integers(at, min(end, at + 8)))
        last = draw(st.integers(first, min(end, first + 12)))
        sort = draw(st.sampled_from(("op", "call", "call", "sync", "item", "range", "sleep")))
        slices.append((sort, first, last))
        if sort in ("op", "range") and depth < 3:
            slices.extend(draw(host_work(first, last, depth + 1)))
        at = last
    return slices


@st.composite
def traces(draw):
    """A trace of a few threads and streams: launches, graphs, copies, waits, steps, arrows, carried and skewed work."""
    trace = Trace()
    launched = []
    slices = []
    for tid in range(1, draw(st.integers(1, 3)) + 1):
        thread = trace.thread(tid)
        for sort, first, last in draw(host_work(0, 60)):
            match sort:
                case "op":
                    slices.append(thread.op("aten::mm", first, last))
                case "item":
                    slices.append(thread.op("aten::item", first, last))
                case "range" | "sleep":
                    thread.annotation("load" if sort == "sleep" else "forward", first, last)
                case "call":
                    name = draw(st.sampled_from(CALLS))
                    launched.append((name, first, last, thread.launch(first, last, name)))
                case "sync":
                    launched.append(("sync", first, last, thread.launch(first, last, draw(st.sampled_from(SYNCS)))))
    if draw(st.booleans()):
        step, at = 0, draw(st.integers(0, 20))
        while at < 60 and step < 3:
            last = at + draw(st.integers(1, 40))
            trace.thread(1).step(step, at, last)
            step, at = step + 1, last + draw(st.integers(0, 5))
    if draw(st.integers(0, 9)) == 0:
        slices.append(trace.thread(1).op("crosses", draw(st.integers(0, 30)), draw(st.integers(30, 60))))
    for stream in range(7, 7 + draw(st.integers(0, 3))):
        at = draw(st.integers(-5, 10))
        for _ in range(draw(st.integers(0, 8))):
            known = [one for one in launched if one[0] != "sync"]
            name, first, _, correlation = draw(st.sampled_from(known)) if known else ("", 0, 0, 0)
            skew = draw(st.sampled_from((0, 0, 0, 2, 9)))
            begun = max(at, first - skew) + draw(st.integers(0, 6)) - draw(st.sampled_from((0, 0, 0, 3)))
            ended = begun + draw(st.integers(0, 15))
            row = trace.stream(stream)
            if name == "cudaMemcpyAsync":
                slices.append(row.copy(begun, ended, correlation))
            else:
                slices.append(row.kernel("gemm", begun, ended, draw(st.sampled_from((correlation, correlation, 0)))))
            at = ended
        for _, first, last, correlation in launched:
            if draw(st.integers(0, 5)) == 0:
                waits = {
                    "wait_on_stream": draw(st.integers(6, 9)),
                    "wait_on_cuda_event_record_corr_id": draw(st.integers(-1, max(trace.correlations, 1))),
                }
                trace.stream(stream).slice(
                    draw(st.sampled_from(SYNC_ROWS)), first, last, "cuda_sync", correlation, **waits
                )
    for _ in range(draw(st.integers(0, 3)) if len(slices) > 1 else 0):
        trace.arrow("fwdbwd", draw(st.sampled_from(slices)), draw(st.sampled_from(slices)))
    if not slices and not launched:
        trace.thread(1).op("aten::mm", 0, 1)
    return trace


def windows(timeline):
    """The window that is chosen, the whole, and two that cut through work."""
    length = timeline.end - timeline.start
    cuts = (timeline.start + length // 3, timeline.start + length // 2, timeline.end)
    yield choose_window(timeline)
    yield choose_window(timeline, whole=True)
    yield Window(cuts[0], cuts[1], "user")
    yield Window(cuts[1], cuts[2], "user", tuple(range(len(timeline.steps))))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(traces())
def test_every_random_timeline_is_lawful(trace):
    timeline = trace.timeline()
    for window in windows(timeline):
        lawful(timeline, window)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 40), st.integers(0, 20)), min_size=1, max_size=15
    )
)
def test_slices_that_overlap_at_will_are_lawful(spans):
    trace = ChromeTrace()
    for tid, pid, start, length in spans:
        trace.span("work", start, start + length, tid, pid)
    timeline = trace.timeline()
    for window in windows(timeline):
        lawful(timeline, window)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(traces(), st.integers(1, 10**9))
def test_shifting_all_times_changes_nothing_but_times(trace, shift):
    early = trace.timeline()
    for event in trace.events:
        event["ts"] += shift
    late = trace.timeline()
    for window, same in zip(windows(early), windows(late), strict=True):
        before, after = path(build(early, window)), path(build(late, same))
        assert before.start.tolist() == after.start.tolist()
        assert before.charge.tolist() == after.charge.tolist()
        assert before.slice.tolist() == after.slice.tolist()


def check_file(file):
    """Check the windows of one file; a file that is refused has no graph."""
    try:
        timeline = load(file)
        chosen = choose_window(timeline)
    except TracegapError:
        return
    for window in (chosen, choose_window(timeline, whole=True)):
        lawful(timeline, window)


@pytest.mark.parametrize("name", sorted(file.name for file in SAMPLES.glob("*.json*")))
def test_every_sample_is_lawful(name):
    check_file(SAMPLES / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", sorted(path.name for path in COLLECTED.iterdir() if path.is_dir()) if COLLECTED.is_dir() else []
)
def test_every_collected_trace_is_lawful(folder):
    for file in sorted((COLLECTED / folder).iterdir()):
        if file.suffix in (".json", ".gz", ".profile"):
            check_file(file)

"""A host and a GPU, simulated: what their clocks show, and why the GPU stands idle.

A device slice starts when its stream is free, the events its stream waits for have happened and its launch has arrived; a
blocking call returns once the work it waits for is done. All host time is labelled with what was going on. Rules that make
the causes of idle time exact:

- a launch arrives `ARRIVAL` ns after its call began; a slice that had to wait for its stream starts `SCHEDULING` ns after
  the stream was free; so an idle device waits either for the host, for an arriving launch, or to schedule what it has;
- the kernels of a graph follow each other after `IN_GRAPH` ns;
- blocking calls always find work to wait for, and return `RETURN` ns after it is done;
- a thread that is handed the work goes on `HANDOFF` ns later.
"""

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import kineto

PROCESS, AUTOGRAD = 48213, 48391
COMPUTE, COMM = 7, 20
ARRIVAL, SCHEDULING, IN_GRAPH, RETURN, HANDOFF = 5_000, 1_000, 600, 2_000, 20_000
_PEAK = {"float": 19.5e12, "c10::BFloat16": 312e12}  # FLOP/s of an A100, dense: NVIDIA A100 data sheet
_BANDWIDTH = 2.039e12  # bytes/s of its 80 GB SXM version: the same


class Segment(NamedTuple):
    """A stretch of host time and what went on in it."""

    start: int
    end: int
    cause: str


@dataclass
class Work:
    """A device slice: ``asked`` is when its launch call began, ``why`` what it waited for last."""

    name: str
    stream: int
    start: int
    end: int
    asked: int
    why: str


@dataclass
class Machine:
    """The host and the device while they run: the clocks, and what was written so far."""

    dtype: str
    cuda_sync: bool
    random: random.Random
    clock: int = 200_000
    thread: int = PROCESS
    number: int = 0
    correlation: int = 0
    causes: list[str] = field(default_factory=lambda: ["untraced_host"])
    external: list[int] = field(default_factory=lambda: [0])
    events: list[str] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    free: Counter[int] = field(default_factory=Counter)  # when each stream is done
    awaited: Counter[int] = field(default_factory=Counter)  # what each stream waits for besides

    # The host.

    def spend(self, ns: int) -> None:
        """Let host time pass, ±30 %, in whatever is going on."""
        self.until(self.clock + round(ns * self.random.uniform(0.7, 1.3)))

    def until(self, time: int) -> None:
        """Let host time pass until `time`."""
        self.segments.append(Segment(self.clock, time, self.causes[-1]))
        self.clock = time

    @contextmanager
    def slice(self, cat: str, name: str, cause: str, args: dict[str, Any] | None = None) -> Iterator[int]:
        """Write a host slice around what happens inside; gives its start."""
        self.number += 1
        number, start = self.number, self.clock
        self.external.append(number)
        self.causes.append(cause)
        yield start
        self.causes.pop()
        self.external.pop()
        known = {"External id": number, "Record function id": 0, **(args or {}), "Ev Idx": number}
        self.events.append(kineto.slice_(cat, name, PROCESS, self.thread, start, self.clock, known))

    def annotation(self, name: str) -> AbstractContextManager[int]:
        """Write a range that the program named."""
        return self.slice("user_annotation", name, "untraced_host")

    @contextmanager
    def operator(
        self, name: str, shapes: Sequence[Sequence[int]] = (), args: Mapping[str, Any] | None = None
    ) -> Iterator[int]:
        """Write an operator, with its own time before and after what happens inside."""
        types = {"Input Dims": shapes, "Input type": [self.dtype] * len(shapes)} if shapes else {}
        with self.slice("cpu_op", name, "dispatch", {**types, **(args or {})}) as start:
            self.spend(2_400)
            yield start
            self.spend(900)

    @contextmanager
    def call(self, name: str, cause: str = "runtime", *, launches: bool = False) -> Iterator[int]:
        """Write an API call, and an arrow to the device if it launches something; gives its start."""
        self.correlation += 1
        correlation, start = self.correlation, self.clock
        self.causes.append(cause)
        yield start
        self.causes.pop()
        args = {"External id": self.external[-1], "cbid": 0, "correlation": correlation}
        self.events.append(kineto.slice_("cuda_runtime", name, PROCESS, self.thread, start, self.clock, args))
        if launches:
            self.events.append(kineto.arrow("s", "ac2g", correlation, PROCESS, self.thread, start))

    def hand_over(self, thread: int) -> None:
        """Go on on another thread, which takes a moment to wake."""
        self.segments.append(Segment(self.clock, self.clock + HANDOFF, "dependency"))
        self.clock += HANDOFF
        self.thread = thread

    # The device.

    def enqueue(
        self, cat: str, name: str, stream: int, ns: int, asked: int, args: dict[str, Any], *, in_graph: bool = False
    ) -> Work:
        """Put work on a stream and find out when it runs."""
        ready, arrives = max(self.free[stream], self.awaited[stream]), asked + ARRIVAL
        if in_graph:
            start, why = ready + IN_GRAPH, "in_graph"
        elif arrives > ready:
            start, why = arrives, "launch"
        else:
            start, why = ready + SCHEDULING, "scheduling"
        done = Work(name, stream, start, start + ns, asked, why)
        self.free[stream] = done.end
        self.work.append(done)
        known = {
            "External id": self.external[-1],
            "device": 0,
            "context": 1,
            "stream": stream,
            "correlation": self.correlation,
        }
        self.events.append(kineto.slice_(cat, name, 0, stream, done.start, done.end, known | args))
        self.events.append(kineto.arrow("f", "ac2g", self.correlation, 0, stream, done.start))
        return done

    def kernel(self, name: str, *, flops: float = 0, size: float = 0) -> Work:
        """Launch a kernel that does so much arithmetic and moves so many bytes."""
        with self.call("cudaLaunchKernel", launches=True) as asked:
            self.spend(3_200)
            return self.enqueue("kernel", name, COMPUTE, self._length(flops, size), asked, _GRID)

    def graph(self, names: Sequence[str], *, size: float) -> None:
        """Launch a graph of kernels, one after the other."""
        with self.call("cudaGraphLaunch", launches=True) as asked:
            self.spend(3_600)
            for place, name in enumerate(names):
                args = _GRID | {"graph id": 1, "graph node id": place + 1}
                self.enqueue("kernel", name, COMPUTE, self._length(0, size), asked, args, in_graph=place > 0)

    def copy(self, direction: str, size: int) -> Work:
        """Copy asynchronously."""
        with self.call("cudaMemcpyAsync", launches=True) as asked:
            self.spend(3_400)
            ns = 1_400 + round(size / 24)  # PCIe 4 gives about 24 bytes/ns
            args = {"bytes": size, "memory bandwidth (GB/s)": round(size / ns, 3)}
            return self.enqueue("gpu_memcpy", f"Memcpy {direction}", COMPUTE, ns, asked, args)

    def all_reduce(self, size: int) -> None:
        """Sum over the ranks, on a stream of its own and after the compute stream's work so far."""
        known = {
            "Collective name": "allreduce",
            "In msg nelems": size // 4,
            "Out msg nelems": size // 4,
            "Group size": 2,
            "dtype": "Float",
            "Process Group Name": "0",
            "Process Group Ranks": "[0, 1]",
        }
        with self.slice("cpu_op", "record_param_comms", "dispatch", known):
            self.spend(3_000)
            self.wait_for(COMPUTE, COMM)
            with self.call("cudaLaunchKernelExC", launches=True) as asked:
                self.spend(3_300)
                ns = 12_000 + round(size / 60)
                self.enqueue("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", COMM, ns, asked, _GRID | known)
            self.spend(900)

    def wait_for(self, source: int, target: int) -> None:
        """Make stream `target` wait for what stream `source` has been given."""
        with self.call("cudaEventRecord"):
            self.spend(900)
            record = self.correlation
        with self.call("cudaStreamWaitEvent") as start:
            self.spend(1_000)
            self.awaited[target] = max(self.awaited[target], self.free[source])
            args = {"wait_on_stream": source, "wait_on_cuda_event_record_corr_id": record, "wait_on_cuda_event_id": 1}
            self._sync_row("Stream Wait Event", target, start, self.clock, args)

    def synchronize(self) -> None:
        """Wait for the compute stream."""
        with self.call("cudaStreamSynchronize", "sync") as start:
            self.until(self.free[COMPUTE] + RETURN)
            self._sync_row("Stream Sync", COMPUTE, start, self.clock, {})

    def synchronize_device(self) -> None:
        """Wait for all streams, as the profiler does before it stops."""
        with self.call("cudaDeviceSynchronize", "sync"):
            self.until(max(self.clock, *self.free.values()) + RETURN)

    def _length(self, flops: float, size: float) -> int:
        ns = 1e9 * max(flops / (0.76 * _PEAK[self.dtype]), size / (0.8 * _BANDWIDTH))
        return 2_400 + round(ns * self.random.uniform(0.99, 1.01))

    def _sync_row(self, kind: str, stream: int, start: int, end: int, extra: dict[str, Any]) -> None:
        if self.cuda_sync:
            known = {
                "External id": self.external[-1],
                "cuda_sync_kind": kind,
                "stream": stream,
                "correlation": self.correlation,
            }
            self.events.append(kineto.slice_("cuda_sync", kind, 0, stream, start + 200, end - 200, known | extra))


_GRID = {
    "queued": 0,
    "registers per thread": 96,
    "shared memory": 49152,
    "blocks per SM": 8.0,
    "warps per SM": 32.0,
    "grid": [864, 1, 1],
    "block": [128, 1, 1],
    "est. achieved occupancy %": 50,
}


def idle(run: Machine, *, start_ns: int, end_ns: int) -> dict[str, Any]:
    """Say when nothing ran on the device in the window, and why."""
    gaps: list[dict[str, Any]] = []
    reached = start_ns
    for one in sorted(run.work, key=lambda one: (one.start, one.end)):
        if one.start > reached:
            gaps.append(
                {
                    "start_ns": reached,
                    "duration_ns": one.start - reached,
                    "after": one.name,
                    "causes": _causes(run, reached, one),
                }
            )
        reached = max(reached, one.end)
    if end_ns > reached:
        host = _host(run.segments, reached, end_ns)
        gaps.append({"start_ns": reached, "duration_ns": end_ns - reached, "causes": dict(host)})
    causes: Counter[str] = Counter()
    for gap in gaps:
        causes.update(gap["causes"])
    total = sum(gap["duration_ns"] for gap in gaps)
    return {"busy_ns": end_ns - start_ns - total, "idle_ns": total, "causes": dict(causes), "gaps": gaps}


def _causes(run: Machine, start: int, waiting: Work) -> dict[str, int]:
    """Split the idle time before `waiting`, which begins at `start`, by cause."""
    if waiting.why != "launch":
        return {waiting.why: waiting.start - start}
    asked = max(start, waiting.asked)
    causes = _host(run.segments, start, asked)
    causes["launch"] += waiting.start - asked
    return dict(causes)


def _host(segments: list[Segment], start: int, end: int) -> Counter[str]:
    """Split host time; segments tile it, so those that matter are neighbours."""
    causes: Counter[str] = Counter()
    place = bisect_right(segments, start, key=lambda segment: segment.end)
    while place < len(segments) and segments[place].start < end:
        segment = segments[place]
        causes[segment.cause] += min(end, segment.end) - max(start, segment.start)
        place += 1
    return causes

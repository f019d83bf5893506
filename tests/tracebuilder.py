"""A small language for traces: threads, operators, calls, device work, steps and arrows, written as the profilers write them.

    trace = Trace()
    main = trace.thread()
    main.step(7, 0, 100)
    with_gap = main.launch(12, 14)
    main.op("aten::mm", 10, 20)
    trace.stream(7).kernel("gemm", 20, 50, with_gap)
    timeline = trace.timeline()

Times are in µs, `end` is where a slice ends. `Trace` writes Kineto; `OrtTrace`, `TfTrace` and `ChromeTrace` the others.
"""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracegap import dag
from tracegap.analyses import Model
from tracegap.extent import choose_window
from tracegap.pipeline import load
from tracegap.timeline import Timeline

Event = dict[str, Any]


@dataclass
class Trace:
    """A trace of torch.profiler; events stand in the order in which they are written."""

    events: list[Event] = field(default_factory=list)
    correlations: int = 0
    arrows: int = 0

    def add(self, name: str, start: float, end: float, cat: str | None, pid: Any, tid: Any, /, **args: Any) -> Event:
        """Write one complete event and return it."""
        event: Event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": end - start}
        self.events.append(event | ({"cat": cat} if cat else {}) | ({"args": args} if args else {}))
        return self.events[-1]

    def thread(self, tid: int = 1, pid: int = 100) -> "Thread":
        """Return a thread of the host."""
        return Thread(self, pid, tid)

    def stream(self, stream: int = 7, device: int = 0) -> "Stream":
        """Return a stream of a device."""
        return Stream(self, device, stream)

    def arrow(self, cat: str, source: Event, target: Event) -> None:
        """Draw an arrow from the start of a slice to the start of another."""
        self.arrows += 1
        for phase, end in (("s", source), ("f", target)):
            place = {key: end[key] for key in ("pid", "tid", "ts")}
            self.events.append({"ph": phase, "cat": cat, "name": cat, "id": self.arrows, "bp": "e"} | place)

    def metadata(self, name: str, pid: Any, value: str, tid: Any = 0) -> None:
        """Name a process or thread."""
        key = "labels" if name == "process_labels" else "name"
        self.events.append({"ph": "M", "name": name, "pid": pid, "tid": tid, "args": {key: value}})

    def document(self) -> object:
        """Return what the file holds."""
        devices = sorted({event["pid"] for event in self.events if event.get("cat") in _DEVICE})
        properties = [{"id": device, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108} for device in devices]
        return {"schemaVersion": 1, "deviceProperties": properties, "traceEvents": self.events}

    def bytes(self) -> bytes:
        """Return the file."""
        return json.dumps(self.document()).encode()

    def timeline(self, **options: Any) -> Timeline:
        """Read the file as the program does."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_bytes(self.bytes())
            return load(path, **options)

    def model(self, *, step_name: str | None = None, wall_clock_ns: int | None = None, **window: Any) -> Model:
        """Return what an analysis is given."""
        timeline = self.timeline(step_name=step_name)
        chosen = choose_window(timeline, **window)
        return Model(timeline, chosen, dag.build(timeline, chosen), wall_clock_ns)


_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "gpu_user_annotation")


@dataclass
class Thread:
    """A thread of the host."""

    trace: Trace
    pid: int
    tid: int

    def slice(self, name: str, start: float, end: float, cat: str, **args: Any) -> Event:
        """Write a slice of any category."""
        return self.trace.add(name, start, end, cat, self.pid, self.tid, **args)

    def op(self, name: str, start: float, end: float, **args: Any) -> Event:
        """Write a framework operator."""
        return self.slice(name, start, end, "cpu_op", **args)

    def step(self, number: int, start: float, end: float) -> Event:
        """Write an iteration."""
        return self.slice(f"ProfilerStep#{number}", start, end, "user_annotation")

    def annotation(self, name: str, start: float, end: float) -> Event:
        """Write a range that the program named."""
        return self.slice(name, start, end, "user_annotation")

    def frame(self, name: str, start: float, end: float) -> Event:
        """Write a Python frame."""
        return self.slice(name, start, end, "python_function")

    def call(self, name: str, start: float, end: float, **args: Any) -> Event:
        """Write an API call that starts nothing on a device."""
        return self.slice(name, start, end, "cuda_runtime", **args)

    def launch(self, start: float, end: float, name: str = "cudaLaunchKernel") -> int:
        """Write a call that hands work to a device, and return its correlation."""
        self.trace.correlations += 1
        self.call(name, start, end, correlation=self.trace.correlations)
        return self.trace.correlations

    def sync(self, start: float, end: float, name: str = "cudaDeviceSynchronize") -> Event:
        """Write a call that blocks on the device."""
        return self.call(name, start, end)


@dataclass
class Stream:
    """A stream of a device; work with correlation 0 is linked to no launch."""

    trace: Trace
    device: int
    stream: int

    def slice(self, name: str, start: float, end: float, cat: str, launch: int = 0, **args: Any) -> Event:
        """Write a slice of any category."""
        known = {"device": self.device, "stream": self.stream, "correlation": launch}
        return self.trace.add(name, start, end, cat, self.device, self.stream, **(known | args))

    def kernel(self, name: str, start: float, end: float, launch: int = 0, **args: Any) -> Event:
        """Write a kernel."""
        return self.slice(name, start, end, "kernel", launch, **args)

    def copy(self, start: float, end: float, launch: int = 0, name: str = "Memcpy HtoD (Pinned -> Device)") -> Event:
        """Write a copy."""
        return self.slice(name, start, end, "gpu_memcpy", launch)

    def wait(self, start: float, end: float, name: str = "Stream Wait Event") -> Event:
        """Write a row of synchronisation."""
        return self.slice(name, start, end, "cuda_sync")

    def annotation(self, name: str, start: float, end: float) -> Event:
        """Write the shadow of a host annotation."""
        return self.slice(name, start, end, "gpu_user_annotation")


@dataclass
class OrtTrace(Trace):
    """A profile of ONNX Runtime: a bare array, numbers in args as text."""

    def run(self, start: float, end: float, tid: int = 1) -> Event:
        """Write one run of the session."""
        return self.add("model_run", start, end, "Session", 1, tid)

    def execute(self, start: float, end: float, tid: int = 1) -> Event:
        """Write one pass of the executor."""
        return self.add("SequentialExecutor::Execute", start, end, "Session", 1, tid)

    def node(self, name: str, op: str, start: float, end: float, provider: str = "CPU", tid: int = 1) -> Event:
        """Write one node."""
        args = {"op_name": op, "provider": f"{provider}ExecutionProvider"}
        return self.add(f"{name}_kernel_time", start, end, "Node", 1, tid, **args)

    def document(self) -> object:
        """Return what the file holds."""
        return self.events


@dataclass
class TfTrace(Trace):
    """A timeline of TensorFlow 1: a device is several processes, rows are packed."""

    def device(self, pid: int, name: str) -> None:
        """Name a process: ``/job:localhost/replica:0/task:0/device:GPU:0 Compute``."""
        self.metadata("process_name", pid, name)

    def op(self, name: str, op: str, start: float, end: float, pid: int, tid: int = 0) -> Event:
        """Write one operator."""
        return self.add(op, start, end, "Op", pid, tid, name=name, op=op)

    def document(self) -> object:
        """Return what the file holds."""
        return {"traceEvents": self.events}


@dataclass
class ChromeTrace(Trace):
    """A trace of no known profiler."""

    def span(self, name: str, start: float, end: float, tid: Any = 1, pid: Any = 1) -> Event:
        """Write one slice."""
        return self.add(name, start, end, None, pid, tid)

    def document(self) -> object:
        """Return what the file holds."""
        return {"traceEvents": self.events}

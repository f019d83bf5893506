"""Measure how time grows with traces of hard shapes: of n, 2n and 4n events, analysed and asked for their slices.

Usage::

    python benchmarks/bench_growth.py [EVENTS] [SHAPE...]

Prints the seconds, and by what the last doubling multiplied them. Exits with 1 when that is over the limit for a run that
takes long enough to tell: work that grows with n log n stays near 2, work that grows with the square of n comes to 4.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import apart

LIMIT, TELLING_S = 2.8, 1.0

Event = dict[str, Any]


def x(name: str, start: int, end: int, cat: str = "", *, pid: int = 100, tid: int = 1, **args: Any) -> Event:
    return {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": start, "dur": end - start, "args": args}


def work(n: int) -> Iterator[Event]:
    """Yield operators of 100 µs that each start a kernel: three events each."""
    for one in range(n // 3):
        at = 100 * one
        yield x(f"aten::op{one % 50}", at + 1, at + 40, "cpu_op")
        yield x("cudaLaunchKernel", at + 10, at + 20, "cuda_runtime", correlation=one + 1)
        yield x(f"kernel{one % 20}", at + 25, at + 90, "kernel", pid=0, tid=7, correlation=one + 1, device=0, stream=7)


def names(n: int) -> Iterator[Event]:
    """Yield work and as many annotations, each of a name of its own, in ten steps."""
    yield from work(n // 2)
    for one in range(n // 2):
        yield x(f"batch {one}", 33 * one, 33 * one + 30, "user_annotation")
    for step in range(10):
        yield x(f"ProfilerStep#{step}", n // 2 * 33 * step // 10, n // 2 * 33 * (step + 1) // 10 - 1, "user_annotation")


def steps(n: int) -> Iterator[Event]:
    """Yield steps of one operator and one kernel each."""
    yield from work(3 * (n // 4))
    for step in range(n // 4):
        yield x(f"ProfilerStep#{step}", 100 * step, 100 * step + 95, "user_annotation")


def crossing(n: int) -> Iterator[Event]:
    """Yield operators of one thread of which each crosses the hundred before it."""
    for one in range(n):
        yield x(f"aten::op{one % 9}", 10 * one, 10 * one + 1005, "cpu_op")


def all_crossing(n: int) -> Iterator[Event]:
    """Yield operators of one thread of which each crosses all others."""
    for one in range(n):
        yield x(f"aten::op{one % 9}", one, n + one, "cpu_op")


def threads(n: int) -> Iterator[Event]:
    """Yield threads of two operators each."""
    for one in range(n):
        yield x("aten::mm", one % 100 + one % 2 * 1000, one % 100 + one % 2 * 1000 + 500, "cpu_op", tid=one // 2)


def processes(n: int) -> Iterator[Event]:
    """Yield processes of one slice each."""
    for one in range(n):
        yield x("work", one % 100, one % 100 + 50, pid=one)


def devices(n: int) -> Iterator[Event]:
    """Yield three hundred devices."""
    for one, event in enumerate(work(n)):
        device = {"device": one // 3 % 300}
        yield event | ({"pid": one // 3 % 300, "args": event["args"] | device} if event["cat"] == "kernel" else {})


def streams(n: int) -> Iterator[Event]:
    """Yield kernels that each have a stream of their own."""
    for one, event in enumerate(work(n)):
        yield event | ({"tid": one, "args": event["args"] | {"stream": one}} if event["cat"] == "kernel" else {})


def deep(n: int) -> Iterator[Event]:
    """Yield stacks of 2,000 frames with an operator in the innermost."""
    for one in range(n // 2000):
        at = 20_000 * one
        for level in range(2000):
            yield x(f"f{level % 7}", at + level, at + 10_000 - level, "python_function")
        yield x("aten::mm", at + 4000, at + 4100, "cpu_op")


def begun(n: int) -> Iterator[Event]:
    """Yield begin events whose ends come in their order, not in the opposite one."""
    for one in range(n):
        yield {"ph": "BE"[one >= n // 2], "name": f"f{one % (n // 2)}", "pid": 1, "tid": 1, "ts": one}


def flows(n: int) -> Iterator[Event]:
    """Yield two threads and arrows between them, all of one id."""
    for one in range(n // 4):
        yield x("a", 10 * one, 10 * one + 5)
        yield x("b", 10 * one + 5, 10 * one + 9, tid=2)
        arrow = {"id": 1, "name": "f", "cat": "f", "pid": 100}
        yield {"ph": "s", "tid": 1, "ts": 10 * one + 1, **arrow}
        yield {"ph": "f", "bp": "e", "tid": 2, "ts": 10 * one + 6, **arrow}


def counters(n: int) -> Iterator[Event]:
    """Yield counters of one value each."""
    yield x("a", 0, n)
    for one in range(n):
        yield {"ph": "C", "name": f"c{one}", "pid": 1, "tid": 1, "ts": one, "args": {"value": one}}


def asynchronous(n: int) -> Iterator[Event]:
    """Yield asynchronous slices that overlap five others, each of a name and an id of its own."""
    yield x("a", 0, 1)
    for one in range(n // 2):
        for phase, at in (("b", 10 * one), ("e", 10 * one + 55)):
            yield {"ph": phase, "id": one, "cat": "c", "name": f"n{one}", "pid": 1, "tid": 1, "ts": at}


def long_argument(n: int) -> Iterator[Event]:
    """Yield one argument of 300 bytes an event that is not there."""
    yield x("a", 0, 5, text='q"\\' * (100 * n))
    yield x("b", 6, 9)


def keys(n: int) -> Iterator[Event]:
    """Yield slices with an argument of a name that no other has."""
    for one in range(n):
        yield x("a", 10 * one, 10 * one + 5, **{f"key {one}": one})


SHAPES: tuple[Callable[[int], Iterator[Event]], ...] = (
    names, steps, crossing, all_crossing, threads, processes, devices, streams, deep, begun, flows, counters, asynchronous,
    long_argument, keys,
)  # fmt: skip


def main(arguments: list[str]) -> int:
    events = int(arguments[0]) if arguments else 25_000
    missed = 0
    print(f"{'seconds for events':18}", *(f"{count:>9,}" for count in (events, 2 * events, 4 * events)))
    for shape in SHAPES:
        if arguments[1:] and shape.__name__ not in arguments[1:]:
            continue
        for job in (analyze, query):
            seconds = [measure(job, shape, count) for count in (events, 2 * events, 4 * events)]
            growth = seconds[2] / seconds[1]
            over = growth > LIMIT and seconds[2] > TELLING_S
            missed += over
            told = (f"{one:9.2f}" for one in seconds)
            print(
                f"{shape.__name__:13}{job.__name__[:5]:5}",
                *told,
                f"  × {growth:.1f}{' over the limit' * over}",
                flush=True,
            )
    return int(missed > 0)


def measure(job: Callable[[str], object], shape: Callable[[int], Iterator[Event]], count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_text(json.dumps(list(shape(count))), "utf-8")
        return apart(job, str(path))[0]


def analyze(path: str) -> None:
    import tracegap

    tracegap.render(tracegap.analyze(path), "text")


def query(path: str) -> None:
    from tracegap.sql import open_engine

    with open_engine(path) as engine:
        for table in ("slice", "args", "flow", "counter"):
            engine.query(f"select count(*) from {table}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

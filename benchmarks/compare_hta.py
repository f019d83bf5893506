"""Compare critical paths with HolisticTraceAnalysis (HTA): length, parts, and the time both take.

Usage::

    python benchmarks/compare_hta.py --hta-python VENV/bin/python TRACE...

HTA runs in an interpreter of its own (``pip install HolisticTraceAnalysis "pandas<3"``). Cases that show one difference each are
generated; traces of torch.profiler are compared over their second step, a single step, or the whole trace where it has none.
Prints three Markdown tables: both lengths and what HTA's leaves out of the wall time, both answers by their own classes, and CPU
time as a multiple of ``json.load`` in the same process, the best of three.
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

REPEATS = 3
SHORTEST_S = 0.02  # below, json.load is too short to compare with

LEFT_OUT = {
    "critical_path_dependency": "host time between operators, weight 0",
    "critical_path_operator": "inside blocking calls, weight 0",
    "critical_path_sync_dependency": "return of a blocking call, weight 0",
    "critical_path_kernel_launch_delay": "launch delays, weight 0",
    "critical_path_kernel_kernel_delay": "delays between kernels, weight 0",
    "negative": "negative weights set to 0",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare critical paths with HolisticTraceAnalysis.")
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--hta-python", type=Path, help="the interpreter that has HTA")
    parser.add_argument("--worker", nargs=3, metavar=("TOOL", "ANNOTATION", "INSTANCE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        tool, annotation, instance = asked.worker
        told = WORKERS[tool](str(asked.traces[0].resolve()), annotation, int(instance))
        Path(str(asked.traces[1])).write_text(json.dumps(told), "utf-8")
        return
    if asked.hta_python is None:
        parser.error("say with --hta-python which interpreter has HTA")
    with tempfile.TemporaryDirectory() as folder:
        cases = {}
        for number, (name, events) in enumerate(generated().items()):
            cases[name] = Path(folder) / f"case{number}.json"
            document = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}
            cases[name].write_text(json.dumps(document), "utf-8")
        cases |= {trace.name.split(".")[0]: trace for trace in asked.traces}
        rows = {name: compare(path, asked.hta_python) for name, path in cases.items()}
    print(tables(rows, measured=[trace.name.split(".")[0] for trace in asked.traces]))


def compare(path: Path, interpreter: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what tracegap and HTA say of one trace."""
    count = len(steps_of(path))
    annotation, instance = ("ProfilerStep" if count else "", int(count > 1))
    return tuple(  # type: ignore[return-value]
        run(tool, python, path, annotation, instance)
        for tool, python in (("ours", sys.executable), ("hta", interpreter))
    )


def run(tool: str, python: Path | str, path: Path, annotation: str, instance: int) -> dict[str, Any]:
    """Ask one tool in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [str(python), str(Path(__file__).resolve()), str(path), str(answer)]
        done = subprocess.run(
            [*command, "--worker", tool, annotation, str(instance)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            if tool == "ours":
                raise RuntimeError(done.stderr)
            return {"error": done.stderr.strip().splitlines()[-1]}
        told: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return told


def document_of(path: str | Path) -> Any:
    with gzip.open(path) if str(path).endswith(".gz") else Path(path).open("rb") as file:
        return json.load(file)


def steps_of(path: Path) -> set[str]:
    names = {event.get("name", "") for event in document_of(path)["traceEvents"]}
    return {name for name in names if isinstance(name, str) and name.startswith("ProfilerStep#")}


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    """Run a job some times; return its least CPU seconds, child processes included, and its answer."""
    least, answer = float("inf"), None
    for _ in range(REPEATS):
        before = cpu_seconds()
        answer = job()
        least = min(least, cpu_seconds() - before)
    return least, answer


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def ask_ours(path: str, annotation: str, instance: int) -> dict[str, Any]:
    import tracegap
    from tracegap import dag, segments
    from tracegap.extent import choose_window
    from tracegap.timeline import Timeline, Window

    def job() -> tuple[Timeline, Window]:
        timeline = tracegap.load(path)
        number = int(timeline.steps.number[instance]) if annotation else None
        window = choose_window(timeline, steps=None if number is None else (number, number), whole=number is None)
        segments.path(dag.build(timeline, window))
        return timeline, window

    plain_s, _ = timed(lambda: document_of(path))
    seconds, (timeline, window) = timed(job)
    number = int(timeline.steps.number[instance]) if annotation else None
    report = tracegap.analyze(timeline, steps=None if number is None else (number, number), whole=number is None)
    path_found = report.results["critical_path"]
    return {
        "version": f"tracegap {tracegap.__version__}",
        "window": f"step {number}" if annotation else "whole",
        "wall": window.wall / 1000,
        "path": path_found.length_ns / 1000,
        "classes": {part.cause: part.duration_ns / 1000 for part in path_found.by_cause},
        "carried": path_found.carried_in_ns / 1000,
        "ratio": seconds / plain_s,
        "plain_s": plain_s,
    }


def ask_hta(path: str, annotation: str, instance: int) -> dict[str, Any]:
    from importlib.metadata import version

    from hta.trace_analysis import TraceAnalysis

    def job() -> tuple[Any, Any]:
        analysis = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
        rank = analysis.t.get_ranks()[0]
        graph, _ = analysis.critical_path_analysis(rank=rank, annotation=annotation, instance_id=instance)
        return analysis.t, graph

    plain_s, _ = timed(lambda: document_of(path))
    seconds, (trace, graph) = timed(job)
    nodes = [graph.node_list[node] for node in graph.critical_path_nodes]
    length, left_out = 0.0, Counter[str]()
    for before, after in pairwise(nodes):
        edge = graph.edges[before.idx, after.idx]
        length += edge["weight"]
        kind = edge["object"].type.value if after.ts >= before.ts else "negative"
        left_out[kind] += after.ts - before.ts - edge["weight"]
    rows = trace.get_trace(trace.get_ranks()[0])
    names = trace.symbol_table.get_sym_table()
    starts = rows.ts[rows.name.map(lambda name: annotation in names[name])] if annotation else rows.ts
    start = float(starts.iloc[instance] if annotation else starts.min())
    classes = graph.get_critical_path_breakdown().groupby("bound_by").duration.sum()
    return {
        "version": f"HolisticTraceAnalysis {version('HolisticTraceAnalysis')}, pandas {version('pandas')}",
        "path": length,
        "before": nodes[0].ts - start,
        "last": nodes[-1].ts - start,
        "left_out": dict(left_out),
        "classes": {name: float(value) for name, value in classes.items() if name},
        "ratio": seconds / plain_s,
        "plain_s": plain_s,
    }


WORKERS = {"ours": ask_ours, "hta": ask_hta}


def tables(rows: dict[str, tuple[dict[str, Any], dict[str, Any]]], measured: list[str]) -> str:
    versions = {one["version"] for pair in rows.values() for one in pair if "version" in one}
    lines = [", ".join(sorted(versions)), ""]
    lines += ["| trace | window | wall | tracegap's path | HTA's path | not in HTA's path | which is |"]
    lines += ["|---|---|--:|--:|--:|--:|---|"]
    for name, (ours, theirs) in rows.items():
        head = f"| {name} | {ours['window']} | {micro(ours['wall'])} | {micro(ours['path'])} "
        if "error" in theirs:
            lines.append(f"{head}| none | | {theirs['error']} |")
            continue
        parts = {LEFT_OUT[kind]: length for kind, length in theirs["left_out"].items()}
        parts |= {
            "before its first node": theirs["before"],
            "after its last node": ours["wall"] - theirs["last"],
        }
        missing = ours["wall"] - theirs["path"]
        lines.append(
            f"{head}| {micro(theirs['path'])} | {micro(missing)} ({missing / ours['wall']:.0%}) | {told(parts)} |"
        )
    lines += ["", "| trace | tracegap: path by cause | HTA: path by class |", "|---|---|---|"]
    for name, (ours, theirs) in rows.items():
        carried = f"; carried in {micro(ours['carried'])}" if ours["carried"] else ""
        lines.append(f"| {name} | {told(ours['classes'])}{carried} | {told(theirs.get('classes', {})) or 'none'} |")
    lines += ["", "| trace | json.load | tracegap | HTA |", "|---|--:|--:|--:|"]
    for name in measured:
        ours, theirs = rows[name]
        if ours["plain_s"] < SHORTEST_S:
            continue
        ratio = f"{theirs['ratio']:.1f} ×" if "ratio" in theirs else "none"
        lines.append(f"| {name} | {1000 * ours['plain_s']:,.0f} ms | {ours['ratio']:.1f} × | {ratio} |")
    return "\n".join(lines)


def told(parts: dict[str, float]) -> str:
    ordered = sorted(parts.items(), key=lambda part: -abs(part[1]))
    return " · ".join(f"{name} {micro(length)}" for name, length in ordered if abs(length) >= 0.5)


def micro(length: float) -> str:
    return f"{length:,.0f}".replace("-", "−")


def generated() -> dict[str, list[dict[str, Any]]]:
    """Return small traces that show one difference each; times in µs."""
    return {
        "untraced host (F1)": [
            step(1, 0, 1000),
            op("aten::a", 0, 10),
            op("aten::b", 900, 910),
            *launched(1, 902, 906, [(905, 955)]),
        ],
        "graph launches only (F2)": [
            step(1, 0, 2000),
            op("replay", 90, 160),
            *launched(50, 100, 150, [(200 + 200 * i, 390 + 200 * i) for i in range(5)], name="cudaGraphLaunch"),
        ],
        "graph launch and another (F2)": [
            step(1, 0, 2000),
            op("aten::a", 10, 30),
            *launched(49, 20, 25, [(26, 40)]),
            op("replay", 90, 160),
            *launched(50, 100, 150, [(200 + 200 * i, 390 + 200 * i) for i in range(5)], name="cudaGraphLaunch"),
        ],
        "carried-in kernel (F3)": [
            step(1, 0, 100),
            op("aten::a", 10, 30),
            *launched(1, 20, 25, [(40, 5040)]),
            step(2, 101, 5101),
            op("aten::b", 110, 120),
            *launched(2, 112, 116, [(5045, 5095)]),
        ],
        "operator outlives its parent (F6)": [
            step(1, 0, 400),
            op("aten::a", 0, 200),
            op("aten::b", 150, 255),
            *launched(1, 160, 165, [(170, 180)]),
            op("aten::c", 260, 400),
        ],
        "kernel before its launch": [
            step(1, 0, 400),
            op("aten::a", 100, 200),
            *launched(1, 160, 165, [(105, 305)]),
        ],
        "wait inside cudaFree (F8)": [
            step(1, 0, 1000),
            op("aten::a", 10, 30),
            *launched(1, 20, 25, [(26, 900)]),
            op("aten::empty", 35, 950),
            call("cudaFree", 40, 905, 2),
            op("aten::b", 950, 990),
        ],
        "no sync rows (F9)": [
            step(1, 0, 300),
            op("aten::a", 0, 8),
            *launched(1, 2, 6, [(7, 109)]),
            op("aten::item", 9, 112),
            call("cudaStreamSynchronize", 10, 110, 2),
            op("aten::b", 112, 300),
        ],
    }


def event(name: str, start: float, end: float, cat: str, tid: int | str, **args: Any) -> dict[str, Any]:
    pid = 0 if cat == "kernel" else 100
    row = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": end - start}
    return row | {"args": args}


def step(number: int, start: float, end: float) -> dict[str, Any]:
    return event(f"ProfilerStep#{number}", start, end, "user_annotation", 1)


def op(name: str, start: float, end: float) -> dict[str, Any]:
    return event(name, start, end, "cpu_op", 1)


def call(name: str, start: float, end: float, correlation: int) -> dict[str, Any]:
    return event(name, start, end, "cuda_runtime", 1, correlation=correlation)


def launched(
    correlation: int, start: float, end: float, kernels: list[tuple[float, float]], *, name: str = "cudaLaunchKernel"
) -> list[dict[str, Any]]:
    rows = [event(name, start, end, "cuda_runtime", 1, correlation=correlation)]
    place = {"device": 0, "stream": 7, "correlation": correlation}
    return rows + [event("gemm", begin, finish, "kernel", 7, **place) for begin, finish in kernels]


if __name__ == "__main__":
    main()

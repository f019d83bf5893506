"""Measure the whole of ``tracegap analyze`` by its stages: time against ``json.load`` in the same run, and peak private memory.

Usage::

    python benchmarks/bench_analyze.py TRACE.json

Exits with 1 when a limit is missed: loading, timeline, window and the analyses that need no graph 0.7 of ``json.load``; graph,
critical path and causes of gaps 0.5 more; drag, serialisation, utilisation and verdict 0.3 more; memory 1.2 of the file.
"""

import sys
import time
from pathlib import Path

from measure import apart, plain

LIMITS = {"load": 0.5, "without the graph": 0.7, "with the graph": 1.2, "whole": 1.5}
MEMORY_LIMIT = 1.2


def main(path: str) -> int:
    size = Path(path).stat().st_size
    plain_s, _, _ = apart(plain, path)
    whole_s, peak, laps = apart(analyze, path)
    print(f"json.load            {plain_s:8.2f} s")
    for name, seconds in laps:
        print(f"  {name:20} {seconds:6.2f} s  {seconds / plain_s:6.2f}")
    total = {
        "load": sum(seconds for name, seconds in laps if name == "load"),
        "without the graph": sum(seconds for name, seconds in laps if name in BARE),
        "with the graph": sum(seconds for name, seconds in laps if name in (*BARE, *GRAPH)),
        "whole": whole_s,
    }
    missed = 0
    for name, seconds in total.items():
        share = seconds / plain_s
        missed += share > LIMITS[name]
        print(f"{name:20} {seconds:8.2f} s  {share:6.2f} of json.load (limit {LIMITS[name]})")
    print(f"private memory       {peak / 1e6:8.0f} MB {peak / size:6.2f} of the file (limit {MEMORY_LIMIT})")
    return int(missed > 0 or peak > MEMORY_LIMIT * size)


BARE = ("import", "load", "timeline", "window", "steps", "stages", "overhead", "report")
GRAPH = ("graph", "gaps", "critical_path")


def analyze(path: str) -> list[tuple[str, float]]:
    """Analyse a trace as the pipeline does, taking the time of each stage."""
    laps: list[tuple[str, float]] = []
    clock = [time.thread_time()]

    def lap(name: str) -> None:
        now = time.thread_time()
        laps.append((name, now - clock[0]))
        clock[0] = now

    from tracegap import analyses, dag, decode, dialects, events, timeline
    from tracegap.extent import choose_window
    from tracegap.source import open_source

    lap("import")
    source = open_source(path)
    spoken = dialects.detect(decode.read_head(source))
    read = events.pair(decode.decode(source, spoken.ARGS))
    lap("load")
    built = timeline.build(read, spoken.mark(read), dialect=spoken.NAME)
    del read
    lap("timeline")
    window = choose_window(built)
    lap("window")
    model = analyses.Model(built, window, dag.build(built, window))
    lap("graph")
    results = {}
    for analysis in analyses.ANALYSES:
        results[analysis.NAME] = analysis.run(model)
        if results[analysis.NAME] is not None:
            analysis.section(results[analysis.NAME])
        lap(analysis.NAME)
    analyses.judge(model, {name: result for name, result in results.items() if result is not None})
    lap("verdict")
    return laps


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

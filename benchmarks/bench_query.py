"""How long a query takes from nothing to its rows: the embedded engine against Perfetto's trace processor.

    python benchmarks/bench_query.py TRACE [--sql SQL] [--trace-processor PATH] [--runs N]

Each engine is a process of its own, from start to the printed rows, so that imports and the start of the server count.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

SQL = "select name, sum(dur), count(*) from slice group by name order by 2 desc"
SHELL = Path(__file__).parents[2] / "shared" / "tools" / "trace_processor_wasm" / "trace_processor_shell"


def seconds(trace: str, sql: str, engine: str, shell: Path) -> tuple[float, int]:
    """Wall time of one run, and how many lines it printed."""
    command = [sys.executable, "-m", "tracegap", "query", trace, sql, "--format", "csv", "--engine", engine]
    if engine == "perfetto":
        command += ["--trace-processor", str(shell)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHON": sys.executable})
    return time.perf_counter() - begin, done.stdout.count(b"\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--sql", default=SQL)
    parser.add_argument("--trace-processor", type=Path, default=SHELL)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for engine in ("embedded", "perfetto"):
        times = []
        for _ in range(options.runs):
            wall, lines = seconds(options.trace, options.sql, engine, options.trace_processor)
            times.append(wall)
        print(f"{engine}: median {statistics.median(times):.2f} s of {[round(one, 2) for one in times]}, {lines} lines")


if __name__ == "__main__":
    main()

"""Run a job in a process of its own and measure it: CPU time of its thread, peak private memory (Linux only)."""

import json
import multiprocessing
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def plain(path: str) -> None:
    """Read a file as Python does: what all ratios are taken against."""
    with Path(path).open("rb") as file:
        json.load(file)


def apart(job: Callable[[str], Any], path: str) -> tuple[float, int, Any]:
    """Run a job in a process of its own; return its CPU seconds, its peak private bytes and what it returned."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=measured, args=(job, path, theirs))
    process.start()
    seconds, peak, returned = ours.recv()
    process.join()
    return seconds, peak, returned


def measured(job: Callable[[str], Any], path: str, result: Any) -> None:
    """Run the job in this process and send back what `apart` returns."""
    done = threading.Event()
    peaks = [private_bytes()]

    def sample() -> None:
        while not done.wait(0.02):
            peaks.append(private_bytes())

    sampler = threading.Thread(target=sample)
    sampler.start()
    before = time.thread_time()
    returned = job(path)
    seconds = time.thread_time() - before
    peaks.append(private_bytes())
    done.set()
    sampler.join()
    result.send((seconds, max(peaks), returned))


def private_bytes() -> int:
    """Return the private memory of this process; 0 where the system does not tell."""
    rollup = Path("/proc/self/smaps_rollup")
    if not rollup.exists():
        return 0
    lines = (line.split() for line in rollup.read_text().splitlines())
    return sum(int(words[1]) for words in lines if words[0] in ("Private_Clean:", "Private_Dirty:")) * 1024

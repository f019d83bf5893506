"""Measure loading: time against ``json.load`` in the same run, and peak private memory against the file's size.

Usage::

    python benchmarks/bench_load.py TRACE.json

Also times, for the first few megabytes, what the parser alone takes: msgspec with the types that loading uses, msgspec
and orjson to plain objects. Exits with 1 when a limit is missed: time 0.5 of ``json.load``, memory 0.6 of the file.
Memory is Linux only.
"""

import gc
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import orjson
from measure import apart, plain

from tracegap.blocks import BlockParser
from tracegap.decode import decode
from tracegap.dialects import pytorch
from tracegap.elements import Elements
from tracegap.passage import Passage
from tracegap.source import open_source

TIME_LIMIT, MEMORY_LIMIT = 0.5, 0.6
SAMPLE_CHUNKS = 8


def main(path: str) -> int:
    size = Path(path).stat().st_size
    plain_s, _, _ = apart(plain, path)
    load_s, load_bytes, _ = apart(load, path)
    print(f"json.load       {plain_s:8.2f} s")
    print(f"tracegap load   {load_s:8.2f} s     {load_s / plain_s:.2f} of json.load (limit {TIME_LIMIT})")
    print(f"private memory  {load_bytes / 1e6:8.0f} MB    {load_bytes / size:.2f} of the file (limit {MEMORY_LIMIT})")
    parsers(path)
    return int(load_s > TIME_LIMIT * plain_s or load_bytes > MEMORY_LIMIT * size)


def load(path: str) -> None:
    decode(open_source(path), pytorch.ARGS)


def parsers(path: str) -> None:
    """Print what each parser takes for the same chunks."""
    passage = Passage(open_source(path))
    passage.fill(1 << 16)
    passage.at = passage.text.index(b"[", passage.text.find(b'"traceEvents"') + 1) + 1
    wanted = BlockParser(pytorch.ARGS)

    def keep(text: bytes) -> bytes:
        wanted.typed(text)
        return text

    chunks = list(islice(Elements(passage, keep, chunk_bytes=1 << 20), SAMPLE_CHUNKS))
    passage.close()
    jobs: dict[str, Callable[[bytes], object]] = {
        "msgspec, typed": wanted.typed,
        "msgspec, plain": msgspec.json.decode,
        "orjson, plain": orjson.loads,
        "whole seam: columns": wanted.parse,
    }
    print(f"parsing {len(chunks)} chunks of 1 MB, best of 5:")
    for name, job in jobs.items():
        print(f"  {name:20} {min(run(job, chunks) for _ in range(5)) * 1e3:8.1f} ms")


def run(job: Callable[[bytes], object], chunks: list[bytes]) -> float:
    gc.collect()
    before = time.process_time()
    for chunk in chunks:
        job(chunk)
    return time.process_time() - before


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""The toy program, three steps of ``load_data`` and ``compute`` (0.2 s): one after the other, pipelined, pipelined and fused.

In the pipelined ones a loader thread keeps a queue of one batch: the next load runs while the last batch is computed.
"""

import kineto

PROCESS, LOADER = 4100, 4107
_MS = 1_000_000
_MARGIN = 1 * _MS  # the profiler runs this long before the first step and after the last


def sequential() -> bytes:
    """Load 0.5 s, then compute 0.2 s, three times: 2.1 s."""
    steps, slices, clock = [], [], 0
    for _ in range(3):
        slices.append(("load_data", PROCESS, clock, clock + 500 * _MS))
        slices.append(("compute", PROCESS, clock + 500 * _MS, clock + 700 * _MS))
        steps.append((clock, clock + 700 * _MS))
        clock += 700 * _MS
    return _write("toy_sequential.json", steps, slices)


def pipelined(*, load_ms: int = 500, name: str = "toy_pipelined.json") -> bytes:
    """Load on a thread of its own while the main thread computes: 0.5 + 3 × 0.5 − 0.3 = 1.7 s; with loads of 0.2 s, 0.8 s."""
    steps, slices, loaded, free, computed = [], [], 0, 0, 0
    for _ in range(3):
        # The queue holds one batch, so a load starts once the one before it was taken.
        start, loaded = max(loaded, free), max(loaded, free) + load_ms * _MS
        slices.append(("load_data", LOADER, start, loaded))
        begin, free = computed, max(loaded, computed)
        computed = free + 200 * _MS
        slices.append(("compute", PROCESS, free, computed))
        steps.append((begin, computed))
    return _write(name, steps, slices)


def fused() -> bytes:
    """The pipelined program after its loads were fused into one of 0.2 s."""
    return pipelined(load_ms=200, name="toy_fused.json")


def _write(name: str, steps: list[tuple[int, int]], slices: list[tuple[str, int, int, int]]) -> bytes:
    marks = [(f"ProfilerStep#{i}", PROCESS, start, end) for i, (start, end) in enumerate(steps, 1)]
    threads = {PROCESS: f"thread {PROCESS} (python)"}
    if any(thread == LOADER for _, thread, _, _ in slices):
        threads[LOADER] = f"thread {LOADER} (loader)"
    events = kineto.process(PROCESS, "CPU", threads)
    for number, (label, thread, start, end) in enumerate(
        sorted([*marks, *slices], key=lambda row: (row[2], -row[3])), 1
    ):
        args = {"External id": number, "Record function id": 0, "Ev Idx": number}
        events.append(kineto.slice_("user_annotation", label, PROCESS, thread, start + _MARGIN, end + _MARGIN, args))
    return kineto.document(events, end=steps[-1][1] + 2 * _MARGIN, name=name)

"""What the findings of the verdict mean and what to do about them."""

FINDINGS: dict[str, str] = {
    "first-step": (
        "The first step takes far longer than the others.\n\nCompilation, autotuning, allocation and cold caches are paid once."
        " Warm up before measuring, and before serving the first request."
    ),
    "sync": (
        "A blocking call drains the device's queue.\n\nWhile the host waits it prepares no further work, so that the device has nothing"
        " to do when the call returns: ``.item()``, ``.cpu()``, printing a tensor, a copy from pageable memory. Read values later,"
        " every few steps, or asynchronously into pinned memory. The saving is that of a replay in which blocking calls do not wait."
    ),
    "input": (
        "Data is loaded while everything else waits.\n\nLoad ahead: worker processes, prefetching, pinned memory. The saving is that of"
        " a replay in which loading is hidden."
    ),
    "allocation": (
        "Memory is allocated and freed in the loop.\n\nSuch calls take long and often block. Reuse buffers, let the framework's caching"
        " allocator grow before the loop, avoid shapes that change from step to step."
    ),
    "untraced-host": (
        "The step's thread is in no operator.\n\nPython between operators, or native code that the profiler does not see, on the critical path; a device is held"
        " up for no longer than it was idle. Record with"
        " stacks or annotate it; vectorise it, move it off the step, compile or capture the step."
    ),
    "launch-overhead": (
        "Handing out work call by call takes longer than the work.\n\nMany small operators: the framework's own time, API calls, and the"
        " way of each launch to the device. Capture the step in a graph (CUDA graphs), compile it, fuse or batch. The saving is that of a"
        " replay in which short operators, API calls and launches take no time: the most that a graph can give."
    ),
    "exposed-communication": (
        "Communication that no computing hides.\n\nOverlap it with the backward pass, send less (compression, larger buckets, fewer"
        " synchronisations), or look for the rank that arrives late. The saving is that of a replay in which it takes no time."
    ),
    "exposed-copies": (
        "Copies that nothing hides.\n\nUse pinned memory and asynchronous copies on a stream of their own, prefetch, or keep the data where"
        " it is used."
    ),
    "thread-handover": (
        "Threads wait for each other to wake.\n\nWork that is handed from thread to thread waits each time until the other one runs. Hand"
        " over less often, or keep it on one thread."
    ),
    "between-steps": (
        "Time passes between the steps.\n\nLogging, checkpoints, data loading or waiting outside the measured loop."
    ),
    "outside-executor": (
        "The session's run spends its time outside its executor.\n\nInputs are copied in and outputs out, and strings or shapes are"
        " converted. Bind inputs and outputs once, and keep them where the model runs."
    ),
    "between-nodes": (
        "The executor spends time in no node.\n\nMany small nodes cost more in between than in themselves: fuse them, raise the"
        " optimisation level, or check that threads do not wait for each other."
    ),
    "partition-handoffs": (
        "Data crosses between execution providers.\n\nEach hand-off copies and waits. Find the operators that break the graph and"
        " replace them by ones that the accelerator supports."
    ),
    "provider-fallback": (
        "Operators fall back to the CPU.\n\nThe accelerator does not support them as they are: replace or rewrite them, or choose"
        " other types and layouts. The saving is that of a replay in which they take no time: the most there can be."
    ),
    "serial-stages": (
        "Stages follow each other and could overlap.\n\nWhile one step is computed, the next could be loaded: a queue and a worker for each"
        " stage. The saving is that of the measured times pipelined across steps; see the serialisation section."
    ),
    "largest-work": (
        "One name has a fifth or more of the critical path, as host work.\n\nWhatever else is done, the window cannot get much shorter"
        " before this does. The saving is that of a replay in which it takes half the time, as `tracegap whatif TRACE --scale NAME=0.5`"
        " does it. Beside a device, only its own work of over 100 µs at a time counts, and not the kernels that it launched: shorter pieces"
        " hand out work. An API call is priced without its own time, and left out where it only waits. Where"
        " nothing records whether it needs what another thread had just finished, a second replay says how long it takes if it does."
    ),
}
"""By code; the first line is the summary."""

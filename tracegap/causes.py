"""Why time passes: one vocabulary for gaps, the critical path, overhead and slow steps."""

from enum import StrEnum


class Cause(StrEnum):
    """The owner of a stretch of time: work by its kind, or what was waited for."""

    OPERATOR = "operator"
    RUNTIME = "runtime"
    INPUT = "input"
    KERNEL = "kernel"
    COMMUNICATION = "communication"
    COPY = "copy"
    DISPATCH = "dispatch"
    ALLOCATOR = "allocator"
    UNTRACED_HOST = "untraced_host"
    SYNC = "sync"
    LAUNCH = "launch"
    SCHEDULING = "scheduling"
    DEPENDENCY = "dependency"
    IN_GRAPH = "in_graph"
    OUTSIDE_EXECUTE = "outside_execute"
    IN_EXECUTE = "in_execute"
    BETWEEN_STEPS = "between_steps"
    PROFILER = "profiler"
    UNATTRIBUTED = "unattributed"


MEANING: dict[Cause, str] = {
    Cause.OPERATOR: "framework operators at work",
    Cause.RUNTIME: "API calls of the device runtime",
    Cause.INPUT: "loading of data",
    Cause.KERNEL: "compute on a device",
    Cause.COMMUNICATION: "collectives and other communication on a device",
    Cause.COPY: "copies and sets on a device",
    Cause.DISPATCH: "operators' time on the host while the device waited",
    Cause.ALLOCATOR: "calls that allocate or free memory",
    Cause.UNTRACED_HOST: "the step's thread in nothing that was recorded: Python between operators",
    Cause.SYNC: "the host blocked on the device, and the return of such a call",
    Cause.LAUNCH: "asked for by the host, not yet started",
    Cause.SCHEDULING: "queued and free to run, not yet started",
    Cause.DEPENDENCY: "waiting for another stream, device, thread or rank",
    Cause.IN_GRAPH: "between the slices of one graph replay",
    Cause.OUTSIDE_EXECUTE: "in the session's run but not in its executor: binding inputs, fetching outputs",
    Cause.IN_EXECUTE: "in the executor but in no node",
    Cause.BETWEEN_STEPS: "between one step and the next",
    Cause.PROFILER: "the profiler's own work",
    Cause.UNATTRIBUTED: "what is left: nothing in the trace explains it",
}
"""What each cause means, in a few words."""

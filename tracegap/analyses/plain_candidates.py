"""What most findings are called, say and change; the rest of their words comes from what was measured."""

from collections.abc import Mapping
from typing import Any

from tracegap.analyses.candidate import Candidate
from tracegap.analyses.payoff import Change, Gone
from tracegap.charges import Charge

IDLE_CAUSES: Mapping[str, tuple[str, ...]] = {
    "input": ("input",),
    "allocation": ("allocator",),
    "untraced-host": ("untraced_host",),
    "launch-overhead": ("dispatch", "runtime", "launch"),
}
"""Causes of a device's gaps that are a finding's: it holds the device up for that long."""

PLAIN_CHANGES: Mapping[str, Change] = {"input": Gone((Charge.INPUT,)), "allocation": Gone((Charge.ALLOCATOR,))}
"""Changes of what often stands behind a blocking call."""


def _plain(code: str, title: str, lead: str, action: str, *, without: str = "without it", **more: Any) -> Candidate:
    return Candidate(code, title, 0, lead, without, action, "critical path by cause", **more)


PLAIN = {
    one.code: one
    for one in (
        _plain(
            "input",
            "Loading of input",
            "Loading of input holds the step up for",
            "use workers and prefetch",
            without="hidden,",
            change=PLAIN_CHANGES["input"],
        ),
        _plain(
            "allocation",
            "Allocating and freeing memory",
            "Memory is allocated and freed for",
            "reuse buffers",
            change=PLAIN_CHANGES["allocation"],
        ),
        _plain(
            "launch-overhead",
            "Handing out work call by call",
            "Operators, API calls and launches take",
            "capture the step in a graph or compile it",
            without="if that took no time",
            change=Gone((Charge.OPERATOR, Charge.RUNTIME, Charge.LAUNCH), dispatch=True),
        ),
        _plain(
            "exposed-communication",
            "Exposed communication",
            "Communication that no computing hides is on the critical path for",
            "overlap it, or send less",
            without="hidden,",
            change=Gone((Charge.COMMUNICATION,)),
        ),
        _plain(
            "exposed-copies",
            "Exposed copies",
            "Copies that nothing hides are on the critical path for",
            "copy ahead of time, from pinned memory",
            without="hidden,",
            change=Gone((Charge.COPY,)),
        ),
        _plain(
            "thread-handover",
            "Threads that wake each other",
            "Waiting for another thread to wake takes",
            "hand work over less often",
            change=Gone((Charge.DEPENDENCY,)),
        ),
        _plain(
            "between-steps",
            "Time between the steps",
            "Outside the steps pass",
            "look at what the loop does between them",
        ),
        _plain(
            "outside-executor",
            "Outside the executor",
            "The session's runs are outside the executor for",
            "bind inputs and outputs once",
        ),
        _plain(
            "between-nodes",
            "In the executor, in no node",
            "The executor is in no node for",
            "fuse small nodes",
        ),
        _plain(
            "untraced-host",
            "Python between operators",
            "No operator runs on the critical path for",
            "capture or compile the step",
        ),
    )
}
"""Findings whose cost is time of the path that one cause owns, by code; they have a cost of 0 until it is known."""

"""What may be a finding of host work that nothing else owns: stages in turn, the largest piece of work."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap import change, intervals
from tracegap.analyses import host_causes
from tracegap.analyses.candidate import Candidate, share_of
from tracegap.analyses.contract import Model
from tracegap.analyses.ledger import DISPATCH, Ledger, has_device
from tracegap.analyses.serialisation import Serialisation
from tracegap.analyses.steps import Steps
from tracegap.charges import Charge
from tracegap.intervals import Intervals
from tracegap.kinds import CALLS
from tracegap.report import named
from tracegap.scenarios.answer import ask
from tracegap.scenarios.changes import Changes
from tracegap.stagetimes import OUTSIDE
from tracegap.units import duration

LARGE = 0.2
"""Share of the path from which one piece of host work is worth naming."""

AWAITED = 0.5
"""Share of an API call's time that the window must lose without it: else the call only waits."""


def serial_stages(results: Mapping[str, Any], least: int) -> Iterator[Candidate]:
    """Yield what pipelining stages gives, where nothing else owns the time that it would hide."""
    found: Serialisation | None = results.get("serialisation")
    pipelining = found.pipelining if found is not None else None
    if pipelining is None:
        return
    saving = pipelining.measured_wall_ns - pipelining.predicted_wall_ns
    steps: Steps | None = results.get("steps")
    others = sorted(
        (one for one in pipelining.stages if one.name != pipelining.bottleneck), key=lambda one: -one.median_ns
    )
    # The rest of what pipelining gives is time in no stage, which is another finding's.
    hidden = sum(one.median_ns for one in others) * (steps.count if steps is not None else 0)
    if min(saving, hidden) < least:
        return
    pair = [one.name for one in pipelining.stages if one.name in (pipelining.bottleneck, others[0].name)]
    yield Candidate(
        code="serial-stages",
        title="Stages one after the other",
        cost=saving,
        lead=f"{' and '.join(map(_stage, pair))} take turns",
        without=f"pipelined across steps, at the pace of {_stage(pipelining.bottleneck)},",
        action="let one run ahead of the other",
        evidence="pipelining in the serialisation section",
        saving=saving,
    )


def _stage(name: str) -> str:
    return "the rest of the step" if name == OUTSIDE else named(name)


def largest_work(model: Model, ledger: Ledger, waits: Intervals, taken: NDArray[np.bool_]) -> Iterator[Candidate]:
    """Yield the largest piece of work on the path by name, where it is large.

    An API call counts only if the window gets shorter without its own time: a launch into a full queue lasts until the device is
    done with earlier work, and would wait all the same.
    """
    path, slices, wall = ledger.path, model.timeline.slices, model.window.wall
    works = np.isin(path.charge, (Charge.OPERATOR, Charge.RUNTIME)) & (path.slice >= 0) & (ledger.owner == 0)
    works &= ~taken[path.slice]
    works &= ~host_causes.is_executor(model.timeline)[slices.name[path.slice]]
    names, place = np.unique(slices.name[path.slice[works]], return_inverse=True)
    total = np.zeros(len(names), np.int64)
    waiting = intervals.covered(waits, path.end) - intervals.covered(waits, path.start)
    np.add.at(total, place, (path.end - path.start - waiting)[works])
    beside_device = has_device(model)
    whose = "host work on the critical path" if beside_device else "the critical path"
    for at in np.argsort(-total, kind="stable").tolist():
        name, cost = int(names[at]), int(total[at])
        if cost < LARGE * wall or name < 0:
            return
        about = model.timeline.names[name]
        row = path.longest(works & (slices.name[path.slice] == name))
        one = Candidate(
            code="largest-work",
            title="The largest piece of work",
            cost=cost,
            lead=f"{named(about)} is the largest piece of {whose}, {share_of(cost, wall)}",
            without="twice as fast,",
            action="begin there",
            evidence="work on the path by name",
            row=row,
        )
        mine = slices.name == name
        if beside_device:
            mine &= slices.self_time > DISPATCH  # shorter ones are dispatch, another finding's
        if slices.kind[row] in CALLS:
            drag = change.saved(model.dag, mine, 0.0)
            if drag < AWAITED * cost:
                continue
            yield replace(one, without="without it", action="see what it does or waits for", saving=drag)
            return
        if beside_device:
            yield replace(one, saving=change.saved(model.dag, mine, 0.5))
            return
        answer = ask(model.dag, Changes(scale=((about, 0.5),)))
        most = answer.thread_order
        caveat = f", {duration(most.wall_ns)} if other threads feed it" if most is not None else ""
        yield replace(one, caveat=caveat, saving=wall - answer.replayed_wall_ns)
        return

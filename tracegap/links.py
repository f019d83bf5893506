"""Launches and flows, from event rows to slice rows."""

import numpy as np
from numpy.typing import NDArray

from tracegap import arrows
from tracegap.dialects import Marks
from tracegap.events import Events
from tracegap.kinds import DEVICE_WORK
from tracegap.lanes import Rows
from tracegap.problems import Problem, problem
from tracegap.tables import Flows, Slices, Tracks


def connect(
    slices: Slices, tracks: Tracks, events: Events, marks: Marks, raw: Rows
) -> tuple[Flows, tuple[str, ...], NDArray[np.int32], list[Problem]]:
    """Resolve launches and flows to slice rows. An arrow that only repeats a launch is left out."""
    slice_of_event = np.full(len(events) + 1, -1, np.int32)  # the last place answers event row −1
    slice_of_event[slices.event] = np.arange(len(slices))
    launch = slice_of_event[marks.launch[slices.event]]
    key = slices.track.astype(np.int64) * (int(slices.lane.max(initial=0)) + 2) + slices.lane
    width = int(slices.lane.max(initial=0)) + 2
    base = np.arange(len(tracks), dtype=np.int64) * width
    work = base + tracks.context_lanes
    context = np.where(tracks.context_lanes > 0, base, base + width - 1)
    lanes = np.stack((context, work), axis=1)
    spans = np.stack((np.searchsorted(key, lanes), np.searchsorted(key, lanes + 1)), axis=2).astype(np.int32)
    track_of_mark = np.full(len(marks.tracks), -1, np.int32)
    track_of_mark[raw.mark_of_track] = np.arange(len(tracks))
    mark = events.thread if marks.track is None else marks.track
    stand = arrows.Stand(
        track=track_of_mark[mark],
        shift=raw.shift[mark],
        spans=spans,
        start=slices.start,
        end=slices.end,
        parent=slices.parent,
        slice_of_event=slice_of_event,
    )
    found = arrows.resolve(events, stand)
    source = np.concatenate((found.source, slice_of_event[marks.sources.astype(np.int64)]))
    target = np.concatenate((found.target, slice_of_event[marks.targets.astype(np.int64)]))
    names = sorted({events.strings[kind] for kind in np.unique(found.kind).tolist() if kind >= 0})
    kinds = tuple(dict.fromkeys((*marks.flow_kinds, *names)))
    number = {name: kinds.index(name) for name in kinds}
    table = np.zeros(len(events.strings) + 1, np.uint8)
    for name in names:
        table[events.strings.index(name)] = number[name]
    kind = np.concatenate((table[found.kind], marks.flow_kind.astype(np.uint8)))
    on_device = np.isin(slices.kind, DEVICE_WORK)
    hands_over = (source >= 0) & (target >= 0) & on_device[target] & ~on_device[source]
    lonely = hands_over & (launch[target] < 0)
    launch[target[lonely]] = source[lonely]
    keep = (source >= 0) & (target >= 0) & (source != target) & ~(hands_over & (launch[target] == source))
    flows = Flows(source=source[keep].astype(np.int32), target=target[keep].astype(np.int32), kind=kind[keep])
    skewed = np.flatnonzero((launch >= 0) & on_device)
    skewed = skewed[slices.start[skewed] < slices.start[launch[skewed]]]
    problems = [problem("unbound-flow", found.unbound)]
    if len(skewed):
        worst = int((slices.start[launch[skewed]] - slices.start[skewed]).max())
        problems.append(problem("clock-skew", len(skewed), f"up to {worst:,} ns before the launch call began"))
    if (launch[on_device] >= 0).any():
        problems.append(problem("kernel-without-launch", int(np.count_nonzero(launch[on_device] < 0))))
    return flows, kinds, launch, problems

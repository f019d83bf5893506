"""Launches and flows, from event rows to slice rows.

In: the slices, and what `Marks` and the file's arrows say of their events. Out: `Flows`, and the launch of each slice.
"""

import numpy as np
from numpy.typing import NDArray

from tracegap import arrows
from tracegap.columns import row_by_row
from tracegap.dialects import Marks
from tracegap.events import Events
from tracegap.kinds import DEVICE_WORK, is_any
from tracegap.problems import Problem, problem
from tracegap.tables import Flows, Slices, Tracks
from tracegap.tracks import Numbering


def connect(
    slices: Slices, tracks: Tracks, events: Events, marks: Marks, numbering: Numbering
) -> tuple[Flows, tuple[str, ...], NDArray[np.int32], list[Problem]]:
    """Resolve launches and flows to slice rows. An arrow that only repeats a launch is left out.

    Returns
    -------
    flows : Flows
    kinds : tuple of str
        `Timeline.flow_kinds`.
    launch : int32[n slices]
        `Slices.launch`.
    problems : list of Problem
    """
    slice_of_event = np.full(len(events) + 1, -1, np.int32)  # the last place answers event row −1
    slice_of_event[slices.event] = np.arange(len(slices), dtype=np.int32)
    launch = slice_of_event[marks.launch[slices.event]]
    stand = arrows.Stand(
        mark=events.thread if marks.track is None else marks.track,
        track=numbering.track,
        shift=numbering.shift,
        spans=_first_lanes(slices, tracks),
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
    on_device = is_any(slices.kind, DEVICE_WORK)
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


def _first_lanes(slices: Slices, tracks: Tracks) -> NDArray[np.int32]:
    """Return the rows ``first:last`` of each track's first context lane and first work lane, int32[t, 2, 2]."""
    spans = np.zeros((len(tracks), 2, 2), np.int32)
    for row, (first, last, work) in enumerate(row_by_row(tracks.first, tracks.last, tracks.context_lanes)):
        wanted = (0 if work else -1, work)  # a track without context has no lane for it
        lane = slices.lane[first:last]
        for place, one in enumerate(wanted):
            spans[row, place] = first + np.searchsorted(lane, np.array([one, one + 1], np.int32))
    return spans

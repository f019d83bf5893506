"""Steps and stages: which slices are iterations, which of them were cut, and which step each slice belongs to.

In: nested slices, launches for `attribute`. Out: the slices with their step, `Steps` and `Stages`.
"""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects import Marks
from tracegap.events import NO_TIME, Events
from tracegap.kinds import CALLS, DEVICE_WORK, Kind, Role, is_any
from tracegap.problems import Problem, problem
from tracegap.tables import Slices, Stages, Steps, Tracks

REPEATS = 3
"""A name that comes this often at the top of a thread, and fills more than half of the time, looks like a step."""

LONG = 10
"""A device slice of this many median steps is implausible: no kernel outlives ten iterations of the loop that launched it."""


def number(slices: Slices, tracks: Tracks, events: Events, marks: Marks, origin: int) -> tuple[Slices, Steps]:
    """Return the steps by start; a step-named slice inside another one becomes an annotation."""
    rows = np.flatnonzero((slices.kind == Kind.STEP) & slices.plausible)
    on_host = tracks.role[slices.track[rows]] == Role.HOST
    if on_host.any():
        rows = rows[on_host]
    rows = rows[np.lexsort((-slices.end[rows], slices.start[rows], slices.track[rows]))]
    outermost: list[int] = []
    track, reach = -1, 0
    for row in rows.tolist():
        if int(slices.track[row]) != track:
            track, reach = int(slices.track[row]), -1
        if int(slices.end[row]) > reach:
            outermost.append(row)
            reach = int(slices.end[row])
    chosen = np.array(outermost, np.int32)
    chosen = chosen[np.lexsort((chosen, slices.start[chosen]))]
    kind = slices.kind.copy()
    kind[slices.kind == Kind.STEP] = Kind.ANNOTATION
    kind[chosen] = Kind.STEP
    steps = Steps(
        number=_step_numbers(slices, chosen, marks),
        slice=chosen,
        track=slices.track[chosen],
        start=slices.start[chosen],
        end=slices.end[chosen],
        device_end=np.full(len(chosen), -1, np.int64),
        cut=_is_cut(
            slices.end[chosen],
            record_end=_record_end(events, origin),
            truncated=events.truncated,
        ),
        may_be_cut=np.zeros(len(chosen), bool),
    )
    return replace(slices, kind=kind), steps


def _step_numbers(slices: Slices, chosen: NDArray[np.int32], marks: Marks) -> NDArray[np.int64]:
    """Return the numbers the dialect or the names give, if each step has one of its own; else count from 0."""
    events = slices.event[chosen].tolist()
    given = [marks.step_number.get(event) for event in events]
    if None in given:
        named = [re.search(r"(\d+)\D*$", marks.strings[name]) for name in slices.name[chosen].tolist()]
        given = [int(match[1]) if match and len(match[1]) < 18 else None for match in named]
    known = [number for number in given if number is not None]
    if len(known) == len(chosen) and (marks.step_number or len(set(known)) == len(known)):
        return np.array(known, np.int64)
    return np.arange(len(chosen))


def _record_end(events: Events, origin: int) -> int | None:
    """Return when the profiler stopped recording, if it left a mark of that."""
    if "Record Window End" not in events.strings:
        return None
    rows = np.flatnonzero((events.name == events.strings.index("Record Window End")) & (events.start != NO_TIME))
    return int(events.start[rows[-1]] - origin) if len(rows) else None


def attribute(
    slices: Slices, steps: Steps, tracks: Tracks, names: tuple[str, ...]
) -> tuple[Slices, Steps, list[Problem]]:
    """Say which step each slice belongs to, which device times cannot be right, and which steps were cut."""
    if not len(steps):
        return slices, steps, _repeats(slices, tracks, names)
    step = _step_of(steps.start, steps.end, steps.track, slices.track, slices.start)
    launched = slices.launch >= 0
    step[launched] = step[slices.launch[launched]]
    slices = replace(slices, step=step)
    steps = replace(steps, device_end=_device_ends(slices, len(steps)))
    wrong = _implausible(slices, steps)
    problems = []
    if wrong.any():
        slices = replace(slices, plausible=slices.plausible & ~wrong)
        steps = replace(steps, device_end=_device_ends(slices, len(steps)))
        first = int(np.flatnonzero(wrong)[0])
        length = int(slices.end[first] - slices.start[first])
        problems.append(
            problem(
                "implausible-duration", int(np.count_nonzero(wrong)), f"event {slices.event[first]} lasts {length:,} ns"
            )
        )
    steps = replace(steps, may_be_cut=_may_be_cut(steps, slices, tracks))
    cut = int(np.count_nonzero(steps.cut))
    problems.append(problem("only-cut-steps" if cut == len(steps) else "cut-step", cut))
    return slices, steps, problems


def _step_of(
    step_start: NDArray[np.int64],
    step_end: NDArray[np.int64],
    step_track: NDArray[np.int32],
    track: NDArray[np.int32],
    start: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return the step that each slice starts in: its own thread's if that has steps, else the latest-started open one.

    Steps are sorted by start. O((n + s) log s) a track with steps.
    """
    found = np.full(len(start), -1, np.int32)
    own = np.zeros(int(track.max(initial=-1)) + 1, bool)
    own[step_track] = True
    own = own[track]
    for number in np.unique(step_track).tolist():
        steps = np.flatnonzero(step_track == number).astype(np.int32)
        rows = np.flatnonzero((track == number) | ~own)
        place = np.searchsorted(step_start[steps], start[rows], side="right") - 1
        step = steps[place]
        inside = (place >= 0) & (start[rows] < step_end[step])
        rows, step = rows[inside], step[inside]
        found[rows] = np.maximum(found[rows], step)
    return found


def _is_cut(step_end: NDArray[np.int64], *, record_end: int | None, truncated: bool) -> NDArray[np.bool_]:
    """Return which steps the recording cut: those that end where it does, and the last one of a truncated file."""
    cut = np.zeros(len(step_end), bool)
    if record_end is not None:
        cut |= step_end >= record_end
    if truncated and len(step_end):
        cut[-1] = True
    return cut


def _may_be_cut(steps: Steps, slices: Slices, tracks: Tracks) -> NDArray[np.bool_]:
    """Return the last step of each track that nothing on its thread follows, so that nothing proves it whole."""
    flags = np.zeros(len(steps), bool)
    for track in np.unique(steps.track).tolist():
        last = int(np.flatnonzero(steps.track == track)[-1])
        mine = slice(int(tracks.first[track]), int(tracks.last[track]))
        followed = bool(np.any(slices.start[mine] >= steps.end[last])) if mine.stop > mine.start else False
        flags[last] = not steps.cut[last] and not followed
    return flags


def _device_ends(slices: Slices, steps: int) -> NDArray[np.int64]:
    """Return the end of the last plausible device work of each step, int64[steps]; −1 where it launched none."""
    ends = np.full(steps, -1, np.int64)
    work = is_any(slices.kind, DEVICE_WORK) & (slices.step >= 0) & slices.plausible
    np.maximum.at(ends, slices.step[work], slices.end[work])
    return ends


def _implausible(slices: Slices, steps: Steps) -> NDArray[np.bool_]:
    """Return which device slices last `LONG` median steps or more, by the step's clock that is longer."""
    work = is_any(slices.kind, DEVICE_WORK)
    if len(steps) < 2 or not work.any():
        return np.zeros(len(slices), bool)
    span = steps.end - steps.start
    ends = np.where(steps.device_end >= 0, steps.device_end, steps.end)
    device = np.diff(ends, prepend=ends[0] - span[0])
    typical = int(np.median(np.maximum(span, device)))
    return np.asarray(work & (slices.end - slices.start >= LONG * max(typical, 1)))


def find_stages(slices: Slices, tracks: Tracks, steps: Steps, names: tuple[str, ...], *, generic: bool) -> Stages:
    """Return the named phases inside steps, by (step, start, −end).

    Stages are annotations, data loading and ``nn.Module`` frames on a step's own thread, and outermost annotations and data
    loading on other threads. In a `generic` trace, which has no annotations, the outermost work of a step is its stages.
    """
    known = slices.step >= 0
    on_step = np.append(steps.track, np.int32(-1))[slices.step] == slices.track  # step −1 is on no track
    module = np.fromiter((name.startswith("nn.Module:") for name in names), bool, len(names))
    phase = is_any(slices.kind, (Kind.ANNOTATION, Kind.INPUT)) | ((slices.kind == Kind.FRAME) & module[slices.name])
    if generic and not (on_step & phase).any():
        phase = (slices.kind == Kind.OP) & (slices.depth == 0)
    rows = np.flatnonzero((on_step & phase) | (known & outermost_elsewhere(slices, tracks, steps)))
    rows = rows[np.lexsort((rows, -slices.end[rows], slices.start[rows], slices.step[rows]))]
    parent = _enclosing(slices.step[rows], slices.track[rows], slices.start[rows], slices.end[rows])
    return Stages(
        step=slices.step[rows],
        name=slices.name[rows],
        slice=rows.astype(np.int32),
        parent=parent,
        start=slices.start[rows],
        end=slices.end[rows],
    )


def outermost_elsewhere(slices: Slices, tracks: Tracks, steps: Steps) -> NDArray[np.bool_]:
    """Return which slices are the outermost annotations and data loading of ordered host threads that have no steps.

    One inside an operator belongs to that operator (``nccl:all_reduce`` in its recorder) and is none.
    """
    elsewhere = (tracks.role == Role.HOST) & tracks.ordered
    elsewhere[steps.track] = False
    named = is_any(slices.kind, (Kind.ANNOTATION, Kind.INPUT)) & slices.plausible
    found = named & elsewhere[slices.track] & (slices.parent < 0) & (slices.context < 0)
    in_context = np.flatnonzero(found & (slices.lane < tracks.context_lanes[slices.track]))
    for track in np.unique(slices.track[in_context]).tolist():
        mine = in_context[slices.track[in_context] == track]
        work = np.arange(tracks.first[track], tracks.last[track])
        work = work[(slices.parent[work] < 0) & (slices.lane[work] == tracks.context_lanes[track])]
        last = np.searchsorted(slices.start[work], slices.start[mine], side="left") - 1
        found[mine[(last >= 0) & (slices.end[work[np.maximum(last, 0)]] > slices.start[mine])]] = False
    return np.asarray(found)


def _enclosing(
    step: NDArray[np.int32], track: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the innermost earlier row of the same step and track that wholly encloses each row. One pass, O(n · depth)."""
    parents: list[int] = []
    stacks: dict[int, list[int]] = {}
    ends: list[int] = end.tolist()
    last = -1
    for row, (number, place, begin) in enumerate(zip(step.tolist(), track.tolist(), start.tolist(), strict=True)):
        if number != last:
            last, stacks = number, {}
        stack = stacks.setdefault(place, [])
        while stack and ends[stack[-1]] <= begin:
            stack.pop()
        around = next((one for one in reversed(stack) if ends[one] >= ends[row]), -1)
        parents.append(around)
        stack.append(row)
    return np.array(parents, np.int32)


def _repeats(slices: Slices, tracks: Tracks, names: tuple[str, ...]) -> list[Problem]:
    """Return, for a trace without steps, a hint at the name that repeats and covers most of one thread, if there is one.

    Operators and calls of an API are parts of a step, and no steps.
    """
    rows = np.flatnonzero((tracks.role[slices.track] == Role.HOST) & tracks.ordered[slices.track] & slices.plausible)
    rows = rows[(slices.parent[rows] < 0) & (slices.name[rows] >= 0)]
    rows = rows[~is_any(slices.kind[rows], (Kind.OP, *CALLS))]
    if not len(rows):
        return []
    key = slices.track[rows].astype(np.int64) * len(names) + slices.name[rows]
    found, place, count = np.unique(key, return_inverse=True, return_counts=True)
    total = np.zeros(len(found), np.int64)
    np.add.at(total, place, slices.end[rows] - slices.start[rows])
    extent = int(slices.end[rows].max() - slices.start[rows].min())
    likely = np.flatnonzero((count >= REPEATS) & (2 * total > extent))
    if not len(likely):
        return []
    best = int(likely[np.argmax(total[likely])])
    name = names[int(found[best]) % len(names)]
    return [problem("unmarked-steps", int(count[best]), f"--step-name '^{re.escape(name)}$'")]

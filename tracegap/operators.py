"""What operators did in a window, and how long it took where it ran.

In: a `Timeline` and a `Window`. Out: `Measured`: calls with the time they are charged with, and the device work that no operator
launched. A device slice belongs to the operator that launched it, by its launch, else by ``External id``; from there outward,
the outermost operator that has a cost model counts, and nothing below it. An operator that launched device work is charged
with that work's time, another one with its own time on the host. A call counts in the window in which it was made.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracegap.activity import Rows, device_rows, enclosing, operator_of
from tracegap.columns import Bool, Columns, Int32, Int64
from tracegap.directions import ON_THE_DEVICE, SET, direction
from tracegap.kinds import CALLS, Kind, is_any
from tracegap.naming import are
from tracegap.shapes import MATRIX, Priced, find_calls, price
from tracegap.timeline import Timeline, Window

HOST = -1
"""The device of a call that is charged with host time."""

_LIST = "list"


@dataclass(frozen=True, eq=False)
class Work(Columns):
    """Calls with their time, k rows by (device, row).

    Attributes
    ----------
    row : int32[k]
        The operator's slice; the device slice itself where that carries the counts (XLA).
    call : int32[k]
        Number in `Measured.calls`.
    device : int32[k]
        Row of `Timeline.devices`; `HOST`.
    duration : int64[k]
        ns: of its device slices, summed; of a modelled operator on the host all its time, of another one its time in no
        operator below.
    judged : bool[k]
        Whether its cost and this time belong together: not for copies from or to elsewhere or communication, which memory
        bandwidth does not bound, nor for host time of operators whose device work the trace lacks or that several devices did.
    """

    row: Int32
    call: Int32
    device: Int32
    duration: Int64
    judged: Bool


@dataclass(frozen=True, eq=False)
class Measured:
    """All work of a window.

    Attributes
    ----------
    work : Work
    calls : tuple of Priced
    owner : int32[n slices]
        The row of `work` that a slice's time is charged to; −1 for none.
    loose : intp[m]
        Device slices of the window that no operator launched.
    """

    work: Work
    calls: tuple[Priced, ...]
    owner: NDArray[np.int32]
    loose: Rows


def measure(timeline: Timeline, window: Window) -> Measured:
    """Charge the time of a window's device work and host operators to calls. O(n log n), a loop over distinct calls only."""
    slices = timeline.slices
    operators = np.flatnonzero(slices.kind == Kind.OP)
    on_device = _without_containers(timeline, device_rows(timeline))
    counted = _counted(timeline, on_device)
    rows = np.concatenate((operators, counted))
    found = find_calls(timeline, rows)
    call = np.full(len(slices), -1, np.int32)
    call[rows] = found.of
    calls = [price(told, timeline.dialect) for told in found.told]
    modelled = np.append([one.cost is not None for one in calls], False).astype(np.bool_)
    top = outermost(slices.parent, (call >= 0) & modelled[call])
    innermost = operator_of(timeline)
    charged = _charged(timeline, on_device, counted, top, innermost)
    inside = (slices.start >= window.start) & (slices.start < window.end) & slices.plausible
    made = np.where(charged >= 0, charged, on_device)
    on_device, charged = on_device[inside[made]], charged[inside[made]]
    owned = charged >= 0
    calls = _with_kernels(timeline, calls, call, on_device[owned], charged[owned])
    device = _device_work(timeline, on_device[owned], charged[owned], call)
    busy = _ancestors(innermost, slices.parent, np.unique(charged[owned]))
    host = _host_work(timeline, operators[inside[operators] & ~busy[operators]], top, innermost, call, modelled)
    work = Work(**{key: np.concatenate((getattr(device, key), getattr(host, key))) for key in Work.__annotations__})
    order = np.lexsort((work.row, work.device))
    work = work.take(order)
    return Measured(
        work, tuple(calls), _owners(timeline, work, on_device[owned], charged[owned], top), on_device[~owned]
    )


def outermost(parent: NDArray[np.int32], wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the farthest wanted row on the way from each row to its root, itself included; −1 for none. O(n log depth).

    Examples
    --------
    >>> outermost(np.array([-1, 0, 1, -1], np.int32), np.array([False, True, True, False])).tolist()
    [-1, 1, 1, -1]
    """
    near = enclosing(parent, wanted)
    up = np.arange(len(parent), dtype=np.int32)
    above = np.where(parent >= 0, near[parent], -1)
    climbs = wanted & (above >= 0)
    up[climbs] = above[climbs]
    while not np.array_equal(further := up[up], up):
        up = further
    return np.where(near >= 0, up[near], -1).astype(np.int32)


def _without_containers(timeline: Timeline, rows: Rows) -> Rows:
    """Leave out device slices that hold others of their track: XLA's loops and calls, whose bodies stand below them."""
    slices = timeline.slices
    holds = np.zeros(len(rows), np.bool_)
    here, after = rows[:-1], rows[1:]
    inside = (slices.start[after] >= slices.start[here]) & (slices.end[after] <= slices.end[here])
    apart = slices.start[after] >= slices.end[here]
    holds[:-1] = (slices.track[here] == slices.track[after]) & inside & ~apart
    return rows[~holds] if timeline.dialect in ("jax", "tensorflow") else rows


def _counted(timeline: Timeline, on_device: Rows) -> Rows:
    """Return the device slices that carry their own counts, as XLA's do."""
    event = timeline.slices.event[on_device]
    told = (timeline.arg("model_flops").at(event) > 0) | (timeline.arg("bytes_accessed").at(event) > 0)
    return on_device[told]


def _charged(
    timeline: Timeline, on_device: Rows, counted: Rows, top: NDArray[np.int32], innermost: NDArray[np.int32]
) -> Rows:
    """Return the slice that each device slice is charged to: an operator, itself where it is counted, −1 where unknown."""
    launch = timeline.slices.launch[on_device]
    operator = np.where(launch >= 0, innermost[launch], -1).astype(np.intp)
    unknown = operator < 0
    operator[unknown] = _by_external_id(timeline, on_device[unknown])
    charged = np.where((operator >= 0) & (top[operator] >= 0), top[operator], operator)
    own = np.isin(on_device, counted)
    return np.where(own, on_device, charged).astype(np.intp)


def _by_external_id(timeline: Timeline, rows: Rows) -> Rows:
    """Return the operator of the same ``External id``, in a file of one host process; −1 for none.

    An id that repeats the row's correlation is a known fault of ROCm builds and says nothing.
    """
    slices, tracks = timeline.slices, timeline.tracks
    given = timeline.arg("External id" if len(timeline.arg("External id").rows) else "external id")
    nothing = np.full(len(rows), -1, np.intp)
    operators = np.flatnonzero(slices.kind == Kind.OP)
    ids = given.at(slices.event[operators])
    operators, ids = operators[ids > 0], ids[ids > 0]
    if not len(rows) or not len(ids) or len(np.unique(tracks.process[slices.track[operators]])) > 1:
        return nothing
    sought = given.at(slices.event[rows])
    echo = sought == timeline.arg("correlation").at(slices.event[rows])
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids[order], sought), len(ids) - 1)
    hit = (ids[order][place] == sought) & ~echo
    return np.where(hit, operators[order][place], nothing)


def _with_kernels(
    timeline: Timeline, calls: list[Priced], call: NDArray[np.int32], rows: Rows, charged: Rows
) -> list[Priced]:
    """Price again what depends on the kernels that ran: calls on lists, and matrices of float32."""
    asks = np.append([_asks(one) for one in calls], False).astype(np.bool_)
    told = asks[call[charged]]
    pairs = np.unique(np.stack((call[charged[told]], timeline.slices.name[rows[told]]), axis=1), axis=0)
    kernels: dict[int, list[str]] = {}
    for number, name in pairs.tolist():
        kernels.setdefault(number, []).append(timeline.names[name])
    return [one.repriced(kernels[number]) if number in kernels else one for number, one in enumerate(calls)]


def _asks(one: Priced) -> bool:
    if one.call is None or one.cost is None:
        return False
    return _LIST in one.call.dtypes or (one.family in MATRIX and one.cost.dtype == "float32")


def _device_work(timeline: Timeline, rows: Rows, charged: Rows, call: NDArray[np.int32]) -> Work:
    """Sum device time by call and device."""
    slices = timeline.slices
    device = timeline.tracks.device[slices.track[rows]]
    pair, place = np.unique(charged * (len(timeline.devices) + 1) + device, return_inverse=True)
    row, device = np.divmod(pair, len(timeline.devices) + 1)
    duration = np.zeros(len(pair), np.int64)
    np.add.at(duration, place, slices.end[rows] - slices.start[rows])
    copies = np.flatnonzero(slices.kind[rows] == Kind.COPY)
    leaving = copies[~are(timeline.names, slices.name[rows[copies]], _stays)]
    judged = np.ones(len(pair), np.bool_)
    judged[place[leaving]] = False
    judged[place[slices.kind[rows] == Kind.COMM]] = False
    judged &= np.bincount(row, minlength=1)[row] == 1
    return Work(row.astype(np.int32), call[row], device.astype(np.int32), duration, judged)


def _stays(name: str) -> bool:
    """Tell whether a copy of this name neither leaves its device nor comes from elsewhere."""
    return direction(name) in (ON_THE_DEVICE, SET)


def _ancestors(innermost: NDArray[np.int32], parent: NDArray[np.int32], rows: Rows) -> NDArray[np.bool_]:
    """Mark operators and all operators around them: bool[n]. One round for each level of nesting."""
    marked = np.zeros(len(parent), np.bool_)
    while len(rows):
        marked[rows] = True
        above = parent[rows]
        operators: Rows = np.unique(np.where(above >= 0, innermost[above], -1)).astype(np.intp)
        rows = operators[(operators >= 0) & ~marked[operators]]
    return marked


def _host_work(
    timeline: Timeline,
    rows: Rows,
    top: NDArray[np.int32],
    innermost: NDArray[np.int32],
    call: NDArray[np.int32],
    modelled: NDArray[np.bool_],
) -> Work:
    """Charge host operators that launched nothing; what stands below a modelled one is part of that."""
    slices = timeline.slices
    rows = rows[slices.runs[rows] & ((top[rows] < 0) | (top[rows] == rows))]
    length = slices.end - slices.start
    inner = np.flatnonzero((slices.kind == Kind.OP) & (slices.parent >= 0))
    around = innermost[slices.parent[inner]]
    below = np.zeros(len(slices), np.int64)
    np.add.at(below, around[around >= 0], length[inner[around >= 0]])
    whole = modelled[call[rows]]
    duration = np.where(whole, length[rows], length[rows] - below[rows])
    handing = np.zeros(len(slices), np.bool_)
    calls = np.flatnonzero(is_any(slices.kind, CALLS))
    handing[top[calls][top[calls] >= 0]] = True
    return Work(
        rows.astype(np.int32), call[rows], np.full(len(rows), HOST, np.int32), duration, ~(whole & handing[rows])
    )


def _owners(timeline: Timeline, work: Work, rows: Rows, charged: Rows, top: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for each slice the row of `work` that has its time."""
    slices = timeline.slices
    count = len(timeline.devices) + 1
    owner = np.full(len(slices), -1, np.int32)
    on_host = np.flatnonzero(work.device == HOST)
    number = np.full(len(slices), -1, np.int32)
    number[work.row[on_host]] = on_host
    owner[work.row[on_host]] = on_host
    below = (top >= 0) & (number[top] >= 0)
    owner[below] = number[top[below]]
    on_device = np.flatnonzero(work.device != HOST)
    key = work.row[on_device].astype(np.int64) * count + work.device[on_device]
    order = np.argsort(key)
    sought = charged * count + timeline.tracks.device[slices.track[rows]]
    if len(rows):
        owner[rows] = on_device[order][np.searchsorted(key[order], sought)]
    return owner

"""The trace viewer's JSON of XProf, which TensorFlow 2 and JAX write: host threads and device planes without categories.

A device plane holds its streams, and lines that XProf derives from them (steps, name scopes, operators, modules). Only
streams are work; where there are none (TPU), the line of XLA operators is.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tracegap.dialects.kineto_names import device_kind
from tracegap.dialects.marks import Device, Head, Marks, TrackMarks
from tracegap.dialects.rows import (
    NONE,
    apart,
    are_slices,
    host_label,
    latest,
    nothing,
    positive,
    process_texts,
    tell,
    thread_names,
    threads_of,
)
from tracegap.events import NO_TIME, ArgType, Events
from tracegap.kinds import Kind, Role

ARGS: Mapping[str, ArgType] = {
    "step_num": ArgType.INT,
    "step_name": ArgType.TEXT,
    "correlation_id": ArgType.INT,
    "flow": ArgType.INT,
    "long_name": ArgType.TEXT,
    "hlo_op": ArgType.TEXT,
    "is_eager": ArgType.INT,
    "bytes_accessed": ArgType.INT,
    "model_flops": ArgType.INT,
}

# "/host:CPU", "/device:GPU:0", after the machine's name in the streaming viewer's export
_NAME = re.compile(r"(\S+ )?/(host:\w+|device:\w+:\d+)( \S.*)?$")
_PLANE = re.compile(r"(?:\S+ )?/device:(\w+):(\d+)")
_NUMBERED = re.compile(r"[^\s:$]+ (\d{1,17})$")
_PSEUDO = re.compile(
    r"end: |ThreadpoolListener::(Record|StartRegion|StopRegion)$|\$profiler\.py:\d+ (start|stop)_trace$"
)
_INPUT = re.compile(r"Iterator::|IteratorGetNext|EagerLocalExecute: IteratorGetNext|OptionalGetValue|MakeIterator")
_WAIT = re.compile(
    r".*(::Await\b|WaitReady|BlockHostUntil|BlockUntil|Synchronize|[Ww]ait for |WaitFor|::Wait\b|LiteralSync)"
)
_COPY = re.compile(r"Memcpy|Memset|MEMCPY|MEMSET")
_OPERATOR = re.compile(r"PjitFunction\(|EagerLocalExecute: (?!__inference_)")
# What the runtimes call their own ranges on the thread that runs Python; other plain words there are the user's.
_INTERNAL = re.compile(
    r"""
    .*:: | TFE_ | Eager | FunctionRun | ParallelFor | tf\.\w+ | convert_to_tensor | ValidateInputTypeAndPlacement | _Send | _Recv
    | ParseArguments | shard_args | DevicePut | ExecuteReplicated | [Bb]atched_?[Cc]opy | Handle\ input | Allocate\w*Buffers
    | np\.asarray\( | lower_sharding_computation | backend_compile | trace_to_jaxpr | CopyToMemorySpace | cpp_pjit
    | pxla | XlaModule | \w+Pass(es)?$ | Execute | Compile | PythonRefManager | CheckCompat | profiler_
    """,
    re.VERBOSE,
)
_OPERATORS = ("XLA Ops", "Async XLA Ops")
_MODULES = "XLA Modules"
_STEPS = "Steps"
_DERIVED = (
    *(_STEPS, _MODULES, "XLA TraceMe", "Source code", "Launch Stats"),
    *("TensorFlow Ops", "TensorFlow Name Scope", "Framework Ops", "Framework Name Scope"),
)


def is_xprof(head: Head) -> bool:
    """Whether the planes are XProf's: processes named by host or device, events without category."""
    return any(_NAME.match(name) for name in head.given("process_name"))


def mark(events: Events, *, producer: str) -> Marks:
    """Say what each event means."""
    slices = are_slices(events)
    planes = process_texts(events, "process_name")
    threads = thread_names(events)
    plane = [_PLANE.match(planes.get(thread.process, "")) for thread in events.threads]
    on_plane = np.array([match is not None for match in plane], bool)
    work, annotations, stepped = _lines(events, on_plane & threads_of(events, slices), threads)
    kinds = _host_kinds(events, slices & ~on_plane[events.thread], threads)
    on_device = slices & work[events.thread]
    rows = np.flatnonzero(on_device)
    kinds[rows] = tell(events.name[rows], events.strings, device_kind)
    kinds[slices & annotations[events.thread]] = Kind.ANNOTATION
    numbers, name = _steps(events, slices, kinds, stepped)
    tracks, devices = _tracks(events, plane, work | annotations, stepped, threads)
    sources, targets = _arrows(events, slices, kinds)
    return Marks(
        kind=kinds,
        name=name,
        launch=_launches(events, kinds, on_device, planes),
        strings=events.strings,
        tracks=tracks,
        devices=devices,
        step_number=numbers,
        sources=sources,
        targets=targets,
        flow_kind=np.zeros(len(sources), np.uint8),
        flow_kinds=("flow",) if len(sources) else (),
        producer=producer,
    )


def _lines(
    events: Events, on_plane: NDArray[np.bool_], threads: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return bool[t]: the device lines that are work, those that are context, and those that hold steps."""
    process = [thread.process for thread in events.threads]
    streams = on_plane & [name.startswith("Stream") for name in threads]
    operators = on_plane & [name in _OPERATORS for name in threads]
    with_streams = {process[thread] for thread in np.flatnonzero(streams)}
    with_operators = {process[thread] for thread in np.flatnonzero(operators)}
    bare = on_plane & [one not in with_streams for one in process]
    # a plane of a sort unknown here: all that XProf does not derive from something else
    unknown = [one not in with_operators and name not in _DERIVED for one, name in zip(process, threads, strict=True)]
    steps = on_plane & [name == _STEPS for name in threads]
    return streams | (bare & (operators | unknown)), bare & [name == _MODULES for name in threads], steps


def _python_threads(events: Events, slices: NDArray[np.bool_], threads: list[str]) -> NDArray[np.bool_]:
    """Return bool[t]: the threads that run Python, told by their names, their frames or their steps."""
    frames = tell(events.name, events.strings, lambda name: name.startswith("$")) > 0
    python = threads_of(events, slices & frames)
    python[events.thread[events.arg("step_num").rows]] = True
    return np.asarray(python | [name.startswith(("python", "main")) or not name for name in threads])


def _host_kinds(events: Events, slices: NDArray[np.bool_], threads: list[str]) -> NDArray[np.uint8]:
    kinds = np.full(len(events), NONE, np.uint8)
    # only a thread that runs Python has ranges of the user's
    python = _python_threads(events, slices, threads)
    rules: tuple[tuple[bool, Callable[[str], Kind]], ...] = ((True, _python_kind), (False, _pool_kind))
    for is_python, rule in rules:
        rows = np.flatnonzero(slices & (python[events.thread] == is_python))
        kinds[rows] = tell(events.name[rows], events.strings, rule)
    # an operator's row names its node or its HLO; a row with a correlation id handed over device work
    for argument in ("hlo_op", "is_eager"):
        given = events.arg(argument).rows
        kinds[given[_is_work(kinds[given])]] = Kind.OP
    handed, _ = positive(events.arg("correlation_id"), slices)
    kinds[handed[_is_work(kinds[handed])]] = Kind.RUNTIME
    return kinds


def _is_work(kinds: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.isin(kinds, (Kind.RUNTIME, Kind.OTHER, Kind.ANNOTATION, Kind.OP))


def _pool_kind(name: str) -> Kind:
    if _PSEUDO.match(name):
        return Kind.NONE
    if name.startswith("$"):
        return Kind.FRAME
    if _INPUT.match(name):
        return Kind.INPUT
    if _WAIT.match(name):
        return Kind.SYNC
    if _COPY.match(name):
        return Kind.RUNTIME
    return Kind.OP if _OPERATOR.match(name) else Kind.OTHER


def _python_kind(name: str) -> Kind:
    kind = _pool_kind(name)
    if kind != Kind.OTHER:
        return kind
    return Kind.RUNTIME if _INTERNAL.match(name) else Kind.ANNOTATION


def _steps(
    events: Events, slices: NDArray[np.bool_], kinds: NDArray[np.uint8], stepped: NDArray[np.bool_]
) -> tuple[dict[int, int], NDArray[np.int32]]:
    """Mark steps: host ranges with ``step_num``, else the device's line of steps, else numbered ranges.

    Return the numbers by row, and the names to show.
    """
    given = events.arg("step_num")
    keep = (kinds[given.rows] != Kind.NONE) & (given.values >= 0)
    rows, numbers = given.rows[keep], given.values[keep]
    name = events.name.copy()
    if len(rows):
        kinds[rows] = Kind.STEP
        told = events.arg("step_name").at(rows)
        name[rows[told >= 0]] = told[told >= 0]
        return dict(zip(rows.tolist(), numbers.tolist(), strict=True)), name
    rows = np.flatnonzero(slices & stepped[events.thread])
    pattern = re.compile(r"(\d{1,17})$")
    if not len(rows):
        # the streaming viewer's export has no arguments: a range called ``train 7`` is a step
        named = tell(events.name, events.strings, lambda text: bool(_NUMBERED.match(text)))
        rows, pattern = np.flatnonzero((kinds == Kind.ANNOTATION) & (named > 0)), _NUMBERED
    kinds[rows] = Kind.STEP
    found = {row: pattern.match(events.strings[name[row]] if name[row] >= 0 else "") for row in rows.tolist()}
    return {row: int(match[1]) for row, match in found.items() if match}, name


def _launches(
    events: Events, kinds: NDArray[np.uint8], on_device: NDArray[np.bool_], planes: Mapping[int | str | None, str]
) -> NDArray[np.int32]:
    """Join by correlation id inside one machine: the streaming viewer writes its name before that of each plane."""
    machines = [planes.get(thread.process, "").partition("/")[0] for thread in events.threads]
    slots = sorted(set(machines))
    slot = np.array([slots.index(machine) for machine in machines], np.int64)
    launch = nothing(events)
    given = events.arg("correlation_id")
    from_rows, from_id = positive(given, (kinds == Kind.RUNTIME) | (kinds == Kind.SYNC))
    to_rows, to_id = positive(given, on_device)
    from_key = from_id * len(slots) + slot[events.thread[from_rows]]
    to_key = to_id * len(slots) + slot[events.thread[to_rows]]
    found = latest(from_key, events.start[from_rows], to_key, events.start[to_rows])
    launch[to_rows[found >= 0]] = from_rows[found[found >= 0]]
    return launch


def _arrows(
    events: Events, slices: NDArray[np.bool_], kinds: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Join the rows that share an id in ``args.flow``, whose two lowest bits say in (1), out (2) or both (3).

    The ends are often marks of no length (``ThreadpoolListener::Record``): they stand for the slice around them.
    """
    given = events.arg("flow")
    timed = (events.start[given.rows] != NO_TIME) & (given.values != -1)
    rows, values = given.rows[timed].astype(np.int64), given.values[timed].astype(np.int64)
    leaves, arrives, key = (values & 2) > 0, (values & 1) > 0, values >> 2
    found = latest(key[leaves], events.start[rows[leaves]], key[arrives], events.start[rows[arrives]])
    source, target = rows[leaves][found[found >= 0]], rows[arrives][found >= 0]
    source, target = _around(events, slices, kinds, source), _around(events, slices, kinds, target)
    keep = (source >= 0) & (target >= 0) & (source != target)
    return source[keep].astype(np.int32), target[keep].astype(np.int32)


def _around(
    events: Events, slices: NDArray[np.bool_], kinds: NDArray[np.uint8], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each row itself if it counts, else the latest slice of its thread that is open at its time; −1 if none."""
    counts = kinds[rows] != Kind.NONE
    candidates = np.flatnonzero(slices & (kinds != Kind.NONE) & (kinds != Kind.FRAME))
    marks = rows[~counts]
    found = latest(
        events.thread[candidates].astype(np.int64),
        events.start[candidates],
        events.thread[marks].astype(np.int64),
        events.start[marks],
    )
    row = np.where(found >= 0, candidates[found] if len(candidates) else -1, -1)
    open_ = (row >= 0) & (events.start[row] <= events.start[marks])
    open_ &= events.start[row] + events.duration[row] >= events.start[marks]
    out = rows.copy()
    out[~counts] = np.where(open_, row, -1)
    return out


def _tracks(
    events: Events,
    plane: list[re.Match[str] | None],
    on_device: NDArray[np.bool_],
    stepped: NDArray[np.bool_],
    threads: list[str],
) -> tuple[TrackMarks, tuple[Device, ...]]:
    keys = [
        (match[1], int(match[2]), thread.process) if match else None
        for match, thread in zip(plane, events.threads, strict=True)
    ]
    used = sorted({key for key, mine in zip(keys, on_device, strict=True) if key and mine}, key=str)
    device = [used.index(key) if key and mine else -1 for key, mine in zip(keys, on_device, strict=True)]
    return TrackMarks(
        role=np.where(on_device, Role.DEVICE, Role.HOST).astype(np.uint8),
        device=np.array(device, np.int32),
        ordered=~np.array([name.startswith("Async") for name in threads], bool) & ~stepped,
        label=tuple(map(host_label, events.threads, threads)),
    ), apart([(process, Device(f"{sort} {index}")) for sort, index, process in used])

"""The tables that a timeline is made of; what each column holds, its unit and its order."""

from dataclasses import dataclass

from tracegap.columns import Bool, Columns, Int32, Int64, UInt8


@dataclass(frozen=True, eq=False)
class Tracks(Columns):
    """t tracks, in order of role, process and thread.

    Attributes
    ----------
    process : int32[t]
        Index into `Timeline.processes`.
    role : uint8[t]
        `tracegap.kinds.Role`.
    device : int32[t]
        Index into `Timeline.devices`; −1 on host tracks.
    ordered : bool[t]
        Whether its rows happen one after the other by nature.
    first, last : int32[t]
        The slices of the track are rows ``first:last`` of `Slices`.
    label : tuple of str
        Length t.
    context_lanes, work_lanes : int32[t]
        Lanes ``0:context_lanes`` hold context, the next ``work_lanes`` hold work; behind them stand the rows that are
        neither (the profiler's own, device-side waits).
    """

    process: Int32
    role: UInt8
    device: Int32
    ordered: Bool
    first: Int32
    last: Int32
    label: tuple[str, ...]
    context_lanes: Int32
    work_lanes: Int32


@dataclass(frozen=True, eq=False)
class Slices(Columns):
    """n slices, sorted by (track, lane, start, −end, file row).

    Attributes
    ----------
    name, category : int32[n]
        Ids into `Timeline.names`; category −1 where the file gives none.
    track : int32[n]
        Row of `Tracks`.
    lane : int32[n]
        Context lanes come first, then work lanes, as `Tracks` counts them. Slices of a lane nest or are apart, but for
        the one work lane of a device track, where they may overlap. An annotation or frame that is the only record of
        what ran (DESIGN section 3) stands in a work lane.
    start, end : int64[n]
        Nanoseconds from the trace's first event, half-open ``[start, end)``, ``end >= start``.
    depth : int32[n]
        0 for a root of its lane.
    parent : int32[n]
        The enclosing slice in the same lane; −1 for a root, and on the work lane of device tracks.
    context : int32[n]
        The innermost context slice (step, annotation, frame) of the same track open at `start`, itself left out; −1 where none.
    self_time : int64[n]
        Its time less its children's (in the same lane).
    kind : uint8[n]
        `tracegap.kinds.Kind`.
    step : int32[n]
        Row of `Steps`: for host slices the step it starts in (by its thread's step, else by time), for device slices the
        step that launched it, else the one it starts in; −1 outside all steps.
    launch : int32[n]
        The host slice (its innermost: the runtime call) that handed this device slice its work; −1 where unknown.
    event : int32[n]
        Row of the event, to cite and to look up arguments.
    plausible : bool[n]
        False for slices that are kept out of windows and sums (a wrong time stamp, ten times the median step).
    runs : bool[n]
        Whether it runs, as DESIGN section 3 says: device KERNEL, COMM, COPY; host OP, RUNTIME, INPUT, OTHER; an
        annotation that holds no operator; a frame's on a thread without operators. Implausible slices do not run.
    """

    name: Int32
    category: Int32
    track: Int32
    lane: Int32
    start: Int64
    end: Int64
    depth: Int32
    parent: Int32
    context: Int32
    self_time: Int64
    kind: UInt8
    step: Int32
    launch: Int32
    event: Int32
    plausible: Bool
    runs: Bool


@dataclass(frozen=True, eq=False)
class Flows(Columns):
    """Causal arrows from slice to slice, as the file has them; ``kind`` is an index into `Timeline.flow_kinds`."""

    source: Int32
    target: Int32
    kind: UInt8


@dataclass(frozen=True, eq=False)
class Steps(Columns):
    """s steps, by start.

    Attributes
    ----------
    number : int64[s]
        As in the trace (``ProfilerStep#7`` is 7).
    slice : int32[s]
        The STEP slice.
    track : int32[s]
        Its track.
    start, end : int64[s]
        The span, ``[start, end)``.
    device_end : int64[s]
        End of the last plausible device slice the step launched; −1 where it launched none.
    cut : bool[s]
        Proven cut by the recording, and kept out of statistics.
    may_be_cut : bool[s]
        The last one, when nothing proves it whole.
    """

    number: Int64
    slice: Int32
    track: Int32
    start: Int64
    end: Int64
    device_end: Int64
    cut: Bool
    may_be_cut: Bool


@dataclass(frozen=True, eq=False)
class Stages(Columns):
    """Named phases inside steps: annotations of a step's thread and outermost ones of others, by (step, start, −end).

    Attributes
    ----------
    step : int32[g]
        Row of `Steps`.
    name : int32[g]
        Id into `Timeline.names`.
    slice : int32[g]
        The annotation (or nn.Module frame) slice.
    parent : int32[g]
        Row of the enclosing stage of the same thread; −1 for the outermost.
    start, end : int64[g]
    """

    step: Int32
    name: Int32
    slice: Int32
    parent: Int32
    start: Int64
    end: Int64

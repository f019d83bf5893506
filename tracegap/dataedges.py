"""Data edges of ONNX Runtime's nodes, from the model that ran: which operator needs which.

In: a `Timeline` and an ONNX model. Out: the timeline with flows of kind ``data``, from the node that made a value to each
node that reads it, run by run. The file of the profiler names nodes and no values, so the names of the two must meet.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.activity import enclosing
from tracegap.errors import SourceError, UsageError
from tracegap.kinds import Kind
from tracegap.problems import merge, problem
from tracegap.tables import Flows
from tracegap.timeline import Timeline

DIALECT = "onnxruntime"
DATA = "data"
"""The kind of flow that leads from a producing operator to a consuming one."""

RUN = "model_run"

# What optimisers put before or behind the name of a node, or of the value it makes: "fused conv1", "y_nchwc",
# "mm/MatMulAddFusion", "a_token_3". A number alone is no such end: "Add_1" is another node than "Add".
_BEFORE = re.compile(r"^fused[ _]", re.IGNORECASE)
_END = re.compile(r"[/_ .:]")


@dataclass(frozen=True, slots=True)
class Model:
    """Nodes of an ONNX model, those of nested graphs included.

    Attributes
    ----------
    names : tuple of str
        What ONNX Runtime calls each node: its name, else its operator and its place in its graph.
    needs : tuple of tuple of int
        For each node the nodes whose values it reads.
    of_value : mapping of str to int
        Which node makes a value, by the value's name.
    """

    names: tuple[str, ...]
    needs: tuple[tuple[int, ...], ...]
    of_value: Mapping[str, int]


def read_model(path: str | Path) -> Model:
    """Read the nodes of an ONNX model; weights in files beside it are left alone.

    Raises
    ------
    SourceError
        When the file cannot be read.
    UsageError
        When it is no ONNX model, or the package onnx is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise UsageError(
            f"reading the model {path} needs the package onnx: install tracegap with its extra: pip install 'tracegap[onnx]'"
        ) from None
    try:
        model = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read as a model ({error.strerror})") from error
    except Exception as error:  # each format that onnx tells by the suffix has errors of its own
        raise UsageError(f"{path}: no ONNX model; give the file that the session was made from") from error
    if not model.graph.node:
        raise UsageError(f"{path}: no ONNX model, or one without nodes; give the file that the session was made from")
    names: list[str] = []
    needs: list[tuple[int, ...]] = []
    of_value: dict[str, int] = {}
    _walk(model.graph, {}, names, needs, of_value)
    return Model(tuple(names), tuple(needs), of_value)


def _walk(
    graph: Any, outer: Mapping[str, int], names: list[str], needs: list[tuple[int, ...]], of_value: dict[str, int]
) -> set[int]:
    """Append the nodes of a graph and of those nested in it; return the outer nodes whose values it reads.

    A node that holds graphs reads what they read. O(nodes + values).
    """
    makes: dict[str, int] = {}
    first = len(names)
    place = 0
    rows = []
    for node in graph.node:
        if node.op_type == "Constant":  # ONNX Runtime makes these values of the graph before it numbers its nodes
            continue
        row = len(names)
        names.append(node.name or f"{node.op_type}_{place}")
        needs.append(())
        makes |= {value: row for value in node.output if value}
        rows.append((row, node))
        place += 1
    hidden = {value for one in (graph.input, graph.initializer) for value in (item.name for item in one)}
    seen = {name: row for name, row in outer.items() if name not in hidden} | makes
    for name, row in makes.items():
        of_value.setdefault(name, row)
    for row, node in rows:
        read = {seen[value] for value in node.input if value in seen}
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                read |= _walk(inner, seen, names, needs, of_value)
        needs[row] = tuple(sorted(read - {row}))
    inside = range(first, len(names))
    return {one for row in inside for one in needs[row] if one not in inside}


def add(timeline: Timeline, model: Model, *, source: str | Path) -> Timeline:
    """Add the model's data flows to a timeline. O(slices + edges), and a look at each name.

    Nodes that the optimiser fused away or folded have no slice: what reads their value is linked to what they needed.

    Parameters
    ----------
    source : str or Path
        Where the model is from, for errors.

    Raises
    ------
    UsageError
        When the trace is not ONNX Runtime's, or none of its nodes is in the model.
    """
    if timeline.dialect != DIALECT:
        raise UsageError(f"{source}: a model explains traces of ONNX Runtime; this one is of {timeline.producer}")
    slices = timeline.slices
    rows = np.flatnonzero(slices.kind == Kind.OP)
    node_of_name = match((timeline.names[name] for name in np.unique(slices.name[rows]).tolist()), model)
    node = np.full(len(timeline.names) + 1, -1, np.int64)
    for name in np.unique(slices.name[rows]).tolist():
        node[name] = node_of_name.get(timeline.names[name], -1)
    unknown = rows[node[slices.name[rows]] < 0]
    if len(unknown) == len(rows):
        raise UsageError(f"{source}: none of its {len(model.names)} nodes is in the trace; give the model that ran")
    rows = rows[node[slices.name[rows]] >= 0]
    pairs = _between(model, {one for one in node_of_name.values() if one >= 0})
    flows = _flows(timeline, rows, node[slices.name[rows]], pairs)
    kinds = tuple(dict.fromkeys((*timeline.flow_kinds, DATA)))
    old = timeline.flows
    problems = timeline.problems
    if len(unknown):
        names = np.unique(slices.name[unknown])
        told = problem("unmatched-model-node", len(names), timeline.names[int(slices.name[unknown[0]])])
        problems = merge((*problems, told))
    return replace(
        timeline,
        flows=Flows(
            source=np.concatenate((old.source, flows[0])),
            target=np.concatenate((old.target, flows[1])),
            kind=np.concatenate((old.kind, np.full(len(flows[0]), kinds.index(DATA), np.uint8))),
        ),
        flow_kinds=kinds,
        problems=problems,
    )


def match(names: Iterable[str], model: Model) -> dict[str, int]:
    """Find the node of the model that each name in a trace belongs to; −1 where there is none.

    Examples
    --------
    >>> model = Model(("conv1", "Add", "Erf_2"), ((), (0,), (1,)), {"y": 1})
    >>> list(match(("conv1", "fused conv1", "y_nchwc", "Add_1", "ReorderOutput"), model).values())
    [0, 0, 1, -1, -1]
    """
    by_name: dict[str, int] = {}
    for row, name in enumerate(model.names):
        by_name.setdefault(name, row)
    found = {}
    for name in names:
        found[name] = next(
            (table[text] for text in _stems(name) for table in (by_name, model.of_value) if text in table), -1
        )
    return found


def _stems(name: str) -> Iterable[str]:
    """Yield a name, and what is left of it without an optimiser's additions, the longest first."""
    yield name
    bare = _BEFORE.sub("", name)
    yield bare
    for end in reversed([one.start() for one in _END.finditer(bare)]):
        if end and not bare[end + 1 :].isdecimal():
            yield bare[:end]


def _between(model: Model, present: set[int]) -> NDArray[np.int64]:
    """Return the pairs (producer, consumer) of nodes that are in the trace, by way of nodes that are not: int64[p, 2].

    O(pairs), which is the number of edges where few nodes are missing.
    """
    pairs = set()
    behind: dict[int, frozenset[int]] = {}

    def reach(row: int) -> frozenset[int]:
        """Return the present nodes that a missing one stands for; without recursion, as chains are long."""
        stack = [row]
        while stack:
            top = stack[-1]
            waiting = [one for one in model.needs[top] if one not in present and one not in behind]
            if waiting and top not in behind:
                stack += waiting
                continue
            stack.pop()
            known = (frozenset((one,)) if one in present else behind.get(one, frozenset()) for one in model.needs[top])
            behind[top] = frozenset().union(*known)
        return behind[row]

    for consumer in present:
        for one in model.needs[consumer]:
            producers = (one,) if one in present else behind.get(one) or reach(one)
            pairs |= {(producer, consumer) for producer in producers if producer != consumer}
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def _flows(
    timeline: Timeline, rows: NDArray[np.intp], node: NDArray[np.int64], pairs: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Link every slice of a consumer to the latest slice of each producer before it in the same run."""
    start, run = timeline.slices.start, _runs(timeline)[rows]
    many = int(node.max(initial=0)) + 1
    key = (run.astype(np.int64) + 1) * many + node
    order = np.lexsort((start[rows], key))
    sorted_key, sorted_start, sorted_row = key[order], start[rows][order], rows[order]
    # Each slice once for every node that its own node needs.
    by_consumer = pairs[np.argsort(pairs[:, 1], kind="stable")]
    low, high = (np.searchsorted(by_consumer[:, 1], node, side=side) for side in ("left", "right"))
    count = high - low
    which = np.repeat(np.arange(len(rows)), count)
    need = by_consumer[np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count), 0]
    wanted = (run[which].astype(np.int64) + 1) * many + need
    place = _last_before(sorted_key, sorted_start, wanted, start[rows][which])
    good = place >= 0
    return sorted_row[place[good]].astype(np.int32), rows[which[good]].astype(np.int32)


def _last_before(
    key: NDArray[np.int64], start: NDArray[np.int64], wanted: NDArray[np.int64], before: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Return the place of the last of (key, start), sorted, with the wanted key that started before a time; −1 for none."""
    both = np.concatenate((start, before))
    rank = np.unique(both, return_inverse=True)[1].astype(np.int64)
    width = len(both) + 1
    _, group = np.unique(np.concatenate((key, wanted)), return_inverse=True)
    table = group[: len(key)] * width + rank[: len(key)]
    place = np.searchsorted(table, group[len(key) :] * width + rank[len(key) :], side="left") - 1
    good = place >= 0
    good[good] = key[place[good]] == wanted[good]
    return np.where(good, place, -1)


def _runs(timeline: Timeline) -> NDArray[np.int32]:
    """Return the run of the session that each slice belongs to: on its thread around it, else the latest begun; −1 for none."""
    slices = timeline.slices
    named = np.array([*(name == RUN for name in timeline.names), False])
    is_run = named[slices.name]
    around = np.append(enclosing(slices.parent, is_run), np.int32(-1))[slices.context]
    runs = np.flatnonzero(is_run)
    if not len(runs):
        return around
    runs = runs[np.argsort(slices.start[runs], kind="stable")]
    place = np.searchsorted(slices.start[runs], slices.start, side="right") - 1
    by_time = np.where(place >= 0, runs[place], -1)
    return np.where(around >= 0, around, by_time).astype(np.int32)

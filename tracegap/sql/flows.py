"""Flows as Perfetto draws them: from slice to slice, keyed on id, category and name."""

from collections import Counter
from typing import Any

import numpy as np

from tracegap.sql.importing import Import

FlowRow = tuple[int, int, int, int, int]
"""slice_out, slice_in, trace_id, name id, category id; names are −1 for flows by ``bind_id``."""


def find_flows(imported: Import) -> tuple[list[FlowRow], Counter[str]]:
    """Draw the flows; one pass over the flow events in import order.

    s, t and ``f`` with ``bp: "e"`` stand on the slice on top of their thread, other ``f`` on the next that starts there.
    A repeated start of a key is ignored. Events with ``bind_id`` are both slice and flow event.
    """
    stats: Counter[str] = Counter()
    flows: list[FlowRow] = []
    source: dict[Any, int] = {}
    trace_id: dict[Any, int] = {}
    for _, what, slice_id, key, late in sorted(_arrows(imported, stats), key=lambda arrow: arrow[0]):
        if slice_id < 0:
            stats["flow_no_enclosing_slice"] += not late
        elif what == "s":
            stats["flow_duplicate_id"] += key in source
            source.setdefault(key, slice_id)
        elif key not in source:
            stats["flow_step_without_start" if what == "t" else "flow_end_without_start"] += 1
        else:
            number = trace_id.setdefault(key, len(trace_id)) if len(key) == 3 else key[0]
            out, into = source[key], slice_id
            if imported.start[out] > imported.start[into]:  # never back in time
                out, into = into, out
            flows.append((out, into, number, *(key[1:] if len(key) == 3 else (-1, -1))))
            if what == "t":
                source[key] = slice_id
    return flows, stats


def _arrows(imported: Import, stats: Counter[str]) -> list[tuple[tuple[int, int], str, int, tuple[int, ...], bool]]:
    """Return (moment, letter, slice, key, whether it waits for a later slice), the moment being what orders them."""
    events = imported.events
    rows = imported.flow_event
    ids = [flow_id(value) for value in events.ids]
    enclosing = np.zeros(len(events), bool)
    bp = events.field("bp")
    enclosing[bp.rows[[events.strings[text] == "e" for text in bp.values]]] = True
    arrows = []
    columns = zip(
        events.phase[rows].tolist(),
        enclosing[rows].tolist(),
        imported.flow_top.tolist(),
        imported.flow_next.tolist(),
        imported.flow_place.tolist(),
        events.id[rows].tolist(),
        events.name[rows].tolist(),
        events.category[rows].tolist(),
        strict=True,
    )
    for order, (phase, encloses, top, following, before, id_, name, category) in enumerate(columns):
        number = ids[id_] if id_ >= 0 else None
        if number is None:
            stats["flow_invalid_id"] += 1
            continue
        late = phase == ord("f") and not encloses
        target = following if late else top
        at = (following, -1) if late and following >= 0 else (before - 1, order)
        arrows.append((at, chr(phase), target, (number, name, category), late))
    return arrows + _bound(imported)


def _bound(imported: Import) -> list[tuple[tuple[int, int], str, int, tuple[int, ...], bool]]:
    """Return the arrows of slices that carry ``bind_id`` with ``flow_out`` or ``flow_in``."""
    events = imported.events
    bind = events.field("bind_id")
    arrows: list[tuple[tuple[int, int], str, int, tuple[int, ...], bool]] = []
    if not len(bind.rows):
        return arrows
    slice_of = imported.slice_of(imported.event)
    leaving, entering = (events.field(name).at(bind.rows, 0) > 0 for name in ("flow_out", "flow_in"))
    for row, id_, out, into in zip(
        bind.rows.tolist(), bind.values.tolist(), leaving.tolist(), entering.tolist(), strict=True
    ):
        number, at = flow_id(events.ids[id_]), int(slice_of[row])
        if number is not None and at >= 0 and (out or into):
            letter = "t" if out and into else "s" if out else "f"
            arrows.append(((at, -2), letter, at, (number,), False))
    return arrows


def flow_id(value: int | str) -> int | None:
    """Read an id as Perfetto does: numbers as they are, texts as hexadecimal; from 2⁶³ on they are negative in SQL."""
    try:
        number = value if isinstance(value, int) else int(value, 16)
    except ValueError:
        return None
    return None if abs(number) >= 2**64 else (number + 2**63) % 2**64 - 2**63

"""Traces of TensorFlow: XProf's JSON of TF 2, and the timeline module's of TF 1 (``RunMetadata``)."""

from collections.abc import Mapping

from tracegap.dialects import jax, timeline_module, xprof
from tracegap.dialects.marks import Head, Marks
from tracegap.dialects.rows import process_texts
from tracegap.events import ArgType, Events

NAME = "tensorflow"
TITLE = "TensorFlow"

ARGS: Mapping[str, ArgType] = {**xprof.ARGS, **timeline_module.ARGS}


def sniff(head: Head) -> bool:
    """Whether the file is TensorFlow's: a timeline's processes (``… Compute``), or XProf's planes without JAX's names."""
    return timeline_module.sniff(head) or (xprof.is_xprof(head) and not jax.written_by_jax(head))


def mark(events: Events) -> Marks:
    """Say what each event means."""
    if timeline_module.is_timeline(process_texts(events, "process_name").values()):
        return timeline_module.mark(events)
    return xprof.mark(events, producer=TITLE)

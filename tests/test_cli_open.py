"""``tracegap open``: prints the link, gives the trace to whoever follows it, and ends."""

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import pytest

from tracegap.serve import PORT, UI

EVENTS = [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]


class Opened:
    """``tracegap open``, running until its end or the end of the test."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tracegap", "open", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def line(self) -> str:
        """Return the next line of standard output, empty at its end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def end(self) -> tuple[int, str]:
        """Return the exit code and what was said on standard error."""
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


Open = Callable[..., Opened]


def is_free() -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return False
    return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Open]:
    """Start the command with no screen, and a folder of its own for temporary files."""
    if not is_free():
        pytest.skip(f"port {PORT} is taken")
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {"TMPDIR": str(folder), "DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    running: list[Opened] = []

    def start(*arguments: object, **extra: str) -> Opened:
        running.append(Opened([str(argument) for argument in arguments], {**environment, **extra}))
        return running[-1]

    yield start
    for opened in running:
        opened.process.kill()
        opened.process.communicate()
    assert list(folder.iterdir()) == []


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "my trace.json"
    path.write_text(json.dumps(EVENTS))
    return path


@pytest.fixture
def browser(tmp_path: Path) -> Path:
    """Return a folder with a browser, which notes what it is asked to open and fails."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("xdg-open", "open"):
        (folder / name).write_text(f'#!/bin/sh\necho "$1" >{folder}/asked\nexit 3\n')
        (folder / name).chmod(0o755)
    return folder


def fetch(link: str) -> list[dict[str, object]]:
    """Follow a link as the UI does, and return the events that come."""
    assert link.startswith(f"{UI}/#!/?url=")
    request = urllib.request.Request(unquote(link.partition("url=")[2]), headers={"Origin": UI})
    with urllib.request.urlopen(request, timeout=10) as answer:
        drawn = json.loads(gzip.decompress(answer.read()))
    events: list[dict[str, object]] = drawn if isinstance(drawn, list) else drawn["traceEvents"]
    return events


def test_the_printed_link_leads_to_the_trace_and_the_command_ends(start: Open, trace: Path) -> None:
    opened = start(trace, "--print-url")
    link, tunnel = opened.line(), opened.line()
    assert re.fullmatch(rf"from another machine first: ssh -L {PORT}:127\.0\.0\.1:{PORT} \S+", tunnel)
    events = fetch(link)
    assert EVENTS[0]["name"] in [event.get("name") for event in events]
    assert len(events) > len(EVENTS)
    assert opened.end() == (0, "")


def test_without_a_screen_no_browser_is_started_and_the_tunnel_is_told(start: Open, trace: Path, browser: Path) -> None:
    opened = start(trace, PATH=f"{browser}:{os.environ['PATH']}")
    link, tunnel = opened.line(), opened.line()
    assert "ssh -L" in tunnel
    fetch(link)
    assert opened.end() == (0, "")
    assert not (browser / "asked").exists()


def test_a_browser_is_asked_for_the_link_and_the_link_holds_where_it_fails(
    start: Open, trace: Path, browser: Path
) -> None:
    opened = start(trace, PATH=f"{browser}:{os.environ['PATH']}", DISPLAY=":99")
    link = opened.line()
    while not (asked := browser / "asked").exists() or not asked.read_text():
        assert opened.process.poll() is None
    assert asked.read_text().strip() == link
    fetch(link)
    assert opened.end() == (0, "")


def test_standard_input_and_packed_traces_are_shown(start: Open, tmp_path: Path) -> None:
    opened = start("-", "--print-url")
    assert opened.process.stdin is not None
    opened.process.stdin.write(json.dumps(EVENTS))
    opened.process.stdin.close()
    opened.process.stdin = None
    link = opened.line()
    assert link.endswith("trace.json.gz")
    assert fetch(link)
    assert opened.end() == (0, "")

    packed = tmp_path / "b.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(EVENTS).encode()))
    opened = start(packed, "--print-url")
    link = opened.line()
    assert link.endswith("b.json.gz")
    assert fetch(link)
    assert opened.end() == (0, "")


def test_a_name_of_any_characters_is_shown(start: Open, tmp_path: Path) -> None:
    path = tmp_path / "a 'b' \"c\" \u0442\x1b[31m\n%2f?#&.json"
    path.write_text(json.dumps(EVENTS))
    opened = start(path, "--print-url")
    assert fetch(opened.line())
    assert opened.end() == (0, "")


def test_the_window_is_chosen_as_for_export(start: Open, samples: Path) -> None:
    lengths = []
    for options in ((), ("--steps", "1")):
        opened = start(samples / "toy_sequential.json", "--print-url", *options)
        names = [event.get("name") for event in fetch(opened.line())]
        lengths.append(len(names))
        assert opened.end()[0] == 0
    assert lengths[1] < lengths[0]


def test_a_taken_port_is_one_line_and_exit_code_2_before_the_trace_is_read(start: Open, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", PORT))
        taken.listen()
        code, said = start(tmp_path / "nothing.json").end()
    assert code == 2
    assert said.startswith(f"tracegap: port {PORT} is taken")
    assert said.count("\n") == 1


def test_a_second_one_is_refused_and_the_first_goes_on(start: Open, trace: Path) -> None:
    first = start(trace, "--print-url")
    link = first.line()
    code, said = start(trace, "--print-url").end()
    assert (code, said.count("\n")) == (2, 1)
    assert "perhaps another tracegap open" in said
    fetch(link)
    assert first.end() == (0, "")


@pytest.mark.parametrize("content", [None, "no trace", "[]"])
def test_what_cannot_be_read_is_one_line_and_no_link(start: Open, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_text(content)
    opened = start(path, "--print-url")
    assert opened.line() == ""
    code, said = opened.end()
    assert code == 2
    assert said.startswith(f"tracegap: {path}")
    assert said.count("\n") == 1


def test_ctrl_c_ends_it(start: Open, trace: Path) -> None:
    opened = start(trace, "--print-url")
    link = opened.line()
    with socket.create_connection(("127.0.0.1", PORT)):  # a browser that asks its user first holds one open
        opened.process.send_signal(signal.SIGINT)
        assert opened.end() == (130, "tracegap: interrupted\n")
    with pytest.raises(OSError, match="refused"):
        fetch(link)


def test_nothing_is_left_when_it_is_killed(start: Open, trace: Path, tmp_path: Path) -> None:
    opened = start(trace, "--print-url")
    opened.line()
    opened.process.kill()
    assert opened.end()[0] == -signal.SIGKILL
    assert list((tmp_path / "temporary").iterdir()) == []

"""The loopback server of ``tracegap open``: the Perfetto UI gets the file once, nobody else gets anything."""

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from urllib.parse import unquote, urlsplit

import pytest

from tracegap.errors import SourceError
from tracegap.serve import UI, Shelf

CONTENT = b"[" + b" " * 1_000_000 + b"]"


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with Shelf("my trace.json", port=0) as opened:
        yield opened


Given = Callable[[bytes], threading.Thread]


@pytest.fixture
def give(shelf: Shelf) -> Iterator[Given]:
    """Start giving a file; the test has to fetch it whole."""
    threads: list[threading.Thread] = []

    def start(content: bytes) -> threading.Thread:
        threads.append(threading.Thread(target=shelf.give, args=(content,), daemon=True))
        threads[-1].start()
        return threads[-1]

    yield start
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()


def ask(shelf: Shelf, method: str = "GET", path: str | None = None, **headers: str) -> tuple[int, dict[str, str], int]:
    connection = http.client.HTTPConnection("127.0.0.1", shelf.port, timeout=10)
    connection.request(method, path or urlsplit(shelf.url).path, headers=headers)
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    return answer.status, dict(answer.getheaders()), size


def begin(shelf: Shelf) -> socket.socket:
    """Ask for the file and read no more than the first bytes of the answer."""
    connection = socket.create_connection(("127.0.0.1", shelf.port), timeout=10)
    connection.sendall(f"GET {urlsplit(shelf.url).path} HTTP/1.1\r\nHost: 127.0.0.1:{shelf.port}\r\n\r\n".encode())
    assert connection.recv(15) == b"HTTP/1.0 200 OK"
    return connection


def abort(connection: socket.socket) -> None:
    """Close as a browser does whose user closes the tab: what was not read yet is lost, and the server is told."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_the_ui_fetches_the_file_and_the_server_is_done(shelf: Shelf, give: Given) -> None:
    thread = give(CONTENT)
    status, headers, size = ask(shelf, Origin=UI)
    thread.join(timeout=10)
    assert (status, size, thread.is_alive()) == (200, len(CONTENT), False)
    assert headers["Access-Control-Allow-Origin"] == UI


def test_the_look_for_a_trace_processor_finds_none_and_the_file_is_given_after_it(shelf: Shelf, give: Given) -> None:
    give(CONTENT)
    status, headers, _ = ask(shelf, "POST", "/status", Origin=UI)
    assert status == 501
    assert "Access-Control-Allow-Origin" not in headers
    assert ask(shelf, Origin=UI)[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "refusal"),
    [
        ("GET", None, {"Host": "evil.example:9001"}, 403),
        ("GET", None, {"Host": "localhost"}, 403),
        ("GET", None, {"Origin": "https://evil.example"}, 403),
        ("GET", None, {"Origin": "null"}, 403),
        ("GET", "/", {}, 404),
        ("GET", "/../../etc/passwd", {}, 404),
        ("HEAD", None, {}, 501),
        ("OPTIONS", None, {}, 501),
        ("PUT", None, {}, 501),
    ],
)
def test_strangers_get_nothing_and_the_server_goes_on(
    shelf: Shelf, give: Given, method: str, path: str | None, headers: dict[str, str], refusal: int
) -> None:
    thread = give(CONTENT)
    status, answer, _ = ask(shelf, method, path, **headers)
    assert status == refusal
    assert "Access-Control-Allow-Origin" not in answer
    assert thread.is_alive()
    assert ask(shelf)[0] == 200


@pytest.mark.parametrize("content", [CONTENT, CONTENT * 50], ids=["on its way as a whole", "in parts"])
def test_a_fetch_that_breaks_off_is_silent_and_the_next_one_gets_all(
    shelf: Shelf, give: Given, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    thread = give(content)
    for _ in range(3):
        abort(begin(shelf))
    assert thread.is_alive()
    assert ask(shelf, Origin=UI)[2] == len(content)
    assert capfd.readouterr() == ("", "")


def test_connections_that_wait_hold_nobody_up(shelf: Shelf, give: Given) -> None:
    give(CONTENT * 50)
    with socket.create_connection(("127.0.0.1", shelf.port)), begin(shelf):
        assert ask(shelf, Origin=UI)[2] == len(CONTENT) * 50


def test_the_link_names_the_file_behind_a_path_that_differs_each_time(shelf: Shelf) -> None:
    assert unquote(shelf.link) == f"{UI}/#!/?url={shelf.url}"
    assert shelf.url.endswith("/my_trace.json")
    with Shelf("my trace.json", port=0) as other:
        assert urlsplit(other.url).path != urlsplit(shelf.url).path


@pytest.mark.parametrize(
    "name",
    ["a \"b\" 'c'.json", "\u0442\u0440\u0430\u0441\u0441\u0430.json", "a\x1b[31m\r\nb?c#d%2e/..\\e", "\udcff", "&ts=1"],
)
def test_any_name_makes_an_address_that_needs_no_escapes(name: str) -> None:
    with Shelf(name, port=0) as opened:
        thread = threading.Thread(target=opened.give, args=(CONTENT,))
        thread.start()
        assert ask(opened)[0] == 200
        thread.join(timeout=10)
        assert urlsplit(opened.url).path.count("/") == 2
        assert not set(urlsplit(opened.url).path) & set("%?#&\"'\\ \r\n\x1b")
        assert opened.url.isascii()


def test_a_taken_port_is_said_with_what_to_do(shelf: Shelf) -> None:
    with pytest.raises(SourceError, match=rf"^port {shelf.port} is taken .*end what listens there"):
        Shelf("other.json", port=shelf.port)

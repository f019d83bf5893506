"""The loopback server of ``tracegap open``: the Perfetto UI gets the file once, nobody else gets anything."""

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tracegap.errors import SourceError
from tracegap.serve import UI, Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    file = tmp_path / "trace.json"
    file.write_bytes(b"[" + b" " * 1_000_000 + b"]")
    with Shelf(file, "my trace.json", port=0) as opened:
        yield opened


def ask(shelf: Shelf, method: str = "GET", path: str | None = None, **headers: str) -> tuple[int, dict[str, str], int]:
    connection = http.client.HTTPConnection("127.0.0.1", shelf.port, timeout=10)
    connection.request(method, path or urlsplit(shelf.url).path, headers=headers)
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    return answer.status, dict(answer.getheaders()), size


def serving(shelf: Shelf) -> threading.Thread:
    thread = threading.Thread(target=shelf.wait)
    thread.start()
    return thread


def test_the_ui_fetches_the_file_and_the_server_is_done(shelf: Shelf) -> None:
    thread = serving(shelf)
    status, headers, size = ask(shelf, Origin=UI)
    thread.join(timeout=10)
    assert (status, size, thread.is_alive()) == (200, 1_000_002, False)
    assert headers["Access-Control-Allow-Origin"] == UI


def test_strangers_get_nothing_and_the_server_goes_on(shelf: Shelf) -> None:
    thread = serving(shelf)
    assert ask(shelf, Host="evil.example:9001")[0] == 403
    assert ask(shelf, Host=f"localhost:{shelf.port}")[0] == 403
    assert ask(shelf, Origin="https://evil.example")[0] == 403
    assert ask(shelf, path="/")[0] == 404
    assert ask(shelf, path="/../../etc/passwd")[0] == 404
    assert ask(shelf, method="POST")[0] == 501
    assert thread.is_alive()
    assert ask(shelf)[0] == 200
    thread.join(timeout=10)


def test_a_browser_may_ask_first(shelf: Shelf) -> None:
    thread = serving(shelf)
    status, headers, _ = ask(shelf, "OPTIONS", Origin=UI)
    assert (status, headers["Access-Control-Allow-Private-Network"]) == (204, "true")
    ask(shelf)
    thread.join(timeout=10)


def test_the_link_names_the_file_behind_a_path_that_differs_each_time(shelf: Shelf, tmp_path: Path) -> None:
    assert unquote(shelf.link) == f"{UI}/#!/?url={shelf.url}"
    assert shelf.url.endswith("/my%20trace.json")
    with Shelf(tmp_path / "trace.json", "my trace.json", port=0) as other:
        assert urlsplit(other.url).path != urlsplit(shelf.url).path


def test_a_taken_port_is_said_with_what_to_do(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=rf"^port {shelf.port} is taken .*end what listens there"):
        Shelf(tmp_path / "trace.json", "other.json", port=shelf.port)

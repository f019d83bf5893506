"""Handing one file to the Perfetto UI: a loopback server that gives it away once.

The UI's content security policy lets it fetch from ``http://127.0.0.1:9001`` and from no other port of this machine
(Perfetto docs, "Deep linking to the Perfetto UI"), so the port is fixed. The file lies at a path that nobody can guess, is
given only to requests that name this server as their host (against DNS rebinding) and come from the UI's own origin.
"""

import secrets
import shutil
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

from tracegap.errors import SourceError

PORT = 9001
UI = "https://ui.perfetto.dev"

_PATIENCE_S = 30.0
"""How long one request may keep the server waiting; the file itself goes at whatever pace the reader has."""


class Shelf:
    """A server with one file; a context manager.

    Parameters
    ----------
    file : Path
    name : str
        What the UI shows as the name of the trace.
    port : int
        9001 for the UI; 0 takes any free one.

    Raises
    ------
    SourceError
        When the port is taken.

    Examples
    --------
    >>> with Shelf(Path(__file__), "trace.json", port=0) as shelf:
    ...     shelf.link.partition("%3A%2F%2F")[0], shelf.url.endswith("/trace.json")
    ('https://ui.perfetto.dev/#!/?url=http', True)
    """

    def __init__(self, file: Path, name: str, *, port: int = PORT) -> None:
        self._file = file
        self._path = f"/{secrets.token_urlsafe(16)}/{quote(name, safe='')}"
        self._given = False
        try:
            self._server = HTTPServer(("127.0.0.1", port), self._handler())
        except OSError as error:
            raise SourceError(
                f"port {port} is taken ({error.strerror or error}), and the Perfetto UI fetches from no other: "
                "end what listens there, perhaps another tracegap open or a trace processor"
            ) from error
        self._host = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where the file lies."""
        return f"http://{self._host}{self._path}"

    @property
    def link(self) -> str:
        """What to open in a browser."""
        return f"{UI}/#!/?url={quote(self.url, safe='')}"

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_port)

    def wait(self) -> None:
        """Answer requests until the file was fetched whole."""
        while not self._given:
            self._server.handle_request()

    def _handler(self) -> Callable[..., BaseHTTPRequestHandler]:
        shelf = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE_S

            def do_GET(self) -> None:
                if not self._admitted():
                    return
                with shelf._file.open("rb") as file:
                    self.send_response(200)
                    self._say_allowed()
                    self.send_header("Content-Type", "application/octet-stream")
                    self.send_header("Content-Length", str(shelf._file.stat().st_size))
                    self.end_headers()
                    shutil.copyfileobj(file, self.wfile)
                shelf._given = True

            def do_OPTIONS(self) -> None:
                """Answer the browser's question whether the UI may ask this machine (private network access)."""
                if self._admitted():
                    self.send_response(204)
                    self._say_allowed()
                    self.send_header("Access-Control-Allow-Methods", "GET")
                    self.send_header("Access-Control-Allow-Private-Network", "true")
                    self.end_headers()

            def _admitted(self) -> bool:
                if self.headers.get("Host") != shelf._host or self.headers.get("Origin", UI) != UI:
                    self.send_error(403)
                elif self.path != shelf._path:
                    self.send_error(404)
                else:
                    return True
                return False

            def _say_allowed(self) -> None:
                self.send_header("Access-Control-Allow-Origin", UI)
                self.send_header("Vary", "Origin")
                self.send_header("Cache-Control", "no-store")

            def log_message(self, format: str, *args: object) -> None:
                del format, args  # a library does not print

        return Handler

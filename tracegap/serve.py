"""Handing one file to the Perfetto UI: a loopback server that gives it away once.

The UI's content security policy lets it fetch from ``http://127.0.0.1:9001`` and from no other port of this machine
(google/perfetto, ``ui/src/frontend/index.ts``), so the port is fixed. It asks for ``/status`` first, to see whether a trace
processor listens there, then for the file with one plain GET (``trace_url_handler.ts``), which needs one header for CORS and
no preflight. The file lies at a path that nobody can guess, and is given only to requests that name this server as their
host (against DNS rebinding) and come from the UI's own origin.
"""

import os
import re
import secrets
import socket
import socketserver
import sys
from http.server import BaseHTTPRequestHandler
from mmap import mmap
from urllib.parse import quote

from tracegap.errors import SourceError

PORT = 9001
UI = "https://ui.perfetto.dev"


class Shelf:
    """A server for one file; a context manager.

    The port is taken at once, so that nobody waits for a file that then cannot be given; requests are answered by `give`.

    Parameters
    ----------
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
    >>> with Shelf("my trace.json", port=0) as shelf:
    ...     shelf.link.partition("%3A%2F%2F")[0], shelf.url.endswith("/my_trace.json")
    ('https://ui.perfetto.dev/#!/?url=http', True)
    """

    def __init__(self, name: str, *, port: int = PORT) -> None:
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise SourceError(
                f"port {port} is taken ({error.strerror or error}), and the Perfetto UI fetches from no other: "
                "end what listens there, perhaps another tracegap open or a trace processor"
            ) from error
        self._server.host = f"127.0.0.1:{self.port}"
        # The UI shows the end of the address as it is, so nothing in it may need a percent sign.
        plain = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII)
        self._server.path = f"/{secrets.token_urlsafe(16)}/{plain}"

    def __enter__(self) -> "Shelf":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()

    @property
    def url(self) -> str:
        """Where the file lies."""
        return f"http://{self._server.host}{self._server.path}"

    @property
    def link(self) -> str:
        """What to open in a browser."""
        return f"{UI}/#!/?url={quote(self.url, safe='')}"

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def give(self, content: bytes | mmap) -> None:
        """Answer requests until `content` was fetched whole."""
        self._server.content = content
        self._server.serve_forever(poll_interval=0.1)


class _Server(socketserver.ThreadingTCPServer):
    """A thread for each connection: while a browser asks its user whether the UI may connect, it holds a silent one open."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere it would let two servers share the port

    host: str
    path: str
    content: bytes | mmap

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a reader that went away; whatever else goes wrong is a bug."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # typeshed has a private type


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.headers.get("Host") != self.server.host or self.headers.get("Origin", UI) != UI:
            self.send_error(403)
        elif self.path != self.server.path:
            self.send_error(404)
        else:
            self._give()

    def _give(self) -> None:
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", UI)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)
        # A reader that has all closes the connection; one that left early resets it, which raises, and may come again.
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.recv(1)
        self.server.shutdown()

    def log_message(self, format: str, *args: object) -> None:
        del format, args  # a library does not print

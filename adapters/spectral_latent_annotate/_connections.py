"""Bound what those who connect to the server can hold: connections and time."""

from __future__ import annotations

import io
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

_MOST = 32  # connections at a time
_SECONDS = 20.0  # in which a request must have arrived, and in which each part of an answer must be taken


class BoundedServer(ThreadedWSGIServer):
    """A server with a thread for each connection, of which there are few at a time.

    If there are too many, the one that has kept the server waiting for the longest time is closed."""

    daemon_threads = True

    def __init__(self, host: str, port: int) -> None:
        none: Any = None  # until the port is known
        super().__init__(host, port, none, _Handler)
        self._guard = threading.Lock()
        self._open: set[socket.socket] = set()
        self._waiting: dict[socket.socket, None] = {}  # connections from which something is read, in this order

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        with self._guard:
            self._open.add(request)
            is_full = len(self._open) > _MOST
            idle = next(iter(self._waiting), None) if is_full else None
            self._waiting.pop(idle, None)  # type: ignore[arg-type]
        if idle is not None:
            with suppress(OSError):
                idle.shutdown(socket.SHUT_RDWR)
        elif is_full:
            with suppress(OSError):
                request.settimeout(1.0)
                request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def close_request(self, request: Any) -> None:
        """Close a connection."""
        with self._guard:
            self._open.discard(request)
        super().close_request(request)

    def receive(self, connection: socket.socket, buffer: Any, deadline: float) -> int:
        """Wait for bytes of a request; return their number.  Raises TimeoutError after the deadline."""
        if (left := deadline - time.monotonic()) <= 0.0:
            raise TimeoutError
        with self._guard:
            self._waiting[connection] = None
        try:
            connection.settimeout(left)
            return connection.recv_into(buffer)
        finally:
            connection.settimeout(_SECONDS)
            with self._guard:
                self._waiting.pop(connection, None)


class _Arriving(io.RawIOBase):
    """The bytes of a request, as they arrive."""

    def __init__(self, server: BoundedServer, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._deadline = time.monotonic() + _SECONDS

    def readable(self) -> bool:
        """Tell that there may be bytes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        return self._server.receive(self._connection, buffer, self._deadline)


class _Handler(WSGIRequestHandler):
    """Answers one request of a connection, without a line on the screen."""

    protocol_version = "HTTP/1.0"  # a connection ends with its answer

    def setup(self) -> None:
        """Let the request arrive in time."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Arriving(self.server, self.connection))  # type: ignore[arg-type]

    def log(self, *_arguments: Any) -> None:
        """Write nothing."""

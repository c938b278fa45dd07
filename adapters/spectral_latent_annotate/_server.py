"""Serve the page on which trees are corrected, on the loopback address alone.

| request | answer |
| --- | --- |
| GET / | the page |
| GET /api/project | names and states of all sentences, labels, tags |
| GET /api/sentences/N | the words and the tree of a sentence, with posteriors and alternatives, and its version |
| GET /api/next?after=N | the next sentence that waits |
| POST /api/sentences/N {"tree": ..., "version": ...} | accepts a tree in the place of the version that was shown |
| GET /api/agreement | the agreement with another annotator |

A tree is a nested list: `["S", ["NN", "dogs"], ["VB", "bark"]]`.  A request must have the token of the server, as
`?token=TOKEN` or in the header `Authorization: Bearer TOKEN`, since every user of a computer can connect to its
loopback address.  It must name the server as its host, and come from no other origin; what it changes must be sent as
JSON, which pages of other origins cannot do without asking.
"""

import io
import os
import re
import secrets
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from spectral_latent.constituency import Phrase
from spectral_latent_annotate._project import ChangedError, Order, Project

_LARGEST = 1 << 22  # bytes of a request
_MOST_CONNECTIONS = 32  # at a time
_SECONDS = 20.0  # in which a request must have arrived, and in which each part of an answer must be taken
_DEEPEST = 200  # phrases within one another
_TOO_DEEP = f"the tree has more than {_DEEPEST} phrases within one another; correct it in its file"
_PAGE = Path(__file__).with_name("page.html")
_TOKEN = re.compile(r"[\w-]{16,200}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,15}")
LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "SPECTRAL_LATENT_TOKEN"


def create_app(
    project: Project, port: int, *, token: str | None = None, other: str | None = None, order: Order = "file"
) -> Any:
    """Make the application of a project, for any WSGI server.

    token: what each request must have; None to answer whoever reaches the port.
    other: the file of another annotator's trees; None if there is none.
    order: which sentence is next, as for `Project.next`."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = _LARGEST
    hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}

    @app.before_request
    def check() -> None:
        """Refuse requests that another page or another host sends."""
        if request.host not in hosts:
            abort(403, f"this server answers to {LOOPBACK}:{port} alone, not to {request.host!r:.60}")
        origin = request.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            abort(403, f"this server answers to its own page alone, not to {origin!r:.60}")
        if token is not None and not secrets.compare_digest(given_token().encode("utf-8", "replace"), token.encode()):
            abort(403, "the request lacks the token of this server; open the address that the command has shown")
        if request.method == "POST" and not request.is_json:
            abort(415, "send JSON, with the header Content-Type: application/json")

    def given_token() -> str:
        """Return the token of a request: in its query or its header."""
        _, _, of_header = request.headers.get("Authorization", "").partition(" ")
        return request.args.get("token") or of_header

    @app.after_request
    def protect(response: Response) -> Response:
        """Let the page load nothing from elsewhere, and stand in no frame."""
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
            "img-src data:; frame-ancestors 'none'"
        )
        response.headers["Cache-Control"] = "no-store"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    @app.errorhandler(HTTPException)
    def tell(error: HTTPException) -> tuple[Response, int]:
        """Answer with a sentence in JSON."""
        return jsonify(error=error.description), error.code or 500

    @app.get("/")
    def show_page() -> Response:
        """Send the page."""
        return Response(_PAGE.read_bytes(), mimetype="text/html")

    @app.get("/api/project")
    def describe() -> Response:
        """Describe the project."""
        return jsonify(
            file=str(project.path),
            annotator=project.annotator,
            sentences=[{"name": item.name, "done": item.number is not None} for item in project.items],
            done=project.n_done,
            labels=project.labels,
            tags=project.tags,
            compares=other is not None,
        )

    def number_in(text: str, status: int) -> int:
        """Read the number of a sentence."""
        if not _NUMBER.fullmatch(text):
            abort(status, f"the number of a sentence is needed, not {text!r:.60}")
        return int(text)

    @app.get("/api/sentences/<at>")
    def suggest(at: str) -> Response:
        """Send a sentence with its tree."""
        number = number_in(at, 404)
        try:
            version = project.version(number)  # before the tree: an older one is a conflict, and a later one a loss
            tree, found = project.suggest(number)
            nested = to_list(tree)
        except IndexError as error:
            abort(404, str(error))
        except ValueError as error:
            abort(400, str(error))
        item = project.items[number]
        return jsonify(
            number=number,
            name=item.name,
            words=item.words,
            done=version != "",
            version=version,
            tree=nested,
            **found.rows(most=5),
            expected_errors=round(found.expected_errors, 2),
            is_flat=found.is_flat,
        )

    @app.get("/api/next")
    def find_next() -> Response:
        """Find the next sentence."""
        return jsonify(number=project.next(max(number_in(request.args.get("after", "-1"), 400), -1), order))

    @app.post("/api/sentences/<at>")
    def accept(at: str) -> tuple[Response, int]:
        """Accept a tree."""
        number = number_in(at, 404)
        try:
            given = request.get_json(silent=True)
        except RecursionError:
            abort(400, "the request has too many lists within one another")
        if not isinstance(given, dict) or "tree" not in given:
            abort(400, 'the request has no tree; send {"tree": ["S", ["NN", "dogs"]]}')
        version = given.get("version")
        if not isinstance(version, str | None):
            abort(400, f"`version` is what the sentence was sent with, not {shortened(version)}")
        try:
            project.accept(number, from_list(given["tree"]), version)
        except IndexError as error:
            abort(404, str(error))
        except ChangedError as error:
            abort(409, str(error))
        except OSError as error:
            problem = f"{error.filename or project.history}: {error.strerror or error}"
            return jsonify(error=f"the tree was not saved; make room for it, and accept it again: {problem}"), 507
        except ValueError as error:
            abort(400, str(error))
        return jsonify(done=project.n_done, version=project.version(number)), 200

    @app.get("/api/agreement")
    def compare() -> Response:
        """Compare with another annotator."""
        if other is None:
            abort(404, "there is no other annotator; name the file of the other's trees by --compare")
        try:
            return jsonify(project.agree_with(other))
        except (ValueError, OSError) as error:
            abort(400, str(error))

    return app


def serve(project: Project, port: int, *, token: str | None = None, **settings: Any) -> Any:
    """Make a server of a project on the loopback address; its `serve_forever` answers requests.

    port: the port; 0 for any free one, which `server_port` has.
    token: what each request must have, at least 16 letters, digits, - and _; None for that of the variable
        SPECTRAL_LATENT_TOKEN, or for a random one.
    settings: as for `create_app`.
    Returns the server, whose `address` has the token.
    Raises OSError if the port is in use, and ValueError for another token."""
    token = token or os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(24)
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"the token needs at least 16 letters, digits, - and _; change {TOKEN_VARIABLE}, or unset it")
    server: Any = BoundedServer(LOOPBACK, port)
    server.app = create_app(project, server.server_port, token=token, **settings)
    server.address = f"http://{LOOPBACK}:{server.server_port}/?token={token}"
    return server


def to_list(tree: Phrase, depth: int = 0) -> list[Any]:
    """Write a tree as a nested list."""
    if depth > _DEEPEST:
        raise ValueError(_TOO_DEEP)
    return [tree.label, *(to_list(child, depth + 1) if isinstance(child, Phrase) else child for child in tree.children)]


def from_list(given: Any, depth: int = 0) -> Phrase:
    """Read a tree from a nested list."""
    if depth > _DEEPEST:
        raise ValueError(_TOO_DEEP)
    match given:
        case [str() as label, str() as word] if _is_name(label) and word:
            return Phrase(label, (word,))
        case [str() as label, *children] if _is_name(label) and children:
            return Phrase(label, tuple([from_list(child, depth + 1) for child in children]))
    raise ValueError(
        f"a phrase is a list of its label and its phrases, or of its tag and its word, not {shortened(given)}"
    )


def _is_name(label: str) -> bool:
    """Tell whether a label can be written in brackets."""
    return bool(label) and not any(c in "()" or c.isspace() for c in label)


# Connections


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
            is_full = len(self._open) > _MOST_CONNECTIONS
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

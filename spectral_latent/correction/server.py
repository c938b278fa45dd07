"""Serve the page on which trees are corrected, on the loopback address alone.

| request | answer |
| --- | --- |
| GET / | the page |
| GET /api/project | names and states of all sentences, labels, tags |
| GET /api/sentences/N | the words and the tree of a sentence, with posteriors and alternatives |
| GET /api/next?after=N | the next sentence that waits |
| POST /api/sentences/N {"tree": ...} | accepts a tree |
| GET /api/agreement | the agreement with another annotator |
| POST /inception/predict, /inception/train | those of INCEpTION; see `inception` |

A tree is a nested list: `["S", ["NN", "dogs"], ["VB", "bark"]]`.  A request must name the server as its host, and come
from no other origin; what it changes must be sent as JSON, which pages of other origins cannot do without asking.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spectral_latent.constituency import Phrase
from spectral_latent.correction.inception import add_routes
from spectral_latent.correction.project import ChangedError, Order, Project

__all__ = ["create_app", "serve"]

_LARGEST = 1 << 22  # bytes of a request
_DEEPEST = 200  # phrases within one another
_PAGE = Path(__file__).with_name("page.html")
LOOPBACK = "127.0.0.1"


def create_app(project: Project, port: int, *, other: str | None = None, order: Order = "file") -> Any:
    """Make the application of a project, for any WSGI server.

    project: the project.
    port: the port at which the server will listen.
    other: the file of another annotator's trees; None if there is none.
    order: which sentence is next, as for `Project.next`.
    Raises ImportError without Flask, which the extra `annotate` installs.
    """
    from flask import Flask, Response, abort, jsonify, request
    from werkzeug.exceptions import HTTPException

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
        if request.method == "POST" and not request.is_json:
            abort(415, "send JSON, with the header Content-Type: application/json")

    @app.after_request
    def protect(response: Response) -> Response:
        """Let the page load nothing from elsewhere, and stand in no frame."""
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
            "img-src data:; frame-ancestors 'none'"
        )
        response.headers["Cache-Control"] = "no-store"
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

    @app.get("/api/sentences/<int:at>")
    def suggest(at: int) -> Response:
        """Send a sentence with its tree."""
        try:
            tree, found = project.suggest(at)
        except IndexError as error:
            abort(404, str(error))
        item = project.items[at]
        return jsonify(
            number=at,
            name=item.name,
            words=item.words,
            done=item.number is not None,
            tree=to_list(tree),
            **found.rows(most=5),
            expected_errors=round(found.expected_errors, 2),
            is_flat=found.is_flat,
        )

    @app.get("/api/next")
    def find_next() -> Response:
        """Find the next sentence."""
        after = request.args.get("after", "-1")
        if not after.lstrip("-").isdecimal():
            abort(400, f"`after` is the number of a sentence, not {after!r:.60}")
        return jsonify(number=project.next(int(after), order))

    @app.post("/api/sentences/<int:at>")
    def accept(at: int) -> Response:
        """Accept a tree."""
        given = request.get_json(silent=True)
        if not isinstance(given, dict) or "tree" not in given:
            abort(400, 'the request has no tree; send {"tree": ["S", ["NN", "dogs"]]}')
        try:
            project.accept(at, from_list(given["tree"]))
        except IndexError as error:
            abort(404, str(error))
        except ChangedError as error:
            abort(409, str(error))
        except OSError as error:
            abort(507, f"the tree is in the history, but {project.path} cannot be written: {error}")
        except ValueError as error:
            abort(400, str(error))
        return jsonify(done=project.n_done)

    @app.get("/api/agreement")
    def compare() -> Response:
        """Compare with another annotator."""
        if other is None:
            abort(404, "there is no other annotator; name the file of the other's trees by --compare")
        try:
            return jsonify(project.agree_with(other))
        except (ValueError, OSError) as error:
            abort(400, str(error))

    add_routes(app, project)
    return app


def serve(project: Project, port: int, **settings: Any) -> Any:
    """Make a server of a project on the loopback address; its `serve_forever` answers requests.

    project: the project.
    port: the port; 0 for any free one, which `server_port` has.
    settings: as for `create_app`.
    Raises OSError if the port is in use.
    """
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        """Answers without a line on the screen for each request."""

        def log_request(self, *_arguments: Any) -> None:
            """Write nothing."""

    none: Any = None  # until the port is known
    server = make_server(LOOPBACK, port, none, threaded=True, request_handler=Handler)
    server.app = create_app(project, server.server_port, **settings)
    return server


def to_list(tree: Phrase) -> list[Any]:
    """Write a tree as a nested list.

    tree: the tree.

    >>> to_list(Phrase("S", (Phrase("NN", ("dogs",)), Phrase("VB", ("bark",)))))
    ['S', ['NN', 'dogs'], ['VB', 'bark']]
    """
    return [tree.label, *(to_list(child) if isinstance(child, Phrase) else child for child in tree.children)]


def from_list(given: Any, depth: int = 0) -> Phrase:
    """Read a tree from a nested list.

    given: the list.
    depth: the number of phrases around it.
    Raises ValueError for another object.

    >>> from_list(["S", ["NN", "dogs"], ["VB", "bark"]])
    <Phrase: (S (NN dogs) (VB bark))>
    """
    if depth > _DEEPEST:
        raise ValueError(f"the tree has more than {_DEEPEST} phrases within one another")
    match given:
        case [str() as label, str() as word] if _is_name(label) and word.strip():
            return Phrase(label, (word,))
        case [str() as label, *children] if _is_name(label) and children:
            return Phrase(label, tuple([from_list(child, depth + 1) for child in children]))
    raise ValueError(f"a phrase is a list of its label and its phrases, or of its tag and its word, not {given!r:.60}")


def _is_name(label: str) -> bool:
    """Tell whether a label can be written in brackets."""
    return bool(label) and not any(c in "()" or c.isspace() for c in label)

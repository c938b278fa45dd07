"""The server answers to its own page alone, and bad requests get a sentence and change nothing."""

from __future__ import annotations

import socket
import threading
import urllib.request
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.correction import Project, create_app, serve
from spectral_latent.correction.server import from_list, to_list
from tests.correction.conftest import BASE, TREES

pytest.importorskip("flask")


def test_sentences_are_shown_and_trees_accepted(client: Any, project: Project) -> None:
    described = client.get("/api/project", **BASE).get_json()
    assert described["done"] == 20 and len(described["sentences"]) == 24
    assert client.get("/api/next?after=3", **BASE).get_json() == {"number": 20}
    shown = client.get("/api/sentences/20", **BASE).get_json()
    assert shown["words"] == list(TREES[20].words()) and not shown["done"]
    assert from_list(shown["tree"]) == project.suggest(20)[0]
    answer = client.post("/api/sentences/20", json={"tree": to_list(TREES[20])}, **BASE)
    assert answer.status_code == 200 and answer.get_json() == {"done": 21}
    assert from_list(client.get("/api/sentences/20", **BASE).get_json()["tree"]) == TREES[20]
    assert b"<!doctype html>" in client.get("/", **BASE).data


@pytest.mark.parametrize(
    ("method", "url", "settings", "status"),
    [
        ("get", "/api/project", {"headers": {"Origin": "http://elsewhere.example"}}, 403),
        ("get", "/api/project", {"headers": {"Origin": "null"}}, 403),
        ("get", "/api/project", {"base_url": "http://elsewhere.example:8017"}, 403),
        ("get", "/api/project", {"base_url": "http://127.0.0.1:80"}, 403),
        ("get", "/api/sentences/99", {}, 404),
        ("get", "/api/sentences/-1", {}, 404),
        ("get", "/../trees.mrg", {}, 404),
        ("get", "/api/next?after=x", {}, 400),
        ("get", "/api/agreement", {}, 404),
        ("post", "/api/sentences/20", {"data": "tree=1"}, 415),
        ("post", "/api/sentences/20", {"data": "{", "content_type": "application/json"}, 400),
        ("post", "/api/sentences/20", {"json": []}, 400),
        ("post", "/api/sentences/20", {"json": {"tree": ["S"]}}, 400),
        ("post", "/api/sentences/20", {"json": {"tree": ["S", ["(", "x"]]}}, 400),
        ("post", "/api/sentences/20", {"json": {"tree": to_list(TREES[3])}}, 400),
        ("post", "/api/sentences/99", {"json": {"tree": to_list(TREES[3])}}, 404),
        ("post", "/api/sentences/20", {"json": {"tree": "x" * (1 << 23)}}, 413),
        ("put", "/api/sentences/20", {"json": {}}, 405),
    ],
)
def test_other_requests_get_a_sentence_and_change_nothing(
    client: Any, project: Project, method: str, url: str, settings: dict[str, Any], status: int
) -> None:
    before = project.path.read_bytes()
    answer = getattr(client, method)(url, **(BASE | settings))
    assert answer.status_code == status
    assert isinstance(answer.get_json()["error"], str)
    assert project.path.read_bytes() == before and project.n_done == 20
    assert not project.history.read_bytes()


def test_a_changed_file_is_a_conflict(client: Any, project: Project) -> None:
    project.path.write_text("(S (NN x))", encoding="utf-8")
    assert client.post("/api/sentences/20", json={"tree": to_list(TREES[20])}, **BASE).status_code == 409


def test_agreement_with_another_file(project: Project) -> None:
    app = create_app(project, 8017, other=str(project.path))
    assert app.test_client().get("/api/agreement", **BASE).get_json()["f1"] == 100.0
    absent = create_app(project, 8017, other="absent.mrg").test_client().get("/api/agreement", **BASE)
    assert absent.status_code == 400


def test_the_server_listens_on_the_loopback_address_and_tells_of_a_port_in_use(project: Project) -> None:
    server = serve(project, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        assert server.server_address[0] == "127.0.0.1"
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/api/next", timeout=20) as answer:
            assert answer.read() == b'{"number":20}\n'
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises((OSError, SystemExit)):
            serve(project, taken.getsockname()[1])


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=2), children, max_size=2),
        max_leaves=8,
    )
)
def test_any_object_is_a_tree_or_refused(given: Any) -> None:
    try:
        tree = from_list(given)
    except ValueError:
        return
    assert to_list(tree) == given


def test_trees_without_end_are_refused() -> None:
    deep: list[Any] = ["NN", "x"]
    for _ in range(300):
        deep = ["NP", deep]
    with pytest.raises(ValueError, match="200"):
        from_list(deep)

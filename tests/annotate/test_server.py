"""The server answers to its own page alone, and bad requests get a sentence and change nothing."""

import contextlib
import errno
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import parse_brackets
from spectral_latent_annotate import Project, _server, create_app, serve
from spectral_latent_annotate._server import from_list, to_list
from tests.annotate.conftest import BASE, TREES
from tests.documents import limit_of

pytest.importorskip("flask")


def nested(depth: int, words: Sequence[str]) -> list[Any]:
    """Write a tree of phrases over one another."""
    tree: list[Any] = ["S", *(["NN", word] for word in words)]
    for _ in range(depth):
        tree = ["S", tree]
    return tree


def test_sentences_are_shown_and_trees_accepted(client: Any, project: Project) -> None:
    described = client.get("/api/project", **BASE).get_json()
    assert described["done"] == 20 and len(described["sentences"]) == 24
    assert described["sentences"][19:21] == [{"name": "20", "done": True}, {"name": "sentence 1", "done": False}]
    assert client.get("/api/next?after=3", **BASE).get_json() == {"number": 20}
    shown = client.get("/api/sentences/20", **BASE).get_json()
    assert shown["words"] == list(TREES[20].words()) and not shown["done"]
    assert from_list(shown["tree"]) == project.suggest(20)[0]
    answer = client.post("/api/sentences/20", json={"tree": to_list(TREES[20])}, **BASE)
    assert answer.status_code == 200 and answer.get_json()["done"] == 21
    again = client.get("/api/sentences/20", **BASE).get_json()
    assert again["version"] == answer.get_json()["version"] != shown["version"]
    assert from_list(client.get("/api/sentences/20", **BASE).get_json()["tree"]) == TREES[20]
    assert b"<!doctype html>" in client.get("/", **BASE).data
    for other, status in ((str(project.path), 200), ("absent.mrg", 400)):
        agreement = create_app(project, 8017, other=other).test_client().get("/api/agreement", **BASE)
        assert agreement.status_code == status and agreement.get_json().get("f1", 100.0) == 100.0
    deep = {"tree": nested(190, list(TREES[20].words()))}
    assert client.post("/api/sentences/20", json=deep, **BASE).status_code == 200
    project.path.write_text("(S (NN x))", encoding="utf-8")  # by another program
    assert client.post("/api/sentences/21", json={"tree": to_list(TREES[21])}, **BASE).status_code == 409


TREE = "/api/sentences/20"
REQUESTS: list[tuple[str, str, dict[str, Any], int]] = [
    *(("get", "/api/project", {"headers": {"Origin": origin}}, 403) for origin in ("http://elsewhere.example", "null")),
    *(
        ("get", "/api/project", {"base_url": f"http://{host}"}, 403)
        for host in ("elsewhere.example:8017", "127.0.0.1:80")
    ),
    *(("get", f"/api/sentences/{at}", {}, 404) for at in ("99", "-1", "9" * 5000, "1e1", "²")),
    *(("get", f"/api/next?after={after}", {}, 400) for after in ("x", "", "--1", "٣", "9" * 5000)),
    *(("get", url, {}, 404) for url in ("/../trees.mrg", "/api/agreement")),
    ("post", TREE, {"data": "tree=1"}, 415),
    *(
        ("post", TREE, {"data": data, "content_type": "application/json"}, 400)
        for data in (
            *("{", '{"tree": ' + "9" * 5000 + "}", '{"tree": ' + "[" * 1500 + "]" * 1500 + "}", "[" * 1000000),
            '{"tree": ["S", 1, ' + "[" * 600 + "]" * 600 + "]}",
        )
    ),
    *(
        ("post", TREE, {"json": {"tree": tree}}, 400)
        for tree in (["S"], ["S", ["(", "x"]], to_list(TREES[3]), ["S", ["\ud800", "x"]])
    ),
    ("post", TREE, {"json": []}, 400),
    ("post", TREE, {"json": {"tree": to_list(TREES[20]), "version": 1}}, 400),
    ("post", TREE, {"json": {"tree": to_list(TREES[20]), "version": "other"}}, 409),
    ("post", "/api/sentences/99", {"json": {"tree": to_list(TREES[3])}}, 404),
    ("post", TREE, {"json": {"tree": "x" * (1 << 23)}}, 413),
    ("put", TREE, {"json": {}}, 405),
]


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=lambda n: f"{REQUESTS[n][0]} {REQUESTS[n][1]:.30} {n}")
def test_other_requests_get_a_sentence_and_change_nothing(
    client_of_unchanged: Any, unchanged: Project, number: int
) -> None:
    method, url, settings, status = REQUESTS[number]
    before = unchanged.path.read_bytes()
    answer = getattr(client_of_unchanged, method)(url, **(BASE | settings))
    assert answer.status_code == status and isinstance(answer.get_json()["error"], str)
    assert unchanged.path.read_bytes() == before and unchanged.n_done == 20
    assert not unchanged.history.read_bytes()


def test_the_server_listens_on_the_loopback_address_and_tells_of_a_port_in_use(unchanged: Project) -> None:
    server = serve(unchanged, 0)
    assert server.server_address[0] == "127.0.0.1"
    server.server_close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises((OSError, SystemExit)):
            serve(unchanged, taken.getsockname()[1])


@pytest.fixture
def served(unchanged: Project) -> Iterator[Any]:
    server = serve(unchanged, 0, token="0123456789abcdef")
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/", {}, 403),
        ("/api/project", {}, 403),
        ("/nothing", {}, 403),
        ("/api/project?token=", {}, 403),
        ("/api/project?token=0123456789abcdeF", {}, 403),
        ("/api/project?token=%ff%f0", {}, 403),
        ("/api/project", {"Authorization": "Bearer é"}, 403),
        ("/api/project", {"Authorization": "0123456789abcdef"}, 403),
        ("/api/project", {"Cookie": "token=0123456789abcdef"}, 403),
        ("/?token=0123456789abcdef", {}, 200),
        ("/api/project?token=0123456789abcdef", {}, 200),
        ("/api/project", {"Authorization": "Bearer 0123456789abcdef"}, 200),
        ("/api/project", {"Authorization": "token 0123456789abcdef"}, 200),
    ],
)
def test_only_who_knows_the_token_is_answered(served: Any, path: str, header: dict[str, str], status: int) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{served.server_port}{path}", headers=header)
    try:
        with urllib.request.urlopen(request) as answer:
            assert answer.status == status
    except urllib.error.HTTPError as error:
        with error:
            assert error.code == status and b"token" in error.read()


def test_tokens_are_random_or_named_and_long(unchanged: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = set()
    for _ in range(2):
        server = serve(unchanged, 0)
        addresses.add(server.address.partition("token=")[2])
        server.server_close()
    assert len(addresses) == 2 and min(map(len, addresses)) >= 32
    monkeypatch.setenv("SPECTRAL_LATENT_TOKEN", "a-token-of-my-own")
    server = serve(unchanged, 0)
    assert server.address.endswith("/?token=a-token-of-my-own")
    server.server_close()
    for bad in ("short", "sixteen letters &", "x" * 999):
        monkeypatch.setenv("SPECTRAL_LATENT_TOKEN", bad)
        with pytest.raises(ValueError, match="SPECTRAL_LATENT_TOKEN"):
            serve(unchanged, 0)


def test_connections_that_send_nothing_are_few_and_stop_nobody(served: Any) -> None:
    before = threading.active_count()
    begun = [socket.create_connection(("127.0.0.1", served.server_port)) for _ in range(120)]
    for each in begun:
        with contextlib.suppress(OSError):
            each.sendall(b"POST /api/sentences/1?token=0123456789abcdef HTTP/1.1\r\nContent-Length: 10\r\n")
    with urllib.request.urlopen(served.address.replace("?", "api/next?")) as answer:
        assert answer.read() == b'{"number":20}\n'
    assert threading.active_count() - before <= 40
    ended = 0
    for each in begun:
        each.settimeout(0.01)
        with contextlib.suppress(TimeoutError):
            ended += each.recv(1) == b""
        each.close()
    assert ended >= 80


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /",
        b"POST /api/sentences/1?token=0123456789abcdef HTTP/1.1\r\nHost: HOST\r\n"
        b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_ended(served: Any, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectral_latent_annotate._server._SECONDS", 0.3)
    host = f"127.0.0.1:{served.server_port}".encode()
    with socket.create_connection(("127.0.0.1", served.server_port)) as connection:
        connection.sendall(sent.replace(b"HOST", host))
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert not answer or b" 400 " in answer.partition(b"\r\n")[0]


def test_a_disk_that_is_full_is_told_and_nothing_is_accepted(client: Any, project: Project) -> None:
    def fail(_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(project.path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(project.file), "save", fail)
        answer = client.post("/api/sentences/20", json={"tree": to_list(TREES[20])}, **BASE)
    assert answer.status_code == 507 and "not saved" in answer.get_json()["error"]
    assert str(project.path) in answer.get_json()["error"] and "No space" in answer.get_json()["error"]
    assert project.n_done == 20 and not project.history.read_bytes()
    assert client.post("/api/sentences/20", json={"tree": to_list(TREES[20])}, **BASE).status_code == 200


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


def test_what_is_shown_can_be_accepted_or_neither(tmp_path: Path) -> None:
    """Trees with as many phrases within one another as can be sent; those with more are refused with a reason."""
    path = tmp_path / "deep.mrg"
    for depth, status in ((150, 200), (250, 400), (3000, 400)):
        labels = ["NP", "VP"] * depth
        path.write_text("".join(f"({label} " for label in labels[:depth]) + "(NN x)" + ")" * depth, encoding="utf-8")
        project = Project(path)
        client = create_app(project, 8017).test_client()
        shown = client.get("/api/sentences/0", **BASE)
        assert shown.status_code == status
        if status == 200:
            sent = {"tree": shown.get_json()["tree"], "version": shown.get_json()["version"]}
            assert client.post("/api/sentences/0", json=sent, **BASE).status_code == 200
        else:
            assert "200" in shown.get_json()["error"]
        project.close()


def test_limits_are_those_of_the_page() -> None:
    expected = f"{_server._LARGEST >> 20} MB, {_server._SECONDS:.0f} seconds, {_server._DEEPEST} nested phrases"
    assert limit_of("request to the page of `annotate`") == expected
    assert limit_of("connections to that page") == str(_server._MOST_CONNECTIONS)


@pytest.mark.parametrize("depth", range(196, 204))
def test_a_tree_is_shown_exactly_if_it_can_be_accepted(depth: int) -> None:
    given = nested(depth, ["x"])
    (tree,) = parse_brackets("(S " * (depth + 1) + "(NN x)" + ")" * (depth + 1))
    with contextlib.nullcontext() if depth < 200 else pytest.raises(ValueError):
        assert to_list(tree) == given
    with contextlib.nullcontext() if depth < 200 else pytest.raises(ValueError):
        assert from_list(given) == tree

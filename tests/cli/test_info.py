"""`info`: what a model file holds, and the record of its training, which can be repeated."""

import json
import shlex
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from spectral_latent import __version__, load
from spectral_latent.corpora import parse_conllu
from spectral_latent.files import load_model, save_model
from tests.cli.conftest import Run


def facts(run: Run, file: Path) -> Any:
    result = run("info", file, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_every_kind_of_model_has_a_table_and_json(run: Run, files: Path) -> None:
    for kind in ("constituency", "dependency", "tagger", "hmm", "anchors", "reranker"):
        found = facts(run, files / kind)
        assert (found["kind"], found["library"], found["bytes"]) == (kind, __version__, (files / kind).stat().st_size)
        assert found["options"]
        if kind != "reranker":
            assert found["fingerprint"] == load(files / kind).fingerprint
        lines = run("info", files / kind).stdout.splitlines()
        names = [line.split(" ")[0] for line in lines]
        assert set(names) == set(found) and len(names) == len(found)
        assert max(map(len, lines)) < 400


def test_labels_tags_and_models(run: Run, files: Path) -> None:
    found = {kind: facts(run, files / kind) for kind in ("constituency", "dependency", "anchors", "reranker")}
    assert found["constituency"]["labels"] == ["NP", "PP", "PRN", "S", "VP"]
    assert "VBP" in found["constituency"]["tags"] and "VBP" in found["dependency"]["tags"]
    assert (found["dependency"]["column"], found["dependency"]["relations"]) == ("upos", ["dep", "root"])
    assert len(found["anchors"]["anchors"]) == 3
    assert found["reranker"]["models"] == {"latent": found["constituency"]["fingerprint"]}


def test_the_record_of_training(run: Run, files: Path, model: Path, treebank: Path) -> None:
    """The command without folders, the examples and words that were read, and their digest in order."""
    found = facts(run, model)
    assert found["command"] == f"spectral-latent train constituency {treebank.name} --n-states 4"
    assert (found["trees"], found["words"]) == (18, 120)
    # The trees as `conftest.TREES` writes them: each has an outer bracket and a trace.
    assert found["changes"] == {
        "top brackets removed": 18,
        "empty elements removed": 18,
        "function labels and indices cut from phrases": 6,
        "commonest empty elements": {"*": 18},
    }
    lines = []
    for s in parse_conllu((files / "gold.conllu").read_text()):
        blank = ["_"] * len(s.forms)
        columns = [s.forms, blank, s.upos, s.xpos, blank, s.heads, s.relations, [], []]
        lines.append(f"{json.dumps(list(map(list, columns)))}\n")  # type: ignore[arg-type]
    digest = blake2b("".join(lines).encode(), digest_size=32).hexdigest()
    assert facts(run, files / "dependency")["sources"] == [{"name": "gold.conllu", "content": digest}]


def test_the_figures_of_dev_are_in_the_record(run: Run, treebank: Path, model: Path, tmp_path: Path) -> None:
    """As `evaluate` has them, without speeds, so that the same training makes the same file; the model is the same."""
    for name in ("one", "two"):
        command = ("train", "constituency", treebank, "-o", tmp_path / name, "--n-states", "4", "--dev", treebank)
        assert run(*command).exit_code == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found = facts(run, tmp_path / "one")
    expected = json.loads(run("evaluate", model, treebank, "--json").stdout)
    assert found["dev"].pop("sources") == [treebank.name]
    assert found["dev"] == {k: round(value, 2) for k, value in expected.items() if not k.endswith("_per_second")}
    assert found["fingerprint"] == facts(run, model)["fingerprint"]


def test_labelled_anchors_keep_the_record_and_models_saved_in_python_have_none(
    run: Run, files: Path, tmp_path: Path
) -> None:
    found, before = facts(run, files / "labelled"), facts(run, files / "anchors")
    assert [found[name] for name in ("command", "sources", "words")] == [
        before[name] for name in ("command", "sources", "words")
    ]
    load(files / "tagger").save(tmp_path / "model")
    assert "command" not in facts(run, tmp_path / "model")


ROWS = "1\tDogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("constituency", ["--n-states", "2", "--seed", "3", "--preset", "clusters"]),
        ("constituency", ["--estimator", "em", "--n-states", "2"]),
        ("dependency", ["--column", "xpos"]),
        ("pipeline", ["--n-states", "2"]),
        ("tagger", ["--column", "xpos", "--estimator", "spectral"]),
        ("anchors", ["--n-states", "2", "--window", "2"]),
        ("hmm", ["--n-states", "2", "--weight", "2"]),
    ],
)
def test_every_training_of_the_command_line_can_be_done_again(
    run: Run, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, options: list[str]
) -> None:
    """By the command of the record, in another folder, and by more threads."""
    sources = [tmp_path / "source", tmp_path / "text.tok"][: 1 + (options[0] == "--estimator")]
    sources[0].write_text(treebank.read_text() if kind == "constituency" else ROWS * 10)
    if len(sources) > 1:
        sources[1].write_text("They see it .\nThey sleep .\n")
        options = [*options, "--text", str(sources[1])]
    assert run("train", kind, sources[0], "-o", tmp_path / "model", *options, "-q").exit_code == 0
    found = facts(run, tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    jobs = [] if kind == "anchors" else ["--jobs", "2"]
    assert run(*shlex.split(found["command"])[1:], "-o", "again", *jobs, "-q").exit_code == 0
    assert Path("again").read_bytes() == Path("model").read_bytes()


def test_a_record_that_is_no_table_is_damaged(run: Run, tagger: Path, tmp_path: Path) -> None:
    arrays, settings = load_model(tagger)
    save_model(tmp_path / "model", arrays, {**settings, "record": ["nonsense"]})
    result = run("info", tmp_path / "model")
    assert (result.exit_code, "damaged" in result.stderr) == (1, True)

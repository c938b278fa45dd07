"""`info`: what a model file holds, and the record of its training."""

import json
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from spectral_latent import __version__, load
from spectral_latent.corpora.sources import in_conllu
from spectral_latent.files import load_model, save_model

Run = Callable[..., Any]

DEPENDENCIES = "Dogs\tNNS\t2\tsubj\nbark\tVBP\t0\troot\n"


def facts(run: Run, file: Path) -> Any:
    """Read what `info --json` prints."""
    result = run("info", file, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def files(
    run: Run, treebank: Path, taggings: Path, model: Path, tagger: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """A model of each kind that the command line trains."""
    folder = tmp_path_factory.mktemp("info")
    (folder / "two.conllu").write_text(in_conllu(DEPENDENCIES))
    assert run("train", "dependency", folder / "two.conllu", "-o", folder / "dependency", "-q").exit_code == 0
    assert run("train", "anchors", taggings, "-o", folder / "anchors", "--n-states", "3", "-q").exit_code == 0
    lists = folder / "lists"
    lists.write_text(run("rerank", "lists", model, treebank, "--n-best", "3").stdout)
    given = (lists, "--gold", treebank, "--model", model, "-o", folder / "reranker", "-q")
    assert run("rerank", "train", *given).exit_code == 0
    own = {name: folder / name for name in ("dependency", "anchors", "reranker")}
    return {"constituency": model, "tagger": tagger, **own}


def test_every_kind_of_model_has_a_table_and_json(run: Run, files: dict[str, Path]) -> None:
    for kind, file in files.items():
        found = facts(run, file)
        assert (found["kind"], found["library"], found["bytes"]) == (kind, __version__, file.stat().st_size)
        assert found["options"]
        if kind != "reranker":
            assert found["fingerprint"] == load(file).fingerprint
        result = run("info", file)
        assert result.exit_code == 0
        names = [line.split(" ")[0] for line in result.stdout.splitlines()]
        assert set(names) == set(found) and len(names) == len(found)
        assert max(map(len, result.stdout.splitlines())) < 400


def test_places_of_what_was_left_out_are_without_folders(run: Run, tmp_path: Path) -> None:
    """The record holds no folder, so that the same training makes the same file anywhere."""
    (tmp_path / "old.psd").write_text("( (NP (N dog-dog)) (ID A,.1))\n( (CODE x) (ID A,.2))\n")
    assert run("train", "constituency", tmp_path / "old.psd", "-o", tmp_path / "model", "-q").exit_code == 0
    changes = facts(run, tmp_path / "model")["changes"]
    assert changes["first left out"] == {"trees without words left out": ["old.psd, line 2"]}


def test_labels_tags_and_models(run: Run, files: dict[str, Path]) -> None:
    assert facts(run, files["constituency"])["labels"] == ["NP", "PP", "PRN", "S", "VP"]
    assert "VBP" in facts(run, files["constituency"])["tags"]
    of_dependency = facts(run, files["dependency"])
    assert (of_dependency["tags"], of_dependency["column"]) == (["NNS", "VBP"], "upos")
    assert of_dependency["relations"] == ["root", "subj"]
    assert set(facts(run, files["tagger"])["tags"]) == set(load(files["tagger"]).tags)  # type: ignore[union-attr]
    assert len(facts(run, files["anchors"])["anchors"]) == 3
    model = load(files["constituency"])
    assert facts(run, files["reranker"])["models"] == {"latent": model.fingerprint}


def test_the_record_of_training(run: Run, files: dict[str, Path], treebank: Path) -> None:
    """The command without folders, the examples and words that were read, and their digest in order."""
    found = facts(run, files["constituency"])
    assert found["command"] == f"spectral-latent train constituency {treebank.name} --n-states 4"
    assert (found["trees"], found["words"]) == (18, 120)
    # The trees as `conftest.TREES` writes them: each has an outer bracket and a trace.
    assert found["changes"] == {
        "top brackets removed": 18,
        "empty elements removed": 18,
        "function labels and indices cut from phrases": 6,
        "commonest empty elements": {"*": 18},
    }
    of_dependency = facts(run, files["dependency"])
    columns = [["Dogs", "bark"], ["_"] * 2, ["NNS", "VBP"], ["NNS", "VBP"], ["_"] * 2, [2, 0], ["subj", "root"], [], []]
    digest = blake2b(f"{json.dumps(columns)}\n".encode(), digest_size=32).hexdigest()
    assert of_dependency["sources"] == [{"name": "two.conllu", "content": digest}]
    assert (of_dependency["trees"], of_dependency["words"]) == (1, 2)
    assert facts(run, files["tagger"])["command"].endswith(" --n-states 2")


def test_the_same_training_makes_the_same_file(run: Run, treebank: Path, model: Path, tmp_path: Path) -> None:
    """Wherever the source lies, under whatever name and by however many jobs the model is made."""
    (tmp_path / "elsewhere").mkdir()
    copy = tmp_path / "elsewhere" / treebank.name
    copy.write_bytes(treebank.read_bytes())
    for options in ([], ["--jobs", "2"], ["--seed", "0"], ["-q"]):
        again = ("train", "constituency", copy, "-o", tmp_path / "again", "--n-states", "4", *options)
        assert run(*again).exit_code == 0
        assert (tmp_path / "again").read_bytes() == model.read_bytes()
    copy.write_text(treebank.read_text().replace("house", "mouse"))
    assert run("train", "constituency", copy, "-o", tmp_path / "again", "--n-states", "4", "-q").exit_code == 0
    assert facts(run, tmp_path / "again")["sources"] != facts(run, model)["sources"]


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
    assert f"f1 {expected['f1']:.4g}" in run("info", tmp_path / "one").stdout
    assert found["fingerprint"] == facts(run, model)["fingerprint"]


def test_labelled_anchors_keep_the_record(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    labels = (f"{anchor}=TAG" for anchor in facts(run, files["anchors"])["anchors"])
    assert run("label", files["anchors"], *labels, "-o", tmp_path / "labelled", "-q").exit_code == 0
    found, before = facts(run, tmp_path / "labelled"), facts(run, files["anchors"])
    assert found["labels"] == ["TAG"] * 3
    assert [found[name] for name in ("command", "sources", "words")] == [
        before[name] for name in ("command", "sources", "words")
    ]


def test_models_without_a_record(run: Run, files: dict[str, Path], tmp_path: Path) -> None:
    load(files["tagger"]).save(tmp_path / "model")
    assert "command" not in facts(run, tmp_path / "model")
    arrays, settings = load_model(files["tagger"])
    save_model(tmp_path / "model", arrays, {**settings, "record": ["nonsense"]})
    result = run("info", tmp_path / "model")
    assert (result.exit_code, "the record of training is damaged" in result.stderr) == (1, True)
    assert run("info", tmp_path / "none").exit_code == 1

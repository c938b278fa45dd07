"""Models that come with the library: found by name, small enough, as accurate as they say, and made anew alike."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import models as recipes
from benchmarks._results import read_results
from benchmarks.words import read_words
from spectral_latent import ConstituencyModel, DependencyModel, load
from spectral_latent.cli.inputs import record_of
from spectral_latent.files import ModelFileError
from spectral_latent.ready import FOLDER, listed_models, ready_models
from tests.documents import ROOT, documents
from tests.toy import toy_treebank

MOST_BYTES = 16_000_000


def test_all_listed_models_are_here_and_small_and_tell_their_sources() -> None:
    assert ready_models() == listed_models()
    assert sum(model.file.stat().st_size for model in ready_models()) <= MOST_BYTES
    licence = (FOLDER / "LICENSE").read_text("utf-8")
    for model in ready_models():
        assert f"\n{model.name}\n" in licence
        record = record_of(model.name)
        assert record is not None and record["sources"] and record["command"].endswith(f" {model.name}")


def test_a_page_and_info_say_what_a_model_is_good_at_and_how_good(run: Any) -> None:
    page = documents()["docs/citing.md"]
    results = read_results()
    for model in listed_models():
        assert f"\n| `{model.name}` | {model.good_at} | {model.bad_at} |\n" in page
        assert model.sources == "none" or f"\n| `{model.name}` | {model.sources} |" in page
        measured = {
            cell for result in results if result.cells.get("model") == model.name for cell in result.cells.values()
        }
        assert measured.issuperset(re.findall(r"\d+\.\d", model.figures))
        found = json.loads(run("info", model.name, "--json").stdout)
        about = [f"{model.language}: {model.about}", model.sources, model.good_at, model.bad_at, model.figures]
        assert [found[name] for name in ("about", "learnt from", "good at", "bad at", "figures")] == about


def test_english_sentences_are_parsed_as_accurately_as_when_it_was_made(run: Any) -> None:
    """Measured on everyday sentences: F1 98.4, 98.5 % of the tags, and 89.8 % of the trees."""
    found = json.loads(run("evaluate", "en", ROOT / "benchmarks/everyday_test.mrg", "--json").stdout)
    assert found["f1"] > 97.5 and found["tagging_accuracy"] > 97.5 and found["exact"] > 87.0


def test_universal_dependencies_are_parsed_as_accurately_as_when_it_was_made(
    run: Any, shared_file: Callable[[str], Path]
) -> None:
    """Measured on the sentences of at most nine words of EWT's dev part, with their tags: LAS 86.9, UAS 89.1."""
    file = shared_file("ud/en_ewt/en_ewt-ud-dev.conllu")
    found = json.loads(run("evaluate", "en-ud", file, "--max-length", "9", "--json").stdout)
    assert found["las"] > 86.0 and found["uas"] > 88.2


def test_models_are_loaded_by_name() -> None:
    english, dependencies = load("en"), load("en-ud")
    assert isinstance(english, ConstituencyModel) and isinstance(dependencies, DependencyModel)
    assert ConstituencyModel.load("en").fingerprint == english.fingerprint
    (parses,) = english.parse_text("The horse ate my sandwich.")
    assert parses[0].tree.bracketed() == (
        "(S (NP (DT The) (NN horse)) (VP (VBD ate) (NP (PRP$ my) (NN sandwich))) (. .))"
    )
    (parses,) = dependencies.parse_text("The horse ate my sandwich.")
    tree = parses[0].tree
    assert tree.heads == (2, 3, 0, 5, 3, 3)
    assert tree.upos == ("DET", "NOUN", "VERB", "PRON", "NOUN", "PUNCT")
    assert tree.xpos == ("DT", "NN", "VBD", "PRP$", "NN", ".")
    assert tree.lemmas == ("the", "horse", "eat", "my", "sandwich", ".")
    assert tree.feats[1:3] == ("Number=Sing", "Mood=Ind|Number=Sing|Person=3|Tense=Past|VerbForm=Fin")


def test_a_file_of_the_name_of_a_model_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = ConstituencyModel.train(toy_treebank(20))
    own.save("en")
    with pytest.warns(UserWarning, match="en"):
        assert load("en").fingerprint == own.fingerprint
    for name, told in (
        ("nomodel", "ready models are .*en"),
        ("no.model", "No such file"),
        ("no/model", "No such file"),
    ):
        with pytest.raises(ModelFileError, match=told):
            load(name)


def test_a_text_in_another_language_gets_one_warning(run: Any, tmp_path: Path) -> None:
    german = "Der Hund bellt laut und die Katze schläft ruhig auf dem alten Sofa . Heute regnet es schon wieder .\n"
    (tmp_path / "german.txt").write_text(german * 3, encoding="utf-8")
    assert run("parse", "en", tmp_path / "german.txt").stderr.count("never seen") == 1
    with pytest.warns(UserWarning, match="never seen"):
        load("en").parse_text(german * 3)
    assert run("parse", "en", stdin="The dog ate the sandwich that my neighbour made for lunch . " * 3).stderr == ""


def test_a_recipe_makes_the_same_bytes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "read_words", lambda: read_words()[::300])
    trees = toy_treebank(60)
    (tmp_path / "trees.mrg").write_text("".join(f"{tree.bracketed()}\n" for tree in trees), encoding="utf-8")
    words = "".join(f"{n}\t{word}\t_\t_\t_\t_\t{n - 1}\t_\t_\t_\n" for n, word in enumerate(trees[0].words(), start=1))
    (tmp_path / "words.conllu").write_text(f"{words}\n" * 3, encoding="utf-8")
    files = [tmp_path / "trees.mrg", tmp_path / "words.conllu"]
    monkeypatch.setattr(recipes, "WRITTEN", files[0])
    for name in ("a", "b"):
        recipes.train_english(files).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

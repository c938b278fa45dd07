"""`spectral-latent evaluate`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent import load
from tests.cli.conftest import Run

KEYS = ["precision", "recall", "f1", "exact", "tagging_accuracy", "sentences", "fallbacks", "sentences_per_second"]
COLUMNS = "1\tit\t_\tPRON\tPRP\t_\t_\t_\t_\t_\n"


def figures(result: Any) -> dict[str, float]:
    assert result.exit_code == 0, result.stderr
    return dict(json.loads(result.stdout))


def test_figures_are_a_table_or_one_object(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    """Of the trees of training; of more trees, one of them with a phrase more; and of short sentences alone."""
    found = figures(run("evaluate", model, treebank, "--json"))
    assert found.pop("sentences_per_second") > 0
    assert found == dict.fromkeys(KEYS[:5], 100.0) | {"sentences": 18, "fallbacks": 0}
    rows = [line.rsplit(maxsplit=1) for line in run("evaluate", model, treebank).stdout.splitlines()]
    assert [row[0].replace(" ", "_") for row in rows] == KEYS
    assert [float(row[1]) for row in rows[:-1]] == list(found.values())
    (tmp_path / "more.mrg").write_text("(S (NP (PRP They)) (VP (VP (VBP see) (NP (PRP it)))) (. .))\n(X (. .) (. .))")
    found = figures(run("evaluate", model, treebank, tmp_path / "more.mrg", "--json"))
    assert (found["sentences"], found["fallbacks"]) == (20, 0)
    assert 90 < found["recall"] < 100
    assert figures(run("evaluate", model, treebank, "--json", "--max-length", "4"))["sentences"] == 2
    result = run("evaluate", model, treebank, "--json", "--max-length", "3")
    assert (result.exit_code, result.stdout, str(treebank) in result.stderr) == (1, "", True)


@pytest.mark.parametrize("kind", ["constituency", "tagger", "hmm", "anchors"])
def test_perplexity_is_that_of_the_probabilities(run: Run, files: Path, kind: str) -> None:
    """Also of states without names."""
    gold = files / ("gold.mrg" if kind == "constituency" else "gold.tagged")
    rows = [
        [token.split("/")[0] for token in line.split()] for line in (files / "gold.tagged").read_text().splitlines()
    ]
    plain, found = (figures(run("evaluate", files / kind, gold, "--json", *more)) for more in ([], ["--perplexity"]))
    log = load(files / kind).log_probabilities(rows)
    possible = np.isfinite(log)
    n_words = sum(len(row) for row, kept in zip(rows, possible, strict=True) if kept)
    assert found["perplexity"] == pytest.approx(np.exp(-log[possible].sum() / n_words))
    assert found["impossible"] == (~possible).sum()
    assert {*found} - {*plain} == {"perplexity", "impossible"}


def test_tags_of_known_unknown_and_foreign_words(run: Run, tagger: Path, taggings: Path, tmp_path: Path) -> None:
    found = figures(run("evaluate", tagger, taggings, "--json"))
    tokens = len(taggings.read_text().split())
    assert [*found.values()][:-1] == [100.0, 0.0, 100.0, 18, tokens, 0]
    (tmp_path / "a.tagged").write_text("They/PRP see/VBP mice/NNS\nthey/PRP\nit/DT\n")
    found = figures(run("evaluate", tagger, tmp_path / "a.tagged", "--json"))
    assert [*found.values()][2:6] == [pytest.approx(200 / 3), 3, 5, 2]
    assert found["accuracy"] == pytest.approx((2 + 2 * found["unknown_accuracy"] / 100) * 20)
    (tmp_path / "a.tagged").write_text("They/PRON see/VBP it/PRON ./PUNCT\n")
    result = run("evaluate", tagger, tmp_path / "a.tagged", "--json")
    assert (figures(result)["accuracy"], figures(result)["tokens"]) == (25.0, 4)
    assert "PRON (2), PUNCT (1)" in result.stderr and "--column" in result.stderr
    assert run("evaluate", tagger, tmp_path / "a.tagged", "-q").stderr == ""


def test_columns_are_those_of_training_or_those_asked_for(run: Run, tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(COLUMNS)
    for options, accuracy in (([], 0.0), (["--column", "xpos"], 100.0)):
        assert figures(run("evaluate", tagger, tmp_path, "--json", *options))["accuracy"] == accuracy
    assert run("evaluate", tagger, tmp_path, "--column", "feats").exit_code == 2
    model = tmp_path / "model"
    assert run("train", "tagger", tmp_path / "a.conllu", "-o", model, "--column", "xpos", "-q").exit_code == 0
    for options, accuracy in (([], 100.0), (["--column", "xpos"], 100.0), (["--column", "upos"], 0.0)):
        found = figures(run("evaluate", model, tmp_path / "a.conllu", "--json", *options))
        assert found["accuracy"] == accuracy
    (tmp_path / "text.tagged").write_text("it/PRP\n")  # has no columns
    found = figures(run("evaluate", model, tmp_path, "--json"))
    assert (found["accuracy"], found["tokens"]) == (100.0, 2)
    result = run("evaluate", model, tmp_path, "--column", "xpos")
    assert (result.exit_code, "'xpos'" in result.stderr) == (1, True)


def test_function_labels(run: Run, treebank: Path, tmp_path: Path) -> None:
    """A parser that is trained with them has a second figure, and writes them."""
    file = tmp_path / "model"
    assert run("train", "constituency", treebank, "-o", file, "--function-labels", "-q").exit_code == 0
    found = figures(run("evaluate", file, treebank, "--json"))
    assert list(found) == [*KEYS[:3], "f1_with_functions", *KEYS[3:]]
    assert (found["f1"], found["f1_with_functions"]) == (100.0, 100.0)
    assert "(NP-SBJ (PRP They))" in run("parse", file, stdin="They see it .").stdout

"""`spectral-latent evaluate` and `spectral-latent demo`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent import load
from spectral_latent.corpora import constituency_trees, tagged_sentences
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import GoldTree
from spectral_latent.sequence import HMMOptions, LatentHMM

Run = Callable[..., Any]

KEYS = ["precision", "recall", "f1", "exact", "tagging_accuracy", "sentences", "fallbacks", "sentences_per_second"]


def figures(result: Any) -> dict[str, float]:
    assert result.exit_code == 0, result.stderr
    return dict(json.loads(result.stdout))


def test_json_is_one_object(run: Run, model: Path, treebank: Path) -> None:
    found = figures(run("evaluate", model, treebank, "--json"))
    assert list(found) == KEYS
    assert found.pop("sentences_per_second") > 0
    assert found == dict.fromkeys(KEYS[:5], 100.0) | {"sentences": 18, "fallbacks": 0}


def test_perplexity(run: Run, model: Path, treebank: Path, tagger: Path, taggings: Path) -> None:
    """Of a parser and of a tagger, against their probabilities."""
    trees = (GoldTree.of(tree) for tree in constituency_trees(str(treebank)))
    words = [tree.words for tree in trees if tree is not None]
    sentences = [[word for word, _ in row] for row in tagged_sentences(str(taggings))]
    for file, gold, rows in ((model, treebank, words), (tagger, taggings, sentences)):
        found = figures(run("evaluate", file, gold, "--json", "--perplexity"))
        log = load(file).log_probabilities(rows)
        possible = np.isfinite(log)
        n_words = sum(len(row) for row, kept in zip(rows, possible, strict=True) if kept)
        assert found["perplexity"] == pytest.approx(np.exp(-log[possible].sum() / n_words))
        assert found["impossible"] == (~possible).sum()


def test_perplexity_of_states_without_names(run: Run, taggings: Path, tmp_path: Path) -> None:
    rows = [[word for word, _ in row] for row in tagged_sentences(str(taggings))]
    LatentHMM.train(rows, HMMOptions(EstimatorOptions("moments-em", n_states=2), choose_states=False)).save(
        tmp_path / "hmm"
    )
    assert run("train", "anchors", taggings, "-o", tmp_path / "anchors", "--n-states", "2", "-q").exit_code == 0
    for name in ("hmm", "anchors"):
        command = ("evaluate", tmp_path / name, taggings, "--json")
        found = figures(run(*command, "--perplexity"))
        log = load(tmp_path / name).log_probabilities(rows)
        assert found["perplexity"] == pytest.approx(np.exp(-log.sum() / sum(map(len, rows))))
        assert found["impossible"] == 0
        assert {*found} - {*figures(run(*command))} == {"perplexity", "impossible"}


def test_table(run: Run, model: Path, treebank: Path) -> None:
    result = run("evaluate", model, treebank)
    assert [line[:24].strip().replace(" ", "_") for line in result.stdout.splitlines()] == KEYS
    assert "precision                 100.00\n" in result.stdout
    assert "sentences                  18\n" in result.stdout


def test_longer_sentences_are_left_out(run: Run, model: Path, treebank: Path) -> None:
    assert figures(run("evaluate", model, treebank, "--json", "--max-length", "4"))["sentences"] == 2
    result = run("evaluate", model, treebank, "--json", "--max-length", "3")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{treebank}: no trees of at most 3 words to evaluate on" in result.stderr


def test_several_sources_and_a_wrong_tree(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "more.mrg").write_text("(S (NP (PRP They)) (VP (VP (VBP see) (NP (PRP it)))) (. .))\n(X (. .) (. .))")
    found = figures(run("evaluate", model, treebank, tmp_path / "more.mrg", "--json"))
    assert (found["sentences"], found["fallbacks"]) == (20, 0)
    assert 90 < found["recall"] < 100


def test_demo(run: Run) -> None:
    result = run("demo", "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    english, trained, following = result.stdout.split("\n\n")[-3:]
    assert "parse en" in following and "was" in english
    rows = [line.split() for line in trained.splitlines()[2:5]]
    plain, spectral, truth = (float(next(cell for cell in row if cell[0].isdigit())) for row in rows)
    assert plain + 5 < spectral < truth


TAGGER_KEYS = [
    "accuracy",
    "unknown_accuracy",
    "known_accuracy",
    "sentences",
    "tokens",
    "unknown_tokens",
    "tokens_per_second",
]


def test_a_tagger(run: Run, tagger: Path, taggings: Path, tmp_path: Path) -> None:
    result = run("evaluate", tagger, taggings, "--json")
    found = figures(result)
    assert (list(found), result.stderr) == (TAGGER_KEYS, "")
    assert found.pop("tokens_per_second") > 0
    tokens = len(taggings.read_text().split())
    assert list(found.values()) == [100.0, 0.0, 100.0, 18, tokens, 0]
    (tmp_path / "a.tagged").write_text("They/PRP see/VBP mice/NNS\nthey/PRP\nit/DT\n")
    found = figures(run("evaluate", tagger, tmp_path / "a.tagged", "--json"))
    assert [found[key] for key in TAGGER_KEYS[2:6]] == [pytest.approx(200 / 3), 3, 5, 2]
    assert found["accuracy"] == pytest.approx((2 + 2 * found["unknown_accuracy"] / 100) * 20)


def test_tags_that_the_tagger_lacks(run: Run, tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tagged").write_text("They/PRON see/VBP it/PRON ./PUNCT\n")
    result = run("evaluate", tagger, tmp_path / "a.tagged", "--json")
    assert (figures(result)["accuracy"], figures(result)["tokens"]) == (25.0, 4)
    assert result.stderr == (
        "The tagger does not have these gold tags, which all count as errors: PRON (2), PUNCT (1); for another tag set "
        "give --column\n"
    )
    assert run("evaluate", tagger, tmp_path / "a.tagged", "-q").stderr == ""


def test_columns(run: Run, model: Path, tagger: Path, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("1\tit\t_\tPRON\tPRP\t_\t_\t_\t_\t_\n")
    for options, accuracy in (([], 0.0), (["--column", "xpos"], 100.0)):
        assert figures(run("evaluate", tagger, tmp_path, "--json", *options))["accuracy"] == accuracy
    result = run("evaluate", model, treebank, "--column", "upos")
    assert (
        result.exit_code,
        f"--column is for a tagger or an anchor model or a hidden Markov model, and {model} is a constituency parser"
        in result.stderr,
    ) == (2, True)
    assert run("evaluate", tagger, tmp_path, "--column", "feats").exit_code == 2


def test_the_column_of_training(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train.conllu").write_text("1\tit\t_\tPRON\tPRP\t_\t_\t_\t_\t_\n")
    model = tmp_path / "model"
    assert run("train", "tagger", tmp_path / "train.conllu", "-o", model, "--column", "xpos", "-q").exit_code == 0
    (tmp_path / "text.tagged").write_text("it/PRP\n")  # has no columns
    for options, accuracy in (([], 100.0), (["--column", "xpos"], 100.0), (["--column", "upos"], 0.0)):
        found = figures(run("evaluate", model, tmp_path / "train.conllu", "--json", *options))
        assert found["accuracy"] == accuracy
    found = figures(run("evaluate", model, tmp_path, tmp_path / "text.tagged", "--json"))
    assert (found["accuracy"], found["tokens"]) == (100.0, 3)
    result = run("evaluate", model, tmp_path, "--column", "xpos")
    assert (result.exit_code, "leave out the column 'xpos'" in result.stderr) == (1, True)


def test_function_labels(run: Run, treebank: Path, tmp_path: Path) -> None:
    """A parser that is trained with them has a second figure, and writes them."""
    file = tmp_path / "model"
    assert run("train", "constituency", treebank, "-o", file, "--function-labels", "-q").exit_code == 0
    found = figures(run("evaluate", file, treebank, "--json"))
    assert list(found) == [*KEYS[:3], "f1_with_functions", *KEYS[3:]]
    assert (found["f1"], found["f1_with_functions"]) == (100.0, 100.0)
    assert "(NP-SBJ (PRP They))" in run("parse", file, stdin="They see it .").stdout

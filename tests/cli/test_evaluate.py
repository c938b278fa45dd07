"""`spectral-latent evaluate` and `spectral-latent demo`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN dog))\n(S (-NONE- *))", "line 2: the tree that begins here has no words"),
        ("(S (NN dog)", "line 1: the bracket that opens here is never closed"),
        ("", "no trees"),
    ],
)
def test_gold_that_is_not(run: Run, model: Path, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gold.mrg").write_text(text)
    result = run("evaluate", model, tmp_path / "gold.mrg", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{tmp_path / 'gold.mrg'}" in result.stderr
    assert message in result.stderr


def test_demo(run: Run) -> None:
    result = run("demo", "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    _, *rows = (line.split() for line in result.stdout.splitlines()[:4])
    plain, spectral, truth = (float(row[-4]) for row in rows)
    assert plain + 5 < spectral < truth
    assert [line.split()[0] for line in result.stdout.splitlines()[-3:]] == ["plain", "spectral", "truth"]

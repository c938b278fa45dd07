"""`spectral-latent recipe`: what recipes need, and what they make."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.cli.evaluate import evaluate
from spectral_latent.cli.recipe import RECIPES, Recipe
from spectral_latent.cli.train import train
from spectral_latent.sequence import LatentTagger

Run = Callable[..., Any]
ROW = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n"
SENTENCE = ROW.format(1, "Dogs", "NOUN", 2, "nsubj") + ROW.format(2, "bark", "VERB", 0, "root") + "\n"


def test_a_list_of_all(run: Run) -> None:
    lines = run("recipe", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(RECIPES)
    assert "f1 84.5, dev" in lines[0] and "not measured" in lines[-1]
    assert "silver" in lines[list(RECIPES).index("gum")]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_what_is_shown_are_commands(run: Run, recipe: Recipe) -> None:
    shown = run("recipe", "show", recipe.name).stdout
    assert recipe.corpus.name in shown and recipe.corpus.get in shown
    (_, kind, *training), (_, *evaluation) = recipe.commands(
        recipe.corpus.training, recipe.corpus.held_out, f"{recipe.name}.model"
    )
    assert " ".join(training) in shown and " ".join(evaluation) in shown
    train.commands[kind].make_context("train", training)
    evaluate.make_context("evaluate", evaluation)
    assert (recipe.expected is None) == (recipe.seconds is None)


def test_a_tagger_of_a_folder(run: Run, tmp_path: Path) -> None:
    for part in ("train", "dev"):
        (tmp_path / f"xx-ud-{part}.conllu").write_text(SENTENCE * 5)
    model = tmp_path / "model"
    result = run("recipe", "run", "ud-tagger", tmp_path, "-o", model, "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    assert set(LatentTagger.load(model).tags) == {"NOUN", "VERB"}
    head, figure, seconds = result.stdout.splitlines()[-3:]
    assert head.split() == ["expected", "found"]
    assert figure.split() == ["accuracy", f"{RECIPES['ud-tagger'].expected:.1f}", "100.0"]
    assert seconds.split()[:2] == ["CPU", "seconds"]


def test_a_parser_of_a_folder_of_folders(run: Run, treebank: Path, tmp_path: Path) -> None:
    for part in ("train", "dev"):
        (tmp_path / part).mkdir()
        shutil.copy(treebank, tmp_path / part)
    result = run("recipe", "run", "gum", tmp_path, "-o", tmp_path / "model")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-2].split() == ["f1", "-", "100.0"]
    assert "Training on 18 trees" in result.stderr


def test_what_is_missing(run: Run, tmp_path: Path) -> None:
    for arguments, status, message in (
        (("ud-parser",), 2, "ud-parser needs a FOLDER with a treebank of Universal Dependencies"),
        (("treebank", tmp_path), 2, "treebank takes no FOLDER"),
        (
            ("penn", tmp_path, "-o", tmp_path / "model"),
            1,
            f"{tmp_path}: no 02 in this folder; give the",
        ),
        (("ptb",), 2, "'ptb' is not one of"),
    ):
        result = run("recipe", "run", *arguments)
        assert (result.exit_code, message in result.stderr) == (status, True), result.stderr


@pytest.mark.corpus
def test_the_expected_score(run: Run, require_corpus: Callable[[str], Any], tmp_path: Path) -> None:
    require_corpus("treebank")
    result = run("recipe", "run", "treebank-tagger", "-o", tmp_path / "model", "-q")
    _, expected, found = result.stdout.splitlines()[-2].split()
    assert abs(float(found) - float(expected)) < 0.15

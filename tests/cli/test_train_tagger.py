"""`spectral-latent train tagger`: what is written, and what is refused."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.corpora import tagged_sentences
from spectral_latent.estimation import ESTIMATORS
from spectral_latent.sequence import LatentTagger

Run = Callable[..., Any]

ROW = "{}\t{}\t_\t{}\t{}\t_\t_\t_\t_\t_\n"
DOGS = ROW.format(1, "Dogs", "NOUN", "NNS") + ROW.format(2, "bark", "VERB", "VBP") + "\n"


@pytest.mark.parametrize(
    ("removed", "options", "column", "tags", "gaps"),
    [
        ([], [], "upos", "NOUN VERB", 0),
        ([], ["--column", "xpos"], "xpos", "NNS VBP", 0),
        (["NNS"], ["--column", "xpos"], "xpos", "NOUN VBP", 1),
        (["NOUN"], [], "upos", "NNS VERB", 1),
        (["NOUN", "NNS"], [], "upos", "X VERB", 1),
    ],
)
def test_columns(
    run: Run, tmp_path: Path, removed: list[str], options: list[str], column: str, tags: str, gaps: int
) -> None:
    """The column is kept in the model; a word without a tag there gets that of the other column, or X."""
    text = DOGS
    for tag in removed:
        text = text.replace(tag, "_")
    (tmp_path / "a.conllu").write_text(text)
    result = run("train", "tagger", tmp_path / "a.conllu", "-o", tmp_path / "model", *options)
    assert result.exit_code == 0
    model = LatentTagger.load(tmp_path / "model")
    assert (model.tags, model.tagset) == (tags.split(), column)
    assert (f"Warning: words without an {column} tag: 1 of 2" in result.stderr) == (gaps > 0)


def test_settings_and_the_same_bytes(run: Run, taggings: Path, tmp_path: Path) -> None:
    for name, extra in (("a", []), ("b", ["--jobs", "2"]), ("c", ["--n-states", "3", "--seed", "7"])):
        assert run("train", "tagger", taggings, "-o", tmp_path / name, *extra).exit_code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    options = LatentTagger.load(tmp_path / "c").options
    assert options.estimator == ESTIMATORS["clusters-em"].with_settings(n_states=3, seed=7)


def test_several_sources_and_kinds(run: Run, taggings: Path, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(DOGS)
    result = run("train", "tagger", taggings, tmp_path, "-o", tmp_path / "model")
    assert result.exit_code == 0
    assert "Training on 19 sentences" in result.stderr
    assert {"NOUN", "PRP"} <= set(LatentTagger.load(tmp_path / "model").tags)


def test_a_corpus_of_nltk(run: Run, require_corpus: Callable[[str], Any], tmp_path: Path) -> None:
    require_corpus("treebank")
    result = run("train", "tagger", "nltk:treebank:dev", "-o", tmp_path / "model", "-q")
    assert result.exit_code == 0, result.stderr
    assert len(LatentTagger.load(tmp_path / "model").tags) == 43
    sentences = list(tagged_sentences("nltk:treebank:test"))
    text = "".join(" ".join(word for word, _ in sentence) + "\n" for sentence in sentences)
    tagged = [line.split(" ") for line in run("tag", tmp_path / "model", stdin=text).stdout.splitlines()]
    pairs = [tuple(token.rpartition("/")[::2]) for line in tagged for token in line]
    gold = [pair for sentence in sentences for pair in sentence]
    right = sum(pair == other for pair, other in zip(pairs, gold, strict=True))
    assert right / len(gold) > 0.92


def test_what_cannot_be_written(run: Run, taggings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model"
    model.write_bytes(b"an older model")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        result = run("train", "tagger", taggings, "-o", model, "-q")
        assert (result.exit_code, result.stderr) == (1, f"Error: {model}: No space left on device\n")
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    result = run("train", "tagger", taggings, "-o", model)
    assert (result.exit_code, "the folder may not be written to; give another" in result.stderr) == (2, True)
    assert "Training" not in result.stderr  # told before all work
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("model", b"an older model")]

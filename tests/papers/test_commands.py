"""Commands of papers: on generated corpora, against the library's own functions, and on a part of NLTK's."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from benchmarks import accuracy
from benchmarks._results import tables_in
from benchmarks.papers import cohen2013, dhillon2012, stratos2016
from benchmarks.papers.closed_form import paper_options
from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.dependency import DependencyModel, preset
from spectral_latent.estimation import EM, Decomposition, Random
from spectral_latent.evaluation import many_to_one, score_attachments
from spectral_latent.trees import Vocabulary
from tests.dependency.trees import random_tree


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("papers") / "all.tagged"
    kinds = {"DET": ["the", "a"], "NOUN": ["cat", "dog", "ship"], "VERB": ["saw", "ran"], ".": [".", "!"]}
    shapes = [("DET", "NOUN", "VERB", "."), ("NOUN", "VERB", "DET", "NOUN", "."), ("DET", "NOUN", "VERB", "NOUN")]
    rng = np.random.default_rng(0)
    lines = []
    for shape in (shapes[i] for i in rng.integers(0, 3, 150)):
        lines.append(" ".join(f"{kinds[tag][rng.integers(len(kinds[tag]))]}/{tag}" for tag in shape))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("papers") / "all.conllu"
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(60):
        tags = rng.choice(list("ABCD"), int(rng.integers(3, 8)))
        words = enumerate(zip(tags, random_tree(rng, len(tags)), strict=True), start=1)
        sentences.append("".join(f"{i}\t{t.lower()}\t_\t{t}\t{t}\t_\t{h}\tdep\t_\t_\n" for i, (t, h) in words))
    path.write_text("\n".join(sentences) + "\n")
    return path


def test_every_step_of_the_slides_is_a_model() -> None:
    models = accuracy.TASKS["phrases"].models
    assert {*cohen2013.PAPER_F1, *cohen2013.SLIDES, *cohen2013.ONE_STATE} <= models.keys()


def test_steps_add_one_thing_each() -> None:
    plain, absolute, scaled, ours, smoothed, simple = (cohen2013.step_options(step, 4) for step in cohen2013.STEPS[:6])
    assert (plain.marginals, absolute.marginals, scaled.marginals) == ("undivided", "absolute", "absolute")
    assert (absolute.estimator.scaling, scaled.estimator.scaling) == (None, 5.0)
    assert ours == replace(
        scaled, estimator=scaled.estimator.with_settings(scaling=ConstituencyOptions().estimator.scaling)
    )
    assert (ours.estimator.smoothing, smoothed.estimator.smoothing is not None) == (None, True)
    assert (smoothed.features, simple.features) == ("all", "simple")
    em, hybrid = (cohen2013.step_options(step, 4).estimator for step in cohen2013.STEPS[6:])
    assert (em, hybrid) == (EM(Random(4), iterations=20, tolerance=0.0), EM(Decomposition(4)))


def test_table_1_of_dhillon2012(
    dependencies: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of a parser that learnt from all trees are reranked; rerankers learn from lists of three other parsers."""
    sources = ["--train", str(dependencies), "--evaluate", str(dependencies)]
    monkeypatch.setattr("sys.argv", ["dhillon2012", *sources, "--n-best", "4", "--n-states", "2"])
    dhillon2012.main()
    ((first, *found),) = tables_in(capsys.readouterr().out)
    gold = dhillon2012.read_trees(str(dependencies))
    treebank = dhillon2012.ObservedTreebank(gold, Vocabulary(tag for tree in gold for tag in tree.xpos))
    parser = DependencyModel.train(gold, replace(preset("fast")[0], tags="xpos"))
    score = score_attachments(gold, [parser.parse(tree.without_tree()).tree for tree in gold])
    assert (first["features"], first["accuracy"]) == ("base parser", f"{score.uas_no_punctuation:.2f}")
    assert [row["features"] for row in found] == ["+ baseline features", "+ log p̂ (paper)", "+ log p̂ (corrected)"]
    assert found[0]["over baseline"] == "+0.00 (+0.0 to +0.0)"
    learnt = dhillon2012.ListsOfPart.jackknife(treebank, 2, 4)
    assert [nbest.words for nbest in learnt.lists] == [tree.forms for tree in gold]
    own = DependencyModel.train(gold[20:], replace(preset("fast")[0], tags="xpos"))
    trees = [[parse.tree.heads for parse in own.parse_nbest(tree.without_tree(), 4)] for tree in gold[:20]]
    assert [[tree.heads for tree, *_ in nbest.candidates] for nbest in learnt.lists[:20]] == trees


def test_stratos2016(tagged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for table in ("1", "2", "5"):
        options = ["--n-states", "4", "--seeds", "2", "--iterations", "3"]
        stratos2016.main([table, str(tagged), str(tagged), *options])
        print()  # between tables
    methods, assumptions = tables_in(capsys.readouterr().out)
    names = [*stratos2016.HULLS, *stratos2016.METHODS]
    assert [row["method"] for row in methods] == [name for name in names for _ in range(3)]
    assert [row["types"] for row in assumptions] == ["9", "9"]
    by_method = {row["method"]: row for row in methods if row["corpus"] == "mean"}
    assert by_method["anchor"]["paper, many-to-one"] == "66.1"
    assert "(" in next(row for row in methods if row["method"] == "Baum-Welch")["many-to-one"]
    corpus = stratos2016.TaggedCorpus.read(str(tagged))
    for name, options in (
        ("library + features", AnchorOptions(n_states=4)),
        ("cca", replace(paper_options(4, "cca"), added=1.0)),
    ):
        states = AnchorHMM.train(corpus.words, options).tag_all(corpus.words)
        score = many_to_one(list(chain(*corpus.tags)), list(chain(*states)))
        assert by_method[name]["many-to-one"] == f"{score:.1f}"


def test_table_7_has_the_tags_of_the_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CoNLL-U has other tags in its fifth column."""
    words = [("the", "DET", "DT"), ("cat", "NOUN", "NN"), ("cats", "NOUN", "NNS"), ("saw", "VERB", "VBD")]
    rows = "".join(f"{i}\t{w}\t_\t{u}\t{x}\t_\t0\troot\t_\t_\n" for i, (w, u, x) in enumerate(words, start=1))
    (path := tmp_path / "fine.conllu").write_text((rows + "\n") * 20)
    stratos2016.main(["7", str(path), "--methods", "Baum-Welch", "--iterations", "2"])
    ((row,),) = tables_in(capsys.readouterr().out)
    assert (row["method"], row["states"]) == ("Baum-Welch", "4")

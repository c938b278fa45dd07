"""Commands of papers: on generated corpora, against the library's own functions, and on a part of NLTK's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from benchmarks.papers import cohen2013, command, dhillon2012, reranked, stratos2016
from benchmarks.papers.baselines import score_per_word
from benchmarks.papers.closed_form import paper_options
from benchmarks.papers.command import main
from benchmarks.papers.tables import MarkdownTable
from spectral_latent.anchors import AnchorHMM, AnchorOptions, WordTypes
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions
from spectral_latent.corpora import constituency_trees
from spectral_latent.dependency import DependencyModel, preset
from spectral_latent.estimation import EM, Decomposition, Random
from spectral_latent.evaluation import GoldTree, evaluate_parser, many_to_one, score_attachments
from tests.dependency.trees import random_tree

PAPERS = ("cohen2012", "cohen2013", "dhillon2012", "stratos2016")


def run(*arguments: str | Path) -> Result:
    """Run a command line; any exception that is not the command's own way to end is raised."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def rows(output: str) -> list[dict[str, str]]:
    """The rows of all tables of an output, each by the names of its columns."""
    found: list[dict[str, str]] = []
    head: list[str] = []
    lines = [line for line in output.splitlines() if line.startswith("|")]
    for line, following in pairwise([*lines, ""]):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if following.startswith("| ---"):
            head = cells
        elif not line.startswith("| ---"):
            found.append(dict(zip(head, cells, strict=True)))
    return found


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("papers") / "all.mrg"
    subjects = ["(NP (PRP They))", "(NP (DT The) (NNS dogs))", "(NP (NP (NNS Cats)) (PP (IN with) (NP (NNS tails))))"]
    objects = ["(NP (PRP it))", "(NP (DT the) (JJ old) (NN house))", "(NP (NNS dogs))"]
    verbs = ["(VBP see)", "(VBD left)"]
    path.write_text("\n".join(f"(S {s} (VP {v} {o}) (. .))" for s, v, o in product(subjects, verbs, objects)))
    return path


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


# ---------------------------------------------------------------------------------------------------------------------
# The group


def test_every_paper_has_a_command() -> None:
    assert tuple(main.commands) == PAPERS
    found = run("--help").output
    assert all(paper in found for paper in PAPERS)
    assert all(run(paper, "--help").exit_code == 0 for paper in PAPERS)


def test_names_on_the_command_line_are_those_of_the_papers() -> None:
    assert command._STEPS == cohen2013.STEPS
    assert tuple(stratos2016.METHODS) == command._METHODS


def test_help_does_not_import_the_library() -> None:
    script = "import sys; from benchmarks.papers.command import main; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("stratos2016", "none.tagged"), 1, "none.tagged: No such file"),
        (("cohen2013", "--train", "none.mrg"), 1, "none.mrg: No such file"),
        (("dhillon2012", "--evaluate", "none.conllu", "--train", "none.conllu"), 1, "none.conllu: No such file"),
        (("cohen2012", "--picture", "none/a.png"), 2, "none/a.png: the folder does not exist"),
        (("cohen2012", "--largest", "10"), 2, "--largest"),
        (("cohen2013", "--step", "scaling"), 2, "--step"),
        (("stratos2016", "--table", "3"), 2, "--table"),
        (("stratos2016", "--method", "hmm"), 2, "--method"),
        (("dhillon2012", "--n-states", "0"), 2, "--n-states"),
    ],
)
def test_errors_are_messages(arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr


def test_a_row_has_a_cell_for_every_column() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        MarkdownTable("a", "b").row("1")


# ---------------------------------------------------------------------------------------------------------------------
# The papers


def test_cohen2012() -> None:
    exact, sampled = 3, [1000, 2000]
    found = rows(run("cohen2012", "--grammars", "3", "--largest", "2000", "--seeds", "1").output)
    assert len(found) == exact + len(sampled) + 1
    for row in found[:exact]:
        assert row["trees"] == "180"
        assert float(row["largest error"]) < 1e-10  # Theorem 2
        assert float(row["one node, counted once: sum"]) > 0.01
    assert [row["trees"] for row in found[exact:]] == ["1,000", "2,000", "slope"]


def test_cohen2013(treebank: Path) -> None:
    result = run("cohen2013", "--train", treebank, "--evaluate", treebank, "--n-states", "2", "--n-states", "8")
    found = rows(result.output)
    assert [row["step"] for row in found] == [
        step for step in cohen2013.STEPS for _ in range(1 if step in ("plain", "annotated") else 2)
    ]
    assert "is not open" in result.output
    by_row = {(row["step"], row["m"]): row for row in found}
    assert by_row["+ smoothing", "8"]["paper F1"] == "85.6"
    assert by_row["+ smoothing", "2"]["paper F1"] == "88.8 (m = 32)"
    assert by_row["plain", "1"]["paper F1"] == "68.6"
    trees = list(constituency_trees(treebank))
    default = ConstituencyOptions()
    options = cohen2013.step_options("+ smoothing", 8)
    assert options == default.__class__(estimator=options.estimator)
    scores = evaluate_parser(ConstituencyModel.train(trees, options), [GoldTree.of(tree) for tree in trees]).score
    assert by_row["+ smoothing", "8"]["F1"] == f"{scores.f1:.1f}"
    only = rows(run("cohen2013", "--train", treebank, "--evaluate", treebank, "--step", "annotated").output)
    assert [row["step"] for row in only] == ["annotated"]


def test_steps_add_one_thing_each() -> None:
    plain, absolute, scaled, ours, smoothed, simple = (cohen2013.step_options(step, 4) for step in cohen2013.STEPS[2:8])
    assert (plain.marginals, absolute.marginals, scaled.marginals) == ("undivided", "absolute", "absolute")
    assert (absolute.estimator.scaling, scaled.estimator.scaling) == (None, 5.0)
    assert ours == replace(
        scaled, estimator=scaled.estimator.with_settings(scaling=ConstituencyOptions().estimator.scaling)
    )
    assert (ours.estimator.smoothing, smoothed.estimator.smoothing is not None) == (None, True)
    assert (smoothed.features, simple.features) == ("all", "simple")
    em, hybrid = (cohen2013.step_options(step, 4).estimator for step in cohen2013.STEPS[8:])
    assert (em, hybrid) == (EM(Random(4), iterations=20, tolerance=0.0), EM(Decomposition(4)))


def test_dhillon2012(dependencies: Path) -> None:
    arguments = ("--train", dependencies, "--evaluate", dependencies, "--n-best", "4", "--n-states", "2")
    result = run("dhillon2012", *arguments, "--table", "scores")
    found = rows(result.stdout)
    names = [row["estimator"] for row in found]
    assert names[0].startswith("one state")
    assert names[1:7] == [f"{a}, U of {u}" for u in ("bigrams", "CCA", "LR-MVL") for a in ("paper", "corrected")]
    assert names[7:] == [f"{name}, default views" for name in ("spectral", "clustering", "EM", "clusters-em")]
    for row in found:
        assert 0 <= float(row["p̂ ≤ 0, %"]) <= 100
        assert 0 < float(row["UAS"]) <= 100
    assert {row["p̂ ≤ 0, %"] for row in found[7:]} == {"0.0"}  # floors


def test_table_1_of_dhillon2012(dependencies: Path) -> None:
    """Lists of a parser that learnt from all trees are reranked; rerankers learn from lists of three other parsers."""
    arguments = ("--train", dependencies, "--evaluate", dependencies, "--n-best", "4", "--n-states", "2")
    result = run("dhillon2012", *arguments, "--table", "1")
    first, *found = rows(result.stdout)
    treebank, gold = dhillon2012.read_treebank(str(dependencies), str(dependencies), "xpos")
    parser = DependencyModel.train(gold, replace(preset("fast")[0], tags="xpos"))
    score = score_attachments(gold, [parser.parse(tree.without_tree()).tree for tree in gold])
    assert (first["features"], first["accuracy"]) == ("base parser", f"{score.uas_no_punctuation:.2f}")
    estimates = [f"{a}, U of {u}, k = 2" for a in ("paper", "corrected") for u in ("bigrams", "CCA", "LR-MVL")]
    names = ["+ baseline features", *(f"+ log p̂ ({name})" for name in estimates)]
    assert [(row["features"], row["learner"]) for row in found] == [
        (name, learner) for name in names for learner in ("Collins", "library")
    ]
    assert all(row["over baseline"].startswith("+0.00 (+0.00 to +0.00)") for row in found[:2])
    learnt = reranked.ListsOfPart.jackknife(treebank, [2], 4)
    assert [nbest.words for nbest in learnt.lists] == [tree.forms for tree in gold]
    own = DependencyModel.train(gold[20:], replace(preset("fast")[0], tags="xpos"))
    trees = [[parse.tree.heads for parse in own.parse_nbest(tree.without_tree(), 4)] for tree in gold[:20]]
    assert [[tree.heads for tree, *_ in nbest.candidates] for nbest in learnt.lists[:20]] == trees
    candidates = [tree for nbest in learnt.lists[:20] for tree, *_ in nbest.candidates]
    weight = treebank._replace(trees=gold[20:]).train_paper("paper", "CCA", 2)(candidates)
    assert (weight.sign != 0).all()
    assert learnt.log["paper, U of CCA, k = 2"][: len(candidates)] == pytest.approx(weight.log)
    assert len(learnt.scores.gains) == len(learnt.log["paper, U of CCA, k = 2"])


def test_trees_without_tags_cannot_be_scored(dependencies: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.conllu"
    path.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    result = run("dhillon2012", "--train", dependencies, "--evaluate", path)
    assert (result.exit_code, f"{path}: sentence 1 has a word" in result.stderr) == (1, True)


def test_stratos2016(tagged: Path) -> None:
    result = run("stratos2016", tagged, tagged, "--n-states", "4", "--seeds", "2", "--iterations", "3")
    found = rows(result.output)
    methods = [*stratos2016.HULLS, *stratos2016.METHODS]
    assert [row["method"] for row in found if "method" in row] == [name for name in methods for _ in range(3)]
    assert [row["types"] for row in found if "types" in row] == ["9", "9"]
    by_method = {row["method"]: row for row in found if row.get("corpus") == "mean"}
    assert by_method["anchor"]["paper, many-to-one"] == "66.1"
    assert "(" in next(row for row in found if row.get("method") == "Baum-Welch")["many-to-one"]
    corpus = stratos2016.TaggedCorpus.read(str(tagged))
    states = AnchorHMM.train(corpus.words, AnchorOptions(n_states=4)).tag_all(corpus.words)
    score = many_to_one(list(chain(*corpus.tags)), list(chain(*states)))
    assert by_method["library + features"]["many-to-one"] == f"{score:.1f}"
    assert by_method["anchor"]["paper, log p per word"] == "-7.06"
    paper = replace(paper_options(4, "cca"), added=1.0)
    model = AnchorHMM.train(corpus.words, paper)
    score = many_to_one(list(chain(*corpus.tags)), list(chain(*model.tag_all(corpus.words))))
    assert by_method["cca"]["many-to-one"] == f"{score:.1f}"


def test_table_7_has_the_tags_of_the_corpus(tmp_path: Path) -> None:
    """CoNLL-U has other tags in its fifth column, here five."""
    path = tmp_path / "fine.conllu"
    words = [
        ("the", "DET", "DT"),
        ("cat", "NOUN", "NN"),
        ("cats", "NOUN", "NNS"),
        ("saw", "VERB", "VBD"),
        (".", "PUNCT", "."),
    ]
    rng = np.random.default_rng(0)
    sentences = []
    for _ in range(40):
        chosen = enumerate((words[i] for i in rng.permutation(5)), start=1)
        sentences.append("".join(f"{i}\t{w}\t_\t{u}\t{x}\t_\t0\troot\t_\t_\n" for i, (w, u, x) in chosen))
    path.write_text("\n".join(sentences) + "\n")
    found = rows(run("stratos2016", path, "--table", "7", "--method", "log-linear", "--iterations", "2").output)
    assert [(row["method"], row["states"], row["paper, many-to-one"]) for row in found] == [
        ("log-linear", "5", "74.9 (1.5)")
    ]


def test_true_anchors_are_one_for_each_tag_that_has_one(tagged: Path) -> None:
    corpus = stratos2016.TaggedCorpus.read(str(tagged))
    model = stratos2016.METHODS["true anchors"].train(corpus, stratos2016.Setting(12, 1))
    assert isinstance(model, AnchorHMM)
    tag_of = {
        word: tag
        for words, tags in zip(corpus.words, corpus.tags, strict=True)
        for word, tag in zip(words, tags, strict=True)
    }
    assert sorted(tag_of[word] for word in model.anchors) == sorted(set(tag_of.values()))


def test_baum_welch_refines_the_anchor_model(tagged: Path) -> None:
    """Five iterations make the corpus likelier."""
    corpus = stratos2016.TaggedCorpus.read(str(tagged))
    setting = stratos2016.Setting(4, 1)
    found = [stratos2016.METHODS[name].train(corpus, setting) for name in ("anchor", "anchor + Baum-Welch")]
    hidden = [model.hidden if isinstance(model, AnchorHMM) else model for model in found]
    before, after = (score_per_word(model, WordTypes.of(corpus.words).sequences) for model in hidden)
    assert before < after


def test_one_table_and_one_method_of_stratos2016(tagged: Path) -> None:
    found = rows(run("stratos2016", tagged, "--table", "2", "--method", "anchor", "--n-states", "4").output)
    assert [row["method"] for row in found] == ["anchor"]


def test_stratos2016_on_the_treebank(require_corpus: Callable[[str], Any]) -> None:
    require_corpus("treebank")
    found = rows(run("stratos2016", "nltk:treebank:dev", "--table", "2", "--method", "anchor + features").output)
    assert 50 < float(found[0]["many-to-one"]) < 100

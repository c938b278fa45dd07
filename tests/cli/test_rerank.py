"""Rerankers on the command line: `rerank` and its commands, and `parse --rerank`."""

import itertools
import json
import re
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from spectral_latent.corpora import dependency_trees, parse_brackets, to_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation import score_brackets
from spectral_latent.reranking import Candidate, NBest, NBestFormat, parse_nbest, read_nbest
from tests.cli.conftest import Run
from tests.reranking.nbest_lists import last_first, written

KEYS = ["base", "reranked", "oracle", "error_reduction", "low", "high", "sentences", "candidates", "empty_lists"]
HEADS, WRONG = (2, 3, 0, 3, 3), (2, 3, 0, 2, 3)  # one of four words that are not punctuation is wrong


class Files(NamedTuple):
    """Gold trees, lists in which the second tree is right, a parser, and a reranker that learnt with it."""

    gold: Path
    lists: Path
    model: Path
    reranker: Path


def clean_trees(treebank: Path) -> list[str]:
    trees = parse_brackets(treebank.read_text().replace("(-NONE- *)", "").replace("-SBJ", ""))
    return [tree.bracketed().removeprefix("( ").removesuffix(" )") for tree in trees]


def flat(tree: str) -> str:
    """All tags beneath one S."""
    (phrase,) = parse_brackets(tree)
    tags = (node.bracketed() for node in phrase.nodes() if not isinstance(node, str) and node.is_preterminal())
    return f"(S {' '.join(tags)})"


@pytest.fixture(scope="module")
def phrases(run: Run, treebank: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("phrases")
    lists, reranker = folder / "lists", folder / "reranker"
    lists.write_text("\n".join(f"-1.0\t{flat(tree)}\n-2.0\t{tree}\n" for tree in clean_trees(treebank)))
    trained = run("rerank", "train", lists, "--gold", treebank, "--model", model, "-o", reranker)
    assert trained.exit_code == 0, trained.stderr
    return Files(treebank, lists, model, reranker)


@pytest.fixture(scope="module")
def dependencies(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("dependencies")
    gold, lists, model, reranker = (folder / name for name in ("gold.conllu", "lists", "model", "reranker"))
    words = itertools.product(("dogs", "cats"), ("see", "like"), ("dogs", "cats"))
    tags = ["DT", "NNS", "VBP", "NNS", "."]
    stops = itertools.cycle([3, 4])  # the heads of the last word, so that there are several trees of a sentence
    trees = [DependencySentence.of(["the", *row, "."], tags).with_heads((*HEADS[:-1], next(stops))) for row in words]
    gold.write_text("".join(map(to_conllu, trees)))
    both = [
        NBest.of([Candidate(tree.with_heads(heads), -rank) for rank, heads in enumerate((WRONG, HEADS))], str(number))
        for number, tree in enumerate(trees, start=1)
    ]
    lists.write_text(written(both, "conllu"))
    assert run("train", "dependency", gold, "-o", model, "--n-states", "2", "-q").exit_code == 0
    assert run("rerank", "train", lists, "--gold", gold, "--model", model, "-o", reranker, "-q").exit_code == 0
    return Files(gold, lists, model, reranker)


def test_evaluate_phrases(run: Run, phrases: Files, treebank: Path, tmp_path: Path) -> None:
    """From lists in every format, whatever they lack."""
    found = {}
    for form in get_args(NBestFormat):
        if form != "conllu":
            (tmp_path / form).write_text(written(list(read_nbest(phrases.lists)), form))
            given = (phrases.reranker, tmp_path / form, "--gold", treebank, "--model", phrases.model)
            found[form] = run("rerank", "evaluate", *given, "--json").stdout
    assert len(set(found.values())) == 1
    figures = json.loads(found["trees"])
    assert list(figures) == KEYS
    trees = [(gold, next(parse_brackets(flat(gold)))) for gold in clean_trees(treebank)]
    base = score_brackets((next(parse_brackets(gold)), tree) for gold, tree in trees).f1
    assert figures["base"] == pytest.approx(base)
    assert (figures["reranked"], figures["oracle"], figures["error_reduction"]) == (100.0, 100.0, 100.0)
    assert 0 < figures["low"] <= 100 - base <= figures["high"]
    assert (figures["sentences"], figures["candidates"], figures["empty_lists"]) == (18, 36, 0)


def test_evaluate_dependencies_without_punctuation(run: Run, dependencies: Files, tmp_path: Path) -> None:
    given = ("--gold", dependencies.gold, "--model", dependencies.model)
    figures = json.loads(run("rerank", "evaluate", dependencies.reranker, dependencies.lists, *given, "--json").stdout)
    assert [figures[key] for key in KEYS[:6]] == [75.0, 100.0, 100.0, 100.0, 25.0, 25.0]
    first, *others = dependency_trees(dependencies.gold)
    gold = tmp_path / "two_roots"  # in a tree that no parser can learn
    gold.write_text("".join(map(to_conllu, (first.with_heads((2, 0, *HEADS[2:])), *others))))
    assert run("rerank", "lists", dependencies.model, gold).exit_code == 0
    assert run("rerank", "lists", dependencies.model, gold, "--folds", "2").exit_code == 1


def test_apply_writes_the_best_trees(run: Run, phrases: Files, dependencies: Files, tmp_path: Path) -> None:
    found = run("rerank", "apply", phrases.reranker, phrases.lists, "--model", f"latent={phrases.model}")
    assert found.stdout.splitlines() == clean_trees(phrases.gold)
    found = run("rerank", "apply", dependencies.reranker, dependencies.lists, "--model", dependencies.model)
    (best := tmp_path / "best.conllu").write_text(found.stdout)
    assert [tree.heads for tree in dependency_trees(best)] == [HEADS] * 8


@pytest.mark.parametrize("kind", ["constituency", "dependency"])
def test_parse_in_the_order_of_a_reranker(run: Run, files: Path, tmp_path: Path, kind: str) -> None:
    last_first(has_heads=kind == "dependency").save(tmp_path / "last_first")
    text = re.sub(r"/\S+", "", (files / "gold.tagged").read_text())
    of = ("--rerank", tmp_path / "last_first")
    there, back, two = (
        [
            [candidate.tree for candidate in nbest.candidates]
            for nbest in parse_nbest(run("parse", files / kind, "--json", "--n-best", *more, stdin=text).stdout)
        ]
        for more in (("50",), ("50", *of), ("2", *of))
    )
    assert back == [trees[::-1] for trees in there]
    assert two == [trees[:2] for trees in back] and max(map(len, there)) > 2


def test_empty_lists_count(run: Run, phrases: Files, tmp_path: Path) -> None:
    _, *rest = phrases.lists.read_text().split("\n\n")
    (lists := tmp_path / "lists").write_text("\n\n".join(["(())", *rest]))
    given = ("--gold", phrases.gold, "--model", phrases.model)
    figures = json.loads(run("rerank", "evaluate", phrases.reranker, lists, *given, "--json").stdout)
    assert (figures["empty_lists"], figures["candidates"]) == (1, 34)
    assert figures["reranked"] == figures["oracle"] < 100
    assert run("rerank", "apply", phrases.reranker, lists, *given[2:]).stdout.startswith("(())\n")


def test_wrong_gold_and_models(run: Run, phrases: Files, dependencies: Files, tmp_path: Path) -> None:
    (other := tmp_path / "other.mrg").write_text("(S (UH No))" * 18)
    (fewer := tmp_path / "fewer.mrg").write_text("(S (UH No))")
    given = (phrases.reranker, phrases.lists, "--gold")
    latent = ("--model", phrases.model)
    for arguments, named in (
        ((*given, other, *latent), "of the same text"),
        ((*given, fewer, *latent), "18 n-best lists for 1 gold"),
        ((*given, phrases.gold), "latent"),
        ((*given, phrases.gold, "--model", dependencies.model), "latent"),
        ((*given, phrases.gold, *latent, *latent), "latent"),
        ((phrases.model, *given[1:], phrases.gold, *latent), "a reranker"),
    ):
        found = run("rerank", "evaluate", *arguments)
        assert found.exit_code and not found.stdout and named in " ".join(found.stderr.split()), found.stderr

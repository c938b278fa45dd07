"""A workbench follows its trees: its parser is that of the sums over the present trees, however they came about."""

import random
from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, preset
from spectral_latent.constituency.cleaning import without_functions
from spectral_latent.constituency.conversion import convert_trees
from spectral_latent.constituency.training import prepare
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.estimation import EstimationError, mix_with_mean, start_again
from spectral_latent.estimation.em import expectation
from spectral_latent.grammar import GrammarSums
from spectral_latent.grammar.sums import _SHARE
from spectral_latent.trees import Vocabulary
from spectral_latent_annotate import Suggestion, Workbench, suggest_trees
from tests.toy import toy_treebank

TREES = toy_treebank(90)
STRANGE = Phrase("S", (Phrase("XP", (Phrase("UH", ("oh",)), Phrase("UH", ("my",)))), Phrase("VB", ("walks",))))


def bench_of(trees: list[Phrase]) -> Workbench:
    return Workbench({str(number): tree for number, tree in enumerate(trees)})


def answers(bench: Workbench) -> list[Suggestion]:
    return bench.suggest([list(tree.words()) for tree in [*TREES[60:75], STRANGE]])


def assert_alike(found: list[Suggestion], expected: list[Suggestion], atol: float = 1e-9) -> None:
    assert [each.tree for each in found] == [each.tree for each in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(list(one.parts.values()), list(other.parts.values()), atol=atol)


def test_any_way_to_the_same_trees_leads_to_the_same_parser() -> None:
    """Trees are added, replaced and removed at random, with labels, tags and words that the start lacks."""
    rng = random.Random(0)
    start = bench_of(TREES[:30])
    bench, fresh = (bench_of(TREES[:30]) for _ in range(2))
    wanted = dict(start.trees)
    for step in range(40):
        name = rng.choice([*wanted, f"new {step}"])
        tree = rng.choice([*TREES, STRANGE])
        if name not in wanted:
            bench.add(name, tree)
            wanted[name] = tree
        elif rng.random() < 0.3:
            bench.remove(name)
            del wanted[name]
        else:
            bench.replace(name, tree)
            wanted[name] = tree
    assert bench.trees == wanted
    for name in set(fresh.trees) - set(wanted):
        fresh.remove(name)
    for name, tree in wanted.items():
        fresh.replace(name, tree) if name in fresh.trees else fresh.add(name, tree)
    assert_alike(answers(bench), answers(fresh))
    bench.add("strange", STRANGE)
    assert {"UH", "XP"} <= {part.label for part in list_constituents(bench.suggest([["oh", "my", "walks"]])[0].tree)}
    for name in set(bench.trees) - set(start.trees):
        bench.remove(name)
    for name, tree in start.trees.items():
        bench.replace(name, tree) if name in bench.trees else bench.add(name, tree)
    assert_alike(answers(bench), answers(start))


def test_the_parser_is_that_of_one_iteration_of_em_from_the_start() -> None:
    """On some of the trees of the start: the treebank's own counts, expected under the rules that these trees have."""
    whole = ConstituencyModel.train(TREES).members[0]
    (training,) = prepare(TREES[:40], [whole.options])
    rules = training.treebank.counts.rules
    symbol = Vocabulary(whole.symbols).numbers(training.coarse.symbols)
    word = Vocabulary(whole.lexicon.words).numbers(training.coarse.lexicon.words)
    theta = start_again(whole.operators.restrict(rules, symbol, word))
    expected = expectation(training.treebank.shards, theta, 1).counts()
    exact = mix_with_mean(expected, training.treebank.counts, _SHARE, training.treebank.priors)
    bench = bench_of(TREES)
    for number in range(40, len(TREES)):
        bench.remove(str(number))
    assert bench.model is not None
    (found,) = bench.model.members
    numbers = Vocabulary(found.symbols).numbers(training.coarse.symbols)
    words = Vocabulary(found.lexicon.words).numbers(training.coarse.lexicon.words)
    ours = found.operators.restrict(rules, numbers, words)
    np.testing.assert_allclose(ours.binary.data, exact.binary.data, atol=1e-6)
    coarse = found.coarse.restrict(rules, numbers, words)
    theirs = training.coarse.coarse.restrict(rules, np.arange(len(symbol)), np.arange(len(word)))
    np.testing.assert_allclose(coarse.binary.data, theirs.binary.data, rtol=1e-6)


def test_its_sums_are_those_of_training_on_the_same_trees() -> None:
    """Also with words and tags that the start lacks: counts, shares of symbols, the lexicon and its spelling model."""
    whole = ConstituencyModel.train(TREES[:30]).members[0]
    sums = GrammarSums(whole)
    trees = [*TREES[:30], *TREES[60:75], STRANGE]
    (training,) = prepare(trees, [whole.options])
    for first in range(0, len(trees), 7):  # several trees at a time, one of them for a while
        some = convert_trees(trees[first : first + 7], whole.options.binarisation, sums.symbols, sums.words).trees
        sums.add(some)
        sums.add(convert_trees([STRANGE], whole.options.binarisation, sums.symbols, sums.words).trees)
        sums.add(convert_trees([STRANGE], whole.options.binarisation, sums.symbols, sums.words).trees, -1.0)
    found = sums.estimate()
    exact = training.coarse
    assert set(found.symbols) == set(exact.symbols) and set(found.lexicon.words) == set(exact.lexicon.words)
    assert found.tags == exact.tags and "UH" in found.tags
    symbol = Vocabulary(found.symbols).numbers(exact.symbols)
    np.testing.assert_allclose(found.prior[symbol], exact.prior, rtol=1e-12)
    assert found.lexicon.spelling is not None and exact.lexicon.spelling is not None
    words = ["oh", "Oh", "dogs", "quickly", "42"]
    posterior = found.lexicon.spelling.posterior(words)
    np.testing.assert_allclose(posterior, exact.lexicon.spelling.posterior(words), atol=2e-3)
    for name in ("leaf", "unary", "binary"):
        assert len(getattr(found.coarse.rules, name)) == len(getattr(exact.coarse.rules, name))
    words_of = Vocabulary(found.lexicon.words).numbers(exact.lexicon.words)
    coarse = found.coarse.restrict(training.treebank.counts.rules, symbol, words_of)
    theirs = exact.coarse.restrict(training.treebank.counts.rules, np.arange(len(symbol)), np.arange(len(words_of)))
    np.testing.assert_allclose(coarse.root, theirs.root, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(coarse.binary.data, theirs.binary.data, rtol=1e-6)
    np.testing.assert_allclose(coarse.leaf, theirs.leaf, rtol=0.01)  # unseen words depend on the order of features


@pytest.mark.parametrize("name", ["fast", "accurate"])
def test_function_labels_and_judges_stay(name: str) -> None:
    labelled = [
        Phrase("S", (Phrase("NP-SBJ", (tree.children[0],)), *tree.children[1:])) if len(tree.children) > 1 else tree
        for tree in TREES[:40]
    ]
    options = [replace(each, function_labels=True) for each in preset(name)]
    bench = Workbench({str(number): tree for number, tree in enumerate(labelled[:30])}, options)
    bench.add("one", labelled[35])
    bench.remove("3")
    (found,) = bench.suggest([list(labelled[36].words())])
    assert "NP-SBJ" in found.tree.bracketed()
    assert list(found.parts) == list_constituents(without_functions(found.tree)) and min(found.parts.values()) > 0.0


def test_a_workbench_without_trees_suggests_flat_trees() -> None:
    bench = Workbench()
    (found,) = bench.suggest([["dogs", "bark"]])
    assert found.is_flat and list(found.tree.words()) == ["dogs", "bark"] and found.expected_errors == 3.0
    for number, tree in enumerate(TREES[:6]):
        assert bench.is_old == (number >= 5)
        bench.add(str(number), tree)
    bench.renew()
    assert not bench.suggest([list(TREES[0].words())])[0].is_flat
    for name in list(bench.trees):
        bench.remove(name)
    assert bench.suggest([["dogs"]])[0].is_flat


def test_requests_that_cannot_be_met_change_nothing() -> None:
    bench = bench_of(TREES[:20])
    before = dict(bench.trees)
    empty = Phrase("S", (Phrase("-NONE-", ("*",)),))
    for wrong, error in (
        (lambda: bench.add("0", TREES[30]), ValueError),
        (lambda: bench.add("new", empty), EstimationError),
        (lambda: bench.replace("0", empty), EstimationError),
        (lambda: bench.replace("new", TREES[0]), KeyError),
        (lambda: bench.remove("new"), KeyError),
        (lambda: bench.suggest([[]]), ValueError),
        (lambda: bench.suggest("dogs"), TypeError),
        (lambda: bench.add("new", "(S (NN dogs))"), TypeError),  # type: ignore[arg-type]
    ):
        with pytest.raises(error):
            wrong()
    assert bench.trees == before
    assert_alike(answers(bench), answers(bench_of(TREES[:20])))


def test_estimates_that_are_no_probabilities_have_no_sums() -> None:
    with pytest.raises(ValueError, match="fast"):
        GrammarSums(ConstituencyModel.train(TREES, ConstituencyOptions()).members[0])


def test_suggestions_have_posteriors_and_other_labels_that_are_not_unlikely() -> None:
    model = ConstituencyModel.train(TREES[:40])
    sentences = [[*list(tree.words())[1:], *list(tree.words())[:1]] for tree in TREES[40:90]]  # in an odd order
    shown = []
    for words, found in zip(sentences, suggest_trees(model, sentences), strict=True):
        posteriors = model.posteriors(words)
        assert found.tree == model.parse(words).tree
        for part, p in found.parts.items():
            assert p == pytest.approx(posteriors.get(part, 0.0))
            others = {each: q for each, q in posteriors.items() if each[:2] == part[:2] and each not in found.parts}
            likely = sorted((each for each in others if others[each] >= 0.05), key=lambda each: (-others[each], each))
            assert [each for each, _ in found.alternatives.get(part, [])] == likely
            shown += [others[each] for each in likely]
        assert found.expected_errors == pytest.approx(sum(1.0 - min(p, 1.0) for p in found.parts.values()))
        marks = [(p < 0.9) + (p < 0.5) for p in found.parts.values()]
        assert found.marked.bracketed().count("?") == sum(marks) or len(marks) < len(list_constituents(found.tree))
    assert any(0.05 <= p < 0.1 for p in shown)

"""Probabilities of prefixes: sums over all sentences that begin so, and what follows from them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, preset
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.grammar import Limits
from spectral_latent.grammar._coarse import CoarseGrammar
from spectral_latent.grammar.prefixes import LatentPrefixes, prefix_forest
from spectral_latent.inference import LeftCorners
from spectral_latent.model import Prefixes, entropies
from spectral_latent.operators import ObservableOperators
from tests.grammar.test_forests import leaves_of
from tests.grammar.test_grammar import OPTIONS, Grammar, training
from tests.inference.test_left_corners import branching
from tests.oracles import Lpcfg, all_rules, random_lpcfg
from tests.toy import toy_treebank

MOST = 10**6
ALL_SEEN = np.ones(3, dtype=np.bool_)


def small(seed: int, states: list[int], binary: float) -> Lpcfg:
    """A random grammar over two words whose states are all parents of two children with one probability."""
    model = random_lpcfg(np.random.default_rng(seed), states, all_rules(len(states), 2))
    for table, share in ((model.t, binary), (model.q, 1.0 - binary)):
        for a, m in enumerate(states):
            own = [array for rule, array in table.items() if rule[0] == a]
            total = sum(array.reshape(m, -1).sum(axis=1) for array in own)
            for array in own:
                array *= (share / total).reshape(-1, *([1] * (array.ndim - 1)))
    return model


def latent_prefixes(model: Lpcfg, words: list[int], coarse: Lpcfg | None = None) -> LatentPrefixes:
    """The prefixes of words; a coarse grammar with rules of other probabilities builds the forest."""
    coarse = coarse or small(99, [1] * len(model.states), 0.3)
    operators = [each.operators(probabilities=True) for each in (coarse, model)]
    corners = [LeftCorners.compute(each) for each in operators]
    leaves = leaves_of(operators[0], np.array(words))
    grammar = CoarseGrammar.of(operators[0], np.ones(len(model.states)) / len(model.states))
    spans = prefix_forest(grammar, corners[0], leaves, 0.0, MOST)
    return LatentPrefixes.compute(operators[1], corners[1], leaves, spans)


def computed(model: Lpcfg, words: list[int], coarse: Lpcfg | None = None) -> Prefixes:
    return latent_prefixes(model, words, coarse).probabilities()


def probability(model: Lpcfg, words: tuple[int, ...]) -> float:
    """The probability of a sentence, by the plain inside algorithm."""
    n = len(words)
    chart = {(i, i + 1, a): model.q[a, x] for i, x in enumerate(words) for a in range(len(model.states))}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            for a, m in enumerate(model.states):
                chart[i, i + length, a] = np.zeros(m)
            for (a, b, c), tensor in model.t.items():
                for k in range(i + 1, i + length):
                    chart[i, i + length, a] += np.einsum("ijk,j,k->i", tensor, chart[i, k, b], chart[k, i + length, c])
    return float(sum(root @ chart[0, n, a] for a, root in enumerate(model.pi)))


@pytest.mark.parametrize(("seed", "states"), [(0, [2, 3]), (1, [1, 1])])
def test_a_prefix_is_the_sum_of_its_completions(seed: int, states: list[int]) -> None:
    """All sentences of up to six words are added up; those that are longer are known to have the rest in all."""
    model = small(seed, states, 0.05)
    sentences = {x: probability(model, x) for n in range(1, 7) for x in itertools.product(range(2), repeat=n)}
    rest = 1.0 - sum(sentences.values())
    assert 0.0 < rest < 1e-4
    for words in ((0,), (1, 0), (0, 0, 1), (1, 1, 0, 1)):
        found = computed(model, list(words))
        np.testing.assert_allclose(np.exp(found.sentence), sentences[words], rtol=1e-9)
        for k in range(len(words) + 1):
            completions = sum(p for sentence, p in sentences.items() if sentence[:k] == words[:k])
            assert completions - 1e-12 <= np.exp(found.words[k]) <= completions + rest + 1e-12


@pytest.mark.parametrize("binary", [0.3, 0.7])
def test_next_words_are_ratios_of_prefixes(binary: float) -> None:
    """Also where some trees are infinite."""
    model = small(2, [2, 1, 3], binary)
    words = [1, 0, 0]
    latent = latent_prefixes(model, words)
    before, (prefixes, found) = latent.probabilities(), latent.next_words(2)
    np.testing.assert_array_equal(prefixes, before.words)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    for j in range(4):
        after = [computed(model, [*words[:j], x]).words[-1] for x in range(2)]
        np.testing.assert_allclose(found[j, :2], np.exp(np.array(after) - before.words[j]), rtol=1e-9)
    assert found[0, 2] == 0.0
    np.testing.assert_allclose(found[3, 2], np.exp(before.sentence - before.words[3]), rtol=1e-9)
    np.testing.assert_allclose(entropies(found, "bits"), -(found * np.log2(np.maximum(found, 1e-300))).sum(axis=1))


def test_tags_are_those_that_a_word_may_have() -> None:
    """Words 0 and 1 have one tag each; word 2 has both, which is no surprise where a sentence cannot end."""
    rules = {"leaf": [(1, 0), (1, 2), (2, 1), (2, 2)], "unary": [], "binary": [(0, 1, 2), (0, 1, 0)]}
    model = random_lpcfg(np.random.default_rng(5), [2, 2, 2], rules)
    model.pi[0] /= model.pi[0].sum()
    model.pi[1:] = [np.zeros(2), np.zeros(2)]
    coarse = random_lpcfg(np.random.default_rng(6), [1, 1, 1], rules)
    coarse.pi[:] = [np.ones(1), np.zeros(1), np.zeros(1)]
    found = computed(model, [2, 2, 1], coarse=coarse).surprisal("nats", ALL_SEEN)
    np.testing.assert_allclose(found.syntactic[:2], 0.0, atol=1e-12)
    np.testing.assert_allclose(found.total, found.lexical + found.syntactic, rtol=1e-12)
    # a and b divide the probability of all words between their tags.
    tags = [np.exp(computed(model, [2, 0, x], coarse=coarse).tags[2]) for x in (0, 1)]
    words = [np.exp(computed(model, [2, 0, x], coarse=coarse).words[3]) for x in (0, 1, 2)]
    np.testing.assert_allclose(sum(tags), sum(words), rtol=1e-12)
    assert 0.0 < words[0] < tags[0] and 0.0 < words[1] < tags[1]


def test_nothing_underflows() -> None:
    """S → S S (q) | a over 150 words, whose trees are counted by Catalan numbers C: p(n words) = C(n-1) q^(n-1) p^n."""
    q = 0.001
    operators = branching(q)
    corners, leaves = LeftCorners.compute(operators), leaves_of(operators, np.zeros(150, dtype=np.int64))
    spans = prefix_forest(CoarseGrammar.of(operators, np.ones(1)), corners, leaves, 0.0, MOST)
    found = LatentPrefixes.compute(operators, corners, leaves, spans).probabilities()
    n = np.arange(2, 200)
    catalan = np.concatenate([[0.0], np.cumsum(np.log(4 * n - 6) - np.log(n))])
    log = catalan + np.arange(199) * np.log(q) + np.arange(1, 200) * np.log(1.0 - q)
    at_least = np.logaddexp.accumulate(log[::-1])[::-1]
    assert found.words[-1] < -800.0
    np.testing.assert_allclose(found.words[1:], at_least[:150], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.sentence, log[149], rtol=1e-9)


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    options = replace(OPTIONS, estimator=EstimatorOptions("clusters-em", n_states=2), threshold=0.0)
    return training(options).estimate()


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
def test_what_has_a_probability_is_not_infinitely_surprising(threshold: float) -> None:
    """A narrow search from the left loses all trees of some sentences; then it keeps the items of their charts."""
    trees = toy_treebank(60)
    model = ConstituencyModel.train(trees, replace(preset("fast")[0], threshold=threshold))
    model = model.with_operators(ObservableOperators.probabilities_of(model.grammar.operators))
    sentences = [list(tree.words())[::step] for tree in trees[:30] for step in (1, 2)]
    log = model.log_probabilities(sentences)
    found = np.array([model.surprisal(words, "nats").sentence for words in sentences])
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(log))
    possible = np.isfinite(log)
    assert possible.sum() > 40 and (found[possible] <= 2.0 - log[possible]).all()


@pytest.mark.parametrize("limits", [Limits(max_words=2), Limits(seconds=1e-9)])
def test_beyond_the_limits_there_are_no_prefixes(grammar: Grammar, limits: Limits) -> None:
    with pytest.warns(RuntimeWarning, match="has no surprisal"):
        found = grammar.with_limits(limits).prefixes(["ant", "ant", "bat"])
        following = grammar.with_limits(limits).next_words(["ant", "ant", "bat"]).following
    assert following.shape[0] == 4 and np.isnan(following).all()
    assert np.isnan(found.words).all() and np.isnan(found.surprisal("bits", ALL_SEEN).end)

"""Estimates of outside scores, against counts over whole trees and against the engine."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from spectral_latent.grammar import _coarse
from spectral_latent.grammar._coarse import CoarseGrammar, Neighbours, OutsideEstimates
from spectral_latent.grammar._inside_chart import inside_chart
from spectral_latent.grammar.forests import SpanForest, prune_chart
from spectral_latent.inference import inside, marginals, outside
from spectral_latent.operators import ObservableOperators
from tests.grammar.test_forests import leaves_of, one_state, scores_of

TREES = 5  # symbols: 0 and 1 over phrases, 2 over both, 3 and 4 over words
TAGS = np.array([-1, -1, 0, 1, 0])


def finite_grammar() -> ObservableOperators:
    """A PCFG of finitely many trees; word x stands for symbol x alone."""
    binary = {(0, 1, 3): 0.3, (0, 4, 1): 0.5, (0, 1, 2): 0.2, (1, 2, 4): 0.6, (1, 3, 3): 0.4, (2, 3, 4): 0.25}
    return one_state(TREES, {0: 0.9, 1: 0.1}, {(2, 2): 0.75, (3, 3): 1.0, (4, 4): 1.0}, binary)


def trees_below(operators: ObservableOperators, symbol: int) -> list[tuple[float, list[tuple[int, int, int]]]]:
    """All trees of a symbol: their probabilities and their items, as symbol, first word and word after the last one.

    Words are items of the symbol ~x, so that they tell themselves from phrases.
    """
    found = [
        (weight, [(symbol, 0, 1), (~symbol, 0, 1)])
        for (a, _), weight in zip(operators.rules.leaf.tolist(), operators.leaf[:, 0].tolist(), strict=True)
        if a == symbol
    ]
    for (a, b, c), weight in zip(operators.rules.binary.tolist(), operators.packed.data.tolist(), strict=True):
        for p_left, left in trees_below(operators, b) if a == symbol else []:
            for p_right, right in trees_below(operators, c):
                n = left[0][2]
                moved = [(x, i + n, j + n) for x, i, j in right]
                found.append((weight * p_left * p_right, [(symbol, 0, moved[0][2]), *left, *moved]))
    return found


@cache
def counts_of_neighbours() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of symbols, and `beside` from the left and from the right, by counting in all trees."""
    operators = finite_grammar()
    symbols, tags = Counter[int](), Counter[int]()
    sides = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for root, share in enumerate(operators.root[:, 0].tolist()):
        for probability, items in trees_below(operators, root) if share else []:
            weight = share * probability
            n = items[0][2]
            tag = {i: int(TAGS[~x]) for x, i, _ in items if x < 0}
            tags.update({2: weight})
            for t in tag.values():
                tags[t] += weight
            for x, i, j in items:
                if x >= 0:
                    symbols[x] += weight
                    sides[0][tag[i - 1] if i else 2, x] += weight
                    sides[1][tag[j] if j < n else 2, x] += weight
    before, after = (np.array([[side[t, a] / tags[t] for a in range(TREES)] for t in range(3)]) for side in sides)
    prior = np.array([symbols[a] for a in range(TREES)])
    return prior / prior.sum(), before, after


def test_neighbours_are_those_of_all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_coarse, "_ANY", 0.0)
    prior, before, after = counts_of_neighbours()
    found = Neighbours.compute(finite_grammar(), prior, TAGS)
    assert found.beside[0] == pytest.approx(before, rel=1e-6)
    assert found.beside[1] == pytest.approx(after, rel=1e-6)


def test_a_symbol_may_stand_beside_any_tag() -> None:
    prior, before, _ = counts_of_neighbours()
    found = Neighbours.compute(finite_grammar(), prior, TAGS)
    over_words = prior @ np.array([0, 0, 0.75, 1, 1])
    assert found.beside[0] == pytest.approx(0.99 * before + 0.01 * prior / over_words, rel=1e-6)


def chain(rng: np.random.Generator, n_tags: int, n_words: int) -> tuple[ObservableOperators, np.ndarray, np.ndarray]:
    """A Markov chain of tags as a grammar: the rest from tag t on is t and a rest, or t alone.

    Symbol t is the tag t before other words, n_tags + t the rest that begins with it, or, over the last word, itself.
    """
    goes_on = rng.dirichlet(np.ones(n_tags + 1), n_tags)
    start = rng.dirichlet(np.ones(n_tags))
    words = rng.dirichlet(np.ones(n_words), n_tags)
    binary = {(n_tags + t, t, n_tags + u): goes_on[t, u] for t in range(n_tags) for u in range(n_tags)}
    leaf = {(t, x): words[t, x] for t in range(n_tags) for x in range(n_words)}
    leaf |= {(n_tags + t, x): goes_on[t, n_tags] * words[t, x] for t in range(n_tags) for x in range(n_words)}
    operators = one_state(2 * n_tags, dict(enumerate(start, n_tags)), leaf, binary)
    # Expected visits of each tag, and how many of them are followed by another.
    visits = np.linalg.solve(np.eye(n_tags) - goes_on[:, :n_tags].T, start)
    prior = np.append(visits * goes_on[:, :n_tags].sum(axis=1), visits)
    return operators, prior / prior.sum(), np.tile(np.arange(n_tags), 2)


@pytest.mark.parametrize("n", [1, 300])
def test_estimates_are_exact_where_tags_are_a_markov_chain(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The posteriors of a chain by the estimates are those of the engine; 300 words need exponents."""
    monkeypatch.setattr(_coarse, "_ANY", 0.0)
    rng = np.random.default_rng(n)
    operators, prior, tags = chain(rng, 3, 4)
    terminals = rng.integers(0, 4, n)
    grammar, leaves = CoarseGrammar.of(operators, prior), leaves_of(operators, terminals)
    estimates = OutsideEstimates.compute(Neighbours.compute(operators, prior, tags), leaves, 1.0)
    chart = prune_chart(grammar, leaves, 0.0, 0.0)
    assert chart is not None
    forest, first, end, _ = SpanForest.of([chart])
    vectors = inside(operators, forest)
    expected = marginals(operators, forest, vectors, outside(operators, forest, vectors))
    by_words = (
        vectors.vectors[:, 0] * estimates.scores[0, first, forest.symbol] * estimates.scores[1, end, forest.symbol]
    )
    exponent = vectors.exponents + estimates.exponents[0, first] + estimates.exponents[1, end] - estimates.exponent
    assert np.ldexp(by_words / estimates.least, exponent) == pytest.approx(expected, rel=1e-4, abs=1e-12)


def test_unlikely_items_are_dropped() -> None:
    """A chart has the items that are likely by the estimates, of which those are likely that they are made of."""
    rng = np.random.default_rng(0)
    operators, prior, tags = chain(rng, 3, 4)
    grammar, leaves = CoarseGrammar.of(operators, prior), leaves_of(operators, rng.integers(0, 4, 9))
    neighbours = Neighbours.compute(operators, prior, tags)
    every = scores_of(inside_chart(grammar, leaves, 0.0, 1 << 20), 9)
    none = OutsideEstimates.compute(neighbours, leaves, 0.0)
    assert scores_of(inside_chart(grammar, leaves, 0.0, 1 << 20, estimates=none), 9) == pytest.approx(every)
    estimates = OutsideEstimates.compute(neighbours, leaves, 0.02)
    least = np.ldexp(estimates.least, estimates.exponent)
    found = scores_of(inside_chart(grammar, leaves, 0.0, 1 << 20, estimates=estimates), 9)
    assert 0 < len(found) < len(every)
    exponents = estimates.exponents[0, :, None] + estimates.exponents[1]
    for (a, i, j), score in found.items():
        assert np.ldexp(score * estimates.scores[0, i, a] * estimates.scores[1, j, a], exponents[i, j]) >= least
    # Items over one word are made of nothing else.
    for (a, i, j), score in every.items():
        merit = np.ldexp(score * estimates.scores[0, i, a] * estimates.scores[1, j, a], exponents[i, j])
        assert j > i + 1 or ((a, i, j) in found) == (merit >= least)

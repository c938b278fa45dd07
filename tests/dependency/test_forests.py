"""Forests of arcs against the enumeration of all trees."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.dependency import Attachment, DependencySentence, HeadSymbol
from spectral_latent.dependency.conversion import Side, convert_trees, list_possible_rules, mark_right_heads
from spectral_latent.dependency.decoding import (
    ArcForest,
    build_projective,
    compute_arc_posteriors,
    find_best_heads,
    find_n_best_heads,
    make_arc_matrix,
    split_by_heads,
)
from spectral_latent.grammar._coarse import CoarseGrammar
from spectral_latent.grammar.forests import SpanForest, prune_chart
from spectral_latent.inference import inside, n_best_derivations, total_weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, Vocabulary
from tests.dependency.trees import Heads, is_tree, projective_trees
from tests.grammar.test_forests import leaves_of
from tests.oracles import Lpcfg, random_lpcfg, random_numbers

seeds = st.integers(0, 2**32 - 1)
SIDES: list[Side] = ["left", "right"]


@cache
def projective_of(n: int) -> list[Heads]:
    return projective_trees(n)


@cache
def spanning_trees(n: int) -> list[Heads]:
    """All trees of one root, projective or not: 1, 2, 9, 64, 625."""
    return [heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads)]


# ---------------------------------------------------------------------------------------------------------------------
# The model's own forest


class Grammar(NamedTuple):
    """A random latent grammar with all rules that trees may have; terminal 0 has the tag A, 1 has B, and 2 either."""

    attachment: Attachment
    symbols: Vocabulary[HeadSymbol]
    coarse: ObservableOperators
    latent: ObservableOperators

    @staticmethod
    def random(rng: np.random.Generator, attachment: Attachment, *, proper: bool) -> Grammar:
        tags = ["A", "B"] if attachment.symbols_have_tags else [""]
        symbols = Vocabulary(HeadSymbol(tag, role) for tag in tags for role in ("complete", "left", "right"))  # type: ignore[arg-type]
        binary = [tuple(rule) for rule in list_possible_rules(symbols.names, attachment)[0].tolist()]
        emits = {"A": (0, 2), "B": (1, 2), "": (0, 1, 2)}
        leaf = [(symbols[symbol], x) for symbol in symbols for x in emits[symbol.tag]]
        rules = {"leaf": leaf, "unary": [], "binary": binary}
        models: list[Lpcfg] = []
        for states in ([1] * len(symbols), rng.integers(1, 4, len(symbols)).tolist()):
            model = (random_lpcfg if proper or not models else random_numbers)(rng, states, rules)
            is_root = [symbol.role == "complete" for symbol in symbols]
            models.append(replace(model, pi=[pi * top for pi, top in zip(model.pi, is_root, strict=True)]))
        return Grammar(attachment, symbols, *(model.operators() for model in models))

    def forest(self, terminals: np.ndarray) -> ArcForest:
        """Unpruned."""
        grammar = CoarseGrammar.of(self.coarse, np.ones(len(self.symbols)))
        chart = prune_chart(grammar, leaves_of(self.coarse, terminals), beam=0.0, threshold=0.0)
        assert chart is not None
        spans = SpanForest.of([chart])
        is_right = mark_right_heads(self.symbols.names, self.coarse.rules.binary)
        return split_by_heads(spans.forest, is_right, spans.first, len(terminals))

    def weights(self, terminals: np.ndarray) -> tuple[list[Heads], np.ndarray]:
        """Every projective tree, and its weight summed over all tags."""
        trees = projective_of(len(terminals))
        every = itertools.product(*({0: "A", 1: "B", 2: "AB"}[x] for x in terminals.tolist()))
        tags = list(every) if self.attachment.symbols_have_tags else [("",) * len(terminals)]
        pairs = [(heads, names) for heads in trees for names in tags]
        sentences = [DependencySentence.of(["w"] * len(terminals)).with_heads(heads) for heads, _ in pairs]
        converted = convert_trees(sentences, [names for _, names in pairs], self.attachment, self.symbols)
        worded = converted.over(np.tile(terminals, len(pairs)))
        found = tree_weights(self.latent, Forest.of_trees(worded, self.latent.rules))
        return trees, (found.sign * np.exp(found.log)).reshape(len(trees), len(tags)).sum(axis=1)


def marginals_of(trees: list[Heads], weights: np.ndarray) -> np.ndarray:
    """Σ of the weights of the trees with each arc, (n + 1, n)."""
    n = len(trees[0])
    mu = np.zeros((n + 1, n))
    for heads, weight in zip(trees, weights, strict=True):
        mu[heads, range(n)] += weight
    return mu


@pytest.mark.parametrize(("first", "refined", "proper"), [("right", True, True), ("left", False, False)])
def test_arc_posteriors_are_sums_over_all_trees(first: Side, refined: bool, proper: bool) -> None:
    """μ(g, m) of all arcs, those of the root with them, and the sentence's weight, for up to five words."""
    rng = np.random.default_rng(0)
    for n in range(1, 6):
        grammar = Grammar.random(rng, Attachment(first, refined), proper=proper)
        terminals = rng.integers(0, 3, n)
        arcs = grammar.forest(terminals)
        trees, weights = grammar.weights(terminals)
        found = make_arc_matrix(compute_arc_posteriors(grammar.latent, arcs, np.array([n])).arcs, n)
        total, size = weights.sum(), np.abs(weights).sum()
        assert np.abs(found * total - marginals_of(trees, weights)).max() < 1e-10 * size
        np.testing.assert_allclose(found.sum(axis=0), 1.0, atol=1e-10 * size / abs(total))
        assert found[0].sum() == pytest.approx(1.0, abs=1e-10 * size / abs(total))
        if proper:
            np.testing.assert_allclose(found, marginals_of(trees, weights) / total, atol=1e-10, rtol=0)
        weight = total_weight(grammar.latent, arcs.forest, inside(grammar.latent, arcs.forest))
        assert weight.sign[0] * np.exp(weight.log[0]) == pytest.approx(total, abs=1e-10 * size)


def heads_of(arcs: ArcForest, edges: np.ndarray, n: int) -> Heads:
    """The heads that a derivation's arcs give; each word must have one."""
    pairs = [(int(arcs.dependant[edge]), int(arcs.governor[edge])) for edge in edges if arcs.governor[edge] >= 0]
    found = dict(pairs)
    assert len(found) == len(pairs)
    return tuple(found.get(word, 0) for word in range(1, n + 1))


# ---------------------------------------------------------------------------------------------------------------------
# All projective trees over arcs


def test_projective_forests_have_every_tree_once() -> None:
    for n, count in enumerate([1, 2, 7, 30, 143], start=1):
        arcs = build_projective(np.ones((n + 1, n), dtype=bool))
        derivations = n_best_derivations(arcs.forest, np.zeros(arcs.forest.n_edges), 2 * count)
        found = [heads_of(arcs, derivation.edges, n) for derivation in derivations]
        assert len(found) == count
        assert sorted(found) == sorted(projective_of(n))
        assert (np.maximum(arcs.forest.left, arcs.forest.right) < arcs.forest.item).all()


def random_weights(rng: np.random.Generator, n: int, density: float) -> np.ndarray:
    """Some are zero, and some below."""
    return np.where(rng.random((n + 1, n)) < density, rng.exponential(size=(n + 1, n)), -rng.integers(0, 2, (n + 1, n)))


def ranked(weights: np.ndarray, trees: list[Heads]) -> list[tuple[float, Heads]]:
    """The trees whose arcs all have positive weight, by falling sum."""
    words = range(weights.shape[1])
    scored = [(float(weights[heads, words].sum()), heads) for heads in trees if (weights[heads, words] > 0).all()]
    return sorted(scored, reverse=True)


@settings(max_examples=40)
@given(seeds, st.integers(1, 5), st.sampled_from([0.3, 0.6, 1.0]), st.integers(1, 200))
def test_k_best_are_the_first_of_all_trees_in_order(seed: int, n: int, density: float, k: int) -> None:
    weights = random_weights(np.random.default_rng(seed), n, density)
    expected = ranked(weights, projective_of(n))
    assert find_n_best_heads(weights, k) == [heads for _, heads in expected[:k]]
    assert find_n_best_heads(weights, 1) == [heads for _, heads in expected[:1]]


@settings(max_examples=50)
@given(seeds, st.integers(1, 5), st.sampled_from([0.2, 0.4, 0.7, 1.0]), st.sampled_from([1e-6, 1.0, 1e6]))
def test_the_maximum_tree_is_the_best_of_all(seed: int, n: int, density: float, scale: float) -> None:
    weights = scale * random_weights(np.random.default_rng(seed), n, density)
    expected = ranked(weights, spanning_trees(n))
    found = find_best_heads(weights)
    if not expected:
        assert found is None
    else:
        assert found is not None and is_tree(found)
        assert found == expected[0][1]

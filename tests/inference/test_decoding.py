"""Decoding against the enumeration of every derivation of a forest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.inference import n_best_derivations
from spectral_latent.trees import Forest
from tests.inference.test_inside_outside import ambiguous
from tests.oracles import Lpcfg, Parsed, best_derivation, cky_forest, derivations, nested, spans

seeds = st.integers(0, 2**32 - 1)


def parsed_sentence(rng: np.random.Generator, n: int) -> tuple[Lpcfg, list[int], Parsed]:
    model, sentence = ambiguous(rng, positive=True, states=[2, 1, 3], unary=[(2, 0)]), rng.integers(3, size=n).tolist()
    return model, sentence, cky_forest(model, [sentence], rng=rng)


def scores(parsed: Parsed, weights: np.ndarray, model: Lpcfg, sentence: list[int]) -> dict[tuple, float]:
    """Of every tree of the sentence, the sum of the weights of its items."""
    number = {item: i for i, (_, item) in enumerate(parsed.items)}
    return {tree: float(sum(weights[number[item]] for item in spans(tree))) for tree in derivations(model, sentence)}


@given(seeds, st.integers(1, 4), st.integers(1, 2000))
def test_n_best_derivations_are_the_first_k_of_all_trees(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    model, sentence, parsed = parsed_sentence(rng, n)
    weights = rng.normal(size=parsed.forest.n_items)
    every = scores(parsed, weights, model, sentence)
    found = n_best_derivations(parsed.forest, weights[parsed.forest.item], k)
    assert len(found) == min(k, len(every))
    assert [derivation.score for derivation in found] == pytest.approx(sorted(every.values(), reverse=True)[:k])
    skeletal = [derivation.tree(parsed.forest, model.rules()) for derivation in found]
    for tree in skeletal:  # the leaves, in post-order, are the words, and no other node has a word
        assert tree.terminal[tree.left < 0].tolist() == sentence and (tree.terminal[tree.left >= 0] == -1).all()
    trees = [nested(tree)[0] for tree in skeletal]
    assert len(set(trees)) == len(trees)
    assert [every[tree] for tree in trees] == pytest.approx([derivation.score for derivation in found])
    parts = list(zip(found.edge.tolist(), found.left.tolist(), found.right.tolist(), strict=True))
    assert len(set(parts)) == len(parts) <= sum(len(derivation.edges) for derivation in found)
    assert len(found[1:]) == len(found) - 1


@given(seeds, st.integers(1, 5))
@settings(max_examples=20)
def test_ties_neither_repeat_nor_lose_a_derivation(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    model, sentence, parsed = parsed_sentence(rng, n)
    weights = rng.integers(-1, 2, size=parsed.forest.n_items).astype(float)
    every = scores(parsed, weights, model, sentence)
    for k in (1, 7, len(every) + 3):
        found = n_best_derivations(parsed.forest, weights[parsed.forest.item], k)
        assert [derivation.score for derivation in found] == sorted(every.values(), reverse=True)[:k]
        edges = {tuple(derivation.edges.tolist()) for derivation in found}
        assert len(edges) == len(found) == min(k, len(every))
        again = n_best_derivations(parsed.forest, weights[parsed.forest.item], k)
        assert [derivation.edges.tolist() for derivation in again] == [d.edges.tolist() for d in found]


def test_ties_go_to_the_first_edge_and_the_first_root() -> None:
    forest = Forest(
        symbol=np.array([0, 1, 2]),
        start=np.array([0, 3, 5, 7]),
        rule=np.array([-1, 1, 0, 3, 2, 0, 1]),
        left=np.array([-1, -1, -1, -1, -1, 0, 1]),
        right=np.full(7, -1),
        root=np.array([0, 1, 2]),
        component=np.zeros(3, dtype=np.int64),
    )
    for weights, edges in (([1.0, 1.0, 0.0], [1]), ([0.0, 1.0, 0.0], [3]), ([0.0, 0.0, 1.0], [1, 5])):
        best = best_derivation(forest, np.array(weights)[forest.item])
        assert best is not None
        assert best.edges.tolist() == edges
    reversed_roots = forest._replace(root=forest.root[::-1].copy())
    for roots in (forest, reversed_roots):
        every = [found.edges.tolist() for found in n_best_derivations(roots, np.zeros(7), 9)]
        assert [found.edges.tolist() for found in n_best_derivations(roots, np.zeros(7), 1)] == every[:1]
    assert every == [[1, 5], [2, 5], [3, 6], [4, 6], [3], [4], [1], [2]]

"""Forests of arcs against the enumeration of all trees."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.dependency.decoding import ArcForest, build_projective, find_best_heads, find_n_best_heads
from spectral_latent.inference import n_best_derivations
from tests.dependency.trees import Heads, is_tree, projective_trees, spanning_trees

seeds = st.integers(0, 2**32 - 1)


def heads_of(arcs: ArcForest, edges: np.ndarray, n: int) -> Heads:
    """The heads that a derivation's arcs give; each word must have one."""
    pairs = [(int(arcs.dependant[edge]), int(arcs.governor[edge])) for edge in edges if arcs.governor[edge] >= 0]
    found = dict(pairs)
    assert len(found) == len(pairs)
    return tuple(found.get(word, 0) for word in range(1, n + 1))


def test_projective_forests_have_every_tree_once() -> None:
    for n, count in enumerate([1, 2, 7, 30, 143], start=1):
        arcs = build_projective(np.ones((n + 1, n), dtype=bool))
        derivations = n_best_derivations(arcs.forest, np.zeros(arcs.forest.n_edges), 2 * count)
        found = [heads_of(arcs, derivation.edges, n) for derivation in derivations]
        assert len(found) == count
        assert sorted(found) == sorted(projective_trees(n))
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
    expected = ranked(weights, projective_trees(n))
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

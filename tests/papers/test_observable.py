"""The estimators of Dhillon et al. (2012) against Algorithm 1 in loops."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.observable import estimate_corrected_operators, estimate_paper_operators
from benchmarks.papers.observations import Observations
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest
from tests.dependency.trees import Heads, children, random_tree
from tests.oracles import Tree, columns, plain

Sentence = tuple[tuple[int, ...], Heads]  # words, heads
K, V = 3, 6
Estimator = Callable[[Observations, FloatArray], ObservableOperators]
ESTIMATORS: list[Estimator] = [estimate_paper_operators, estimate_corrected_operators]


# As s-trees of two symbols: 0 a head with what hangs from it so far, 1 the same with a right child still to come


def s_tree(sentence: Sentence) -> Tree:
    """Head outward: right children, the closest first, then left ones."""
    words, heads = sentence

    def under(word: int) -> Tree:
        left, right = children(heads, word)
        chain: Tree = (int(bool(right)), words[word - 1])
        for number, child in enumerate(right, start=1):
            chain = (int(number < len(right)), chain, under(child))
        for child in left:
            chain = (0, under(child), chain)
        return chain

    return under(heads.index(0) + 1)


def estimates(operators: ObservableOperators, sentences: Sequence[Sentence]) -> np.ndarray:
    """p̂ of each sentence."""
    trees = columns(s_tree(sentence) for sentence in sentences)
    return plain(tree_weights(operators, Forest.of_trees(trees, operators.rules)))


def sample(seed: int, n: int = 60) -> list[Sentence]:
    """Random words on random trees, in which some word has children on both sides."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n).tolist()
    return [(tuple(rng.integers(0, V, size).tolist()), random_tree(rng, size)) for size in sizes]


def algorithm_1(sentences: list[Sentence], u: np.ndarray, *, corrected: bool) -> Callable[[Sentence], float]:
    """p̂ as the paper has it, from counts made in loops; with moments, c₁ and y_x of the correction if wanted."""
    singles, roots, triples, near = [], [], [], np.zeros((V, 4, V))
    pairs: dict[str, list[np.ndarray]] = {"left": [], "right": []}
    for words, heads in sentences:
        for word, x in enumerate(words, start=1):
            singles.append(u[x])
            sides = children(heads, word)
            for number, (side, mine) in enumerate(zip(("left", "right"), sides, strict=True)):
                for child in mine:
                    c = words[child - 1]
                    pairs[side].append(np.outer(u[x], u[c]))
                    near[x, number, c] += 1
                    near[c, 2 + number, x] += 1
            triples += [(u[words[i - 1]], u[x], u[words[j - 1]]) for i, j in itertools.product(*sides)]
        roots.append(u[words[heads.index(0)]])
    mu, c_1 = np.mean(singles, axis=0), np.mean(singles, axis=0)
    lambda_l, lambda_r = (np.mean(pairs[side], axis=0) for side in ("left", "right"))
    y = u @ np.linalg.inv(u.T @ u)
    if corrected:
        mu, c_1 = np.mean([r for _, _, r in triples], axis=0), np.mean(roots, axis=0)
        lambda_l = np.mean([np.outer(p, l) for l, p, _ in triples], axis=0)
        lambda_r = np.mean([np.outer(p, r) for _, p, r in triples], axis=0)
        seen = np.einsum("xbz,zi->xbi", near, u).reshape(V, -1)
        explained = u.T @ seen  # normal equations in the metric of an orthonormal basis: (UᵀU)⁻¹ on each neighbour
        metric = np.kron(np.eye(4), np.linalg.inv(u.T @ u))
        y = seen @ metric @ explained.T @ np.linalg.inv(explained @ metric @ explained.T)
    omega = np.mean([np.outer(l, r) for l, _, r in triples], axis=0)
    e_l, e_r = omega @ np.linalg.inv(lambda_r), omega.T @ np.linalg.inv(lambda_l)

    def d(v: np.ndarray) -> np.ndarray:
        k_v = np.mean([np.outer(l, r) * (p @ v) for l, p, r in triples], axis=0)
        return np.asarray(np.linalg.inv(e_l) @ k_v @ np.linalg.inv(lambda_r))

    def p_hat(sentence: Sentence) -> float:
        words, heads = sentence

        def r(word: int) -> np.ndarray:
            row = mu @ np.linalg.inv(lambda_r) @ d(y[words[word - 1]])
            left, right = children(heads, word)
            for child in right:
                row = row @ d(e_r.T @ r(child))
            for child in left:
                row = row @ d(e_l.T @ r(child))
            return row

        return float(r(heads.index(0) + 1) @ c_1)

    return p_hat


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, K))
def test_estimates_are_those_of_algorithm_1_in_loops(seed: int, k: int) -> None:
    """Also of a U that is not orthonormal."""
    sentences = sample(seed)
    u = np.random.default_rng(seed).uniform(-1, 1, size=(V, k))
    trees = Observations.of(sentences, V)
    for estimator, corrected in ((estimate_paper_operators, False), (estimate_corrected_operators, True)):
        wanted = np.array([*map(algorithm_1(sentences, u, corrected=corrected), sentences)])
        assert estimates(estimator(trees, u), sentences) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_weight_is_how_often_a_sentence_occurs(estimator: Estimator) -> None:
    sentences = sample(5)
    times = np.random.default_rng(5).integers(0, 4, len(sentences)).tolist()
    repeated = [sentence for sentence, n in zip(sentences, times, strict=True) for _ in range(n)]
    u = np.random.default_rng(5).normal(size=(V, 2))
    one = estimates(estimator(Observations.of(sentences, V, times), u), sentences)
    other = estimates(estimator(Observations.of(repeated, V), u), sentences)
    assert one == pytest.approx(other, rel=1e-8)

"""Columns of dependency trees against loops over the sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.observations import Observations, embed_by_arcs
from tests.dependency.trees import Sentence, children, random_tree

V = 6


@st.composite
def treebanks(draw: st.DrawFn) -> list[Sentence]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    lengths = draw(st.lists(st.integers(1, 6), max_size=5))
    return [(tuple(rng.integers(0, V, n).tolist()), random_tree(rng, n)) for n in lengths]


def arcs(sentences: list[Sentence], weights: list[float]) -> dict[str, Counter[tuple[int, int]]]:
    """How often which word heads which, by side."""
    found: dict[str, Counter[tuple[int, int]]] = {"left": Counter(), "right": Counter()}
    for (words, heads), weight in zip(sentences, weights, strict=True):
        for word in range(1, len(words) + 1):
            for side, mine in zip(("left", "right"), children(heads, word), strict=True):
                for child in mine:
                    found[side][words[word - 1], words[child - 1]] += weight  # type: ignore[assignment]
    return found


@given(treebanks())
def test_columns_can_be_read_back(sentences: list[Sentence]) -> None:
    found = Observations.of(sentences, V)
    at = 0
    for words, heads in sentences:
        assert found.word[at : at + len(words)].tolist() == list(words)
        assert [h - at + 1 if h >= 0 else 0 for h in found.head[at : at + len(words)].tolist()] == list(heads)
        at += len(words)
    assert at == len(found.word) == len(found.head) == len(found.weight)
    assert len(found.root) == len(sentences)
    assert sorted([*found.left, *found.right, *found.root]) == list(range(at))


@given(treebanks(), st.integers(0, 10**6))
def test_neighbours_are_those_of_a_loop(sentences: list[Sentence], seed: int) -> None:
    weights = np.random.default_rng(seed).exponential(size=len(sentences)).tolist()
    found = Observations.of(sentences, V, weights).neighbours.toarray()
    wanted = np.zeros((V, 4, V))
    counted = arcs(sentences, weights)
    for block, side in enumerate(("right", "left")):
        for (head, child), count in counted[side].items():
            wanted[head, block, child] = wanted[child, block + 2, head] = count
    assert found == pytest.approx(wanted.reshape(V, 4 * V), abs=1e-12)


@pytest.mark.parametrize("wrong", [((0, 1), (2,)), ((0, -1), (2, 0)), ((0, V), (2, 0)), ((0, 1), (2, 2))])
def test_sentences_that_are_refused(wrong: Sentence) -> None:
    with pytest.raises(ValueError, match="sentence 2"):
        Observations.of([((0,), (0,)), wrong], V)
    with pytest.raises(ValueError, match="sentence 2"):
        Observations.of([((0,), (0,)), ((1,), (0,))], V, [1.0, -1.0])


def leading(matrix: np.ndarray, k: int) -> np.ndarray:
    """k left singular vectors, which are defined up to signs."""
    u, sigma, _ = np.linalg.svd(matrix, full_matrices=False)
    assert sigma[k - 1] > 1.001 * sigma[k]
    return np.asarray(u[:, :k])


def treebank(seed: int, v: int, n: int = 80) -> Observations:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, n).tolist()
    sentences = [((v * rng.random(size) ** 3).astype(int).tolist(), random_tree(rng, size)) for size in sizes]
    return Observations.of(sentences, v, rng.exponential(size=n))


@pytest.mark.parametrize(("v", "n", "k"), [(6, 80, 3), (450, 1500, 5)])
def test_bigrams_are_the_singular_vectors_of_counts(v: int, n: int, k: int) -> None:
    """More than some hundred words are decomposed iteratively."""
    trees = treebank(0, v, n)
    table = np.zeros((v, 4, v))
    for child, (x, head, weight) in enumerate(zip(trees.word, trees.head, trees.weight, strict=True)):
        if head >= 0:
            side = int(child < head)
            table[trees.word[head], side, x] += weight
            table[x, 2 + side, trees.word[head]] += weight
    wanted = leading(table.reshape(v, -1), k)
    found = embed_by_arcs(trees, k)
    assert found @ found.T == pytest.approx(wanted @ wanted.T, abs=1e-9)

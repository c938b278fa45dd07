"""Representations of words against dense decompositions of counts made in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.embeddings import embed_by_arcs, embed_by_contexts, embed_by_smoothed_contexts
from benchmarks.papers.observations import Observations
from tests.dependency.trees import random_tree
from tests.sequence.hmms import draw_strings, random_hmm

texts = st.lists(st.lists(st.integers(-1, 4), min_size=1, max_size=6), min_size=1, max_size=6)
Call = Callable[..., np.ndarray]


def text(seed: int, v: int, n: int = 400) -> list[list[int]]:
    """Sentences of a hidden Markov model."""
    rng = np.random.default_rng(seed)
    return draw_strings(random_hmm(rng, 3, v, concentration=0.3), n, rng)


def indicators(columns: list[list[int]], values: int) -> np.ndarray:
    """(n, columns, values), as one column after another; values count from -1."""
    found = np.zeros((len(columns), len(columns[0]), values))
    for i, row in enumerate(columns):
        for j, value in enumerate(row):
            found[i, j, value + 1] = 1
    return found.reshape(len(columns), -1)


def contexts(sentences: list[list[int]], offsets: list[int], v: int) -> np.ndarray:
    """Indicators of words at some offsets: -1 is the sentence's end, and v + 1 stands for words beyond 0 ... v - 1."""
    named = [[x if x >= 0 else v for x in row] for row in sentences]
    rows = [[row[i + o] if 0 <= i + o < len(row) else -1 for o in offsets] for row in named for i in range(len(row))]
    return indicators(rows, v + 2)


def scaled(view: np.ndarray, smoothing: float) -> np.ndarray:
    count = view.sum(axis=0)
    return view * np.sqrt(len(view) / np.where(count > 0, count + smoothing, 1.0))


def inverse_root(gram: np.ndarray) -> np.ndarray:
    """Without smoothing both contexts have the constant in common, and the matrix is singular."""
    values, vectors = np.linalg.eigh(gram)
    roots = np.where(values > 1e-9 * values[-1], 1 / np.sqrt(abs(values)), 0.0)
    return np.asarray(vectors * roots @ vectors.T)


def leading(matrix: np.ndarray, k: int) -> np.ndarray:
    """k left singular vectors, which are defined up to signs."""
    u, sigma, _ = np.linalg.svd(matrix, full_matrices=False)
    assert sigma[k - 1] > 1.001 * sigma[k]
    return np.asarray(u[:, :k])


# ---------------------------------------------------------------------------------------------------------------------
# Arcs


def treebank(seed: int, v: int, n: int = 80) -> Observations:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, n).tolist()
    sentences = [((v * rng.random(size) ** 3).astype(int).tolist(), random_tree(rng, size)) for size in sizes]
    return Observations.of(sentences, v, rng.exponential(size=n))


@pytest.mark.parametrize(("v", "n", "k"), [(6, 80, 3), (500, 4000, 5)])
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


def test_there_are_no_more_columns_than_the_counts_have_dimensions() -> None:
    trees = Observations.of([((0, 1, 2), (2, 0, 2))] * 3, n_words=5)
    found = embed_by_arcs(trees, k=5)
    assert found.shape == (5, 3)
    assert found[3:] == pytest.approx(0.0, abs=1e-12)
    assert embed_by_arcs(Observations.of([], 5), k=2).shape == (5, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Text


cases = pytest.mark.parametrize(
    ("v", "smoothing"), [(6, 0.0), (6, 5.0), (450, 5.0)]
)  # more than some hundred words are decomposed iteratively


def test_smoothed_contexts_are_those_of_the_paper() -> None:
    """LR-MVL in plain loops, with the canonical directions as eigenvectors; three iterations from the same start."""
    sentences, v, k, rates = beyond(text(1, 7, n=60), 6), 6, 4, [0.3, 0.9]
    names = sorted({x if x >= 0 else v for row in sentences for x in row})
    a = dict(zip(names, np.random.default_rng(5).standard_normal((len(names), k)), strict=True))
    for _ in range(3):
        views: tuple[list, list] = ([], [])
        for row in sentences:
            words = [x if x >= 0 else v for x in row]
            for view, ahead, order in ((views[0], False, words), (views[1], True, words[::-1])):
                state, found = np.zeros((len(rates), k)), []
                for word in order:
                    found.append(state.ravel())
                    state = np.array([(1 - r) * s + r * a[word] for r, s in zip(rates, state, strict=True)])
                view += found[::-1] if ahead else found
        left, right = map(np.array, views)
        inverse = [np.linalg.pinv(x.T @ x, rcond=1e-10) for x in (left, right)]
        sides = []
        for x, y, i, j in ((left, right, *inverse), (right, left, *inverse[::-1])):
            values, vectors = np.linalg.eig(i @ x.T @ y @ j @ y.T @ x)
            phi = np.real(vectors[:, np.argsort(-np.real(values))[: k // 2]])
            variates = x @ phi
            sides.append(variates / np.sqrt((variates**2).mean(axis=0)))
        tokens = [x if x >= 0 else v for row in sentences for x in row]
        both = np.hstack(sides)
        a = {x: both[[t == x for t in tokens]].mean(axis=0) for x in names}
    wanted = np.array([a[x] for x in names if x < v])
    found = embed_by_smoothed_contexts(sentences, v, k, rates=rates, iterations=3, seed=5)[[x for x in names if x < v]]
    assert abs(found) == pytest.approx(abs(wanted), abs=1e-6)  # directions have signs of their own


@pytest.mark.parametrize("rates", [[], [0.0], [1.5]])
def test_rates_are_shares(rates: list[float]) -> None:
    with pytest.raises(ValueError, match="rates must be above 0 and at most 1"):
        embed_by_smoothed_contexts([[0, 1]], 2, 1, rates=rates)


def beyond(sentences: list[list[int]], v: int) -> list[list[int]]:
    """Words v and more unknown."""
    return [[x if x < v else -1 for x in row] for row in sentences]


@cases
def test_two_steps_are_two_dense_decompositions(v: int, smoothing: float) -> None:
    sentences = beyond(text(1, v + 1, n=50 + 4 * v), v)
    word = scaled(contexts(sentences, [0], v), smoothing)
    left, right = (scaled(contexts(sentences, [side], v), smoothing) for side in (-1, 1))
    common = np.hstack([left @ leading(left.T @ right, 3), right @ leading(right.T @ left, 3)])
    u = leading(word.T @ common @ inverse_root(common.T @ common), 3)
    wanted = (word.max(axis=0)[:, None] * u)[1:-1]
    found = embed_by_contexts(sentences, v, 3, smoothing=smoothing)
    assert found @ found.T == pytest.approx(wanted @ wanted.T, abs=1e-8)


def test_words_in_the_same_contexts_have_the_same_row() -> None:
    sentences = [[a, b, c] for a in (0, 1) for b in (2, 3, 4) for c in (5, 6)] + [[2], [3]]
    rows = embed_by_contexts(sentences, 8, 3, smoothing=1.0)
    assert rows[2] == pytest.approx(rows[3], abs=1e-12)
    assert rows[2] != pytest.approx(rows[0], abs=1e-3)
    assert rows[7].tolist() == [0.0] * rows.shape[1]  # never seen


def test_words_beyond_the_vocabulary_are_one_word() -> None:
    sentences = text(4, 6)
    known = embed_by_contexts(sentences, 6, 3)
    renamed = embed_by_contexts([[x - 1 for x in row] for row in sentences], 5, 3)
    further = embed_by_contexts([[x if x else -7 for x in row] for row in sentences], 6, 3)
    assert renamed @ renamed.T == pytest.approx(known[1:] @ known[1:].T, abs=1e-9)
    assert further[1:] @ further[1:].T == pytest.approx(known[1:] @ known[1:].T, abs=1e-9)
    assert not further[0].any()


def test_the_same_bytes_for_the_same_text() -> None:
    sentences = text(5, 450, n=1500)
    one, two = (embed_by_contexts(sentences, 450, 4) for _ in range(2))
    assert one.tobytes() == two.tobytes()


@settings(max_examples=60)
@given(texts, st.integers(1, 8), st.sampled_from([0.0, 1.0, 50.0]))
def test_rows_are_finite_whatever_the_text(sentences: list[list[int]], k: int, smoothing: float) -> None:
    rows = embed_by_contexts(sentences, 5, k, smoothing=smoothing)
    assert rows.shape[0] == 5
    assert 1 <= rows.shape[1] <= k
    assert np.isfinite(rows).all()
    seen = {x for row in sentences for x in row}
    assert not any(rows[x].any() for x in range(5) if x not in seen)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k must be at least 1, not 0"),
        *(({"smoothing": number}, "smoothing must be finite and not negative") for number in (-1.0, np.nan, np.inf)),
        ({"sentences": []}, "no sentences to learn embeddings from"),
        ({"sentences": [[0], []]}, "sequence 2 is empty"),
        ({"sentences": [[0, 3]]}, "observation 3 is not below the number of words, 3"),
    ],
)
def test_what_makes_no_sense(wrong: dict[str, Any], message: str) -> None:
    settings_of: dict[str, Any] = {"sentences": [[0, 1]], "n_words": 3, "k": 2} | wrong
    with pytest.raises(ValueError, match=message):
        embed_by_contexts(**settings_of)


def test_dimensions_of_bigrams() -> None:
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        embed_by_arcs(treebank(0, 3), 0)

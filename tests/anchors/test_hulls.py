"""The types, the spelling and the points of words, against loops, dense decompositions and a textbook's regression."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.closed_form import Construction, paper_points
from spectral_latent.anchors import AnchorOptions
from spectral_latent.anchors.hulls import WordTypes, context_counts, spelling_counts, spelling_features, with_spelling
from spectral_latent.sequence import Sequences
from tests.anchors.test_model import sentences


def plain(construction: Construction, **changes: Any) -> AnchorOptions:
    """Points as the contexts make them."""
    hull: Any = "brown" if construction == "brown" else "best-fit"
    return AnchorOptions(hull=hull, spelling=False, prior=0.0, **changes)


def loop_counts(rows: list[list[int]], n: int, window: int) -> np.ndarray:
    """(n, places, n + 1), the places in the order -1, 1, -2, 2 ..."""
    counts = np.zeros((n, 2 * window, n + 1))
    for row in rows:
        for i, x in enumerate(row):
            for distance in range(1, window + 1):
                for side, j in enumerate((i - distance, i + distance)):
                    counts[x, 2 * (distance - 1) + side, row[j] if 0 <= j < len(row) else n] += 1
    return counts


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 4))
def test_contexts_are_those_of_a_loop(rows: list[list[int]], window: int) -> None:
    found = context_counts(Sequences.of(rows), 5, window)
    assert found.toarray().tolist() == loop_counts(rows, 5, window).reshape(5, -1).tolist()


def dense(
    types: WordTypes, options: AnchorOptions, construction: Construction, *, appended: bool = False
) -> np.ndarray:
    """(n, contexts) that the first d singular vectors of are wanted, as Figure 3 has it."""
    rows = np.split(types.sequences.terminal, types.sequences.start[1:-1])
    counts = loop_counts([row.tolist() for row in rows], len(types.names), options.window)
    counts = counts.reshape(len(counts), -1)
    n_contexts = counts.shape[1]
    if appended:
        phi = spelling_counts(spelling_features(types.names), types.names, types.capital).toarray()
        of_contexts, of_features = (np.linalg.norm(table, axis=1, keepdims=True) for table in (counts, phi))
        counts = np.hstack([counts, 0.1 * phi * of_contexts / of_features])
    x, c = counts[:, :n_contexts].sum(axis=1) / (2 * options.window), counts.sum(axis=0)
    if construction == "best-fit":
        return counts / counts[:, :n_contexts].sum(axis=1, keepdims=True)
    x, c = x + options.smoothing, c + options.smoothing
    if construction == "brown":
        return np.sqrt(counts) / np.outer(x, c) ** 0.25
    return counts / np.sqrt(np.outer(x, c))


@pytest.mark.parametrize("appended", [False, True])
@pytest.mark.parametrize("changes", [{}, {"window": 2}, {"sigma_power": 0.0}, {"smoothing": 3.0}], ids=str)
@pytest.mark.parametrize("construction", ["brown", "cca", "best-fit"])
def test_rows_are_those_of_dense_decompositions(
    construction: Construction, changes: dict[str, Any], appended: bool
) -> None:
    """Singular vectors have signs of their own: inner products of rows do not."""
    types = WordTypes.of(sentences(0))
    options = plain(construction, **changes)
    matrix = dense(types, options, construction, appended=appended)
    values, vectors = np.linalg.eigh(matrix @ matrix.T)
    sigma, u = np.sqrt(values[::-1][:4]), vectors[:, ::-1][:, :4]
    assert values[-4] > 1.01 * values[-5]  # else the four are not defined
    if construction == "brown":
        wanted = u * sigma**options.sigma_power
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    else:
        wanted = u * sigma  # = the matrix, projected on right singular vectors
        if construction == "cca":
            wanted /= np.sqrt(types.tokens + options.smoothing)[:, None]
    rows = paper_points(types, 4, construction, options, appended=appended)
    assert rows.shape == wanted.shape
    assert rows @ rows.T == pytest.approx(wanted @ wanted.T, abs=1e-9)


@pytest.mark.parametrize(("construction", "prior"), [("brown", 0.0), ("best-fit", 3.0), ("best-fit", 30.0)])
def test_weights_are_those_of_ridge_regression(construction: Construction, prior: float) -> None:
    """arg min over W of Σ_x n_x / (n_x + κ₀) ‖row_x - mean - φ(x) W‖² + penalty ‖W‖², as one of least squares."""
    types = WordTypes.of(sentences(4))
    raw = paper_points(types, 4, construction, plain(construction))
    _, spelling = with_spelling(raw, types, AnchorOptions(prior=prior, penalty=2.0))
    weight = types.tokens / (types.tokens + prior)
    mean = np.average(raw, axis=0, weights=weight)
    assert spelling.mean == pytest.approx(mean, abs=1e-12)
    phi = spelling_counts(spelling.features, types.names, types.capital).toarray()
    s = phi.shape[1]
    design = np.vstack([np.sqrt(weight)[:, None] * phi, np.sqrt(2.0) * np.eye(s)])
    target = np.vstack([np.sqrt(weight)[:, None] * (raw - mean), np.zeros((s, 4))])
    wanted = np.linalg.lstsq(design, target)[0]
    assert spelling.weights == pytest.approx(wanted, abs=1e-4 * abs(wanted).max())
    assert spelling.predict(types.names, types.capital) == pytest.approx(phi @ wanted + mean, abs=1e-4 * abs(raw).max())


@pytest.mark.parametrize("spelling", [True, False])
@pytest.mark.parametrize("hull", ["brown", "best-fit"])
def test_a_word_of_n_tokens_counts_n_to_the_prior(hull: Any, spelling: bool) -> None:
    types = WordTypes.of(sentences(5))
    raw = paper_points(types, 4, hull, plain(hull))
    points, prediction = with_spelling(raw, types, AnchorOptions(hull=hull, spelling=spelling, prior=7.0))
    share = (types.tokens / (types.tokens + 7.0))[:, None]
    wanted = share * raw + (1 - share) * prediction.predict(types.names, types.capital)
    if hull == "brown":
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert points == pytest.approx(wanted, abs=1e-12)


letters = st.one_of(st.sampled_from("aAbB1-'"), st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs")))
word = st.text(alphabet=letters, min_size=1, max_size=6)  # words that files can hold
texts = st.lists(st.lists(word, min_size=1, max_size=6), max_size=8)


def capitalised(sentences: list[list[str]], name: str) -> float:
    """The share of capitalised tokens: of those within sentences, or of all where there are none."""
    within = [word for words in sentences for word in words[1:] if word.lower() == name]
    tokens = within or [words[0] for words in sentences if words[0].lower() == name]
    return sum(word[:1].isupper() for word in tokens) / len(tokens)


@given(texts)
def test_types_are_those_of_a_counter(sentences: list[list[str]]) -> None:
    types = WordTypes.of(sentences)
    tally = Counter(word.lower() for words in sentences for word in words)
    assert list(zip(types.names, types.tokens.tolist(), strict=True)) == tally.most_common()  # ties as they appear
    assert types.capital.tolist() == [capitalised(sentences, name) for name in types.names]
    again = [[types.names[x] for x in row] for row in np.split(types.sequences.terminal, types.sequences.start[1:-1])]
    assert (again if sentences else []) == [[word.lower() for word in words] for words in sentences]


any_word = st.text(st.one_of(st.sampled_from("aAbB1-'"), st.characters(exclude_categories=())), max_size=6)


def spelt(name: str, capital: float) -> dict[str, float]:
    """The features of a word in lower case that are not zero."""
    found = {"capital": capital, "no capital": 1.0 - capital}
    found["hyphen" if "-" in name else "no hyphen"] = 1.0
    found["digit" if any(c.isdigit() for c in name) else "no digit"] = 1.0
    found |= {"-" + name[i:]: 1.0 for i in range(max(len(name) - 3, 0), len(name))}
    return {feature: value for feature, value in found.items() if value}


@given(st.lists(any_word.map(str.lower), max_size=8), st.lists(any_word.map(str.lower), max_size=4), st.floats(0, 1))
def test_features_are_those_spelt_by_hand(known: list[str], unseen: list[str], share: float) -> None:
    features = spelling_features(known)
    every = {name for word in known for name in spelt(word, 0.0)} | {"capital", "no capital"}
    assert set(features.names) == every
    assert len(features.names) == len(every)
    words = known + unseen
    matrix = spelling_counts(features, words, np.full(len(words), share))
    assert matrix.shape == (len(words), len(every))
    for row, name in zip(matrix.toarray(), words, strict=True):
        found = {feature: value for feature, value in zip(features.names, row.tolist(), strict=True) if value}
        assert found == {feature: value for feature, value in spelt(name, share).items() if feature in every}

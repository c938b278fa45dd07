"""The points of words, against loops, dense decompositions and the ridge regression of a textbook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.closed_form import CONSTRUCTIONS, Construction, paper_points
from spectral_latent.anchors import AnchorOptions
from spectral_latent.anchors.hulls import WordTypes, context_counts, spelling_counts, spelling_features, with_spelling
from spectral_latent.sequence import Sequences

odd = st.characters(exclude_categories=("Cs",), exclude_characters="\t\n\v\f\r\x1c\x1d\x1e\x85")
letters = st.one_of(st.sampled_from("aAbB1-'"), odd)
word = st.text(letters, min_size=1, max_size=6)
texts = st.lists(st.lists(word, min_size=1, max_size=6), min_size=1, max_size=8)
settings_of_hulls = st.builds(
    AnchorOptions,
    hull=st.sampled_from(["brown", "best-fit"]),
    window=st.integers(1, 3),
    spelling=st.booleans(),
    prior=st.sampled_from([0.0, 1.0, 30.0]),
)


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


def english(seed: int, n: int = 120) -> list[list[str]]:
    """Sentences of some thirty words that have parts of speech, endings and capitals."""
    rng = np.random.default_rng(seed)
    nouns = ["cat", "dogs", "Paris", "well-being", "42", "station", "nation", "Rome", "x-ray", "ships"]
    verbs = ["walked", "talked", "is", "sees", "ran", "looking", "making", "stopped"]
    others = {"d": ["the", "a", "this"], "p": ["of", "in", "to"], "n": nouns, "v": verbs, "s": [".", "!"]}
    shapes = ["dnvs", "dnvdns", "nvpdns", "dnpdnvs", "vs", "nvs"]
    found = []
    for shape in rng.choice(shapes, n):
        words = [str(others[kind][min(int(rng.exponential(2)), len(others[kind]) - 1)]) for kind in shape]
        found.append([words[0].capitalize(), *words[1:]])
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Contexts


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 4))
def test_contexts_are_those_of_a_loop(rows: list[list[int]], window: int) -> None:
    found = context_counts(Sequences.of(rows), 5, window)
    assert found.toarray().tolist() == loop_counts(rows, 5, window).reshape(5, -1).tolist()


# ---------------------------------------------------------------------------------------------------------------------
# Constructions


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
    types = WordTypes.of(english(0))
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


def test_large_matrices_give_the_same_rows_as_small_ones() -> None:
    """More than some hundred types are decomposed iteratively."""
    rng = np.random.default_rng(0)
    rows = [[int(x) for x in 150 * h + (150 * rng.random(3) ** 2).astype(int)] for h in rng.integers(0, 3, 4000)]
    types = WordTypes.of([[f"w{x}" for x in row] for row in rows])
    assert len(types.names) > 420
    u, sigma, _ = np.linalg.svd(dense(types, plain("brown"), "brown"), full_matrices=False)
    wanted = u[:, :3] * np.sqrt(sigma[:3])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    found = paper_points(types, 3, "brown", plain("brown"))
    assert found @ found.T == pytest.approx(wanted @ wanted.T, abs=1e-7)


def test_random_projections_keep_inner_products() -> None:
    types = WordTypes.of(english(1))
    omega = dense(types, plain("best-fit"), "best-fit")
    rows = paper_points(types, 20_000, "random", plain("random"), seed=1)
    assert rows @ rows.T == pytest.approx(omega @ omega.T, abs=0.03)
    other = paper_points(types, 20_000, "random", plain("random"), seed=2)
    assert abs(other - rows).max() > 1e-3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("construction", ["brown", "cca"])
def test_smoothing_may_be_zero(construction: Construction) -> None:
    """Some contexts then have no weight: those that never occur."""
    types = WordTypes.of(english(9))
    rows = paper_points(types, 4, construction, plain(construction, smoothing=0.0))
    near = paper_points(types, 4, construction, plain(construction, smoothing=1e-9))
    assert rows @ rows.T == pytest.approx(near @ near.T, abs=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Spelling


@pytest.mark.parametrize(("construction", "prior"), [("brown", 0.0), ("best-fit", 3.0), ("best-fit", 30.0)])
def test_weights_are_those_of_ridge_regression(construction: Construction, prior: float) -> None:
    """arg min over W of Σ_x n_x / (n_x + κ₀) ‖row_x - mean - φ(x) W‖² + penalty ‖W‖², as one of least squares."""
    types = WordTypes.of(english(4))
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
    types = WordTypes.of(english(5))
    raw = paper_points(types, 4, hull, plain(hull))
    points, prediction = with_spelling(raw, types, AnchorOptions(hull=hull, spelling=spelling, prior=7.0))
    share = (types.tokens / (types.tokens + 7.0))[:, None]
    wanted = share * raw + (1 - share) * prediction.predict(types.names, types.capital)
    if hull == "brown":
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert points == pytest.approx(wanted, abs=1e-12)


def test_unseen_words_are_the_sum_of_the_features_that_are_known() -> None:
    types = WordTypes.of(english(6))
    _, spelling = with_spelling(paper_points(types, 4, "brown", plain("brown")), types, AnchorOptions())
    by_name = dict(zip(spelling.features.names, spelling.weights, strict=True))
    found = spelling.predict(["creation", "zzz", "7-q", "", "喜欢"], np.array([1.0, 0.0, 0.25, 0.0, 0.0]))
    base = spelling.mean + by_name["no capital"] + by_name["no hyphen"] + by_name["no digit"]
    wanted = [
        spelling.mean + sum(by_name[name] for name in ("capital", "no hyphen", "no digit", "-n", "-on", "-ion")),
        base,
        spelling.mean + 0.25 * by_name["capital"] + 0.75 * by_name["no capital"] + by_name["hyphen"] + by_name["digit"],
        base,
        base,
    ]
    assert found == pytest.approx(np.array(wanted), abs=1e-12)


def test_without_spelling_unseen_words_have_the_mean() -> None:
    types = WordTypes.of(english(8))
    raw = paper_points(types, 3, "brown", plain("brown"))
    _, spelling = with_spelling(raw, types, AnchorOptions(spelling=False))
    weight = types.tokens / (types.tokens + 30.0)
    found = spelling.predict(["a", "B"], np.zeros(2))
    assert found == pytest.approx(np.tile(np.average(raw, axis=0, weights=weight), (2, 1)), abs=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Whatever the words are


@settings(max_examples=30)
@given(texts, st.integers(1, 15), settings_of_hulls)
def test_rows_are_finite_whatever_the_words(sentences: list[list[str]], d: int, options: AnchorOptions) -> None:
    types = WordTypes.of(sentences)
    points, spelling = with_spelling(paper_points(types, d, options.hull, options), types, options)
    assert len(points) == len(types.names)
    assert 1 <= points.shape[1] <= d
    assert np.isfinite(points).all()
    unseen = spelling.predict(["Ω", "", "a-1"], np.array([1.0, 0.0, 0.0]))
    assert unseen.shape == (3, points.shape[1])
    assert np.isfinite(unseen).all()


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("sentences", [[["a"]], [["a"]] * 5, [["a", "a"]], [["a"], ["b"], ["C"]]])
def test_one_type_or_sentences_of_one_word(construction: Construction, sentences: list[list[str]]) -> None:
    """All words stand in the same contexts, and so have one row."""
    rows = paper_points(WordTypes.of(sentences), 2, construction, plain(construction))
    assert abs(rows).max() > 0
    assert rows == pytest.approx(np.tile(rows[0], (len(rows), 1)), abs=1e-7)

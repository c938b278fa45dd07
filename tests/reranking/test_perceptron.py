"""The perceptron against the formulas of its head, line by line on dense arrays, and on lists that others wrote."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from spectral_latent.estimation import EstimationError
from spectral_latent.reranking import FeatureTable, PerceptronOptions, PerceptronReranker
from spectral_latent.trees import FloatArray


def table_of(blocks: list[FloatArray], names: list[str], measured: list[bool]) -> FeatureTable:
    start = np.cumsum([0, *map(len, blocks)])
    values = sparse.csr_array(np.concatenate(blocks))
    return FeatureTable(tuple(names), values, start, tuple(map(str, range(len(blocks)))), np.array(measured))


def random_table(seed: int, n_lists: int = 12, noise: float = 1.0) -> tuple[FeatureTable, FloatArray]:
    """Lists of 1 to 6 candidates in the order of a score, with two measures and three counts; gains depend on them."""
    rng = np.random.default_rng(seed)
    blocks, gains = [], []
    for _ in range(n_lists):
        n = int(rng.integers(1, 7))
        measures, counts = 40 * rng.standard_normal((n, 2)), rng.integers(0, 3, (n, 3)).astype(float)
        blocks.append(np.column_stack([np.log1p(np.arange(n)), measures, counts]))
        gains.append(measures[:, 0] / 40 + counts[:, 0] + noise * rng.standard_normal(n))
    names = ["base:log-rank", "latent:a", "latent:b", "rule:x", "rule:y", "rule:z"]
    return table_of(blocks, names, [True] * 3 + [False] * 3), np.concatenate(gains)


class Naive:
    """What `PerceptronReranker.train` does, by the formulas."""

    def __init__(self, table: FeatureTable, gains: FloatArray, options: PerceptronOptions) -> None:
        self.options = options
        x = table.values.toarray()
        spans = [slice(a, b) for a, b in zip(table.start[:-1], table.start[1:], strict=True)]
        lists = [(x[span], gains[span]) for span in spans if len(set(gains[span].tolist())) > 1]
        deviation = self.deviation([x for x, _ in lists])
        self.start = np.where(np.array(table.names) == "base:log-rank", -options.order_weight, 0.0)
        best, self.epochs, self.damping = -np.inf, 0, 1.0
        for damping in (1.0, 0.3, 0.1, 0.0):
            scale = np.where(table.measured, 1 / deviation, damping)
            scaled = [(x * scale, g) for x, g in lists]
            held_out = self.cross_validated(scaled)
            for epochs in range(options.epochs + 1):
                won = held_out[:, epochs] - held_out[:, 0]
                if won.mean() > best + 1e-12:
                    best = won.mean()
                    is_sure = best > won.std(ddof=1) / np.sqrt(len(won))
                    self.epochs, self.damping = (epochs, damping) if is_sure else (0, 1.0)
        scale = np.where(table.measured, 1 / deviation, self.damping)
        scaled = [(x * scale, g) for x, g in lists]
        self.held_out = self.cross_validated(scaled).mean(axis=0)
        self.weights = self.averages(scaled)[self.epochs] * scale

    @staticmethod
    def deviation(blocks: list[FloatArray]) -> FloatArray:
        centred = np.concatenate([block - block.mean(axis=0) for block in blocks])
        return np.sqrt((centred**2).mean(axis=0))

    def averages(self, lists: list[tuple[FloatArray, FloatArray]]) -> list[FloatArray]:
        unit = self.deviation([g for _, g in lists])
        rng = np.random.default_rng(self.options.seed)
        w, seen, averages = self.start, [], [self.start]
        for _ in range(self.options.epochs):
            for i in rng.permutation(len(lists)):
                x, g = lists[i][0], lists[i][1] / unit
                hope, fear = (
                    (x @ w + self.options.gain_weight * g).argmax(),
                    (x @ w - self.options.gain_weight * g).argmax(),
                )
                if g[hope] > g[fear]:
                    delta = x[hope] - x[fear]
                    loss = g[hope] - g[fear] - w @ delta
                    if loss > 0:
                        most = loss / (delta @ delta) if delta @ delta else np.inf
                        w = w + min(self.options.max_step, most) * delta
                seen.append(w)
            averages.append(np.mean(seen, axis=0))
        return averages

    def cross_validated(self, lists: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
        found = []
        for fold in np.array_split(np.arange(len(lists)), min(self.options.folds, len(lists))):
            averages = self.averages([each for i, each in enumerate(lists) if i not in fold])
            found += [[lists[i][1][(lists[i][0] @ w).argmax()] for w in averages] for i in fold]
        return np.array(found)


@settings(max_examples=20)
@given(
    st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0.5, 3.0]), st.sampled_from([0.05, 9.0])
)
def test_formulas(seed: int, start: float, greed: float, step: float) -> None:
    options = PerceptronOptions(epochs=4, folds=3, order_weight=start, gain_weight=greed, max_step=step, seed=seed % 5)
    table, gains = random_table(seed)
    found, expected = PerceptronReranker.train(table, gains, options), Naive(table, gains, options)
    assert found.held_out == pytest.approx(expected.held_out)
    assert (found.epochs, found.damping) == (expected.epochs, expected.damping)
    assert found.weights == pytest.approx(expected.weights)
    scores = table.values.toarray() @ expected.weights
    assert found.scores(table) == pytest.approx(scores)
    best = [int(scores[a:b].argmax()) if a < b else -1 for a, b in zip(table.start[:-1], table.start[1:], strict=True)]
    assert found.rerank(table).tolist() == best


def test_learns_what_there_is_to_learn() -> None:
    table, gains = random_table(1, n_lists=200, noise=0.1)
    reranker = PerceptronReranker.train(table, gains)
    unseen, true = random_table(2, n_lists=200, noise=0.0)
    best = np.maximum.reduceat(true, unseen.start[:-1])
    chosen = true[unseen.start[:-1] + reranker.rerank(unseen)]
    assert chosen.mean() > best.mean() - 0.02
    assert true[unseen.start[:-1]].mean() < best.mean() - 0.5  # the base parser's


def test_without_anything_to_learn_from_it_is_the_base_parser() -> None:
    table, _ = random_table(3, n_lists=60)
    gains = -np.concatenate([np.arange(n) for n in np.diff(table.start)]).astype(float)  # the first is the best
    reranker = PerceptronReranker.train(table, gains)
    assert reranker.epochs == 0
    other, _ = random_table(4)
    assert (reranker.rerank(other) == 0).all()


def test_features_by_name() -> None:
    table, gains = random_table(7, n_lists=40)
    reranker = PerceptronReranker.train(table, gains)
    shuffled = table.align(table.names[::-1])
    more = shuffled.join(FeatureTable.measures({"new": gains}, np.diff(table.start), table.ids))
    assert reranker.rerank(more).tolist() == reranker.rerank(table).tolist()
    with pytest.raises(ValueError, match="no features of the groups latent; compute them"):
        reranker.rerank(table.align([name for name in table.names if not name.startswith("latent")]))


def test_lists_without_candidates() -> None:
    table, gains = random_table(8, n_lists=20)
    start = np.sort(np.append(table.start, table.start[[0, 4, 4, -1]]))
    padded = replace(table, start=start, ids=tuple(map(str, range(len(start) - 1))))
    reranker, other = PerceptronReranker.train(padded, gains), PerceptronReranker.train(table, gains)
    assert np.array_equal(reranker.weights, other.weights)
    chosen = reranker.rerank(padded)
    assert chosen[np.diff(start) > 0].tolist() == other.rerank(table).tolist()
    assert (chosen[np.diff(start) == 0] == -1).all() and (np.diff(start) == 0).sum() == 4


def test_refused() -> None:
    table, gains = random_table(9)
    with pytest.raises(EstimationError, match=r"^\d+ gains for \d+ candidates.*; give a finite number"):
        PerceptronReranker.train(table, gains[1:])
    with pytest.raises(EstimationError, match="that are not finite; give"):
        PerceptronReranker.train(table, np.where(gains == gains[0], np.nan, gains))
    with pytest.raises(EstimationError, match="differ in gain in 0 of the lists, and two are needed; give more"):
        PerceptronReranker.train(table, np.zeros_like(gains))
    long = np.flatnonzero(np.diff(table.start) > 1)[:1]
    with pytest.raises(EstimationError, match="in 1 of the lists"):
        PerceptronReranker.train(table.of_lists(long), gains[table.rows_of(long)])

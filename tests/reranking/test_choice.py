"""The choice among candidates against the formulas of its head, and on lists whose best candidates are known."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.reranking import CandidateChoice, FeatureTable, RerankerOptions
from spectral_latent.reranking.choice import choice_losses
from spectral_latent.trees import FloatArray


def random_table(seed: int, n_lists: int = 40, noise: float = 0.3) -> tuple[FeatureTable, FloatArray]:
    """Lists of 1 to 6 candidates in the order of a score, with features of different sizes, on two of which gains
    depend."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n_lists)
    measures = rng.standard_normal((int(sizes.sum()), 3))
    columns = {
        "base:log-rank": np.concatenate([np.log1p(np.arange(n)) for n in sizes]),
        "latent:a": 40 * measures[:, 0] - 300,
        "latent:b": measures[:, 1] / 50,
        "latent:c": measures[:, 2],
    }
    table = FeatureTable.of(columns, sizes, list(map(str, range(n_lists))))
    return table, measures[:, 0] - measures[:, 1] + noise * rng.standard_normal(len(measures))


@given(st.integers(0, 2**32 - 1))
def test_losses_and_their_gradients(seed: int) -> None:
    table, gain = random_table(seed, n_lists=5)
    gain = gain.round()  # several candidates may be the best
    spans = [slice(*span) for span in pairwise(table.start.tolist())]
    is_best = np.concatenate([gain[span] == gain[span].max() for span in spans])
    x = table.values / np.abs(table.values).max(axis=0)
    w = np.random.default_rng(seed).standard_normal(4)

    def expected(w: FloatArray) -> tuple[float, float]:
        """Both losses, list by list."""
        first = second = 0.7 / 2 * float(w @ w)
        for span in spans:
            p = np.exp(x[span] @ w) / np.exp(x[span] @ w).sum()
            first -= np.log(p[is_best[span]].sum())
            second -= p @ gain[span]
        return float(first), float(second)

    found = choice_losses(x, gain, is_best, table.start, w, penalty=0.7)
    assert [value for value, _ in found] == pytest.approx(expected(w))
    for number, (_, gradient) in enumerate(found):
        for at in range(4):
            step = 1e-6 * np.eye(4)[at]
            slope = (expected(w + step)[number] - expected(w - step)[number]) / 2e-6
            assert gradient[at] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_choices_have_large_gains_on_new_lists(seed: int) -> None:
    table, gain = random_table(seed, n_lists=200)
    train, test = np.arange(150), np.arange(150, 200)
    choice = CandidateChoice.train(table.of_lists(train), gain[table.rows_of(train)])
    assert choice.is_learnt and choice.held_out[1] > choice.held_out[0] + 0.5
    new, of_new = table.of_lists(test), gain[table.rows_of(test)]
    of_choices = of_new[new.start[:-1] + choice.rerank(new)].sum()
    best = np.maximum.reduceat(of_new, new.start[:-1]).sum()
    first = of_new[new.start[:-1]].sum()
    assert of_choices > first + 0.9 * (best - first)


def test_scales_and_the_order_of_lists_do_not_matter() -> None:
    table, gain = random_table(0)
    choice = CandidateChoice.train(table, gain)
    scaled = FeatureTable(table.names, table.values * [1.0, 1e-6, 1e9, 3.0], table.start, table.ids)
    np.testing.assert_array_equal(CandidateChoice.train(scaled, 5.0 * gain).rerank(scaled), choice.rerank(table))
    back = np.arange(table.n_lists)[::-1]
    folds = RerankerOptions(folds=table.n_lists)  # each list alone, so that the folds are the same
    both = [
        CandidateChoice.train(table.of_lists(order), gain[table.rows_of(order)], folds)
        for order in (np.sort(back), back)
    ]
    np.testing.assert_allclose(both[0].weights, both[1].weights, rtol=1e-3, atol=1e-4)


def test_where_nothing_can_be_learnt_the_base_parsers_order_stays() -> None:
    table, _ = random_table(1)
    choice = CandidateChoice.train(table, -table.values[:, 0])
    assert not choice.is_learnt
    assert set(choice.rerank(table).tolist()) == {0}
    # Of gains that depend on nothing, about a sixth are a standard error above those of the first candidates.
    rng = np.random.default_rng(1)
    learnt = [CandidateChoice.train(table, rng.standard_normal(len(table.values))).is_learnt for _ in range(8)]
    assert sum(learnt) <= 4

"""Anchor hidden Markov models are recovered exactly from population moments; each step against its definition."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from benchmarks.papers.closed_form import solve_closed_form
from spectral_latent.anchors.training import Bigrams, choose_anchors, count_bigrams, find_mixtures, maximise_likelihood
from spectral_latent.estimation.simplex import anchors as greedy
from spectral_latent.sequence import HiddenMarkov, Sequences
from tests.sequence.hmms import draw_strings

seeds = st.integers(0, 2**32 - 1)
strings = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=12)


class Population(NamedTuple):
    """An anchor HMM and its exact moments, for one sequence.

    visits: (m,) how often a state is expected.  of_type: (n, m) p(h | x).  anchors: type -> state.
    """

    hidden: HiddenMarkov
    visits: np.ndarray
    of_type: np.ndarray
    anchors: dict[int, int]

    @property
    def share(self) -> np.ndarray:
        """π̄ (2)."""
        return self.visits / self.visits.sum()

    @property
    def unigrams(self) -> np.ndarray:
        """(n,) expected counts."""
        return self.visits @ self.hidden.emission

    @property
    def going_on(self) -> np.ndarray:
        """(m, m) p(h', and the sequence goes on | h)."""
        return (1.0 - self.hidden.stop)[:, None] * self.hidden.transition

    def bigrams(self) -> Bigrams:
        """Expected counts, as fractions."""
        o, v = self.hidden.emission, self.visits
        table = np.column_stack([o.T @ (v[:, None] * self.going_on) @ o, o.T @ (v * self.hidden.stop)])
        before, after = np.nonzero(table)
        first = self.hidden.initial @ o
        return Bigrams(before, after, table[before, after], np.flatnonzero(first), first[first > 0], self.unigrams)


def anchor_hmm(seed: int, m: int, n: int) -> Population:
    """Each state has an anchor, at some type; other types are mixtures of all."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(n)
    mixture = 0.8 * rng.dirichlet(np.ones(m), n) + 0.2 / m
    mixture[place[:m]] = np.eye(m)
    weight = rng.uniform(0.5, 1.5, n)
    weight[place[:m]] = 4.0
    emission = (mixture * weight[:, None]).T
    emission /= emission.sum(axis=1, keepdims=True)
    transition = 0.5 * np.eye(m)[rng.permutation(m)] + 0.5 * rng.dirichlet(np.ones(m), m)
    hidden = HiddenMarkov(rng.dirichlet(np.full(m, 3.0)), transition, rng.uniform(0.05, 0.2, m), emission)
    visits = np.linalg.solve((np.eye(m) - (1.0 - hidden.stop)[:, None] * transition).T, hidden.initial)
    joint = (visits[:, None] * emission).T
    of_type = joint / joint.sum(axis=1, keepdims=True)
    return Population(
        hidden, visits, of_type, {x: int(h) for x, h in enumerate(of_type.argmax(1)) if of_type[x, h] == 1}
    )


def errors(found: HiddenMarkov, truth: Population) -> dict[str, float]:
    """Largest errors of π, T, the probability of stopping and O, under the permutation that suits O best."""
    wanted = truth.hidden
    cost = ((found.emission[:, None] - wanted.emission[None]) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(cost)
    p = rows[np.argsort(columns)]
    return {
        "π": abs(found.initial[p] - wanted.initial).max(),
        "T": abs(found.transition[np.ix_(p, p)] - wanted.transition).max(),
        "stop": abs(found.stop[p] - wanted.stop).max(),
        "O": abs(found.emission[p] - wanted.emission).max(),
    }


def counts_of(bigrams: Bigrams, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Bigrams (n, n + 1) and first types (n,) as tables."""
    table = sparse.coo_array((bigrams.count, (bigrams.before, bigrams.after)), shape=(n, n + 1)).toarray()
    return table, np.bincount(bigrams.first, bigrams.first_count, minlength=n)


@settings(max_examples=30)
@given(seeds, st.integers(1, 8), st.integers(0, 3))
def test_corners_and_mixtures_give_the_model_back(seed: int, m: int, more: int) -> None:
    """Theorem 4.1, from the exact rows Ω = p(h | x) Θ."""
    truth = anchor_hmm(seed, m, m + 12)
    corners = np.random.default_rng(seed).normal(size=(m, m + more))
    assume(np.linalg.cond(corners) < 1e3)
    assume(np.linalg.cond(truth.hidden.transition) < 1e3)
    rows = truth.of_type @ corners
    anchors = choose_anchors(rows, truth.unigrams, m, len(rows))
    assert sorted(truth.anchors[x] for x in anchors.tolist()) == list(range(m))
    mixtures = find_mixtures(rows, rows[anchors], 1.0)
    order = [truth.anchors[x] for x in anchors.tolist()]
    assert mixtures == pytest.approx(truth.of_type[:, order], abs=1e-9)
    assert truth.unigrams @ mixtures / truth.unigrams.sum() == pytest.approx(truth.share[order], abs=1e-9)
    found = solve_closed_form(mixtures, truth.bigrams())
    assert errors(found, truth) == pytest.approx(dict.fromkeys(("π", "T", "stop", "O"), 0.0), abs=1e-9)


def test_the_likeliest_model_of_the_population_is_the_true_one() -> None:
    """Equation 8 exactly; equation 9 by EM, which comes nearer with every step."""
    truth = anchor_hmm(0, 4, 20)
    bigrams = truth.bigrams()
    one, three, many = (errors(maximise_likelihood(truth.of_type, bigrams, steps), truth) for steps in (1, 3, 300))
    assert one["π"] < 1e-9
    assert one["T"] > 1.5 * three["T"] > 15 * many["T"]
    assert many == pytest.approx(dict.fromkeys(("π", "T", "stop", "O"), 0.0), abs=1e-9)


def volume(points: np.ndarray) -> float:
    """Of the parallelepiped; as the product of distances from the span of those before."""
    return float(abs(np.diag(np.linalg.qr(points.T)[1])).prod()) if len(points) else 1.0


@settings(max_examples=30)
@given(seeds, st.integers(1, 7), st.integers(0, 3), st.sampled_from(["normal", "unit", "positive", "small"]))
def test_no_exchange_makes_the_hull_larger(seed: int, m: int, more: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    rows, count = rng.normal(size=(25, m + more)), rng.integers(1, 5, 25).astype(float)
    if kind == "unit":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    elif kind == "positive":
        rows = rng.dirichlet(np.full(m + more, 0.3), 25)
    elif kind == "small":
        rows *= 1e-6
    chosen = choose_anchors(rows, count, m, 25)
    assert len(set(chosen.tolist())) == m
    largest = volume(rows[chosen])
    assert largest >= volume(rows[greedy(rows, count, m)]) * (1 - 1e-9)
    for h in range(m):
        for x in range(25):
            other = chosen.copy()
            other[h] = x
            assert volume(rows[other]) <= largest * (1 + 1e-8)


def test_ties_are_broken_by_frequency_and_then_by_order() -> None:
    rows = np.array([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8], [-1.0, 0.0], [0.0, 1.0]])
    count = np.array([1.0, 2.0, 1.0, 2.0, 2.0])
    assert choose_anchors(rows, count, 2, 5).tolist() == [1, 3]
    assert choose_anchors(rows, np.ones(5), 2, 5).tolist() == [0, 1]
    turned = rows @ np.array([[0.6, 0.8], [-0.8, 0.6]])  # lengths are now equal up to rounding only
    assert choose_anchors(turned, count, 2, 5).tolist() == [1, 3]
    # of those as far from the span of the others, an exchange takes the most frequent as well
    rows = np.array([[3.0, 3.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0], [0.0, -4.0]])
    assert choose_anchors(rows, np.array([9.0, 8.0, 1.0, 2.0, 2.0]), 2, 5).tolist() == [3, 1]


@pytest.mark.parametrize(
    ("candidates", "among"),
    [(1, {4}), (2, {4, 1, 3}), (4, {0, 1, 2, 3, 4, 5}), (300, set(range(7)))],
)
def test_candidates_are_the_most_frequent_and_those_as_frequent(candidates: int, among: set[int]) -> None:
    """Later types are longer: of two, the one of the two longest that may be chosen."""
    rows = np.diag([5.0, 6.0, 7.0, 8.0, 1.0, 9.0, 10.0])
    count = np.array([2.0, 5.0, 2.0, 5.0, 9.0, 2.0, 1.0])
    chosen = choose_anchors(rows, count, 2, candidates).tolist()
    assert chosen == sorted(among, key=lambda x: -rows[x, x])[:2]


@given(seeds, st.integers(1, 6), st.sampled_from([0.5, 1.0, 2.0, 4.0, 20.0]))
def test_mixtures_are_sharpened_and_sum_to_one(seed: int, m: int, sharpness: float) -> None:
    rng = np.random.default_rng(seed)
    corners = np.eye(m) + 0.1 * rng.normal(size=(m, m))
    weights = rng.dirichlet(np.ones(m), 15)
    found = find_mixtures(weights @ corners, corners, sharpness)
    wanted = weights**sharpness
    assert found == pytest.approx(wanted / wanted.sum(axis=1, keepdims=True), abs=1e-7)
    assert found.sum(axis=1) == pytest.approx(np.ones(15), abs=1e-12)
    assert find_mixtures(corners, corners, sharpness) == pytest.approx(np.eye(m), abs=1e-7 if sharpness < 1 else 1e-12)


@given(strings)
def test_bigrams_are_those_of_a_loop(rows: list[list[int]]) -> None:
    table, first, unigrams = np.zeros((4, 5)), np.zeros(4), np.zeros(4)
    for row in rows:
        first[row[0]] += 1
        for x, y in zip(row, [*row[1:], 4], strict=True):
            table[x, y] += 1
            unigrams[x] += 1
    bigrams = count_bigrams(Sequences.of(rows), 4)
    found, found_first = counts_of(bigrams, 4)
    assert found.tolist() == table.tolist()
    assert found_first.tolist() == first.tolist()
    assert bigrams.unigrams.tolist() == unigrams.tolist()
    assert bigrams.first_probabilities() == pytest.approx(first / len(rows))
    assert len(set(zip(bigrams.before.tolist(), bigrams.after.tolist(), strict=True))) == len(bigrams.count)


def logarithm(found: HiddenMarkov, share: np.ndarray, bigrams: Bigrams) -> tuple[float, float]:
    """The likelihood (9) of bigrams, and by how much the best may be larger.

    For concave f over a product of simplices f* - f ≤ Σ_h (max_k g_hk - Σ_k t_hk g_hk), g the gradient.
    """
    table, _ = counts_of(bigrams, found.emission.shape[1])
    t = np.column_stack([(1 - found.stop)[:, None] * found.transition, found.stop])
    emits = np.pad(found.emission, (0, 1))
    emits[-1, -1] = 1.0
    left = (share[:, None] * found.emission).T
    p, seen = left @ t @ emits, table > 0
    g = left.T @ np.divide(table, p, out=np.zeros_like(p), where=seen) @ emits.T
    return float((table[seen] * np.log(p[seen])).sum()), float((g.max(axis=1) - (t * g).sum(axis=1)).sum())


def test_steps_climb_to_the_optimum() -> None:
    """The gap, computed from the gradient, certifies it."""
    truth = anchor_hmm(0, 3, 12)
    bigrams = count_bigrams(Sequences.of(draw_strings(truth.hidden, 200, np.random.default_rng(0))), 12)
    mixtures = np.random.default_rng(0).dirichlet(np.full(3, 0.3), 12)  # of any model
    share = bigrams.unigrams @ mixtures / bigrams.unigrams.sum()
    found = [logarithm(maximise_likelihood(mixtures, bigrams, k), share, bigrams) for k in (1, 2, 3, 10, 1000)]
    values, gaps = zip(*found, strict=True)
    assert all(before < after + 1e-9 for before, after in pairwise(values))
    assert all(value + gap >= values[-1] - 1e-9 for value, gap in found)
    assert gaps[0] > 1
    assert gaps[-1] < 1e-3  # nats, of some thousands
    told: list[float | None] = []  # before each step
    maximise_likelihood(mixtures, bigrams, 3, lambda progress: told.append(progress.score))
    assert told[1:] == pytest.approx(values[:2])

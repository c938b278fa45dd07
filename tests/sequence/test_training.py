"""Learning: what is counted, what is chosen, and that shards do not show."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spectral_latent.sequence.shards import SequenceShards

from spectral_latent.estimation import EstimatorName, EstimatorOptions, Progress
from spectral_latent.inference import tree_weights
from spectral_latent.sequence import Alphabet, LatentHMM, SequenceOptions, Sequences
from spectral_latent.sequence.training import learn_untagged
from spectral_latent.trees import Forest
from tests.sequence.hmms import draw_strings, probability, random_hmm


def strings(n: int, seed: int = 0, m: int = 3, n_symbols: int = 4) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return draw_strings(random_hmm(rng, m, n_symbols, concentration=0.5), n, rng)


# ---------------------------------------------------------------------------------------------------------------------
# The plain model


def test_the_plain_model_has_relative_frequencies_and_a_little_of_all_else() -> None:
    """Every tag may follow every tag; frequencies move by no more than the tokens that are added."""
    rng = np.random.default_rng(0)
    corpus = [[(f"w{t}{rng.integers(3)}", t) for t in rng.integers(0, 3, size).tolist()] for size in [1, 2, 5, 9] * 8]
    back_off = 0.5
    model = LatentHMM.fit_tagged(corpus, SequenceOptions(back_off=back_off))
    rules, plain = model.coarse.rules, model.coarse
    k, n = len(model.tags), np.zeros(3)
    pairs, last = np.zeros((k, k)), np.zeros(k)
    for row in corpus:
        tags = [model.tags.index(t) for _, t in row]
        np.add.at(n, tags, 1)
        np.add.at(pairs, (tags[:-1], tags[1:]), 1)
        last[tags[-1]] += 1
    assert rules.binary.tolist() == [[k + t, t, k + u] for t in range(k) for u in range(k)]
    assert rules.unary.tolist() == [[k + t, t] for t in range(k)]
    step = np.array([tensor.multiplied_out().item() for tensor in plain.binary]).reshape(k, k)
    stop = plain.unary[:, 0, 0]
    np.testing.assert_allclose(step.sum(axis=1) + stop, 1.0, rtol=1e-12)
    bound = (back_off / (n + back_off))[:, None]
    assert (np.abs(np.column_stack([step, stop]) - np.column_stack([pairs, last]) / n[:, None]) <= bound).all()
    assert plain.root.sum() == pytest.approx(1.0)


# ---------------------------------------------------------------------------------------------------------------------
# What is left open


def test_the_number_of_states_is_the_one_with_the_best_score() -> None:
    told: list[Progress] = []
    model = LatentHMM.fit(strings(2_000), SequenceOptions(), listener=told.append)
    scores = [progress.score for progress in told if progress.stage == "states" and progress.score is not None]
    tried = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
    assert 3 <= len(scores) <= len(tried)
    assert model.latent.states.max() == tried[int(np.argmax(scores))] > 1


@pytest.mark.parametrize("estimator", ["spectral", "clustering", "em", "hybrid"])
def test_the_states_of_the_options_hold_and_the_estimators_own_do_not(estimator: EstimatorName) -> None:
    data = strings(400)
    one, two = (
        LatentHMM.fit(data, SequenceOptions(states=2, estimator=EstimatorOptions(estimator, states=own)))
        for own in (3, 16)
    )
    assert one.latent.states.tolist() == [2, 2]
    np.testing.assert_array_equal(one.latent.leaf, two.latent.leaf)


def test_independent_observations_are_learnt_as_such() -> None:
    """Whatever number of states is chosen, next to nothing is lost."""
    rng = np.random.default_rng(1)
    truth = random_hmm(rng, 1, 5)
    data, test = draw_strings(truth, 3_000, rng), draw_strings(truth, 1_000, rng)
    exact = np.log([probability(truth, x) for x in test])
    assert (exact - LatentHMM.fit(data, SequenceOptions(states=1)).log_probabilities(test)).mean() < 0.005
    assert (exact - LatentHMM.fit(data).log_probabilities(test)).mean() < 0.03


@pytest.mark.parametrize("estimator", ["clustering", "em", "hybrid"])
def test_states_make_the_data_likelier(estimator: EstimatorName) -> None:
    data = strings(1_000)
    likelihood = [
        LatentHMM.fit(data, SequenceOptions(states=m, estimator=EstimatorOptions(estimator, iterations=20)))
        .log_probabilities(data)
        .sum()
        for m in (1, 3)
    ]
    assert likelihood[1] > likelihood[0]


# ---------------------------------------------------------------------------------------------------------------------
# Shards


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5), min_size=1, max_size=12), st.integers(1, 9))
def test_shards_hold_what_was_given(rows: list[list[int]], size: int) -> None:
    shards = SequenceShards(size)
    shards.extend((row, [x % 2 for x in row]) for row in rows)
    for _ in range(2):  # any number of times
        found = Sequences.joined(list(shards))
        expected = Sequences.of(rows, ([x % 2 for x in row] for row in rows))
        for name in ("terminal", "tag", "start"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert len(shards) == len(list(shards)) and shards.n_sequences == len(rows)
    assert shards.n_positions == sum(map(len, rows))
    assert all(len(shard.terminal) >= size for shard in list(shards)[:-1])


@pytest.mark.parametrize("states", [1, 3])
def test_the_spectral_estimator_learns_the_same_in_shards(states: int) -> None:
    data = strings(800)
    options = SequenceOptions(states=states, floor=0.01)
    n, learnt = 4, []
    for size in (10**9, 700):
        shards = SequenceShards(size)
        shards.extend((row, [0] * len(row)) for row in data)
        learnt.append(learn_untagged(shards, Alphabet(range(n)), options))
        assert (len(shards) > 2) == (size == 700)
    trees = Sequences.of(strings(200, seed=5)).trees(1)
    for part in ("plain", "latent"):
        one, two = (getattr(each, part) for each in learnt)
        assert one.rules.equals(two.rules)
        weights = [tree_weights(operators, Forest.of_trees(trees, operators.rules)) for operators in (one, two)]
        np.testing.assert_array_equal(weights[0].sign, weights[1].sign)
        np.testing.assert_allclose(weights[0].log, weights[1].log, rtol=1e-7)


# ---------------------------------------------------------------------------------------------------------------------
# A known model


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_known_model_is_learnt_from_twenty_thousand_strings(seed: int) -> None:
    """Five states, twenty symbols, rows from Dirichlet(1): KL of at most 0.02 nats, and all estimates positive."""
    rng = np.random.default_rng(seed)
    truth = random_hmm(rng, 5, 20, stop=(1 / 6.2, 1 / 6.2))
    train, test = draw_strings(truth, 20_000, rng), draw_strings(truth, 2_000, rng)
    model = LatentHMM.fit(train)
    exact = np.log([probability(truth, x) for x in test])
    assert (exact - model.log_probabilities(test)).mean() <= 0.02
    assert (model.weights(test).sign > 0).all()

"""Hidden Markov models learnt from sequences with missing observations and states that are known."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from spectral_latent.estimation import EM, Random, Spectral
from spectral_latent.sequence import HMMOptions, LatentHMM, Sequences
from spectral_latent.sequence.baum_welch import ChainLearner, OpenPositions
from tests.sequence.hmms import random_hmm

M, N = 3, 2  # states and observations


def test_expected_counts_are_sums_over_allowed_paths() -> None:
    """Against a loop over all paths and all observations that a missing one may be."""
    rng = np.random.default_rng(0)
    positions = OpenPositions(np.array([-1, 0, -1]), rng.random((3, M)) < 0.6)
    positions.allowed[:, 0] = True
    model = random_hmm(rng, M, N)
    for row in ([0, 2, 3], [4, 1], [3]):
        begins, ends, pairs, emitted = np.zeros(M), np.zeros(M), np.zeros((M, M)), np.zeros((N, M))
        total = 0.0
        for path in product(range(M), repeat=len(row)):
            p = model.initial[path[0]] * model.stop[path[-1]]
            for h, k in pairwise(path):
                p *= (1.0 - model.stop[h]) * model.transition[h, k]
            for h, x in zip(path, row, strict=True):
                seen = x if x < N else int(positions.observation[x - N])
                p *= (model.emission[h, seen] if seen >= 0 else 1.0) * (x < N or positions.allowed[x - N, h])
            total += p
            begins[path[0]] += p
            ends[path[-1]] += p
            for pair in pairwise(path):
                pairs[pair] += p
            for h, x in zip(path, row, strict=True):
                seen = x if x < N else int(positions.observation[x - N])
                if seen >= 0:
                    emitted[seen, h] += p
        found, _ = ChainLearner([Sequences.of([row])], positions=positions).expect(model)
        for one, other in zip(
            (found.begins, found.ends, found.pairs, found.emitted), (begins, ends, pairs, emitted), strict=True
        ):
            np.testing.assert_allclose(one, other / total, atol=1e-12)
        assert found.log_likelihood == pytest.approx(np.log(total))


def chain(n: int, seed: int) -> tuple[list[list[str]], list[list[int]]]:
    """Draw sequences of two states that alternate mostly, and their states."""
    rng = np.random.default_rng(seed)
    rows, states = [], []
    for _ in range(n):
        state = [int(rng.integers(2))]
        while rng.random() < 0.85:
            state.append(state[-1] if rng.random() < 0.1 else 1 - state[-1])
        rows.append([str(rng.choice(["a", "b"], p=[0.85, 0.15] if h else [0.15, 0.85])) for h in state])
        states.append(state)
    return rows, states


def test_a_few_known_states_name_the_states() -> None:
    """States are named as those that are known, whatever the seed, and missing observations are seen through."""
    rows, states = chain(100, 0)
    known: list[list[Any]] = [
        of_row if at < 5 else [{0, 1}, *[None] * (len(of_row) - 1)] for at, of_row in enumerate(states)
    ]
    rng = np.random.default_rng(1)
    missing = [[None if rng.random() < 0.2 else x for x in row] for row in rows]
    for seed in range(2):
        options = HMMOptions(EM(Random(2, seed=seed), iterations=40), choose_states=False)
        model = LatentHMM.train_partly(missing, known, options)
        found = np.concatenate([model.tagger.tag(row) for row in rows])
        assert np.mean(found == np.concatenate(states)) > 0.85
        assert np.abs(np.diag(model.hidden.transition) - 0.1).max() < 0.2


def test_a_missing_observation_has_the_sum_of_the_probabilities_of_all() -> None:
    rows, _ = chain(50, 2)
    of_em = HMMOptions(EM(Random(2), iterations=5), choose_states=False)
    for options in (of_em, HMMOptions(Spectral(2), choose_states=False)):
        model = LatentHMM.train(rows, options)
        every = [*model.observations.known, "never seen"]
        weights = model.score([["a", x, "b"] for x in every])
        (one,) = np.exp(model.score([["a", None, "b"]]).log)
        assert one == pytest.approx((weights.sign * np.exp(weights.log)).sum())
    tagger = LatentHMM.train(rows, of_em).tagger
    joint = sum(
        np.exp(model_log) * tagger.posteriors(["a", x, "b"])
        for x, model_log in zip(every, tagger.model.score([["a", x, "b"] for x in every]).log, strict=True)
    )
    np.testing.assert_allclose(tagger.posteriors(["a", None, "b"]), joint / joint.sum(axis=1, keepdims=True), atol=1e-9)
    assert tagger.tag([None, "a"], [0, None])[0] == 0


def test_moments_need_whole_sequences() -> None:
    with pytest.raises(ValueError, match="EM"):
        LatentHMM.train_partly(["ab"], None, HMMOptions())
    model = LatentHMM.train(["ab", "ba"] * 20, HMMOptions(choose_states=False))
    with pytest.raises(ValueError, match="observation 2"):
        model.log_probabilities([["a", None]])

"""Hidden Markov models on the tree engine against the textbook: forward-backward, Viterbi's rivals, Baum-Welch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import EM, EstimationError
from spectral_latent.sequence import HiddenMarkov, Sequences, baum_welch
from spectral_latent.sequence.baum_welch import ChainCounts, state_posteriors
from tests.sequence.hmms import draw_strings, forward_backward, paths, random_hmm

seeds = st.integers(0, 2**32 - 1)
ARRAYS = ("initial", "transition", "stop", "emission")
UNTIL_IT_STANDS = EM(iterations=30, tolerance=0.0, state_smoothing=0.0)


def shards_of(strings: list[list[int]], size: int = 10**6) -> list[Sequences]:
    """Shards of so many strings."""
    return [Sequences.of(strings[at : at + size]) for at in range(0, len(strings), size)]


def test_operators_are_those_of_hsu_kakade_and_zhang() -> None:
    """C(x, ·) = diag((1 - stop) ∘ O_x) T; the end is diag(stop) O_x."""
    model = random_hmm(np.random.default_rng(0), 4, 5)
    operators = model.operators()
    for x, leaf in enumerate(operators.leaf):
        expected = np.diag((1 - model.stop) * model.emission[:, x]) @ model.transition
        np.testing.assert_allclose(operators.binary[0].apply_left(leaf), expected, rtol=1e-15)
        np.testing.assert_allclose(operators.unary[0] @ leaf, model.stop * model.emission[:, x], rtol=1e-15)
    assert operators.binary[0].n_terms == 4 and operators.probabilities


def test_posteriors_of_states_are_those_of_the_book() -> None:
    """Of many sequences of all lengths, more than are in memory together."""
    rng = np.random.default_rng(0)
    model = random_hmm(rng, 4, 5, stop=(1e-3, 0.9))
    strings = [*draw_strings(model, 100, rng), [0], rng.integers(0, 5, 9_000).tolist(), [1] * 200]
    gamma, log = state_posteriors(Sequences.of(strings), model)
    expected = [forward_backward(model, x) for x in strings]
    np.testing.assert_allclose(gamma, np.concatenate([found.gamma for found in expected]), atol=1e-12)
    np.testing.assert_allclose(log, [found.log for found in expected], rtol=1e-12, atol=1e-12)


def test_an_impossible_sequence_says_nothing_of_its_states() -> None:
    """Neither a state with the wrong observation, nor an end that cannot be; its neighbours are as they are alone."""
    model = HiddenMarkov(np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.0, 0.5]), np.eye(2))
    gamma, log = state_posteriors(Sequences.of([[0, 1], [1, 0], [0, 1, 0], [0, 1, 0, 1]]), model)
    half = [[0.5, 0.5]]
    np.testing.assert_allclose(gamma, np.concatenate([np.eye(2), half * 2, half * 3, np.eye(2), np.eye(2)]))
    np.testing.assert_allclose(log, [np.log(0.5), -np.inf, -np.inf, np.log(0.25)])


@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=4),
    st.booleans(),
)
def test_the_likeliest_states_are_those_of_all_paths(seed: int, strings: list[list[int]], has_zeros: bool) -> None:
    """States end with very unequal probabilities, so that the last state often decides; some probabilities are zero."""
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, 3, 4, stop=(1e-4, 0.999), concentration=0.3)
    if has_zeros:
        stop = np.where(rng.random(3) < 0.4, 0.0, model.stop)
        model = replace(model, stop=stop, emission=model.emission * (rng.random((3, 4)) < 0.7))
    found, log = model.likeliest_states(Sequences.of(strings))
    weights = [paths(model, x) for x in strings]
    most = [max(of_string.values()) for of_string in weights]
    ends = np.cumsum([len(x) for x in strings])
    own = [of_string[tuple(h.tolist())] for of_string, h in zip(weights, np.split(found, ends[:-1]), strict=True)]
    if min(most) > 0.0:
        np.testing.assert_allclose(own, most, rtol=1e-9)
        assert log == pytest.approx(np.log(most).sum(), rel=1e-9, abs=1e-9)
    else:
        assert log == -np.inf
        possible = np.array(most) > 0.0
        np.testing.assert_allclose(np.array(own)[possible], np.array(most)[possible], rtol=1e-9)


def test_a_prior_adds_pseudo_counts() -> None:
    """One state has relative frequencies with pseudo-counts; with several, the posterior never falls."""
    prior = np.array([0.5, 0.0, 2.0])
    start = random_hmm(np.random.default_rng(0), 1, 3)
    found, _ = baum_welch(shards_of([[0, 1, 1], [0]]), start, UNTIL_IT_STANDS, prior=prior)
    np.testing.assert_allclose(found.emission, [[2.5 / 6.5, 2.0 / 6.5, 2.0 / 6.5]])
    start = random_hmm(np.random.default_rng(1), 3, 3)
    strings = draw_strings(random_hmm(np.random.default_rng(2), 3, 3), 40, np.random.default_rng(3))
    posterior = []
    for n in range(1, 12):
        found, log = baum_welch(shards_of(strings), start, EM(iterations=n, tolerance=0.0), prior=prior)
        _, (likelihood,) = baum_welch(shards_of(strings), found, EM(iterations=0))
        posterior.append(likelihood + (np.log(found.emission[:, prior > 0]) @ prior[prior > 0]).sum())
        assert log[-1] == pytest.approx(posterior[-1])
    assert (np.diff(posterior) > -1e-9).all() and posterior[-1] > posterior[0]


def test_strings_that_the_model_cannot_have_are_named() -> None:
    start = random_hmm(np.random.default_rng(8), 2, 2)
    with pytest.raises(ValueError, match=r"observations must lie in 0 ... 1, and number 1 is 2"):
        baum_welch(shards_of([[0, 2]]), start, UNTIL_IT_STANDS)
    start.emission[:, 1] = 0.0
    with pytest.raises(EstimationError, match=r"sequence 3 has probability zero"):
        baum_welch(shards_of([[0], [0, 0], [0, 1], [0]], 2), start, UNTIL_IT_STANDS)


@given(seeds, st.sampled_from([0.0, 0.5]))
def test_known_states_give_relative_frequencies(seed: int, pseudo: float) -> None:
    """Of starts, transitions, ends and emissions, position by position."""
    rng, m = np.random.default_rng(seed), 2
    strings = [rng.integers(0, 3, size).tolist() for size in (1, 4, 7, 2)]
    state = np.append(rng.integers(0, m, 13), m - 1)
    counts = {name: np.full(shape, pseudo) for name, shape in zip(ARRAYS, ((m,), (m, m), (m, 2), (m, 3)), strict=True)}
    left = iter(state.tolist())
    for x in strings:
        h = [next(left) for _ in x]
        counts["initial"][h[0]] += 1
        np.add.at(counts["transition"], (h[:-1], h[1:]), 1)
        np.add.at(counts["stop"], (h, [*[0] * len(x[1:]), 1]), 1)  # goes on, ends
        np.add.at(counts["emission"], (h, x), 1)
    found = ChainCounts.of_states(Sequences.of(strings), state, 3, m).model(pseudo)
    for name, table in counts.items():
        total = table.sum(axis=-1, keepdims=True)
        share = np.where(total > 0, table / np.where(total > 0, total, 1.0), 1.0 / table.shape[-1])
        np.testing.assert_allclose(getattr(found, name), share[:, 1] if name == "stop" else share, rtol=1e-14)


@given(seeds, st.integers(1, 4), st.floats(0.1, 10.0))
def test_smoothing_adds_a_sequence_and_a_position_to_each_state(seed: int, m: int, pseudo: float) -> None:
    """Expected counts of starts, stops and transitions, with those of the additions, by a loop over states."""
    rng = np.random.default_rng(seed)
    model = random_hmm(rng, m, 3)
    share, n, t = rng.dirichlet(np.ones(m)), 200.0, 30.0
    found = model.smooth(share, n, t, pseudo)
    ends = t / (n + 1)
    for h in range(m):
        visits = n * share[h]
        assert found.initial[h] == pytest.approx((t * model.initial[h] + pseudo * share[h]) / (t + pseudo))
        assert found.stop[h] == pytest.approx((visits * model.stop[h] + pseudo * ends) / (visits + pseudo))
        onward = [
            visits * (1 - model.stop[h]) * model.transition[h, k] + pseudo * (1 - ends) * share[k] for k in range(m)
        ]
        np.testing.assert_allclose(found.transition[h], np.array(onward) / sum(onward), rtol=1e-12)
    assert found.initial.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(found.emission, model.emission)

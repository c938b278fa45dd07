"""Probabilistic automata trained by EM, against sums over all paths, and the choice by held-out strings."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent import WeightedAutomaton
from spectral_latent.automata import AutomatonOptions, choice
from spectral_latent.automata.hankel import Factorisation
from spectral_latent.automata.probabilistic import (
    AutomatonLearner,
    Strings,
    climb,
    draw_automaton,
    log_likelihood,
    smooth,
)
from tests.automata.test_automata import SYMBOLS, draw, probabilistic

ROWS = [(), (0,), (0, 1), (0, 1), (1, 2, 0), (2,)]


def by_paths(rows: list[tuple[int, ...]], automaton: Factorisation) -> tuple[Factorisation, float]:
    """Compute the M-step and the log-likelihood by going through all paths of states."""
    initial, step, final = automaton
    m = len(initial)
    counts = Factorisation(*map(np.zeros_like, automaton))
    log_likelihood = 0.0
    for row in rows:
        paths = list(product(range(m), repeat=len(row) + 1))
        weights = []
        for path in paths:
            steps = [step[x, a, b] for x, a, b in zip(row, path, path[1:], strict=False)]
            weights.append(initial[path[0]] * np.prod(steps) * final[path[-1]])
        total = sum(weights)
        log_likelihood += np.log(total)
        for path, weight in zip(paths, weights, strict=True):
            counts.initial[path[0]] += weight / total
            counts.final[path[-1]] += weight / total
            for x, a, b in zip(row, path, path[1:], strict=False):
                counts.step[x, a, b] += weight / total
    sums = counts.step.sum(axis=(0, 2)) + counts.final
    return Factorisation(counts.initial / len(rows), counts.step / sums[:, None], counts.final / sums), log_likelihood


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_an_iteration_is_that_of_sums_over_paths(seed: int, m: int) -> None:
    start = draw_automaton(Strings.of(ROWS), 3, m, seed)
    expected, total = by_paths(ROWS, start) if m < 4 else (None, None)
    found, (reached,) = climb(Strings.of(ROWS), [start], iterations=1)
    if expected is not None:
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
        assert log_likelihood(Strings.of(ROWS), start) == pytest.approx(total)
    np.testing.assert_allclose(found.step.sum(axis=(0, 2)) + found.final, 1.0)
    assert reached == pytest.approx(log_likelihood(Strings.of(ROWS), found))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 1.5, 4.0]))
def test_a_longer_step_is_a_power_of_the_step_of_em(seed: int, stride: float) -> None:
    strings = Strings.of(ROWS)
    before = draw_automaton(strings, 3, 3, seed)
    after = climb(strings, [before], iterations=1)[0]
    moved = [one * (other / one) ** stride for one, other in zip(before, after, strict=True)]
    sums = moved[1].sum(axis=(0, 2)) + moved[2]
    expected = moved[0] / moved[0].sum(), moved[1] / sums[:, None], moved[2] / sums
    for found, wanted in zip(AutomatonLearner(strings).beyond(before, after, stride), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_the_likelihood_rises_and_smoothing_leaves_no_string_out() -> None:
    strings = Strings.of([tuple(map(SYMBOLS.index, x)) for x in draw(probabilistic(3, 4), 400, 0)])
    start = draw_automaton(strings, 3, 6, 0)
    reached = [climb(strings, [start], iterations)[1][0] for iterations in (1, 3, 10, 30, 100)]
    assert reached == sorted(reached) and reached[-1] > reached[0] + 10
    automaton = smooth(climb(strings, [start], 30)[0])
    assert np.isfinite(log_likelihood(Strings.of([(2, 2, 2, 2, 2), (), (0,) * 40]), automaton))


@pytest.mark.parametrize("luck", [1.0, -100.0])  # of the other starts
@pytest.mark.parametrize(
    ("behind", "goes_on", "best"),
    [(0.4, True, "hmm"), (0.6, False, "hmm"), (-0.1, True, "em"), (0.0, True, "spectral")],
)
def test_an_estimator_that_is_far_behind_is_given_up(
    behind: float, goes_on: bool, best: str, luck: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By half a nat a held-out string, among automata with as many states; the likelihoods are made up."""
    rows = [tuple(row) for row in np.random.default_rng(0).integers(0, 2, (400, 10)).tolist()]
    tried: list[tuple[bool, int, int]] = []

    def climb(strings: Strings, starts: Iterable[Factorisation], iterations: int, *others: Any, is_markov: bool) -> Any:
        start, *more = starts
        tried.append((is_markov, len(start.initial), iterations))
        gained = len(start.initial) / 100 + iterations / 1e5 + luck * len(more) / 1e5
        nats = 40 * (-5.0 + gained - (0.0 if is_markov else behind))
        return start, (nats,) * (1 + len(more))

    monkeypatch.setattr(choice, "climb", climb)
    _, chosen, reached = choice.choose_automaton(
        rows,
        2,
        AutomatonOptions(random_starts=3),
        lambda _, strings: np.full(len(strings), -4.9 * (best != "spectral")),
    )
    of_em = [(m, iterations) for is_markov, m, iterations in tried if not is_markov]
    assert of_em[0] == (4, 30) and ((16, 30) in of_em) == goes_on
    assert any(iterations > 30 for _, iterations in of_em) == goes_on  # it is among the last
    assert chosen.estimator == best and (True, 16, 30) in tried
    if best != "spectral":
        assert len(reached) == 3  # of all random starts of the best estimator
        assert tried[-1] == (best == "hmm", chosen.n_states, 10)  # on all strings, in the end


@pytest.mark.parametrize(("estimator", "gain"), [("em", 0.5), ("hmm", 1.0)])
def test_more_random_starts_are_likelier(estimator: str, gain: float) -> None:
    """A cycle of three symbols, and one of two: some single starts mix them.  All strings are learnt from."""
    strings = ["abc" * 9, "xy" * 9] * 4
    options = [AutomatonOptions(6, estimator=estimator, random_starts=n) for n in (1, 10)]  # type: ignore[arg-type]
    one, several = (float(WeightedAutomaton.train(strings, each).log_probabilities(strings).sum()) for each in options)
    assert several > one + gain


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_the_chosen_automaton_is_likelier_than_one_of_one_state(seed: int) -> None:
    """Also where some spectral automata are refused, because their strings are infinitely long on average."""
    rng = np.random.default_rng(seed)
    strings = ["".join("ab"[x] for x in rng.integers(0, 2, rng.integers(5, 30))) for _ in range(40)]
    options = AutomatonOptions(random_starts=1), AutomatonOptions(n_states=1)
    chosen, one = (WeightedAutomaton.train(strings, each).log_probabilities(strings).sum() for each in options)
    assert chosen > one

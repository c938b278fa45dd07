"""Weighted automata against sums over strings, and against the automata that made the data."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent import WeightedAutomaton
from spectral_latent.automata import AutomatonOptions, Counted, strings_up_to
from spectral_latent.automata.choice import AutomatonEstimator
from spectral_latent.automata.hankel import Hankel, counts_of
from spectral_latent.sequence import Alphabet

SYMBOLS = "abc"
STRINGS = ["".join(x) for x in strings_up_to(SYMBOLS, 5)]
seeds = st.integers(0, 2**32 - 1)


def probabilistic(seed: int, m: int, n: int = 3, stop: float = 0.2) -> WeightedAutomaton:
    """Draw a probabilistic automaton: the next symbol, the next state and the end are drawn together."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(n * m, 0.5), size=m).reshape(m, n, m).transpose(1, 0, 2)
    initial = rng.dirichlet(np.ones(m))
    return WeightedAutomaton(Alphabet(SYMBOLS[:n]), initial, (1.0 - stop) * rows, np.full(m, stop))


def draw(automaton: WeightedAutomaton, size: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    n, m = automaton.step.shape[:2]
    drawn = []
    for _ in range(size):
        state = rng.choice(m, p=automaton.initial)
        string = ""
        while rng.random() >= automaton.final[state]:
            p = automaton.step[:, state].ravel()
            x, state = divmod(rng.choice(n * m, p=p / p.sum()), m)
            string += SYMBOLS[x]
        drawn.append(string)
    return drawn


def values(automaton: WeightedAutomaton, strings: list[str] = STRINGS) -> np.ndarray:
    return np.array([automaton(string) for string in strings])


@settings(max_examples=15)
@given(seeds, st.integers(1, 4))
def test_a_probabilistic_automaton_is_recovered_from_its_values(seed: int, m: int) -> None:
    truth = probabilistic(seed, m)
    basis = strings_up_to(SYMBOLS, 2)
    found = WeightedAutomaton.of_function(truth, SYMBOLS, basis, basis)
    assert found.n_states <= m
    np.testing.assert_allclose(values(found), values(truth), atol=1e-8)


@pytest.mark.parametrize("counted", ["strings", "prefixes", "suffixes", "factors"])
def test_what_is_counted_is_counted(counted: Counted) -> None:
    strings = ["", "abab", "ba", "b"]
    found = counts_of([tuple(map(ord, x)) for x in strings], counted, longest=2)
    for query in ["".join(x) for x in strings_up_to("ab", 3)]:
        occurs = {
            "strings": [x == query for x in strings],
            "prefixes": [x.startswith(query) for x in strings],
            "suffixes": [x.endswith(query) for x in strings],
            "factors": [sum(x.startswith(query, i) for i in range(len(x) + 1)) for x in strings],
        }
        expected = np.mean(occurs[counted]) if len(query) <= 2 else 0.0
        assert found.get(tuple(map(ord, query)), 0.0) == expected


@settings(max_examples=15)
@given(st.dictionaries(st.sampled_from(strings_up_to((0, 1), 3)), st.floats(0.1, 9.0), max_size=9), st.floats(0.1, 9.0))
def test_blocks_and_weights_are_those_of_sums_over_strings(f: dict[tuple[int, ...], float], pseudo: float) -> None:
    """H has f(uv), H_x has f(uxv), and weights are one over the root of the sums of H."""
    rows, columns = [(), (1,), (0, 1)], [(), (0,)]
    hankel = Hankel.of(f, (rows, columns), n_symbols=2)
    for found, middle in ((hankel.matrix, ()), (hankel.steps[0], (0,)), (hankel.steps[1], (1,))):
        assert found.toarray().tolist() == [[f.get((*u, *middle, *v), 0.0) for v in columns] for u in rows]
    of_rows, of_columns = hankel.weights(pseudo)
    assert of_rows == pytest.approx([(pseudo + sum(f.get(u + v, 0.0) for v in columns)) ** -0.5 for u in rows])
    assert of_columns == pytest.approx([(pseudo + sum(f.get(u + v, 0.0) for u in rows)) ** -0.5 for v in columns])


@pytest.mark.parametrize("counted", ["strings", "prefixes", "suffixes", "factors"])
def test_the_distribution_is_found_from_what_is_counted(counted: Counted) -> None:
    """From samples, nearer with more strings; exactly from all strings of a finite language with their frequencies."""
    finite = ["a"] * 3 + ["ab"] * 2 + ["", "abc"]
    exact = WeightedAutomaton.train(finite, AutomatonOptions(n_states=50, counted=counted))
    for string in STRINGS:
        share = (1.0 + exact.unseen) ** -len(string)  # each symbol leaves a part to those that were not seen
        assert exact(string) == pytest.approx(share * finite.count(string) / len(finite), abs=1e-9)
    truth = probabilistic(3, 2)
    errors = []
    for size in (100, 5_000):
        found = WeightedAutomaton.train(draw(truth, size, 0), AutomatonOptions(n_states=2, counted=counted))
        errors.append(np.abs(values(found) - values(truth)).sum())
    assert errors[1] < 0.3 * errors[0] and errors[1] < 0.15


@settings(max_examples=15)
@given(seeds, st.integers(2, 5))
def test_minimisation_finds_the_minimal_automaton(seed: int, m: int) -> None:
    """States that are copies, that cannot be reached or cannot end are gone, and the function is the same."""
    rng = np.random.default_rng(seed)
    truth = probabilistic(seed, m)
    minimal = truth.minimise()
    # Every state is split in two, and a state that is never reached and a dead end are added.
    share = rng.uniform(0.2, 0.8, m)
    split = np.concatenate([np.diag(share), np.diag(1.0 - share)], axis=1)
    step = np.zeros((3, 2 * m + 2, 2 * m + 2))
    step[:, : 2 * m, : 2 * m] = np.concatenate([truth.step, truth.step], axis=1) @ split
    step[:, 2 * m, : 2 * m] = rng.random((3, 2 * m))
    step[:, : 2 * m, 2 * m + 1] = rng.random((3, 2 * m))
    redundant = WeightedAutomaton(
        Alphabet(SYMBOLS),
        np.append(truth.initial @ split, [0.0, 0.0]),
        step,
        np.concatenate([truth.final, truth.final, [1.0, 0.0]]),
    )
    np.testing.assert_allclose(values(redundant), values(truth), atol=1e-12)
    found = redundant.minimise()
    assert found.n_states == minimal.n_states <= m
    np.testing.assert_allclose(values(found), values(truth), atol=1e-9)
    assert found.distance(truth) < 1e-7


@settings(max_examples=10)
@given(seeds, st.integers(2, 5))
def test_the_error_of_minimisation_is_bounded(seed: int, m: int) -> None:
    """By the singular values that are left out, from above and, for any automaton of that size, from below."""
    truth = probabilistic(seed, m, n=2, stop=0.4)
    s = truth.singular_values
    strings = ["".join(x) for x in strings_up_to("ab", 8)]
    length = np.array([len(x) for x in strings])
    for kept in range(1, len(s)):
        found = truth.minimise(kept)
        assert found.n_states == kept
        square = (values(truth, strings) - values(found, strings)) ** 2
        tail = (s[kept:] ** 2).sum()
        assert (square / (length + 1)).sum() <= tail * (1 + 1e-9)
        assert (square * (length + 1)).sum() >= 0.95 * tail - 1e-6  # longer strings have the rest
        assert found.distance(truth) ** 2 == pytest.approx(square.sum(), rel=0.05, abs=1e-6)


def test_the_distance_is_a_sum_over_strings() -> None:
    one, two = (probabilistic(seed, 3, n=2, stop=0.5) for seed in (1, 2))
    strings = ["".join(x) for x in strings_up_to("ab", 11)]
    gap = values(one, strings) - values(two, strings)
    assert one.distance(two) == pytest.approx(np.sqrt((gap**2).sum()), rel=1e-6)
    turned = WeightedAutomaton(Alphabet("ba"), two.initial, two.step[::-1].copy(), two.final)
    assert one.distance(turned) == pytest.approx(one.distance(two), rel=1e-12)
    with pytest.raises(ValueError, match="different symbols"):
        one.distance(probabilistic(1, 3))


@pytest.mark.parametrize("is_probabilistic", [True, False])
@pytest.mark.parametrize("n", [2, 3])
def test_an_automaton_is_a_model_of_sequences(n: int, is_probabilistic: bool) -> None:
    """Scores, predictions and surprisal of the operators against the function; also with fewer rows than symbols."""
    truth = probabilistic(4, 3 if n == 3 else 1, n)
    begins = (truth.initial @ truth.step[0]).sum()
    if not is_probabilistic:  # the same function in another basis
        basis = np.eye(truth.n_states) + 0.3
        step = basis @ truth.step @ np.linalg.inv(basis)
        truth = replace(truth, initial=truth.initial @ np.linalg.inv(basis), step=step, final=basis @ truth.final)
    assert truth.is_probabilistic == is_probabilistic or truth.n_states == 1
    strings = [x for x in STRINGS if set(x) <= set(SYMBOLS[:n])]
    np.testing.assert_allclose(np.exp(truth.score(strings).log), values(truth, strings), rtol=1e-9)
    np.testing.assert_allclose(np.exp(truth.log_probabilities(strings)), values(truth, strings), rtol=1e-6)
    first = truth.following("")
    assert first[None] == pytest.approx(truth("")) and sum(first.values()) == pytest.approx(1.0)
    rest = np.array([p for x, p in first.items() if x is not None])
    assert truth.entropy("", "nats")[0] == pytest.approx(
        -(rest * np.log(rest)).sum() - first[None] * np.log(first[None])
    )
    after = truth.following("a")
    assert after[None] == pytest.approx(truth("a") / begins)
    assert sum(after.values()) == pytest.approx(1.0)
    found = truth.surprisal("ab", "nats")
    assert found.total.sum() + found.end == pytest.approx(-truth.log_probabilities(["ab"])[0])
    drawn = truth.sample(2_000, np.random.default_rng(0))
    lengths = np.array([len(x) for x in drawn])
    assert lengths.mean() == pytest.approx(4.0, rel=0.1)
    assert (lengths == 0).mean() == pytest.approx(truth(""), rel=0.2)


@pytest.mark.parametrize(
    ("value", "prefix", "message"), [(np.inf, "", "not finite"), (0.0, "", "zero"), (0.5, "c", "not among the symbols")]
)
def test_functions_that_no_automaton_is_learnt_from(value: float, prefix: str, message: str) -> None:
    """Of which one value is not finite, or all are zero, or that are asked for another symbol."""
    with pytest.raises(ValueError, match=message):
        WeightedAutomaton.of_function(lambda x: value * x.count("b"), "ab", [prefix], ["a"])


@pytest.mark.parametrize("estimator", ["spectral", "em", "hmm"])
def test_strings_with_symbols_that_training_did_not_see_are_possible(estimator: AutomatonEstimator) -> None:
    """And all strings together keep the probability one, with one symbol more that stands for all of these."""
    strings = [*draw(probabilistic(3, 2), 300, 0), "z"]
    found = WeightedAutomaton.train(strings, AutomatonOptions(n_states=3, estimator=estimator))
    short = ["".join(each) for each in strings_up_to("abcz?", 4)]
    log = found.log_probabilities(short)
    assert np.isfinite(log).all()
    assert np.exp(log).sum() < 1.0
    assert log[short.index("?")] < log[short.index("a")]
    if found.is_probabilistic:
        np.testing.assert_allclose(np.exp(log), values(found, short))
    everything = (1.0 + found.unseen) * found.step.sum(axis=0)
    total = found.initial @ np.linalg.solve(np.eye(found.n_states) - everything, found.final)
    assert total == pytest.approx(1.0, abs=1e-6 if found.is_probabilistic else 0.05)


def test_the_empty_string_has_at_least_its_share_of_the_floor() -> None:
    """As each of two symbols and the end has; a third of 0.3."""
    options = AutomatonOptions(n_states=1, floor=0.3)
    automaton = WeightedAutomaton(
        Alphabet("ab"), np.ones(1), np.full((2, 1, 1), 0.5), np.array([-0.1]), options=options
    )
    assert automaton(()) == -0.1
    assert np.exp(automaton.log_probabilities([""])) == pytest.approx(0.1)

"""What comes next, and proper probabilities, against sums over strings."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.sequence import END, HiddenMarkov, HMMOptions, LatentHMM
from spectral_latent.sequence.prediction import Predictor
from tests.sequence.hmms import TaggedModel, all_strings, begins, draw_strings, paths, random_hmm, random_tagged

N = 3
seeds = st.integers(0, 2**32 - 1)
String = tuple[int, ...]


def arrays(rows: Iterable[Sequence[int]]) -> list[np.ndarray]:
    return [np.array(row, dtype=np.int64) for row in rows]


def averages(model: TaggedModel) -> tuple[np.ndarray, np.ndarray]:
    """(K, m): the total weight of all that may come, and the expected visits of spines."""
    k, m = model.initial.shape
    emitted = model.emission.sum(axis=1)
    step = np.zeros((k, m, k, m))
    for (t, u), tensor in model.step.items():
        step[t, :, u] = np.einsum("abc,b->ac", tensor, emitted[t])
    matrix = np.eye(k * m) - step.reshape(k * m, k * m)
    last = np.einsum("tab,tb->ta", model.last, emitted)
    return (
        np.linalg.solve(matrix, last.ravel()).reshape(k, m),
        np.linalg.solve(matrix.T, model.initial.ravel()).reshape(k, m),
    )


@settings(max_examples=15)
@given(seeds, st.integers(1, 3), st.integers(1, 3))
def test_tags_with_states_are_summed_over(seed: int, k: int, m: int) -> None:
    model = random_tagged(np.random.default_rng(seed), k, m, N, missing=0.2)
    plain = random_tagged(np.random.default_rng(seed + 1), k, 1, N)
    operators = model.operators(probabilities=True)
    predictor = Predictor.of(operators, plain.operators(probabilities=True), N, 0.0)
    after, _ = averages(model)
    np.testing.assert_allclose(after, 1.0, rtol=1e-9)  # the oracle's model is proper
    np.testing.assert_allclose(predictor.after, 1.0, rtol=1e-9)
    found = {x: sum(model.paths(x).values()) for x in all_strings(N, 3)}
    found = {x: p for x, p in found.items() if p > 0}
    log = predictor.log_probabilities(arrays(found))
    np.testing.assert_allclose(np.exp(log), list(found.values()), rtol=1e-10)


def test_sums_over_all_strings_are_those_of_long_enough_ones() -> None:
    """a, W and f̄ of any numbers whose sums converge, by adding up what strings of every length weigh."""
    rng = np.random.default_rng(3)
    model = random_tagged(rng, 2, 2, N, proper=False)
    small = {pair: 0.1 * tensor for pair, tensor in model.step.items()}
    model = model._replace(step=small)
    predictor = Predictor.of(model.operators(), random_tagged(rng, 2, 1, N).operators(), N, 0.01)
    after, average = averages(model)
    np.testing.assert_allclose(predictor.after.reshape(2, 2), after, rtol=1e-10)
    np.testing.assert_allclose(predictor.average.reshape(2, 2), average, rtol=1e-10)
    np.testing.assert_allclose(predictor.weights.sum(axis=1), after.ravel(), rtol=1e-10)
    last = np.einsum("tab,txb->tax", model.last, model.emission).reshape(4, N)
    np.testing.assert_allclose(predictor.weights[:, N:], last, rtol=1e-10)


def turning() -> ObservableOperators:
    """Two symbols; the state turns by 1 radian at each position, so that estimates of events turn negative in time."""
    c, s = np.cos(1.0), np.sin(1.0)
    turn = 0.5 * np.array([[c, -s], [s, c]])
    operators = HiddenMarkov(np.ones(2), np.ones((2, 2)), np.ones(2), np.ones((2, 2))).operators()
    tensor = np.zeros((2, 2, 2))
    tensor[:, 0, :] = turn  # whatever was observed
    return replace(
        operators,
        root=np.array([[0.0, 0.0], [1.0, 0.2]]),
        leaf=np.array([[0.5, 0.3], [0.5, -0.3]]),
        unary=np.array([[[0.3, 0.1], [0.1, 0.2]]]),
        binary=[Tensor.of_dense(tensor)],
        probabilities=False,
    )


def step_by_step(operators: ObservableOperators, plain: np.ndarray, floor: float, x: String) -> float:
    """The definition of `prediction`, event by event, for one tag: raise, divide, and forget where it was raised."""
    n = len(operators.leaf)
    (tensor,), (last,) = (operators.binary[0].to_dense(),), operators.unary
    go = [np.einsum("abc,b->ac", tensor, leaf) for leaf in operators.leaf]
    matrix = np.eye(2) - sum(go)
    after = np.linalg.solve(matrix, last @ operators.leaf.sum(axis=0))
    average = np.linalg.solve(matrix.T, operators.root[1])
    columns = np.stack([*(each @ after for each in go), *(last @ leaf for leaf in operators.leaf)], axis=1)
    f, log = operators.root[1], 0.0
    for i, symbol in enumerate(x):
        event = symbol + n * (i + 1 == len(x))
        total = f @ after
        estimate = f @ columns / total if total > 0 else np.zeros(2 * n)
        raised = np.maximum(estimate, floor * plain)
        log += np.log(raised[event] / raised.sum())
        if estimate[event] <= floor * plain[event]:
            f = average
        f = f @ go[symbol]
    return log


def test_raising_and_forgetting_by_definition() -> None:
    operators, floor = turning(), 0.02
    plain = np.full(4, 0.25)
    uniform = HiddenMarkov(np.ones(1), np.ones((1, 1)), np.array([0.5]), np.full((1, 2), 0.5)).operators()
    predictor = Predictor.of(operators, uniform, 2, floor)
    strings = list(all_strings(2, 9))
    found = predictor.log_probabilities(arrays(strings))
    np.testing.assert_allclose(found, [step_by_step(operators, plain, floor, x) for x in strings], rtol=1e-9)


@pytest.fixture(scope="module")
def learnt() -> LatentHMM:
    rng = np.random.default_rng(0)
    strings = draw_strings(random_hmm(rng, 2, N), 300, rng)
    return LatentHMM.train(strings, HMMOptions(EstimatorOptions("clusters-em", n_states=3), choose_states=False))


def test_what_follows_is_a_ratio_of_prefix_sums(learnt: LatentHMM) -> None:
    known = learnt.observations.known
    for prefix in [(), *all_strings(N, 3)]:
        found = learnt.following([known[x] for x in prefix])
        whole = begins(learnt.hidden, prefix) if prefix else 1.0
        expected = {known[x]: begins(learnt.hidden, (*prefix, x)) / whole for x in range(N)}
        if prefix:
            expected[END] = sum(paths(learnt.hidden, prefix).values()) / whole
        assert found == pytest.approx(expected, rel=1e-9)
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_surprisal_is_what_may_follow(learnt: LatentHMM) -> None:
    """Of observations and of the end as `following` has them; without tags, what is syntactic is to go on at all."""
    known = list(learnt.observations.known)
    sequence = [known[0], known[-1], known[0]]
    found = learnt.surprisal(sequence, "nats")
    following = [learnt.following(sequence[:k]) for k in range(4)]
    wanted = [-np.log(p[x]) for p, x in zip(following, [*sequence, END], strict=True)]
    np.testing.assert_allclose([*found.total, found.end], wanted, rtol=1e-9)
    ends = np.array([p.get(END, 0.0) for p in following[:3]])
    np.testing.assert_allclose(found.syntactic, -np.log(1.0 - ends), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.total, found.lexical + found.syntactic, rtol=1e-9)
    np.testing.assert_allclose(found.total.sum() + found.end, -learnt.log_probabilities([sequence])[0], rtol=1e-9)


def test_entropy_is_that_of_what_may_follow(learnt: LatentHMM) -> None:
    """Of observations seen, of all others as one, and of the end."""
    known = list(learnt.observations.known)
    sequence = [known[0], known[-1], "never seen", known[0]]
    for k, found in enumerate(learnt.entropy(sequence, "nats")):
        p = np.array([*learnt.following(sequence[:k]).values()])
        p = np.append(p, 1.0 - p.sum())
        np.testing.assert_allclose(found, -(p * np.log(np.maximum(p, 1e-300))).sum(), rtol=1e-7)
    np.testing.assert_allclose(learnt.entropy(sequence), learnt.entropy(sequence, "nats") / np.log(2.0))
    with pytest.raises(ValueError, match="'bits', 'nats', not 'hartleys'"):
        learnt.entropy(sequence, "hartleys")  # type: ignore[arg-type]

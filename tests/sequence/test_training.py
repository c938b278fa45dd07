"""Learning: what is counted, what is chosen, and that shards do not show."""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent._names import EstimatorName
from spectral_latent.estimation import ESTIMATORS, EstimatorOptions, FeatureColumns, Progress
from spectral_latent.estimation._treebank import count_rules
from spectral_latent.lexicon import WordCounts
from spectral_latent.sequence import HMMOptions, LatentHMM, Sequences, conversion, untagged
from spectral_latent.sequence.training import SequenceFormalism
from tests.sequence.hmms import draw_strings, random_hmm

tagged_rows = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), min_size=1, max_size=5), min_size=1, max_size=12
)


def strings(n: int, seed: int = 0, m: int = 3, n_symbols: int = 4) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return draw_strings(random_hmm(rng, m, n_symbols, concentration=0.5), n, rng)


def exactly(estimator: EstimatorName, n_states: int, iterations: int = 5) -> HMMOptions:
    chosen = ESTIMATORS[estimator].with_settings(n_states=n_states, iterations=iterations)
    return HMMOptions(chosen, choose_states=False)


def test_choices_are_those_of_cross_validation() -> None:
    """On data whose rare observations are in one sequence each, so that other folds have not seen them."""
    data: list[list[Any]] = [[*row, f"once {i}"] if i % 21 == 0 else row for i, row in enumerate(strings(600))]

    folds = untagged.folds_of(len(data)).tolist()

    @cache
    def likelihood(n_states: int, floor: float) -> float:
        options = HMMOptions(EstimatorOptions(n_states=n_states), choose_states=False, floor=floor)
        total = 0.0
        for fold in range(10):
            model = LatentHMM.train([row for row, other in zip(data, folds, strict=True) if other != fold], options)
            held_out = [row for row, own in zip(data, folds, strict=True) if own == fold]
            total += model.log_probabilities(held_out).sum()
        return total

    told: list[Progress] = []
    chosen = LatentHMM.train(data, HMMOptions(EstimatorOptions(n_states=4)), listener=told.append)
    n_states = max(range(1, 5), key=lambda m: likelihood(m, 0.01))
    assert chosen.grammar.n_states == n_states > 1
    floors = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    at = floors.index(chosen.floor)
    assert chosen.floor == max(floors[max(at - 1, 0) : at + 2], key=lambda floor: likelihood(n_states, floor))
    steps = [progress for progress in told if progress.stage == "states"]
    assert [progress.done for progress in steps] == list(range(1, len(steps) + 1))
    assert steps[0].total == 10 * 4
    assert len(steps) < 40  # numbers of states that are clearly worse are given up


def test_twenty_sequences_are_enough_to_choose() -> None:
    assert LatentHMM.train(strings(19)).options == HMMOptions()
    assert not LatentHMM.train(strings(20)).options.choose_states


@pytest.mark.parametrize("estimator", ["moments-em", "clusters-em", "em"])
def test_the_best_objective_of_all_starts_is_kept(estimator: EstimatorName) -> None:
    """Two cycles, in which moments alone show states that are 37 nats less likely; the objective never falls."""
    data = ["abc" * 20, "xy" * 20]
    alone, together = (
        LatentHMM.train(data, HMMOptions(exactly(estimator, 2, 200).estimator, choose_states=False, random_starts=n))
        for n in (1, 10)
    )
    n_starts = 10 if estimator == "em" else 11
    assert len(together.reached) == n_starts and 1 <= together.n_near <= n_starts
    assert max(together.reached) == together.objective[-1] >= alone.objective[-1]
    assert (np.diff(together.objective) >= -1e-9).all()
    # One state for each cycle, with its ends.
    by_hand = 2 * np.log(1 / 2) + 60 * np.log(1 / 3) + 40 * np.log(1 / 2)
    by_hand += 59 * np.log(59 / 60) + np.log(1 / 60) + 39 * np.log(39 / 40) + np.log(1 / 40)
    assert together.objective[-1] > by_hand - 0.5


def test_ends_that_are_not_learnt_say_nothing_of_states() -> None:
    """The objective is then that of the observations alone, and log 2 less for each."""
    options = HMMOptions(exactly("em", 3, 100).estimator, choose_states=False, ends=False, prior=False)
    data = strings(300)
    model = LatentHMM.train(data, options)
    np.testing.assert_array_equal(model.hidden.stop, 0.5)
    alone = 0.0
    for row in data:
        state = model.hidden.initial
        for x in row:
            here = state * model.hidden.emission[:, model.observations.known.index(x)]
            alone += np.log(here.sum())
            state = here / here.sum() @ model.hidden.transition
    n = sum(map(len, data))
    assert model.objective[-1] == pytest.approx(alone - n * np.log(2.0), abs=5.0)  # unseen observations have a share
    with pytest.raises(ValueError, match="ends may be False for an estimator with EM alone"):
        HMMOptions(ends=False)


@given(tagged_rows, st.integers(1, 9))
def test_rules_are_counted_as_by_hand(rows: list[list[tuple[int, int]]], size: int) -> None:
    """Of all shards, against a loop over positions."""
    sequences = Sequences.of([[x for x, _ in row] for row in rows], [[t for _, t in row] for row in rows])
    shards = [conversion.SequenceShard(vars(part), 3, no_features) for part in sequences.parts(size)]
    counts = count_rules(shards)
    expected: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        expected["root", 3 + row[0][1]] += 1
        for i, (x, t) in enumerate(row):
            expected["leaf", t, x] += 1
            if i + 1 < len(row):
                expected["binary", 3 + t, t, 3 + row[i + 1][1]] += 1
            else:
                expected["unary", 3 + t, t] += 1
    found: dict[tuple[object, ...], float] = {("root", a): n for a, n in enumerate(counts.root[:, 0]) if n}
    columns = {"leaf": counts.leaf[:, 0], "unary": counts.unary[:, 0, 0], "binary": counts.binary.data}
    for kind, column in columns.items():
        rules = getattr(counts.rules, kind).tolist()
        found |= {(kind, *rule): n for rule, n in zip(rules, column, strict=True)}
    assert found == expected
    assert counts.n_trees == len(rows)


@given(tagged_rows)
def test_words_are_counted_with_the_sentences_that_they_open(rows: list[list[tuple[int, int]]]) -> None:
    formalism = SequenceFormalism(has_tags=True)
    formalism.columns(rows, np.arange(1.0, len(rows) + 1.0))
    expected: Counter[tuple[int, int, bool]] = Counter()
    for weight, row in enumerate(rows, start=1):
        for at, pair in enumerate(row):
            expected[*pair, at == 0] += weight
    seen = WordCounts.total(formalism._counts)
    names = ((formalism.names.names[x], formalism.tags.names[t]) for x, t in zip(seen.word, seen.symbol, strict=True))
    found = {(*pair, bool(opens)): n for pair, opens, n in zip(names, seen.opens, seen.times, strict=True)}
    assert found == expected


def no_features(sequences: Sequences) -> FeatureColumns:
    none = np.zeros((2 * len(sequences.terminal), 0), dtype=np.int64)
    return FeatureColumns(none, none)

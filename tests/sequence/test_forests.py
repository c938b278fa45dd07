"""Trellises against the enumeration of the tags that they leave."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.inference import inside, n_best_derivations, total_weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.sequence.forests import Candidates, Trellis, TrellisBuilder, candidate_marginals
from spectral_latent.trees import Forest
from tests.sequence.hmms import TaggedModel, random_tagged

K, N = 3, 4
seeds = st.integers(0, 2**32 - 1)
strings = st.lists(st.lists(st.integers(0, N - 1), min_size=1, max_size=4), min_size=1, max_size=4)


def trellis(model: TaggedModel, rows: list[list[int]]) -> tuple[ObservableOperators, Candidates, Trellis]:
    operators, sequences = model.operators(), Sequences.of(rows)
    builder = TrellisBuilder(operators.rules, len(model.initial))
    candidates = builder.candidates(sequences.terminal)
    return operators, candidates, builder.build(sequences.start, candidates)


@settings(max_examples=40)
@given(seeds, strings)
def test_the_weight_of_a_trellis_is_the_sum_over_tags(seed: int, rows: list[list[int]]) -> None:
    model = random_tagged(np.random.default_rng(seed), K, 2, N, proper=False, missing=0.3)
    operators, _, found = trellis(model, rows)
    weight = total_weight(operators, found.forest, inside(operators, found.forest))
    expected = [sum(model.paths(row).values()) for row in rows]
    size = [sum(map(abs, model.paths(row).values())) for row in rows]
    assert (np.abs(weight.sign * np.exp(weight.log) - expected) <= 1e-12 * np.array(size)).all()


@settings(max_examples=40)
@given(seeds, strings)
def test_derivations_are_the_tags_with_rules(seed: int, rows: list[list[int]]) -> None:
    """The trellis of one sequence, derivation by derivation; weights are those of the trees on their own."""
    model = random_tagged(np.random.default_rng(seed), K, 1, N, missing=0.4)
    row = rows[0]
    operators, _, found = trellis(model, [row])
    derivations = n_best_derivations(found.forest, np.zeros(found.forest.n_edges), K ** len(row) + 1)
    trees = [derivation.tree(found.forest, operators.rules) for derivation in derivations]
    tags = [tuple(Sequences.of_trees(tree).tag.tolist()) for tree in trees]
    possible = {path: p for path, p in model.paths(row).items() if p > 0}
    assert sorted(tags) == sorted(possible)
    for tree, path in zip(trees, tags, strict=True):
        assert Sequences.of_trees(tree).terminal.tolist() == row
        weight = tree_weights(operators, Forest.of_trees(tree, operators.rules))
        assert np.exp(weight.log[0]) == pytest.approx(possible[path], rel=1e-12)


@pytest.mark.parametrize("ends", [[0, 0, 2], [0, 1, 1, 2], [0, 2, 2]])
def test_empty_sequences_are_refused(ends: list[int]) -> None:
    """A sequence begins with its first position; after the last of all there is none."""
    operators = random_tagged(np.random.default_rng(1), K, 1, N, missing=0.0).operators()
    builder = TrellisBuilder(operators.rules, K)
    candidates = builder.candidates(np.array([0, 1]))
    number = 1 + int(np.argmin(np.diff(ends)))
    for of in (builder.build, partial(candidate_marginals, operators, builder)):
        with pytest.raises(ValueError, match=f"sequence {number} is empty"):
            of(np.array(ends), candidates)


def test_a_terminal_without_a_rule_leaves_no_candidate() -> None:
    model = HiddenMarkov(np.ones(1), np.ones((1, 1)), np.array([0.5]), np.array([[0.5, 0.5]])).operators()
    assert np.diff(TrellisBuilder(model.rules, 1).candidates(np.array([0, 7, 1])).start).tolist() == [1, 0, 1]

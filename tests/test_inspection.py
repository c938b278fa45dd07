"""Descriptions of states have the expected nodes, shares and probabilities of the oracle."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.inspection import (
    NamedOperators,
    anchor_rows,
    anchor_table,
    describe_states,
)
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import Rules
from tests.anchors.test_model import sentences

STATES = [2, 3, 1]
RULES = Rules(
    np.array([[0, 1], [1, 0], [1, 2], [2, 1]]), np.array([[0, 1]]), np.array([[0, 0, 1], [0, 1, 2], [1, 2, 2]])
)


def random_model(seed: int) -> ObservableOperators:
    """Draw random probabilities; leaf rules are likely enough that trees end."""
    rng = np.random.default_rng(seed)
    m = max(STATES)
    root = np.zeros((3, m))
    leaf = np.zeros((len(RULES.leaf), m))
    unary = np.zeros((len(RULES.unary), m, m))
    for a, size in enumerate(STATES):
        root[a, :size] = rng.random(size)
    for r, (a, _) in enumerate(RULES.leaf):
        leaf[r, : STATES[a]] = 20 * rng.random(STATES[a])
    for r, (a, b) in enumerate(RULES.unary):
        unary[r, : STATES[a], : STATES[b]] = rng.random((STATES[a], STATES[b]))
    binary = Tensors.of(Tensor.of_dense(rng.random([STATES[x] for x in rule])) for rule in RULES.binary)
    table = ObservableOperators(RULES, np.array(STATES), root, leaf, unary, binary)
    return ObservableOperators.probabilities_of(table)


def expected_nodes(operators: ObservableOperators) -> dict[tuple[int, int], float]:
    """Solve n = π + n T, number by number."""
    keys = [(a, h) for a, size in enumerate(STATES) for h in range(size)]
    step: dict[tuple[tuple[int, int], tuple[int, int]], float] = defaultdict(float)
    for r, (a, b) in enumerate(RULES.unary.tolist()):
        for h, k in np.ndindex(STATES[a], STATES[b]):
            step[(a, h), (b, k)] += operators.unary[r, h, k]
    for tensor, (a, b, c) in zip(operators.binary, RULES.binary.tolist(), strict=True):
        for (h, i, j), p in np.ndenumerate(tensor.to_dense()):
            step[(a, h), (b, i)] += p
            step[(a, h), (c, j)] += p
    matrix = np.array([[step[one, other] for other in keys] for one in keys])
    root = np.array([operators.root[a, h] for a, h in keys])
    return dict(zip(keys, np.linalg.solve(np.eye(len(keys)) - matrix.T, root), strict=True))


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_shares_and_probabilities_are_those_of_the_model(seed: int) -> None:
    operators = random_model(seed)
    named = NamedOperators(operators, ["S", "A", "B"], ["x", "y", "z"])
    described = {states[0].symbol: states for states in describe_states(named, 100)}
    nodes = expected_nodes(operators)
    frequency = {name: sum(n for (b, _), n in nodes.items() if b == a) for a, name in enumerate(named.symbols)}
    assert list(described) == sorted(described, key=lambda name: -frequency[name])
    for a, name in enumerate(named.symbols):
        for h, state in enumerate(described[name]):
            assert state.frequency == pytest.approx(frequency[name])
            assert state.share == pytest.approx(nodes[a, h] / frequency[name])
            for word, p in state.words:
                (row,) = np.flatnonzero((RULES.leaf == [a, named.terminals.index(word)]).all(axis=1))
                assert p == pytest.approx(operators.leaf[row, h])
            if STATES[a] > 1:  # words are listed by their part in the divergence of the state from the mean
                share = [nodes[a, k] / frequency[name] for k in range(STATES[a])]
                gains = {
                    named.terminals[x]: row[h] * np.log(row[h] / (row[: STATES[a]] @ share))
                    for (b, x), row in zip(RULES.leaf.tolist(), operators.leaf, strict=True)
                    if b == a
                }
                listed = [gains[word] for word, _ in state.words]
                assert sorted(listed, reverse=True) == pytest.approx(listed, abs=2e-3)
                assert len(listed) >= sum(gain > 2e-3 for gain in gains.values())
    # n of B in state k under S → A [B], divided by all n of B in state k
    total = sum(nodes[0, h] * operators.binary[1].to_dense()[h, :, 0].sum() for h in range(STATES[0]))
    assert dict(described["B"][0].places)["S → A [B]"] == pytest.approx(total / nodes[2, 0])
    assert sum(p for _, p in described["B"][0].places) == pytest.approx(1.0)
    assert dict(described["B"][0].words) == {"y": pytest.approx(1.0)}


def test_singular_values_that_are_not_zero_are_listed() -> None:
    values = np.array([[2.0, 0.5, 0.0], [0.25, 0.0, 0.0], [0.0, 0.0, 0.0]])
    named = NamedOperators(replace(random_model(0), singular_values=values), ["S", "A", "B"], ["x", "y", "z"])
    assert [named.spectrum(symbol) for symbol in named.symbols] == [[2.0, 0.5], [0.25], []]


def test_anchors_are_listed_with_their_states() -> None:
    model = AnchorHMM.train(sentences(0), AnchorOptions(n_states=5))
    labelled = model.label({name: name.upper() for name in model.anchors})
    for row, (name, state) in zip(anchor_rows(labelled, 2), model.anchors.items(), strict=True):
        assert (row["state"], row["anchor"], row["label"]) == (state, name, name.upper())
        assert row["share"] == model.state_prior[state] and row["words"] == dict(model.top_words(2)[state])
        assert name in anchor_table(model, 2)

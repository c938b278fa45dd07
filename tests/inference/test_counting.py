"""Expected counts against enumeration of derivations and states, and against derivatives of log Z."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spectral_latent.inference import expected_counts, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, Rules
from tests.oracles import (
    Lpcfg,
    all_rules,
    cky_forest,
    columns,
    counts_by_enumeration,
    dense_of,
    derivations,
    log_weight,
    numbers_by_factor,
    numbers_of,
    random_lpcfg,
    random_numbers,
    rules_of,
    same_numbers,
    tree_strategy,
)

STATES = [2, 3, 4]
seeds = st.integers(0, 2**32 - 1)
RULES = {
    "leaf": list(itertools.product(range(3), range(3))),
    "unary": [(0, 1), (2, 0)],
    "binary": [(0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1), (2, 2, 1)],
}


def positive(seed: int, rules: dict, *, factored: bool) -> Lpcfg:
    """A model of positive numbers; tensors are in factors where `factored` asks for it and they stay so."""
    drawn = random_numbers(np.random.default_rng(seed), STATES, rules, factored=factored)
    factors = {rule: tuple(map(np.abs, parts)) for rule, parts in drawn.factors.items()}
    tensors = {rule: np.abs(array) for rule, array in drawn.t.items()}
    tensors |= {rule: np.einsum("na,nb,nc->abc", *parts) for rule, parts in factors.items()}
    tables = ({rule: np.abs(array) for rule, array in drawn.of(kind).items()} for kind in ("leaf", "unary"))
    model = Lpcfg(STATES, [np.abs(vector) for vector in drawn.pi], *tables, tensors, factors)
    kept = {rule for rule, tensor in zip(sorted(tensors), model.operators().binary, strict=True) if tensor.n_terms}
    return replace(model, factors={rule: parts for rule, parts in factors.items() if rule in kept})


# ---------------------------------------------------------------------------------------------------------------------
# Enumeration


@pytest.mark.parametrize("factored", [False, True])
@given(trees=st.lists(tree_strategy(max_leaves=3), min_size=1, max_size=3), seed=seeds)
@settings(max_examples=15)
def test_counts_of_trees_are_those_of_enumeration(factored: bool, trees: list[tuple], seed: int) -> None:
    skeletal = columns(trees)
    assume(skeletal.n_nodes <= 12)
    model = positive(seed, rules_of(trees), factored=factored)
    found = expected_counts(model.operators(), Forest.of_trees(skeletal, model.rules()))
    wanted, log_likelihood = counts_by_enumeration(model, [[tree] for tree in trees])
    same_numbers(numbers_by_factor(found), wanted, atol=1e-10)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-9)


@pytest.mark.parametrize("factored", [False, True])
@given(sentences=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=2), seed=seeds)
@settings(max_examples=6)
def test_counts_of_forests_are_those_of_enumeration(factored: bool, sentences: list[list[int]], seed: int) -> None:
    """Every sentence is a component of several roots, and edges without a rule are strewn in."""
    model = positive(seed, RULES, factored=factored)
    forest = cky_forest(model, sentences, rng=np.random.default_rng(seed)).forest
    found = expected_counts(model.operators(), forest)
    wanted, log_likelihood = counts_by_enumeration(model, [derivations(model, sentence) for sentence in sentences])
    same_numbers(numbers_by_factor(found), wanted, atol=1e-10)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# Derivatives


def slope(operators: ObservableOperators, forest: Forest, name: str, at: tuple[int, ...]) -> float:
    """θ · ∂ Σ log Z / ∂ θ by a central difference in log θ; name: of the array that holds θ."""
    step = 1e-5
    logs = []
    for sign in (1.0, -1.0):
        array = (operators.binary.data if name == "data" else getattr(operators, name)).copy()
        array[at] *= np.exp(sign * step)
        changed = {"binary": operators.binary.with_data(array)} if name == "data" else {name: array}
        logs.append(float(tree_weights(replace(operators, **changed), forest).log.sum()))
    return (logs[0] - logs[1]) / (2 * step)


@pytest.mark.parametrize("factored", [False, True])
def test_counts_are_derivatives_of_log_z(factored: bool) -> None:
    """Of sentences with thousands of derivations, every number of the operators."""
    rng = np.random.default_rng(0)
    model = positive(0, RULES, factored=factored)
    operators = model.operators()
    forest = cky_forest(model, [rng.integers(3, size=n).tolist() for n in (7, 1, 5)], rng=rng).forest
    found = expected_counts(operators, forest)
    arrays = {"root": found.root, "leaf": found.leaf, "unary": found.unary, "data": found.binary.data}
    for name, counts in arrays.items():
        for at, count in np.ndenumerate(counts):
            assert count == pytest.approx(slope(operators, forest, name, at), abs=1e-7), (name, at)
    if factored:
        assert found.binary.terms.any()


@given(seeds)
@settings(max_examples=10)
def test_every_factor_of_a_term_has_the_same_count(seed: int) -> None:
    model = positive(seed, RULES, factored=True)
    forest = cky_forest(model, [[0, 1, 2, 0], [1]]).forest
    operators = model.operators()
    found = expected_counts(operators, forest)
    dense = expected_counts(dense_of(operators), forest)
    for tensor, full in zip(found.binary, dense.binary, strict=True):
        if tensor.dense is None:
            first = tensor.first.sum(axis=1)
            assert tensor.second.sum(axis=1) == pytest.approx(first)
            assert tensor.third.sum(axis=1) == pytest.approx(first)
            numbers = full.to_dense()
            sums = [numbers.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
            for factor, total in zip((tensor.first, tensor.second, tensor.third), sums, strict=True):
                assert factor.sum(axis=0) == pytest.approx(total)  # summed over terms, the counts of the states


# ---------------------------------------------------------------------------------------------------------------------
# Size


def test_large_trees_have_the_counts_of_their_rules() -> None:
    """Summed over states, how often each rule occurs; Σ log Z is that of an inside pass in logarithms."""
    model = random_lpcfg(np.random.default_rng(0), [2, 3], all_rules(2, 3, unary=[(0, 1)]))
    rng = np.random.default_rng(1)

    def grown(leaves: int) -> tuple:
        """A tree of so many leaves, split at random."""
        a = int(rng.integers(2))
        if leaves == 1:
            return a, int(rng.integers(3))
        left = int(rng.integers(1, leaves))
        tree = (a, grown(left), grown(leaves - left))
        return (0, tree) if a == 1 and rng.random() < 0.1 else tree

    trees = columns([grown(500), grown(700)])
    found = expected_counts(model.operators(), Forest.of_trees(trees, model.rules()))
    rule = trees.rule_in(model.rules())
    for kind, _ in (("leaf", 2), ("unary", 2), ("binary", 3)):
        occurs = np.bincount(rule[getattr(trees, f"is_{kind}")], minlength=len(model.of(kind)))
        counts = [array for (of_kind, _), array in numbers_of(found).items() if of_kind == kind]
        assert [array.sum() for array in counts] == pytest.approx(occurs)
    assert found.root.sum() == pytest.approx(2.0)
    log = log_weight(model, trees)
    assert (log < -800).all()  # exp(-745) is the least float
    assert found.log_likelihood == pytest.approx(log.sum(), rel=1e-12)


# ---------------------------------------------------------------------------------------------------------------------
# Edges


def test_a_rule_that_must_be_used_counts_once_however_unlikely() -> None:
    leaf = 1e-290
    rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
    operators = ObservableOperators(rules, np.array([1]), np.ones((1, 1)), np.array([[leaf]]), np.empty((0, 1, 1)), [])
    tree = columns([(0, 0)])
    assert expected_counts(operators, Forest.of_trees(tree, rules)).leaf[0, 0] == pytest.approx(1.0)


def test_the_first_component_without_a_derivation_is_named() -> None:
    model = positive(0, rules_of([(0, (1, 0), (2, 1))]), factored=False)
    trees = columns([(0, (1, 0), (2, 1)), (0, (2, 1), (1, 0)), (0, (2, 1), (1, 0))])
    with pytest.raises(ValueError, match="component 2 has no derivation of positive probability"):
        expected_counts(model.operators(), Forest.of_trees(trees, model.rules()))

"""The inside-outside engine against enumeration of trees and hidden states, and against logarithms at scale."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.inference import (
    edge_marginals,
    expected_counts,
    inside,
    marginals,
    outside,
    total_weight,
    tree_weights,
)
from spectral_latent.inference.inside_outside import item_component, state_posteriors, trusted_posteriors
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import Forest, Rules, SkeletalTrees
from tests.oracles import (
    Lpcfg,
    Parsed,
    by_enumeration,
    cky_forest,
    columns,
    counts_by_enumeration,
    derivations,
    figure_2,
    figure_4,
    numbers_by_factor,
    plain,
    random_lpcfg,
    random_numbers,
    rules_of,
    same_numbers,
    spans,
    tree_strategy,
    unscaled,
)

STATES = [2, 3, 4]
RULES = {
    "leaf": list(itertools.product(range(3), range(3))),
    "unary": [(0, 1), (2, 0)],
    "binary": [(0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1), (2, 2, 1)],
}
seeds = st.integers(0, 2**32 - 1)


def posteriors(operators: ObservableOperators, forest: Forest, factors: np.ndarray | None = None) -> np.ndarray:
    inside_vectors = inside(operators, forest, factors)
    return marginals(operators, forest, inside_vectors, outside(operators, forest, inside_vectors, factors), factors)


def ambiguous(
    rng: np.random.Generator,
    *,
    positive: bool,
    states: Sequence[int] = STATES,
    unary: Sequence[tuple[int, int]] = ((0, 1), (2, 0)),
) -> Lpcfg:
    """Three symbols and terminals, five binary rules and every leaf rule, and unary rules without a cycle."""
    return (random_lpcfg if positive else random_numbers)(rng, states, RULES | {"unary": sorted(unary)})


@given(tree_strategy(max_leaves=4), seeds)
def test_figures_2_and_4_equal_the_sum_over_hidden_states(tree: tuple, seed: int) -> None:
    model = random_numbers(np.random.default_rng(seed), STATES, rules_of([tree]))
    assert figure_2(model, tree) == pytest.approx(by_enumeration(model, tree), rel=1e-10, abs=1e-12)
    assert figure_4(model, tree) == pytest.approx(by_enumeration(model, tree), rel=1e-10, abs=1e-12)


@given(st.lists(tree_strategy(max_leaves=4), min_size=1, max_size=4), seeds)
def test_tree_weights_are_sums_over_hidden_states(trees: list[tuple], seed: int) -> None:
    model = random_numbers(np.random.default_rng(seed), STATES, rules_of(trees))
    skeletal = columns(trees)
    weight = tree_weights(model.operators(), Forest.of_trees(skeletal, model.rules()))
    expected = [by_enumeration(model, tree) for tree in trees]
    size = [figure_4(_absolute(model), tree) for tree in trees]
    assert (np.abs(plain(weight) - expected) <= 1e-10 * np.array(size)).all()
    assert ((weight.sign == np.sign(expected)) | (np.abs(expected) < 1e-10 * np.array(size))).all()


def _absolute(model: Lpcfg) -> Lpcfg:
    """The numbers without signs: the size of the terms that a weight is the sum of."""
    tables = ({rule: np.abs(array) for rule, array in model.of(kind).items()} for kind in ("leaf", "unary", "binary"))
    return Lpcfg(model.states, [np.abs(vector) for vector in model.pi], *tables)


# Packed forests


def item_sums(parsed: Parsed, trees: list[tuple], weights: np.ndarray) -> np.ndarray:
    """The summed weights of the trees that contain each item."""
    number = {item: i for i, (_, item) in enumerate(parsed.items)}
    sums = np.zeros(len(number))
    for tree, weight in zip(trees, weights, strict=True):
        for item in spans(tree):
            sums[number[item]] += weight
    return sums


# By sentence length: few enough trees to enumerate.
UNARY = {1: ((0, 1), (2, 0)), 2: ((0, 1), (2, 0)), 3: ((2, 0),), 4: ((2, 0),)}


def check_sums(
    model: Lpcfg, sentence: list[int], trees: list[tuple], weights: list[float], factors: np.ndarray | None = None
) -> None:
    """Compare the weight of a forest, and those of its items, with sums over all trees of its sentence."""
    parsed = cky_forest(model, [sentence])
    operators = model.operators()
    inside_vectors = inside(operators, parsed.forest, factors)
    total = total_weight(operators, parsed.forest, inside_vectors)
    size = np.abs(weights).sum()
    assert abs(plain(total)[0] - sum(weights)) <= 1e-10 * size
    mu = posteriors(operators, parsed.forest, factors) * plain(total)
    assert np.abs(mu - item_sums(parsed, trees, np.array(weights))).max() <= 1e-10 * size
    trusted, sign = trusted_posteriors(operators, parsed.forest, np.ones(len(mu)) if factors is None else factors)
    assert np.abs(trusted * plain(total) - item_sums(parsed, trees, np.array(weights))).max() <= 1e-10 * size
    assert sign.tolist() == total.sign.tolist()
    outside_vectors = outside(operators, parsed.forest, inside_vectors, factors)
    if factors is None:
        of_states = np.maximum(unscaled(*inside_vectors[:2]) * unscaled(*outside_vectors[:2]), 0.0)
        wanted = of_states / np.maximum(of_states.sum(axis=1, keepdims=True), 1e-300)
        np.testing.assert_allclose(state_posteriors(inside_vectors, outside_vectors), wanted, rtol=1e-9, atol=1e-9)
    of_edges = edge_marginals(operators, parsed.forest, inside_vectors, outside_vectors) * plain(total)
    assert np.abs(np.bincount(parsed.forest.item, of_edges, minlength=len(mu)) - mu).max() <= 1e-10 * size


@given(seeds, st.booleans(), st.booleans(), st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_forests_sum_over_all_trees_and_hidden_states(
    seed: int, positive: bool, has_factors: bool, sentence: list[int]
) -> None:
    """Each tree weighs its probability times the factors of its items."""
    rng = np.random.default_rng(seed)
    model = ambiguous(rng, positive=positive, states=[2, 3, 2], unary=UNARY[len(sentence)])
    items = {item: at for at, (_, item) in enumerate(cky_forest(model, [sentence]).items)}
    factors = 10.0 ** rng.choice([-90.0, -2.0, 0.0, 0.5, 90.0], len(items), p=[0.02, 0.3, 0.3, 0.36, 0.02])
    factors = factors if has_factors else np.ones(len(items))
    trees = derivations(model, sentence)
    weights = [figure_4(model, tree) * math.prod(factors[items[item]] for item in spans(tree)) for tree in trees]
    check_sums(model, sentence, trees, weights, factors if has_factors else None)


@given(seeds, st.booleans(), st.lists(st.integers(0, 2), min_size=1, max_size=4))
def test_a_forest_without_some_items_sums_over_the_trees_that_have_none_of_them(
    seed: int, positive: bool, sentence: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    model = ambiguous(rng, positive=positive, unary=[(2, 0)])
    forest = cky_forest(model, [sentence]).forest
    items = [item for _, item in cky_forest(model, [sentence]).items]
    keep = rng.random(len(items)) < 0.7
    keep[forest.root] = True
    left_out = {item for item, kept in zip(items, keep, strict=True) if not kept}
    trees = derivations(model, sentence)
    weights = [figure_4(model, tree) for tree in trees]
    wanted = sum(weight for tree, weight in zip(trees, weights, strict=True) if left_out.isdisjoint(spans(tree)))
    found = plain(tree_weights(model.operators(), forest.restrict(keep)))
    assert abs(found.sum() - wanted) <= 1e-10 * np.abs(weights).sum()


@pytest.mark.parametrize("wrong", [0.5e-100, np.nan, 1.5e100])
def test_factors_are_numbers_above_zero_one_for_each_item_and_roots_stay(wrong: float) -> None:
    model = ambiguous(np.random.default_rng(0), positive=True)
    forest = cky_forest(model, [[0, 1]]).forest
    for factors in (np.where(np.arange(forest.n_items) == 0, wrong, 1.0), np.ones(forest.n_items + 1)):
        with pytest.raises(ValueError, match="factor"):
            inside(model.operators(), forest, factors)
    for right in (1e-100, 1e100):
        inside(model.operators(), forest, np.full(forest.n_items, right))
    for keep in (np.zeros(forest.n_items, dtype=bool), np.ones(1, dtype=bool)):
        with pytest.raises(ValueError):
            forest.restrict(keep)


# The edge of the number range


@pytest.mark.parametrize("leaf", [1e-300, 1e300, 5e-324])
def test_parameters_near_the_ends_of_the_number_range_are_exact(leaf: float) -> None:
    trees = columns([(0, (0, 0), (0, 0))])
    one, tensor = np.ones((1, 1)), Tensor.of_dense(np.ones((1, 1, 1)))
    operators = ObservableOperators(trees.rules, np.array([1]), one, leaf * one, np.empty((0, 1, 1)), [tensor])
    forest = Forest.of_trees(trees, trees.rules)
    assert tree_weights(operators, forest).log == pytest.approx([2 * math.log(leaf)])
    assert posteriors(operators, forest) == pytest.approx(np.ones(3))


def two_ways(steps: int) -> tuple[ObservableOperators, Forest]:
    """An item with two edges: one of weight zero over a leaf, one of weight one over `steps` unary rules of 1/1000.

    Symbol 0 is the chain, symbol 1 the leaf in its first of two states, symbol 2 the item: rule 2 → 1 needs the second.
    """
    rules = Rules(np.array([[0, 0], [1, 0]]), np.array([[0, 0], [2, 0], [2, 1]]), np.empty((0, 3), int))
    unary = np.zeros((3, 2, 2))
    unary[0, 0, 0], unary[1, 0, 0], unary[2, 0] = 1e-3, 1.0, [0.0, 1.0]
    root = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    operators = ObservableOperators(rules, np.array([1, 2, 1]), root, np.array([[1.0, 0.0], [1.0, 0.0]]), unary, [])
    forest = Forest(
        symbol=np.array([0] * (steps + 1) + [1, 2]),
        start=np.array([*range(steps + 3), steps + 4]),
        rule=np.array([0] * (steps + 1) + [1, 1, 2]),
        left=np.array([-1, *range(steps), -1, steps, steps + 1]),
        right=np.full(steps + 4, -1),
        root=np.array([steps + 2]),
        component=np.array([0]),
    )
    return operators, forest


def test_an_edge_of_weight_zero_does_not_hide_a_small_one() -> None:
    operators, forest = two_ways(300)
    assert tree_weights(operators, forest).log == pytest.approx([300 * math.log(1e-3)])
    assert posteriors(operators, forest) == pytest.approx([1.0] * 301 + [0.0, 1.0])


def test_edges_of_a_long_chain_neither_under_nor_overflow() -> None:
    """A chain of 20,000 nodes whose weights are near 10^±200: every marginal is one, and the logarithm is finite."""
    n = 20_000
    spine = np.arange(n)  # 0 → x, 1 → 0, then 1 → 1 all the way up
    forest = Forest(
        symbol=np.minimum(spine, 1),
        start=np.arange(n + 1),
        rule=np.where(spine < 2, 0, 1),
        left=spine - 1,
        right=np.full(n, -1),
        root=np.array([n - 1]),
        component=np.array([0]),
    )
    rules = Rules(np.array([[0, 0]]), np.array([[1, 0], [1, 1]]), np.empty((0, 3), dtype=np.int64))
    for size in (1e-200, 1e200):
        numbers = np.array([[0.0], [size]]), np.array([[size]]), np.full((2, 1, 1), size)
        operators = ObservableOperators(rules, np.ones(2, dtype=np.int64), *numbers, [])
        inside_vectors = inside(operators, forest)
        outside_vectors = outside(operators, forest, inside_vectors)
        assert edge_marginals(operators, forest, inside_vectors, outside_vectors) == pytest.approx(1.0, rel=1e-9)
        weight = total_weight(operators, forest, inside_vectors)
        assert weight.log == pytest.approx([(n + 1) * math.log(size)], rel=1e-12)
        assert marginals(operators, forest, inside_vectors, outside_vectors) == pytest.approx(1.0, rel=1e-9)


def test_items_belong_to_the_component_of_the_next_root() -> None:
    trees = SkeletalTrees.of(
        [0, 0, 1, 2, 0], left=[-1, -1, -1, 1, -1], right=[-1, -1, -1, 2, -1], terminal=[0, 0, 0, -1, 0], root=[0, 3, 4]
    )
    forest = Forest.of_trees(trees, trees.rules)
    assert item_component(forest).tolist() == [0, 1, 1, 1, 2]


# Expected counts, against enumeration and derivatives of log Z


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


@pytest.mark.parametrize("factored", [False, True])
@given(sentences=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=2), seed=seeds)
@settings(max_examples=4)
def test_counts_of_forests_are_those_of_enumeration(factored: bool, sentences: list[list[int]], seed: int) -> None:
    """Every sentence is a component of several roots, and edges without a rule are strewn in."""
    model = positive(seed, RULES, factored=factored)
    forest = cky_forest(model, sentences, rng=np.random.default_rng(seed)).forest
    found = expected_counts(model.operators(), forest)
    wanted, log_likelihood = counts_by_enumeration(model, [derivations(model, sentence) for sentence in sentences])
    same_numbers(numbers_by_factor(found), wanted, atol=1e-10)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-9)


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

"""The spectral estimator on exact population moments (Theorem 2), on samples (Theorem 3), and its errors."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    LeafMoments,
    Priors,
    Shard,
    Treebank,
    estimate,
)
from spectral_latent.inference import inside, marginals, outside, total_weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import Lpcfg, by_enumeration, children, cky_forest, columns, derivations, spans

# ---------------------------------------------------------------------------------------------------------------------
# An L-PCFG with finitely many trees, whose probabilities are whole multiples of one number

S, X, Y, Z = range(4)
STATES = [2, 3, 2, 1]
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
ROOT = {(S, 0): HALF, (S, 1): HALF}
CHOICES: dict[tuple[int, int], list[tuple[tuple, Fraction]]] = {
    # symbol, state: a tuple of (symbol, state) for children or a terminal, and its probability
    (S, 0): [(((X, 0), (Y, 0)), HALF), (((X, 1), (Y, 1)), HALF)],
    (S, 1): [(((X, 2), (Y, 1)), HALF), (((Y, 0), (X, 0)), QUARTER), (((Z, 0), (Y, 1)), QUARTER)],
    (X, 0): [(((X, 1), (Y, 0)), HALF), (((X, 2), (Y, 1)), QUARTER), ((0,), QUARTER)],
    (X, 1): [((0,), HALF), ((1,), HALF)],
    (X, 2): [(((Y, 0),), HALF), ((1,), QUARTER), ((2,), QUARTER)],
    (Y, 0): [((3,), Fraction(3, 4)), ((4,), QUARTER)],
    (Y, 1): [((3,), QUARTER), ((4,), QUARTER), (((Z, 0),), HALF)],
    (Z, 0): [((5,), HALF), ((6,), HALF)],
}


@lru_cache
def below(symbol: int, state: int) -> dict[tuple, Fraction]:
    """p(tree | symbol, state) of all trees."""
    found: dict[tuple, Fraction] = {}
    for what, p in CHOICES[symbol, state]:
        if isinstance(what[0], int):
            parts: Iterator[tuple] = iter([(what, Fraction(1))])
        else:
            parts = (
                (tuple(tree for tree, _ in pick), math.prod(q for _, q in pick))
                for pick in itertools.product(*(below(*child).items() for child in what))
            )
        for rest, q in parts:
            tree = (symbol, *rest)
            found[tree] = found.get(tree, Fraction(0)) + p * q
    return found


@lru_cache
def population() -> dict[tuple, Fraction]:
    """p(tree) of all trees."""
    found: dict[tuple, Fraction] = {}
    for (symbol, state), p in ROOT.items():
        for tree, q in below(symbol, state).items():
            found[tree] = found.get(tree, Fraction(0)) + p * q
    return found


def true_model() -> Lpcfg:
    """The same model as t, u, q and π."""
    pi = [np.array([float(ROOT.get((a, h), 0)) for h in range(m)]) for a, m in enumerate(STATES)]
    model = Lpcfg(STATES, pi, {}, {}, {})
    for (a, h), choices in CHOICES.items():
        for what, p in choices:
            if isinstance(what[0], int):
                model.q.setdefault((a, what[0]), np.zeros(STATES[a]))[h] += float(p)
            else:
                rule = (a, *(b for b, _ in what))
                table = model.of("unary" if len(what) == 1 else "binary")
                table.setdefault(rule, np.zeros([STATES[s] for s in rule]))[(h, *(i for _, i in what))] += float(p)
    return model


def identities(tree: tuple) -> Iterator[tuple[Hashable, Hashable]]:
    """Inside and outside tree of every node, in post-order; the outside tree has a hole for the inside tree."""

    def visit(node: tuple, around: tuple) -> Iterator[tuple[Hashable, Hashable]]:
        for number, child in enumerate(children(node)):
            siblings = tuple(None if i == number else other for i, other in enumerate(children(node)))
            yield from visit(child, (node[0], siblings, around))
        yield node, around

    return visit(tree, ())


def identified(trees: list[tuple]) -> tuple[SkeletalTrees, FeatureColumns]:
    """Trees, with the identities of inside and outside trees for features."""
    numbers: list[dict[Hashable, int]] = [{}, {}]
    rows = [
        [ids.setdefault(key, len(ids)) for ids, key in zip(numbers, node, strict=True)]
        for tree in trees
        for node in identities(tree)
    ]
    table = np.array(rows)
    return columns(trees), FeatureColumns(table[:, :1], table[:, 1:])


@lru_cache
def population_sample() -> tuple[SkeletalTrees, FeatureColumns]:
    """A treebank that has exactly the moments of the population."""
    size = math.lcm(*(p.denominator for p in population().values()))
    return identified([tree for tree, p in population().items() for _ in range(int(p * size))])


def weights(operators: ObservableOperators, trees: list[tuple]) -> np.ndarray:
    weight = tree_weights(operators, Forest.of_trees(columns(trees), operators.rules))
    return weight.sign * np.exp(weight.log)


def spectral(
    trees: SkeletalTrees,
    features: FeatureColumns,
    options: EstimatorOptions | None = None,
    priors: Priors | None = None,
) -> ObservableOperators:
    return estimate(Treebank.of([Shard.of(trees, features)], priors), options).operators


EXACT = EstimatorOptions(n_states=6, scaling=None, smoothing=None, cutoff=1e-7)


def test_the_population_is_that_of_the_model() -> None:
    assert sum(population().values()) == 1
    assert len(population()) > 100
    model = true_model()
    for tree, p in itertools.islice(population().items(), 0, None, 7):
        assert by_enumeration(model, tree) == pytest.approx(float(p), rel=1e-12)


@pytest.mark.parametrize("scaling", [None, 1.0, 5.0])
def test_theorem_2_exact_moments_give_exact_probabilities(scaling: float | None) -> None:
    """Scaling is an invertible map of the features, so it changes the basis only."""
    options = EstimatorOptions(n_states=6, scaling=scaling, smoothing=None, cutoff=1e-7)
    operators = spectral(*population_sample(), options)
    assert operators.states.tolist() == [1, 3, 2, 1]  # outside a root there is nothing: S collapses to one state
    found = weights(operators, list(population()))
    assert found == pytest.approx([float(p) for p in population().values()], rel=1e-8)


def test_theorem_2_trees_that_are_impossible_weigh_nothing() -> None:
    """Trees of rules that exist, in states that exclude each other; none was in the sample."""
    model = true_model()
    every = [
        tree for n in (2, 3) for words in itertools.product(range(7), repeat=n) for tree in derivations(model, words)
    ]
    impossible = [tree for tree in every if tree[0] == S and tree not in population()]
    assert len(impossible) > 50
    operators = spectral(*population_sample(), EXACT)
    assert weights(operators, impossible) == pytest.approx(np.zeros(len(impossible)), abs=1e-12)


def test_theorem_2_exact_moments_give_exact_marginals() -> None:
    model, operators = true_model(), spectral(*population_sample(), EXACT)
    assert operators.rules.equals(model.rules())
    sentences = [(0, 3, 3), (1, 3, 4), (4, 5, 3), (1, 5), (3, 4, 5)]
    parsed = cky_forest(model, sentences)
    inner = inside(operators, parsed.forest)
    total = total_weight(operators, parsed.forest, inner)
    mu = marginals(operators, parsed.forest, inner, outside(operators, parsed.forest, inner))
    for number, sentence in enumerate(sentences):
        trees = {tree: float(population()[tree]) for tree in derivations(model, sentence) if tree in population()}
        p = sum(trees.values())
        assert total.log[number] == pytest.approx(math.log(p), abs=1e-8)
        expected = Counter[tuple]()
        for tree, q in trees.items():
            expected.update({item: q / p for item in spans(tree)})
        items = [item for which, item in parsed.items if which == number]
        found = mu[[which == number for which, _ in parsed.items]]
        assert found == pytest.approx([expected[item] for item in items], abs=1e-8)


def test_theorem_2_holds_in_more_dimensions_than_the_model_has() -> None:
    """Directions of singular value zero are dropped by the cutoff, whatever number of states is asked for."""
    for states in (3, 50):
        operators = spectral(
            *population_sample(), EstimatorOptions(n_states=states, scaling=None, smoothing=None, cutoff=1e-7)
        )
        assert operators.states.tolist() == [1, 3, 2, 1]


def test_theorem_3_error_falls_as_the_sample_grows() -> None:
    trees, p = list(population()), np.array([float(p) for p in population().values()])
    options = EstimatorOptions(n_states=3, scaling=None, smoothing=None, cutoff=1e-3)
    errors = []
    for n in (1_000, 100_000):
        of_size = []
        for seed in range(4):
            count = np.random.default_rng(seed).multinomial(n, p).astype(float)
            seen = [tree for tree, k in zip(trees, count, strict=True) if k]
            shard = Shard.of(*identified(seen), count[count > 0])  # a tree of weight k is k trees
            operators = estimate(Treebank.of([shard]), options).operators
            of_size.append(np.abs(weights(operators, trees) - p).sum())
        errors.append(float(np.median(of_size)))
    assert errors[1] < 0.02
    assert 3 < errors[0] / errors[1] < 40  # 10 = √100, give or take


# ---------------------------------------------------------------------------------------------------------------------
# Errors


def redundant(arity: int) -> tuple[SkeletalTrees, FeatureColumns]:
    """Chains S → A (…), A → B (B) whose nodes of A have the same template twice: Ω has singular values of zero."""
    rng = np.random.default_rng(1)
    trees = []
    for _ in range(300):
        leaves = [(2, int(rng.integers(4))) for _ in range(arity)]
        trees.append((0, (1, *leaves)))
    skeletal = columns(trees)
    n = skeletal.n_nodes
    of_a = skeletal.symbol == 1
    first, second = (np.where(of_a, rng.integers(3, size=n), 0) for _ in range(2))
    inner = {"x": first, "again": first, "leaf": skeletal.terminal, "y": np.where(of_a, second, 0)}
    return skeletal, FeatureColumns.of(inner, {"u": second, "once more": second, "v": np.where(of_a, first, 0)})


def test_redundant_features_give_fewer_states_and_sound_numbers() -> None:
    for arity in (1, 2):
        operators = spectral(*redundant(arity), EstimatorOptions(n_states=9, smoothing=None))
        packed = operators.packed
        assert operators.states[1] <= 5
        for array in (packed.root, packed.leaf, packed.unary, packed.data):
            assert np.abs(array).max(initial=0.0) < 1e3


def test_parameters_of_absurd_size_are_an_error() -> None:
    with pytest.raises(EstimationError, match="cutoff"):
        spectral(*redundant(2), EstimatorOptions(n_states=9, smoothing=None, cutoff=0.0))


def test_unary_parameters_of_absurd_size_are_an_error() -> None:
    """Inside and outside trees of A are independent, so that Ω has rank one, but its child depends on what is above."""
    often = {(i, j): (3, 5, 7)[i] * (2, 5, 11)[j] for i, j in itertools.product(range(3), range(3))}
    grid = [pair for pair, times in often.items() for _ in range(times)]
    trees = columns([(0, (1, (2, int(v > 0)))) for _, v in grid])
    inner, outer = np.zeros((2, trees.n_nodes), dtype=int)
    inner[trees.symbol == 1], outer[trees.symbol == 1] = np.array(grid).T
    inner[trees.is_leaf] = trees.terminal[trees.is_leaf]
    features = FeatureColumns(inner[:, None], outer[:, None])
    with pytest.raises(EstimationError, match="cutoff"):
        spectral(trees, features, EstimatorOptions(n_states=3, scaling=None, smoothing=None, cutoff=0.0))


def test_parameters_that_are_no_numbers_are_an_error() -> None:
    def broken(moments: LeafMoments) -> tuple[np.ndarray, np.ndarray]:
        return moments.rules, np.full_like(moments.total, np.nan)

    with pytest.raises(EstimationError):
        spectral(*redundant(2), priors=Priors(broken))

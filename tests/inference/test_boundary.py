"""The boundary of the compiled passes: whatever columns a forest has, it is refused unless it is one in plain Python.

Valid forests are spoilt at one or two places, with indices near and far outside.  The oracle below looks at every index
with Python's own lists.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.inference import (
    Derivation,
    ScaledVectors,
    check_forest,
    edge_marginals,
    inside,
    marginals,
    n_best_derivations,
    outside,
    total_weight,
    tree_weights,
)
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import Forest, Rules
from tests.oracles import FAR, best_derivation, cky_forest, random_numbers, spoilt

RULES: dict[str, list[tuple[int, ...]]] = {
    "leaf": list(itertools.product(range(3), range(2))),
    "unary": [(0, 1), (2, 0)],
    "binary": [(0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1), (2, 2, 1)],
}


class NotAForest(Exception):
    """The oracle's verdict."""


def require(condition: bool) -> None:
    if not condition:
        raise NotAForest


# The oracle: lists, no NumPy but for small vectors


class Edge(NamedTuple):
    rule: int
    left: int
    right: int


class Checked:
    """A forest as lists of lists; NotAForest if it is none."""

    def __init__(self, forest: Forest) -> None:
        for column in forest:
            require(isinstance(column, np.ndarray) and column.dtype == np.int64 and column.ndim == 1)
        symbol, start, rule, left, right, root, component = (column.tolist() for column in forest)
        require(len(start) == len(symbol) + 1 and len(rule) == len(left) == len(right))
        require(len(root) == len(component))
        require(start[0] == 0 and start[-1] == len(rule) and start == sorted(start))
        require(component == sorted(component) and all(k >= 0 for k in component))
        require(all(0 <= at < len(symbol) for at in root))
        edges = [Edge(*row) for row in zip(rule, left, right, strict=True)]
        self.symbol: list[int] = symbol
        self.edges = [edges[begin:end] for begin, end in itertools.pairwise(start)]
        self.roots = list(zip(root, component, strict=True))
        # Items up to the last root of a component, and after the one before, are the component's.
        last = {k: max(at for at, of in self.roots if of == k) for k in component}
        self.component = [min((k for k, at in last.items() if item <= at), default=-1) for item in range(len(symbol))]
        require(not root or -1 not in self.component)
        require(all(self.component[at] == k for at, k in self.roots))
        for item, mine in enumerate(self.edges):
            for edge in mine:
                require(edge.right == -1 or edge.left >= 0)
                for child in (edge.left, edge.right):
                    require(child == -1 or (0 <= child < item and self.component[child] == self.component[item]))

    def children(self, edge: Edge) -> list[int]:
        return [child for child in (edge.left, edge.right) if child >= 0]

    def require_rules(self, operators: ObservableOperators) -> None:
        """NotAForest unless all edges have rules of the operators for their symbols, or -1."""
        for item, mine in enumerate(self.edges):
            require(-1 <= self.symbol[item] < len(operators.states))
            for edge in mine:
                table = (operators.rules.leaf, operators.rules.unary, operators.rules.binary)
                rows = table[len(self.children(edge))].tolist()
                require(-1 <= edge.rule < len(rows))
                symbols = [self.symbol[at] for at in (item, *self.children(edge))]
                require(edge.rule == -1 or rows[edge.rule][: len(symbols)] == symbols)


def require_roots(operators: ObservableOperators, forest: Forest) -> None:
    """NotAForest unless the roots are items with symbols of the operators, and their components are in order."""
    columns = (forest.symbol, forest.root, forest.component)
    for column in columns:
        require(isinstance(column, np.ndarray) and column.dtype == np.int64 and column.ndim == 1)
    symbol, root, component = (column.tolist() for column in columns)
    require(len(root) == len(component) and component == sorted(component))
    require(all(0 <= at < len(symbol) and -1 <= symbol[at] < len(operators.states) for at in root))
    require(all(0 <= k <= len(symbol) for k in component))


# Forests that are spoilt


@st.composite
def operators_and_forest(draw: st.DrawFn, most: int = 2) -> tuple[ObservableOperators, Forest]:
    """Random operators, and the forest of a few sentences with some edges of rule -1."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    model = random_numbers(rng, [2, 3, 1], RULES)
    sentences = draw(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=3), min_size=1, max_size=most))
    return model.operators(), cky_forest(model, sentences, rng=rng if draw(st.booleans()) else None).forest


@st.composite
def spoilt_forest(draw: st.DrawFn) -> tuple[ObservableOperators, Forest]:
    """A forest of which up to two columns are spoilt; components are few, because their weights are listed."""
    operators, forest = draw(operators_and_forest())
    return operators, Forest(**draw(spoilt(forest._asdict(), {"component": [-(2**62), -1, 0, 1, 2, 3]})))


def verdict(make: Callable[[], Any]) -> Any:
    """What the oracle finds, or None where it finds no forest."""
    try:
        return make()
    except NotAForest:
        return None


def has_rules(operators: ObservableOperators, forest: Forest) -> bool:
    return verdict(lambda: Checked(forest).require_rules(operators) or True) is not None


@given(spoilt_forest())
def test_passes_refuse_what_is_no_forest(case: tuple[ObservableOperators, Forest]) -> None:
    """And take what is one; those that read no edges need not refuse other edges."""
    operators, forest = case
    if has_rules(operators, forest):
        within = inside(operators, forest)
        without = outside(operators, forest, within)
        assert not np.isnan(total_weight(operators, forest, within).log).any()
        assert len(marginals(operators, forest, within, without)) == forest.n_items
        assert len(edge_marginals(operators, forest, within, without)) == forest.n_edges
        return
    n_items = len(np.atleast_1d(forest.symbol))
    vectors = ScaledVectors(np.zeros((n_items, operators.root.shape[1])), np.zeros(n_items, dtype=np.int64))
    by_roots = (
        lambda: total_weight(operators, forest, vectors),
        lambda: marginals(operators, forest, vectors, vectors),
    )
    refusing = [
        lambda: inside(operators, forest),
        lambda: outside(operators, forest, vectors),
        lambda: tree_weights(operators, forest),
        lambda: edge_marginals(operators, forest, vectors, vectors),
    ]
    if verdict(lambda: require_roots(operators, forest) or True):
        assert not by_roots[0]().sign.any() and by_roots[1]().tolist() == [0.0] * n_items
    else:
        refusing += by_roots
    for refused in refusing:
        with pytest.raises(ValueError, match=r"forest|item"):
            refused()


@given(spoilt_forest(), st.integers(0, 2**32 - 1))
def test_decoders_refuse_what_is_no_forest(case: tuple[ObservableOperators, Forest], seed: int) -> None:
    operators, forest = case
    weights = np.random.default_rng(seed).normal(size=np.size(forest.rule))
    if verdict(lambda: Checked(forest)) is None:
        for n_best in (1, 3):
            with pytest.raises(ValueError, match=r"forest|item"):
                n_best_derivations(forest, weights, n_best)
        return
    check_forest(forest)
    for derivation in n_best_derivations(forest, weights, 4):
        assert weights[derivation.edges].sum() == pytest.approx(derivation.score)
        if has_rules(operators, forest):  # which may be anything to a decoder
            assert derivation.tree(forest, operators.rules).n_nodes == len(derivation.edges)


@given(operators_and_forest(most=1), st.data())
def test_a_derivation_is_a_tree_of_its_forest_or_refused(
    case: tuple[ObservableOperators, Forest], data: st.DataObject
) -> None:
    operators, forest = case
    best = best_derivation(forest, np.zeros(forest.n_edges))
    assert best is not None
    edges = best.edges.copy()
    edges[data.draw(st.integers(0, len(edges) - 1))] = data.draw(st.sampled_from(FAR))
    edges = edges[data.draw(st.integers(0, 1)) :]
    try:
        tree = Derivation(edges, 0.0).tree(forest, operators.rules)
    except ValueError:
        return
    # What is not refused is a tree of the forest: its own forest is one, of the forest's items and rules.
    assert has_rules(operators, Forest.of_trees(tree, operators.rules))
    assert tree.symbol.tolist() == forest.symbol[forest.item[edges]].tolist()


# Vectors, weights and operators


def small() -> tuple[ObservableOperators, Forest]:
    """S → A A over two words, and operators of one state."""
    rules = Rules(np.array([[1, 0]]), np.array([[0, 1]]), np.array([[0, 1, 1]]))
    arrays = (np.ones((2, 1)), np.ones((1, 1)), np.ones((1, 1, 1)))
    operators = ObservableOperators(rules, np.array([1, 1]), *arrays, [Tensor.of_dense(np.ones((1, 1, 1)))])
    columns = ([1, 1, 0], [0, 1, 2, 3], [0, 0, 0], [-1, -1, 0], [-1, -1, 1], [2], [0])
    return operators, Forest(*map(np.array, columns))


def test_a_forest_without_items_and_one_without_roots() -> None:
    operators, forest = small()
    nothing = Forest(*(np.zeros(size, dtype=np.int64) for size in (0, 1, 0, 0, 0, 0, 0)))
    rootless = forest._replace(root=forest.root[:0], component=forest.component[:0])
    for each, n_items in ((nothing, 0), (rootless, 3)):
        within = inside(operators, each)
        without = outside(operators, each, within)
        assert total_weight(operators, each, within).log.shape == (0,)
        assert marginals(operators, each, within, without).tolist() == [0.0] * n_items
        assert edge_marginals(operators, each, within, without).tolist() == [0.0] * n_items
        assert best_derivation(each, np.zeros(n_items)) is None
        assert list(n_best_derivations(each, np.zeros(n_items), 2)) == []


@pytest.mark.parametrize(
    "vectors",
    [
        ScaledVectors(np.zeros((2, 1)), np.zeros(2, dtype=np.int64)),
        ScaledVectors(np.zeros((3, 2)), np.zeros(3, dtype=np.int64)),
        ScaledVectors(np.zeros((3, 1)), np.zeros(2, dtype=np.int64)),
        ScaledVectors(np.zeros((3, 1)), np.zeros(3)),
        ScaledVectors([[0.0]] * 3, np.zeros(3, dtype=np.int64)),  # type: ignore[arg-type]
    ],
)
def test_vectors_of_another_forest_are_refused(vectors: ScaledVectors) -> None:
    operators, forest = small()
    right = inside(operators, forest)
    with pytest.raises(ValueError, match="images of the forest's edges"):
        outside(operators, forest, right._replace(images=np.empty((0, 1))))
    for refused in (
        lambda: outside(operators, forest, vectors),
        lambda: total_weight(operators, forest, vectors),
        lambda: marginals(operators, forest, right, vectors),
        lambda: edge_marginals(operators, forest, vectors, right),
    ):
        with pytest.raises(ValueError, match="of the forest's items"):
            refused()


@pytest.mark.parametrize("weights", [np.zeros(2), np.zeros(3, dtype=int)])
def test_weights_of_another_forest_are_refused(weights: Any) -> None:
    for n_best in (1, 2):
        with pytest.raises(ValueError, match="the edges' weights"):
            n_best_derivations(small()[1], weights, n_best)


@pytest.mark.parametrize("leg", range(3))
def test_a_tensor_of_another_shape_than_its_rule_is_refused(leg: int) -> None:
    operators, _ = small()
    factors = [np.ones((1, 1)) for _ in range(3)]
    shape = [1, 1, 1]
    shape[leg] = 2
    wide, tall = ([*factors[:leg], np.ones(size), *factors[leg + 1 :]] for size in ((1, 2), (2, 1)))
    for refused in (
        lambda: replace(operators, binary=[Tensor(*wide)]),
        lambda: Tensor(*tall),
        lambda: replace(operators.binary[0], dense=np.ones(shape)),
        lambda: replace(operators, binary=[]),
    ):
        with pytest.raises(ValueError, match="tensor"):
            refused()

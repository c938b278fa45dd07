"""Marginals of edges against the enumeration of derivations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.inference import edge_marginals, inside, marginals, outside
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, Rules
from tests.oracles import Lpcfg, cky_forest, random_lpcfg, random_numbers

STATES = [2, 3, 4]
RULES = {
    "leaf": list(itertools.product(range(3), range(3))),
    "unary": [(0, 1), (2, 0)],
    "binary": [(0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1), (2, 2, 1)],
}
seeds = st.integers(0, 2**32 - 1)
sentences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=3)


def by_edge(operators: ObservableOperators, forest: Forest) -> np.ndarray:
    inside_vectors = inside(operators, forest)
    return edge_marginals(operators, forest, inside_vectors, outside(operators, forest, inside_vectors))


def derivations(model: Lpcfg, forest: Forest) -> Iterator[tuple[int, list[int], float]]:
    """Every derivation: its component, its edges, its weight."""
    tables = {kind: sorted(model.of(kind)) for kind in ("leaf", "unary", "binary")}

    @cache
    def under(item: int) -> list[tuple[list[int], np.ndarray]]:
        found = []
        for edge in range(forest.start[item], forest.start[item + 1]):
            rule, left, right = (int(column[edge]) for column in (forest.rule, forest.left, forest.right))
            if rule < 0:
                continue
            if left < 0:
                found.append(([edge], model.q[tables["leaf"][rule]]))
            elif right < 0:
                matrix = model.u[tables["unary"][rule]]
                found += [([*edges, edge], matrix @ y) for edges, y in under(left)]
            else:
                tensor = model.t[tables["binary"][rule]]
                for (edges, y), (more, z) in itertools.product(under(left), under(right)):
                    found.append(([*edges, *more, edge], np.einsum("abc,b,c->a", tensor, y, z)))
        return found

    for root, component in zip(forest.root.tolist(), forest.component.tolist(), strict=True):
        for edges, vector in under(root):
            yield component, edges, float(vector @ model.pi[forest.symbol[root]])


@settings(max_examples=40)
@given(seeds, sentences, st.booleans())
def test_edge_marginals_are_shares_of_derivations(seed: int, rows: list[list[int]], proper: bool) -> None:
    """Over forests of several sentences, with edges of no rule among the others."""
    rng = np.random.default_rng(seed)
    model = (random_lpcfg if proper else random_numbers)(rng, STATES, RULES)
    forest = cky_forest(model, rows, rng=rng).forest
    total = [0.0] * forest.n_components
    size = [0.0] * forest.n_components
    expected = [0.0] * forest.n_edges
    component = [0] * forest.n_edges
    for c, edges, weight in derivations(model, forest):
        total[c] += weight
        size[c] += abs(weight)
        for edge in edges:
            expected[edge] += weight
            component[edge] = c
    share = np.array(expected) / np.array(total)[component]
    tolerance = 1e-11 * (np.array(size) / np.abs(total))[component] ** 2 + 1e-13
    assert (np.abs(by_edge(model.operators(), forest) - share) <= tolerance * (1 + np.abs(share))).all()
    assert (by_edge(model.operators(), forest)[forest.rule < 0] == 0).all()


@settings(max_examples=40)
@given(seeds, sentences)
def test_edges_of_an_item_add_up_to_it(seed: int, rows: list[list[int]]) -> None:
    rng = np.random.default_rng(seed)
    operators, forest = (model := random_lpcfg(rng, STATES, RULES)).operators(), cky_forest(model, rows, rng=rng).forest
    inside_vectors = inside(operators, forest)
    mu = marginals(operators, forest, inside_vectors, outside(operators, forest, inside_vectors))
    added = np.bincount(forest.item, by_edge(operators, forest), minlength=forest.n_items)
    np.testing.assert_allclose(added, mu, rtol=1e-11, atol=1e-14)


def test_a_component_of_weight_zero_has_marginals_zero() -> None:
    model = random_lpcfg(np.random.default_rng(0), STATES, {**RULES, "unary": []})
    for rule in RULES["leaf"]:
        if rule[1] == 2:
            model.q[rule][:] = 0.0
    forest = cky_forest(model, [[0, 1], [2, 0], [1]]).forest
    found = by_edge(model.operators(), forest)
    last = [forest.root[forest.component == c].max() for c in range(3)]  # the last item of each component
    component = np.searchsorted(last, forest.item)
    at_root = np.isin(forest.item, forest.root)
    assert np.bincount(component[at_root], found[at_root]) == pytest.approx([1.0, 0.0, 1.0])
    assert (found[component == 1] == 0.0).all()


def test_nothing_under_or_overflows() -> None:
    """A chain of 20,000 nodes whose weights are near 10^±300: every marginal is one."""
    n = 20_000
    spine = np.arange(n)  # 0 → x, 1 → 0, then 1 → 1 all the way up
    forest = Forest(
        symbol=np.concatenate([np.zeros(1, dtype=np.int64), np.ones(n - 1, dtype=np.int64)]),
        start=np.arange(n + 1),
        rule=np.where(spine < 2, 0, 1),
        left=spine - 1,
        right=np.full(n, -1),
        root=np.array([n - 1]),
        component=np.array([0]),
    )
    rules = Rules(np.array([[0, 0]]), np.array([[1, 0], [1, 1]]), np.empty((0, 3), dtype=np.int64))
    for size in (1e-200, 1e200):
        operators = ObservableOperators(
            rules,
            np.ones(2, dtype=np.int64),
            np.array([[0.0], [size]]),
            np.array([[size]]),
            np.full((2, 1, 1), size),
            [],
        )
        assert by_edge(operators, forest) == pytest.approx(1.0, rel=1e-9)

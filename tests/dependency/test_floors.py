"""Floored weights against the definition, node by node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.dependency.grammar import with_floors
from spectral_latent.inference import SignedLog, collapse, mean_inside_vectors
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest
from tests.oracles import (
    Lpcfg,
    Tree,
    all_rules,
    change_basis,
    children,
    columns,
    kind_and_rule,
    plain,
    random_lpcfg,
    random_numbers,
)

RULES = all_rules(2, 3)
STATES = [2, 3]
FLOOR = 0.01
seeds = st.integers(0, 2**32 - 1)


def random_trees(rng: np.random.Generator, n: int, longest: int = 8) -> list[Tree]:
    def over(size: int) -> Tree:
        a = int(rng.integers(2))
        if size == 1:
            return a, int(rng.integers(3))
        left = int(rng.integers(1, size))
        return a, over(left), over(size - left)

    return [over(int(rng.integers(1, longest + 1))) for _ in range(n)]


def finite(rng: np.random.Generator) -> tuple[ObservableOperators, ObservableOperators]:
    """A grammar that ends soon, for few states branch often; and the coarse one of its expected counts."""
    model = random_lpcfg(rng, STATES, RULES)
    for a, m in enumerate(STATES):
        stop = rng.uniform(0.6, 0.95, m)
        for table, share in ((model.q, stop), (model.t, 1 - stop)):
            mine = [array for rule, array in table.items() if rule[0] == a]
            total = sum(array.reshape(m, -1).sum(axis=1) for array in mine)
            for array in mine:
                array *= np.reshape(share / total, (m, *[1] * (array.ndim - 1)))
    operators = replace(model.operators(), probabilities=True)
    return operators, collapse(operators)


def floored(
    model: Lpcfg, coarse: Lpcfg, trees: list[Tree], floor: float = FLOOR, stand_in: FloatArray | None = None
) -> SignedLog:
    operators, one_state = model.operators(), coarse.operators()
    zeta = mean_inside_vectors(operators, one_state) if stand_in is None else stand_in
    skeletal = columns(trees)
    forest = Forest.of_trees(skeletal, operators.rules)
    return with_floors(operators, one_state, skeletal, forest, zeta, floor).weight()


def by_definition(model: Lpcfg, coarse: Lpcfg, tree: Tree, floor: float, zeta: FloatArray) -> float:
    """The recursion from the leaves up: a node below the floor is ζ times its coarse weight."""

    def below(node: Tree) -> tuple[np.ndarray, float, bool]:
        """Inside vector, coarse inside weight, whether the node failed."""
        kind, rule = kind_and_rule(node)
        parts = [below(child) for child in children(node)]
        vector, p = model.of(kind)[rule], float(coarse.of(kind)[rule].ravel()[0])
        for below_vector, below_p, _ in reversed(parts):
            vector = vector @ below_vector
            p *= below_p
        a = node[0]
        fails = float(model.pi[a] @ vector) < floor * float(coarse.pi[a][0]) * p
        return (zeta[a, : len(vector)] * p if fails else vector), p, fails

    vector, p, fails = below(tree)
    return float(coarse.pi[tree[0]][0]) * p if fails else float(model.pi[tree[0]] @ vector)


@given(seeds, st.sampled_from([1e-3, 0.01, 0.3]), st.booleans())
def test_weights_are_those_of_the_definition(seed: int, floor: float, proper: bool) -> None:
    """Of models whose estimates are often negative, or often too small."""
    rng = np.random.default_rng(seed)
    coarse = random_lpcfg(rng, [1, 1], RULES)
    model = (random_lpcfg if proper else random_numbers)(rng, STATES, RULES)
    trees = random_trees(rng, 12)
    zeta = mean_inside_vectors(model.operators(), coarse.operators())
    wanted = [by_definition(model, coarse, tree, floor, zeta) for tree in trees]
    found = floored(model, coarse, trees, floor)
    assert plain(found) == pytest.approx(np.array(wanted), rel=1e-9)
    assert (found.sign == 1).all()


def test_rules_that_are_unknown_give_weight_zero() -> None:
    rng = np.random.default_rng(1)
    rules = {**RULES, "leaf": [rule for rule in RULES["leaf"] if rule != (0, 2)]}
    coarse, model = random_lpcfg(rng, [1, 1], rules), random_numbers(rng, STATES, rules)
    found = floored(model, coarse, [(0, 2), (1, (0, 0), (0, 2)), (1, (0, 0), (0, 1))])
    np.testing.assert_array_equal(found.sign, [0, 0, 1])
    assert np.isneginf(found.log[:2]).all()


# ---------------------------------------------------------------------------------------------------------------------
# ζ


def test_mean_inside_vectors_in_another_basis_are_that_of_the_states() -> None:
    """ζ → ζ G⁻¹, as leaves do."""
    rng = np.random.default_rng(0)
    operators, coarse = finite(rng)
    bases = [np.linalg.qr(rng.normal(size=(m, m)))[0] * rng.uniform(0.5, 2.0, m) for m in STATES]
    found = mean_inside_vectors(change_basis(operators, bases), coarse)
    for a, m in enumerate(STATES):
        np.testing.assert_allclose(found[a, :m] @ bases[a], 1.0, atol=1e-6)

"""The ACL 2012 paper's model, in which the children's states are independent: a special case of the long paper's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import Forest
from tests.oracles import Tree, children, nested
from tests.theorems.grammar import recursive_model

M = 3


class Factored(NamedTuple):
    """Parameters of section 3 of the ACL paper, for the rules of `recursive_model`.

    q: (3, m) the probability of each binary rule given the state.
    s, t: (3, m, m) p(state of the left or right child | rule, state of the parent), a column for each parent's state.
    leaf: (6, m).
    root: (m,) of symbol 0.
    """

    q: np.ndarray
    s: np.ndarray
    t: np.ndarray
    leaf: np.ndarray
    root: np.ndarray

    @staticmethod
    def random(seed: int) -> Factored:
        rng = np.random.default_rng(seed)
        return Factored(
            q=rng.dirichlet(np.array([1.0, 1.0, 4.0]), M).T,
            s=rng.dirichlet(np.ones(M), (3, M)).transpose(0, 2, 1),
            t=rng.dirichlet(np.ones(M), (3, M)).transpose(0, 2, 1),
            leaf=rng.dirichlet(np.ones(6), M).T,
            root=rng.dirichlet(np.ones(M)),
        )

    def operators(self) -> ObservableOperators:
        """The same in the long paper's form: t(b c, j, k | h) = Σ_q 1[q = h] q(h) s(j | q) t(k | q)."""
        tensors = (
            Tensor(np.diag(q), np.ascontiguousarray(s.T), np.ascontiguousarray(t.T))
            for q, s, t in zip(self.q, self.s, self.t, strict=True)
        )
        return ObservableOperators(
            recursive_model().rules,
            states=np.array([M, M]),
            root=np.stack([self.root, np.zeros(M)]),
            leaf=self.leaf,
            unary=np.empty((0, M, M)),
            binary=Tensors.of(tensors),
            probabilities=True,
        )


def figure_2(model: Factored, bases: list[np.ndarray], tree: Tree) -> float:
    """Figure 2 of the ACL paper, with the tensors of its Theorem 1: f = f_right C(f_left), row vectors."""
    rules = recursive_model().rules.binary.tolist()
    inverses = [np.linalg.inv(basis) for basis in bases]

    def f(node: Tree) -> np.ndarray:
        if len(node) == 2:
            return model.leaf[node[1]] @ inverses[node[0]]  # c∞ = 1ᵀ Q (G^a)⁻¹
        left, right = children(node)
        a, b, c = node[0], left[0], right[0]
        r = rules.index([a, b, c])
        # C(y) = G^c T diag(y G^b S) Q (G^a)⁻¹
        diagonal = np.diag(f(left) @ bases[b] @ model.s[r])
        return f(right) @ bases[c] @ model.t[r] @ diagonal @ np.diag(model.q[r]) @ inverses[a]

    return float(f(tree) @ bases[tree[0]] @ model.root)  # c¹ = G^a π


def test_the_acl_papers_model_is_a_special_case() -> None:
    """Its tensor form, in any basis, gives the probabilities of the long paper's with tensors in m factors."""
    model = Factored.random(0)
    operators = model.operators()
    trees = sample_trees(operators, 50, np.random.default_rng(0)).trees
    found = np.exp(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log)
    rng = np.random.default_rng(0)
    for bases in ([np.eye(M)] * 2, [rng.normal(size=(M, M)) for _ in range(2)]):
        wanted = [figure_2(model, bases, tree) for tree in nested(trees)]
        assert found == pytest.approx(wanted, rel=1e-8)

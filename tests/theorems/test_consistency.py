"""Figure 7 written out again, and the model of the ACL paper."""

import numpy as np
import pytest
from scipy import sparse

from spectral_latent.estimation import (
    FeatureColumns,
    Moments,
    Shard,
    Spectral,
    Treebank,
    estimate,
    inside_templates,
    operators_from_moments,
    outside_templates,
)
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees
from tests.oracles import Tree, children, nested

OPTIONS = Spectral(n_states=2, scaling=None, smoothing=None)


def recursive_model() -> ObservableOperators:
    """Make the grammar of Theorem 3: phrases (symbol 0) of phrases and words (symbol 1).

    Both symbols have two states, which children mostly inherit.
    """
    rules = Rules(
        leaf=np.array([[1, x] for x in range(6)]),
        unary=np.empty((0, 2), dtype=np.int64),
        binary=np.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]]),
    )
    choice = np.array([[0.35, 0.05, 0.60], [0.05, 0.35, 0.60]])  # of a rule, given the state
    inherit = np.array([[0.9, 0.1], [0.2, 0.8]])  # of a child's state, given the parent's
    emit = np.array([[0.45, 0.30, 0.15, 0.05, 0.03, 0.02], [0.01, 0.02, 0.07, 0.15, 0.25, 0.50]])
    both = inherit[:, :, None] * inherit[:, None, :]
    return ObservableOperators(
        rules,
        states=np.array([2, 2]),
        root=np.array([[0.6, 0.4], [0.0, 0.0]]),
        leaf=emit.T,
        unary=np.empty((0, 2, 2)),
        binary=Tensors.of([Tensor.of_dense(choice[:, r, None, None] * both) for r in range(3)]),
        probabilities=True,
    )


def features_of(trees: SkeletalTrees) -> FeatureColumns:
    """Choose the features of nodes: the rules at a node and below it, and one and two rules above it."""
    inside, outside = inside_templates(trees), outside_templates(trees)
    return FeatureColumns.of(
        {name: inside[name] for name in ("rule", "left-opened", "right-opened")},
        {name: outside[name] for name in ("above", "above-2")},
    )


def one_hot(columns: IntArray) -> sparse.csr_array:
    """Make indicator vectors (n, d): one 1 for each template's value.

    columns: (n, k) the values of k templates.
    """
    starts = np.zeros(columns.shape[1] + 1, dtype=np.int64)
    places = np.zeros_like(columns)
    for template, column in enumerate(columns.T):
        values, places[:, template] = np.unique(column, return_inverse=True)
        starts[template + 1] = starts[template] + len(values)
    n, k = columns.shape
    ends = np.arange(n + 1) * k
    return sparse.csr_array((np.ones(n * k), (places + starts[:-1]).ravel(), ends), shape=(n, int(starts[-1])))


def estimate_from_nodes(shard: Shard, weights: FloatArray, options: Spectral) -> ObservableOperators:
    """Estimate operators by Figure 7 from nodes with weights (N,); features are not scaled."""
    trees, features = shard.trees, shard.features
    groups = trees.nodes_by_symbol()
    states = np.ones(len(groups), dtype=np.int64)
    y, z = np.zeros((2, trees.n_nodes, options.n_states))
    for a, nodes in enumerate(groups):
        inside, outside = one_hot(features.inside[nodes]), one_hot(features.outside[nodes])
        n = weights[nodes].sum()
        omega = inside.T @ (sparse.diags_array(weights[nodes] / n) @ outside)  # step 1: a weighted mean of products
        u, sigma, vt = np.linalg.svd(omega.toarray())
        states[a] = m = np.count_nonzero(sigma[: options.n_states] > options.cutoff_for(n) * sigma[0])
        y[nodes, :m] = inside @ u[:, :m]
        z[nodes, :m] = outside @ (vt[:m].T / sigma[:m])
    largest = int(states.max())
    moments = Moments.of_trees(trees, trees.rules, states, y[:, :largest], z[:, :largest], weights)
    return operators_from_moments(moments, options.smoothing)


def test_where_all_weights_are_one_the_library_estimates_the_same() -> None:
    trees = sample_trees(recursive_model(), 500, np.random.default_rng(0)).trees
    shard = Shard.of(trees, features_of(trees))
    trees = shard.trees
    found = estimate_from_nodes(shard, np.ones(trees.n_nodes), OPTIONS)
    wanted = estimate(Treebank.of([shard]), OPTIONS).operators
    ours, theirs = (tree_weights(each, Forest.of_trees(trees, each.rules)) for each in (found, wanted))
    assert ours.log == pytest.approx(theirs.log, rel=1e-9)
    assert (ours.sign == theirs.sign).all()


M = 3


def test_the_acl_papers_model_is_a_special_case() -> None:
    """Its Figure 2, in any basis, gives the probabilities of the long paper's form with tensors in m factors.

    q (3, m) are the probabilities of binary rules given the state, s and t (3, m, m) those of the states of the left
    and the right child, a column for each parent's state: in the long paper's form, q(h) s(j | h) t(k | h).
    """
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.array([1.0, 1.0, 4.0]), M).T
    s, t = rng.dirichlet(np.ones(M), (2, 3, M)).transpose(0, 1, 3, 2)
    leaf, root = rng.dirichlet(np.ones(6), M).T, rng.dirichlet(np.ones(M))
    rules = recursive_model().rules
    tensors = [Tensor(np.diag(q[r]), np.ascontiguousarray(s[r].T), np.ascontiguousarray(t[r].T)) for r in range(3)]
    roots = np.stack([root, np.zeros(M)])
    operators = ObservableOperators(
        rules, np.array([M, M]), roots, leaf, np.empty((0, M, M)), Tensors.of(tensors), probabilities=True
    )
    trees = sample_trees(operators, 50, np.random.default_rng(0)).trees
    found = np.exp(tree_weights(operators, Forest.of_trees(trees, operators.rules)).log)
    number = {tuple(rule): r for r, rule in enumerate(rules.binary.tolist())}
    for bases in ([np.eye(M)] * 2, [rng.normal(size=(M, M)) for _ in range(2)]):
        inverses = [np.linalg.inv(basis) for basis in bases]

        def f(node: Tree, bases: list[np.ndarray] = bases, inverses: list[np.ndarray] = inverses) -> np.ndarray:
            """The row vector of a subtree: f = f_right C(f_left)."""
            if len(node) == 2:
                return np.asarray(leaf[node[1]] @ inverses[node[0]])  # c∞ = 1ᵀ Q (G^a)⁻¹
            left, right = children(node)
            r = number[node[0], left[0], right[0]]
            # C(y) = G^c T diag(y G^b S) Q (G^a)⁻¹
            diagonal = np.diag((f(left) @ bases[left[0]] @ s[r]) * q[r])
            return np.asarray(f(right) @ bases[right[0]] @ t[r] @ diagonal @ inverses[node[0]])

        wanted = [float(f(tree) @ bases[tree[0]] @ root) for tree in nested(trees)]  # c¹ = G^a π
        assert found == pytest.approx(wanted, rel=1e-8)

"""Estimators of p(words | tree) by Dhillon, Rodu, Collins, Foster and Ungar (2012), as operators of s-trees.

| here | paper (sections 3.2 and 3.3) | meaning |
| --- | --- | --- |
| `y` | y = Uᵀ δ_x | a word in k dimensions, in an orthonormal basis of the range of U |
| G | Uᵀ O | the basis that the operators come out in |
| `mean` | μ | E[y] = G π |
| `left_pairs`, `right_pairs` | Λ_L, Λ_R | E[y_parent y_childᵀ] = G diag(π) T_dᵀ Gᵀ, over the arcs to one side |
| `siblings` | Ω_L, and Ω_Rᵀ | E[y_left y_rightᵀ] = G T_L diag(π) T_Rᵀ Gᵀ |
| `triples` | K | E[y_left ⊗ y_parent ⊗ y_right]: every left with every right child of a head |
| `to_left`, `to_right` | E_L, E_R | Ω_L Λ_R⁻¹, Ω_R Λ_L⁻¹ = G T_d G⁻¹ |
| `product[i, j, l]` | D(v)_il, for v = e_j | E_L⁻¹ K(v) Λ_R⁻¹ = G diag(Gᵀ v) G⁻¹ |
| `words[x]` | (UᵀU)⁻¹ Uᵀ δ_x | y_x, with which D(y_x) = G diag(Oᵀ δ_x) G⁻¹ |
| `root`, `leaf[x]` | c₁, c∞ᵀ D(y_x) | with c∞ᵀ = μᵀ Λ_R⁻¹ |
| `binary` | r ↦ rᵀ D(E_dᵀ r') | rule of side d: r of the head's chain, r' of the child |

The s-tree of a dependency tree has two symbols: 0, a word with what is attached so far, and 1, the same where a right
child is still to come.  Right children are attached first, the closest first, then the left ones:

    0 → 0 0  a left child (left) to a head (right)      1 → 1 0, 0 → 1 0  a right child (right), the last one by 0

Errors of the paper, and which functions have them:

1. Ω̂ is printed with indices of a left child and its parent (or, by the order of arguments, of both children the wrong
   way round); its matrix says left by right child.  Both functions take the matrix.
2. D((UᵀU)⁻¹ Uᵀ δ_x) is right only if U and O have the same range, as is so of `embed_by_arcs` but not of
   embeddings made elsewhere.  `estimate_paper_operators` has the error.
3. Λ from all arcs, K and Ω from triples, μ and c₁ from all words go together only if every word of a tree has the same
   distribution of states, T_L π = T_R π = π.  `estimate_paper_operators` has the error.
4. T_L and T_R must be invertible too, and some word must have children on both sides.  Both functions refuse otherwise.

In samples the D(·) do not commute.  The paper leaves the order of children open and prints the word last; here the word
comes first and then the children in the order of attachment, as an s-tree has them.  Nothing is smoothed: on treebanks
of some thousand sentences about half of the trees come out with a negative p̂.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.papers.observations import Observations
from spectral_latent.estimation import EstimationError
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["estimate_corrected_operators", "estimate_paper_operators"]

_WORST = 1e12  # the condition number of a matrix that is no longer inverted
_NO_UNARY = np.empty((0, 2), dtype=np.int64)


class _Moments(NamedTuple):
    """Means over the arcs or triples of the treebank, in the notation of this module."""

    mean: FloatArray  # (k,)
    left_pairs: FloatArray  # (k, k)
    right_pairs: FloatArray  # (k, k)
    siblings: FloatArray  # (k, k)
    triples: FloatArray  # (k, k, k)


def estimate_paper_operators(observations: Observations, u: FloatArray) -> ObservableOperators:
    """Estimate operators by Algorithm 1 as printed, with errors 2 and 3 of this module.

    They are exact if range(U) = range(O) and T_d π = π.  Any basis of the range of U gives the same p̂.  In one
    dimension there is one state: words are independent, and uniform because of error 2.

    u: (V, k) the embeddings U.

    Raises ValueError if U does not fit, EstimationError if a matrix to be inverted is singular.

    >>> trees = Observations.of([((0, 1, 1), (2, 0, 2))], n_words=2)
    >>> model = estimate_paper_operators(trees, np.ones((2, 1)))
    >>> (model.leaf[:2] @ model.root[0]).round(3)  # p̂ of the trees of one word
    array([0.5, 0.5])
    """
    basis = _basis(observations, u)
    y = basis[observations.word]
    moments = _triple_moments(observations, y)._replace(
        mean=_mean(y, observations.weight),
        left_pairs=_pairs(observations, y, observations.left),
        right_pairs=_pairs(observations, y, observations.right),
    )
    return _operators(moments, root=moments.mean, words=basis)


def estimate_corrected_operators(observations: Observations, u: FloatArray) -> ObservableOperators:
    """Estimate operators by Algorithm 1 with errors 1 to 3 mended; exact if UᵀO, T_L and T_R are invertible.

    All moments come from the same triples, and μ from their right children, so that the distribution of states in
    triples cancels out; c₁ is the mean of roots.  Words are fitted to their neighbours; see `_fitted_words`.  Any basis
    of the range of U gives the same p̂.

    u: (V, k) the embeddings U.

    Raises ValueError if U does not fit, EstimationError if a matrix to be inverted is singular or there is no root.

    >>> trees = Observations.of([((0, 1, 1), (2, 0, 2))], n_words=2)
    >>> model = estimate_corrected_operators(trees, np.ones((2, 1)))
    >>> (model.leaf[:2] @ model.root[0]).round(3)  # one of four ends of arcs is word 0
    array([0.25, 0.75])
    """
    basis = _basis(observations, u)
    y = basis[observations.word]
    root = observations.root
    if not observations.weight[root].any():
        raise EstimationError("no sentence has a root, a word with head 0")
    moments = _triple_moments(observations, y)
    return _operators(moments, root=_mean(y[root], observations.weight[root]), words=_fitted_words(observations, basis))


def _basis(observations: Observations, u: FloatArray) -> FloatArray:
    """Compute an orthonormal basis (V, k) of the range of U, in which (UᵀU)⁻¹ Uᵀ δ_x is row x."""
    if u.ndim != 2 or len(u) != observations.n_words or not u.shape[1] or not np.isfinite(u).all():
        raise ValueError(f"U must be finite, with {observations.n_words} rows, one a word; its shape is {u.shape}")
    if not np.linalg.cond(u) < _WORST:
        raise EstimationError(f"the {u.shape[1]} columns of U depend on one another; take fewer of them")
    return np.linalg.qr(u)[0]


def _mean(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Compute the mean (k,) of rows (n, k) with weights (n,)."""
    return np.asarray(weight @ rows / weight.sum())


def _pairs(observations: Observations, y: FloatArray, children: IntArray) -> FloatArray:
    """Compute E[y_parent y_childᵀ] (k, k) over the arcs to the given children."""
    weight = observations.weight[children]
    return np.asarray((weight[:, None] * y[observations.head[children]]).T @ y[children] / weight.sum())


def _of_children(observations: Observations, y: FloatArray, children: IntArray) -> tuple[FloatArray, FloatArray]:
    """Count for every word which of the given words are its children, (n,), and add up their y, (n, k)."""
    n = len(observations.word)
    parent = observations.head[children]
    table = sparse.csr_array(sparse.coo_array((np.ones(len(children)), (parent, children)), shape=(n, n)))
    return np.bincount(parent, minlength=n).astype(float), np.asarray(table @ y)


def _triple_moments(observations: Observations, y: FloatArray) -> _Moments:
    """Compute the moments of triples of a left child, its parent and a right child; the mean is over right children.

    A head of a left and b right children makes a b triples.  Sums over them are products of sums over its children.
    """
    n_left, left = _of_children(observations, y, observations.left)
    n_right, right = _of_children(observations, y, observations.right)
    both = np.flatnonzero(n_left * n_right * observations.weight)
    if not len(both):
        raise EstimationError("no word has both a left and a right child, which D(·) is learnt from")
    n_left, n_right, left, parent, right = (column[both] for column in (n_left, n_right, left, y, right))
    weight = observations.weight[both] / (observations.weight[both] @ (n_left * n_right))
    weighted = weight[:, None] * left
    return _Moments(
        mean=(weight * n_left) @ right,
        left_pairs=((weight * n_right)[:, None] * parent).T @ left,
        right_pairs=((weight * n_left)[:, None] * parent).T @ right,
        siblings=weighted.T @ right,
        triples=Tensor(weighted, parent, right).to_dense(),
    )


def _fitted_words(observations: Observations, basis: FloatArray) -> FloatArray:
    """Solve E[1(word = x) zᵀ] = y_xᵀ E[y zᵀ] for y_x (V, k) of every word, by least squares; z are its neighbours.

    z: (4k,) the y of a right child, a left child, the head to the left and the head to the right.  Given its state a
    word is independent of its neighbours, so that E[1(word = x) zᵀ] = δ_xᵀ O A and E[y zᵀ] = G A: then
    Gᵀ y_x = Oᵀ δ_x for any range of U.  If that is the range of O, the solution is the paper's.

    Another remedy, D_x = E_L⁻¹ E[y_left 1(word = x) y_rightᵀ] Λ_R⁻¹, takes k² numbers a word from those of its tokens
    that have children on both sides.  Its errors in simulations are 1.5 to 2.5 times as large, and a word without such
    tokens, such as a full stop, gets the probability zero.
    """
    v = len(basis)
    seen = np.hstack([observations.neighbours[:, at : at + v] @ basis for at in range(0, 4 * v, v)])  # (V, 4k)
    return np.asarray(np.linalg.lstsq((basis.T @ seen).T, seen.T, rcond=None)[0].T)


def _inverse(matrix: FloatArray, name: str) -> FloatArray:
    """Invert a matrix (k, k); EstimationError, with its name, if it is singular."""
    if not (condition := float(np.linalg.cond(matrix))) < _WORST:
        raise EstimationError(
            f"{name} cannot be inverted (condition number {condition:.0e}): there are fewer states than the "
            f"{len(matrix)} columns of U, or their children do not tell them apart; take fewer columns, or an "
            "estimator that does not invert transitions"
        )
    return np.asarray(np.linalg.inv(matrix))


def _operators(moments: _Moments, root: FloatArray, words: FloatArray) -> ObservableOperators:
    """Compute the operators of section 3.3.

    root: (k,) the vector c₁.
    words: (V, k) the vector y_x of each word.
    """
    of_left = _inverse(moments.left_pairs, "Λ_L")
    of_right = _inverse(moments.right_pairs, "Λ_R")
    to_left = moments.siblings @ of_right
    to_right = moments.siblings.T @ of_left
    from_left = moments.right_pairs @ _inverse(moments.siblings, "Ω_L")  # E_L⁻¹
    product = np.einsum("ia,ajb,bl->ijl", from_left, moments.triples, of_right, optimize=True)
    leaf = np.einsum("i,ijl,xj->xl", moments.mean @ of_right, product, words, optimize=True)
    n_words, k = words.shape
    symbol, word = np.divmod(np.arange(2 * n_words), n_words)
    right_child = Tensor.of_dense(np.einsum("ijl,cj->lic", product, to_right))
    return ObservableOperators(
        Rules(np.stack([symbol, word], axis=1), _NO_UNARY, np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]])),
        states=np.array([k, k]),
        root=np.stack([root, np.zeros(k)]),
        leaf=np.tile(leaf, (2, 1)),
        unary=np.empty((0, k, k)),
        binary=Tensors.of([Tensor.of_dense(np.einsum("ijl,cj->lci", product, to_left)), right_child, right_child]),
    )

"""Observable operators: the parameters of a latent tree model in some basis of its latent spaces.

| here | long paper | shape | meaning |
| --- | --- | --- | --- |
| `root[a]` | c¹_a | (m_a,) | symbol a at the root |
| `leaf[r]` | c∞_{a→x} | (m_a,) | rule r = a → x |
| `unary[r]` | - | (m_a, m_b) | rule r = a → b |
| `binary[r]` | C^{a→b c} | (m_a, m_b, m_c) | rule r = a → b c; C(y, z)_i = Σ_jk C[i, j, k] y_j z_k |
| `states[a]` | m | - | dimensions of symbol a's latent space |

In the basis of the states themselves root is π, leaf is q and binary is t (Figures 2 and 3); in any other
basis G^a the numbers differ and every tree probability and marginal is the same (Theorem 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent.operators.tensors import Tensor
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["ObservableOperators", "PackedOperators"]


class PackedOperators(NamedTuple):
    """The operators as flat arrays, for compiled code and for files.

    The numbers of binary rule r lie in data[offset[r]:offset[r+1]] and start with a matrix (m_a, Q) from the
    pair space of the rule to the parent.  Multiplied out (terms[r] = 0), the pair space is that of outer products,
    Q = m_b m_c, and nothing follows.  Kept as factors, Q = terms[r], the matrix is the first factor transposed, and
    the second (Q, m_b) and third (Q, m_c) follow, which map the children into the pair space.
    """

    states: IntArray  # (S,)
    root: FloatArray  # (S, M)
    leaf: FloatArray  # (R0, M)
    unary: FloatArray  # (R1, M, M)
    binary_rules: IntArray  # (R2, 3)
    unary_rules: IntArray  # (R1, 2)
    leaf_rules: IntArray  # (R0, 2)
    offset: IntArray  # (R2 + 1,)
    terms: IntArray  # (R2,)
    data: FloatArray  # flat


@dataclass(frozen=True, eq=False)
class ObservableOperators:
    """Operators of S symbols; vectors are padded with zeros to the largest state count M.

    states: (S,) at least 1 each.  root: (S, M).  leaf: (R0, M).  unary: (R1, M, M).  binary: R2 tensors.
    probabilities: whether the basis is that of the states, so that the numbers are probabilities.
    Raises ValueError if rules, states and arrays do not fit together; `packed` raises it for tensors.
    """

    rules: Rules
    states: IntArray
    root: FloatArray
    leaf: FloatArray
    unary: FloatArray
    binary: Sequence[Tensor]
    probabilities: bool = False

    def __post_init__(self) -> None:
        rules = self.rules
        n_symbols, m_max = np.shape(self.root) if np.ndim(self.root) == 2 else (0, 0)
        columns: dict[str, tuple[NDArray[Any], tuple[int, ...], type[np.generic]]] = {
            "root": (self.root, (n_symbols, m_max), np.float64),
            "states": (self.states, (n_symbols,), np.int64),
            "leaf rules": (rules.leaf, (len(rules.leaf), 2), np.int64),
            "unary rules": (rules.unary, (len(rules.unary), 2), np.int64),
            "binary rules": (rules.binary, (len(rules.binary), 3), np.int64),
            "leaf": (self.leaf, (len(rules.leaf), m_max), np.float64),
            "unary": (self.unary, (len(rules.unary), m_max, m_max), np.float64),
        }
        for name, (column, shape, dtype) in columns.items():
            if column.shape != shape or column.dtype != dtype:
                raise ValueError(
                    f"{name} of operators has shape {column.shape} and numbers of {column.dtype}, "
                    f"where {shape} and {dtype.__name__} are needed"
                )
        if len(self.binary) != len(rules.binary):
            raise ValueError(f"{len(self.binary)} tensors for {len(rules.binary)} binary rules")
        if ((self.states < 1) | (self.states > m_max)).any():
            raise ValueError(f"state counts of operators must lie in 1 ... {m_max}, the length of their vectors")
        for symbols in (rules.leaf[:, 0], rules.unary, rules.binary):
            if ((symbols < 0) | (symbols >= n_symbols)).any():
                raise ValueError(f"a rule of operators names a symbol outside 0 ... {n_symbols - 1}")

    @property
    def n_symbols(self) -> int:
        """S."""
        return len(self.states)

    @cached_property
    def packed(self) -> PackedOperators:
        """The same operators as flat arrays.  Raises ValueError if a tensor has another shape than its rule."""
        blocks: list[FloatArray] = []
        terms = np.zeros(len(self.binary), dtype=np.int64)
        for r, (tensor, shape) in enumerate(zip(self.binary, self.states[self.rules.binary].tolist(), strict=True)):
            _check_tensor(tensor, tuple(shape), f"binary rule {r}")
            kept = tensor.compact()
            if kept.dense is None:
                terms[r] = kept.n_terms
                blocks.append(np.concatenate([kept.first.T.ravel(), kept.second.ravel(), kept.third.ravel()]))
            else:
                blocks.append(kept.dense.ravel())
        offset = np.concatenate([[0], np.cumsum([len(block) for block in blocks], dtype=np.int64)])
        data = np.concatenate(blocks, dtype=np.float64) if blocks else np.zeros(0)
        tables = (self.rules.binary, self.rules.unary, self.rules.leaf)
        return PackedOperators(self.states, self.root, self.leaf, self.unary, *tables, offset, terms, data)

    @staticmethod
    def unpacked(packed: PackedOperators, *, probabilities: bool) -> ObservableOperators:
        """The inverse of `packed`."""
        binary: list[Tensor] = []
        for r, shape in enumerate(packed.states[packed.binary_rules]):
            block = packed.data[packed.offset[r] : packed.offset[r + 1]]
            terms = packed.terms[r]
            if terms:
                cuts = np.cumsum(terms * shape)[:2]
                first, second, third = np.split(block, cuts)
                binary.append(Tensor(first.reshape(-1, terms).T, second.reshape(terms, -1), third.reshape(terms, -1)))
            else:
                binary.append(Tensor.of_dense(block.reshape(shape)))
        rules = Rules(packed.leaf_rules, packed.unary_rules, packed.binary_rules)
        return ObservableOperators(rules, packed.states, packed.root, packed.leaf, packed.unary, binary, probabilities)

    def multiplied_out(self) -> ObservableOperators:
        """The same operators with no tensor in factors."""
        return replace(self, binary=[Tensor.of_dense(tensor.multiplied_out()) for tensor in self.binary])

    def with_leaves(self, rules: IntArray, leaf: FloatArray, *, alone: bool = False) -> ObservableOperators:
        """The same operators and further leaf rules (R, 2) after the others, with their vectors (R, M).

        For terminals beyond those known, such as the words of one sentence; the table of leaf rules is then no longer
        in lexicographic order.  alone: instead of the others, not after them.
        """
        if not alone:
            rules, leaf = np.concatenate([self.rules.leaf, rules]), np.concatenate([self.leaf, leaf])
        table = Rules(rules, self.rules.unary, self.rules.binary)
        extended = replace(self, rules=table, leaf=leaf)
        extended.__dict__["packed"] = self.packed._replace(leaf=extended.leaf, leaf_rules=table.leaf)
        return extended

    def change_basis(self, bases: Sequence[FloatArray]) -> ObservableOperators:
        """The same model in the basis G^a, an invertible (m_a, m_a) matrix per symbol (Theorem 1).

        c¹ → G c¹, c∞ → c∞ G⁻¹, C^{a→b c}(y, z) → C(y G^b, z G^c) (G^a)⁻¹.
        Raises numpy.linalg.LinAlgError if a matrix is singular.

        >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> one = ObservableOperators(
        ...     rules, np.array([1]), np.array([[0.5]]), np.array([[1.0]]), np.empty((0, 1, 1)), [])
        >>> other = one.change_basis([np.array([[4.0]])])
        >>> other.root, other.leaf
        (array([[2.]]), array([[0.25]]))
        """
        inverses = [np.linalg.inv(basis) for basis in bases]
        root, leaf, unary = self.root.copy(), self.leaf.copy(), self.unary.copy()
        for a, m in enumerate(self.states):
            root[a, :m] = bases[a] @ root[a, :m]
        for r, (a, _) in enumerate(self.rules.leaf):
            m = self.states[a]
            leaf[r, :m] = leaf[r, :m] @ inverses[a]
        for r, (a, b) in enumerate(self.rules.unary):
            m, k = self.states[[a, b]]
            unary[r, :m, :k] = inverses[a].T @ unary[r, :m, :k] @ bases[b].T
        binary = [
            tensor.transform((inverses[a].T, bases[b], bases[c]))
            for tensor, (a, b, c) in zip(self.binary, self.rules.binary, strict=True)
        ]
        return ObservableOperators(self.rules, self.states, root, leaf, unary, binary)


def _check_tensor(tensor: Tensor, shape: tuple[int, ...], where: str) -> None:
    """Raise ValueError unless factors and dense part of a tensor have this shape (m_a, m_b, m_c)."""
    factors = (tensor.first.shape, tensor.second.shape, tensor.third.shape)
    wanted = tuple((tensor.n_terms, size) for size in shape)
    if factors != wanted:
        raise ValueError(f"the tensor of {where} has factors of shapes {factors}, where {wanted} are needed")
    if tensor.dense is not None and tensor.dense.shape != shape:
        raise ValueError(f"the tensor of {where} has shape {tensor.dense.shape}, where {shape} is needed")

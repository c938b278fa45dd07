"""Hold observable operators: the parameters of a latent tree model in some basis of its latent spaces.

| here | long paper | shape | meaning |
| --- | --- | --- | --- |
| `root[a]` | c¹_a | (m_a,) | symbol a at the root |
| `leaf[r]` | c∞_{a→x} | (m_a,) | rule r = a → x |
| `unary[r]` | - | (m_a, m_b) | rule r = a → b |
| `binary[r]` | C^{a→b c} | (m_a, m_b, m_c) | rule r = a → b c; C(y, z)_i = Σ_jk C[i, j, k] y_j z_k |
| `states[a]` | m | - | dimensions of symbol a's latent space |

In the basis of the states, root is π, leaf is q and binary is t (Figures 2 and 3).  In another basis G^a the numbers
differ, but every tree probability and marginal is the same (Theorem 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import check_column, check_range, read_only
from spectral_latent.operators.rule_table import Counts, RuleTable
from spectral_latent.operators.tensors import Tensor, Tensors
from spectral_latent.trees import FloatArray, IntArray, Rules

__all__ = ["ObservableOperators", "PackedOperators"]


class PackedOperators(NamedTuple):
    """The operators as flat arrays, as compiled code reads them; see `RuleTable` and `Tensors`."""

    states: IntArray  # (S,)
    root: FloatArray  # (S, M)
    leaf: FloatArray  # (R0, M)
    unary: FloatArray  # (R1, M, M)
    binary_rules: IntArray  # (R2, 3)
    offset: IntArray  # (R2 + 1,)
    terms: IntArray  # (R2,)
    data: FloatArray  # flat


def _view(column: NDArray[Any]) -> NDArray[Any]:
    """Make a read-only view of a column (n, ...), or of a copy in C order.

    Arrays of files are read-only, and functions would be compiled again for each mixture of both kinds of arrays.
    """
    view = np.ascontiguousarray(column).view()
    view.setflags(write=False)
    return view


def _check_leaves(rules: IntArray, leaf: FloatArray, n_symbols: int, m_max: int) -> None:
    """Raise ValueError unless leaf rules and their numbers fit together, and the rules have symbols that exist.

    rules: (R0, 2) the symbol and the terminal of each leaf rule.
    leaf: (R0, M) the numbers of each leaf rule.
    """
    check_column("leaf rules", rules, (len(rules), 2), np.int64)
    check_column("numbers of leaf rules", leaf, (len(rules), m_max), np.float64)
    check_range("symbols of leaf rules", rules[:, 0], 0, n_symbols)


@dataclass(frozen=True, eq=False, repr=False)
class ObservableOperators(RuleTable):
    """Operators of S symbols, as a table of rules.

    probabilities: whether the numbers are probabilities, because the basis has a coordinate for each state.
    singular_values: (S, K) the singular values of each symbol's Ω̂, the largest first, with zeros for a symbol that has
    fewer than K; K is at least the largest number of states.  None if no decomposition has found the latent spaces.
    Raises ValueError if rules, states and arrays do not fit together, because compiled code does not check them.  For
    the same reason rules and states cannot be written to afterwards.
    """

    probabilities: bool = False
    singular_values: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        rules = self.rules
        n_symbols, m_max = np.shape(self.root) if np.ndim(self.root) == 2 else (0, 0)
        check_column("numbers of roots", self.root, (n_symbols, m_max), np.float64)
        check_column("numbers of states", self.states, (n_symbols,), np.int64)
        _check_leaves(rules.leaf, self.leaf, n_symbols, m_max)
        check_column("unary rules", rules.unary, (len(rules.unary), 2), np.int64)
        check_column("binary rules", rules.binary, (len(rules.binary), 3), np.int64)
        check_column("numbers of unary rules", self.unary, (len(rules.unary), m_max, m_max), np.float64)
        check_range("numbers of states", self.states, 1, m_max + 1)
        if self.singular_values is not None:
            shape = np.shape(self.singular_values)
            least = int(self.states.max(initial=0))
            if len(shape) != 2 or shape[0] != n_symbols or shape[1] < least:
                raise ValueError(f"singular values have shape {shape}, and must have ({n_symbols}, {least} or more)")
        check_range("symbols of unary rules", rules.unary.ravel(), 0, n_symbols)
        check_range("symbols of binary rules", rules.binary.ravel(), 0, n_symbols)
        shapes = self.states.take(rules.binary)
        if self.binary.shapes.shape != shapes.shape:
            raise ValueError(f"{len(self.binary)} tensors for {len(shapes)} binary rules")
        if not np.array_equal(self.binary.shapes, shapes):
            r = int(np.argmax((self.binary.shapes != shapes).any(axis=1)))
            raise ValueError(
                f"the tensor of binary rule {r} has shape {self.binary.shapes[r]}, and must have {shapes[r]}"
            )
        object.__setattr__(self, "states", read_only(self.states))
        object.__setattr__(self, "rules", Rules(*map(read_only, (rules.leaf, rules.unary, rules.binary))))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check the arrays of a copy, too."""
        self.__dict__.update(state)
        self.__post_init__()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the fields, so that workers do not get it twice."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def packed(self) -> PackedOperators:
        """View the operators as flat arrays that cannot be written to."""
        tensors = (self.binary.offset, self.binary.terms, self.binary.data)
        columns = (self.states, self.root, self.leaf, self.unary, self.rules.binary, *tensors)
        return PackedOperators(*map(_view, columns))

    @staticmethod
    def probabilities_of(numbers: Counts | ObservableOperators) -> ObservableOperators:
        """Scale non-negative numbers to probabilities: the roots sum to one, and so do the rules of every state.

        If all rules of a state are zero, they stay zero.

        numbers: counts, or operators whose states have sums other than one.

        >>> rules = Rules(np.array([[0, 0], [0, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> counts = Counts.of_rules(rules, np.array([3.0]), np.array([1.0, 3.0]), np.zeros(0), np.zeros(0))
        >>> ObservableOperators.probabilities_of(counts).leaf.ravel()
        array([0.25, 0.75])
        """
        total = numbers.sums()
        table = numbers.scaled(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0))
        rows = (table.root / table.root.sum(), table.leaf, table.unary, table.binary)
        return ObservableOperators(table.rules, table.states, *rows, probabilities=True)

    def multiplied_out(self) -> ObservableOperators:
        """Multiply out all factored tensors."""
        return replace(self, binary=Tensors.of(Tensor.of_dense(tensor.multiplied_out()) for tensor in self.binary))

    def with_leaf_rules(self, rules: IntArray, leaf: FloatArray) -> ObservableOperators:
        """Replace all leaf rules, for example by the rules of the terminals of one forest; other rules are shared.

        The other rules are not checked again, because they are read-only.

        rules: (R, 2) symbol and terminal of each rule.
        leaf: (R, M) the vectors of the rules.
        Raises ValueError as the class does.

        >>> rules = Rules(np.array([[0, 7]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> operators = ObservableOperators(
        ...     rules, np.array([1]), np.array([[0.5]]), np.array([[0.25]]), np.empty((0, 1, 1)), [])
        >>> operators.with_leaf_rules(np.array([[0, 0], [0, 1]]), np.array([[0.5], [0.75]])).leaf.ravel()
        array([0.5 , 0.75])
        """
        _check_leaves(rules, leaf, *self.root.shape)
        operators = object.__new__(ObservableOperators)
        operators.__dict__.update(
            self.__getstate__() | {"rules": replace(self.rules, leaf=read_only(rules)), "leaf": leaf}
        )
        return operators

    def with_leaves(self, rules: IntArray, source: IntArray, factor: FloatArray) -> ObservableOperators:
        """Replace all leaf rules by multiples of some of them; see `with_leaf_rules`.

        rules: (n, 2) symbol and terminal of each new rule.
        source: (n,) the present leaf rule whose vector each new rule takes.
        factor: (n,) the factor of this vector.
        """
        return self.with_leaf_rules(rules, self.leaf[source] * factor[:, None])

    def restricted(self, rules: Rules, symbol: IntArray, terminal: IntArray) -> ObservableOperators:
        """Select some symbols and rules, with the numbers of another table.

        rules: rules of this table, with the numbers of n symbols and X terminals in the other table.
        symbol: (n,) the number of each of these symbols in this table.
        terminal: (X,) the number of each of these terminals in this table.
        Raises ValueError if a rule is missing in this table.

        >>> rules = Rules(np.array([[0, 7], [1, 5]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> operators = ObservableOperators(rules, np.array([1, 1]), np.array([[0.5], [0.25]]),
        ...     np.array([[1.0], [0.75]]), np.empty((0, 1, 1)), [])
        >>> one = Rules(np.array([[0, 0]]), rules.unary, rules.binary)
        >>> operators.restricted(one, np.array([1]), np.array([5])).leaf
        array([[0.75]])
        """
        here = np.stack([symbol[rules.leaf[:, 0]], terminal[rules.leaf[:, 1]]], axis=1)
        leaf = Rules.find(self.rules.leaf, here)
        unary = Rules.find(self.rules.unary, symbol[rules.unary])
        binary = Rules.find(self.rules.binary, symbol[rules.binary])
        if min(rows.min(initial=0) for rows in (leaf, unary, binary)) < 0:
            raise ValueError("operators cannot be restricted to rules that they lack")
        sigma = self.singular_values
        return replace(
            self,
            rules=rules,
            states=self.states[symbol],
            root=self.root[symbol],
            leaf=self.leaf[leaf],
            unary=self.unary[unary],
            binary=Tensors.of(self.binary[r] for r in binary.tolist()),
            singular_values=None if sigma is None else sigma[symbol],
        )

    def change_basis(self, bases: Sequence[FloatArray]) -> ObservableOperators:
        """Express the model in the basis G^a, an invertible (m_a, m_a) matrix per symbol (Theorem 1).

        c¹ → G c¹, c∞ → c∞ G⁻¹, C^{a→b c}(y, z) → C(y G^b, z G^c) (G^a)⁻¹.

        bases: for each symbol an invertible matrix G^a (m_a, m_a).

        Raises numpy.linalg.LinAlgError if a matrix is singular.

        >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
        >>> one = ObservableOperators(
        ...     rules, np.array([1]), np.array([[0.5]]), np.array([[1.0]]), np.empty((0, 1, 1)), [])
        >>> other = one.change_basis([np.array([[4.0]])])
        >>> other.root, other.leaf
        (array([[2.]]), array([[0.25]]))
        """
        inverses = [np.linalg.inv(basis) for basis in bases]
        root = self.root.copy()
        leaf = self.leaf.copy()
        unary = self.unary.copy()
        for a, m in enumerate(self.states):
            root[a, :m] = bases[a] @ root[a, :m]
        for r, (a, _) in enumerate(self.rules.leaf):
            m = self.states[a]
            leaf[r, :m] = leaf[r, :m] @ inverses[a]
        for r, (a, b) in enumerate(self.rules.unary):
            m, k = self.states[[a, b]]
            unary[r, :m, :k] = inverses[a].T @ unary[r, :m, :k] @ bases[b].T
        binary = Tensors.of(
            tensor.transform((inverses[a].T, bases[b], bases[c]))
            for tensor, (a, b, c) in zip(self.binary, self.rules.binary, strict=True)
        )
        return ObservableOperators(self.rules, self.states, root, leaf, unary, binary)

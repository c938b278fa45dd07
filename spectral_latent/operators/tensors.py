"""Hold third-order tensors of binary rules, factored or multiplied out, one by one or all in one flat array.

The tensor of a rule that was seen at n nodes is Σ_i z_i ⊗ x_i ⊗ y_i: each factor has a row for each node.  Applied as
zᵀ((X α_b) ∘ (Y α_c)), it costs n (m_a + m_b + m_c); multiplied out, it costs m_a m_b m_c.  Both forms are exact, and
the cheaper form is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import check_column, check_range, read_only
from spectral_latent.trees import FloatArray, IntArray, ranges

_BLOCK = 4096  # the number of rows that are multiplied out together, which bounds the memory


@dataclass(frozen=True, eq=False)
class Tensor:
    """Hold a tensor Σ_i first[i] ⊗ second[i] ⊗ third[i], of shape (m_a, m_b, m_c), factored or multiplied out.

    first: (n, m_a) the first factor.
    second: (n, m_b) the second factor.
    third: (n, m_c) the third factor.
    dense: (m_a, m_b, m_c) the numbers of a tensor that is multiplied out, without factors (n = 0); else None.

    >>> tensor = Tensor(np.array([[1.0], [2.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[3.0], [5.0]]))
    >>> tensor.to_dense()
    array([[[ 3.],
            [10.]]])
    >>> (tensor + tensor).compact().dense
    array([[[ 6.],
            [20.]]])
    """

    first: FloatArray
    second: FloatArray
    third: FloatArray
    dense: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.dense is not None and len(self.first):
            raise ValueError("a tensor is kept as factors or multiplied out, not both")
        if not len(self.first) == len(self.second) == len(self.third):
            raise ValueError(
                f"a tensor has {len(self.first)} first, {len(self.second)} second and {len(self.third)} third factors"
            )
        if self.dense is not None and self.dense.shape != self.shape:
            raise ValueError(f"a tensor of shape {self.dense.shape} has factors of shape {self.shape}")

    @staticmethod
    def of_dense(dense: FloatArray) -> Tensor:
        """Make a tensor from its numbers.

        dense: (m_a, m_b, m_c) the numbers."""
        m_a, m_b, m_c = dense.shape
        return Tensor(np.empty((0, m_a)), np.empty((0, m_b)), np.empty((0, m_c)), dense)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of states of parent, left and right child, (m_a, m_b, m_c)."""
        return self.first.shape[1], self.second.shape[1], self.third.shape[1]

    @property
    def n_terms(self) -> int:
        """The number of rank-one terms, n; 0 if the tensor is multiplied out."""
        return len(self.first)

    def to_dense(self) -> FloatArray:
        """Compute all numbers of the tensor, (m_a, m_b, m_c)."""
        if self.dense is not None:
            return self.dense
        m_a, m_b, m_c = self.shape
        total = np.zeros((m_a, m_b * m_c))
        for at in range(0, self.n_terms, _BLOCK):
            rows = slice(at, at + _BLOCK)
            pairs = (self.second[rows, :, None] * self.third[rows, None, :]).reshape(-1, m_b * m_c)
            total += self.first[rows].T @ pairs
        return total.reshape(self.shape)

    def compact(self) -> Tensor:
        """Choose the cheaper form of the tensor: factored or multiplied out."""
        size = math.prod(self.shape)
        if self.dense is not None or 0 < self.n_terms * sum(self.shape) <= size:
            return self
        return Tensor.of_dense(self.to_dense())

    def transform(self, maps: tuple[FloatArray, FloatArray, FloatArray]) -> Tensor:
        """Apply a linear map (m'_k, m_k) to each of the three legs.

        maps: matrices (m'_a, m_a), (m'_b, m_b) and (m'_c, m_c)."""
        a, b, c = maps
        if self.dense is not None:
            return Tensor.of_dense(b @ np.tensordot(a, self.dense, axes=1) @ c.T)
        return Tensor(self.first @ a.T, self.second @ b.T, self.third @ c.T)

    def scale(self, factor: float) -> Tensor:
        """Multiply the tensor by a number."""
        if self.dense is not None:
            return Tensor.of_dense(self.dense * factor)
        return Tensor(self.first * factor, self.second, self.third)

    def sums(self) -> FloatArray:
        """Sum the tensor over its second and third leg, (m_a,)."""
        if self.dense is not None:
            return np.asarray(self.dense.sum(axis=(1, 2)))
        return np.asarray(self.first.T @ (self.second.sum(axis=1) * self.third.sum(axis=1)))

    def apply_left(self, left: FloatArray) -> FloatArray:
        """Fill in the left child's vector (m_b,); a matrix (m_a, m_c) remains.

        left: (m_b,) the vector of the left child.

        >>> Tensor.of_dense(np.arange(4.0).reshape(1, 2, 2)).apply_left(np.array([0.0, 1.0]))
        array([[2., 3.]])
        """
        if self.dense is not None:
            return np.asarray(np.einsum("abc,b->ac", self.dense, left))
        return np.asarray((self.first.T * (self.second @ left)) @ self.third)

    def apply_right(self, right: FloatArray) -> FloatArray:
        """Fill in the right child's vector (m_c,); a matrix (m_a, m_b) remains.

        right: (m_c,) the vector of the right child."""
        if self.dense is not None:
            return np.asarray(np.einsum("abc,c->ab", self.dense, right))
        return np.asarray((self.first.T * (self.third @ right)) @ self.second)

    def __add__(self, other: Tensor) -> Tensor:
        """Add two tensors of the same shape; the sum is factored if both are factored."""
        if self.dense is None and other.dense is None:
            pairs = ((self.first, other.first), (self.second, other.second), (self.third, other.third))
            return Tensor(*(np.concatenate(pair) for pair in pairs))
        return Tensor.of_dense(self.to_dense() + other.to_dense())


@dataclass(frozen=True, eq=False)
class Tensors(Sequence[Tensor]):
    """Hold R tensors in one flat array, as compiled code reads them and files store them.

    Tensor r has the numbers data[offset[r]:offset[r+1]].  They begin with a matrix (m_a, Q), which maps the *pair
    space* of the rule to the parent.  If the tensor is multiplied out (terms[r] = 0), the pair space holds outer
    products, Q = m_b m_c, and there are no further numbers.  If it is factored, Q = terms[r], and the matrix is the
    transpose of the first factor.  The second factor (Q, m_b) and the third factor (Q, m_c) follow; they map the
    children to the pair space.

    Shapes and terms become read-only, because compiled code trusts them.

    shapes: (R, 3) the shape of each tensor.
    terms: (R,) the number of terms of each tensor; 0 if it is multiplied out.
    data: (offset[R],) the numbers of all tensors.
    Raises ValueError if the sizes do not add up.

    >>> factors = Tensor(np.ones((1, 3)), np.ones((1, 2)), np.ones((1, 2)))
    >>> both = Tensors.of([Tensor.of_dense(np.ones((1, 2, 1))), factors])
    >>> len(both), both[1].n_terms, both.offset
    (2, 1, array([0, 2, 9]))
    """

    shapes: IntArray
    terms: IntArray
    data: FloatArray

    def __post_init__(self) -> None:
        n = len(self.terms)
        check_column("shapes of tensors", self.shapes, (n, 3), np.int64)
        check_range("shapes of tensors", self.shapes.ravel(), 0, np.iinfo(np.int64).max)
        check_column("numbers of terms of tensors", self.terms, (n,), np.int64)
        check_column("numbers of tensors", self.data, (np.size(self.data),), np.float64)
        check_range("numbers of terms of tensors", self.terms, 0, len(self.data) + 1)
        self.check_sizes(self.shapes, self.terms, len(self.data))
        object.__setattr__(self, "shapes", read_only(self.shapes))
        object.__setattr__(self, "terms", read_only(self.terms))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Check the arrays of a copy, too."""
        self.__dict__.update(state)
        self.__post_init__()

    @staticmethod
    def of(tensors: Iterable[Tensor]) -> Tensors:
        """Pack tensors, each in its cheaper form."""
        shapes: list[tuple[int, int, int]] = []
        terms: list[int] = []
        numbers = bytearray()  # grows in place, so that the numbers are never in memory twice
        for tensor in tensors:
            kept = tensor.compact()
            shapes.append(kept.shape)
            terms.append(kept.n_terms)
            blocks = (kept.first.T, kept.second, kept.third) if kept.dense is None else (kept.dense,)
            for block in blocks:
                numbers += np.ascontiguousarray(block, dtype=np.float64).data
        data = np.frombuffer(numbers) if numbers else np.zeros(0)
        return Tensors(np.array(shapes, dtype=np.int64).reshape(-1, 3), np.array(terms, dtype=np.int64), data)

    @staticmethod
    def scalars(values: FloatArray) -> Tensors:
        """Make tensors of shape (1, 1, 1) from numbers, for rules over symbols with one state.

        values: (R,) the only number of each tensor."""
        return Tensors(np.ones((len(values), 3), dtype=np.int64), np.zeros(len(values), dtype=np.int64), values)

    @cached_property
    def offset(self) -> IntArray:
        """List the first number of each tensor in `data`, and the size of `data`, (R + 1,)."""
        sizes = np.where(self.terms > 0, self.terms * self.shapes.sum(axis=1), self.shapes.prod(axis=1))
        return read_only(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]))

    @staticmethod
    def check_sizes(shapes: IntArray, terms: IntArray, size: int) -> None:
        """Raise ValueError unless tensors have `size` numbers in all.

        The sizes are computed as floats, because integers could overflow.

        shapes: (R, 3) the shape of each tensor.
        terms: (R,) the number of terms of each tensor; 0 if it is multiplied out.

        >>> Tensors.check_sizes(np.full((16, 3), 2**20), np.zeros(16, dtype=np.int64), 0)
        Traceback (most recent call last):
        ValueError: tensors of 18446744073709551616 numbers do not fill an array of 0
        """
        factored = terms * shapes.sum(axis=1, dtype=np.float64)
        total = float(np.where(terms > 0, factored, shapes.prod(axis=1, dtype=np.float64)).sum())
        if total != size:
            raise ValueError(f"tensors of {total:.0f} numbers do not fill an array of {size}")

    @property
    def widths(self) -> IntArray:
        """The dimension Q of the pair space of each tensor, (R,)."""
        return np.where(self.terms > 0, self.terms, self.shapes[:, 1] * self.shapes[:, 2])

    @staticmethod
    def parts_of(shapes: IntArray, terms: IntArray) -> IntArray:
        """List the sizes of the parts of each tensor: the matrix, and the second and third factor if it is factored.

        The sizes must have been checked (`check_sizes`).

        shapes: (R, 3) the shape of each tensor.
        terms: (R,) the number of terms of each tensor; 0 if it is multiplied out.

        >>> Tensors.parts_of(np.array([[1, 2, 2], [3, 2, 2]]), np.array([0, 1])).tolist()
        [4, 3, 2, 2]
        """
        factored = (terms > 0)[:, None]
        sizes = np.where(factored, terms[:, None] * shapes, shapes.prod(axis=1, keepdims=True))
        parts: IntArray = sizes[factored | (np.arange(3) == 0)]
        return parts

    @property
    def parts(self) -> IntArray:
        """The size of each part of each tensor; see `parts_of`."""
        return self.parts_of(self.shapes, self.terms)

    def row_sums(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Sum each tensor over its second and third leg: the tensor, the place on the first leg, and the sum, (Σ m_a,).

        >>> tensors = [Tensor.of_dense(np.arange(4.0).reshape(2, 1, 2)), Tensor.of_dense(np.ones((1, 1, 3)))]
        >>> Tensors.of(tensors).row_sums()
        (array([0, 0, 1]), array([0, 1, 0]), array([1., 5., 3.]))
        """
        m_a = self.shapes[:, 0]
        place, tensor = ranges(np.zeros_like(m_a), m_a)
        # The matrix (m_a, Q) of a tensor has m_a rows, and each of its two factors has one for each term.
        n_rows = np.column_stack([m_a, self.terms, self.terms]).ravel()
        width = np.column_stack([self.widths, self.shapes[:, 1:]]).ravel()
        size = np.repeat(width, n_rows)
        begin = np.cumsum(size) - size
        sums = np.add.reduceat(self.data, begin)
        # The weight of a column of the matrix: Σ second · Σ third of a term, and 1 without terms.
        end = np.cumsum(n_rows).reshape(-1, 3)
        second, which = ranges(end[:, 0], end[:, 1])
        last = np.cumsum(self.widths)
        weight = np.ones(last.max(initial=0))
        weight[(last - self.widths)[which] + second - end[which, 0]] = sums[second] * sums[second + self.terms[which]]
        # Sum the rows of each matrix with these weights; both are read from a first number on, row by row.
        row = end[tensor, 0] - m_a[tensor] + place
        start = np.cumsum(size[row]) - size[row]
        at = np.arange(size[row].sum())
        at += np.repeat(begin[row] - start, size[row])
        numbers = self.data[at]
        at += np.repeat((last - self.widths)[tensor] - begin[row], size[row])  # in place: new memory takes as long
        numbers *= weight[at]
        return tensor, place, np.add.reduceat(numbers, start)

    def with_data(self, data: FloatArray) -> Tensors:
        """Replace the numbers; the layout stays.

        data: (offset[R],) the new numbers."""
        return Tensors(self.shapes, self.terms, data)

    def matrices(self) -> Iterator[FloatArray]:
        """View the matrix (m_a, Q) of each tensor; writing to it changes `data`."""
        places = zip(self.offset[:-1].tolist(), self.shapes[:, 0].tolist(), self.widths.tolist(), strict=True)
        for first, m_a, width in places:
            yield self.data[first : first + m_a * width].reshape(m_a, width)

    def by_shape(self) -> Iterator[tuple[IntArray, FloatArray, FloatArray | None, FloatArray | None]]:
        """Group tensors of the same shape and number of terms, so that NumPy computes with R of them at once.

        Gives the numbers of the tensors (R,); their matrices (R, m_a, Q), or all numbers (R, m_a, m_b, m_c) without
        terms; and their factors (R, Q, m_b) and (R, Q, m_c), None without terms.

        >>> rows, first, _, _ = next(Tensors.scalars(np.array([2.0, 3.0])).by_shape())
        >>> rows, first.ravel()
        (array([0, 1]), array([2., 3.]))
        """
        sizes, group = np.unique(np.column_stack([self.shapes, self.terms]), axis=0, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        several = np.split(order, np.cumsum(np.bincount(group.ravel(), minlength=len(sizes)))[:-1])
        for (m_a, m_b, m_c, terms), rows in zip(sizes.tolist(), several, strict=len(sizes) > 0):
            size = terms * (m_a + m_b + m_c) if terms else m_a * m_b * m_c
            numbers = self.data[self.offset[rows][:, None] + np.arange(size)]
            if terms:
                first, second, third = np.split(numbers, [terms * m_a, terms * (m_a + m_b)], axis=1)
                factors = second.reshape(-1, terms, m_b), third.reshape(-1, terms, m_c)
                yield rows, first.reshape(-1, m_a, terms), *factors
            else:
                yield rows, numbers.reshape(-1, m_a, m_b, m_c), None, None

    def __len__(self) -> int:
        return len(self.terms)

    @overload
    def __getitem__(self, r: int) -> Tensor: ...

    @overload
    def __getitem__(self, r: slice) -> list[Tensor]: ...

    def __getitem__(self, r: int | slice) -> Tensor | list[Tensor]:
        if isinstance(r, slice):
            return [self[number] for number in range(*r.indices(len(self)))]
        if not -len(self) <= r < len(self):
            raise IndexError(f"no tensor {r} among {len(self)}")
        r %= len(self)
        block = self.data[self.offset[r] : self.offset[r + 1]]
        return self._tensor(block, self.shapes[r].tolist(), int(self.terms[r]))

    def __iter__(self) -> Iterator[Tensor]:
        # Convert to lists, because reading single numbers from lists is faster than from arrays.
        places = pairwise(self.offset.tolist())
        for (first, end), shape, terms in zip(places, self.shapes.tolist(), self.terms.tolist(), strict=True):
            yield self._tensor(self.data[first:end], shape, terms)

    @staticmethod
    def _tensor(block: FloatArray, shape: list[int], terms: int) -> Tensor:
        """View the numbers (n,) of a tensor as its factors, or as a dense array if it has no terms."""
        m_a, m_b, m_c = shape
        if not terms:
            return Tensor.of_dense(block.reshape(m_a, m_b, m_c))
        ends = terms * m_a, terms * (m_a + m_b)
        first = block[: ends[0]].reshape(m_a, terms).T
        return Tensor(first, block[ends[0] : ends[1]].reshape(terms, m_b), block[ends[1] :].reshape(terms, m_c))


def read_only_view(column: NDArray[Any]) -> NDArray[Any]:
    """Make a read-only view of a column (n, ...), or of a copy in C order.

    Arrays of files are read-only, and functions would be compiled again for each mixture of both kinds of arrays."""
    view = np.ascontiguousarray(column).view()
    view.setflags(write=False)
    return view

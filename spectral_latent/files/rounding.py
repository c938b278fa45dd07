"""Round numbers to two bytes in a file, and to digits that are the same on all kinds of processors.

| here | type in a file | meaning |
| --- | --- | --- |
| group | - | numbers of similar size, such as the entries of one vector |
| `factor` | float32 | the largest absolute value of a group; float64 if it is too small for a float32 |
| `share` | float16 | a number divided by the factor of its group, between -1 and 1 |

A share has 11 binary digits: a number keeps three decimal digits, or 3e-8 of the largest number of its group.  The
product of factor and share has 35 binary digits, so that double precision holds it exactly.

Code for another kind of processor adds up numbers in another order, which changes the last of the 53 binary digits of a
sum, and more digits after many sums.  The digits that rounding keeps are the same, unless a number lies in the middle
between two rounded numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["divided", "rounded", "rounded_operators", "with_digits"]

_DIGITS = 24  # binary digits of a factor


def with_digits(numbers: FloatArray, digits: int = _DIGITS) -> FloatArray:
    """Round numbers to some binary digits.

    numbers: (n,) the numbers, or an array of any other shape.

    >>> with_digits(np.array([0.1, 0.25, 0.0]), digits=2).tolist()
    [0.09375, 0.25, 0.0]
    """
    mantissa, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, digits)), exponent - digits), dtype=np.float64)


def _rounded_parts(numbers: FloatArray, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute the factor of each group (n,) and the share of each number (N,), rounded.

    numbers: (N,) n groups, one after another.
    lengths: (n,) the size of each group.
    """
    if not len(lengths):
        return np.zeros(0), np.zeros(0)
    largest = np.maximum.reduceat(np.abs(numbers), np.cumsum(lengths) - lengths)
    factor = with_digits(largest)
    divisor = np.repeat(np.where(factor > 0.0, factor, np.inf), lengths)
    return factor, (numbers / divisor).astype(np.float16).astype(np.float64)


def rounded(numbers: FloatArray, lengths: IntArray) -> FloatArray:
    """Round numbers (N,) to the nearest products of a factor and a share.

    The largest number of a group keeps 24 binary digits.  Rounding a second time changes nothing.

    numbers: (N,) n groups, one after another.
    lengths: (n,) the number of numbers in each group, at least 1.

    >>> rounded(np.array([1.0, 0.33333333]), np.array([2])).tolist()
    [1.0, 0.333251953125]
    """
    factor, share = _rounded_parts(numbers, lengths)
    return share * np.repeat(factor, lengths)


def divided(numbers: FloatArray, lengths: IntArray) -> tuple[FloatArray, FloatArray]:
    """Divide numbers (N,) exactly into the factors of their groups (n,) and shares (N,).

    If any number was not rounded, all factors are 1.

    numbers: (N,) n groups, one after another.
    lengths: (n,) the number of numbers in each group, at least 1.

    >>> divided(np.array([0.25, 0.125]), np.array([2]))
    (array([0.25]), array([1. , 0.5]))
    >>> divided(np.array([0.3, 0.1]), np.array([2]))
    (array([1.]), array([0.3, 0.1]))
    """
    factor, share = _rounded_parts(numbers, lengths)
    if np.array_equal(share * np.repeat(factor, lengths), numbers):
        return factor, share
    return np.ones(len(lengths)), numbers


def rounded_operators(operators: ObservableOperators) -> ObservableOperators:
    """Round all numbers of operators, so that a file holds most of them in two bytes.

    The vector of a leaf rule is a group of numbers, and so is each part of a tensor.  The numbers of roots and of unary
    rules have 24 binary digits.

    operators: any operators.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> leaf = np.array([[0.75, 0.1]])
    >>> operators = ObservableOperators(
    ...     rules, np.array([2]), np.array([[0.5, 0.5]]), leaf, np.empty((0, 2, 2)), [])
    >>> rounded_operators(operators).leaf.tolist()
    [[0.75, 0.0999755859375]]
    """
    leaf = operators.leaf.copy()
    states = operators.states[operators.rules.leaf[:, 0]]
    is_state = np.arange(leaf.shape[1]) < states[:, None]
    leaf[is_state] = rounded(leaf[is_state], states)
    sigma = operators.singular_values
    return replace(
        operators,
        root=with_digits(operators.root),
        leaf=leaf,
        unary=with_digits(operators.unary),
        binary=operators.binary.with_data(rounded(operators.binary.data, operators.binary.parts)),
        singular_values=None if sigma is None else with_digits(sigma, 11),
    )

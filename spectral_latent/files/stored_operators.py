"""Turn operators into the arrays of a model file, and such arrays into operators.

An array that does not fit the other arrays is refused: rules must be in order, terminals must exist, and the sizes of
tensors must add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import check_range
from spectral_latent._options import AtLeast, Below
from spectral_latent.files.compact import CompactOperators
from spectral_latent.files.contents import Shares, Sorted, array_from
from spectral_latent.files.rounding import divided
from spectral_latent.files.storage import ModelFileError
from spectral_latent.operators.operators import ObservableOperators
from spectral_latent.operators.rule_table import row_sums
from spectral_latent.operators.tensors import Tensors
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules

__all__ = ["arrays_of", "operators_from"]

_ROUNDING = 2.0**-9  # a number of a tensor is a product of three shares, each of 11 binary digits
_COARSE = 2.0**10
_MOST_NUMBERS = 1 << 28  # the largest table of vectors, padded to one length


def arrays_of(prefix: str, compact: CompactOperators) -> dict[str, NDArray[Any]]:
    """List the arrays of operators, named `prefix.field`.

    The parts of tensors are divided into factors and shares, like the vectors of leaf rules; see `rounding`.

    prefix: the first part of the arrays' names, such as `latent`.
    compact: the operators whose arrays are to be saved.
    """
    operators = compact.rest
    rules = compact.rules
    is_state = _are_states(compact.vector, rules.leaf[:, 0], operators.states, operators.root.shape[1])
    tensors = operators.binary
    data_factor, data_share = divided(tensors.data, tensors.parts)
    fields = {
        "states": operators.states,
        "root": operators.root,
        "unary": operators.unary,
        "binary_rules": rules.binary,
        "unary_rules": rules.unary,
        "leaf_rules": rules.leaf,
        "terms": tensors.terms,
        "data_factor": data_factor,
        "data_share": data_share,
        "leaf_factor": compact.factor,
        "leaf_vector": compact.vector,
        "leaf_share": compact.shares[is_state].astype(np.float64),
    }
    if operators.singular_values is not None:
        fields["singular_values"] = operators.singular_values
    return {f"{prefix}.{name}": array for name, array in fields.items()}


def _are_states(vector: IntArray, symbol: IntArray, states: IntArray, m: int) -> BoolArray:
    """Tell which numbers (V, m) of the vectors of leaf rules belong to states; the other numbers are padding.

    vector: (R,) the vector of each leaf rule.
    symbol: (R,) the symbol of each leaf rule.
    states: (S,) the numbers of states.
    Raises ValueError if a vector has no rule, or rules of several symbols.
    """
    parent = np.full(int(vector.max(initial=-1)) + 1, -1, dtype=np.int64)
    parent[vector] = symbol
    if (parent < 0).any() or (parent[vector] != symbol).any():
        raise ValueError("the vectors do not fit the leaf rules")
    are_states: BoolArray = np.arange(m) < states[parent, None]
    return are_states


def _check_sums(sums: FloatArray, states: IntArray) -> None:
    """Check that the rules of each state are a distribution, given their sums (S, M); raise ValueError if not.

    Rounding changes a sum by less than _ROUNDING.  Coarse probabilities, of one state a symbol, smooth each emission by
    itself, so that their sums only have the size of one.
    """
    is_state = np.arange(sums.shape[1]) < states[:, None]
    low, high = (1 / _COARSE, _COARSE) if (states == 1).all() else (1.0 - _ROUNDING, 1.0 + _ROUNDING)
    if not ((sums >= low) & (sums <= high))[is_state].all():
        raise ValueError("the rules of a state do not sum to one")


def operators_from(
    prefix: str, arrays: Mapping[str, NDArray[Any]], n_terminals: int, *, probabilities: bool
) -> CompactOperators:
    """Make operators from the arrays that `arrays_of` listed.

    prefix: the first part of the arrays' names, such as `latent`.
    arrays: the arrays of a model file, by name.
    n_terminals: the number of terminals; leaf rules have terminals 0 ... n_terminals - 1.
    probabilities: whether the numbers must be probabilities: no number is negative, and the numbers of roots sum to
    one.

    Raises ModelFileError if arrays are missing or do not fit together.
    """
    limits = (AtLeast(0.0),) if probabilities else ()

    def numbers(name: str, *shape: int | None) -> NDArray[Any]:
        return array_from(f"{prefix}.{name}", arrays, np.float64, shape, *limits)

    def integers(name: str, *shape: int | None) -> IntArray:
        return array_from(f"{prefix}.{name}", arrays, np.int64, shape, AtLeast(0))

    def rules_of(name: str, width: int) -> IntArray:
        rows = array_from(f"{prefix}.{name}", arrays, np.int64, (None, width), AtLeast(0), Sorted())
        rows.setflags(write=False)  # so that operators need no copy
        return rows

    try:
        states = integers("states", None)
        rules = Rules(rules_of("leaf_rules", 2), rules_of("unary_rules", 2), rules_of("binary_rules", 3))
        for name, table in (("leaf", rules.leaf[:, :1]), ("unary", rules.unary), ("binary", rules.binary)):
            check_range(f"symbols of {name} rules", table.ravel(), 0, len(states))
        if (rules.leaf[:, 1] >= n_terminals).any():
            raise ValueError("a rule names a terminal that does not exist")
        terms = integers("terms", len(rules.binary))
        share = numbers("data_share", None)
        Tensors.check_sizes(states[rules.binary], terms, len(share))
        parts = Tensors.parts_of(states[rules.binary], terms)
        factor = numbers("data_factor", len(parts))
        root = numbers("root", len(states), None)
        if (states < 1).any() or root[np.arange(root.shape[1]) >= states[:, None]].any():
            raise ValueError("a root has numbers beyond its states")
        n = len(rules.leaf)
        vector = array_from(f"{prefix}.leaf_vector", arrays, np.int64, (n,), AtLeast(0), Below(max(n, 1)))
        leaf_factor = array_from(f"{prefix}.leaf_factor", arrays, np.float64, (n,), AtLeast(0.0))
        if (int(vector.max(initial=0)) + 1) * root.shape[1] > _MOST_NUMBERS:
            raise ValueError("the vectors of leaf rules are too large")
        is_state = _are_states(vector, rules.leaf[:, 0], states, root.shape[1])
        leaf_share = numbers("leaf_share", int(is_state.sum()))
        shares = np.zeros(is_state.shape)
        shares[is_state] = leaf_share
        products = {
            f"{prefix}.leaf": leaf_share * leaf_factor.max(initial=0.0),
            f"{prefix}.data": share * np.repeat(factor, parts),
        }
        for name in products:
            array_from(name, products, np.float64, (None,), *limits)
        sigma = f"{prefix}.singular_values"
        rest = ObservableOperators(
            replace(rules, leaf=rules.leaf[:0]),
            states,
            root,
            np.empty((0, root.shape[1])),
            numbers("unary", len(rules.unary), None, None),
            Tensors(states[rules.binary], terms, products[f"{prefix}.data"]),
            probabilities,
            array_from(sigma, arrays, np.float64, (len(states), None), AtLeast(0.0)) if sigma in arrays else None,
        )
        if probabilities:
            if not Shares().accepts(root.ravel()):
                raise ValueError("the roots do not sum to one")
            symbol = np.zeros(len(shares), dtype=np.int64)
            symbol[vector] = rules.leaf[:, 0]
            leaves = shares * np.bincount(vector, leaf_factor, minlength=len(shares))[:, None]
            sums = row_sums(symbol, leaves, len(states)) + row_sums(
                rules.unary[:, 0], rest.unary.sum(axis=2), len(states)
            )
            tensor, state, of_state = rest.binary.row_sums()
            np.add.at(sums, (rules.binary[tensor, 0], state), of_state)
            _check_sums(sums, states)
    except (IndexError, ValueError) as error:
        raise ModelFileError(f"the operators `{prefix}` of the model are damaged ({error}); train it again") from None
    return CompactOperators(rest, rules.leaf, vector, leaf_factor, shares)

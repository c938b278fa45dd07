"""Turn operators into the arrays of a model file, and such arrays into operators.

An array that does not fit the others is refused: rules must be in order, terminals must exist, and the sizes of tensors
must add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import check_range
from spectral_latent._options import AtLeast, Below
from spectral_latent.operators.contents import Shares, Sorted, array_from
from spectral_latent.operators.operators import ObservableOperators
from spectral_latent.operators.rounding import divided
from spectral_latent.operators.storage import ModelFileError
from spectral_latent.operators.tensors import Tensors
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary

__all__ = ["arrays_of", "operators_from"]


def arrays_of(prefix: str, operators: ObservableOperators) -> dict[str, NDArray[Any]]:
    """List the arrays of operators, named `prefix.field`.

    The vectors of leaf rules and the parts of tensors are divided into factors and shares; see `rounding`.

    prefix: the first part of the arrays' names, such as `latent`.
    operators: the operators whose arrays are to be saved.
    """
    rules = operators.rules
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
        **_leaf_arrays(operators),
    }
    if operators.singular_values is not None:
        fields["singular_values"] = operators.singular_values
    return {f"{prefix}.{name}": array for name, array in fields.items()}


def _leaf_arrays(operators: ObservableOperators) -> dict[str, NDArray[Any]]:
    """List the distinct vectors of leaf rules, and for each of R0 rules the number of its vector and its factor.

    Smoothing gives a symbol many terminals with vectors that differ in their factors only.
    """
    symbol = operators.rules.leaf[:, 0]
    is_state = np.arange(operators.leaf.shape[1]) < operators.states[symbol][:, None]
    factor, share = divided(operators.leaf[is_state], operators.states[symbol])
    shares = np.zeros(operators.leaf.shape)
    shares[is_state] = share
    different: Vocabulary[tuple[int, bytes]] = Vocabulary()
    vector = np.array([different.add((a, row.tobytes())) for a, row in zip(symbol.tolist(), shares, strict=True)], int)
    first = np.unique(vector, return_index=True)[1]
    return {"leaf_factor": factor, "leaf_vector": vector, "leaf_share": shares[first][is_state[first]]}


def _leaf_from(
    prefix: str, arrays: Mapping[str, NDArray[Any]], symbol: IntArray, states: IntArray, m: int
) -> FloatArray:
    """Make the vectors of leaf rules, (R0, m), of the arrays that `_leaf_arrays` listed.

    symbol: (R0,) the parents of the rules.
    states: (S,) the numbers of states.
    """
    n = len(symbol)
    factor = array_from(f"{prefix}.leaf_factor", arrays, np.float64, (n,), AtLeast(0.0))
    vector = array_from(f"{prefix}.leaf_vector", arrays, np.int64, (n,), AtLeast(0), Below(max(n, 1)))
    share = array_from(f"{prefix}.leaf_share", arrays, np.float64, (None,))
    # Every vector is of some rule, and all rules that have it have the same parent.
    n_vectors = int(vector.max(initial=-1)) + 1
    parent = np.full(n_vectors, -1, dtype=np.int64)
    parent[vector] = symbol
    if (parent < 0).any() or (parent[vector] != symbol).any():
        raise ValueError(f"the array {prefix}.leaf_vector does not fit the leaf rules")
    is_state = np.arange(m) < states[parent][:, None]
    if is_state.sum() != len(share):
        raise ValueError(f"the array {prefix}.leaf_share has {len(share)} numbers, and must have {is_state.sum()}")
    shares = np.zeros(is_state.shape)
    shares[is_state] = share
    leaf: FloatArray = shares[vector]
    leaf *= factor[:, None]
    return leaf


def operators_from(
    prefix: str, arrays: Mapping[str, NDArray[Any]], n_terminals: int, *, probabilities: bool
) -> ObservableOperators:
    """Make operators of the arrays that `arrays_of` listed.

    prefix: the first part of the arrays' names, such as `latent`.
    arrays: the arrays of a model file, by name.
    n_terminals: the number of terminals; leaf rules have terminals 0 ... n_terminals - 1.
    probabilities: whether the numbers are probabilities: then none is negative, and those of roots sum to one.

    Raises ModelFileError if arrays are missing or do not fit together.
    """
    limits = (AtLeast(0.0),) if probabilities else ()

    def numbers(name: str, *shape: int | None) -> NDArray[Any]:
        return array_from(f"{prefix}.{name}", arrays, np.float64, shape, *limits)

    def integers(name: str, *shape: int | None) -> IntArray:
        return array_from(f"{prefix}.{name}", arrays, np.int64, shape, AtLeast(0))

    def rules_of(name: str, width: int) -> IntArray:
        return array_from(f"{prefix}.{name}", arrays, np.int64, (None, width), AtLeast(0), Sorted())

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
        products = {
            f"{prefix}.leaf": _leaf_from(prefix, arrays, rules.leaf[:, 0], states, root.shape[1]),
            f"{prefix}.data": share * np.repeat(factor, parts),
        }
        sigma = f"{prefix}.singular_values"
        operators = ObservableOperators(
            rules,
            states,
            root,
            array_from(f"{prefix}.leaf", products, np.float64, (None, None), *limits),
            numbers("unary", len(rules.unary), None, None),
            Tensors(states[rules.binary], terms, array_from(f"{prefix}.data", products, np.float64, (None,), *limits)),
            probabilities,
            array_from(sigma, arrays, np.float64, (len(states), None), AtLeast(0.0)) if sigma in arrays else None,
        )
        if probabilities and not Shares().accepts(operators.root.ravel()):
            raise ValueError("the roots do not sum to one")
    except (IndexError, ValueError) as error:
        raise ModelFileError(f"the operators `{prefix}` of the model are damaged ({error}); train it again") from None
    return operators

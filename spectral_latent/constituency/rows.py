"""Let every phrase have any children, so that no tree of known labels and words is impossible.

The rules of a grammar allow only children that were seen together.  Therefore a phrase may also have a *row* of
children that are drawn one by one.  The row is a further symbol, with one state:

| rule | weight | |
| --- | --- | --- |
| X → row | 2 ε / (1 - ε), in every state of X | ε is `ConstituencyOptions.rows` |
| row → c | q(c) / 2 | the first child |
| row → row c | q(c) / 2 | the next child |

q(c) is the share of c among the constituents of the treebank.  The states of c have the weights of a root, because c is
a tree of its own (`GrammarOptions.fragments`).  The weight of a tree is multiplied by 1 - ε for each of its phrases.
So a phrase has the row of the children c_1 ... c_n, n ≥ 2, with probability ε 2^(1-n) Π q(c_i).  All rows together have
probability ε, and all other rules 1 - ε, so that the probabilities of all trees still sum to one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from spectral_latent.grammar import LatentGrammar
from spectral_latent.inference import mean_inside_vectors
from spectral_latent.operators import ObservableOperators, Tensors
from spectral_latent.trees import BoolArray, FloatArray, Rules

__all__ = ["with_rows"]


def _sums_of_rules(operators: ObservableOperators, whole: FloatArray) -> FloatArray:
    """Sum the weights of the binary rules of every symbol, (S, M), over all trees below them: 1 for most phrases.

    whole: (S, M) the sum of each symbol's inside vectors.
    """
    m = operators.states
    sums = np.zeros_like(operators.root)
    for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary.tolist(), strict=True):
        sums[a, : m[a]] += tensor.apply_left(whole[b, : m[b]]) @ whole[c, : m[c]]
    return sums


def with_rows(grammar: LatentGrammar[Any, Any, Any, Any, Any], is_bar: BoolArray, rows: float) -> ObservableOperators:
    """Add the symbol of rows and its rules to the latent operators of a grammar, without leaf rules.

    The symbol of rows comes after all others.

    is_bar: (S,) whether each symbol is a bar.
    """
    operators = grammar.latent.rest
    rules = operators.rules
    n, width = operators.root.shape
    if operators.probabilities:
        whole = (np.arange(width) < operators.states[:, None]).astype(float)
    else:
        whole = mean_inside_vectors(grammar.operators, grammar.coarse)
    # The weights of a constituent that is drawn for a row, and of a phrase whose rules a row replaces.
    weight = (operators.root * whole).sum(axis=1, keepdims=True)
    alone = np.divide(operators.root, weight, out=np.zeros_like(operators.root), where=weight > 0.0)
    share = np.where(is_bar, 0.0, grammar.prior)
    drawn = alone * (share / share.sum() / 2.0)[:, None]
    replaced = _sums_of_rules(operators, whole) * (2.0 * rows / (1.0 - rows))
    children = np.flatnonzero(drawn.any(axis=1))
    phrases = np.flatnonzero(~is_bar & replaced.any(axis=1))
    # These rules come after all others in lexicographic order, because the symbol of rows has the largest number.
    row = np.full(n, n)
    unary = np.concatenate([np.stack([phrases, row[phrases]], axis=1), np.stack([row[children], children], axis=1)])
    matrices = np.zeros((len(unary), width, width))
    matrices[: len(phrases), :, 0] = replaced[phrases]
    matrices[len(phrases) :, 0, :] = drawn[children]
    binary = np.stack([row[children], row[children], children], axis=1)
    states = np.append(operators.states, 1)
    shapes = np.concatenate([operators.binary.shapes, states[binary]])
    terms = np.append(operators.binary.terms, np.zeros_like(children))
    is_state = np.arange(width) < states[children, None]
    data = np.append(operators.binary.data, drawn[children][is_state])
    return replace(
        operators,
        rules=Rules(rules.leaf, unary, np.concatenate([rules.binary, binary])),
        states=states,
        root=np.append(operators.root, np.zeros((1, width)), axis=0),
        unary=matrices,
        binary=Tensors(shapes, terms, data),
        singular_values=None,
    )

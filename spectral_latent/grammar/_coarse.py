"""Hold a binary PCFG with one state per symbol, and leaf rules over words, in the order in which charts read them.

The table of all pairs of S symbols has S² numbers of 32 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import check_column, check_range
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, IntArray, matches

__all__ = ["ONE", "CoarseGrammar", "CoarseLeaves", "NumberArray", "PlaceArray"]

PlaceArray = NDArray[np.uint64]
NumberArray = NDArray[np.uint32]

ONE = np.uint64(1)
"""The number 1 for sums with places, which are unsigned: the sum with a signed 1 would be a floating-point number."""


class CoarseGrammar(NamedTuple):
    """A grammar of S symbols with one state each, with its R binary rules in two orders.

    The first four columns have the rules sorted by parent, the columns `pair_...` by pairs of children.
    """

    left_child: PlaceArray  # (R,) the left child of each rule
    right_child: PlaceArray  # (R,) the right child
    number: IntArray  # (R,) the row of `Rules.binary`
    weight: FloatArray  # (R,) the weight of each rule
    of_parent: PlaceArray  # (S + 1,) rules of parent a: of_parent[a] ... of_parent[a+1] - 1
    pair: NumberArray  # (S, S) the number of the pair of a left and a right child; P if there is no rule
    of_right: PlaceArray  # (S + 1,) pairs with the right child c: of_right[c] ... of_right[c+1] - 1
    left: PlaceArray  # (P,) the left child of each pair
    of_pair: PlaceArray  # (P + 1,) in the next three columns, rules of pair p: of_pair[p] ... of_pair[p+1] - 1
    pair_parent: PlaceArray  # (R,) the parent of each rule
    pair_number: IntArray  # (R,) the row of `Rules.binary`
    pair_weight: FloatArray  # (R,) the weight of each rule
    root: FloatArray  # (S,) the root weights
    prior: FloatArray  # (S,) the share of each symbol among the nodes of a treebank

    @staticmethod
    def of(operators: ObservableOperators, prior: FloatArray, used: BoolArray | None = None) -> CoarseGrammar:
        """Index the binary rules of operators with one state per symbol.

        prior: (S,) the share of each symbol among the nodes of a treebank.
        used: (R2,) whether charts use each of the binary rules; all rules if not given.
        Raises ValueError if there are unary rules, which charts cannot use, or if the shapes do not fit.
        """
        check_column("shares of symbols", prior, (operators.n_symbols,), np.float64)
        check_range("states of a coarse grammar", operators.states, 1, 2)
        if used is not None:
            check_column("marks of binary rules", used, (len(operators.rules.binary),), np.bool_)
        if len(operators.rules.unary):
            a, b = operators.rules.unary[0].tolist()
            raise ValueError(
                f"charts know no unary rules, and the grammar has {len(operators.rules.unary)}, the first of which is "
                f"symbol {a} → symbol {b}; collapse chains into symbols of their own before training"
            )
        packed = operators.packed
        number = np.arange(len(packed.binary_rules)) if used is None else np.flatnonzero(used)
        rules = packed.binary_rules[number]
        weight = packed.data[number]
        # Sort the rules by their children, so that rules with the same children are neighbours.
        order = np.lexsort(rules[:, 1:].T)
        parent, left, right = rules[order].T
        starts = np.flatnonzero((np.diff(left, prepend=-1) != 0) | (np.diff(right, prepend=-1) != 0))
        symbols = np.arange(operators.n_symbols + 1)
        pair = np.full((operators.n_symbols, operators.n_symbols), len(starts), dtype=np.uint32)
        pair[left[starts], right[starts]] = np.arange(len(starts))
        return CoarseGrammar(
            rules[:, 1].astype(np.uint64),
            rules[:, 2].astype(np.uint64),
            number,
            weight,
            np.searchsorted(rules[:, 0], symbols).astype(np.uint64),
            pair,
            np.searchsorted(right[starts], symbols).astype(np.uint64),
            left[starts].astype(np.uint64),
            np.append(starts, len(rules)).astype(np.uint64),
            parent.astype(np.uint64),
            number[order],
            weight[order],
            operators.root[:, 0].copy(),
            prior,
        )


class CoarseLeaves(NamedTuple):
    """The leaf rules over each of n words: word i has the rules start[i] ... start[i+1] - 1."""

    start: IntArray  # (n + 1,)
    rule: IntArray  # the row of `Rules.leaf`
    symbol: IntArray  # the parent of each rule
    weight: FloatArray  # its weight

    @staticmethod
    def of(operators: ObservableOperators, terminal: IntArray, used: BoolArray | None = None) -> CoarseLeaves:
        """Look up the leaf rules of operators with one state per symbol.

        terminal: (n,) the terminal of each word.
        used: (R0,) whether charts use each of the leaf rules; all rules if not given.
        """
        rules = operators.rules.leaf
        number = np.arange(len(rules)) if used is None else np.flatnonzero(used)
        by_terminal = number[np.argsort(rules[number, 1], kind="stable")]
        at, word = matches(rules[by_terminal, 1], terminal)
        rule = by_terminal[at]
        start = np.searchsorted(word, np.arange(len(terminal) + 1))
        return CoarseLeaves(start, rule, rules[rule, 0], operators.leaf[rule, 0])

    def of_words(self, first: int, end: int) -> CoarseLeaves:
        """Take the leaf rules of the words first ... end - 1."""
        start = self.start[first : end + 1]
        rules = slice(start[0], start[-1])
        return CoarseLeaves(start - start[0], self.rule[rules], self.symbol[rules], self.weight[rules])

    def with_others(self, others: CoarseLeaves) -> CoarseLeaves:
        """Add other leaf rules for each symbol that has no leaf rule over a word.

        A symbol never has two leaf rules over a word, so that no tree is derived twice.
        """
        every = np.arange(len(self.start) - 1)
        word = np.concatenate([np.repeat(every, np.diff(leaves.start)) for leaves in (self, others)])
        symbol = np.append(self.symbol, others.symbol)
        # Of several rules with the same word and symbol, keep the first; the result is in the order of words.
        _, kept = np.unique(np.stack([word, symbol]), axis=1, return_index=True)
        return CoarseLeaves(
            np.searchsorted(word[kept], np.arange(len(self.start))),
            np.append(self.rule, others.rule)[kept],
            symbol[kept],
            np.append(self.weight, others.weight)[kept],
        )

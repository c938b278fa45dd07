"""Hold what charts read: a binary PCFG with one state per symbol, leaf rules over words, permits, and estimates.

The rules are in the order in which charts read them.  The table of all pairs of S symbols has S² numbers of 32 bits.
Permits restrict the symbols over each span: the cell of words i ... j-1 has the number j (j-1) / 2 + i.  Outside scores
of items are estimated before a chart is filled, by the tags of the words around them:

| here | meaning |
| --- | --- |
| beside[t, a] | the expected number of items of symbol a that begin after a word with tag t |
| beside[T, a] | the expected number of items of symbol a that begin with the sentence |
| before[i, a] | p(words 0 ... i-1) times the expected number of items a that begin at word i, given these words |
| after[j, a] | p(words j ... n-1), given an item of symbol a that ends before word j |

The estimates assume that tags are a Markov chain, and that a symbol depends only on the tag before it and the tag after
it.  These are the boundary statistics of Caraballo and Charniak (1998, "New figures of merit for best-first
probabilistic chart parsing").  They follow from the grammar: two neighbouring words are the last word of one child of a
rule and the first word of the other child.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import check_column, check_range, compiled_exact_pass, unsigned
from spectral_latent.inference.sums import factorise
from spectral_latent.operators import ObservableOperators, row_sums
from spectral_latent.trees import BoolArray, FloatArray, IntArray, matches

PlaceArray = NDArray[np.uint64]
NumberArray = NDArray[np.uint32]

ONE = np.uint64(1)
"""The number 1 for sums with places, which are unsigned: the sum with a signed 1 would be a floating-point number."""
_DENSE = 1000  # SciPy, which takes long to import, solves larger systems of equations
_ANY = 0.01  # smoothing: the share of the places at which a symbol may be beside any tag


class CoarseGrammar(NamedTuple):
    """A grammar of S symbols with one state each, with its R binary rules in two orders.

    The first four columns have the rules sorted by parent, the columns `pair_...` by pairs of children."""

    left_child: PlaceArray  # (R,) the left child of each rule
    right_child: PlaceArray  # (R,) the right child
    number: IntArray  # (R,) the row of `Rules.binary`
    weight: FloatArray  # (R,) the weight of each rule
    parent_ptr: PlaceArray  # (S + 1,) rules of parent a: parent_ptr[a] ... parent_ptr[a+1] - 1
    pair: NumberArray  # (S, S) the number of the pair of a left and a right child; P if there is no rule
    right_ptr: PlaceArray  # (S + 1,) pairs with the right child c: right_ptr[c] ... right_ptr[c+1] - 1
    left: PlaceArray  # (P,) the left child of each pair
    pair_ptr: PlaceArray  # (P + 1,) in the next three columns, rules of pair p: pair_ptr[p] ... pair_ptr[p+1] - 1
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
        Raises ValueError if there are unary rules, which charts cannot use, or if the shapes do not fit."""
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
    def of(rules: IntArray, weight: FloatArray, terminal: IntArray, used: BoolArray | None = None) -> CoarseLeaves:
        """Look up the leaf rules of words.

        rules: (R0, 2) the symbol and the terminal of each rule.
        weight: (R0,) the weight of each rule.
        terminal: (n,) the terminal of each word.
        used: (R0,) whether charts use each of the leaf rules; all rules if not given."""
        number = np.arange(len(rules)) if used is None else used.nonzero()[0]
        by_terminal = number[rules[number, 1].argsort(kind="stable")]
        at, word = matches(rules[by_terminal, 1], terminal)
        rule = by_terminal[at]
        start = word.searchsorted(np.arange(len(terminal) + 1))
        return CoarseLeaves(start, rule, rules[rule, 0], weight[rule])

    def of_words(self, first: int, end: int) -> CoarseLeaves:
        """Take the leaf rules of the words first ... end - 1."""
        start = self.start[first : end + 1]
        rules = slice(start[0], start[-1])
        return CoarseLeaves(start - start[0], self.rule[rules], self.symbol[rules], self.weight[rules])

    def with_others(self, others: CoarseLeaves) -> CoarseLeaves:
        """Add other leaf rules for each symbol that has no leaf rule over a word.

        A symbol never has two leaf rules over a word, so that no tree is derived twice."""
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


class Permits(NamedTuple):
    """The symbols that each cell of a sentence may hold."""

    row: IntArray  # (cells,) the row of `symbols` for each cell
    symbols: BoolArray  # (K, S) K sets of symbols

    @staticmethod
    def all(n_words: int, n_symbols: int) -> Permits:
        """Permit all symbols over all spans."""
        n_cells = n_words * (n_words + 1) // 2
        return Permits(np.zeros(n_cells, dtype=np.int64), np.ones((1, n_symbols), dtype=np.bool_))


def cells(n_words: int) -> tuple[IntArray, IntArray]:
    """List the first word of each cell, and the word after its last word.

    >>> cells(2)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    end = np.repeat(np.arange(1, n_words + 1), np.arange(1, n_words + 1))
    return np.arange(len(end)) - end * (end - 1) // 2, end


def crossed_cells(n_words: int, spans: Iterable[tuple[int, int]]) -> BoolArray:
    """Mark the cells that cross a span: they share words with the span, but neither contains the other.

    spans: pairs of a first word and the word after the last word.

    >>> np.stack(cells(3), axis=1)[crossed_cells(3, [(0, 2)])]
    array([[1, 3]])
    """
    first, end = cells(n_words)
    crossed = np.zeros(len(end), dtype=np.bool_)
    for i, j in spans:
        crossed |= ((first < i) & (i < end) & (end < j)) | ((i < first) & (first < j) & (j < end))
    return crossed


class Neighbours(NamedTuple):
    """The tags beside items, under a PCFG of S symbols with one state each, whose words have T tags.

    beside: (2, T + 1, S) `beside`, as in this module, and the same from right to left: for items that end before a
    word, or with the sentence.
    tag: (S,) the tag of each symbol over words; T for other symbols.
    prior: (S,) the share of each symbol among the nodes of a treebank."""

    beside: NDArray[np.float32]
    tag: IntArray
    prior: FloatArray

    @staticmethod
    def compute(operators: ObservableOperators, prior: FloatArray, tag_of_symbol: IntArray) -> Neighbours:
        """Compute the tags beside the items of a grammar.

        prior: (S,) the share of each symbol among the nodes of a treebank.
        tag_of_symbol: (S,) the number of the tag of each symbol over words; -1 for other symbols.  A symbol over words
        without a tag becomes a tag of its own."""
        n_symbols = operators.n_symbols
        packed = operators.packed
        parent, *children = packed.binary_rules.T
        weight = packed.data
        binary = np.bincount(parent, weight, minlength=n_symbols)
        own = np.unique(operators.rules.leaf[:, 0])
        own = own[tag_of_symbol[own] < 0]
        n_tags = int(tag_of_symbol.max()) + 1 + len(own)
        tag = np.where(tag_of_symbol < 0, n_tags, tag_of_symbol)
        tag[own] = n_tags - len(own) + np.arange(len(own))
        over_words = np.zeros((n_symbols, n_tags + 1))
        over_words[np.arange(n_symbols), tag] = np.where(tag < n_tags, 1.0 - binary, 0.0)
        # Compute the numbers of words with each tag, and of sentences, divided by the number of nodes.
        count = prior @ over_words
        count[-1] = 1.0 - 2.0 * (prior @ binary)
        anywhere = prior[:, None] / count[:-1].sum()
        sides = []
        for first, second in (children, reversed(children)):
            # The last word of a symbol is the last word of its second child: solve for the tags of last words.
            last = _sums(parent, second, weight, over_words)
            # The last word of the first child is before the second child, and before all items that begin with it.
            siblings = row_sums(second, (prior[parent] * weight)[:, None] * last[first], n_symbols)
            siblings[:, -1] += count[-1] * operators.root[:, 0]
            both = _sums(first, parent, weight, siblings)
            share = np.divide(both, count, out=np.zeros_like(both), where=count > 0.0)
            # Keep estimates in half the memory; they need no more digits.
            sides.append(((1.0 - _ANY) * share + _ANY * anywhere).T)
        return Neighbours(np.ascontiguousarray(sides, dtype=np.float32), tag, prior)


def _sums(row: IntArray, column: IntArray, weight: FloatArray, start: FloatArray) -> FloatArray:
    """Solve x = start + A x, (S, T + 1); an entry of A is the sum of the weights (R,) with its row and column."""
    n = len(start)
    if n <= _DENSE:
        sums = np.bincount(row * n + column, weight, minlength=n * n).reshape(n, n)
        return np.asarray(np.linalg.solve(np.eye(n) - sums, start))
    equations = scipy.sparse.eye_array(n) - scipy.sparse.coo_array((weight, (row, column)), shape=(n, n))
    return np.asarray(factorise(scipy.sparse.csc_array(equations)).solve(start))


@compiled_exact_pass
def _spread(
    neighbours: Neighbours, leaves: CoarseLeaves, of_tag: FloatArray, scores: FloatArray, exponent: IntArray
) -> float:
    """Compute the estimates from left to right, and from right to left, as `OutsideEstimates` has them.

    of_tag: (T + 1,) zeros, before and after the call.
    scores: (2, n + 1, S) zeros; gets the estimates at each place.
    exponent: (2, n + 1) zeros; gets the exponents of the estimates.
    Returns the sum over trees, divided by 2^exponent[1, 1]."""
    beside, tag, prior = neighbours
    n_words, n_symbols = exponent.shape[1] - 1, len(tag)
    for side in range(2):
        at, step = (n_words, -1) if side else (0, 1)
        for a in range(n_symbols):
            scores[side, at, a] = beside[side, len(of_tag) - 1, a]
        for _ in range(n_words):
            here, there = unsigned(at), unsigned(at + step)
            word = min(at, at + step)
            # Sum the scores of the word's leaf rules by tag.
            for leaf in range(leaves.start[word], leaves.start[word + 1]):
                of_tag[tag[leaves.symbol[leaf]]] += scores[side, here, leaves.symbol[leaf]] * leaves.weight[leaf]
            largest = 0.0
            for leaf in range(leaves.start[word], leaves.start[word + 1]):
                t = tag[leaves.symbol[leaf]]
                share = of_tag[t]
                # Use the sum of a tag once, because several leaf rules may have the same tag.
                of_tag[t] = 0.0
                if share > 0.0:
                    for a in range(n_symbols):
                        scores[side, there, a] += share * beside[side, t, a]
            for a in range(n_symbols):
                largest = max(largest, scores[side, there, a])
            # Scale by a power of two, which rounds nothing.
            shift = math.frexp(largest)[1]
            scale = math.ldexp(1.0, -shift)
            exponent[side, there] = exponent[side, here] + shift
            for a in range(n_symbols):
                scores[side, there, a] *= scale
            at += step
    # Both factors have the expected number of items, so that it must be divided out once.
    for at in range(n_words + 1):
        for a in range(n_symbols):
            if prior[a] > 0.0:
                scores[1, at, a] /= prior[a]
    total = 0.0
    for leaf in range(leaves.start[1]):
        a = leaves.symbol[leaf]
        total += scores[0, 0, a] * leaves.weight[leaf] * scores[1, 1, a]
    return total


class OutsideEstimates(NamedTuple):
    """Estimates of the outside scores of the items of n words: scores[0, i, a] scores[1, j, a] 2^(their exponents).

    scores: (2, n + 1, S) the estimates `before` and `after` of each place, divided by powers of two.
    exponents: (2, n + 1) the exponents of these powers.
    least: an item is dropped if its inside score times the estimate is less than least · 2^exponent.
    exponent: the exponent of `least`."""

    scores: FloatArray
    exponents: IntArray
    least: float
    exponent: int

    @staticmethod
    def compute(neighbours: Neighbours, leaves: CoarseLeaves, least: float) -> OutsideEstimates:
        """Estimate the outside scores by the words of a sentence."""
        _, n_tags, n_symbols = neighbours.beside.shape
        scores = np.zeros((2, len(leaves.start), n_symbols))
        exponents = np.zeros((2, len(leaves.start)), dtype=np.int64)
        total = _spread(neighbours, leaves, np.zeros(n_tags), scores, exponents)
        return OutsideEstimates(scores, exponents, least * total, int(exponents[1, 1]))

    @staticmethod
    def of_prior(prior: FloatArray, n_words: int) -> OutsideEstimates:
        """Estimate the outside score of an item by its symbol's share (S,) of nodes alone, without a least estimate."""
        scores = np.ones((2, n_words + 1, len(prior)))
        scores[0] = prior
        return OutsideEstimates(scores, np.zeros((2, n_words + 1), dtype=np.int64), 0.0, 0)

"""Estimate the outside scores of items before a chart is filled, by the tags of the words around them.

| here | meaning |
| --- | --- |
| beside[t, a] | expected number of items of symbol a that begin after a word of tag t |
| beside[T, a] | expected number of items of symbol a that begin with the sentence |
| before[i, a] | p(words 0 ... i-1) times the expected number of items of symbol a that begin at word i, given these |
| after[j, a] | p(words j ... n-1), given an item of symbol a that ends where word j begins |

Tags are taken for a Markov chain, and a symbol to depend on the tag before it and on the tag after it alone: these are
the boundary statistics of Caraballo and Charniak (1998, "New figures of merit for best-first probabilistic chart
parsing").  They follow from the grammar: two words that stand side by side are the ends of the two children of a rule.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent._compiled import compiled_exact_pass, place
from spectral_latent.grammar._coarse import CoarseLeaves
from spectral_latent.operators import ObservableOperators, row_sums
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["Neighbours", "OutsideEstimates"]

_ANY = 0.01  # share of the places at which a symbol is taken to stand beside any tag
_SWEEPS = 1000  # the most sweeps of an iteration that ends far earlier, unless a phrase goes on without end
_PRECISION = 1e-10  # the relative change in a sweep at which the iteration ends


class Neighbours(NamedTuple):
    """The tags beside items, under a PCFG of S symbols with one state each, whose words have T tags.

    before: (T + 1, S) `beside`, as in this module.
    after: (T + 1, S) the same from right to left: of the items that end before a word, or with the sentence.
    tag: (S,) the tag of each symbol over words; T for others.
    prior: (S,) share of each symbol among the nodes of a treebank.
    """

    before: NDArray[np.float32]
    after: NDArray[np.float32]
    tag: IntArray
    prior: FloatArray

    @staticmethod
    def of(operators: ObservableOperators, prior: FloatArray, tag_of_symbol: IntArray) -> Neighbours:
        """Compute the tags beside the items of a grammar.

        operators: operators of S symbols with one state each.
        prior: (S,) share of each symbol among the nodes of a treebank.
        tag_of_symbol: (S,) the number of the tag of each symbol over words, and -1 of others.  A symbol over words that
        has no tag is a tag of its own.
        """
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
        # How many words of each tag there are, and how many sentences, for each node.
        count = prior @ over_words
        count[-1] = 1.0 - 2.0 * (prior @ binary)
        anywhere = prior[:, None] / count[:-1].sum()
        sides = []
        for first, second in (children, reversed(children)):
            # The tag of the last word of each symbol, which is that of its second child ...
            last = _sums(parent, second, weight, over_words)
            # ... stands before its sibling, and before all that begins with the sibling.
            siblings = row_sums(second, (prior[parent] * weight)[:, None] * last[first], n_symbols)
            siblings[:, -1] += count[-1] * operators.root[:, 0]
            both = _sums(first, parent, weight, siblings)
            share = np.divide(both, count, out=np.zeros_like(both), where=count > 0.0)
            # In half the memory, which is enough for estimates.
            sides.append(np.ascontiguousarray(((1.0 - _ANY) * share + _ANY * anywhere).T, dtype=np.float32))
        before, after = sides
        return Neighbours(before, after, tag, prior)


@compiled_exact_pass
def _solve(
    start: IntArray, column: IntArray, weight: FloatArray, b: FloatArray, x: FloatArray, row: FloatArray, sweeps: int
) -> None:
    """Solve x = b + A x by Gauss and Seidel's sweeps, for a matrix A (S, S) whose numbers are not negative.

    start: (S + 1,) where the entries of each row of A begin.
    column: (R,) the column of each entry.
    weight: (R,) the number of each entry.
    b: (S, k).
    x: (S, k) a first guess, which the solution takes the place of.
    row: (k,) room for a row of x.
    sweeps: the most sweeps through all rows; in odd ones they come backwards.
    """
    n_rows, n_columns = x.shape
    for sweep in range(sweeps):
        total, change = 0.0, 0.0
        # Each row is made of the newest values of the others.
        for turn in range(n_rows):
            i = place(n_rows - 1 - turn if sweep % 2 else turn)
            if start[i] == start[i + 1]:
                continue
            for k in range(n_columns):
                row[k] = b[i, k]
            for entry in range(start[i], start[i + 1]):
                j = place(column[entry])
                for k in range(n_columns):
                    row[k] += weight[entry] * x[j, k]
            # How much the sweep changes tells when to stop.
            for k in range(n_columns):
                total += row[k]
                change += abs(row[k] - x[i, k])
                x[i, k] = row[k]
        if change <= _PRECISION * total:
            break


def _sums(row: IntArray, column: IntArray, weight: FloatArray, start: FloatArray) -> FloatArray:
    """Solve x = start + A x, (S, T + 1), where A has the sum of the weights (R,) at each row and column."""
    size = len(start)
    entry, which = np.unique(row * size + column, return_inverse=True)
    starts = np.searchsorted(entry, size * np.arange(size + 1))
    x = start.copy()
    sums = np.bincount(which, weight).astype(np.float64)
    _solve(starts, entry % size, sums, start, x, np.empty(x.shape[1]), _SWEEPS)
    return x


@compiled_exact_pass
def _spread(
    beside: NDArray[np.float32],
    tag: IntArray,
    leaves: CoarseLeaves,
    first: int,
    step: int,
    of_tag: FloatArray,
    scores: FloatArray,
    exponent: IntArray,
) -> None:
    """Compute the scores before all words, or after all words.

    beside: (T + 1, S) as in `Neighbours`.
    tag: (S,) likewise.
    first: the place that the first word stands at, among the n + 1 places between words.
    step: 1 from left to right, or -1 from right to left.
    of_tag: (T + 1,) zeros.
    scores: (n + 1, S) zeros, which the scores at each place are written to.
    exponent: (n + 1,) zeros, which their exponents are written to.
    """
    n_words, n_symbols = len(exponent) - 1, len(tag)
    for a in range(n_symbols):
        scores[first, a] = beside[len(beside) - 1, a]
    at = first
    for _ in range(n_words):
        here, there = place(at), place(at + step)
        word = min(at, at + step)
        for leaf in range(leaves.start[word], leaves.start[word + 1]):
            of_tag[tag[leaves.symbol[leaf]]] += scores[here, leaves.symbol[leaf]] * leaves.weight[leaf]
        largest = 0.0
        for leaf in range(leaves.start[word], leaves.start[word + 1]):
            t = tag[leaves.symbol[leaf]]
            share = of_tag[t]
            # Several leaf rules may have one tag.
            of_tag[t] = 0.0
            if share > 0.0:
                for a in range(n_symbols):
                    scores[there, a] += share * beside[t, a]
        for a in range(n_symbols):
            largest = max(largest, scores[there, a])
        # A power of two rounds nothing.
        shift = math.frexp(largest)[1]
        scale = math.ldexp(1.0, -shift)
        exponent[there] = exponent[here] + shift
        for a in range(n_symbols):
            scores[there, a] *= scale
        at += step


class OutsideEstimates(NamedTuple):
    """Estimates of the outside scores of the items of n words: before[i, a] after[j, a] 2^(exponents of both).

    before: (n + 1, S) as in this module.
    after: (n + 1, S) likewise.
    before_exponent: (n + 1,) before[i, a] is a number of the column times 2^before_exponent[i].
    after_exponent: (n + 1,) likewise.
    least: an item is dropped if its inside score times the estimate is less than least · 2^exponent.
    exponent: the exponent of the least.
    """

    before: FloatArray
    after: FloatArray
    before_exponent: IntArray
    after_exponent: IntArray
    least: float
    exponent: int

    @staticmethod
    def of(neighbours: Neighbours, leaves: CoarseLeaves, least: float) -> OutsideEstimates:
        """Estimate the outside scores by the words of a sentence.

        neighbours: those of the grammar.
        leaves: the leaf rules over each of n words.
        least: an item is dropped if the estimate of its posterior is less than this.
        """
        n = len(leaves.start) - 1
        before, after = np.zeros((2, n + 1, len(neighbours.tag)))
        before_exponent, after_exponent = np.zeros((2, n + 1), dtype=np.int64)
        of_tag = np.zeros(len(neighbours.before))
        _spread(neighbours.before, neighbours.tag, leaves, 0, 1, of_tag, before, before_exponent)
        _spread(neighbours.after, neighbours.tag, leaves, n, -1, of_tag, after, after_exponent)
        # Both count how many items there are.
        np.divide(after, neighbours.prior, out=after, where=neighbours.prior > 0.0)
        of_first = slice(leaves.start[1])
        symbol = leaves.symbol[of_first]
        total = float((before[0, symbol] * leaves.weight[of_first] * after[1, symbol]).sum())
        return OutsideEstimates(before, after, before_exponent, after_exponent, least * total, int(after_exponent[1]))

    @staticmethod
    def of_prior(prior: FloatArray, n_words: int) -> OutsideEstimates:
        """Estimate the outside score of an item by its symbol alone, and drop no item for it.

        prior: (S,) share of each symbol among the nodes of a treebank.
        n_words: n.
        """
        exponent = np.zeros(n_words + 1, dtype=np.int64)
        before = np.tile(prior, (n_words + 1, 1))
        return OutsideEstimates(before, np.ones_like(before), exponent, exponent, 0.0, 0)

"""Compute the probabilities of all prefixes of a sentence, from left to right.

A first pass finds, with the coarse grammar, the items (symbols over words i ... j-1) that the words *before* j make
likely: the forward probability of an item times its inside probability is its posterior given words 0 ... j-1.  Items
with a posterior below a threshold are dropped.  No item is dropped because of words to come.  A second pass computes
the probabilities with the latent grammar, over the items that are left.

`inference.sums` defines forward vectors f_i, inside vectors α_ij and prefixes.  Both passes divide f_j by
2^scale[j], the coarse probability of words 0 ... j-1, and α_ij by 2^(scale[j] - scale[i]), so that nothing underflows.

If no tree over the whole sentence is left, both passes are repeated, and keep the items of its chart as well
(`forests`).  So a sentence with a tree in its chart has a finite surprisal.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import ZERO, compiled, with_room
from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves
from spectral_latent.grammar._inside_chart import LimitError
from spectral_latent.grammar.forests import SpanForest
from spectral_latent.inference import LeftCorners, inside
from spectral_latent.model.surprisal import NextWords, Prefixes
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray


class PrefixForest(NamedTuple):
    """The items that are likely given the words before their end, and all edges that derive these items.

    forest: a forest of I items, without roots.
    first: (I,) the first word of each item.
    end_ptr: (n + 2,) the items that end at word j are end_ptr[j] ... end_ptr[j+1] - 1.
    scale: (n + 1,) binary logarithms of the coarse probabilities of prefixes."""

    forest: Forest
    first: IntArray
    end_ptr: IntArray
    scale: FloatArray


class _Chart(NamedTuple):
    """The symbol, first word and inside score of each item, in order of the ends of items, with room for more items."""

    symbol: IntArray
    first: IntArray
    inside: FloatArray


@compiled
def _add_column(
    grammar: CoarseGrammar,
    chart: _Chart,
    end_ptr: IntArray,
    j: int,
    forward: FloatArray,
    threshold: float,
    kept: BoolArray,
    scores: FloatArray,
    item_of: IntArray,
) -> tuple[IntArray, int]:
    """Append the items that end at word j + 1, and list their edges: item, binary rule, left and right child.

    end_ptr: (n + 2,) the first item that ends at each word, up to word j + 1.
    forward: (n + 1, S) the forward vectors, of which f_0 ... f_j are computed.
    kept: (n, S) the items, by first word and symbol, that are kept although they are below the threshold.
    scores: (n, S) inside scores by first word and symbol; only row j, the leaf rules of word j, is not zero, and all
    are zero in the end.
    item_of: (n, S) room for the number of each item by first word and symbol; -1 everywhere before and after.
    Returns the edges (E, 4), and the new number of items."""
    begin = end_ptr[j + 1]
    size = begin
    n_pairs = len(grammar.pair_ptr) - 1
    # Go from short items to long items.  The score of an item over words k ... j is complete when all shorter items are
    # done; then join the item, as a right child, with every left child that ends where it begins.
    for k in range(j, -1, -1):
        for c in range(len(grammar.root)):
            score = scores[k, c]
            scores[k, c] = 0.0
            if score == 0.0 or (forward[k, c] * score < threshold and not kept[k, c]):
                continue
            chart.symbol[size] = c
            chart.first[size] = k
            chart.inside[size] = score
            item_of[k, c] = size
            size += 1
            for left in range(end_ptr[k], end_ptr[k + 1]):
                pair = grammar.pair[chart.symbol[left], c]
                if pair < n_pairs:
                    both = chart.inside[left] * score
                    for r in range(grammar.pair_ptr[pair], grammar.pair_ptr[pair + 1]):
                        scores[chart.first[left], grammar.pair_parent[r]] += grammar.pair_weight[r] * both
    # Go through the same pairs again, now that it is known which of their parents are kept, and list the edges.
    edges = np.empty((1024, 4), dtype=np.int64)
    n_edges = ZERO
    for right in range(begin, size):
        k = chart.first[right]
        for left in range(end_ptr[k], end_ptr[k + 1]):
            pair = grammar.pair[chart.symbol[left], chart.symbol[right]]
            if pair < n_pairs:
                for r in range(grammar.pair_ptr[pair], grammar.pair_ptr[pair + 1]):
                    item = item_of[chart.first[left], grammar.pair_parent[r]]
                    if item >= 0:
                        edges = with_room(edges, n_edges)
                        edges[n_edges, 0] = item
                        edges[n_edges, 1] = grammar.pair_number[r]
                        edges[n_edges, 2] = left
                        edges[n_edges, 3] = right
                        n_edges += 1
    # Reset the room for the next word.
    for item in range(begin, size):
        item_of[chart.first[item], chart.symbol[item]] = -1
    return edges[:n_edges], size


def prefix_forest(
    grammar: CoarseGrammar,
    corners: LeftCorners,
    leaves: CoarseLeaves,
    threshold: float,
    most: int,
    deadline: float = math.inf,
    kept: SpanForest | None = None,
) -> PrefixForest:
    """Build the forest of the items that are likely given the words before their end, and of those that are kept.

    The forest ends before the first word that has probability 0 after the words before it."""
    n = len(leaves.start) - 1
    n_symbols = len(grammar.root)
    chart = _Chart(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
    forward = np.zeros((n + 1, n_symbols, 1))
    forward[0] = corners.first
    scale = [0.0]
    end_ptr = np.zeros(n + 2, dtype=np.int64)
    scores = np.zeros((n, n_symbols))
    item_of = np.full((n, n_symbols), -1)
    is_kept = np.zeros((n, n_symbols), dtype=np.bool_)
    edges = [np.empty((0, 4), dtype=np.int64)]
    for j in range(n):
        of_word = slice(leaves.start[j], leaves.start[j + 1])
        tags = leaves.symbol[of_word]
        # The probability of word j after the words before it, by which all later numbers are divided.
        probability = forward[j, tags, 0] @ leaves.weight[of_word]
        if not probability > 0.0:
            end_ptr = end_ptr[: j + 2]
            break
        scale.append(scale[-1] + math.log2(probability))
        np.add.at(scores[j], tags, leaves.weight[of_word] / probability)
        begin = end_ptr[j + 1]
        if (end := begin + (j + 1) * n_symbols) > len(chart.symbol):  # make room
            more = np.zeros(2 * end - len(chart.symbol), dtype=np.int64)
            symbol, first = np.append(chart.symbol, more), np.append(chart.first, more)
            chart = _Chart(symbol, first, np.append(chart.inside, more.astype(np.float64)))
        if kept is not None:
            of_column = kept.end == j + 1
            is_kept[:] = False
            is_kept[kept.first[of_column], kept.forest.symbol[of_column]] = True
        binary, size = _add_column(grammar, chart, end_ptr, j, forward[:, :, 0], threshold, is_kept, scores, item_of)
        if size > most:
            raise LimitError(f"the chart of {n} words under {n_symbols} symbols has more than {most} items")
        if time.thread_time() > deadline:
            raise LimitError(f"the chart of {n} words under {n_symbols} symbols takes too long")
        end_ptr[j + 2] = size
        column = slice(begin, size)
        forward[j + 1] = corners.after(forward, chart.first[column], chart.symbol[column], chart.inside[column, None])
        # Make edges of the leaf rules of word j: their items have no other word.
        item = np.full(n_symbols, -1)
        alone = np.arange(begin, size)[chart.first[column] == j]
        item[chart.symbol[alone]] = alone
        leaf = np.full((len(tags), 4), -1)
        leaf[:, 0] = item[tags]
        leaf[:, 1] = leaves.rule[of_word]
        edges += [leaf[leaf[:, 0] >= 0], binary]
    size = end_ptr[-1]
    item, rule, left, right = np.concatenate(edges).T
    order = np.lexsort((rule, item))
    forest = Forest(
        symbol=chart.symbol[:size],
        start=np.searchsorted(item[order], np.arange(size + 1)),
        rule=rule[order],
        left=left[order],
        right=right[order],
        root=np.zeros(0, dtype=np.int64),
        component=np.zeros(0, dtype=np.int64),
    )
    return PrefixForest(forest, chart.first[:size], end_ptr, np.array(scale))


class LatentPrefixes(NamedTuple):
    """The prefixes of n words under the latent grammar, of which the first r are possible.

    corners: the left corners of the whole latent grammar.
    inside: (I, M) the vectors of the items.
    end: (I,) the word after the last one of each item.
    forward: (r + 1, S, M) the forward vectors f_0 ... f_r."""

    operators: ObservableOperators
    corners: LeftCorners
    leaves: CoarseLeaves
    spans: PrefixForest
    inside: FloatArray
    end: IntArray
    forward: FloatArray

    @staticmethod
    def compute(
        operators: ObservableOperators, corners: LeftCorners, leaves: CoarseLeaves, spans: PrefixForest
    ) -> LatentPrefixes:
        """Compute the vectors of the items and prefixes."""
        reached = len(spans.scale) - 1
        end = np.repeat(np.arange(reached + 1), np.diff(spans.end_ptr))
        factors = np.where(end - spans.first > 1, corners.of_node[spans.forest.symbol], 1.0)
        # An item over words i ... j-1 is kept as α_ij / 2^(scale[j] - scale[i]); its exponent is multiplied in.
        vectors, exponents, _ = inside(operators, spans.forest, factors)
        vectors *= np.exp2(exponents - (spans.scale[end] - spans.scale[spans.first]))[:, None]
        forward = np.zeros((reached + 1, *corners.first.shape))
        forward[0] = corners.first
        for j in range(1, reached + 1):
            column = slice(spans.end_ptr[j], spans.end_ptr[j + 1])
            forward[j] = corners.after(forward, spans.first[column], spans.forest.symbol[column], vectors[column])
        return LatentPrefixes(operators, corners, leaves, spans, vectors, end, forward)

    @property
    def is_whole(self) -> bool:
        """Whether some tree over all words is left."""
        n = len(self.leaves.start) - 1
        return len(self.forward) == n + 1 and self._sentence(n) > 0.0

    def _sentence(self, n: int) -> float:
        """Compute the probability that the first n words are a whole sentence, divided by 2^scale[n]."""
        roots = np.flatnonzero((self.spans.first == 0) & (self.end == n))
        symbol = self.spans.forest.symbol[roots]
        root = self.operators.root[symbol] * self.corners.of_root[symbol, None]
        return float(np.sum(root * self.inside[roots]))

    def probabilities(self) -> Prefixes:
        """Compute the probabilities of all prefixes."""
        leaves = self.leaves
        n = len(leaves.start) - 1
        reached = len(self.forward) - 1
        words = np.zeros(n + 1)
        tags = np.zeros(n)
        for j in range(min(reached + 1, n)):
            of_word = slice(leaves.start[j], leaves.start[j + 1])
            tags_of_word = leaves.symbol[of_word]
            words[j + 1] = np.sum(self.forward[j, tags_of_word] * self.operators.leaf[leaves.rule[of_word]])
            distinct = np.unique(tags_of_word)
            tags[j] = np.sum(self.forward[j, distinct] * self.corners.leaf_total[distinct])
        words[0] = np.sum(self.operators.root * self.corners.total)
        # Multiply by the powers of two again, and divide by words[0], the probability that the tree is finite.
        scale = np.full(n + 1, self.spans.scale[-1])
        scale[: reached + 1] = self.spans.scale
        with np.errstate(divide="ignore"):
            log_words = np.log(words) + np.log(2.0) * np.append(scale[:1], scale[:-1]) - np.log(words[0])
            log_tags = np.log(tags) + np.log(2.0) * scale[:-1] - np.log(words[0])
            log_sentence = np.log(self._sentence(n)) + np.log(2.0) * scale[-1] - np.log(words[0])
        return Prefixes(log_words, log_tags, float(log_sentence))

    def next_words(self, n_terminals: int) -> NextWords:
        """Compute the probabilities of the X terminals, and of the end, after each prefix; they sum to 1."""
        grammar = self.corners.operators
        symbol, terminal = grammar.rules.leaf.T
        following = np.full((len(self.leaves.start), n_terminals + 1), np.nan)
        for j, forward in enumerate(self.forward):
            of_rules = np.einsum("rm,rm->r", grammar.leaf, forward[symbol])
            following[j, :-1] = np.bincount(terminal, of_rules, minlength=n_terminals)
            following[j, -1] = self._sentence(j)
        return NextWords(self.probabilities().words, following / following.sum(axis=1, keepdims=True))

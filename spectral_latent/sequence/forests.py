"""The forest of bare sequences: a trellis of the tags that each position may have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent.trees import BoolArray, Forest, IntArray, Rules

__all__ = ["OPEN", "Candidates", "Trellis", "TrellisBuilder"]

OPEN = -1  # the terminal of a position whose observation is yet to come


class Candidates(NamedTuple):
    """The tags that each of N positions may have: those of position i at start[i] ... start[i + 1] - 1.

    start: (N + 1,).  tag: (C,).  rule: (C,) the leaf rule t → x, or -1 where the tag emits nothing, with weight zero:
    what comes before such a candidate is known, and nothing comes after it.
    """

    start: IntArray
    tag: IntArray
    rule: IntArray

    @property
    def position(self) -> IntArray:
        """(C,) the position of each candidate."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def with_all_tags(self, n_tags: int) -> Candidates:
        """All tags at every position, those that are no candidates here with rule -1."""
        rule = np.full((len(self.start) - 1, n_tags), -1, dtype=np.int64)
        rule[self.position, self.tag] = self.rule
        n = len(rule)
        return Candidates(n_tags * np.arange(n + 1), np.tile(np.arange(n_tags), n), rule.ravel())

    def where(self, keep: BoolArray) -> Candidates:
        """Some of the candidates (C,)."""
        return Candidates(np.concatenate([[0], np.cumsum(keep)])[self.start], self.tag[keep], self.rule[keep])


class Trellis(NamedTuple):
    """A forest with one component per sequence, and where its items are.

    emission, spine: (C,) the items of each candidate, a tag at a position.
    """

    forest: Forest
    candidates: Candidates
    emission: IntArray
    spine: IntArray


@compiled
def _sizes(ends: IntArray, start: IntArray, leaf: IntArray) -> tuple[int, int]:
    """Count the edges and roots of the trellises of sequences that lie at ends[s] ... ends[s + 1] - 1."""
    edges, roots = 0, 0
    for s in range(len(ends) - 1):
        roots += start[ends[s] + 1] - start[ends[s]]
        for i in range(ends[s], ends[s + 1]):
            # One edge over the emission, and one over the spine for each candidate of the next position.
            following = start[i + 2] - start[i + 1] if i + 1 < ends[s + 1] else 1
            for c in range(start[i], start[i + 1]):
                edges += 1 + (following if leaf[c] >= 0 else 1)
    return edges, roots


@compiled
def _fill(
    ends: IntArray, start: IntArray, tag: IntArray, leaf: IntArray, last: IntArray, following: IntArray
) -> tuple[IntArray, ...]:
    """Fill the columns of the forest, then those of `Trellis`: positions from the last to the first.

    ends: (T + 1,), start: (N + 1,), tag, leaf: (C,) as in `TrellisBuilder.build`.
    last: (K,) the unary rule of each tag, or -1.
    following: (K, K) the binary rule of each pair of tags, or -1.
    """
    n_edges, n_roots = _sizes(ends, start, leaf)
    n_items = 2 * len(tag)
    symbol, first = np.empty(n_items, np.int64), np.empty(n_items + 1, np.int64)
    rule, left, right = np.empty(n_edges, np.int64), np.full(n_edges, -1, np.int64), np.full(n_edges, -1, np.int64)
    root, component = np.empty(n_roots, np.int64), np.empty(n_roots, np.int64)
    emission, spine = np.empty(len(tag), np.int64), np.empty(len(tag), np.int64)
    item, edge, at_root = 0, 0, 0
    for s in range(len(ends) - 1):
        for i in range(ends[s + 1] - 1, ends[s] - 1, -1):
            # The emissions of a position, one edge each.
            for c in range(start[i], start[i + 1]):
                symbol[item], first[item], rule[edge], emission[c] = tag[c], edge, leaf[c], item
                item += 1
                edge += 1
            # Its spines: a tag that emits nothing, the last position, or any before another.
            for c in range(start[i], start[i + 1]):
                symbol[item], first[item], spine[c] = len(last) + tag[c], edge, item
                if leaf[c] < 0:
                    rule[edge] = -1
                    edge += 1
                elif i + 1 == ends[s + 1]:
                    rule[edge], left[edge] = last[tag[c]], emission[c]
                    edge += 1
                else:
                    for d in range(start[i + 1], start[i + 2]):
                        rule[edge], left[edge], right[edge] = following[tag[c], tag[d]], emission[c], spine[d]
                        edge += 1
                if i == ends[s]:
                    root[at_root], component[at_root] = item, s
                    at_root += 1
                item += 1
    first[n_items] = n_edges
    return symbol, first, rule, left, right, root, component, emission, spine


class TrellisBuilder:
    """Build trellises under one table of rules, for K tags.

    Raises ValueError if the rules are not those of sequences of K tags.

    >>> rules = Rules(np.array([[0, 7], [1, 7], [1, 8]]), np.array([[2, 0], [3, 1]]), np.array([[2, 0, 3], [3, 1, 2]]))
    >>> builder = TrellisBuilder(rules, n_tags=2)
    >>> trellis = builder.build(np.array([0, 2]), builder.candidates(np.array([7, 8])))
    >>> trellis.candidates.tag, trellis.forest.n_items, trellis.forest.n_edges, trellis.forest.root
    (array([0, 1, 1]), 6, 6, array([4, 5]))
    """

    def __init__(self, rules: Rules, n_tags: int) -> None:
        check_range("right children of binary rules", rules.binary[:, 2], n_tags, 2 * n_tags)
        check_range("left children of binary rules", rules.binary[:, 1], 0, n_tags)
        check_range("children of unary rules", rules.unary[:, 1], 0, n_tags)
        self.n_tags = n_tags
        self.leaf_tag, terminal = rules.leaf.T
        self.by_terminal = np.argsort(terminal, kind="stable")
        self.terminals = terminal[self.by_terminal]
        self.last = np.full(n_tags, -1)
        self.last[rules.unary[:, 1]] = np.arange(len(rules.unary))
        self.following = np.full((n_tags, n_tags), -1)
        self.following[rules.binary[:, 1], rules.binary[:, 2] - n_tags] = np.arange(len(rules.binary))

    def candidates(self, terminal: IntArray) -> Candidates:
        """All tags that may emit the terminals (N,); at an `OPEN` position, all tags."""
        first, end = (np.searchsorted(self.terminals, terminal, side) for side in ("left", "right"))
        count = np.where(terminal == OPEN, self.n_tags, end - first)
        start = np.concatenate([[0], np.cumsum(count)])
        position = np.repeat(np.arange(len(terminal)), count)
        place = np.arange(start[-1]) - start[position]
        is_open = terminal[position] == OPEN
        known = self.by_terminal[np.where(is_open, 0, first[position] + place)]
        return Candidates(start, np.where(is_open, place, self.leaf_tag[known]), np.where(is_open, -1, known))

    def build(self, ends: IntArray, candidates: Candidates) -> Trellis:
        """Build the trellises of T sequences.

        ends: (T + 1,) where among the N positions each sequence begins, and N.
        candidates: of the N positions, by tags 0 ... K - 1.
        Raises ValueError if these do not fit together.
        """
        start, tag, rule = candidates
        check_starts("starts of candidates", start, np.size(tag))
        check_starts("starts of sequences", ends, len(start) - 1)
        check_column("tags of candidates", tag, (np.size(tag),), np.int64)
        check_column("leaf rules of candidates", rule, (np.size(tag),), np.int64)
        check_range("tags of candidates", tag, 0, self.n_tags)
        *columns, emission, spine = _fill(ends, *candidates, self.last, self.following)
        return Trellis(Forest(*columns), candidates, emission, spine)

"""Build the trellises of sequences without known tags: forests in which each position has candidates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts, compiled, compiled_part
from spectral_latent.inference.inside_outside import trusted_posteriors
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules, ranges


class Candidates(NamedTuple):
    """The tags that each of N positions may have; position i has candidates start[i] ... start[i + 1] - 1.

    start: (N + 1,) the first candidate of each position, and C.
    tag: (C,) the tag of each candidate.
    rule: (C,) the leaf rule t → x of each candidate."""

    start: IntArray
    tag: IntArray
    rule: IntArray

    @property
    def position(self) -> IntArray:
        """(C,) the position of each candidate."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def where(self, keep: BoolArray) -> Candidates:
        """Select some of the candidates; keep: (C,)."""
        return Candidates(np.concatenate([[0], np.cumsum(keep)])[self.start], self.tag[keep], self.rule[keep])


@compiled_part
def _sizes(ends: IntArray, start: IntArray) -> tuple[int, int]:
    """Count the edges and roots of trellises; sequence s has the positions ends[s] ... ends[s + 1] - 1."""
    edges = 0
    roots = 0
    for s in range(len(ends) - 1):
        roots += start[ends[s] + 1] - start[ends[s]]
        for i in range(ends[s], ends[s + 1]):
            # A candidate has one edge for its emission, and one edge of its spine for each candidate of the next
            # position; the spine of a last position has one edge.
            following = start[i + 2] - start[i + 1] if i + 1 < ends[s + 1] else 1
            edges += (start[i + 1] - start[i]) * (1 + following)
    return edges, roots


@compiled
def _fill(
    ends: IntArray, start: IntArray, tag: IntArray, leaf: IntArray, last: IntArray, following: IntArray
) -> tuple[IntArray, ...]:
    """Make the columns of a forest, and list the item of each candidate's spine; last positions come first.

    ends: (T + 1,) the first position of each sequence, and N.
    start: (N + 1,) the first candidate of each position, and C.
    tag: (C,) the tag of each candidate.
    leaf: (C,) the leaf rule of each candidate.
    last: (K,) the unary rule of each tag, or -1.
    following: (K, K) the binary rule of each pair of tags, or -1."""
    n_edges, n_roots = _sizes(ends, start)
    n_items = 2 * len(tag)
    symbol = np.empty(n_items, np.int64)
    first = np.empty(n_items + 1, np.int64)
    rule = np.empty(n_edges, np.int64)
    left = np.full(n_edges, -1, np.int64)
    right = np.full(n_edges, -1, np.int64)
    root = np.empty(n_roots, np.int64)
    component = np.empty(n_roots, np.int64)
    emission = np.empty(len(tag), np.int64)
    spine = np.empty(len(tag), np.int64)
    item = 0
    edge = 0
    at_root = 0
    for s in range(len(ends) - 1):
        for i in range(ends[s + 1] - 1, ends[s] - 1, -1):
            # The emissions of a position have one edge each.
            for c in range(start[i], start[i + 1]):
                symbol[item] = tag[c]
                first[item] = edge
                rule[edge] = leaf[c]
                emission[c] = item
                item += 1
                edge += 1
            # The spines of the position; those of the next position have their items already.
            for c in range(start[i], start[i + 1]):
                symbol[item] = len(last) + tag[c]
                first[item] = edge
                spine[c] = item
                if i + 1 == ends[s + 1]:
                    # The spine of the last position has one edge, over its emission.
                    rule[edge] = last[tag[c]]
                    left[edge] = emission[c]
                    edge += 1
                else:
                    # Any other spine has one edge for each spine of the next position.
                    for d in range(start[i + 1], start[i + 2]):
                        rule[edge] = following[tag[c], tag[d]]
                        left[edge] = emission[c]
                        right[edge] = spine[d]
                        edge += 1
                # The spines of the first position are the roots of the sequence.
                if i == ends[s]:
                    root[at_root] = item
                    component[at_root] = s
                    at_root += 1
                item += 1
    first[n_items] = n_edges
    return symbol, first, rule, left, right, root, component, spine


class TrellisBuilder:
    """Build trellises under one table of rules, for K tags.

    Raises ValueError for other rules."""

    def __init__(self, rules: Rules, n_tags: int) -> None:
        check_range("right children of binary rules", rules.binary[:, 2], n_tags, 2 * n_tags)
        check_range("left children of binary rules", rules.binary[:, 1], 0, n_tags)
        check_range("children of unary rules", rules.unary[:, 1], 0, n_tags)
        spine, emission = np.concatenate([rules.unary, rules.binary[:, :2]]).T
        if not np.array_equal(spine, n_tags + emission):
            raise ValueError("the parent of a rule must be the spine of the tag that it emits")
        self.rules = rules
        self.n_tags = n_tags
        self.leaf_tag, terminal = rules.leaf.T
        # The rules of terminal x are by_terminal[first[x]] ... by_terminal[first[x + 1] - 1].
        self.by_terminal = np.argsort(terminal, kind="stable")
        self.first = np.cumsum(np.concatenate([[0], np.bincount(terminal), [0]]))
        self.last = np.full(n_tags, -1)
        self.last[rules.unary[:, 1]] = np.arange(len(rules.unary))
        self.following = np.full((n_tags, n_tags), -1)
        self.following[rules.binary[:, 1], rules.binary[:, 2] - n_tags] = np.arange(len(rules.binary))

    def candidates(self, terminal: IntArray) -> Candidates:
        """List all tags that may emit the terminals (N,); terminal: (N,)."""
        known = np.minimum(terminal, len(self.first) - 2)
        row, _ = ranges(self.first[known], self.first[known + 1])
        start = np.concatenate([[0], np.cumsum(self.first[known + 1] - self.first[known])])
        rule = self.by_terminal[row]
        return Candidates(start, self.leaf_tag[rule], rule)

    def build(self, ends: IntArray, candidates: Candidates) -> tuple[Forest, IntArray]:
        """Build the trellises of T sequences, and list the item (C,) of each candidate's spine.

        ends: (T + 1,) the first position of each sequence, and N.
        Raises ValueError if sequences and candidates do not fit together, or if a sequence is empty."""
        start, tag, rule = candidates
        check_starts("starts of candidates", start, np.size(tag))
        check_starts("starts of sequences", ends, len(start) - 1)
        length = np.diff(ends)
        if (length == 0).any():
            raise ValueError(f"sequence {int(np.argmin(length)) + 1} is empty")
        check_column("tags of candidates", tag, (np.size(tag),), np.int64)
        check_column("leaf rules of candidates", rule, (np.size(tag),), np.int64)
        check_range("tags of candidates", tag, 0, self.n_tags)
        *columns, spine = _fill(ends, *candidates, self.last, self.following)
        return Forest(*columns), spine

    def posteriors(self, operators: ObservableOperators, ends: IntArray, candidates: Candidates) -> FloatArray:
        """Compute the posteriors (C,) of the candidates of T sequences, under operators over these rules.

        ends: (T + 1,) the first position of each sequence, and N."""
        forest, spine = self.build(ends, candidates)
        marginals, _ = trusted_posteriors(operators, forest, to_left=False)
        return marginals[spine]

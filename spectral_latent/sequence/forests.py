"""Build the trellises of sequences without known tags, and compute the marginals of tags without them.

The marginals are equal to those of the spines of a trellis (`inference.marginals`).  But the two passes, backward and
forward, make no items and edges: each candidate is joined with every candidate of the next position, and a table has
the rule for each pair of tags.

| here | shape | meaning |
| --- | --- | --- |
| `inner` | (C, M) | inside vectors of the candidates' spines: of the candidate and all positions after it |
| `outer` | (C, M) | outside vectors of the spines: of all positions before the candidate |
| `pair` | (Q,) | an emission and the next spine in the pair space of their rule; see `operators.Tensors` |

The vectors of all candidates of a position are scaled by the same power of two.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import (
    check_column,
    check_range,
    check_starts,
    compiled,
    compiled_part,
    compiled_pass,
    pass_part,
    unsigned,
)
from spectral_latent.operators import ObservableOperators, PackedOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules

__all__ = ["Candidates", "Trellis", "TrellisBuilder", "candidate_marginals"]


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


class Trellis(NamedTuple):
    """A forest with one component for each sequence, and the items of its candidates.

    emission: (C,) the item of each candidate's emission.
    spine: (C,) the item of each candidate's spine."""

    forest: Forest
    emission: IntArray
    spine: IntArray


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
    """Make the columns of the forest and the other columns of `Trellis`; the last position of a sequence comes first.

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
    return symbol, first, rule, left, right, root, component, emission, spine


class TrellisBuilder:
    """Build trellises under one table of rules, for K tags.

    rules: the rules of tagged sequences; see `conversion`.
    n_tags: K, the number of tags.
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
        self.by_terminal = np.argsort(terminal, kind="stable")
        self.terminals = terminal[self.by_terminal]
        self.last = np.full(n_tags, -1)
        self.last[rules.unary[:, 1]] = np.arange(len(rules.unary))
        self.following = np.full((n_tags, n_tags), -1)
        self.following[rules.binary[:, 1], rules.binary[:, 2] - n_tags] = np.arange(len(rules.binary))

    def candidates(self, terminal: IntArray) -> Candidates:
        """List all tags that may emit the terminals (N,); terminal: (N,)."""
        first = np.searchsorted(self.terminals, terminal, "left")
        count = np.searchsorted(self.terminals, terminal, "right") - first
        start = np.concatenate([[0], np.cumsum(count)])
        position = np.repeat(np.arange(len(terminal)), count)
        # The rules of a terminal are neighbours in `by_terminal`: list them for each position.
        rule = self.by_terminal[first[position] + np.arange(start[-1]) - start[position]]
        return Candidates(start, self.leaf_tag[rule], rule)

    def build(self, ends: IntArray, candidates: Candidates) -> Trellis:
        """Build the trellises of T sequences.

        ends: (T + 1,) the first position of each sequence, and N.
        Raises ValueError if sequences and candidates do not fit together."""
        self.check(ends, candidates)
        *columns, emission, spine = _fill(ends, *candidates, self.last, self.following)
        return Trellis(Forest(*columns), emission, spine)

    def check(self, ends: IntArray, candidates: Candidates) -> None:
        """Raise ValueError unless candidates fit sequences and tags, or if a sequence is empty; ends: (T + 1,)."""
        start, tag, rule = candidates
        check_starts("starts of candidates", start, np.size(tag))
        check_starts("starts of sequences", ends, len(start) - 1)
        length = np.diff(ends)
        if (length == 0).any():
            raise ValueError(f"sequence {int(np.argmin(length)) + 1} is empty")
        check_column("tags of candidates", tag, (np.size(tag),), np.int64)
        check_column("leaf rules of candidates", rule, (np.size(tag),), np.int64)
        check_range("tags of candidates", tag, 0, self.n_tags)


@pass_part
def _normalise(vectors: FloatArray, first: int, end: int) -> None:
    """Scale the vectors of one position, vectors[first:end] (C, M), so that their largest entry is in [1/2, 1)."""
    largest = 0.0
    for c in range(first, end):
        for h in range(vectors.shape[1]):
            if abs(vectors[c, h]) > largest:
                largest = abs(vectors[c, h])
    # A power of two rounds nothing.  It is at most 2^1000, so that it is a finite number; smaller vectors stay smaller.
    scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))
    for c in range(first, end):
        for h in range(vectors.shape[1]):
            vectors[c, h] *= scale


@pass_part
def _add_inner(
    data: FloatArray,
    at: int,
    terms: int,
    m_a: int,
    m_b: int,
    m_c: int,
    leaf: FloatArray,
    rule: int,
    inner: FloatArray,
    c: int,
    d: int,
    pair: FloatArray,
) -> None:
    """Add to inner[c] the inside vector of the spine of c over the emission leaf[rule] and the next spine inner[d].

    data: (n,) the numbers of all tensors.
    leaf: (R0, M) the vectors of leaf rules.
    inner: (C, M) the inside vectors of spines.
    pair: (Q,) room for a vector in pair space."""
    width = terms if terms else m_b * m_c
    second = at + m_a * width
    third = second + terms * m_b
    # With y the emission and z the next spine, the vector in pair space is (second[q] · y) (third[q] · z), q < terms,
    # or the outer product of y and z if the tensor is multiplied out.
    for q in range(terms):
        of_emission = 0.0
        for j in range(m_b):
            of_emission += data[unsigned(second + q * m_b + j)] * leaf[rule, j]
        of_next = 0.0
        for k in range(m_c):
            of_next += data[unsigned(third + q * m_c + k)] * inner[d, k]
        pair[q] = of_emission * of_next
    if terms == 0:
        for j in range(m_b):
            for k in range(m_c):
                pair[unsigned(j * m_c + k)] = leaf[rule, j] * inner[d, k]
    # The first factor is a matrix from pair space to the states of the spine.
    for h in range(m_a):
        row = at + h * width
        total = 0.0
        for q in range(width):
            total += data[unsigned(row + q)] * pair[q]
        inner[c, h] += total


@pass_part
def _add_outer(
    data: FloatArray,
    at: int,
    terms: int,
    m_a: int,
    m_b: int,
    m_c: int,
    leaf: FloatArray,
    rule: int,
    outer: FloatArray,
    c: int,
    d: int,
    pair: FloatArray,
) -> None:
    """Add to outer[d] the outside vector of the next spine, after the spine outer[c] and the emission leaf[rule].

    outer: (C, M) the outside vectors of spines."""
    width = terms if terms else m_b * m_c
    second = at + m_a * width
    third = second + terms * m_b
    # The transpose of the first factor maps the spine to pair space.
    for q in range(width):
        pair[q] = 0.0
    for h in range(m_a):
        row = at + h * width
        for q in range(width):
            pair[q] += outer[c, h] * data[unsigned(row + q)]
    # The other factors, with the emission filled in, map pair space to the next spine.
    for q in range(terms):
        of_emission = 0.0
        for j in range(m_b):
            of_emission += data[unsigned(second + q * m_b + j)] * leaf[rule, j]
        for k in range(m_c):
            outer[d, k] += pair[q] * of_emission * data[unsigned(third + q * m_c + k)]
    if terms == 0:
        for j in range(m_b):
            for k in range(m_c):
                outer[d, k] += leaf[rule, j] * pair[unsigned(j * m_c + k)]


@compiled_pass
def _marginal_pass(
    operators: PackedOperators,
    last: IntArray,
    following: IntArray,
    ends: IntArray,
    start: IntArray,
    tag: IntArray,
    rule: IntArray,
    inner: FloatArray,
    outer: FloatArray,
    pair: FloatArray,
    marginals: FloatArray,
) -> None:
    """Compute the marginals of the candidates of sequences; sequence s has the positions ends[s] ... ends[s + 1] - 1.

    last: (K,) the unary rule of each tag, or -1.
    following: (K, K) the binary rule of each pair of tags, or -1.
    ends: (T + 1,) the first position of each sequence, and the number of all positions.
    start: (N + 1,) the first candidate of each position, and the number of all candidates.
    tag: (C,) the tag of each candidate.
    rule: (C,) the leaf rule of each candidate.
    inner: (C, M) zeros; gets the inside vectors.
    outer: (C, M) zeros; gets the outside vectors.
    pair: (Q,) room for a vector in pair space.
    marginals: (C,) gets the marginals, with an unknown common factor at each position."""
    states = operators.states
    root = operators.root
    leaf = operators.leaf
    unary = operators.unary
    offset = operators.offset
    terms = operators.terms
    data = operators.data
    n_tags = len(last)
    for s in range(len(ends) - 1):
        # Backwards: the inside vectors of a position are sums over the candidates of the next position.
        for i in range(ends[s + 1] - 1, ends[s] - 1, -1):
            for c in range(start[i], start[i + 1]):
                m_a, m_b = states[n_tags + tag[c]], states[tag[c]]
                # The last position has a unary rule, from the spine to its emission.
                r = last[tag[c]]
                if i + 1 == ends[s + 1] and r >= 0:
                    for h in range(m_a):
                        for j in range(m_b):
                            inner[c, h] += unary[r, h, j] * leaf[rule[c], j]
                if i + 1 < ends[s + 1]:
                    for d in range(start[i + 1], start[i + 2]):
                        r = following[tag[c], tag[d]]
                        if r >= 0:
                            m_c = states[n_tags + tag[d]]
                            _add_inner(data, offset[r], terms[r], m_a, m_b, m_c, leaf, rule[c], inner, c, d, pair)
            _normalise(inner, start[i], start[i + 1])
        # Forwards: the outside vectors of a position are finished, multiplied with the inside vectors, and added to the
        # outside vectors of the next position.
        for c in range(start[ends[s]], start[ends[s] + 1]):
            for h in range(root.shape[1]):
                outer[c, h] = root[n_tags + tag[c], h]
        for i in range(ends[s], ends[s + 1]):
            _normalise(outer, start[i], start[i + 1])
            for c in range(start[i], start[i + 1]):
                marginals[c] = 0.0
                for h in range(root.shape[1]):
                    marginals[c] += inner[c, h] * outer[c, h]
                if i + 1 < ends[s + 1]:
                    m_a, m_b = states[n_tags + tag[c]], states[tag[c]]
                    for d in range(start[i + 1], start[i + 2]):
                        r = following[tag[c], tag[d]]
                        if r >= 0:
                            m_c = states[n_tags + tag[d]]
                            _add_outer(data, offset[r], terms[r], m_a, m_b, m_c, leaf, rule[c], outer, c, d, pair)


def candidate_marginals(
    operators: ObservableOperators, builder: TrellisBuilder, ends: IntArray, candidates: Candidates
) -> FloatArray:
    """Compute the marginals (C,) of the candidates of T sequences, with an unknown common factor at each position.

    ends: (T + 1,) the first position of each sequence, and N.
    Raises ValueError if sequences, candidates and operators do not fit together."""
    builder.check(ends, candidates)
    if not operators.rules.equals(builder.rules):
        raise ValueError("candidates are weighed by operators over the rules of their builder")
    check_range("leaf rules of candidates", candidates.rule, 0, len(operators.leaf))
    n = len(candidates.tag)
    inner, outer = np.zeros((2, n, operators.root.shape[1]))
    pair = np.empty(int(operators.binary.widths.max(initial=0)))
    marginals = np.empty(n)
    _marginal_pass(operators.packed, builder.last, builder.following, ends, *candidates, inner, outer, pair, marginals)
    return marginals

"""Compute the marginals of the tags of sequences, by a backward and a forward pass over their candidates.

The marginals are equal to those of the spines of a trellis (`inference.marginals`).  But these passes make no items and
edges: each candidate is joined with every candidate of the next position, and a table of tags has the rule for each
pair of tags.

| here | shape | meaning |
| --- | --- | --- |
| `inner` | (C, M) | inside vectors of the candidates' spines: of the candidate and all positions after it |
| `outer` | (C, M) | outside vectors of the spines: of all positions before the candidate |
| `pair` | (Q,) | an emission and the next spine in the pair space of their rule; see `operators.Tensors` |

The vectors of all candidates of a position are scaled by the same power of two.
"""

from __future__ import annotations

import math

import numpy as np

from spectral_latent._compiled import check_range, compiled_pass, pass_part, place
from spectral_latent.operators import ObservableOperators, PackedOperators
from spectral_latent.sequence.forests import Candidates, TrellisBuilder
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["candidate_marginals"]


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
    pair: (Q,) room for a vector in pair space.
    """
    width = terms if terms else m_b * m_c
    second = at + m_a * width
    third = second + terms * m_b
    # With y the emission and z the next spine, the vector in pair space is (second[q] · y) (third[q] · z), q < terms,
    # or the outer product of y and z if the tensor is multiplied out.
    for q in range(terms):
        of_emission = 0.0
        for j in range(m_b):
            of_emission += data[place(second + q * m_b + j)] * leaf[rule, j]
        of_next = 0.0
        for k in range(m_c):
            of_next += data[place(third + q * m_c + k)] * inner[d, k]
        pair[q] = of_emission * of_next
    if terms == 0:
        for j in range(m_b):
            for k in range(m_c):
                pair[place(j * m_c + k)] = leaf[rule, j] * inner[d, k]
    # The first factor is a matrix from pair space to the states of the spine.
    for h in range(m_a):
        row = at + h * width
        total = 0.0
        for q in range(width):
            total += data[place(row + q)] * pair[q]
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

    outer: (C, M) the outside vectors of spines.
    """
    width = terms if terms else m_b * m_c
    second = at + m_a * width
    third = second + terms * m_b
    # The transpose of the first factor maps the spine to pair space.
    for q in range(width):
        pair[q] = 0.0
    for h in range(m_a):
        row = at + h * width
        for q in range(width):
            pair[q] += outer[c, h] * data[place(row + q)]
    # The other factors, with the emission filled in, map pair space to the next spine.
    for q in range(terms):
        of_emission = 0.0
        for j in range(m_b):
            of_emission += data[place(second + q * m_b + j)] * leaf[rule, j]
        for k in range(m_c):
            outer[d, k] += pair[q] * of_emission * data[place(third + q * m_c + k)]
    if terms == 0:
        for j in range(m_b):
            for k in range(m_c):
                outer[d, k] += leaf[rule, j] * pair[place(j * m_c + k)]


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
    marginals: (C,) gets the marginals, with an unknown common factor at each position.
    """
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
    Raises ValueError if sequences, candidates and operators do not fit together.
    """
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

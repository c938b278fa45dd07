"""Tags of sequences: a trellis pruned by the coarse model, and what its marginals say.

| here | meaning |
| --- | --- |
| μ(i, t) | the marginal of tag t at position i |
| μ(i, t, t') | that of t at position i and t' at the next |
| μ(1, t_1) Π μ(i, t_i, t_{i+1}) / μ(i, t_i) | a path's probability in the Markov chain with these marginals |

Where estimates are negative their absolute values are taken, and μ(i, t) is then Σ_t' |μ(i, t, t')|.

The chain is exact where tags have one state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.inference import edge_marginals, inside, k_best_derivations, marginals, outside
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.forests import Candidates, Trellis, TrellisBuilder
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

__all__ = ["Decoder", "Path", "TagMarginals", "batches", "in_batches", "likely_rules", "state_marginals"]

_BATCH = 4096  # positions whose forests are built together
_Row = TypeVar("_Row", bound=Sized)
_T = TypeVar("_T")


def batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    """The rows that are not empty, a few thousand positions at a time.

    >>> list(batches([[1, 2], [], [3]]))
    [[[1, 2], [3]]]
    """
    batch: list[_Row] = []
    size = 0
    for row in rows:
        if batch and size + len(row) > _BATCH:
            yield batch
            batch, size = [], 0
        if len(row):
            batch.append(row)
            size += len(row)
    if batch:
        yield batch


def in_batches(rows: Sequence[_Row], find: Callable[[list[_Row]], Iterable[_T]]) -> list[list[_T]]:
    """What is found at the positions of every row, if `find` gives that of all positions of a batch.

    >>> in_batches([[1, 2], [], [3]], lambda batch: [-x for row in batch for x in row])
    [[-1, -2], [], [-3]]
    """
    found = chain.from_iterable(map(find, batches(rows)))
    return [list(islice(found, len(row))) for row in rows]


def state_marginals(sequences: Sequences, operators: ObservableOperators) -> FloatArray:
    """p(h | sequence) (N, m) at every position, of operators that are an untagged hidden Markov model's.

    Where a sequence has probability zero, all states are equally likely.
    """
    builder = TrellisBuilder(operators.rules, n_tags=1)
    trellis = builder.build(sequences.start, builder.candidates(sequences.terminal))
    inner = inside(operators, trellis.forest)
    outer = outside(operators, trellis.forest, inner)
    product = inner.vectors[trellis.spine] * outer.vectors[trellis.spine]
    total = product.sum(axis=1, keepdims=True)
    uniform = np.full_like(product, 1.0 / product.shape[1])
    return np.asarray(np.divide(product, total, out=uniform, where=total > 0))


class TagMarginals(NamedTuple):
    """Marginals (C,) of candidates: absolute values, for estimates may be negative (Cohen et al. 2013, slide 22)."""

    candidates: Candidates
    mu: FloatArray

    def best(self) -> IntArray:
        """The tag (N,) of the largest marginal at each position; of equal ones, the first."""
        start, position = self.candidates.start, self.candidates.position
        largest = np.flatnonzero(self.mu >= np.maximum.reduceat(self.mu, start[:-1])[position])
        first = largest[np.unique(position[largest], return_index=True)[1]]
        return self.candidates.tag[first]

    def dense(self, n_tags: int) -> FloatArray:
        """(N, K), rows of which sum to one."""
        rows = np.zeros((len(self.candidates.start) - 1, n_tags))
        rows[self.candidates.position, self.candidates.tag] = self.mu
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))


class Path(NamedTuple):
    """The tags (n,) of a sequence, and the logarithm of their probability given the observations."""

    tags: IntArray
    log: float


def likely_rules(operators: ObservableOperators, prior: FloatArray, beam: float) -> BoolArray:
    """Tell which leaf rules (R0,) are worth a candidate: not those of tags far less likely than the likeliest.

    operators: of one state per tag.
    prior: (K,) how frequent tags are.
    beam: the least share of the likeliest tag's probability.
    """
    tag, terminal = operators.rules.leaf.T
    joint = operators.leaf[:, 0] * prior[tag]
    most = np.zeros(int(terminal.max(initial=0)) + 1)
    np.maximum.at(most, terminal, joint)
    likely: BoolArray = joint >= beam * most[terminal]
    return likely


@dataclass(frozen=True, eq=False)
class Decoder:
    """Decoding under `latent` operators; `coarse` ones with the same rules prune.

    n_tags: K.
    likely: (R0,) whether a leaf rule is worth a candidate.
    threshold: candidates whose coarse marginal is less than this share of the best one's are left out.
    """

    coarse: ObservableOperators
    latent: ObservableOperators
    n_tags: int
    likely: BoolArray
    threshold: float

    @cached_property
    def builder(self) -> TrellisBuilder:
        """Trellises that number the rules of these operators."""
        return TrellisBuilder(self.latent.rules, self.n_tags)

    def _marginals(self, operators: ObservableOperators, trellis: Trellis) -> FloatArray:
        """|μ| (C,) of candidates."""
        inner = inside(operators, trellis.forest)
        mu = marginals(operators, trellis.forest, inner, outside(operators, trellis.forest, inner))
        return np.abs(mu[trellis.spine])

    def trellis(self, terminal: IntArray, start: IntArray) -> tuple[Trellis, FloatArray]:
        """The pruned trellis of sequences, and the coarse marginals of its candidates."""
        candidates = self.builder.candidates(terminal)
        trellis = self.builder.build(start, candidates.where(self.likely[candidates.rule]))
        mu = self._marginals(self.coarse, trellis)
        best = np.maximum.reduceat(mu, trellis.candidates.start[:-1])[trellis.candidates.position]
        keep = mu >= self.threshold * best
        return self.builder.build(start, trellis.candidates.where(keep)), mu[keep]

    def marginals(self, terminal: IntArray, start: IntArray) -> TagMarginals:
        """Of all positions (N,) of sequences; where the latent marginals are all zero, those of the coarse model."""
        trellis, coarse = self.trellis(terminal, start)
        mu = coarse if self.latent is self.coarse else self._marginals(self.latent, trellis)
        lost = np.maximum.reduceat(mu, trellis.candidates.start[:-1]) <= TINY
        return TagMarginals(trellis.candidates, np.where(lost[trellis.candidates.position], coarse, mu))

    def _chain(self, terminal: IntArray) -> tuple[Forest, FloatArray]:
        """The forest of one sequence, and the logarithm of every edge's factor in a path's probability (E,)."""
        trellis, _ = self.trellis(terminal, np.array([0, len(terminal)]))
        forest = trellis.forest
        for operators in (self.latent, self.coarse):  # the second where estimates are all zero
            inner = inside(operators, forest)
            outer = outside(operators, forest, inner)
            by_edge = np.abs(edge_marginals(operators, forest, inner, outer))
            by_item = np.bincount(forest.item, by_edge, minlength=forest.n_items)
            if by_item[forest.root].sum() > 0:
                break
        at_root = np.zeros(forest.n_items)
        at_root[forest.root] = np.log(np.maximum(by_item[forest.root] / by_item[forest.root].sum(), TINY))
        share = np.log(np.maximum(by_edge, TINY) / np.maximum(by_item, TINY)[forest.item])
        return forest, np.where(forest.left < 0, 0.0, share) + at_root[forest.item]

    def paths(self, terminal: IntArray, k: int) -> list[Path]:
        """The k best paths of one sequence, by the chain of this module."""
        forest, log = self._chain(terminal)
        best = k_best_derivations(forest, log, k)
        return [Path(Sequences.of_trees(path.tree(forest, self.latent.rules)).tag, path.score) for path in best]

    def draw(self, terminal: IntArray, rng: np.random.Generator) -> IntArray:
        """The tags (n,) of one sequence, drawn from the chain of this module."""
        forest, log = self._chain(terminal)
        p = np.exp(log)
        tags: list[int] = []
        edges = np.flatnonzero(np.isin(forest.item, forest.root))
        while len(edges):
            edge = edges[min(int(np.searchsorted(np.cumsum(p[edges]), rng.random() * p[edges].sum())), len(edges) - 1)]
            tags.append(int(forest.symbol[forest.left[edge]]))
            below = forest.right[edge]
            edges = np.arange(*forest.start[[below, below + 1]]) if below >= 0 else edges[:0]
        return np.array(tags)

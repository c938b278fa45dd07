"""Find the tags of sequences, by the marginals of a trellis that the coarse model prunes.

| here | meaning |
| --- | --- |
| μ(i, t) | the marginal of tag t at position i |
| μ(i, t, t') | the marginal of tag t at position i and tag t' at the next |
| μ(1, t_1) Π μ(i, t_i, t_{i+1}) / μ(i, t_i) | a path's probability in the Markov chain with these marginals |

Estimated marginals may be negative.  Their absolute values are taken (Cohen et al. 2013, slide 22), and μ(i, t) of the
chain is Σ_t' |μ(i, t, t')|.

If tags have one state, the chain is the model itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Any, TypeAlias, TypeVar

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.inference import edge_marginals, inside, n_best_derivations, outside
from spectral_latent.model.parts import Parts
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Sequences, Tag
from spectral_latent.sequence.forests import Candidates, TrellisBuilder, candidate_marginals
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, range_of

__all__ = [
    "Allowed",
    "Decoder",
    "allowed_tags",
    "batches",
    "in_batches",
    "likely_rules",
    "n_best_tags",
    "tag_matrix",
    "tag_parts",
]

_BATCH = 4096  # the number of positions whose forests are built together
_Row = TypeVar("_Row", bound=Sized)
_T = TypeVar("_T")


def batches(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    """Divide rows into batches of a few thousand positions; empty rows are left out."""
    batch: list[_Row] = []
    size = 0
    for row in rows:
        if batch and size + len(row) > _BATCH:
            yield batch
            batch = []
            size = 0
        if len(row):
            batch.append(row)
            size += len(row)
    if batch:
        yield batch


def in_batches(rows: Sequence[_Row], find: Callable[[list[_Row]], Iterable[_T]]) -> list[list[_T]]:
    """Apply a function to rows batch by batch, and return a list of results for each row."""
    results = chain.from_iterable(map(find, batches(rows)))
    return [list(islice(results, len(row))) for row in rows]


def likely_rules(operators: ObservableOperators, prior: FloatArray, beam: float) -> BoolArray:
    """Tell which leaf rules (R0,) may be candidates: those whose tag is not far less likely than the word's likeliest.

    prior: (K,) the share of each tag among all positions."""
    tag, terminal = operators.rules.leaf.T
    joint = operators.leaf[:, 0] * prior[tag]
    most = np.zeros(int(terminal.max(initial=0)) + 1)
    np.maximum.at(most, terminal, joint)
    likely: BoolArray = joint >= beam * most[terminal]
    return likely


Allowed: TypeAlias = Sequence[Tag | AbstractSet[Tag] | None]
"""What is known of each position of a sequence: its tag, a set of tags that it may have, or None."""


def allowed_tags(
    tags: Sequence[Tag], sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]
) -> BoolArray | None:
    """Tell which of K tags each position of sequences may have, (N, K); None if every position may have all."""
    if all(each is None for each in known):
        return None
    numbers = {tag: number for number, tag in enumerate(tags)}
    allowed = np.ones((sum(map(len, sequences)), len(tags)), dtype=bool)
    first = 0
    for sequence, entries in zip(sequences, known, strict=True):
        if entries is not None and len(entries) != len(sequence):
            raise ValueError(f"{len(sequence)} observations need as many entries of `known`, not {len(entries)}")
        for place, entry in enumerate(entries or ()):
            if entry is None:
                continue
            some = entry if isinstance(entry, AbstractSet) else {entry}
            if not some or any(tag not in numbers for tag in some):
                kinds = "None, a tag of the tagger or a set of them"
                raise ValueError(f"entry {place + 1} of `known` must be {kinds}, not {entry!r:.60}")
            allowed[first + place] = False
            allowed[first + place, [numbers[tag] for tag in some]] = True
        first += len(sequence)
    return allowed


def tag_parts(posteriors: FloatArray, start: IntArray) -> Parts:
    """List the tags with posteriors (N, K) that are not zero as parts of T sequences.

    start: (T + 1,) the first position of each sequence, and N."""
    position, tag = np.nonzero(posteriors)
    sentence = range_of(start, position)
    place = position - start[sentence] + 1
    return Parts(sentence, place, place, tag, posteriors[position, tag])


def tag_matrix(parts: Parts, sequences: Sequence[Sequence[Any]], n_tags: int) -> FloatArray:
    """Make the matrix (N, K) of the posteriors of the tags of all positions of sequences."""
    start = np.cumsum([0, *map(len, sequences)])
    matrix = np.zeros((start[-1], n_tags))
    matrix[start[parts.sentence] + parts.begin - 1, parts.label] = parts.posterior
    return matrix


@dataclass(frozen=True, eq=False)
class Decoder:
    """Find tags under latent operators, in trellises that coarse operators prune.

    coarse: operators with one state for each tag.
    latent: operators over the same rules.
    n_tags: K, the number of tags.
    likely: (R0,) whether a leaf rule may make a candidate.
    threshold: a candidate is left out if its coarse marginal is less than this share of the largest at its position.
    allowed: (N, K) the tags that each position may have; None if every position may have all."""

    coarse: ObservableOperators
    latent: ObservableOperators
    n_tags: int
    likely: BoolArray
    threshold: float
    allowed: BoolArray | None = None

    @cached_property
    def builder(self) -> TrellisBuilder:
        """Make the builder of trellises over the rules of these operators."""
        return TrellisBuilder(self.latent.rules, self.n_tags)

    def prune(self, terminal: IntArray, start: IntArray) -> tuple[Candidates, FloatArray]:
        """Find the likely candidates of sequences with their coarse marginals, up to a common factor at each position.

        terminal: (N,) the terminal of each position.
        start: (T + 1,) the first position of each sequence, and N."""
        # First take the rules that are likely for their words, then the candidates with large marginals.
        candidates = self.builder.candidates(terminal)
        keep = self.likely[candidates.rule]
        if self.allowed is not None:
            # An allowed tag need not be likely.
            position = candidates.position
            is_free = np.asarray(self.allowed.all(axis=1))[position]
            keep = np.where(is_free, keep, self.allowed[position, candidates.tag])
        candidates = candidates.where(keep)
        mu = np.abs(candidate_marginals(self.coarse, self.builder, start, candidates))
        keep = mu >= self.threshold * np.maximum.reduceat(mu, candidates.start[:-1])[candidates.position]
        return candidates.where(keep), mu[keep]

    def posteriors(self, terminal: IntArray, start: IntArray) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions.

        If the latent marginals of a position are all zero, the coarse marginals are used.

        terminal: (N,) the terminal of each position.
        start: (T + 1,) the first position of each sequence, and N."""
        return self.weigh(start, *self.prune(terminal, start))

    def weigh(self, start: IntArray, candidates: Candidates, mu: FloatArray) -> FloatArray:
        """Compute the posteriors (N, K) of candidates with their coarse marginals, as `prune` finds them.

        start: (T + 1,) the first position of each sequence, and N."""
        position = candidates.position
        if self.latent is not self.coarse:
            latent = np.abs(candidate_marginals(self.latent, self.builder, start, candidates))
            is_lost = np.maximum.reduceat(latent, candidates.start[:-1]) <= TINY
            mu = np.where(is_lost[position], mu, latent)
        rows = np.zeros((int(start[-1]), self.n_tags))
        rows[position, candidates.tag] = mu
        total = rows.sum(axis=1, keepdims=True)
        if not (total > 0.0).all():
            raise ValueError("the model gives probability zero to every tag of a word")
        return np.asarray(rows / total)

    def _chain(self, terminal: IntArray) -> tuple[Forest, FloatArray]:
        """Build the forest of one sequence, and compute the logarithm (E,) of each edge's factor in the chain."""
        start = np.array([0, len(terminal)])
        candidates, _ = self.prune(terminal, start)
        forest = self.builder.build(start, candidates).forest
        for operators in (self.latent, self.coarse):  # coarse operators if all latent estimates are zero
            inside_vectors = inside(operators, forest)
            outside_vectors = outside(operators, forest, inside_vectors)
            by_edge = np.abs(edge_marginals(operators, forest, inside_vectors, outside_vectors))
            by_item = np.bincount(forest.item, by_edge, minlength=forest.n_items)
            if by_item[forest.root].sum() > 0:
                break
        # The probability of a path is that of its first tag, times that of each further tag given the tag before it.
        at_root = np.zeros(forest.n_items)
        at_root[forest.root] = np.log(np.maximum(by_item[forest.root] / by_item[forest.root].sum(), TINY))
        share = np.log(np.maximum(by_edge, TINY) / np.maximum(by_item, TINY)[forest.item])
        return forest, np.where(forest.left < 0, 0.0, share) + at_root[forest.item]

    def paths(self, terminal: IntArray, n_best: int) -> list[tuple[IntArray, float]]:
        """Find the likeliest paths (n,) of one sequence in the chain of this module, with log p(path | observations).

        terminal: (n,) the terminal of each position of one sequence."""
        forest, log = self._chain(terminal)
        best = n_best_derivations(forest, log, n_best)
        return [(Sequences.of_trees(path.tree(forest, self.latent.rules)).tag, path.score) for path in best]

    def draw(self, terminal: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw the tags (n,) of one sequence from the chain of this module; terminal: (n,)."""
        forest, log = self._chain(terminal)
        p = np.exp(log)
        tags: list[int] = []
        # From the first position on, draw an edge of the current item; its right child is the next position's item.
        edges = np.flatnonzero(np.isin(forest.item, forest.root))
        while len(edges):
            edge = edges[min(int(np.searchsorted(np.cumsum(p[edges]), rng.random())), len(edges) - 1)]
            tags.append(int(forest.symbol[forest.left[edge]]))
            below = forest.right[edge]
            edges = np.arange(*forest.start[[below, below + 1]]) if below >= 0 else edges[:0]
        return np.array(tags)


def n_best_tags(posteriors: FloatArray, n_best: int) -> list[IntArray]:
    """Find the sequences of tags (n,) with the largest sums of posteriors (n, K), none of which is zero."""
    if n_best == 1:
        return [posteriors.argmax(axis=1)]
    sums = np.zeros(1)
    steps: list[tuple[IntArray, IntArray]] = []  # for each position, the sequence that each one continues, and its tag
    for row in posteriors:
        # A tag that is not among the `n_best` of its position is in no sequence that is.
        tags = np.argsort(-row, kind="stable")[:n_best]
        tags = tags[row[tags] > 0.0]
        every = (sums[:, None] + row[tags]).ravel()
        best = np.argsort(-every, kind="stable")[:n_best]
        sums = every[best]
        steps.append((best // len(tags), tags[best % len(tags)]))
    place = np.arange(len(sums))
    found = np.empty((len(sums), len(posteriors)), dtype=np.int64)
    for at in range(len(posteriors) - 1, -1, -1):
        before, tag = steps[at]
        found[:, at] = tag[place]
        place = before[place]
    return list(found)

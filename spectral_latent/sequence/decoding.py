"""Find the tags of sequences, by the posteriors of a trellis that the coarse model prunes.

| here | meaning |
| --- | --- |
| μ(i, t) | the posterior of tag t at position i |
| μ(i, t, t') | the posterior of tag t at position i and tag t' at the next |
| μ(1, t_1) Π μ(i, t_i, t_{i+1}) / μ(i, t_i) | a path's probability in the Markov chain with these posteriors |

Estimates may be negative.  Their absolute values are taken (Cohen et al. 2013, slide 22), and μ(i, t) of the chain is
Σ_t' |μ(i, t, t')|.

If tags have one state, the chain is the model itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.inference import edge_marginals, inside, n_best_derivations, outside
from spectral_latent.model.parts import Parts
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Sequences, Tag
from spectral_latent.sequence.forests import Candidates, TrellisBuilder
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray


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
    known_tags = set(tags)
    allowed = np.ones((sum(map(len, sequences)), len(tags)), dtype=bool)
    first = 0
    for sequence, entries in zip(sequences, known, strict=True):
        if entries is not None and len(entries) != len(sequence):
            raise ValueError(f"{len(sequence)} observations need as many entries of `known`, not {len(entries)}")
        for place, entry in enumerate(entries or ()):
            if entry is None:
                continue
            some = entry if isinstance(entry, AbstractSet) else {entry}
            if not some or not known_tags.issuperset(some):
                kinds = "None, a tag of the tagger or a set of them"
                raise ValueError(f"entry {place + 1} of `known` must be {kinds}, not {entry!r:.60}")
            allowed[first + place] = [tag in some for tag in tags]
        first += len(sequence)
    return allowed


def tag_parts(start: IntArray, position: IntArray, tag: IntArray, posterior: FloatArray) -> Parts:
    """List tags as parts of T sequences.

    start: (T + 1,) the first position of each sequence, and N.
    position, tag, posterior: (P,) the tags, by position, with their posteriors."""
    sentence = np.repeat(np.arange(len(start) - 1), np.diff(start))[position]
    place = position - start[sentence] + 1
    return Parts(sentence, place, place, tag, posterior)


def tag_matrix(parts: Parts, sequences: Sequence[Sequence[Any]], n_tags: int) -> FloatArray:
    """Make the matrix (N, K) of the posteriors of the tags of all positions of sequences."""
    start = np.cumsum([0, *map(len, sequences)])
    matrix = np.zeros((start[-1], n_tags))
    matrix[start[parts.sentence] + parts.begin - 1, parts.label] = parts.posterior
    return matrix


def best_tags(parts: Parts) -> IntArray:
    """Find the tag (N,) with the largest posterior at each position; every position has parts, sorted by tag."""
    is_first = np.append(True, (np.diff(parts.sentence) != 0) | (np.diff(parts.begin) != 0))[: len(parts.label)]
    first = np.flatnonzero(is_first)
    if not len(first):
        return parts.label
    position = np.cumsum(is_first) - 1
    is_best = parts.posterior == np.maximum.reduceat(parts.posterior, first)[position]
    # Of equally likely tags, take the first.
    best = np.flatnonzero(is_best)
    return parts.label[best[np.flatnonzero(np.diff(position[best], prepend=-1))]]


@dataclass(frozen=True, eq=False)
class TagCharts:
    """The likely tags of the positions of T sequences.

    coarse: operators with one state for each tag.
    latent: operators over the same rules.
    start: (T + 1,) the first position of each sequence, and N.
    candidates: the C tags that are left.
    posterior: (C,) their posteriors under the coarse operators."""

    coarse: ObservableOperators
    latent: ObservableOperators
    builder: TrellisBuilder
    start: IntArray
    candidates: Candidates
    posterior: FloatArray

    @staticmethod
    def prune(
        operators: tuple[ObservableOperators, ObservableOperators],
        terminal: IntArray,
        start: IntArray,
        *,
        likely: BoolArray | None = None,
        threshold: float = 0.0,
        allowed: BoolArray | None = None,
    ) -> TagCharts:
        """Find the likely tags of sequences.

        terminal: (N,) the terminal of each position.
        start: (T + 1,) the first position of each sequence, and N.
        likely: (R0,) whether a leaf rule may make a candidate; any may if not given.
        threshold: a tag is left out if its coarse posterior is less than this share of the largest at its position.
        allowed: (N, K) the tags that each position may have; None if every position may have all."""
        coarse, latent = operators
        builder = TrellisBuilder(coarse.rules, coarse.n_symbols // 2)
        # First take the rules that are likely for their words, then the candidates with large posteriors.
        candidates = builder.candidates(terminal)
        keep = np.ones(len(candidates.tag), dtype=np.bool_) if likely is None else likely[candidates.rule]
        if allowed is not None:
            # An allowed tag need not be likely.
            position = candidates.position
            is_free = np.asarray(allowed.all(axis=1))[position]
            keep = np.where(is_free, keep, allowed[position, candidates.tag])
        candidates = candidates.where(keep)
        mu = np.abs(builder.posteriors(coarse, start, candidates))
        keep = mu >= threshold * np.maximum.reduceat(mu, candidates.start[:-1])[candidates.position]
        return TagCharts(coarse, latent, builder, start, candidates.where(keep), mu[keep])

    def posteriors(self) -> FloatArray:
        """Compute the posteriors (C,) of the candidates; where the latent model sees nothing, those are coarse."""
        first, position = self.candidates.start[:-1], self.candidates.position
        mu = self.posterior
        if self.latent is not self.coarse:
            latent = np.abs(self.builder.posteriors(self.latent, self.start, self.candidates))
            is_lost = np.maximum.reduceat(latent, first) <= TINY
            mu = np.where(is_lost[position], mu, latent)
        total = np.add.reduceat(mu, first)
        if not (total > 0.0).all():
            raise ValueError("the model gives probability zero to every tag of a word")
        return np.asarray(mu / total[position])

    def parts(self) -> Parts:
        """List the candidates with their posteriors."""
        return tag_parts(self.start, self.candidates.position, self.candidates.tag, self.posteriors())

    def _chain(self) -> tuple[Forest, FloatArray]:
        """Build the forest of one sequence, and compute the logarithm (E,) of each edge's factor in the chain."""
        forest, _ = self.builder.build(self.start, self.candidates)
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

    def paths(self, n_best: int) -> list[tuple[IntArray, float]]:
        """Find the likeliest paths (n,) of one sequence in the chain of this module, with log p(path | sequence)."""
        forest, log = self._chain()
        best = n_best_derivations(forest, log, n_best)
        return [(Sequences.of_trees(path.tree(forest, self.latent.rules)).tag, path.score) for path in best]

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Draw the tags (n,) of one sequence from the chain of this module."""
        forest, log = self._chain()
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


def state_charts(sequences: Sequences, hidden: HiddenMarkov, allowed: BoolArray | None) -> TagCharts:
    """Make charts whose tags are the states of a model, without pruning; allowed: (N, m)."""
    operators = hidden.with_states_as_tags()
    return TagCharts.prune((operators, operators), sequences.terminal, sequences.start, allowed=allowed)


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

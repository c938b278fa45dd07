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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, tee
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent._options import Count, checked
from spectral_latent.inference import edge_marginals, inside, n_best_derivations, outside
from spectral_latent.model import check_words
from spectral_latent.model.batches import map_batches
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Sequences, Tag
from spectral_latent.sequence.forests import Candidates, TrellisBuilder, candidate_marginals
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

__all__ = [
    "SENTENCES",
    "Allowed",
    "Decoder",
    "Tagger",
    "TaggingModel",
    "WordTagger",
    "batches",
    "in_batches",
    "likely_rules",
    "n_best_tags",
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

    prior: (K,) the share of each tag among all positions.
    """
    tag, terminal = operators.rules.leaf.T
    joint = operators.leaf[:, 0] * prior[tag]
    most = np.zeros(int(terminal.max(initial=0)) + 1)
    np.maximum.at(most, terminal, joint)
    likely: BoolArray = joint >= beam * most[terminal]
    return likely


@dataclass(frozen=True, eq=False)
class Decoder:
    """Find tags under latent operators, in trellises that coarse operators prune.

    coarse: operators with one state for each tag.
    latent: operators over the same rules.
    n_tags: K, the number of tags.
    likely: (R0,) whether a leaf rule may make a candidate.
    threshold: a candidate is left out if its coarse marginal is less than this share of the largest at its position.
    allowed: (N, K) the tags that each position may have; None if every position may have all.
    """

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
        start: (T + 1,) the first position of each sequence, and N.
        """
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
        start: (T + 1,) the first position of each sequence, and N.
        """
        candidates, mu = self.prune(terminal, start)
        position = candidates.position
        if self.latent is not self.coarse:
            latent = np.abs(candidate_marginals(self.latent, self.builder, start, candidates))
            is_lost = np.maximum.reduceat(latent, candidates.start[:-1]) <= TINY
            mu = np.where(is_lost[position], mu, latent)
        rows = np.zeros((len(terminal), self.n_tags))
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

        terminal: (n,) the terminal of each position of one sequence.
        """
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


SENTENCES = 256
"""The number of sentences that are read before they are tagged together."""


class Tagger(ABC):
    """Base of models that give each observation of a sequence a tag.

    All methods raise TypeError for an object that is not a sequence, such as a string in the place of words.

    tags: the K tags.
    """

    tags: Sequence[Tag]

    @abstractmethod
    def _check(self, sequence: Sequence[Any]) -> None:
        """Raise TypeError for an object that is not a sequence of observations."""

    @abstractmethod
    def _posteriors(self, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions of sequences that are not empty."""

    @abstractmethod
    def tag_all(self, sequences: Iterable[Sequence[Any]], *, jobs: int | None = 1) -> Iterator[list[Any]]:
        """Find the tags of each sequence, in order, as `tag` does.

        Sequences are read and tagged in batches, which takes less time than one by one.

        sequences: the observations of each sequence.
        """

    def tag(self, sequence: Sequence[Any]) -> list[Any]:
        """Find the tag with the largest posterior at every position of a sequence; an empty sequence has no tags.

        sequence: the observations.
        """
        (tags,) = self._tags_of([sequence])
        return tags

    def _tags_of(self, sequences: Sequence[Sequence[Any]]) -> list[list[Any]]:
        for sequence in sequences:
            self._check(sequence)
        return in_batches(sequences, lambda batch: self._names(self._posteriors(batch).argmax(axis=1)))

    def _names(self, tags: IntArray) -> list[Tag]:
        """List the names of tags (n,)."""
        return [self.tags[t] for t in tags.tolist()]

    def posteriors(self, sequence: Sequence[Any]) -> FloatArray:
        """Compute the posterior (n, K) of each tag at each position; columns are in the order of `tags`.

        sequence: the n observations of a sequence.
        """
        self._check(sequence)
        return self._posteriors([sequence]) if len(sequence) else np.zeros((0, len(self.tags)))


class WordTagger(Tagger):
    """Base of taggers of words, which also tag raw text."""

    @property
    @abstractmethod
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""

    def _check(self, sequence: Sequence[str]) -> None:
        check_words(sequence)

    def tag_all(self, sequences: Iterable[Sequence[str]], *, jobs: int | None = 1) -> Iterator[list[Any]]:
        """Find the tags of each sentence, in order, as `tag` does.

        Sentences are read and tagged in batches, which takes less time than one by one.

        sequences: the words of each sentence.
        """
        return map_batches(Tagger._tags_of, cast(Any, self), sequences, jobs, size=SENTENCES)

    def tag_text(self, text: str, *, jobs: int | None = 1) -> Iterator[list[tuple[str, Any]]]:
        """Find the tags of the words of each sentence of a raw text, in order; words are given with their tags.

        text: the text, which `tokenisation` divides into sentences and words.

        Raises TypeError if the text is not a string.
        """
        sentences, given = tee([token.word for token in tokens] for tokens in self.tokenisation.sentences(text))
        for words, tags in zip(sentences, self.tag_all(given, jobs=jobs), strict=True):
            yield list(zip(words, tags, strict=True))


Allowed: TypeAlias = Sequence[Tag | AbstractSet[Tag] | None]
"""What is known of each position of a sequence: its tag, a set of tags that it may have, or None."""


class TaggingModel(Tagger):
    """Base of taggers with a decoder, which also find the other tags of sequences whose tags are partly known."""

    @abstractmethod
    def _decoder(
        self, sequences: Sequence[Sequence[Any]], allowed: BoolArray | None = None
    ) -> tuple[Decoder, IntArray]:
        """Make a decoder for sequences, and look up the decoder's terminals (N,) for all positions.

        allowed: (N, K) the tags that each position may have; None if every position may have all.
        """

    def _posteriors(self, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        return self._posteriors_given(sequences, [None] * len(sequences))

    def _posteriors_given(self, sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]) -> FloatArray:
        """Compute the posteriors (N, K) of the tags of all positions of sequences, given what is known of each."""
        decoder, terminal = self._constrained(sequences, known)
        return self._judged(decoder.posteriors(terminal, np.cumsum([0, *map(len, sequences)])), sequences)

    def _judged(self, posteriors: FloatArray, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        """Judge the posteriors (N, K) of tags by what the decoder does not see."""
        del sequences  # for judges
        return posteriors

    def _constrained(
        self, sequences: Sequence[Sequence[Any]], known: Sequence[Allowed | None]
    ) -> tuple[Decoder, IntArray]:
        """Make a decoder for sequences whose tags are partly known, and look up their terminals (N,)."""
        if all(each is None for each in known):
            return self._decoder(sequences)
        pairs = zip(sequences, known, strict=True)
        return self._decoder(sequences, np.concatenate([self._allowed(len(each), tags) for each, tags in pairs]))

    def _allowed(self, n: int, known: Allowed | None) -> BoolArray:
        """Tell which tags each of n positions may have, (n, K)."""
        if known is None:
            return np.ones((n, len(self.tags)), dtype=bool)
        if len(known) != n:
            raise ValueError(f"{n} observations need as many entries of `known`, not {len(known)}")
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        allowed = np.zeros((n, len(self.tags)), dtype=bool)
        for place, entry in enumerate(known):
            tags = self.tags if entry is None else entry if isinstance(entry, AbstractSet) else {entry}
            if not tags or any(tag not in numbers for tag in tags):
                kinds = "None, a tag of the tagger or a set of them"
                raise ValueError(f"entry {place + 1} of `known` must be {kinds}, not {entry!r:.60}")
            allowed[place, [numbers[tag] for tag in tags]] = True
        return allowed

    def tag(self, sequence: Sequence[Any], known: Allowed | None = None) -> list[Any]:
        """Find the tag with the largest posterior at every position of a sequence; an empty sequence has no tags.

        sequence: the observations.
        known: the tags that are known: for each observation its tag, a set of tags that it may have, or None.

        A word that was never seen with one of its allowed tags gets the commonest of these.

        Raises ValueError for a tag that the tagger does not have, and for a different number of observations.
        """
        return super().tag(sequence) if known is None else self._names(self.posteriors(sequence, known).argmax(axis=1))

    def posteriors(self, sequence: Sequence[Any], known: Allowed | None = None) -> FloatArray:
        """Compute the posterior (n, K) of each tag at each position; columns are in the order of `tags`.

        sequence: the n observations of a sequence.
        known: the tags that are known; see `tag`.
        """
        if known is None or not len(sequence):
            return super().posteriors(sequence)
        self._check(sequence)
        return self._posteriors_given([sequence], [known])

    def paths(
        self, sequence: Sequence[Any], n_best: int = 1, known: Allowed | None = None
    ) -> list[tuple[list[Any], float]]:
        """Find the likeliest sequences of tags (Viterbi), each with its log-probability given the observations.

        If tags have one state, paths are scored by the model itself.  If tags have several states, paths are scored by
        the Markov chain that has the model's marginals of pairs of tags.  An empty sequence has one empty path.

        sequence: the observations of a sequence.
        n_best: the largest number of paths.
        known: the tags that are known; see `tag`.  Log-probabilities are given these, too.

        Raises ValueError if n_best < 1.
        """
        checked("n_best", n_best, Count)
        self._check(sequence)
        if not len(sequence):
            return [([], 0.0)]
        decoder, terminal = self._constrained([sequence], [known])
        return [(self._names(tags), log) for tags, log in decoder.paths(terminal, n_best)]

    def draw(self, sequence: Sequence[Any], rng: np.random.Generator, known: Allowed | None = None) -> list[Any]:
        """Draw the tags of a sequence from the Markov chain that scores `paths`.

        sequence: the observations of a sequence.
        known: the tags that are known; see `tag`.
        """
        checked("rng", rng, np.random.Generator)
        self._check(sequence)
        if not len(sequence):
            return []
        decoder, terminal = self._constrained([sequence], [known])
        return self._names(decoder.draw(terminal, rng))

"""Check and number sequences, and convert them to right-branching s-trees (Cohen et al. 2012, Discussion), and back.

A position with tag t has two nodes: its emission, which is a leaf, and its spine, which spans this position and all
positions after it.  Sequences without tags have a single tag.

| here | as a rule | hidden Markov model |
| --- | --- | --- |
| symbol t, of K tags | t → x | the emission of a position with tag t |
| symbol K + t | K+t → t K+t' | a position with tag t, then one with tag t' |
| | K+t → t | the last position |

Shards compute features when they are read.  The inside features of a spine are those of its position and of the
positions to the right; the outside features are those of the positions to the left.  The inside features of an emission
are those of its observation; the outside features are those of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np

from spectral_latent._compiled import check_column, check_starts
from spectral_latent.estimation import Columns, EstimationError, FeatureColumns, LeafMoments, hash_columns
from spectral_latent.files import are_distinct
from spectral_latent.model import check_labels, check_words
from spectral_latent.trees import BoolArray, FloatArray, IntArray, SkeletalTrees, Vocabulary

Tag = Hashable
_Observed = TypeVar("_Observed")


def pairs_of(
    sentence: Iterable[tuple[_Observed, Tag]], number: int, kind: type[_Observed], *, may_be_open: bool = False
) -> list[tuple[_Observed, Tag]]:
    """Return the tokens of a sentence.

    If tags may be open, a tag may also be a set of tags, or None."""
    tokens = list(sentence)
    for place, token in enumerate(tokens, start=1):
        pair = isinstance(token, tuple | list) and len(token) == 2 and isinstance(token[0], kind)
        if not pair or not ((may_be_open and is_open(token[1])) or (token[1] is not None and _is_hashable(token[1]))):
            raise EstimationError(
                f"sentence {number}, token {place}: {token!r:.80} is not a pair of a word and its tag"
            )
    if kind is str:
        try:
            check_words([cast(str, word) for word, _ in tokens])
            check_labels({tag for _, tag in tokens if isinstance(tag, str)})
        except ValueError as error:
            raise EstimationError(f"sentence {number}: {error}") from None
    return [(observed, tag) for observed, tag in tokens]


def is_open(tag: Any) -> bool:
    """Tell whether a tag is not known: None, or a set of tags."""
    return tag is None or isinstance(tag, AbstractSet)


def observations_of(sequence: Iterable[Hashable], number: int) -> list[Hashable]:
    """Return the observations of a sequence.  Raises EstimationError if an observation is not hashable, or is NaN."""
    row = list(sequence)
    for place, x in enumerate(row, start=1):
        if not _is_hashable(x) or x != x:
            raise EstimationError(f"sequence {number}, observation {place}: {x!r:.80} is not hashable, or is NaN")
    return row


def rows_of(sequences: Iterable[Iterable[Hashable]]) -> Iterator[list[Hashable]]:
    """Return the observations of each sequence, as `observations_of` does.  Raises EstimationError for a string.

    >>> list(rows_of(["ab", "", [1]]))
    [['a', 'b'], [], [1]]
    """
    if isinstance(sequences, str | bytes):
        raise EstimationError(f"{sequences!r:.60} is one sequence; give a list of sequences")
    return (observations_of(sequence, number) for number, sequence in enumerate(sequences, start=1))


def check_sequence(sequence: object) -> None:
    """Raise TypeError for an object that is not a sequence of hashable observations, such as an iterator."""
    if not isinstance(sequence, Collection):
        raise TypeError(f"a sequence is a list of observations, not {sequence!r:.60}; give a list")
    for observation in sequence:
        if not _is_hashable(observation):
            raise TypeError(
                f"an observation is a hashable object, not {observation!r:.60}; give the observations of one sequence "
                f"alone"
            )


def _is_hashable(value: object) -> bool:
    """Tell whether an object can be hashed."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class Sequences:
    """T sequences of numbered observations, one after another, with N positions in all; no sequence is empty.

    terminal: (N,) the observation at each position.
    tag: (N,) the tag of each position, 0 ... K - 1.
    start: (T + 1,) the first position of each sequence, and N.
    weight: (T,) the weight of each sequence: it counts as this many sequences.

    >>> sequences = Sequences.of([[7, 8], [9]], tags=[[0, 1], [0]])
    >>> trees = sequences.trees(n_tags=2)
    >>> trees.symbol, trees.left, trees.right
    (array([0, 1, 3, 2, 0, 2]), array([-1, -1,  1,  0, -1,  4]), array([-1, -1, -1,  2, -1, -1]))
    """

    terminal: IntArray
    tag: IntArray
    start: IntArray
    weight: FloatArray

    def __post_init__(self) -> None:
        n = np.size(self.terminal)
        check_column("observations", self.terminal, (n,), np.int64)
        check_column("tags", self.tag, (n,), np.int64)
        check_starts("starts of sequences", self.start, n)
        check_column("weights of sequences", self.weight, (len(self.start) - 1,), np.float64)

    @staticmethod
    def of(
        terminals: Iterable[Iterable[int]],
        tags: Iterable[Iterable[int]] | None = None,
        weight: FloatArray | None = None,
    ) -> Sequences:
        """Join sequences of integers.  Raises ValueError if one is empty.

        tags: the tags of each sequence; all are 0 if not given.
        weight: (T,) the weight of each sequence; 1 if not given."""
        rows = [np.asarray(list(row), dtype=np.int64) for row in terminals]
        length = np.array([len(row) for row in rows], dtype=np.int64)
        if (length == 0).any():
            raise ValueError(f"sequence {int(np.argmin(length)) + 1} is empty")
        terminal = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        tag = np.zeros_like(terminal) if tags is None else np.array([t for row in tags for t in row], dtype=np.int64)
        weight = np.ones(len(rows)) if weight is None else weight
        return Sequences(terminal, tag, np.concatenate([[0], np.cumsum(length)]), weight)

    @staticmethod
    def of_lengths(lengths: IntArray) -> Sequences:
        """Make sequences in which every position has an observation of its own: its number.

        lengths: (T,) the length of each sequence.

        >>> Sequences.of_lengths(np.array([1, 2])).rows
        [array([0]), array([1, 2])]
        """
        start = np.concatenate([[0], np.cumsum(lengths)])
        n = int(start[-1])
        return Sequences(np.arange(n), np.zeros(n, dtype=np.int64), start, np.ones(len(lengths)))

    @property
    def sequences(self) -> Sequences:
        """The sequences themselves, as a shard has them."""
        return self

    @property
    def columns(self) -> Columns:
        """The columns of a shard of these sequences."""
        return {name: getattr(self, name) for name in ("terminal", "tag", "start", "weight")}

    @property
    def n_sequences(self) -> int:
        """The number of sequences, T."""
        return len(self.start) - 1

    @property
    def rows(self) -> list[IntArray]:
        """The terminals of each sequence."""
        return [self.terminal[first:end] for first, end in pairwise(self.start.tolist())]

    @cached_property
    def sequence(self) -> IntArray:
        """(N,) the number of the sequence of each position."""
        return np.repeat(np.arange(self.n_sequences), np.diff(self.start))

    @cached_property
    def is_last(self) -> BoolArray:
        """(N,) whether the position is the last of its sequence."""
        last = np.zeros(len(self.terminal), dtype=bool)
        last[self.start[1:] - 1] = True
        return last

    @cached_property
    def emission(self) -> IntArray:
        """(N,) the leaf of each position; the leaves of a sequence come before its spine, in the order of positions."""
        return np.arange(len(self.terminal)) + self.start[self.sequence]

    @cached_property
    def spine(self) -> IntArray:
        """(N,) the spine node of each position; spines come after the leaves, that of the last position first."""
        return self.start[self.sequence] + 2 * self.start[self.sequence + 1] - 1 - np.arange(len(self.terminal))

    def shift(self, column: IntArray, offset: int) -> IntArray:
        """Take from a column (N,) the values `offset` positions to the right; -1 beyond the ends of a sequence.

        column: (N,) integers, one for each position.
        offset: the number of positions to the right; negative for the left.

        >>> sequences = Sequences.of([[7, 8], [9]])
        >>> sequences.shift(sequences.terminal, 1), sequences.shift(sequences.terminal, -1)
        (array([ 8, -1, -1]), array([-1,  7, -1]))
        """
        position = np.arange(len(column)) + offset
        beyond = (position < self.start[self.sequence]) | (position >= self.start[self.sequence + 1])
        return np.where(beyond, -1, column[np.clip(position, 0, len(column) - 1)])

    def trees(self, n_tags: int) -> SkeletalTrees:
        """Make the s-trees of the sequences, with 2N nodes, for K = n_tags."""
        symbol, left, right, terminal = np.full((4, 2 * len(self.terminal)), -1, dtype=np.int64)
        symbol[self.emission] = self.tag
        terminal[self.emission] = self.terminal
        symbol[self.spine] = n_tags + self.tag
        left[self.spine] = self.emission
        right[self.spine] = np.where(self.is_last, -1, self.spine - 1)
        return SkeletalTrees(symbol, left, right, terminal, 2 * self.start[1:] - 1)

    @staticmethod
    def of_trees(trees: SkeletalTrees) -> Sequences:
        """Convert s-trees back to sequences of weight 1; the inverse of `trees`.

        >>> again = Sequences.of_trees(Sequences.of([[7, 8], [9]], tags=[[0, 1], [0]]).trees(2))
        >>> again.terminal, again.tag, again.start
        (array([7, 8, 9]), array([0, 1, 0]), array([0, 2, 3]))
        """
        leaf = trees.is_leaf
        start = np.concatenate([[0], (trees.root + 1) // 2])
        return Sequences(trees.terminal[leaf], trees.symbol[leaf], start, np.ones(len(trees.root)))

    @staticmethod
    def join(parts: Sequence[Sequences]) -> Sequences:
        """Join the sequences of all parts, in order."""
        terminal = np.concatenate([part.terminal for part in parts])
        tag = np.concatenate([part.tag for part in parts])
        length = np.concatenate([np.diff(part.start) for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        return Sequences(terminal, tag, np.concatenate([[0], np.cumsum(length)]), weight)

    def parts(self, size: int) -> Iterator[Sequences]:
        """Cut the sequences into parts of at least `size` positions each but the last; no sequence is cut."""
        first = 0
        while first < self.n_sequences:
            end = min(int(np.searchsorted(self.start, self.start[first] + size)), self.n_sequences)
            positions = slice(self.start[first], self.start[end])
            start = self.start[first : end + 1] - self.start[first]
            yield Sequences(self.terminal[positions], self.tag[positions], start, self.weight[first:end])
            first = end

    def part(self, which: BoolArray) -> Sequences:
        """Select some of the sequences; which: (T,)."""
        keep = which[self.sequence]
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[which])])
        return Sequences(self.terminal[keep], self.tag[keep], start, self.weight[which])


@dataclass(frozen=True, eq=False, repr=False)
class Alphabet:
    """Numbers of observations: terminals 0 ... n-1 for observations seen in training, and terminal n for all others.

    None, unless it was an observation in training, is a missing observation, of terminal n + 1.

    known: the observations seen in training, which are the names of terminals 0 ... n-1; each is kept once.

    >>> alphabet = Alphabet(["a", ("b", 1), "a"])
    >>> alphabet.terminals_of([("b", 1), "a", 7]).tolist()
    [1, 0, 2]
    """

    known: Annotated[Sequence[Hashable], are_distinct]

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", self._names.names)

    @cached_property
    def _names(self) -> Vocabulary[Hashable]:
        return Vocabulary(self.known)

    @property
    def n_terminals(self) -> int:
        """The number of terminals, n + 1."""
        return len(self._names) + 1

    def terminals_of(self, sequence: Sequence[Hashable]) -> IntArray:
        """Look up the terminals (n,) of n observations."""
        terminals = self._names.numbers(sequence)
        missing = [each is None for each in sequence]
        return np.where(terminals < 0, len(self._names) + np.array(missing, dtype=np.int64), terminals)

    @staticmethod
    def unseen_tokens(count: FloatArray) -> float:
        """Estimate the number of tokens of unseen observations: one more than the observations seen at most once.

        The estimate of Good and Turing is the number of observations seen once; adding one keeps it positive.

        count: (n,) the number of times that each observation was seen."""
        return 1.0 + Alphabet.seen_once(count)

    @staticmethod
    def seen_once(count: FloatArray) -> int:
        """Count the observations that were seen, but at most once.

        count: (n,) the number of times that each observation was seen."""
        return int(np.count_nonzero((count > 0) & (count <= 1)))

    def smooth(self, moments: LeafMoments) -> tuple[IntArray, FloatArray]:
        """Add the rule of terminal n, for unseen observations: return leaf rules (R, 2) and sums of z (R, M).

        The sum of z of this rule is the sum over the observations seen once, plus the mean of z.  All sums are then
        scaled, so that their total stays the same.

        moments: the moments of the leaf rules of one emitting symbol."""
        (symbol,) = np.unique(moments.rules[:, 0])
        n = moments.symbol_count[symbol]
        mean = moments.symbol_total[symbol] / n
        rare = moments.total[moments.count <= 1].sum(axis=0) + mean
        rules = np.concatenate([moments.rules, [[symbol, len(self._names)]]])
        total = np.concatenate([moments.total, rare[None]])
        return rules, total * (n / (n + self.unseen_tokens(moments.count)))


def _columns(sequences: Sequences, emission: list[IntArray], spine: list[IntArray]) -> IntArray:
    """Put templates (N,) of emissions and of spines into columns of all nodes (2N, d), filled up with -1."""
    columns = np.full((2 * len(sequences.terminal), max(len(emission), len(spine))), -1, dtype=np.int64)
    for nodes, templates in ((sequences.emission, emission), (sequences.spine, spine)):
        for k, template in enumerate(templates):
            columns[nodes, k] = template
    return columns


def tagged_features(sequences: Sequences, chains: IntArray) -> FeatureColumns:
    """Make features of tagged sequences: words with their signatures, and up to three neighbouring tags.

    chains: (W, L) the signatures of each of W words, coarsest first, filled up with -1."""
    word = sequences.terminal
    word_before = sequences.shift(word, -1)
    before, before_2, after, after_2 = (sequences.shift(sequences.tag, offset) for offset in (-1, -2, 1, 2))
    inside = _columns(
        sequences,
        emission=[word, *chains[word].T[1:4]],
        spine=[word, after, hash_columns(word, after), hash_columns(after, after_2)],
    )
    outside = _columns(
        sequences,
        emission=[before, after, hash_columns(before, after)],
        spine=[before, hash_columns(before, before_2), hash_columns(before, word_before)],
    )
    return FeatureColumns(inside, outside)


def longest_grams(n_symbols: int, n_positions: int) -> int:
    """Choose the length of the longest n-grams: the largest L from 1 to 8 with n^L ≤ √N; 1 if there is none."""
    length = 1
    while length < 8 and (n_symbols ** (length + 1)) ** 2 <= n_positions:
        length += 1
    return length


def untagged_features(sequences: Sequences, longest: int) -> FeatureColumns:
    """Make features of sequences without tags: observations up to three positions away, and n-grams on either side."""
    after = [sequences.shift(sequences.terminal, offset) for offset in range(max(longest + 1, 3))]
    before = [sequences.shift(sequences.terminal, -1 - offset) for offset in range(max(longest, 3))]
    lengths = range(2, longest + 1)
    grams = [hash_columns(*after[:n]) for n in lengths]
    grams_before = [hash_columns(*before[:n]) for n in lengths]
    grams_after = [hash_columns(*after[1 : n + 1]) for n in lengths]
    inside = _columns(sequences, emission=[sequences.terminal], spine=[*after[:3], *grams])
    outside = _columns(
        sequences,
        emission=[before[0], after[1], before[1], after[2], *grams_before, *grams_after],
        spine=[*before[:3], *grams_before],
    )
    return FeatureColumns(inside, outside)


class SequenceShard(NamedTuple):
    """A shard of sequences, which computes its s-trees and features at each access.

    featurise: the function that computes the features of sequences; other processes must be able to import it."""

    columns: Columns
    n_tags: int
    featurise: Callable[[Sequences], FeatureColumns]

    @property
    def sequences(self) -> Sequences:
        """The sequences."""
        return Sequences(**self.columns)

    @property
    def trees(self) -> SkeletalTrees:
        """The s-trees."""
        return self.sequences.trees(self.n_tags)

    @property
    def weight(self) -> FloatArray:
        """The weight of each sequence, (T,)."""
        return self.columns["weight"]

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return self.featurise(self.sequences)


def untagged_shard(columns: Columns, n_symbols: int, n_positions: int) -> SequenceShard:
    """Make a shard of sequences without tags; the length of n-grams depends on the number of all positions."""
    return SequenceShard(columns, 1, partial(untagged_features, longest=longest_grams(n_symbols, n_positions)))

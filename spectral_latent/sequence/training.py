"""Train the parameters of a tagger, over a lexicon of words; models of sequences without tags share some parts.

Tagged sequences are learnt like other latent trees.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from spectral_latent.estimation import (
    Columns,
    Estimate,
    EstimationError,
    FeatureColumns,
    Listener,
    Priors,
    Treebank,
    estimate,
    read_treebanks,
    relative_frequencies,
    silent,
)
from spectral_latent.lexicon import EmissionSmoothing, Lexicon, SpellingModel, WordCounts
from spectral_latent.operators import Counts, ObservableOperators
from spectral_latent.sequence.conversion import Alphabet, Sequences, SequenceShard, Tag, tagged_features, untagged_shard
from spectral_latent.sequence.grammar import SequenceGrammar, TagGrammar
from spectral_latent.sequence.options import TaggerOptions
from spectral_latent.trees import FloatArray, Rules, Vocabulary

_Token = TypeVar("_Token")


def with_back_off(treebank: Treebank, n_tags: int, priors: Priors, back_off: float) -> Treebank:
    """Add priors to a treebank, under which every tag may be followed by every tag and by the end."""
    counts = treebank.counts
    ends = counts.n_trees / (counts.symbol[:n_tags].sum() + 1)
    rules = _transitions(_tag_shares(counts, n_tags), ends, back_off)
    return replace(treebank, priors=priors._replace(rules=rules))


def _tag_shares(counts: Counts, n_tags: int) -> FloatArray:
    """Compute the share (K,) of each tag among all positions."""
    emissions = counts.symbol[:n_tags]
    return np.asarray(emissions / emissions.sum())


def _transitions(prior: FloatArray, ends: float, tokens: float) -> Counts:
    """Make pseudo-counts of transitions from every tag to every tag and to the end, `tokens` for each tag.

    prior: (K,) the share of each tag among all positions."""
    n_tags = len(prior)
    tags = np.arange(n_tags)
    before, after = np.divmod(np.arange(n_tags**2), n_tags)
    rules = Rules(
        np.empty((0, 2), dtype=np.int64),
        unary=np.stack([n_tags + tags, tags], axis=1),
        binary=np.stack([n_tags + before, before, n_tags + after], axis=1),
    )
    return Counts.of_rules(
        rules,
        root=np.zeros(2 * n_tags),
        leaf=np.zeros(0),
        unary=np.full(n_tags, tokens * ends),
        binary=tokens * (1.0 - ends) * prior[after],
    )


def check_rows(rows: Iterable[list[_Token]], *, may_be_empty: bool) -> Iterator[list[_Token]]:
    """Check sequences one by one.  Raises EstimationError for an empty one, and if there is none that is not empty."""
    number = n_full = 0
    for number, row in enumerate(rows, start=1):
        if not row and not may_be_empty:
            raise EstimationError(f"sequence {number} is empty; leave it out")
        n_full += bool(row)
        yield row
    if not n_full:
        raise EstimationError("all sequences are empty" if number else "no sequences to learn from")


def join_grammar(
    treebank: Treebank, options: Any, tags: list[Tag], observations: Lexicon | Alphabet, latent: Estimate
) -> SequenceGrammar[Any, Any]:
    """Join latent operators with coarse operators."""
    kind: type[SequenceGrammar[Any, Any]] = TagGrammar if isinstance(observations, Lexicon) else SequenceGrammar
    coarse = relative_frequencies(treebank.counts, treebank.priors)
    prior = _tag_shares(treebank.counts, len(tags))
    return kind(options, tags, observations, prior, coarse, latent.operators, latent.rounded_objective)


class SequenceFormalism:
    """The conversion of sequences (`estimation.Formalism`): of words with tags, or of observations without.

    names: the observations in the order of their numbers.
    tags: the tags in the order of their numbers; the only tag None for sequences without tags.
    n_empty: the weight of the empty sequences, which have no trees."""

    def __init__(self, *, has_tags: bool) -> None:
        self.names = Vocabulary[Any]()
        self.tags = Vocabulary[Tag]([] if has_tags else [None])
        self.n_empty = 0.0
        self._has_tags = has_tags
        self._n_positions = 0
        self._counts: list[WordCounts] = []

    def n_nodes(self, sequence: list[Any]) -> int:
        """Count the nodes of a sequence's s-tree."""
        return 2 * len(sequence)

    def columns(self, sequences: Sequence[list[Any]], weight: FloatArray) -> Columns:
        """Number the observations and tags of sequences, and count words."""
        is_full = np.array([len(sequence) > 0 for sequence in sequences])
        self.n_empty += float(weight[~is_full].sum())
        full = [sequence for sequence in sequences if sequence]
        if self._has_tags:
            names = ([self.names.add(word) for word, _ in sentence] for sentence in full)
            tags = ([self.tags.add(tag) for _, tag in sentence] for sentence in full)
            joined = Sequences.of(names, tags, weight[is_full])
            opens = np.zeros(len(joined.terminal), dtype=np.bool_)
            opens[joined.start[:-1]] = True
            times = joined.weight[joined.sequence]
            self._counts.append(WordCounts.of(joined.tag, joined.terminal, opens, times))
        else:
            joined = Sequences.of((map(self.names.add, sequence) for sequence in full), weight=weight[is_full])
        self._n_positions += len(joined.terminal)
        return joined.columns

    @cached_property
    def lexicon(self) -> Lexicon:
        """The lexicon of all words, with a trained model of spelling."""
        names = self.names.names
        seen = WordCounts.total(self._counts)
        spelling = SpellingModel.train(names, seen.word, seen.symbol, seen.times, seen.opens, len(self.tags))
        return Lexicon(names, spelling)

    @cached_property
    def _featurise(self) -> Callable[[Sequences], FeatureColumns]:
        return partial(tagged_features, chains=self.lexicon.signature_chains())

    def shard(self, columns: Columns) -> SequenceShard:
        """Make a shard from the numbers of observations and tags."""
        if not self._has_tags:
            return untagged_shard(columns, len(self.names), self._n_positions)
        return SequenceShard(columns, len(self.tags), self._featurise)


def train_tagged(
    sentences: Iterable[list[tuple[str, Tag]]],
    options: TaggerOptions,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> TagGrammar:
    """Learn tags, a lexicon and operators from tagged sentences, which are read once."""
    formalism = SequenceFormalism(has_tags=True)
    (treebank,) = read_treebanks(check_rows(sentences, may_be_empty=False), [formalism], weights=weights, jobs=jobs)
    tags = formalism.tags.names
    lexicon = formalism.lexicon
    tag_of_symbol = np.arange(2 * len(tags)) % len(tags)
    smooth = EmissionSmoothing(lexicon, options.lexicon, tag_of_symbol)
    treebank = with_back_off(treebank, len(tags), Priors(smooth, fragments=options.back_off), options.back_off)
    if getattr(options.estimator.states, "n_states", None) == 1:  # then frequencies are all that there is to learn
        frequencies = relative_frequencies(treebank.counts, treebank.priors)
        latent = Estimate(ObservableOperators.probabilities_of(frequencies))
    else:
        latent = estimate(treebank, options.estimator, jobs=jobs, listener=listener)
    grammar = join_grammar(treebank, options, tags, lexicon, latent).rounded(options.compact)
    assert isinstance(grammar, TagGrammar)
    return grammar

"""Hold the operators of a latent hidden Markov model, with or without tags, and the meaning of its symbols."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Generic, Self, TypeVar

import numpy as np

from spectral_latent._options import Above, AtMost, counted
from spectral_latent.files import Axes, are_distinct, are_one_line, are_probabilities, round_operators
from spectral_latent.inspection import NamedOperators
from spectral_latent.lexicon import Lexicon, WordEncoder
from spectral_latent.model import Member
from spectral_latent.model.parts import Found, WeighedForest
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Alphabet, Sequences, Tag
from spectral_latent.sequence.decoding import Allowed, TagCharts, allowed_tags, likely_rules, tag_parts
from spectral_latent.sequence.forests import TrellisBuilder
from spectral_latent.sequence.options import HMMOptions, TaggerOptions
from spectral_latent.trees import FloatArray, Forest, IntArray, SkeletalTrees, Vocabulary

OptionsKind = TypeVar("OptionsKind", bound=TaggerOptions | HMMOptions)
Known = TypeVar("Known", bound=Lexicon | Alphabet)


@dataclass(frozen=True, eq=False, repr=False)
class SequenceGrammar(Member[Sequence[Any], Any], Generic[OptionsKind, Known]):
    """Operators over the s-trees of sequences with K tags; see `conversion`.

    A tree is a sequence of pairs of an observation and its tag; without tags, it is the sequence itself.

    tags: the K tags; only None for sequences without tags.
    prior: (K,) the share of each tag among all positions.
    coarse: operators with one state for each tag.
    latent: operators over the same rules, with latent states.
    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM."""

    options: OptionsKind
    tags: Annotated[list[Tag], Axes("K"), are_distinct, are_one_line]
    observations: Known
    prior: Annotated[FloatArray, Axes("K"), Above(0.0), AtMost(1.0)]
    coarse: Annotated[ObservableOperators, are_probabilities]
    latent: ObservableOperators
    objective: tuple[float, ...] = ()

    @property
    def sizes(self) -> str:
        """The numbers of tags, states and observations."""
        states = counted(self.n_states, "state")
        known = len(self.observations.known)
        if not self.has_tags:
            return f"{states}, {counted(known, 'observation')}"
        return f"{counted(self.n_tags, 'tag')} of up to {states}, {counted(known, 'word')}"

    def __post_init__(self) -> None:
        rules = self.latent.rules
        n_tags = self.n_tags
        if len(self.prior) != n_tags:
            raise ValueError(f"the operators are of {len(self.prior)} tags, not {n_tags}")
        may_be_missing = self.has_tags and isinstance(self.observations, Alphabet)
        if rules.leaf[:, 1].max(initial=-1) >= self.observations.n_terminals + may_be_missing:
            raise ValueError("a rule emits a terminal that has no name")
        if not self.coarse.rules.equals(rules):
            raise ValueError("the coarse and the latent operators must have the same rules")
        if not 2 * n_tags == self.latent.n_symbols == self.coarse.n_symbols:
            raise ValueError("the operators do not have two symbols for each tag")
        TrellisBuilder(rules, n_tags)  # raises ValueError for rules that are not those of sequences
        if (rules.leaf[:, 0] >= n_tags).any():
            raise ValueError("a rule that emits an observation must be of a tag")
        if not (self.coarse.root[n_tags:].any() and self.latent.root[n_tags:].any() and (self.coarse.unary > 0).all()):
            raise ValueError("no sequence can begin or end")

    @property
    def has_tags(self) -> bool:
        """Whether positions have tags."""
        return self.tags != [None]

    @property
    def n_tags(self) -> int:
        """The number of tags, K."""
        return len(self.tags)

    @property
    def n_states(self) -> int:
        """The largest number of latent states of a tag."""
        return int(self.latent.states.max())

    @cached_property
    def proper(self) -> tuple[ObservableOperators, ObservableOperators]:
        """Coarse and latent operators, scaled so that the coarse root vectors and the emissions of each tag sum to one.

        Without scaling, emissions have too large a sum, because the lexicon adds unseen words.  Roots have too small a
        sum, because trees may begin at emissions.  Rounding changes the sums of all probabilities a little."""
        n_tags = self.n_tags
        tag = self.coarse.rules.leaf[:, 0]
        emitted = np.bincount(tag, self.coarse.leaf[:, 0], minlength=n_tags)[tag, None]
        begins = self.coarse.root[n_tags:].sum()
        coarse = replace(ObservableOperators.probabilities_of(self.coarse), root=self.coarse.root / begins)
        if self.latent.probabilities:
            latent = ObservableOperators.probabilities_of(self.latent)
            return coarse, replace(latent, root=self.latent.root / self.latent.root[n_tags:].sum())
        return coarse, replace(self.latent, leaf=self.latent.leaf / emitted, root=self.latent.root / begins)

    @cached_property
    def open(self) -> ObservableOperators:
        """The proper latent operators; without tags, also a leaf rule for missing observations: the sum of all."""
        latent = self.proper[1]
        if self.has_tags:
            return latent
        rules = replace(latent.rules, leaf=np.append(latent.rules.leaf, [[0, self.observations.n_terminals]], axis=0))
        leaf = np.append(latent.leaf, latent.leaf.sum(axis=0, keepdims=True), axis=0)
        return replace(latent, rules=rules, leaf=leaf)

    def trellises(self, sequences: Sequences) -> WeighedForest:
        """Build the trellises of sequences, unpruned, with a component for each sequence."""
        latent = self.open
        builder = TrellisBuilder(latent.rules, self.n_tags)
        return WeighedForest(latent, builder.build(sequences.start, builder.candidates(sequences.terminal))[0])

    def chart(self, inputs: Sequence[Any]) -> Any:
        """Build the trellises of sequences, unpruned, with a component for each sequence.

        Raises ValueError if a sequence is empty."""
        return self.trellises(Sequences.of(map(self.observations.terminals_of, inputs)))

    def tagged(self, trees: Iterable[Sequence[tuple[Any, Tag]]]) -> tuple[Sequences, Forest]:
        """Number tagged sequences, and make the forest of their s-trees; an unknown tag has no rules there."""
        rows = list(trees)
        numbers = Vocabulary(self.tags)
        terminals = (self.observations.terminals_of([x for x, _ in row]) for row in rows)
        columns = Sequences.of(terminals, (numbers.numbers(tag for _, tag in row) for row in rows))
        forest = Forest.of_trees(columns.trees(self.n_tags), self.latent.rules)
        return columns, forest._replace(symbol=np.maximum(forest.symbol, 0))

    def forest_of(self, trees: Sequence[Sequence[Any]]) -> WeighedForest:
        """Build the forest of tagged sequences, or of sequences without tags, with a component for each.

        trees: pairs of an observation and its tag; observations alone if the grammar has no tags.
        Raises ValueError if a sequence is empty."""
        if not self.has_tags:
            return self.trellises(Sequences.of(map(self.observations.terminals_of, trees)))
        return WeighedForest(self.proper[1], self.tagged(trees)[1])

    def output(self, tree: SkeletalTrees, given: Sequence[Any] | None = None) -> list[Any]:
        """Convert one s-tree back to a sequence, with tags if the grammar has tags.

        given: the observations; None for those of the terminals."""
        sequence = Sequences.of_trees(tree)
        known = self.observations.known
        seen = [known[x] for x in sequence.terminal.tolist()] if given is None else given
        return self.joined(seen, sequence.tag)

    def joined(self, observations: Sequence[Any], tags: IntArray) -> list[Any]:
        """Join observations with their tags if the grammar has tags.

        tags: (n,) the numbers of their tags."""
        if not self.has_tags:
            return list(observations)
        return [(x, self.tags[tag]) for x, tag in zip(observations, tags.tolist(), strict=True)]

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with names; see `inspection`.

        The symbol `NN` is the tag of a word; `NN ...` is the spine of this word and all words after it."""
        names = ["" if tag is None else str(tag) for tag in self.tags]
        names += [f"{name} ..." for name in names]
        seen = self.observations
        terminals = seen.terminal_names if isinstance(seen, Lexicon) else [*map(str, seen.known), "<unseen>"]
        return NamedOperators(self.latent, names, terminals)

    @property
    def part_names(self) -> list[Tag]:
        """The names of the labels of parts, which are the tags."""
        return self.tags

    def parts(self, inputs: Sequence[Any], charts: Any) -> Found:
        """Give every observation of sequences without tags the only tag."""
        start = np.cumsum([0, *map(len, inputs)])
        position = np.arange(start[-1])
        only = tag_parts(start, position, np.zeros_like(position), np.ones(len(position)))
        return Found(only, np.ones(len(inputs), dtype=np.bool_))

    def rounded(self, compact: bool) -> Self:
        """Round the numbers of the operators, so that a file holds most of them in two bytes.

        compact: whether to keep fewer digits; see `round_operators`."""
        coarse, latent = (round_operators(each, compact) for each in (self.coarse, self.latent))
        return replace(self, coarse=coarse, latent=latent)


@dataclass(frozen=True, eq=False, repr=False)
class TagGrammar(SequenceGrammar[TaggerOptions, Lexicon]):
    """The operators of a tagger over the words of a lexicon."""

    options: TaggerOptions
    observations: Lexicon

    @cached_property
    def _encoder(self) -> WordEncoder:
        """Make the encoder that finds the leaf rules of words, and marks unlikely tags by the beam of the options."""
        beam = self.options.beam
        likely = likely_rules(self.coarse, self.prior, beam)
        return WordEncoder(self.observations, self.coarse, self.prior, np.arange(self.n_tags), beam, likely)

    def charts(self, sentences: Sequence[Sequence[str]], known: Sequence[Allowed | None]) -> TagCharts:
        """Find the likely tags of sentences under the coarse operators, among those that are known of each."""
        allowed = allowed_tags(self.tags, sentences, known)
        words = self._encoder.encode(sentences, likely_only=allowed is None)
        if allowed is not None:
            # Words that were never seen with one of their tags get the commonest of these.
            has_rule = np.zeros((words.any_word + 1, self.n_tags), dtype=bool)
            has_rule[words.rules[:, 1], words.rules[:, 0]] = True
            commonest = np.where(allowed, self.prior, -1.0).argmax(axis=1)
            is_seen = (has_rule[words.word] & allowed).any(axis=1)
            if not is_seen.all():
                words = self._encoder.encode(sentences, np.where(is_seen, -1, commonest))
        return TagCharts.prune(
            (words.restrict(self.coarse), words.restrict(self.latent)),
            words.word,
            np.cumsum([0, *map(len, sentences)]),
            likely=words.likely,
            threshold=self.options.threshold,
            allowed=allowed,
        )

    def chart(self, inputs: Sequence[Any]) -> TagCharts:
        """Find the likely tags of sentences under the coarse operators."""
        return self.charts(*zip(*inputs, strict=True))

    def parts(self, inputs: Sequence[Any], charts: TagCharts) -> Found:
        """Find the tags of words, with their posteriors."""
        return Found(charts.parts(), np.ones(len(inputs), dtype=np.bool_))

    def forest(self, charts: TagCharts) -> WeighedForest:
        """Make the trellises of the likely tags."""
        return WeighedForest(charts.latent, charts.builder.build(charts.start, charts.candidates)[0])

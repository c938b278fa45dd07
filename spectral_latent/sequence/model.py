"""Hold latent hidden Markov models: a tagger, whose tags have latent states, and a model of sequences without tags."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, ClassVar

import numpy as np

from spectral_latent._compiled import by_python
from spectral_latent._options import AtLeast, Below, ShortRepr, check_fields, checked, given_or
from spectral_latent._threads import on_one_thread
from spectral_latent.estimation import EM, EstimationError, Listener, Random, silent
from spectral_latent.estimation.starts import n_near
from spectral_latent.files import Axes, plain
from spectral_latent.inference import SignedLog, tree_weights
from spectral_latent.lexicon import Lexicon
from spectral_latent.model import Partial, check_words
from spectral_latent.model.batches import map_batches
from spectral_latent.model.parts import Analysis, Judge, jackknife
from spectral_latent.sequence.baum_welch import state_posteriors
from spectral_latent.sequence.conversion import Alphabet, Sequences, Tag, check_sequence, is_open, pairs_of
from spectral_latent.sequence.decoding import Allowed, TagCharts, allowed_tags, best_tags, state_charts, tag_matrix
from spectral_latent.sequence.grammar import SequenceGrammar, TagGrammar
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.sequence.judge import TagChoices, TagEvidence, TagModel
from spectral_latent.sequence.options import HMMOptions, TaggerOptions, preset
from spectral_latent.sequence.prediction import SequenceModel, around_empty
from spectral_latent.sequence.tagger import SENTENCES, Tagger
from spectral_latent.sequence.training import train_tagged
from spectral_latent.sequence.untagged import Untagged, train_open, train_untagged
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class LatentTagger(Tagger, SequenceModel[TagGrammar, Partial[Sequence[str], Allowed | None]]):
    """A hidden Markov model of tagged words, whose tags have latent states.

    The tree of a sentence is its words with their tags: those of `tag`, or for `parse_nbest` the sequences of tags with
    the largest sums of posteriors.  Constraints on it are the tags that are known, as `tag` takes them.  `scored` is
    whether to compute p̂, True by default.  An empty sentence has no words and no tags, and p̂ = 0.

    members: the operators of the rules of K tags, with the words by their numbers.
    tagset: the name of the set of tags, such as `xpos` for that column of CoNLL-U; None if it is not known.
    judge: the model that judges the posteriors of tags, if the options ask for one; otherwise None.  Paths and
    probabilities are those of the hidden Markov model.
    Raises ValueError for a lexicon without spellings, and if the options do not belong to the judge.

    >>> tagger = LatentTagger.train([[("dogs", "N"), ("bark", "V")], [("cats", "N"), ("sleep", "V")]])
    >>> tagger.tag(["cats", "bark"])
    ['N', 'V']
    >>> list(tagger.tag_text("dogs sleep"))
    [[('dogs', 'N'), ('sleep', 'V')]]
    """

    kind: ClassVar[str] = "tagger"
    later: ClassVar[frozenset[str]] = frozenset({"judge"})

    members: Annotated[tuple[TagGrammar, ...], Axes(1)]
    tagset: str | None = None
    judge: TagModel | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.observations.spelling is None:
            raise ValueError("the lexicon has learnt no spellings")
        if (self.judge is None) != (self.options.judge is None):
            raise ValueError("a tagger has a judge if its options have `judge`, and only then")

    @property
    def tags(self) -> list[Tag]:  # type: ignore[override]
        """The K tags."""
        return self.grammar.tags

    @property
    def observations(self) -> Lexicon:
        """The words by their numbers."""
        return self.members[0].observations

    def checked(
        self, given: Sequence[str] | Partial[Sequence[str], Allowed], **settings: Any
    ) -> Partial[Sequence[str], Allowed | None]:
        """Check the words of a sentence, and the tags that are known.

        given: the words, or a `Partial` of the words and their tags as `tag` takes them."""
        words: Any
        words, known = given if isinstance(given, Partial) else (given, None)
        allowed_tags(self.tags, [check_words(words)], [known])
        return Partial(words, known)

    def _observed(self, given: Partial[Sequence[str], Allowed | None]) -> Sequence[str]:
        return given.sentence

    def _charts(self, sequence: Sequence[str], known: Allowed | None) -> TagCharts:
        return self.grammar.charts([sequence], [known])

    def _block_of(self, sequence: Sequence[str]) -> AbstractContextManager[None]:
        return by_python(self._work_of([sequence]))

    def _best(self, sequences: Sequence[Sequence[str]], known: Sequence[Allowed | None]) -> IntArray:
        return best_tags(self.analyse(list(map(Partial, sequences, known))).judged)

    def _posteriors(self, sequences: Sequence[Sequence[str]], known: Sequence[Allowed | None]) -> FloatArray:
        judged = self.analyse(list(map(Partial, sequences, known))).judged
        return tag_matrix(judged, sequences, len(self.tags))

    @property
    def judges(self) -> list[Judge[TagEvidence]]:
        """The model of tags, if there is one."""
        return [] if self.judge is None else [self.judge]

    def evidence(self, analysis: Analysis[Partial[Sequence[str], Allowed | None]]) -> TagEvidence:
        """Collect the words of sentences."""
        return TagEvidence([given.sentence for given in analysis.inputs], self.tags, self.options.judge.least)

    def _trees(self, trees: Iterable[Iterable[tuple[str, Tag]]]) -> list[list[tuple[str, Tag]]]:
        return [pairs_of(sentence, number, str) for number, sentence in enumerate(trees, start=1)]

    @property
    def _floor(self) -> float:
        return self.members[0].options.floor

    @staticmethod
    def train(
        sentences: Iterable[Iterable[tuple[str, Tag]]],
        options: TaggerOptions | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> LatentTagger:
        """Learn from sentences of words with tags.

        sentences: pairs of a word and its tag; tags are any hashable objects but None.
        options: the settings of training and tagging; None for those of the preset `fast`, see `presets`.

        Raises EstimationError if there is no sentence, if a sentence is empty, or if a token is not a pair of a word
        and a tag."""
        options = given_or(preset("fast"), options)
        pairs = (pairs_of(sentence, number, str) for number, sentence in enumerate(sentences, start=1))
        if options.judge is None:
            return LatentTagger((train_tagged(pairs, options, weights=weights, jobs=jobs, listener=listener),))
        tagger, _ = _train_judged(list(pairs), options, weights, jobs, listener)
        return tagger

    @staticmethod
    def train_partly(
        sentences: Iterable[Iterable[tuple[str, Tag | AbstractSet[Tag] | None]]],
        options: TaggerOptions | None = None,
        *,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> LatentTagger:
        """Learn from sentences whose tags are partly known.

        A model of one state for each tag, learnt from the stretches of words with known tags, finds the other tags; a
        second one, learnt from the result, finds them again, and the model is learnt from these.

        sentences: pairs of a word and its tag, a set of tags that it may have, or None; kept in memory.
        options: the settings of training and tagging; None for those of the preset `fast`.

        Raises EstimationError if no tag is known, and if a set has only tags that are nowhere known.

        >>> tagger = LatentTagger.train_partly([[("dogs", "N"), ("bark", "V")], [("cats", None), ("bark", {"N", "V"})]])
        >>> tagger.tag(["cats", "bark"])
        ['N', 'V']
        """
        options = given_or(preset("fast"), options)
        rows = [pairs_of(row, number, str, may_be_open=True) for number, row in enumerate(sentences, start=1)]
        stretches = [list(run) for row in rows for is_known, run in groupby(row, _is_known) if is_known]
        if not stretches:
            raise EstimationError("no word has a known tag; give at least some words one")
        plain = replace(options, estimator=options.estimator.with_settings(n_states=1), judge=None)
        model = LatentTagger.train(stretches, plain, jobs=jobs)
        rows = [[(word, _among(tag, model.tags, number)) for word, tag in row] for number, row in enumerate(rows, 1)]
        completed: list[list[tuple[str, Tag]]] = []
        for settings in (plain, options):
            completed = [_complete(model, row) for row in rows]
            model = LatentTagger.train(completed, settings, jobs=jobs, listener=listener)
        return model

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""
        return Tokenisation(frozenset(self.observations.known))

    def _terminals(self, sequence: Sequence[str]) -> IntArray:
        check_words(sequence)
        return self.observations.terminals_of(sequence)

    def joint_log_probabilities(self, sentences: Iterable[Iterable[tuple[str, Tag]]]) -> FloatArray:
        """Compute the natural logarithms (T,) of the probabilities of words with their tags; -inf for an unknown tag.

        An estimate is raised to at least `floor` times the probability in the coarse model, and lowered to at most the
        probability of the words alone.

        sentences: T sentences; pairs of a word and its tag.

        Raises EstimationError if a token is not a pair of a word and a tag."""
        return around_empty(self._trees(sentences), self._joint).log

    def _joint(self, trees: list[list[tuple[str, Tag]]]) -> SignedLog:
        """Compute the probabilities of words with their tags; no sentence is empty."""
        columns, forest = self.grammar.tagged(trees)
        coarse, latent = (tree_weights(operators, forest) for operators in self.grammar.proper)
        if self.grammar.latent.probabilities:
            return latent
        least = coarse.log + (np.log(self._floor) if self._floor else -np.inf)
        words = self._predictor.log_probabilities(columns.rows)
        return latent._replace(log=np.minimum(np.maximum(latent.log_if_positive, least), words))

    def sample(
        self, n: int, rng: np.random.Generator, max_nodes: int = 20_000, *, length: int | None = None
    ) -> list[list[tuple[str, Tag]]]:
        """Draw sentences of words seen in training, each word with its tag, as `score` takes them.

        Each word is drawn from the distribution of `following`, and then the tags of the sentence as `draw` does.

        max_nodes: the largest number of nodes of an s-tree, which has two for each word.
        length: the length of every sentence; None for any length within `max_nodes`.

        Raises ValueError if a sentence of any length grows beyond `max_nodes` nodes."""
        sentences = super().sample(n, rng, max_nodes, length=length)
        return [list(zip(words, self.draw(words, rng), strict=True)) for words in sentences]

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the tagger, its tags among them."""
        return super().description | {"tags": plain(self.tags), "column": self.tagset}


@on_one_thread()
def train_and_tag(
    sentences: Iterable[Iterable[tuple[str, Tag]]],
    options: TaggerOptions,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[LatentTagger, list[list[Tag]]]:
    """Learn a tagger with a judge, and find the tags of each sentence as models of other sentences do.

    sentences: pairs of a word and its tag, kept in memory.

    Raises ValueError for options without a judge, and the errors of `LatentTagger.train`."""
    if options.judge is None:
        raise ValueError("the options must have a judge, which learns from models of other sentences")
    rows = [pairs_of(sentence, number, str) for number, sentence in enumerate(sentences, start=1)]
    tagger, folds = _train_judged(rows, options, None, jobs, listener)
    anew = [[tag for _, tag in row] for row in rows]
    for fold, found in enumerate(folds):
        others = [part.choices.to_learn_from(1.0) for other in folds if other is not found for part in other]
        judge = TagModel.train(others, options.judge)
        best = iter([tagger.tags[tag] for part in found for tag in part.judged_best(judge).tolist()])
        for number in range(fold, len(rows), len(folds)):
            anew[number] = [next(best) for _ in rows[number]]
    return tagger, anew


def _train_judged(
    rows: list[list[tuple[str, Tag]]],
    options: TaggerOptions,
    weights: Iterable[float] | None,
    jobs: int | None,
    listener: Listener,
) -> tuple[LatentTagger, list[list[TagChoices]]]:
    """Learn a tagger with a judge; also return the likely tags of the sentences of each fold, in parts."""
    assert options.judge is not None
    weights = None if weights is None else list(weights)
    grammar = train_tagged(rows, options, weights=weights, jobs=jobs, listener=listener)
    number_of = {tag: number for number, tag in enumerate(grammar.tags)}
    weighted = [(row, weight) for row, weight in zip(rows, weights or [1.0] * len(rows), strict=True) if weight > 0.0]

    def learn(rows: list[list[tuple[str, Tag]]], weights: list[float]) -> LatentTagger:
        """Learn the tagger of other folds."""
        return LatentTagger.train(rows, replace(options, judge=None), weights=weights, jobs=jobs)

    folds: list[list[TagChoices]] = []
    for model, held_out, times in jackknife(weighted, options.judge.folds, learn, listener):
        columns = np.array([number_of[tag] for tag in model.tags])
        parts = []
        for first in range(0, len(held_out), SENTENCES):
            batch = held_out[first : first + SENTENCES]
            words = [[word for word, _ in row] for row in batch]
            right = np.array([number_of[tag] for row in batch for _, tag in row])
            likely = model.analyse([model.checked(each) for each in words]).judged
            likely = likely._replace(label=columns[likely.label]).merge()
            found = TagChoices.of(likely, TagEvidence(words, grammar.tags, options.judge.least), right)
            of_words = np.repeat(times[first : first + SENTENCES], list(map(len, words)))
            parts.append(found._replace(choices=found.choices._replace(times=of_words[found.word])))
        del model  # free the memory while the next fold is learnt
        folds.append(parts)
    judge = TagModel.train([part.choices.to_learn_from(1.0) for parts in folds for part in parts], options.judge)
    return LatentTagger((grammar,), judge=judge), folds


def _is_known(token: tuple[str, Any]) -> bool:
    """Tell whether a word has one tag."""
    return not is_open(token[1])


def _among(tag: Any, tags: Iterable[Tag], number: int) -> Any:
    """Take from a set those that are among `tags`; return other tags, and None, as they are."""
    if not isinstance(tag, AbstractSet):
        return tag
    if not (known := tag & set(tags)):
        raise EstimationError(f"sentence {number}: none of {sorted(map(str, tag))} is the known tag of any word")
    return known


def _complete(tagger: LatentTagger, row: list[tuple[str, Any]]) -> list[tuple[str, Tag]]:
    """Find the tags of a sentence that are not known."""
    words, known = [word for word, _ in row], [tag for _, tag in row]
    tags = known if all(map(_is_known, row)) else tagger.tag(words, known)
    return list(zip(words, tags, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class LatentHMM(SequenceModel[SequenceGrammar[HMMOptions, Alphabet], Sequence[Hashable]]):
    """A hidden Markov model of sequences of any hashable observations, without tags.

    Spectral operators predict observations, but have no states.  The other estimators find states; see `hidden` and
    `tagger`.

    members: the operators of the rules of a single tag, with the observations by their numbers.
    floor: ε of `prediction`: that of the options, or the chosen one if they have none; 0 for probabilities.
    empty: the probability of the empty sequence: its share of the sequences learnt from.
    reached: the objective that each start of EM reached when it ended or was given up, the estimator's own first.
    Raises ValueError if the options have another ε.

    >>> model = LatentHMM.train(["abc", "abd"] * 500)
    >>> {x: round(p, 1) for x, p in model.following("ab").items() if p > 0.1}
    {'c': 0.5, 'd': 0.5}
    """

    kind: ClassVar[str] = "hmm"
    later: ClassVar[frozenset[str]] = frozenset({"empty", "reached"})

    members: Annotated[tuple[SequenceGrammar[HMMOptions, Alphabet], ...], Axes(1)]
    floor: Annotated[float, AtLeast(0.0), Below(1.0)]
    empty: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.0
    reached: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = 0.0 if self.grammar.probabilities else self.options.floor
        if wanted not in (None, self.floor):
            raise ValueError(f"the floor must be {wanted}, not {self.floor}")
        if self.grammar.has_tags:
            raise ValueError("a model of sequences has no tags")

    @property
    def n_near(self) -> int:
        """The number of starts of EM that came within 1 nat of the best."""
        return n_near(self.reached)

    @property
    def observations(self) -> Alphabet:
        """The observations by their numbers."""
        return self.members[0].observations

    @property
    def _floor(self) -> float:
        return self.floor

    @property
    def _empty(self) -> float:
        return self.empty

    @staticmethod
    def train(
        sequences: Iterable[Sequence[Hashable]],
        options: HMMOptions | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> LatentHMM:
        """Learn from sequences.  A stream longer than memory is kept in temporary files.

        sequences: sequences of any hashable observations; some may be empty.
        options: the settings of training; None to choose the estimator and the number of states: those under which
        a tenth of the sequences, held out, is likeliest.  The logger `spectral_latent.sequence.untagged` tells what was
        tried: the spectral estimator, and EM from the states of moments and from random ones.

        Raises EstimationError if all sequences are empty, or if an observation is not hashable."""
        checked("options", options, HMMOptions | None)
        return LatentHMM._of(train_untagged(sequences, options, weights=weights, jobs=jobs, listener=listener))

    @staticmethod
    def _of(found: Untagged) -> LatentHMM:
        """Make the model of what was learnt."""
        grammar, floor, empty, reached = found
        return LatentHMM((grammar,), floor, empty, reached)

    @staticmethod
    def train_partly(
        sequences: Iterable[Iterable[Hashable | None]],
        known: Iterable[Iterable[int | AbstractSet[int] | None]] | None = None,
        options: HMMOptions | None = None,
        *,
        listener: Listener = silent,
    ) -> LatentHMM:
        """Learn from sequences in which observations may be missing, and states may be known, by EM.

        sequences: the observations of each sequence, kept in memory; None for one that is missing.
        known: what is known of the state of each position: its number, a set of numbers, or None; None if nothing is
        known of any.
        options: the settings, with an estimator with EM, whose `n_states` is the number of states; None for as many
        states as known ones need, at least two, and 100 iterations.

        Raises EstimationError if no observation is known, for states that there are not, and for sequences with other
        numbers of observations and states; ValueError for an estimator without EM.

        >>> model = LatentHMM.train_partly(["abab", ["a", None, "a", "b"]] * 9, [[0, 1, None, None], [None] * 4] * 9)
        >>> model.tagger.tag([None, "b", "a", None])
        [0, 1, 0, 1]
        """
        checked("options", options, HMMOptions | None)
        if known is not None:
            known = [list(row) for row in known]
        if options is None:
            numbers = (entry for row in known or () for entry in row if entry is not None)
            states = {state for entry in numbers for state in (entry if isinstance(entry, AbstractSet) else {entry})}
            most = max((state for state in states if isinstance(state, int)), default=0)
            options = HMMOptions(EM(Random(max(2, most + 1)), iterations=100, tolerance=1e-4), choose_states=False)
        return LatentHMM._of(train_open(sequences, known, options, listener=listener))

    @cached_property
    def hidden(self) -> HiddenMarkov:
        """The probabilities of the hidden Markov model, over the terminals of the alphabet.

        Raises ValueError if the model has spectral operators instead of states."""
        if not self.grammar.latent.probabilities:
            raise ValueError(
                "spectral operators have no states; train with another estimator, such as moments-em or clusters-em"
            )
        return HiddenMarkov.of_operators(self.grammar.latent)

    @property
    def tagger(self) -> StateTagger:
        """The model as a tagger, whose tags are its states 0 ... m - 1.

        Raises ValueError if the model has spectral operators instead of states."""
        return StateTagger(self, range(self.hidden.n_states))


@dataclass(frozen=True, eq=False, repr=False)
class StateTagger(Tagger, ShortRepr):
    """A latent hidden Markov model as a tagger: the tags are names of its states.

    >>> from spectral_latent.estimation import EM, Random
    >>> options = HMMOptions(EM(Random(2), iterations=50), choose_states=False)
    >>> states = LatentHMM.train(["abab", "ababab"] * 20, options).tagger
    >>> states.tag("abab") in ([0, 1, 0, 1], [1, 0, 1, 0])
    True
    """

    model: LatentHMM
    tags: Sequence[Tag]

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        return self.model.sizes

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.tags) != self.model.hidden.n_states:
            raise ValueError(f"{self.model.hidden.n_states} states need as many names, not {len(self.tags)}")

    def tag_all(self, sequences: Iterable[Sequence[Hashable]], *, jobs: int | None = 1) -> Iterator[list[Any]]:
        """Find the names of the states of each sequence, in order, as `tag` does.

        Sequences are read and tagged in batches, which takes less time than one by one."""
        return map_batches(_states_of, self.model, sequences, jobs, list(self.tags), size=SENTENCES)

    def _check(self, sequence: Sequence[Hashable]) -> None:
        check_sequence(sequence)

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words, which are the observations."""
        return Tokenisation(frozenset(x for x in self.model.observations.known if isinstance(x, str)))

    def _numbered(self, sequences: Sequence[Sequence[Hashable]]) -> Sequences:
        return Sequences.of(map(self.model.observations.terminals_of, sequences))

    def _charts(self, sequence: Sequence[Hashable], known: Allowed | None) -> TagCharts:
        hidden = self.model.hidden.with_missing()
        return state_charts(self._numbered([sequence]), hidden, allowed_tags(self.tags, [sequence], [known]))

    def _posteriors(self, sequences: Sequence[Sequence[Hashable]], known: Sequence[Allowed | None]) -> FloatArray:
        hidden = self.model.hidden.with_missing()
        return state_posteriors(self._numbered(sequences), hidden, allowed_tags(self.tags, sequences, known))[0]

    def joint_log_probabilities(self, sequences: Iterable[Iterable[tuple[Hashable, Tag]]]) -> FloatArray:
        """Compute the natural logarithms (T,) of the probabilities of observations with states; -inf for unknown tags.

        sequences: T sequences; pairs of an observation and the name of its state.

        Raises EstimationError if a token is not a pair, and ValueError if a sequence is empty."""
        operators = self.model.hidden.with_missing().with_states_as_tags()
        grammar = self.model.grammar
        of_states = replace(
            grammar, tags=list(self.tags), prior=np.ones(len(self.tags)), coarse=operators, latent=operators
        )
        rows = [pairs_of(sequence, number, object) for number, sequence in enumerate(sequences, start=1)]
        return tree_weights(operators, of_states.tagged(rows)[1]).log


def _states_of(model: LatentHMM, sequences: list[Sequence[Hashable]], names: list[Tag]) -> list[list[Any]]:
    """Find the names of the states of sequences."""
    return StateTagger(model, names)._tags_of(sequences)

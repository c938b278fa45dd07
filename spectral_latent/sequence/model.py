"""The latent hidden Markov model: tags refined by latent states, or latent states alone."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Above, AtLeast, AtMost, Below
from spectral_latent.estimation import Listener, silent
from spectral_latent.inference import Weight, inside, total_weight, tree_weights
from spectral_latent.lexicon import Lexicon, WordEncoder
from spectral_latent.operators import (
    Distinct,
    ObservableOperators,
    array_from,
    arrays_of,
    opened_model,
    operators_from,
    plain_name,
    save_model,
    setting_from,
)
from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.checks import Tag, numbers_of, pairs_of
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.decoding import Decoder, in_batches, likely_rules, state_marginals
from spectral_latent.sequence.forests import OPEN, TrellisBuilder
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.sequence.prediction import Predictor
from spectral_latent.sequence.training import SequenceOptions, collect, learn_tagged, learn_untagged
from spectral_latent.trees import FloatArray, Forest, IntArray, Vocabulary

__all__ = ["END", "LatentHMM"]

END = None  # what follows the last observation
_KIND = "sequence"


@dataclass(frozen=True, eq=False)
class LatentHMM:
    """A model of sequences of observations, with tags or without.

    tags: what the K tags stand for; a single None where sequences have no tags.
    observations: a lexicon of words where sequences have tags, an alphabet of any hashable objects where they do not.
    prior: (K,) how frequent the tags are.
    coarse, latent: operators with the same rules, the former of one state for each tag.
    floor: ε of `prediction`.
    column: of a corpus, from which the tags are; None if that is not known.

    >>> tagger = LatentHMM.fit_tagged([[("dogs", "N"), ("bark", "V")], [("cats", "N"), ("sleep", "V")]])
    >>> tagger.tag([["cats", "bark"], []])
    [['N', 'V'], []]
    >>> steps = LatentHMM.fit(["abc", "abd"] * 500)
    >>> {x: round(p, 1) for x, p in steps.following("ab").items() if p > 0.1}
    {'c': 0.5, 'd': 0.5}
    """

    options: SequenceOptions
    tags: list[Tag]
    observations: Lexicon | Alphabet
    prior: FloatArray
    coarse: ObservableOperators
    latent: ObservableOperators
    floor: float
    column: str | None = None

    def __post_init__(self) -> None:
        if not self.coarse.rules.equals(self.latent.rules):
            raise ValueError("the coarse and the latent model must number the same rules")
        if not len(self.tags) * 2 == len(self.prior) * 2 == self.latent.n_symbols == self.coarse.n_symbols:
            raise ValueError("a tag has two symbols")
        if isinstance(self.observations, Lexicon) and self.observations.spelling is None:
            raise ValueError("the lexicon has learnt no spellings")
        if self.latent.rules.leaf[:, 1].max(initial=-1) >= self.observations.n_terminals:
            raise ValueError("a rule emits what the observations lack")
        rules, n_tags = self.latent.rules, len(self.tags)
        spine, emission = np.concatenate([rules.unary, rules.binary[:, :2]]).T
        if not (spine == n_tags + emission).all() or (emission >= n_tags).any() or (rules.binary[:, 2] < n_tags).any():
            raise ValueError("the rules are not those of sequences")
        if (rules.leaf[:, 0] >= n_tags).any():
            raise ValueError("a rule that emits an observation is of no tag")
        if not (self.coarse.root[n_tags:].any() and self.latent.root[n_tags:].any() and (self.coarse.unary > 0).all()):
            raise ValueError("no sequence can begin or end")

    @staticmethod
    def fit_tagged(
        sentences: Iterable[Iterable[tuple[str, Tag]]],
        options: SequenceOptions | None = None,
        *,
        jobs: int = 1,
        listener: Listener = silent,
    ) -> LatentHMM:
        """Learn from sentences of words with tags; on several processes with the same result.

        Raises EstimationError if there is no sentence, one is empty, or a token is no pair of a word and a tag.
        """
        options = options or SequenceOptions()
        words, tags = Vocabulary[str](), Vocabulary[Tag]()
        pairs = (pairs_of(sentence, number, str) for number, sentence in enumerate(sentences, start=1))
        store = collect(([words.add(word) for word, _ in row], [tags.add(tag) for _, tag in row]) for row in pairs)
        lexicon, learnt = learn_tagged(store, len(tags), words.names, options, jobs=jobs, listener=listener)
        return LatentHMM(options, tags.names, lexicon, *learnt)

    @staticmethod
    def fit(
        sequences: Iterable[Sequence[Hashable]],
        options: SequenceOptions | None = None,
        *,
        jobs: int = 1,
        listener: Listener = silent,
    ) -> LatentHMM:
        """Learn from sequences of any hashable observations; on several processes with the same result.

        They are read once.  A stream longer than memory is kept in temporary files.

        Raises EstimationError if there is no sequence, or one is empty.
        """
        options = options or SequenceOptions()
        names = Vocabulary[Hashable]()
        rows = (numbers_of(sequence, number, names) for number, sequence in enumerate(sequences, start=1))
        store = collect((row, [0] * len(row)) for row in rows)
        learnt = learn_untagged(store, alphabet := Alphabet(names), options, jobs=jobs, listener=listener)
        return LatentHMM(options, [None], alphabet, *learnt)

    @property
    def is_tagged(self) -> bool:
        """Whether the model learnt from sequences with tags."""
        return isinstance(self.observations, Lexicon)

    @property
    def _state_operators(self) -> ObservableOperators:
        """The latent operators, if they are probabilities of states alone; else ValueError."""
        if self.is_tagged or not self.latent.probabilities:
            raise ValueError(
                "only an untagged model learnt by clustering, em or hybrid has states with probabilities; "
                "spectral operators have no states"
            )
        return self.latent

    @cached_property
    def hidden(self) -> HiddenMarkov:
        """The hidden Markov model proper; terminals are those of the alphabet.

        Raises ValueError if the model has tags, or observable operators instead of states.
        """
        return HiddenMarkov.of_operators(self._state_operators)

    @cached_property
    def _state_decoder(self) -> Decoder:
        """The decoder of a model without tags, whose states take their place."""
        states = self.hidden.with_states_as_tags()
        return Decoder(states, states, self.hidden.n_states, np.ones(len(states.leaf), dtype=bool), threshold=0.0)

    @cached_property
    def _encoder(self) -> WordEncoder:
        """Leaf rules of words; tags of a word that are much less likely than its likeliest are unlikely."""
        assert isinstance(self.observations, Lexicon)
        beam, n_tags = self.options.beam, len(self.tags)
        likely = likely_rules(self.coarse, self.prior, beam)
        return WordEncoder(self.observations, self.coarse, self.prior, np.arange(n_tags), beam, likely)

    def _decoder_of(self, sequences: Sequence[Sequence[Any]]) -> tuple[Decoder, IntArray, IntArray]:
        """A decoder for the observations of sequences, the terminal of each position, and where sequences begin."""
        start = np.concatenate([[0], np.cumsum([len(sequence) for sequence in sequences])])
        if not self.is_tagged:
            terminal = np.concatenate([self.observations.terminals_of(sequence) for sequence in sequences])
            return self._state_decoder, terminal, start
        words = self._encoder.encode(sequences)
        coarse, latent = words.restrict(self.coarse), words.restrict(self.latent)
        return Decoder(coarse, latent, len(self.tags), words.likely, self.options.threshold), words.word, start

    @cached_property
    def _predictor(self) -> Predictor:
        n_terminals = self.observations.n_terminals
        coarse, latent = self._proper
        return Predictor.of(latent, coarse, n_terminals, self.floor)

    @cached_property
    def _proper(self) -> tuple[ObservableOperators, ObservableOperators]:
        """Coarse and latent operators, scaled so that coarse beginnings, and emissions of a tag, sum to one.

        The lexicon adds to words what is kept for unseen ones, and some trees that begin anywhere are no sequences.
        Emissions that are probabilities sum to one as they are.
        """
        n_tags, tag = len(self.tags), self.coarse.rules.leaf[:, 0]
        total = np.bincount(tag, self.coarse.leaf[:, 0], minlength=n_tags).astype(float)[tag, None]

        def scaled(operators: ObservableOperators, totals: FloatArray, begin: float) -> ObservableOperators:
            return replace(operators, leaf=operators.leaf / totals, root=operators.root / begin)

        coarse = scaled(self.coarse, total, self.coarse.root[n_tags:].sum())
        if self.latent.probabilities:
            return coarse, scaled(self.latent, np.ones_like(total), self.latent.root[n_tags:].sum())
        return coarse, scaled(self.latent, total, self.coarse.root[n_tags:].sum())

    def _names(self, found: IntArray) -> list[Any]:
        """Tags by their names; states by their numbers."""
        return [self.tags[t] for t in found.tolist()] if self.is_tagged else found.tolist()

    def _sequences(self, sequences: Iterable[Sequence[Any]]) -> Sequences:
        """Sequences none of which is empty, as terminals.  Raises ValueError for an empty one."""
        return Sequences.of(map(self.observations.terminals_of, sequences))

    def tag(self, sequences: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """The tag with the largest marginal at every position; without tags, the state.

        An empty sequence has none.  Raises ValueError for an untagged model without states; see `hidden`.
        """
        return in_batches(list(sequences), lambda batch: self._names(self._best(batch)))

    def _best(self, sequences: Sequence[Sequence[Any]]) -> IntArray:
        """The best tag or state at all positions."""
        if self.is_tagged:
            decoder, terminal, start = self._decoder_of(sequences)
            return decoder.marginals(terminal, start).best()
        return np.asarray(self._state_marginals(sequences).argmax(axis=1))

    def _state_marginals(self, sequences: Sequence[Sequence[Any]]) -> FloatArray:
        return state_marginals(self._sequences(sequences), self._state_operators)

    def posteriors(self, sequence: Sequence[Any]) -> FloatArray:
        """(n, K) of each tag at each position; without tags, (n, m) of each state.

        Raises ValueError for an untagged model without states; see `hidden`.
        """
        if not len(sequence):
            return np.zeros((0, len(self.tags) if self.is_tagged else self.hidden.n_states))
        if not self.is_tagged:
            return self._state_marginals([sequence])
        decoder, terminal, start = self._decoder_of([sequence])
        return decoder.marginals(terminal, start).dense(decoder.n_tags)

    def paths(self, sequence: Sequence[Any], k: int = 1) -> list[tuple[list[Any], float]]:
        """The k likeliest sequences of tags (Viterbi), each with the logarithm of its probability given the words.

        Without tags, of states.  Where tags have several latent states, paths are scored by the Markov chain that has
        the model's marginals of pairs of tags; where they have one, and for states, that chain is the model itself.
        An empty sequence has one empty path.
        Raises ValueError if k < 1, and for an untagged model without states; see `hidden`.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if not len(sequence):
            return [([], 0.0)]
        decoder, terminal, _ = self._decoder_of([sequence])
        return [(self._names(tags), log) for tags, log in decoder.paths(terminal, k)]

    def weights(self, sequences: Iterable[Sequence[Any]]) -> Weight:
        """Estimated probabilities p̂ of sequences, as sign and log: estimates may be negative.

        Of tagged models, sums over all tags, of words or, in the place of words never seen, of their signatures.
        Raises ValueError if a sequence is empty.
        """
        columns = self._sequences(sequences)
        builder = TrellisBuilder(self.latent.rules, len(self.tags))
        forest = builder.build(columns.start, builder.candidates(columns.terminal)).forest
        _, latent = self._proper
        return total_weight(latent, forest, inside(latent, forest))

    def log_probabilities(self, sequences: Iterable[Sequence[Any]]) -> FloatArray:
        """Natural logarithms (T,) of probabilities, all finite, of what lies behind `weights`.

        Probabilities are taken as they are; estimates are made probabilities as `prediction` says.
        Raises ValueError if a sequence is empty.
        """
        sequences = list(sequences)
        if self.latent.probabilities:
            return self.weights(sequences).log
        return self._predictor.log_probabilities(self._sequences(sequences))

    def joint_log_probabilities(self, sentences: Iterable[Iterable[tuple[Any, Tag]]]) -> FloatArray:
        """Natural logarithms (T,) of the probabilities of words together with their tags; -inf for an unknown tag.

        Without tags, of observations together with their states.
        Estimates are no smaller than `floor` times the probability in the coarse model, and no larger than the
        probability of the words alone.
        Raises ValueError if the model has neither tags nor states, or a sentence is empty.
        """
        if not (self.is_tagged or self.latent.probabilities):
            raise ValueError("a model without tags or states has no joint probabilities")
        columns, forest = self._labelled(sentences)
        if not self.is_tagged:
            return tree_weights(self._state_decoder.latent, forest).log
        coarse, latent = (tree_weights(operators, forest) for operators in self._proper)
        if self.latent.probabilities:
            return latent.log
        estimate = np.where(latent.sign > 0, latent.log, -np.inf)
        least = coarse.log + (np.log(self.floor) if self.floor else -np.inf)
        return np.asarray(np.minimum(np.maximum(estimate, least), self._predictor.log_probabilities(columns)))

    def _labelled(self, sequences: Iterable[Iterable[tuple[Any, Tag]]]) -> tuple[Sequences, Forest]:
        """Sequences with given tags, or states, and their s-trees, where an unknown tag, -1, has no rule."""
        kind, tags = (str, self.tags) if self.is_tagged else (object, range(self.hidden.n_states))
        rows = [pairs_of(sequence, number, kind) for number, sequence in enumerate(sequences, start=1)]
        known = {tag: t for t, tag in enumerate(tags)}
        terminals = (self.observations.terminals_of([x for x, _ in row]) for row in rows)
        columns = Sequences.of(terminals, ([known.get(tag, -1) for _, tag in row] for row in rows))
        rules = self.latent.rules if self.is_tagged else self._state_decoder.latent.rules
        forest = Forest.of_trees(columns.trees(len(tags)), rules)
        return columns, forest._replace(symbol=np.maximum(forest.symbol, 0))

    def following(self, prefix: Sequence[Any]) -> dict[Hashable, float]:
        """The probability of each observation after a prefix, and of `END`; likeliest first.

        Observations are those that were seen; what is missing to one is the probability of any other.
        """
        n = self.observations.n_terminals
        terminal = [*self.observations.terminals_of(prefix).tolist()]
        after = self._predictor.following(Sequences.of([[*terminal, OPEN]]))[0]
        ends = 0.0
        if terminal:
            last = self._predictor.following(Sequences.of([[*terminal[:-1], OPEN]]))[0]
            going_on, ending = last[terminal[-1]], last[n + terminal[-1]]
            ends = ending / (going_on + ending)
        p = (1.0 - ends) * (after[:n] + after[n:])
        names: list[Hashable] = list(self.observations.known)
        found = dict(zip(names, p.tolist(), strict=False)) | ({END: float(ends)} if terminal else {})
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))

    def sample(
        self, n: int, rng: np.random.Generator, *, length: int | None = None, max_length: int = 10_000
    ) -> list[list[Any]]:
        """n sequences of observations that were seen, or of words with their tags; of one length, or of any.

        Observations are drawn one after another from what `following` says, tags from the chain that scores `paths`.
        Raises ValueError if a sequence grows longer than max_length.
        """
        known = self.observations.known
        drawn = self._predictor.sample(n, len(known), rng, length, max_length)
        names = [[known[x] for x in row] for row in drawn]
        if not self.is_tagged:
            return names
        return [list(zip(row, self.draw(row, rng), strict=True)) for row in names]

    def draw(self, sequence: Sequence[Any], rng: np.random.Generator) -> list[Any]:
        """The tags of a sequence, drawn from the chain that scores `paths`; without tags, its states.

        Raises ValueError for an untagged model without states; see `hidden`.
        """
        if not len(sequence):
            return []
        decoder, terminal, _ = self._decoder_of([sequence])
        return self._names(decoder.draw(terminal, rng))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all.

        Raises ValueError if a tag or an observation is not made of strings, numbers, None and tuples.
        """
        settings = {
            "kind": _KIND,
            "options": asdict(self.options),
            "tagged": self.is_tagged,
            "tags": [plain_name(tag) for tag in self.tags],
            "known": [plain_name(name) for name in self.observations.known],
            "probabilities": self.latent.probabilities,
            "floor": float(self.floor),
            "column": self.column,
        }
        arrays = {"prior": self.prior, **arrays_of("coarse", self.coarse), **arrays_of("latent", self.latent)}
        if isinstance(self.observations, Lexicon):
            arrays |= self.observations.arrays()
        save_model(path, arrays, settings)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LatentHMM:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        with opened_model(path, _KIND) as (arrays, settings):
            return LatentHMM.from_arrays(arrays, settings)

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> LatentHMM:
        """Make a model of what its file holds, which `opened_model` gives; that explains what goes wrong."""
        options = setting_from("options", settings, SequenceOptions)
        is_tagged = setting_from("tagged", settings, bool)
        tags = setting_from("tags", settings, Annotated[list[Hashable], Distinct()])
        kind: Any = list[str] if is_tagged else list[Hashable]
        known = setting_from("known", settings, Annotated[kind, Distinct()])
        observations = Lexicon.from_arrays(known, options.lexicon, arrays) if is_tagged else Alphabet(known)
        probabilities = setting_from("probabilities", settings, bool)
        latent = operators_from("latent", arrays, observations.n_terminals, probabilities=probabilities)
        coarse = operators_from("coarse", arrays, observations.n_terminals, probabilities=True)
        prior = array_from("prior", arrays, np.float64, (len(tags),), Above(0.0), AtMost(1.0))
        floor = setting_from("floor", settings, Annotated[float, AtLeast(0.0), Below(1.0)])
        column = setting_from("column", settings, str | None)
        return LatentHMM(options, tags, observations, prior, coarse, latent, floor, column)

"""Hold the anchor hidden Markov model: parts of speech from words alone (Stratos et al. 2016)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from spectral_latent._options import Above, counted, given_or
from spectral_latent.anchors.hulls import (
    AnchorOptions,
    Spelling,
    WordTypes,
    context_counts,
    context_points,
    to_unit_length,
    with_spelling,
)
from spectral_latent.anchors.training import choose_anchors, count_bigrams, find_mixtures, maximise_likelihood
from spectral_latent.estimation import EstimationError, Listener, silent
from spectral_latent.files import TEXT, Axes, Index, StoredModel, are_distinct, are_one_line, plain, sum_to_one
from spectral_latent.model import check_kind, check_labels, check_sentences, check_words
from spectral_latent.sequence.baum_welch import state_posteriors
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.decoding import Allowed, TagCharts, allowed_tags, state_charts
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.sequence.tagger import Tagger
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, IntArray, Vocabulary


def _types_of(words: Sequence[str], types: WordTypes) -> IntArray:
    """Find the types (m,) of words, in upper or lower case; EstimationError for an unknown word, or a word given
    twice, and TypeError for another object."""
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise TypeError(f"anchors are a list of words, not {words!r:.60}; give the anchor of each state")
    numbers = Vocabulary(types.names).numbers([word.lower() for word in words]).tolist()
    for i, (word, number) in enumerate(zip(words, numbers, strict=True)):
        if number < 0:
            raise EstimationError(f"the anchor {word!r} is not a word of the sentences")
        if number in numbers[:i]:
            raise EstimationError(f"the anchor {word!r} is given twice; every state needs another one")
    if not numbers:
        raise EstimationError("no anchors; name a word for each state")
    return np.array(numbers, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class AnchorHMM(Tagger, StoredModel):
    """A hidden Markov model over words in lower case; each state has an anchor, a word that no other state emits.

    words: the n types, by falling frequency.
    anchor_types: (m,) the type of each state's anchor.
    anchor_points: (m, d) the points of the anchors, the corners of the hull.
    state_prior: (m,) the share of each state among all tokens.
    hidden: the probabilities; observation x is type x.
    tokens: N, the number of tokens of the training data.
    labels: a tag for every state, after anchors are labelled.

    >>> sentences = [["the", "cat", "sleeps", "."], ["a", "dog", "barks", "."], ["the", "dog", "sleeps", "."]] * 5
    >>> model = AnchorHMM.train(sentences, AnchorOptions(n_states=4))
    >>> sorted(model.anchors.items(), key=lambda pair: pair[1])[0][1]
    0
    """

    kind: ClassVar[str] = "anchors"

    options: AnchorOptions
    words: Annotated[list[str], TEXT, Axes("n"), are_distinct]
    anchor_types: Annotated[IntArray, Axes("m"), Index("n"), are_distinct]
    anchor_points: Annotated[FloatArray, Axes("m", "d")]
    state_prior: Annotated[FloatArray, Axes("m"), Above(0.0), sum_to_one]
    hidden: HiddenMarkov
    spelling: Spelling
    tokens: Annotated[float, Above(0.0)]
    labels: Annotated[tuple[Hashable, ...] | None, are_one_line] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        m, d = self.anchor_points.shape
        if not m or (self.labels is not None and len(self.labels) != m):
            raise ValueError("there is no state, or there are not as many labels as states")
        if self.hidden.emission.shape != (m, len(self.words)) or self.spelling.weights.shape[1] != d:
            raise ValueError("the probabilities and points are of other states, words or dimensions")

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        labelled = "" if self.labels is None else " with labels"
        return f"{counted(self.n_states, 'state')}{labelled}, {counted(len(self.words), 'word')}"

    @staticmethod
    def train(
        sentences: Iterable[Sequence[str]],
        options: AnchorOptions | None = None,
        *,
        anchors: Sequence[str] | None = None,
        listener: Listener = silent,
    ) -> AnchorHMM:
        """Learn from sentences without tags; the same sentences give the same model.

        Raises EstimationError if there is no sentence, if a sentence is empty, or if an anchor is not in the sentences
        or given twice; and TypeError if a sentence is not a list of strings.

        sentences: the words of each sentence; any iterable, which is read once.
        options: the settings of training; None for `AnchorOptions()`.
        anchors: the anchor of each state; if not given, anchors are found with `n_states` and `candidates`."""
        options = given_or(AnchorOptions(), options)
        try:
            types = WordTypes.of(sentences)
        except ValueError as error:
            raise EstimationError(f"{error}; leave it out") from None
        if not types.names:
            raise EstimationError("no sentences to learn from")
        chosen = None if anchors is None else _types_of(anchors, types)
        n_states = min(options.n_states, options.candidates) if chosen is None else len(chosen)
        n = len(types.names)
        counts = context_counts(types.sequences, n, options.window)
        points = context_points(counts, types.tokens, min(n_states, n), options)
        return AnchorHMM.of_points(types, points, options, chosen, listener=listener)

    @staticmethod
    def of_points(
        types: WordTypes,
        points: FloatArray,
        options: AnchorOptions,
        anchor_types: IntArray | None = None,
        *,
        listener: Listener = silent,
    ) -> AnchorHMM:
        """Learn from words whose points in the hull are given.

        points: (n, d) the points of types, before their spelling moves them.
        anchor_types: (m,) the type of each state's anchor; found if not given."""
        tokens = float(types.tokens.sum())
        points, spelling = with_spelling(points, types, options)
        if anchor_types is None:
            anchor_types = choose_anchors(
                points, types.tokens, options.n_states, options.candidates, exchange=options.exchange
            )
        anchor_points = points[anchor_types]
        mixtures = find_mixtures(points, anchor_points, options.sharpness)
        mixtures[anchor_types] = np.eye(len(anchor_types))  # removes rounding errors
        state_prior = types.tokens @ mixtures / tokens
        bigrams = count_bigrams(types.sequences, len(types.names))
        hidden = maximise_likelihood(mixtures, bigrams, options.steps, listener)
        if options.added:
            hidden = hidden.smooth(state_prior, tokens, types.sequences.n_sequences, options.added)
        return AnchorHMM(options, types.names, anchor_types, anchor_points, state_prior, hidden, spelling, tokens)

    @property
    def n_states(self) -> int:
        """The number of states, m."""
        return self.hidden.n_states

    @property
    def anchors(self) -> dict[str, int]:
        """The state of each anchor, in the order of states."""
        return {self.words[x]: h for h, x in enumerate(self.anchor_types.tolist())}

    @property
    def names(self) -> list[str]:
        """The anchor of each state in capitals, or the unchanged anchor if two names would be the same."""
        capitals = [word.upper() for word in self.anchors]
        return capitals if len(set(capitals)) == len(capitals) else list(self.anchors)

    def top_types(self, n_words: int = 10) -> IntArray:
        """Find the types (m, n_words) that each state is likeliest to emit, likeliest first."""
        return np.argsort(-self.hidden.emission, axis=1, kind="stable")[:, :n_words]

    def top_words(self, n_words: int = 10) -> list[list[tuple[str, float]]]:
        """List the words that each state is likeliest to emit, with o(x | h) (Table 4)."""
        return [
            [(self.words[x], float(emission[x])) for x in row]
            for row, emission in zip(self.top_types(n_words), self.hidden.emission, strict=True)
        ]

    def mixtures(self, words: Sequence[str]) -> FloatArray:
        """Predict p(h | x) (n, m) of n unseen words, from their spelling alone.

        Raises TypeError for a string in place of the words, or a word that is not a string."""
        check_words(words)
        capital = np.array([word[:1].isupper() for word in words], dtype=float)
        points = self.spelling.predict([word.lower() for word in words], capital)
        if self.options.hull == "brown":
            points = to_unit_length(points)
        return find_mixtures(points, self.anchor_points, self.options.sharpness)

    @cached_property
    def _types(self) -> Vocabulary[str]:
        return Vocabulary(self.words)

    def _encode(self, sentences: Iterable[Sequence[str]]) -> tuple[Sequences, HiddenMarkov]:
        """Number the words of sentences, and make a model with the emissions of these words alone.

        An unseen word has the probability of a word that was seen once."""
        unseen = Vocabulary[str]()
        n = len(self.words)

        def terminal(word: str) -> int:
            """Number a word: its type, or a number from n on if it was never seen."""
            known = self._types.get(word.lower())
            return known if known >= 0 else n + unseen.add(word)

        sequences = Sequences.of([terminal(word) for word in words] for words in sentences)
        # Take the emissions of these words, and add those of the unseen words.
        distinct, word = np.unique(sequences.terminal, return_inverse=True)
        emission = self.hidden.emission[:, distinct[distinct < n]]
        if len(unseen):
            # o(x | h) = p(h | x) p(x) / p(h) with p(x) = 1 / N.
            state_tokens = self.tokens * np.maximum(self.state_prior, np.finfo(float).tiny)
            emission = np.concatenate([emission, (self.mixtures(unseen.names) / state_tokens).T], axis=1)
        return replace(sequences, terminal=word), replace(self.hidden, emission=emission)

    @property
    def tags(self) -> Sequence[Hashable]:  # type: ignore[override]
        """The labels of the m states, or their numbers if there are no labels."""
        return range(self.n_states) if self.labels is None else self.labels

    def _posteriors(self, sequences: Sequence[Sequence[str]], known: Sequence[Allowed | None]) -> FloatArray:
        return state_posteriors(*self._encode(sequences), allowed_tags(self.tags, sequences, known))[0]

    def _charts(self, sequence: Sequence[str], known: Allowed | None) -> TagCharts:
        return state_charts(*self._encode([sequence]), allowed_tags(self.tags, [sequence], [known]))

    def log_probabilities(self, sentences: Iterable[Sequence[str]]) -> FloatArray:
        """Compute the natural logarithms (T,) of the probabilities of sentences; -inf for an impossible sentence.

        Any unseen word has the probability of a word that was seen once.

        Raises TypeError if a sentence is not a list of strings, and ValueError if a sentence is empty."""
        return state_posteriors(*self._encode(check_sentences(sentences)))[1]

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""
        return Tokenisation(frozenset(self.words))

    def label(self, tags: Mapping[str, Hashable]) -> AnchorHMM:
        """Give every anchor and its state a tag; the new model is a tagger.

        Raises ValueError if a word is not an anchor, or if an anchor has no tag or one that no file can hold."""
        check_kind(tags, Mapping)
        check_labels(tag for tag in tags.values() if isinstance(tag, str))
        if strange := [word for word in tags if word not in self.anchors]:
            raise ValueError(f"{strange[0]!r} is not an anchor; the anchors are {', '.join(map(repr, self.anchors))}")
        if missing := [word for word in self.anchors if word not in tags]:
            raise ValueError(f"no tag for the anchors {', '.join(map(repr, missing))}")
        return replace(self, labels=tuple(tags[word] for word in self.anchors))

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, including its anchors and their labels."""
        labels = plain(self.labels)
        return super().description | {"anchors": list(self.anchors), "labels": labels}

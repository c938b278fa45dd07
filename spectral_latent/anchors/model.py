"""The anchor hidden Markov model: parts of speech from words alone (Stratos et al. 2016)."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.anchors.anchors import Bigrams, anchor_mixtures, choose_anchors, likeliest
from spectral_latent.anchors.hulls import Hull, HullOptions, Spelling, unit
from spectral_latent.anchors.vocabulary import SpellingFeatures, Types
from spectral_latent.estimation import EstimationError
from spectral_latent.operators import (
    Distinct,
    ObservableOperators,
    Shares,
    array_from,
    opened_model,
    plain_name,
    save_model,
    setting_from,
)
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.decoding import in_batches, state_marginals
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

__all__ = ["AnchorHMM", "AnchorOptions"]

_KIND = "anchors"
_ROUNDING = 1e-6


@dataclass(frozen=True)
class AnchorOptions(Options):
    """Settings of training; the same for every language.

    n_states: m; fewer if the words' points have fewer dimensions.
    candidates: anchors are sought among so many of the most frequent types.
    sharpness: see `anchor_mixtures`.
    steps: of EM for the transitions; see `likeliest`.
    """

    n_states: Annotated[int, AtLeast(1)] = 12
    candidates: Annotated[int, AtLeast(1)] = 300
    hull: HullOptions = field(default_factory=HullOptions)
    sharpness: Annotated[float, Above(0.0)] = 4.0
    steps: Annotated[int, AtLeast(1)] = 10


def _sentences(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The same.  Raises TypeError at a string, which would be taken for a list of its characters."""
    for number, words in enumerate(sentences, start=1):
        if isinstance(words, str):
            raise TypeError(f"sentence {number} is a string; give a list of its words")
        yield words


def _smoothed(hidden: HiddenMarkov, share: FloatArray, tokens: float, n: int) -> HiddenMarkov:
    """The model after one more sentence, which begins in any state, and one more token of every state.

    That token is followed by the end n times in N + 1, else by any state.  Nothing is impossible then.
    share: (m,).  tokens: N.  n: sentences.
    """
    count, ends = tokens * share, n / (tokens + 1)
    going_on = (count * (1.0 - hidden.stop))[:, None] * hidden.transition + (1.0 - ends) * share
    return replace(
        hidden,
        initial=(n * hidden.initial + share) / (n + 1),
        transition=going_on / going_on.sum(axis=1, keepdims=True),
        stop=(count * hidden.stop + ends) / (count + 1),
    )


@dataclass(frozen=True, eq=False)
class AnchorHMM:
    """A hidden Markov model over words in lower case, each state of which has a word that no other emits.

    words: the n types.  anchors: (m,) the type of each state.  hidden: the model; its observation n is never emitted.
    corners: (m, d) the anchors' points.  spelling: the points of words never seen.  tokens: N.
    labels: a tag for every state, once anchors are labelled.

    >>> sentences = [["the", "cat", "sleeps", "."], ["a", "dog", "barks", "."], ["the", "dog", "sleeps", "."]] * 5
    >>> model = AnchorHMM.train(sentences, AnchorOptions(n_states=4))
    >>> sorted(model.anchors.items(), key=lambda pair: pair[1])[0][1]
    0
    """

    options: AnchorOptions
    words: list[str]
    anchor: IntArray
    hidden: HiddenMarkov
    corners: FloatArray
    share: FloatArray
    spelling: Spelling
    tokens: float
    labels: tuple[Hashable, ...] | None = None

    @staticmethod
    def train(sentences: Iterable[Sequence[str]], options: AnchorOptions | None = None) -> AnchorHMM:
        """Learn from sentences; the same ones give the same model.

        Raises EstimationError if there is no sentence, or one is empty; TypeError if one is a string.
        """
        options = options or AnchorOptions()
        try:
            types = Types.of(_sentences(sentences))
        except ValueError as error:
            raise EstimationError(f"{error}; leave it out") from None
        if not types.names:
            raise EstimationError("no sentences to learn from")
        hull = Hull.of(types, min(options.n_states, options.candidates, len(types.names)), options.hull)
        anchor = choose_anchors(hull.rows, types.tokens, options.n_states, options.candidates)
        mixtures = anchor_mixtures(hull.rows, hull.rows[anchor], options.sharpness)
        mixtures[anchor] = np.eye(len(anchor))  # but for rounding they are
        hidden = likeliest(mixtures, Bigrams.of(types.sequences, len(types.names)), options.steps)
        tokens, n = float(types.tokens.sum()), types.sequences.n_sequences
        share = types.tokens @ mixtures / tokens
        hidden = _smoothed(hidden, share, tokens, n)
        return AnchorHMM(options, types.names, anchor, hidden, hull.rows[anchor], share, hull.spelling, tokens)

    @property
    def n_states(self) -> int:
        """m."""
        return self.hidden.n_states

    @property
    def anchors(self) -> dict[str, int]:
        """The state of each anchor."""
        return {self.words[x]: h for h, x in enumerate(self.anchor.tolist())}

    def top_types(self, k: int = 10) -> IntArray:
        """The k types (m, k) that each state is likeliest to emit, likeliest first."""
        return np.argsort(-self.hidden.emission, axis=1, kind="stable")[:, :k]

    def top_words(self, k: int = 10) -> list[list[tuple[str, float]]]:
        """The words of `top_types`, with o(x | h) (Table 4)."""
        return [
            [(self.words[x], float(emission[x])) for x in row]
            for row, emission in zip(self.top_types(k), self.hidden.emission, strict=True)
        ]

    def mixtures(self, words: Sequence[str]) -> FloatArray:
        """p(h | x) (n, m) of words never seen, by their spelling alone."""
        capital = np.array([word[:1].isupper() for word in words], dtype=float)
        rows = self.spelling.rows([word.lower() for word in words], capital)
        rows = unit(rows) if self.options.hull.construction == "brown" else rows
        return anchor_mixtures(rows, self.corners, self.options.sharpness)

    @cached_property
    def _operators(self) -> ObservableOperators:
        return self.hidden.operators()

    @cached_property
    def _types(self) -> Vocabulary[str]:
        return Vocabulary(self.words)

    def _marginals(self, sentences: Sequence[Sequence[str]]) -> FloatArray:
        """(N, m) of all positions; an unseen word is as likely as one that was seen once."""
        unseen = Vocabulary[str]()
        n = len(self.words)

        def terminal(word: str) -> int:
            known = self._types.get(word.lower())
            return known if known >= 0 else n + unseen.add(word)

        sequences = Sequences.of([terminal(word) for word in words] for words in sentences)
        # The leaf rules of these words alone: those of the model, and one for each word never seen.
        distinct, word = np.unique(sequences.terminal, return_inverse=True)
        emission = self._operators.leaf[distinct[distinct < n]]
        if len(unseen):
            share = self.tokens * np.maximum(self.share, np.finfo(float).tiny)
            emission = np.concatenate([emission, self.mixtures(unseen.names) / share])
        rules = np.stack([np.zeros(len(distinct), dtype=np.int64), np.arange(len(distinct))], axis=1)
        operators = self._operators.with_leaf_rules(rules, emission)
        return state_marginals(replace(sequences, terminal=word), operators)

    def states(self, sentences: Iterable[Sequence[str]]) -> list[list[int]]:
        """The state with the largest marginal at every position; an empty sentence has none."""
        return in_batches(list(sentences), lambda batch: self._marginals(batch).argmax(axis=1).tolist())

    def posteriors(self, sentence: Sequence[str]) -> FloatArray:
        """(n, m) of each state at each position."""
        return self._marginals([sentence]) if len(sentence) else np.zeros((0, self.n_states))

    def label(self, tags: Mapping[str, Hashable]) -> AnchorHMM:
        """The model as a tagger: a tag for each anchor, and thereby for its state.

        Raises ValueError if a word is no anchor, or an anchor has no tag.
        """
        if strange := [word for word in tags if word not in self.anchors]:
            raise ValueError(f"{strange[0]!r} is no anchor; the anchors are {', '.join(self.anchors)}")
        if missing := [word for word in self.anchors if word not in tags]:
            raise ValueError(f"no tag for the anchors {', '.join(missing)}")
        return replace(self, labels=tuple(tags[word] for word in self.anchors))

    def tag(self, sentences: Iterable[Sequence[str]]) -> list[list[Any]]:
        """The label of the state at every position; the state's number, as long as anchors are not labelled."""
        states = self.states(sentences)
        if self.labels is None:
            return states
        return [[self.labels[h] for h in row] for row in states]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all.

        Raises ValueError if a label is not made of strings, numbers, None and tuples.
        """
        features = self.spelling.features
        settings = {
            "kind": _KIND,
            "options": asdict(self.options),
            "words": self.words,
            "features": None if features is None else features.names,
            "labels": None if self.labels is None else [plain_name(label) for label in self.labels],
            "tokens": self.tokens,
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {name: getattr(self.hidden, name) for name in _HIDDEN}
        arrays |= {"mean": self.spelling.mean, "weights": self.spelling.weights}
        save_model(path, arrays, settings)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> AnchorHMM:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        with opened_model(path, _KIND) as (arrays, settings):
            return AnchorHMM.from_arrays(arrays, settings)

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> AnchorHMM:
        """Make a model of what its file holds, which `opened_model` gives; that explains what goes wrong."""
        options = setting_from("options", settings, AnchorOptions)
        words = setting_from("words", settings, Annotated[list[str], Distinct()])
        names = setting_from("features", settings, Annotated[list[str], Distinct()] | None)
        labels = setting_from("labels", settings, tuple[Hashable, ...] | None)
        tokens = setting_from("tokens", settings, Annotated[float, Above(0.0)])
        if names is not None and names[:2] != SpellingFeatures.of([]).names:
            raise ValueError("features begin with others")
        n = len(words)
        anchor = array_from("anchor", arrays, np.int64, (None,), AtLeast(0), AtMost(n - 1), Distinct())
        m = len(anchor)
        if not m or (labels is not None and len(labels) != m):
            raise ValueError("there is no state, or not a label for each")
        mean = array_from("mean", arrays, np.float64, (None,))
        corners = array_from("corners", arrays, np.float64, (m, len(mean)))
        weights = array_from("weights", arrays, np.float64, (len(names or ()), len(mean)))
        hidden = HiddenMarkov(
            initial=array_from("initial", arrays, np.float64, (m,), Shares()),
            transition=array_from("transition", arrays, np.float64, (m, m), Shares()),
            stop=array_from("stop", arrays, np.float64, (m,), AtLeast(0.0), AtMost(1.0)),
            emission=array_from("emission", arrays, np.float64, (m, n), Shares()),
        )
        share = array_from("share", arrays, np.float64, (m,), Above(0.0), Shares())
        spelling = Spelling(None if names is None else SpellingFeatures(names), mean, weights)
        return AnchorHMM(options, words, anchor, hidden, corners, share, spelling, tokens, labels)


_ARRAYS = ("anchor", "corners", "share")
_HIDDEN = ("initial", "transition", "stop", "emission")

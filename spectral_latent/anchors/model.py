"""The anchor hidden Markov model: parts of speech from words alone (Stratos et al. 2016)."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Above, AtLeast, Options
from spectral_latent.anchors.anchors import Bigrams, anchor_mixtures, choose_anchors, likeliest
from spectral_latent.anchors.hulls import Hull, HullOptions, Spelling, unit
from spectral_latent.anchors.vocabulary import SpellingFeatures, Types
from spectral_latent.estimation import EstimationError
from spectral_latent.operators import (
    ObservableOperators,
    name_of,
    opened_model,
    options_from,
    plain_name,
    save_model,
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
        hidden = hidden.smoothed(share, tokens, n)
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
        options = options_from(AnchorOptions, settings["options"])
        words, names, labels = (settings[name] for name in ("words", "features", "labels"))
        _check_settings(words, names, labels, settings["tokens"])
        features = None if names is None else SpellingFeatures(names)
        model = AnchorHMM(
            options,
            words,
            hidden=HiddenMarkov(*(arrays[name] for name in _HIDDEN)),
            spelling=Spelling(features, arrays["mean"], arrays["weights"]),
            tokens=float(settings["tokens"]),
            labels=None if labels is None else tuple(name_of(label) for label in labels),
            **{name: arrays[name] for name in _ARRAYS},
        )
        model._check()
        return model

    def _check(self) -> None:
        """Raises ValueError if the parts do not fit together."""
        n, m, d = len(self.words), len(self.anchor), self.corners.shape[-1]
        s = 0 if self.spelling.features is None else len(self.spelling.features.names)
        shapes = {
            "anchor": (m,),
            "corners": (m, d),
            "share": (m,),
            "initial": (m,),
            "transition": (m, m),
            "stop": (m,),
            "emission": (m, n),
            "mean": (d,),
            "weights": (s, d),
        }
        for name, shape in shapes.items():
            owner: Any = self.hidden if name in _HIDDEN else self.spelling if name in ("mean", "weights") else self
            array = getattr(owner, name)
            kind = np.int64 if name == "anchor" else np.float64
            if array.shape != shape or array.dtype != kind or not np.isfinite(array).all():
                raise ValueError(f"{name} has another shape or type, or is not finite")
        if m == 0 or len(set(self.words)) < n or self.anchor.min() < 0 or self.anchor.max() >= n:
            raise ValueError("words and anchors do not fit together")
        if len(set(self.anchor.tolist())) < m:
            raise ValueError("a word is the anchor of two states")
        hidden = self.hidden
        rows = np.concatenate([self.share[None], hidden.initial[None], hidden.transition]), hidden.emission
        if any(table.min() < 0 or abs(table.sum(axis=1) - 1).max() > _ROUNDING for table in rows):
            raise ValueError("shares are negative or do not sum to one")
        if hidden.stop.min() < 0 or hidden.stop.max() > 1 or self.share.min() <= 0:
            raise ValueError("a probability is out of range")
        if not 0 < self.tokens < np.inf:
            raise ValueError("the number of tokens is not positive and finite")
        if self.labels is not None and len(self.labels) != m:
            raise ValueError("a state has no label")


def _check_settings(words: Any, features: Any, labels: Any, tokens: Any) -> None:
    """Raises TypeError unless what a file has is of the right kind; there may be no features and no labels."""
    for names in (words, [] if features is None else features):
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TypeError("words or features are no strings")
    if features is not None and features[:2] != SpellingFeatures.of([]).names:
        raise TypeError("features begin with others")
    if labels is not None and not isinstance(labels, list):
        raise TypeError("labels are no list")
    if type(tokens) not in (int, float):
        raise TypeError("the count of tokens is no number")


_ARRAYS = ("anchor", "corners", "share")
_HIDDEN = ("initial", "transition", "stop", "emission")

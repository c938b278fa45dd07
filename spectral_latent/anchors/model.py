"""Hold the anchor hidden Markov model: parts of speech from words alone (Stratos et al. 2016).

Tables and pictures show the states with their words (Tables 3 and 4).

| here | formula | meaning |
| --- | --- | --- |
| `AnchorRow.words` | o(x \\| h) | the words that the state is likeliest to emit |
| `AnchorPlane.anchor_points` | (v_h - v̄) W | the anchors' points v, projected on two principal directions W |
| `AnchorPlane.points` | Σ_h p(h \\| x) (v_h - v̄) W | the points of words, which are mixtures of the anchors' points |
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from spectral_latent._options import Above, counted, given_or
from spectral_latent._texts import printable
from spectral_latent.anchors.hulls import AnchorOptions, SpellingRegression, WordTypes, build_hull, to_unit_length
from spectral_latent.anchors.training import (
    choose_anchors,
    count_bigrams,
    find_mixtures,
    maximise_likelihood,
)
from spectral_latent.estimation import EstimationError, Listener, silent
from spectral_latent.files import Axes, Distinct, Index, OneLine, Shares, StoredModel, Text, plain
from spectral_latent.model import check_kind, check_labels, check_sentences, check_words
from spectral_latent.plotting import needs_matplotlib
from spectral_latent.sequence.baum_welch import state_posteriors
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.sequence.tagger import Tagger
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

__all__ = [
    "AnchorHMM",
    "AnchorPlane",
    "AnchorRow",
    "anchor_names",
    "anchor_plane",
    "anchor_rows",
    "anchor_table",
    "draw_anchors",
]


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

    options: the settings of training.
    words: the n types, by falling frequency.
    anchor_types: (m,) the type of each state's anchor.
    anchor_points: (m, d) the points of the anchors, the corners of the hull.
    state_prior: (m,) the share of each state among all tokens.
    hidden: the probabilities; observation x is type x.
    spelling: the regression that predicts the points of unseen words.
    tokens: N, the number of tokens of the training data.
    labels: a tag for every state, after anchors are labelled.

    >>> sentences = [["the", "cat", "sleeps", "."], ["a", "dog", "barks", "."], ["the", "dog", "sleeps", "."]] * 5
    >>> model = AnchorHMM.train(sentences, AnchorOptions(n_states=4))
    >>> sorted(model.anchors.items(), key=lambda pair: pair[1])[0][1]
    0
    """

    kind: ClassVar[str] = "anchors"

    options: AnchorOptions
    words: Annotated[list[str], Text(), Axes("n"), Distinct()]
    anchor_types: Annotated[IntArray, Axes("m"), Index("n"), Distinct()]
    anchor_points: Annotated[FloatArray, Axes("m", "d")]
    state_prior: Annotated[FloatArray, Axes("m"), Above(0.0), Shares()]
    hidden: HiddenMarkov
    spelling: SpellingRegression
    tokens: Annotated[float, Above(0.0)]
    labels: Annotated[tuple[Hashable, ...] | None, OneLine()] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        m, d = self.anchor_points.shape
        if not m or (self.labels is not None and len(self.labels) != m):
            raise ValueError("there is no state, or there are not as many labels as states")
        if self.hidden.emission.shape != (m, len(self.words)) or self.spelling.weights.shape[1] != d:
            raise ValueError("the probabilities and points are of other states, words or dimensions")
        features = self.spelling.features
        if len(self.spelling.weights) != (0 if features is None else len(features.names)):
            raise ValueError("there are not as many weights as features of spelling")

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
        anchors: the anchor of each state; if not given, anchors are found with `n_states` and `candidates`.
        listener: is told the progress of EM for the transitions."""
        options = given_or(AnchorOptions(), options)
        try:
            types = WordTypes.of(sentences)
        except ValueError as error:
            raise EstimationError(f"{error}; leave it out") from None
        if not types.names:
            raise EstimationError("no sentences to learn from")
        n = len(types.names)
        tokens = float(types.tokens.sum())
        if anchors is None:
            hull = build_hull(types, min(options.n_states, options.candidates, n), options.hull)
            anchor_types = choose_anchors(
                hull.points, types.tokens, options.n_states, options.candidates, exchange=options.exchange
            )
        else:
            anchor_types = _types_of(anchors, types)
            hull = build_hull(types, len(anchor_types), options.hull)
        anchor_points = hull.points[anchor_types]
        mixtures = find_mixtures(hull.points, anchor_points, options.sharpness)
        mixtures[anchor_types] = np.eye(len(anchor_types))  # removes rounding errors
        state_prior = types.tokens @ mixtures / tokens
        bigrams = count_bigrams(types.sequences, n)
        hidden = maximise_likelihood(mixtures, bigrams, options.steps, listener)
        if options.added:
            hidden = hidden.smooth(state_prior, tokens, types.sequences.n_sequences, options.added)
        return AnchorHMM(options, types.names, anchor_types, anchor_points, state_prior, hidden, hull.spelling, tokens)

    @property
    def n_states(self) -> int:
        """The number of states, m."""
        return self.hidden.n_states

    @property
    def anchors(self) -> dict[str, int]:
        """The state of each anchor, in the order of states."""
        return {self.words[x]: h for h, x in enumerate(self.anchor_types.tolist())}

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

        words: the words as they are spelt.

        Raises TypeError for a string in place of the words, or a word that is not a string."""
        check_words(words)
        capital = np.array([word[:1].isupper() for word in words], dtype=float)
        points = self.spelling.predict([word.lower() for word in words], capital)
        if self.options.hull.construction == "brown":
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

    def _posteriors(self, sequences: Sequence[Sequence[str]]) -> FloatArray:
        return state_posteriors(*self._encode(sequences))[0]

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


_ENDINGS = (".pdf", ".png", ".svg")


class AnchorRow(NamedTuple):
    """A state of a model.

    anchor: the word that no other state emits.
    label: the state's tag; None before anchors are labelled.
    share: the share of the state among all tokens, between 0 and 1.
    words: the words that the state is likeliest to emit, with o(x | h)."""

    state: int
    anchor: str
    label: Hashable | None
    share: float
    words: list[tuple[str, float]]


class AnchorPlane(NamedTuple):
    """Anchors and words as points in a plane.

    anchor_points: (m, 2) the points of the anchors.
    words: n words that states are likeliest to emit.
    points: (n, 2) the points of these words."""

    anchor_points: FloatArray
    words: list[str]
    points: FloatArray


def anchor_names(model: AnchorHMM) -> list[str]:
    """Name each state by its anchor in capitals, or by its unchanged anchor if two names would be the same."""
    capitals = [word.upper() for word in model.anchors]
    return capitals if len(set(capitals)) == len(capitals) else list(model.anchors)


def anchor_rows(model: AnchorHMM, top: int = 10) -> list[AnchorRow]:
    """List the states in their order."""
    labels: tuple[Hashable, ...] = model.labels or (None,) * model.n_states
    columns = zip(model.anchors, labels, model.state_prior.tolist(), model.top_words(top), strict=True)
    return [AnchorRow(state, *column) for state, column in enumerate(columns)]


def anchor_table(model: AnchorHMM, top: int = 10) -> str:
    """Format the states as lines of text, with shares in percent, and with labels if there are any."""
    rows = [("state", "anchor", "label", "share", "top words")]
    for row in anchor_rows(model, top):
        words = ", ".join(f"{printable(word)} {p:.3f}" for word, p in row.words if p >= 0.0005)
        label = "" if model.labels is None else printable(str(row.label))
        rows.append((str(row.state), printable(row.anchor), label, f"{100 * row.share:.1f}", words))
    if model.labels is None:
        rows = [(state, anchor, "", share, words) for state, anchor, _, share, words in rows]
    anchors, labels = (max(len(row[i]) for row in rows) for i in (1, 2))
    labels += 2 if labels else 0
    return "\n".join(
        f"{state:>5}  {anchor:<{anchors}}  {label:<{labels}}{share:>5}  {words}".rstrip()
        for state, anchor, label, share, words in rows
    )


def anchor_plane(model: AnchorHMM, top: int = 10) -> AnchorPlane:
    """Project anchors and likely words to the plane of the anchors' first two principal directions."""
    order = model.top_types(top)
    types = np.unique(order[np.take_along_axis(model.hidden.emission, order, axis=1) > 0.0])
    joint = model.hidden.emission[:, types].T * model.state_prior  # p(x, h)
    centred = model.anchor_points - model.anchor_points.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    # Choose the sign of each direction by its largest coordinate, so that pictures do not depend on the SVD.
    largest = np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None, :], axis=0)
    plane = np.pad(plane * np.where(largest < 0.0, -1.0, 1.0), ((0, 0), (0, 2 - plane.shape[1])))
    points = joint / joint.sum(axis=1, keepdims=True) @ plane
    return AnchorPlane(plane, [model.words[x] for x in types.tolist()], points)


def draw_anchors(model: AnchorHMM, path: str | os.PathLike[str], top: int = 30) -> None:
    """Draw `anchor_plane`: anchors with their names and labels, words as dots.

    The same model gives the same SVG.  Raises ImportError without matplotlib, and ValueError for another ending of the
    picture's name."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(f"{os.fspath(path)}: name a picture that ends in {', '.join(_ENDINGS)}")
    with needs_matplotlib():
        import matplotlib
        from matplotlib.figure import Figure

    plane = anchor_plane(model, top)
    figure = Figure(figsize=(8.0, 8.0), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(plane.points[:, 0], plane.points[:, 1], s=8, color="0.6", linewidths=0)
    axes.scatter(plane.anchor_points[:, 0], plane.anchor_points[:, 1], s=40, color="tab:red")
    for row, (x, y) in zip(anchor_rows(model, 0), plane.anchor_points.tolist(), strict=True):
        name = printable(row.anchor) if row.label is None else f"{printable(row.anchor)} ({printable(str(row.label))})"
        axes.annotate(name, (x, y), (4, 4), textcoords="offset points", parse_math=False, fontsize=11)
    axes.set_axis_off()
    with matplotlib.rc_context({"svg.hashsalt": "spectral_latent", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawn as a box
        metadata = {"Date": None} if Path(path).suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)

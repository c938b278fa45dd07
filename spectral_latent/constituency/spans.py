"""Judge labelled constituents by a log-linear model of their spans.

| here | meaning |
| --- | --- |
| c = (i, j, X) | a labelled constituent that the grammars find, or the tag of a word |
| μ(c) | its posterior under the grammars |
| φ(c) | its features: X, with words and tags at the ends of the span, its length, and more; see `span_features` |
| P(c) = σ(s logit μ(c) + w·φ(c)) | the probability that c is in the tree; σ is the logistic function |
| −Σ_c n(c) log P(whether c is in the tree) + λ ‖w‖² / 2 | what `SpanModel.train` minimises; λ is `penalty` |
| n(c) | the weight of the tree of c |

The rules of a grammar depend on little more than the labels of a phrase and its children.  The features also use the
words at both ends of a span and around it (Finkel, Kleeman and Manning 2008; Hall, Durrett and Klein 2014).  With s = 1
and w = 0, P(c) is μ(c).

P(c) is the *judgement* of c.  It is computed for each constituent alone.  The grammars make the judgements agree
(`agreement`), and the decoder finds the tree with the largest gain.  The sentences to learn from must be new to the
grammars, because a grammar has too good posteriors on the sentences of its own training.

A feature is the label of a constituent with up to four values of `_VALUES`; `_TEMPLATES` lists the combinations.
Features are hashed to buckets, so that a model needs no list of features.

| values | meaning |
| --- | --- |
| `word before` ... | the word, tag, signature or last letters at a place at an end of the span |
| `length` ... | classes of the length and of the odds, and all tags or words of short spans |
| `parent`, `left`, ... | labels of the likely constituents around the span and in it |
| `word at last part` ... | the words where the last part of the span begins, and where the first part ends |

Constituents are likely if their posterior is above a half; no two likely constituents cross.  The first and the last
part are the longest likely constituents in the span that begin or end with it.  If, for example, the last part of a
verb phrase is a prepositional phrase, the features have the verb and the preposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent.constituency.grammar import PhraseEvidence
from spectral_latent.constituency.options import SpanOptions
from spectral_latent.constituency.tree import ChainLabels
from spectral_latent.files import Axes
from spectral_latent.lexicon import signatures
from spectral_latent.lexicon.buckets import (
    N_BUCKETS,
    BucketArray,
    HashArray,
    class_of,
    hash_features,
    hash_name,
    list_columns,
    mix,
    pad_words,
    spread,
    sum_weights,
)
from spectral_latent.lexicon.log_linear import minimise
from spectral_latent.model.parts import Parts
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["SpanExamples", "SpanModel", "SpanOptions", "span_features", "span_loss"]

_KINDS = ("word", "tag", "form", "ending")  # attributes of a word
_PLACES = {  # places of words: 0 and a step from the first word of a span, or 1 and a step from the word after its last
    "before": (0, -1),
    "first": (0, 0),
    "last": (1, -1),
    "after": (1, 0),
    "second before": (0, -2),
    "second": (0, 1),
    "last but one": (1, -2),
    "second after": (1, 1),
}
_ENDS = ("before", "first", "last", "after")
_PAIRS = (("before", "first"), ("last", "after"), ("before", "after"), ("first", "last"))
_OF_SPANS = ("length", "odds", "best odds", "edges", "tags", "words")
_LIKELY = ("parent", "left", "right", "first part", "last part", "same span")  # likely constituents by their place
_SPLITS = ("before last part", "at last part", "after first part")  # places inside a span
_VALUES = (
    "label",
    *(f"{kind} {place}" for kind in _KINDS for place in _PLACES),
    *_OF_SPANS,
    *_LIKELY,
    "ends of parent",
    *(f"{kind} {place}" for kind in ("word", "tag") for place in _SPLITS),
)
_TEMPLATES: tuple[tuple[str, ...], ...] = (  # the values of each feature, besides the label
    (),
    ("length",),
    ("odds",),
    ("odds", "best odds"),
    ("edges",),
    ("tags", "length"),
    ("words", "length"),
    *((f"{kind} {place}",) for kind in _KINDS for place in _ENDS),
    *((f"tag {place}",) for place in _PLACES if place not in _ENDS),
    *((f"{kind} {place}", "length") for kind in ("word", "tag") for place in _ENDS),
    *(
        (f"{kind} {place}", f"{other_kind} {other}")
        for place, other in _PAIRS
        for kind in ("word", "tag")
        for other_kind in ("word", "tag")
    ),
    ("tag before", "tag first", "tag after"),
    ("tag first", "tag last", "tag after"),
    ("tag before", "tag first", "tag last", "tag after"),
    ("tag second before", "tag before", "tag first"),
    ("tag last", "tag after", "tag second after"),
    ("parent", "ends of parent"),
    ("parent", "ends of parent", "left", "right"),
    ("left", "right"),
    ("first part", "last part"),
    *((place,) for place in ("left", "right", "first part", "last part", "same span")),
    *(("parent", place) for place in ("first part", "last part", "same span")),
    *(
        template
        for kind in ("word", "tag")
        for template in (
            (f"{kind} before last part", f"{kind} at last part"),
            (f"{kind} first", f"{kind} at last part"),
            (f"{kind} first", f"{kind} before last part", f"{kind} at last part"),
            (f"{kind} after first part",),
            (f"{kind} first", f"{kind} after first part"),
        )
    ),
    ("word first", "tag at last part"),
    ("tag first", "word at last part"),
    ("word before last part", "tag at last part"),
    ("tag before last part", "word at last part"),
    ("word at last part",),
    ("word at last part", "word last"),
    ("word first", "word at last part", "word last"),
)
_LENGTHS = np.array([2, 3, 4, 5, 6, 8, 11, 16, 26])  # the least length of each class, after the first class
_TAGS = 6  # the longest span of which all tags are a feature
_WORDS = 4  # the longest span of which all words are a feature
_LEAST = 0.5  # constituents with larger posteriors are likely


_COLUMNS = list_columns(_TEMPLATES, _VALUES)


@lru_cache(1 << 16)
def _hashes_of_word(word: str) -> tuple[int, int, int]:
    """Hash a word, its finest signature, and its last two letters."""
    return hash_name(word), hash_name(repr(signatures(word)[0])), hash_name(word.lower()[-2:])


def _best_tags(parts: Parts, is_tag: BoolArray, first: IntArray, name: IntArray, n: int) -> IntArray:
    """Find the name (n,) of the likeliest tag of each word; -1 if none has a posterior.

    is_tag, first, name: (L,) whether a constituent is a tag, its first word among all words, and its name.
    """
    rows = np.flatnonzero(is_tag)
    rows = rows[np.argsort(parts.posterior[rows], kind="stable")]
    tag = np.full(n, -1)
    tag[first[rows]] = name[rows]  # of several tags for a word, the last and likeliest stays
    return tag


@compiled
def _likely_places(
    first: IntArray, end: IntArray, sentence: IntArray, likely: IntArray, of_sentence: IntArray, judged: IntArray
) -> IntArray:
    """Find the likely constituents around each of n spans and in it, (n, 6), as `_LIKELY` names them; -1 for none.

    first: (L,) the first word of each constituent.
    end: (L,) the word after its last word.
    sentence: (L,) the sentence of each constituent.
    likely: (K,) the likely constituents, sorted by sentence, and short ones first within a sentence.
    of_sentence: (S + 1,) the first of them in each sentence, and K.
    judged: (n,) the constituents with the n spans.
    """
    places = np.full((len(judged), 6), -1)
    for row in range(len(judged)):
        own = judged[row]
        i = first[own]
        j = end[own]
        for k in range(of_sentence[sentence[own]], of_sentence[sentence[own] + 1]):
            f = first[likely[k]]
            e = end[likely[k]]
            # The likely constituents f ... e-1 come by rising length.  So the first one that holds the span i ... j-1
            # is its shortest parent; for neighbours and parts, longer ones replace shorter ones.
            if f <= i and j <= e and j - i < e - f and places[row, 0] < 0:
                places[row, 0] = likely[k]
            if e == i:
                places[row, 1] = likely[k]
            if f == j:
                places[row, 2] = likely[k]
            if f == i and e < j:
                places[row, 3] = likely[k]
            if f > i and e == j:
                places[row, 4] = likely[k]
            if f == i and e == j and likely[k] != own:
                places[row, 5] = likely[k]
    return places


def _context(
    parts: Parts, first: IntArray, end: IntArray, label: HashArray, atoms: Sequence[HashArray], judged: IntArray
) -> list[HashArray]:
    """Compute the columns of `_VALUES` from `parent` on, for n of L constituents, from the likely constituents.

    first, end: (L,) the first word of each constituent among all words, and the word after its last one.
    label: (L,) the hash of each label.
    judged: (n,) the numbers of the n constituents.
    """
    likely = np.flatnonzero(parts.posterior > _LEAST)
    sentence = parts.sentence
    likely = likely[np.lexsort(((end - first)[likely], sentence[likely]))]
    of_sentence = np.searchsorted(sentence[likely], np.arange(sentence.max(initial=0) + 2))
    places = _likely_places(first, end, sentence, likely, of_sentence, judged)
    columns = [np.where(at < 0, 0, label[at]) for at in places.T]
    parent, _, _, first_part, last_part, _ = places.T
    # Whether the span begins and ends with its parent, as a number from 1 to 4.
    begins = first[parent] == first[judged]
    ends = end[parent] == end[judged]
    columns.append(np.where(parent < 0, 0, 1 + begins + 2 * ends))
    # The words where the last part begins and where the first part ends.
    split = first[last_part]
    for atom in atoms:
        after = np.append(atom, 0)[end[first_part]]
        columns += [
            np.where(last_part < 0, 0, atom[split - 1]),
            np.where(last_part < 0, 0, atom[split]),
            np.where(first_part < 0, 0, after),
        ]
    return [column.astype(np.uint64) for column in columns]


def _values(
    parts: Parts,
    odds: FloatArray,
    labels: ChainLabels,
    words: Sequence[str],
    start: IntArray,
    judged: IntArray,
) -> HashArray:
    """Compute the values that `_VALUES` names for n constituents, (n, V); see `span_features`."""
    first_of_all = parts.begin + start[parts.sentence]
    end_of_all = parts.end + start[parts.sentence]
    first = first_of_all[judged]
    end = end_of_all[judged]
    sentence_of = parts.sentence[judged]
    name = parts.label % len(labels.names)
    is_tag = labels.are_tags(parts)
    hash_of_label = np.array([*map(hash_name, labels.names), 0], dtype=np.uint64)
    word, form, ending = np.array([_hashes_of_word(word) for word in words], dtype=np.uint64).T
    tag = hash_of_label[_best_tags(parts, is_tag, first_of_all, name, len(words))]
    label = hash_of_label[name] * np.uint64(2) + is_tag.astype(np.uint64)
    columns = [label[judged]]
    for atom in (word, tag, form, ending):
        padded, shift = pad_words(atom, start)
        bounds = first + shift[sentence_of], end + shift[sentence_of]
        columns += [padded[bounds[side] + step] for side, step in _PLACES.values()]
    # Find the best odds of any label over the same words.
    _, span = np.unique((first_of_all * (len(words) + 1) + end_of_all) * 2 + is_tag, return_inverse=True)
    best = np.full(len(odds), -np.inf)
    np.maximum.at(best, span, odds)
    columns += [
        np.searchsorted(_LENGTHS, end - first, side="right").astype(np.uint64),
        class_of(odds[judged] * 1.5, 12),
        class_of(best[span[judged]], 8),
        ((first == start[sentence_of]) + 2 * (end == start[sentence_of + 1])).astype(np.uint64),
        _sequences(tag, first, end, _TAGS),
        _sequences(np.ascontiguousarray(word), first, end, _WORDS),
        *_context(parts, first_of_all, end_of_all, label, (word, tag), judged),
    ]
    return np.stack(columns, axis=1)


@compiled
def _sequences(atom: HashArray, first: IntArray, end: IntArray, longest: int) -> HashArray:
    """Hash the values of the words first ... end - 1 of each span, (L,); 0 for spans of more than `longest` words.

    atom: (n,) the value of each word.
    """
    hashes = np.zeros(len(first), dtype=np.uint64)
    for row in range(len(first)):
        if end[row] - first[row] <= longest:
            state = np.uint64(1)
            for place in range(first[row], end[row]):
                state = mix(state, atom[place])
            hashes[row] = state
    return hashes


def span_features(
    parts: Parts,
    odds: FloatArray,
    labels: ChainLabels,
    words: Sequence[str],
    start: IntArray,
    judged: IntArray,
) -> BucketArray:
    """Compute the bucket of each feature of some of the labelled constituents of sentences, (n, T).

    odds: (L,) the logarithm of the odds of their posteriors.
    start: (S + 1,) the first word of each sentence, and the number of all words.
    judged: (n,) the numbers of the constituents to describe.

    >>> labels = ChainLabels([("NN",), ("NP",)])
    >>> chains = Parts(*np.array([[0, 0, 0], [0, 1, 0], [1, 2, 2], [0, 0, 1]]), np.full(3, 0.75))
    >>> parts = labels.split(chains).parts
    >>> span_features(parts, np.ones(3), labels, ["guard", "dogs"], np.array([0, 2]), np.array([2])).shape[0]
    1
    """
    return hash_features(_values(parts, odds, labels, words, start, judged), _COLUMNS)


_LARGEST = 1.0 - 1e-6  # posteriors are cut to at most this number before their odds are computed


class SpanExamples(NamedTuple):
    """L labelled constituents with their features.

    buckets: (L, T) the bucket of each feature.
    odds: (L,) the logarithm of the odds of the posterior, logit μ.
    correct: (L,) whether the constituent is in the tree; all are False if the tree is not known.
    times: (L,) n(c), the weight of the tree.
    """

    buckets: BucketArray
    odds: FloatArray
    correct: BoolArray
    times: FloatArray

    @staticmethod
    def of(
        parts: Parts,
        labels: ChainLabels,
        words: Sequence[str],
        start: IntArray,
        judged: IntArray,
        correct: BoolArray | None = None,
    ) -> SpanExamples:
        """Compute the features of n of the labelled constituents of sentences.

        start: (S + 1,) the first word of each sentence, and the number of all words.
        judged: (n,) the numbers of the constituents to judge; their features depend on the other constituents, too.
        correct: (L,) whether each constituent is in the tree; None if the tree is not known.
        Raises ValueError if a constituent is not within the words.
        """
        check_starts("starts of sentences", start, len(words))
        check_range("sentences of constituents", parts.sentence, 0, len(start) - 1)
        check_range("first words of constituents", parts.begin + start[parts.sentence], 0, len(words))
        check_range("ends of constituents", parts.end + start[parts.sentence], 1, len(words) + 1)
        odds = scipy.special.logit(np.clip(parts.posterior, 1.0 - _LARGEST, _LARGEST))
        buckets = span_features(parts, odds, labels, words, start, judged)
        correct = np.zeros(len(odds), dtype=np.bool_) if correct is None else correct
        return SpanExamples(buckets, odds[judged], correct[judged], np.ones(len(judged)))

    def weighted(self, weight: float) -> SpanExamples:
        """Multiply the weight of the tree."""
        return self._replace(times=weight * self.times)

    @staticmethod
    def join(parts: list[SpanExamples]) -> SpanExamples:
        """Join the examples of several sentences or folds, and empty the list, so that no example is held twice."""
        size = sum(len(part.odds) for part in parts)
        columns: list[Any] = [np.empty((size, *column.shape[1:]), column.dtype) for column in parts[0]]
        end = size
        while parts:
            part: Any = parts.pop()
            for column, rows in zip(columns, part, strict=True):
                column[end - len(rows) : end] = rows
            end -= len(part.odds)
        return SpanExamples(*columns)


def span_loss(examples: SpanExamples, parameters: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    """Compute −Σ n(c) log P(whether c is in the tree) + λ ‖w‖² / 2 and its gradient.

    parameters: (B + 1,) the weights w of B buckets, and s.

    >>> example = SpanExamples(np.array([[0, 1]], dtype=np.int32), np.zeros(1), np.array([True]), np.ones(1))
    >>> loss, gradient = span_loss(example, np.array([0.0, 0.0, 1.0]), penalty=1.0)
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [-0.5, -0.5, 0.0])
    """
    weights = parameters[:-1]
    score = sum_weights(examples.buckets, weights) + parameters[-1] * examples.odds
    excess = examples.times * (scipy.special.expit(score) - examples.correct)
    surprise = np.logaddexp(0.0, score) - score * examples.correct
    loss = examples.times @ surprise + penalty / 2 * weights @ weights
    gradient = spread(examples.buckets, excess, len(weights)) + penalty * weights
    return float(loss), np.append(gradient, excess @ examples.odds)


@dataclass(frozen=True, eq=False)
class SpanModel:
    """A log-linear model of the probabilities of labelled constituents.

    slope: s, the factor of the log-odds of posteriors.
    weights: (B,) w, the weight of each bucket.
    Raises ValueError for weights of another number or type.

    >>> labels = ChainLabels([("N",), ("NP",)])
    >>> chains = Parts(*np.array([[0, 0, 0], [0, 0, 1], [1, 2, 2], [0, 1, 0]]), np.array([1.0, 0.25, 1.0]))
    >>> parts = labels.split(chains).parts
    >>> examples = SpanExamples.of(parts, labels, ["guard", "dogs"], np.array([0, 2]), np.arange(3))
    >>> SpanModel.plain().probabilities(examples).round(4)
    array([1.  , 0.25, 1.  ])
    """

    slope: float
    weights: Annotated[FloatArray, Axes(N_BUCKETS)]

    def __post_init__(self) -> None:
        check_column("weights of a model of spans", self.weights, (N_BUCKETS,), np.float64)

    @staticmethod
    def plain() -> SpanModel:
        """Make the model whose probabilities are the posteriors."""
        return SpanModel(1.0, np.zeros(N_BUCKETS))

    def judge(self, parts: Parts, evidence: PhraseEvidence) -> Parts:
        """Replace the posteriors of L labelled constituents by their probabilities; small posteriors stay."""
        judged = evidence.options.judged(parts)
        examples = SpanExamples.of(parts, evidence.labels, evidence.words, evidence.start, judged)
        judgement = parts.posterior.copy()
        judgement[judged] = self.probabilities(examples)
        return parts._replace(posterior=judgement)

    @staticmethod
    def train(examples: list[SpanExamples], options: SpanOptions) -> SpanModel:
        """Learn from the constituents that grammars find in sentences that are new to the grammars; empty the list.

        Weights are rounded to numbers of two bytes, as a file holds them.
        """
        plain = SpanModel.plain()
        if not examples:
            return plain
        joined = SpanExamples.join(examples)

        def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
            """Compute the loss and its gradient."""
            return span_loss(joined, parameters, options.penalty)

        best = minimise(loss, np.append(plain.weights, plain.slope), options.iterations)
        return SpanModel(float(best[-1]), best[:-1].astype(np.float16).astype(np.float64))

    def probabilities(self, examples: SpanExamples) -> FloatArray:
        """Compute P(c) of n constituents, (n,)."""
        score = sum_weights(examples.buckets, self.weights) + self.slope * examples.odds
        return np.asarray(scipy.special.expit(score))

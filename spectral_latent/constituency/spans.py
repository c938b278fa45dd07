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

A feature is the label of a constituent with up to four other values; `_TEMPLATES` lists the combinations.
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from spectral_latent._compiled import compiled
from spectral_latent.constituency.agreement import agreed
from spectral_latent.constituency.grammar import PhraseEvidence
from spectral_latent.constituency.tree import ChainLabels
from spectral_latent.lexicon import signatures
from spectral_latent.lexicon.buckets import (
    HashArray,
    Templates,
    class_of,
    hash_features,
    hash_name,
    list_names,
    mix,
    pad_words,
)
from spectral_latent.lexicon.choices import ChoiceModel, Choices
from spectral_latent.model.parts import Parts
from spectral_latent.trees import BoolArray, FloatArray, IntArray

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
_LIKELY = ("parent", "left", "right", "first part", "last part", "same span")  # likely constituents by their place
_TEMPLATES: Templates = (  # the values of each feature, besides the label
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

_NAMES = frozenset(list_names(_TEMPLATES))


@lru_cache(1 << 16)
def _hashes_of_word(word: str) -> tuple[int, int, int]:
    """Hash a word, its finest signature, and its last two letters."""
    return hash_name(word), hash_name(repr(signatures(word)[0])), hash_name(word.lower()[-2:])


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
    judged: (n,) the constituents with the n spans."""
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
    parts: Parts, first: IntArray, end: IntArray, label: HashArray, atoms: Mapping[str, HashArray], judged: IntArray
) -> dict[str, HashArray]:
    """Compute the values of n of L constituents, (n,) each, that depend on the likely constituents around them.

    first, end: (L,) the first word of each constituent among all words, and the word after its last one.
    label: (L,) the hash of each label.
    judged: (n,) the numbers of the n constituents."""
    likely = np.flatnonzero(parts.posterior > _LEAST)
    sentence = parts.sentence
    likely = likely[np.lexsort(((end - first)[likely], sentence[likely]))]
    of_sentence = np.searchsorted(sentence[likely], np.arange(sentence.max(initial=0) + 2))
    places = _likely_places(first, end, sentence, likely, of_sentence, judged)
    columns = {name: np.where(at < 0, 0, label[at]) for name, at in zip(_LIKELY, places.T, strict=True)}
    parent, _, _, first_part, last_part, _ = places.T
    # Whether the span begins and ends with its parent, as a number from 1 to 4.
    begins = first[parent] == first[judged]
    ends = end[parent] == end[judged]
    columns["ends of parent"] = np.where(parent < 0, 0, 1 + begins + 2 * ends).astype(np.uint64)
    # The words where the last part begins and where the first part ends.
    split = first[last_part]
    for kind, atom in atoms.items():
        after = np.append(atom, 0)[end[first_part]]
        columns[f"{kind} before last part"] = np.where(last_part < 0, 0, atom[split - 1])
        columns[f"{kind} at last part"] = np.where(last_part < 0, 0, atom[split])
        columns[f"{kind} after first part"] = np.where(first_part < 0, 0, after)
    return columns


def _columns(
    parts: Parts,
    odds: FloatArray,
    labels: ChainLabels,
    words: Sequence[str],
    start: IntArray,
    judged: IntArray,
) -> tuple[HashArray, dict[str, HashArray]]:
    """Compute the hash of the label of n constituents, (n,), and the values that templates name, (n,) each."""
    first_of_all = parts.begin + start[parts.sentence]
    end_of_all = parts.end + start[parts.sentence]
    first = first_of_all[judged]
    end = end_of_all[judged]
    sentence_of = parts.sentence[judged]
    name = parts.label % len(labels.names)
    is_tag = labels.are_tags(parts)
    word, form, ending = np.array([_hashes_of_word(word) for word in words], dtype=np.uint64).T
    rows = np.flatnonzero(is_tag)
    rows = rows[np.argsort(parts.posterior[rows], kind="stable")]
    best = np.full(len(words), -1)
    best[first_of_all[rows]] = name[rows]  # of several tags for a word, the last and likeliest stays
    tag = labels.hashes[best]
    label = labels.hashes[name] * np.uint64(2) + is_tag.astype(np.uint64)
    columns = {}
    # Number the words from 1; a place without a word has the number 0 and the value 0.
    number, shift = pad_words(np.arange(1, len(words) + 1, dtype=np.uint64), start)
    bounds = first + shift[sentence_of], end + shift[sentence_of]
    atoms = np.zeros((len(_KINDS), len(words) + 1), dtype=np.uint64)
    atoms[:, 1:] = word, tag, form, ending
    for place, (side, step) in _PLACES.items():
        at = number[bounds[side] + step]
        for kind, atom in zip(_KINDS, atoms, strict=True):
            if f"{kind} {place}" in _NAMES:
                columns[f"{kind} {place}"] = atom[at]
    # Find the best odds of any label over the same words.
    _, span = np.unique((first_of_all * (len(words) + 1) + end_of_all) * 2 + is_tag, return_inverse=True)
    best = np.full(len(odds), -np.inf)
    np.maximum.at(best, span, odds)
    columns |= {
        "length": np.searchsorted(_LENGTHS, end - first, side="right").astype(np.uint64),
        "odds": class_of(odds[judged] * 1.5, 12),
        "best odds": class_of(best[span[judged]], 8),
        "edges": ((first == start[sentence_of]) + 2 * (end == start[sentence_of + 1])).astype(np.uint64),
        "tags": _sequences(tag, first, end, _TAGS),
        "words": _sequences(np.ascontiguousarray(word), first, end, _WORDS),
    }
    columns |= _context(parts, first_of_all, end_of_all, label, {"word": word, "tag": tag}, judged)
    return label[judged], columns


def _sequences(atom: Any, first: IntArray, end: IntArray, longest: int) -> HashArray:
    """Hash the values of the words first ... end - 1 of each span, (L,); 0 for spans of more than `longest` words.

    atom: (n,) the value of each word."""
    is_short = end - first <= longest
    hashes: Any = is_short.astype(np.uint64)
    for step in range(longest):
        rows = np.flatnonzero(is_short & (first + step < end))
        hashes[rows] = mix(hashes[rows], atom[first[rows] + step])
    return hashes  # type: ignore[no-any-return]


_LARGEST = 1.0 - 1e-6  # posteriors are cut to at most this number before their odds are computed


def span_choices(
    parts: Parts,
    labels: ChainLabels,
    words: Sequence[str],
    start: IntArray,
    judged: IntArray,
    correct: BoolArray | None = None,
) -> Choices:
    """Compute the features of n of the L labelled constituents of sentences, each of which is right or wrong.

    start: (S + 1,) the first word of each sentence, and the number of all words.
    judged: (n,) the numbers of the constituents to judge; their features depend on the other constituents, too.
    correct: (L,) whether each constituent is in the tree; None if the tree is not known."""
    likely = np.clip(parts.posterior, 1.0 - _LARGEST, _LARGEST)
    odds = np.log(likely) - np.log1p(-likely)
    buckets = hash_features(_TEMPLATES, *_columns(parts, odds, labels, words, start, judged))
    correct = np.zeros(len(odds), dtype=np.bool_) if correct is None else correct
    return Choices.alone(buckets, odds[judged], correct[judged], np.ones(len(judged)))


@dataclass(frozen=True, eq=False)
class SpanModel(ChoiceModel):
    """A log-linear model of the probabilities of labelled constituents, each by itself."""

    noun: ClassVar[str] = "spans"
    is_fine: ClassVar[bool] = True

    def judge(self, parts: Parts, evidence: PhraseEvidence) -> Parts:
        """Replace the posteriors of L labelled constituents by their probabilities; small posteriors stay.

        If the options have a `step`, the judgements are then made to agree."""
        judged = evidence.options.judged(parts)
        posterior = parts.posterior.copy()
        posterior[judged] = self.share(span_choices(parts, evidence.labels, evidence.words, evidence.start, judged))
        parts = parts._replace(posterior=posterior)
        return agreed(parts, evidence) if evidence.options.step > 0.0 else parts

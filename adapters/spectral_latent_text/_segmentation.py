"""Divide raw text into sentences, tokens and words by tagging its characters.

A tag tells of a character other than white space whether it begins a token, whether it ends one, whether its token
opens a sentence, and whether its token is made of several words, as `du` of `de` and `le`.  Edit scripts then say which
words these are.

| here | meaning |
| --- | --- |
| x, y | the characters of a text, and their tags |
| φ(x, i) | the features of a character, hashed to buckets: the letters around it, and what stands beside it |
| ψ(x, i) | the features by which a character opens a sentence |
| A (12, 4) | `_TRAITS`: the other traits of each tag, each of which has weights w |
| O (12,) | `_OPENS`: whether each tag opens a sentence, which has weights v |
| s | `step`: the weight of each pair of neighbouring tags |
| P(y \\| x) ∝ exp(Σ_i A(y_i) w·φ(x, i) + O(y_i) v·ψ(x, i) + s(y_{i-1}, y_i)) | of tags that fit together |
| −Σ log P(y \\| x) + λ (‖w‖² + ‖v‖² + ‖s‖²) / 2 | what `Segmenter.train` minimises; λ is `_PENALTY` |

The model is a conditional random field (Lafferty, McCallum and Pereira 2001), and its sums are those of Baum-Welch.  A
token begins, and opens a sentence, where that has more than half of the probability.

White space always ends a token, unless a treebank has tokens with white space, such as `10 000`.  An empty line always
ends a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import regex

from spectral_latent.files import Axes
from spectral_latent.lexicon import (
    BucketArray,
    HashArray,
    Templates,
    hash_features,
    hash_name,
    hash_to_ends,
    minimise,
    spread,
    spread_rows,
    sum_rows,
    sum_weights,
)
from spectral_latent.sequence import chain_sums
from spectral_latent.tokenisation import FINAL, Token, Tokenisation, check_text, clusters
from spectral_latent.trees import BoolArray, FloatArray, IntArray
from spectral_latent_text._lemmas import Lemmatiser

if TYPE_CHECKING:
    from spectral_latent.corpora import DividedText

__all__ = ["LearntTokenisation", "Segmenter"]

_SIZE = 1 << 18  # buckets
_PENALTY = 0.1
_ITERATIONS = 80
_LONGEST = 10  # characters of the longest part of a text that is a feature as a whole
_NEAR = 3  # characters on each side of a place
_BLOCK = 1 << 16  # characters that are divided at once
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_SPACE, _PARAGRAPH = 32, 10  # the characters for white space, without and with an empty line
_KINDS = regex.compile(r"(\p{Hiragana})|([\p{Katakana}ー])|(\p{Han})|([\p{L}\p{M}])|(\p{N})|(\s)")
_FAR = 5  # runs since the latest end of a sentence that are told apart
_SEVERAL = "several"  # the tag under which scripts are kept

_LETTERS = [f"letter{step:+}" for step in range(-_NEAR, _NEAR)]  # letter+0 is the character itself
_CLASSES = [f"class{step:+}" for step in range(-_NEAR, _NEAR)]
_TEMPLATES: Templates = (
    *((name,) for name in _LETTERS[1:]),
    *pairwise(_LETTERS),
    *zip(_LETTERS, _LETTERS[1:], _LETTERS[2:], strict=False),
    ("letter-1", "letter+1"),
    ("letter-2", "letter+0"),
    ("letter-1", "class+0"),
    ("letter-2", "letter-1", "class+0"),
    ("letter-1", "class+0", "letter+1"),
    ("class-1", "letter+0"),
    ("class-2", "class-1", "letter+0"),
    ("class-1", "letter+0", "class+1"),
    ("letter+0", "class+1"),
    *pairwise(_CLASSES[1:]),
    *zip(_CLASSES, _CLASSES[1:], _CLASSES[2:], strict=False),
    ("left part",),
    ("right part",),
    ("left part", "right part"),
    ("left part", "letter+0"),
    ("letter-1", "right part"),
    ("class-1", "right part"),
    ("run-1",),
    ("run+0",),
    ("run-1", "run+0"),
    ("run-2", "run-1"),
    ("run+0", "run+1"),
    ("run-2", "run-1", "run+0"),
    ("run-1", "run+0", "run+1"),
    ("run-2", "run-1", "class+0"),
    ("run-1", "class+0"),
    ("part-1",),
    ("part-1", "class+0"),
    ("part-1", "right part"),
)

_SENTENCE_TEMPLATES: Templates = (
    ("last",),
    ("run-1",),
    ("run+0",),
    ("since",),
    ("since", "last"),
    ("since", "last", "class+0"),
    ("since", "last", "class+0", "class+1"),
    ("last", "class+0"),
    ("last", "class+0", "class+1"),
    ("last", "run+0"),
    ("run-1", "last"),
    ("run-1", "class+0"),
    ("run-1", "run+0"),
    ("run+0", "class+0"),
    ("run+0", "run+1"),
    ("run-2", "last"),
    ("run-2", "run-1"),
    ("run-2", "run-1", "class+0"),
    ("part-1",),
    ("part-1", "class+0"),
)

# The tags: whether a character begins and ends a token, and whether the token opens a sentence and has several words.
_BEGINS, _ENDS, _OPENS, _HAS_SEVERAL = np.array(
    [
        (begins, ends, opens, several)
        for several in (False, True)
        for begins in (False, True)
        for ends in (False, True)
        for opens in ((False, True) if begins else (False,))
    ]
).T
_TRAITS = np.stack([_BEGINS, _ENDS, _BEGINS & _ENDS, _HAS_SEVERAL], axis=1).astype(np.float64)
_N_TAGS, _N_TRAITS = _TRAITS.shape
_FOLLOWS = (_ENDS[:, None] == _BEGINS) & (_BEGINS | (_HAS_SEVERAL[:, None] == _HAS_SEVERAL))  # tags that fit together


class _Characters(NamedTuple):
    """The n characters of a text that are not white space.

    place: (n,) the place of each character in the text.
    space: (n,) what stands before each character: nothing, white space or an empty line, as 0, 1 and 2.
    is_inside: (n,) whether each character continues a grapheme cluster, so that no token begins there.
    buckets: (n, T) the buckets of the features.
    of_sentences: (n, T') the buckets of the features by which sentences are opened."""

    place: IntArray
    space: IntArray
    is_inside: BoolArray
    buckets: BucketArray
    of_sentences: BucketArray

    @staticmethod
    def of(text: str) -> _Characters:
        """Read a text."""
        code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
        letters, number = np.unique(code, return_inverse=True)
        is_space = np.array([chr(letter).isspace() for letter in letters.tolist()], dtype=np.bool_)[number]
        # A run of white space is one character.
        place = np.flatnonzero(~(is_space & np.append(False, is_space[:-1])[: len(code)]))
        code = np.where(is_space, _SPACE, code)[place]
        empty = np.array([line.start() for line in _EMPTY_LINE.finditer(text)], dtype=np.int64)
        code[np.searchsorted(place, empty, "right") - 1] = _PARAGRAPH
        values = np.array([_attributes(chr(letter)) for letter in letters.tolist()], dtype=np.uint64).reshape(-1, 4)
        solid = np.flatnonzero(~is_space[place])
        before = np.append(_PARAGRAPH, code)[solid]
        space = np.select([before == _PARAGRAPH, before == _SPACE], [2, 1])
        space[:1] = 2  # also after white space
        columns = {name: column[solid] for name, column in _columns(code, *values[number[place]].T).items()}
        is_inside = np.ones(len(text), dtype=np.bool_)
        is_inside[list(accumulate(map(len, clusters(text)[:-1]), initial=0)) if text else []] = False
        buckets = (
            hash_features(templates, space.astype(np.uint64), columns, _SIZE)
            for templates in (_TEMPLATES, _SENTENCE_TEMPLATES)
        )
        return _Characters(place[solid], space, is_inside[place[solid]], *buckets)

    def factors(self, weights: FloatArray, sentences: FloatArray, may_join: bool) -> FloatArray:
        """Compute exp(A w·φ + O v·ψ) of each tag, (n, 12), divided by the largest one; 0 for tags that cannot be."""
        scores = sum_rows(self.buckets, weights) @ _TRAITS.T
        scores += sum_weights(self.of_sentences, sentences)[:, None] * _OPENS
        must = self.space > may_join
        scores[must] += np.where(_BEGINS, 0.0, -np.inf)
        scores[self.is_inside & (self.space == 0)] += np.where(_BEGINS, -np.inf, 0.0)
        return np.asarray(np.exp(scores - scores.max(axis=1, keepdims=True)))

    @property
    def start(self) -> IntArray:
        """The first character of each paragraph, and n."""
        return np.append(np.flatnonzero(self.space == 2), len(self.space))


@lru_cache(1 << 16)
def _attributes(letter: str) -> tuple[int, ...]:
    """Hash class, kind and plain form of a character; then tell whether it may end a sentence."""
    letter = " " if letter.isspace() else letter
    category = unicodedata.category(letter)
    found = _KINDS.match(letter)
    kind = letter if found is None else str(found.lastindex)
    common = "0" if category == "Nd" else unicodedata.normalize("NFKC", letter).lower()
    return (
        *map(hash_name, (kind if found is None else kind + category, kind, common)),
        int(FINAL.match(letter) is not None),
    )


def _columns(
    code: IntArray, classes: HashArray, kind: HashArray, common: HashArray, is_final: HashArray
) -> dict[str, HashArray]:
    """List the values of each of n characters by name, (n,) each.

    code, classes, kind, common, is_final: (n,) each character, and what `_attributes` says of it."""
    n = len(code)
    columns: dict[str, HashArray] = {}
    for names, column in ((_LETTERS, common), (_CLASSES, classes)):
        padded = np.pad(column, _NEAR)
        columns |= {name: padded[at : at + n] for at, name in enumerate(names)}
    # A part of a text stands between white space, a run is made of characters of one kind.
    is_space = (code == _SPACE) | (code == _PARAGRAPH)
    for name, of in (("part", is_space.astype(np.uint64)), ("run", kind)):
        opens = np.append(True, of[1:] != of[:-1])[:n]
        number = np.cumsum(opens)
        right = hash_to_ends(common, number, _LONGEST)
        left = np.append(0, hash_to_ends(common[::-1], number[::-1], _LONGEST)[::-1])[:n].astype(np.uint64)
        first = opens & ~is_space
        whole = np.concatenate([np.zeros(2, dtype=np.uint64), right[first], np.zeros(2, dtype=np.uint64)])
        at = np.cumsum(first)  # whole[at + 1] is the part or run of the character itself
        columns |= {
            f"left {name}": np.where(opens, np.uint64(0), left),
            f"right {name}": right,
            f"{name}-2": np.where(opens, whole[at - 1], whole[at]),
            f"{name}-1": np.where(opens, whole[at], left),
            f"{name}+0": right,
            f"{name}+1": whole[at + 2],
        }
    # Runs are counted from the latest character that may end a sentence.
    latest = np.maximum.accumulate(np.append(0, np.where((is_final > 0) | (code == _PARAGRAPH), at, 0)[:-1])[:n])
    return columns | {
        "since": np.minimum(at - latest, _FAR).astype(np.uint64),
        "last": np.where(np.append(True, is_space[:-1])[:n], columns["class-2"], columns["class-1"]),
    }


@dataclass(frozen=True, eq=False, repr=False)
class Segmenter:
    """Divides text into sentences, tokens and words.

    weights: (B, 4) w, the weights of the traits of tags.
    sentences: (B,) v, the weights of the opening of a sentence.
    step: (12, 12) s, the weight of each pair of neighbouring tags.
    may_join: whether tokens may have white space within.
    scripts: the edit scripts from tokens in lower case to their words, with a space between two words.
    by_beginning: whether scripts are found by the first letters of a token, rather than by the last ones."""

    weights: Annotated[FloatArray, Axes(_SIZE, _N_TRAITS)]
    sentences: Annotated[FloatArray, Axes(_SIZE)]
    step: Annotated[FloatArray, Axes(_N_TAGS, _N_TAGS)]
    may_join: bool
    scripts: Lemmatiser
    by_beginning: bool

    @staticmethod
    def train(texts: Iterable[DividedText]) -> Segmenter:
        """Learn from divided texts."""
        texts = [text for text in texts if text.tokens]
        forms = [_unbroken(text.text[first:end]) for text in texts for first, end, _ in text.tokens]
        words = [words for text in texts for _, _, words in text.tokens]
        may_join = any(" " in form for form in forms)
        weights = _learn(texts, may_join)
        split = Counter(
            (form.lower(), " ".join(of_token).lower())
            for form, of_token in zip(forms, words, strict=True)
            if len(of_token) > 1
        )
        return Segmenter(*weights, may_join, *_learn_scripts(split))

    def divide(self, text: str) -> Iterator[list[Token]]:
        """Divide a text into sentences of at least one word.

        The words of a token of several words have the same place and form."""
        for first, end in _blocks(text):
            yield from self._divide_block(text[first:end], first)

    def _divide_block(self, text: str, offset: int) -> Iterator[list[Token]]:
        """Divide some paragraphs; `offset` is the place of their first character."""
        found = _Characters.of(text)
        if not len(found.place):
            return
        factors = found.factors(self.weights, self.sentences, self.may_join)
        posterior, _, _ = chain_sums(factors, found.start, _OPENS, _steps(self.step), _ENDS)
        first = np.flatnonzero(posterior @ _BEGINS > 0.5)
        end = found.place[np.append(first[1:], len(found.place)) - 1] + 1
        opens, has_several = ((posterior[first] @ trait > 0.5).tolist() for trait in (_OPENS, _HAS_SEVERAL))
        sentence: list[Token] = []
        for at, to, is_new, may_split in zip(
            found.place[first].tolist(), end.tolist(), opens, has_several, strict=True
        ):
            if is_new and sentence:
                yield sentence
                sentence = []
            form = _unbroken(text[at:to])
            words = self._words_of(form) if may_split else [form]
            part = int(len(words) > 1)
            sentence += [Token(word, form, offset + at, part * number) for number, word in enumerate(words, 1)]
        yield sentence

    def _words_of(self, form: str) -> list[str]:
        """Split a token into its words, with capitals as the token has them."""
        lower = form.lower()
        found = self.scripts.lemma(lower[::-1] if self.by_beginning else lower, _SEVERAL, "_")
        found = found[::-1] if self.by_beginning else found
        if form.isupper() and len(form) > 1:
            found = found.upper()
        elif form[:1].isupper():
            found = found[:1].upper() + found[1:]
        return found.split(" ") if all(found.split(" ")) else [form]


@dataclass(frozen=True, eq=False)
class LearntTokenisation(Tokenisation):
    """A way to divide text into sentences and words that was learnt from the texts of a treebank."""

    segmenter: Segmenter

    def sentences(self, text: str) -> Iterator[list[Token]]:
        """Divide a text into sentences of at least one word; see `Segmenter.divide`."""
        check_text(text)
        return self.segmenter.divide(text)

    def words(self, sentence: str) -> list[Token]:
        """Divide one sentence into words."""
        check_text(sentence)
        return list(chain.from_iterable(self.segmenter.divide(sentence)))


def _unbroken(form: str) -> str:
    """Write each white space within a token as one space."""
    return " ".join(form.split())


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Divide a text at empty lines into parts whose features are computed at once."""
    first = 0
    for line in _EMPTY_LINE.finditer(text):
        if line.end() - first >= _BLOCK:
            yield first, line.end()
            first = line.end()
    if first < len(text):
        yield first, len(text)


def _steps(step: FloatArray) -> FloatArray:
    """Compute exp(s) of each pair of neighbouring tags; 0 if they do not fit together."""
    return np.where(_FOLLOWS, np.exp(step), 0.0)


def _tags_of(texts: Sequence[DividedText], place: IntArray) -> IntArray:
    """List the tags of the characters of texts that are joined by empty lines, (n,), which stand at `place` (n,)."""
    traits = np.zeros((4, sum(len(text.text) + 2 for text in texts) + 1), dtype=np.bool_)
    begins, ends, opens, has_several = traits
    start = 0
    for text in texts:
        first, end, _ = zip(*text.tokens, strict=True)
        begins[start + np.array(first)] = True
        ends[start + np.array(end) - 1] = True
        opens[[start + first[0], *(start + first[last + 1] for last in text.last[:-1])]] = True
        for at, to, of_token in text.tokens:
            has_several[start + at : start + to] = len(of_token) > 1
        start += len(text.text) + 2
    powers = 1 << np.arange(4)
    kinds = powers @ np.stack([_BEGINS, _ENDS, _OPENS, _HAS_SEVERAL])
    return np.argsort(kinds)[np.searchsorted(np.sort(kinds), powers @ traits[:, place])]


def _learn(texts: Sequence[DividedText], may_join: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Find w (B, 4), v (B,) and s (12, 12), rounded to numbers of two bytes, as a file holds them."""
    shapes = (_SIZE, _N_TRAITS), (_SIZE,), (_N_TAGS, _N_TAGS)
    if not texts:
        weights, sentences, step = map(np.zeros, shapes)
        return weights, sentences, step
    found = _Characters.of("\n\n".join(text.text for text in texts))
    n = len(found.place)
    tag = _tags_of(texts, found.place)
    # Features that occur once are left out: their bucket is 0, whose weights stay 0.
    used, of_words = _number_buckets(found.buckets)
    used_once, of_sentences = _number_buckets(found.of_sentences)
    found = found._replace(is_inside=found.is_inside & ~_BEGINS[tag], buckets=of_words, of_sentences=of_sentences)
    right = np.zeros((_N_TAGS, _N_TAGS))
    is_next = found.space[1:] < 2
    np.add.at(right, (tag[:-1][is_next], tag[1:][is_next]), 1.0)
    sizes = np.cumsum([(len(used) + 1) * _N_TRAITS, len(used_once) + 1])

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        """Compute the loss and its gradient."""
        w, v, s = np.split(parameters, sizes)
        factors = found.factors(w.reshape(-1, _N_TRAITS), v, may_join)
        posterior, pairs, log = chain_sums(factors, found.start, _OPENS, _steps(s.reshape(right.shape)), _ENDS)
        of_right = np.log(factors[np.arange(n), tag]).sum() + right.ravel() @ s
        gradient = spread_rows(found.buckets, posterior @ _TRAITS - _TRAITS[tag], len(used) + 1)
        of_opens = spread(found.of_sentences, posterior @ _OPENS - _OPENS[tag], len(used_once) + 1)
        gradient[0], of_opens[0] = 0.0, 0.0
        value = log.sum() - of_right + _PENALTY / 2 * parameters @ parameters
        return float(value), np.concatenate(
            [gradient.ravel(), of_opens, (pairs - right).ravel()]
        ) + _PENALTY * parameters

    start = np.zeros(sizes[-1] + right.size)
    best = minimise(loss, start, _ITERATIONS).astype(np.float16).astype(np.float64)
    weights, sentences, step = map(np.zeros, shapes)
    w, v, s = np.split(best, sizes)
    weights[used], sentences[used_once], step[:] = w.reshape(-1, _N_TRAITS)[1:], v[1:], s.reshape(step.shape)
    return weights, sentences, step


def _number_buckets(buckets: BucketArray) -> tuple[IntArray, BucketArray]:
    """List the buckets that occur more than once, and number all by their places in the list, from 1, or as 0."""
    used = np.flatnonzero(np.bincount(buckets.ravel(), minlength=_SIZE) > 1)
    number = np.zeros(_SIZE, dtype=np.int32)
    number[used] = np.arange(1, len(used) + 1)
    return used, number[buckets]


def _learn_scripts(split: Counter[tuple[str, str]]) -> tuple[Lemmatiser, bool]:
    """Learn the scripts from tokens to their words, by the end of the token at which they are found better."""
    pairs = sorted(split)
    train, test = pairs[::2], pairs[1::2]
    right = []
    for step in (1, -1):
        scripts = Lemmatiser.train((form[::step], _SEVERAL, "_", words[::step]) for form, words in train)
        right.append(sum(scripts.lemma(form[::step], _SEVERAL, "_") == words[::step] for form, words in test))
    by_beginning = right[1] > right[0]
    step = -1 if by_beginning else 1
    every = ((form[::step], _SEVERAL, "_", words[::step]) for form, words in split.elements())
    return Lemmatiser.train(every), by_beginning

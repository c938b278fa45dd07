"""Divide raw text into sentences, tokens and words by tagging its characters.

A tag tells of a character other than white space whether it begins a token, whether it ends one, whether its token
opens a sentence, and whether its token is made of several words, as `du` of `de` and `le`.  Edit scripts then say which
words these are.

| here | meaning |
| --- | --- |
| x, y | the characters of a text, and their tags |
| φ_k(x, i) | the features of a character, hashed to buckets, which are equal for all traits but the last |
| A (12, 6) | `_TRAITS`: the traits of each tag, each of which has weights w_k |
| s | `step`: the weight of each pair of neighbouring tags |
| P(y \\| x) ∝ exp(Σ_i Σ_k A(y_i, k) w_k·φ_k(x, i) + s(y_{i-1}, y_i)) | of tags that fit together |
| −Σ log P(y \\| x) | what `Segmenter.train` makes small, in a few passes over the texts |

The model is a conditional random field (Lafferty, McCallum and Pereira 2001), and its sums are those of Baum-Welch.  It
learns by AdaGrad (Duchi, Hazan and Singer 2011), and keeps the means of the weights after the later passes.  A token
begins, and opens a sentence, where that has more than half of the probability.

A word of the treebank that stands in a new text is evidence for a token; in the text that the word comes from it is
none, so each half of the texts learns with the words of the other half.

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
from spectral_latent.inference import by_python
from spectral_latent.lexicon import (
    BucketArray,
    HashArray,
    Templates,
    descend,
    find_words,
    hash_features,
    hash_name,
    hash_to_ends,
    round_weights,
    sum_weights,
)
from spectral_latent.sequence import chain_sums
from spectral_latent.tokenisation import Token, Tokenisation, check_text, clusters, is_final
from spectral_latent.trees import BoolArray, FloatArray, IntArray
from spectral_latent_text._lemmas import Lemmatiser

if TYPE_CHECKING:
    from spectral_latent.corpora import DividedText

_SIZE = 1 << 18  # buckets
_STEPS = 4000  # of learning in all passes over the texts together, if the numbers of passes below allow it
_FEWEST = 8  # passes
_MOST = 16
_RATE = 0.1
_FIRST_SQUARE = 3.0  # of the gradient of each weight, before the first step
_LEAST = 1e-3  # errors that are smaller change no weights
_STEP = 100  # characters from which the weights learn at a time, at least
_LONGEST = 10  # characters of the longest word, or part of a text, that is a feature as a whole
_NEAR = 3  # characters on each side of a place
_BLOCK = 1 << 16  # characters that are divided at once
_WORK = 2.0  # of a character, as `by_python` counts it
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_SPACE, _PARAGRAPH = 32, 10  # the characters for white space, without and with an empty line
_KINDS = regex.compile(r"(\p{Hiragana})|([\p{Katakana}ー])|(\p{Han})|([\p{L}\p{M}])|(\p{N})|(\s)")
_FAR = 5  # runs since the latest end of a sentence that are told apart
_SEVERAL = "several"  # the tag under which scripts are kept

_LETTERS = [f"letter{step:+}" for step in range(-_NEAR, _NEAR)]  # letter+0 is the character itself
_CLASSES = [f"class{step:+}" for step in range(-_NEAR, _NEAR)]
_TEMPLATES: Templates = (
    *((name,) for name in _LETTERS[1:]),
    *pairwise(_LETTERS[1:]),
    *zip(_LETTERS[1:], _LETTERS[2:], _LETTERS[3:], strict=False),
    ("letter-1", "letter+1"),
    *((name,) for name in _CLASSES[1:]),
    *pairwise(_CLASSES[1:]),
    *zip(_CLASSES[1:], _CLASSES[2:], _CLASSES[3:], strict=False),
    ("letter-1", "class+0"),
    ("class-1", "letter+0"),
    ("letter+0", "class+1"),
    ("class+0", "letter+1"),
    ("left part",),
    ("right part",),
    ("left part", "right part"),
    ("left part", "class+0"),
    ("class-1", "right part"),
    ("part-1", "right part"),
    ("begins", "ends", "spans"),
    ("begins", "spans"),
    ("ends", "spans"),
    ("ends", "class+0"),
    ("begins", "class-1"),
    ("begins", "after"),
    ("ends", "before"),
    ("before", "after", "spans"),
    ("begins", "after", "class-1", "class+0"),
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
_TRAITS = np.stack(
    [_BEGINS, _ENDS, _BEGINS & _ENDS, _HAS_SEVERAL & _BEGINS, _HAS_SEVERAL & _ENDS, _OPENS], axis=1
).astype(np.float64)
_N_TAGS, _N_TRAITS = _TRAITS.shape
_FOLLOWS = (_ENDS[:, None] == _BEGINS) & (_BEGINS | (_HAS_SEVERAL[:, None] == _HAS_SEVERAL))  # tags that fit together


class _Characters(NamedTuple):
    """The n characters of a text that are not white space.

    place: (n,) the place of each character in the text.
    can_be: (n, 12) whether each character may have each tag.
    buckets: (n, T) the buckets of the features.
    of_sentences: (n, T') the buckets of the features by which sentences are opened."""

    place: IntArray
    can_be: BoolArray
    buckets: BucketArray
    of_sentences: BucketArray

    @staticmethod
    def of(text: str, known: IntArray, may_join: bool) -> _Characters:
        """Read a text, for tokens that may have white space within or not; `known` (K,) are those of training."""
        code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
        letters, number = np.unique(code, return_inverse=True)
        is_space = np.array([chr(letter).isspace() for letter in letters.tolist()], dtype=np.bool_)[number]
        # A run of white space is one character.
        place = np.flatnonzero(~(is_space & np.append(False, is_space[:-1])[: len(code)]))
        code = np.where(is_space, _SPACE, code)[place]
        empty = np.array([line.start() for line in _EMPTY_LINE.finditer(text)], dtype=np.int64)
        code[np.searchsorted(place, empty, "right") - 1] = _PARAGRAPH
        values = np.array([_attributes(chr(letter)) for letter in letters.tolist()], dtype=np.uint64).reshape(-1, 4)
        columns = _columns(code, *values[number[place]].T)
        is_break = code == _PARAGRAPH if may_join else (code == _PARAGRAPH) | (code == _SPACE)
        begins, ends, spans = find_words(columns["letter+0"], is_break, known, _LONGEST)
        class_at = np.append(columns["class+0"], np.uint64(0))
        at = np.arange(len(code))
        columns |= {"begins": begins, "ends": ends, "spans": spans}
        columns |= {"after": class_at[at + begins], "before": class_at[at - ends - 1]}
        solid = np.flatnonzero(~is_space[place])
        before = np.append(_PARAGRAPH, code)[solid]
        before[:1] = _PARAGRAPH  # also after white space
        space = np.select([before == _PARAGRAPH, before == _SPACE], [2, 1]).astype(np.uint64)
        # A token begins after white space, a sentence after an empty line, and neither within a grapheme cluster.
        is_inside = np.ones(len(text), dtype=np.bool_)
        is_inside[list(accumulate(map(len, clusters(text)[:-1]), initial=0)) if text else []] = False
        place = place[solid]
        can_be = np.where((space > may_join)[:, None], _BEGINS, ~(is_inside[place] & (space == 0))[:, None] | ~_BEGINS)
        can_be &= (space < 2)[:, None] | _OPENS
        columns = {name: column[solid] for name, column in columns.items()}
        buckets = (hash_features(templates, space, columns, _SIZE) for templates in (_TEMPLATES, _SENTENCE_TEMPLATES))
        return _Characters(place, can_be, *buckets)

    def features(self, trait: int) -> BucketArray:
        """Return the buckets of the features of a trait, (n, T)."""
        return self.of_sentences if trait == _N_TRAITS - 1 else self.buckets

    def posteriors(self, weights: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute the posteriors of tags (n, 12), and the expected counts of pairs of neighbouring tags (12, 12)."""
        scores = np.stack([sum_weights(self.features(trait), w) for trait, w in enumerate(weights)], axis=1) @ _TRAITS.T
        factors = np.where(self.can_be, np.exp(scores - scores.max(axis=1, keepdims=True)), 0.0)
        steps = np.where(_FOLLOWS, np.exp(step), 0.0)
        return chain_sums(factors, np.array([0, len(factors)]), _BEGINS, steps, _ENDS)[:2]


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
        int(is_final(letter)),
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
        left = np.append(np.uint64(0), hash_to_ends(common[::-1], number[::-1], _LONGEST)[::-1])[:n]
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

    weights: (6, B) w, the weights of the traits of tags.
    step: (12, 12) s, the weight of each pair of neighbouring tags.
    known: (K,) the upper halves of the hashes of the tokens of training, sorted.
    may_join: whether tokens may have white space within.
    scripts: the edit scripts from tokens in lower case to their words, with a space between two words.
    by_beginning: whether scripts are found by the first letters of a token, rather than by the last ones."""

    weights: Annotated[FloatArray, Axes(_N_TRAITS, _SIZE)]
    step: Annotated[FloatArray, Axes(_N_TAGS, _N_TAGS)]
    known: Annotated[IntArray, Axes("K")]
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
        halves = texts[::2], texts[1::2]
        known = [_hash_words(half) for half in halves]
        read = [
            _Characters.of("\n\n".join(text.text for text in half), other, may_join)
            for half, other in zip(halves, reversed(known), strict=True)
        ]
        tag = np.concatenate([_tags_of(half, found.place) for half, found in zip(halves, read, strict=True)])
        weights, step = _learn(_Characters._make(map(np.concatenate, zip(*read, strict=True))), tag)
        split = Counter(
            (form.lower(), " ".join(of_token).lower())
            for form, of_token in zip(forms, words, strict=True)
            if len(of_token) > 1
        )
        return Segmenter(weights, step, np.union1d(*known), may_join, *_learn_scripts(split))

    def divide(self, text: str) -> Iterator[list[Token]]:
        """Divide a text into sentences of at least one word.

        The words of a token of several words have the same place and form."""
        for first, end in _blocks(text):
            yield from self._divide_block(text[first:end], first)

    def _divide_block(self, text: str, offset: int) -> Iterator[list[Token]]:
        """Divide some paragraphs; `offset` is the place of their first character."""
        with by_python(_WORK * len(text)):
            found = _Characters.of(text, self.known, self.may_join)
            if not len(found.place):
                return
            posterior, _ = found.posteriors(self.weights, self.step)
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


def _hash_words(texts: Sequence[DividedText]) -> IntArray:
    """Hash the tokens of texts as `find_words` does, (K,); all that are too long have one hash."""
    forms = sorted({_unbroken(text.text[first:end]) for text in texts for first, end, _ in text.tokens})
    letters = np.array([_attributes(letter)[2] for form in forms for letter in form], dtype=np.uint64)
    size = np.array(list(map(len, forms)), dtype=np.int64)
    hashed = hash_to_ends(letters, np.repeat(np.arange(len(forms)), size), _LONGEST)
    return np.unique((hashed[np.cumsum(size) - size] >> np.uint64(32)).astype(np.int64))


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


def _learn(found: _Characters, tag: IntArray) -> tuple[FloatArray, FloatArray]:
    """Find w (6, B) and s (12, 12) from the tags (n,) of characters."""
    is_right = np.arange(_N_TAGS) == tag[:, None]
    found = found._replace(can_be=found.can_be | is_right)
    for buckets in found[2:]:
        buckets[np.bincount(buckets.ravel())[buckets] == 1] = 0  # features that occur once have no weights
    shapes = (_N_TRAITS, _SIZE), (_N_TAGS, _N_TAGS)
    w, s = map(np.zeros, shapes)
    mean_of_w, mean_of_s = map(np.zeros, shapes)
    squares_of_w, squares_of_s = (np.full(shape, _FIRST_SQUARE) for shape in shapes)
    # Each part begins with a token.
    begins = np.flatnonzero(_BEGINS[tag])
    start = np.unique(begins[np.searchsorted(begins, np.arange(0, begins[-1], _STEP))])
    parts = list(pairwise([*start.tolist(), len(tag)]))
    rng = np.random.default_rng(0)
    n_passes = min(max(_STEPS // len(parts), _FEWEST), _MOST)
    n_means = n_passes // 2
    for number in range(n_passes):
        for first, end in rng.permutation(parts).tolist():
            part = _Characters._make(column[first:end] for column in found)
            posterior, pairs = part.posteriors(w, s)
            error = np.ascontiguousarray(((posterior - is_right[first:end]) @ _TRAITS).T)
            for trait in range(_N_TRAITS):
                descend(part.features(trait), error[trait], _RATE, _LEAST, w[trait], squares_of_w[trait])
            np.add.at(pairs, (tag[first : end - 1], tag[first + 1 : end]), -1.0)
            squares_of_s += pairs**2
            s -= _RATE * pairs / np.sqrt(squares_of_s)
        if number >= n_passes - n_means:
            mean_of_w += w / n_means
            mean_of_s += s / n_means
    return round_weights(mean_of_w), round_weights(mean_of_s)


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

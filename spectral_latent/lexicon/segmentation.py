"""Learn to divide raw text into sentences, tokens and words from texts whose divisions are known.

Three log-linear models decide in turn, each with hashed features:

1. *Gaps*: does a token end between two characters?  Their features are the characters around the gap, the parts of the
   text up to the next white space, and the words of the treebank that end, begin or stand there.  White space always
   ends a token, unless a treebank has tokens with white space, such as `10 000`; then it is a gap like others.
2. *Sentences*: does a sentence end after a token?  An empty line always ends one.
3. *Words*: is a token made of several words, as `du` of `de` and `le`?  Edit scripts then say which words these are.

A word that is found in a text that was read in training is no evidence that such a word exists, so each half of the
texts learns with the words of the other half.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent._compiled import check_column
from spectral_latent._threads import on_one_thread
from spectral_latent.files import Axes
from spectral_latent.lexicon.buckets import (
    BucketArray,
    HashArray,
    Templates,
    hash_features,
    hash_name,
    sum_weights,
)
from spectral_latent.lexicon.choices import Choices, learn
from spectral_latent.lexicon.lemmas import Lemmatiser
from spectral_latent.lexicon.spelling import without_runs
from spectral_latent.tokenisation import FINAL, Token, Tokenisation, check_text, clusters
from spectral_latent.trees import BoolArray, FloatArray, IntArray

__all__ = ["DividedText", "LearntTokenisation", "Segmenter"]

_SIZE = 1 << 16  # buckets of each model
_PENALTY = 0.3
_ITERATIONS = 150
_LONGEST = 8  # characters of the longest word that is looked for at every gap
_NEAR = 3  # characters on each side of a gap
_CHUNK = 1 << 16  # characters whose features are computed at once
_FACTOR = 0x9E3779B97F4A7C15  # of the hashes of parts of a text; odd, so that it has an inverse modulo 2^64
_INVERSE = pow(_FACTOR, -1, 1 << 64)
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_SPACE, _PARAGRAPH = 32, 10
_SEVERAL = "several"  # the tag under which scripts are kept

_STEPS = (-3, -2, -1, 1, 2, 3)  # characters before and after a gap
_GAP_TEMPLATES: Templates = (
    ("letter-1",),
    ("letter+1",),
    ("letter-1", "letter+1"),
    ("letter-2", "letter-1"),
    ("letter+1", "letter+2"),
    ("letter-2", "letter-1", "letter+1"),
    ("letter-1", "letter+1", "letter+2"),
    ("letter-2", "letter-1", "letter+1", "letter+2"),
    ("letter-3", "letter-2", "letter-1"),
    ("letter+1", "letter+2", "letter+3"),
    ("letter-3", "letter-2", "letter-1", "letter+1"),
    ("letter-1", "letter+1", "letter+2", "letter+3"),
    ("class-1", "class+1"),
    ("class-2", "class-1", "class+1"),
    ("class-1", "class+1", "class+2"),
    ("class-2", "class-1", "class+1", "class+2"),
    ("class-3", "class-2", "class-1", "class+1"),
    ("class-1", "class+1", "class+2", "class+3"),
    ("left",),
    ("right",),
    ("left", "right"),
    ("left", "right", "class after"),
    ("left", "letter+1"),
    ("letter-1", "right"),
    ("right", "class after"),
    ("right", "class-1", "class after"),
    ("shape left", "shape right"),
    ("shape left", "shape right", "class before", "class after"),
    ("shape right", "class after", "class-1"),
    ("ends", "begins", "spans"),
    ("ends", "class+1"),
    ("begins", "class-1"),
    ("known left", "known right", "known whole"),
    ("known left", "known right", "class-1", "class+1"),
    ("left", "known right"),
    ("known left", "right"),
)
_OF_TOKEN = (  # attributes of a token
    *("form", "lower", "shape", "first", "last", "size", "begins sentence"),
    *(f"{name} {length}" for name in ("beginning", "ending") for length in (1, 2, 3, 4)),
)
_SENTENCE_TEMPLATES: Templates = (
    ("form",),
    ("form", "space"),
    ("shape", "shape+1", "space"),
    ("last", "first+1", "space"),
    ("form", "shape+1", "space"),
    ("lower-1", "form"),
    ("lower-1", "form", "shape+1"),
    ("lower-1", "form", "form+1"),
    ("form", "form+1"),
    ("form+1",),
    ("lower+1",),
    ("form+1", "last", "space"),
    ("form+1", "last", "shape+1"),
    ("lower+1", "last", "space"),
    ("form+1", "form+2"),
    ("since", "last"),
    ("since", "last", "shape+1"),
    ("since", "form", "shape+1", "space"),
    ("shape-1", "shape", "shape+1"),
    ("shape-1", "form", "shape+1", "space"),
    ("shape-1", "form"),
)
_WORD_TEMPLATES: Templates = (
    ("form",),
    ("lower",),
    ("lower", "form+1"),
    ("lower", "lower-1"),
    ("lower", "shape+1"),
    ("lower", "lower+1"),
    ("lower", "lower-1", "form+1"),
    ("lower", "lower-2", "lower-1"),
    ("lower", "form+1", "form+2"),
    ("lower", "begins sentence"),
    *((f"{name} {length}",) for name in ("beginning", "ending") for length in (1, 2, 3, 4)),
    ("beginning 1", "ending 1"),
    ("beginning 2", "ending 2"),
    ("shape", "ending 3"),
    ("ending 2", "lower-1"),
    ("ending 2", "form+1"),
    ("size", "ending 2"),
    ("size", "beginning 2"),
)


class DividedText(NamedTuple):
    """A text with its tokens, for training.

    text: the text, in which an empty line ends a paragraph.
    tokens: the first character and the end of each token, and its words.
    last: the index of the last token of each sentence."""

    text: str
    tokens: list[tuple[int, int, tuple[str, ...]]]
    last: list[int]


class _Characters:
    """The characters of a text, in which a run of white space is one; every part of it has a hash.

    code: (n,) the code of each character; 10 for white space with an empty line, and 32 for other white space.
    place: (n,) the place of each character in the text.
    is_space: (n,) whether each character is white space.
    kind: (n,) the hash of the class of each character; marks are classes of their own.
    first, end: (n,) the beginning and the end of the part between white space in which each character stands."""

    def __init__(self, text: str) -> None:
        code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
        letters, number = np.unique(code, return_inverse=True)
        is_space = np.array([chr(letter).isspace() for letter in letters.tolist()], dtype=np.bool_)[number]
        is_kept = ~is_space | np.append(True, ~is_space[:-1])[: len(code)]
        code = np.where(is_space, _SPACE, code)
        for line in _EMPTY_LINE.finditer(text):
            place = line.start()
            while not is_kept[place]:  # go to the first character of the run of white space
                place -= 1
            code[place] = _PARAGRAPH
        self.place = np.flatnonzero(is_kept)
        self.is_space = is_space[is_kept]
        self.code = code[is_kept]
        kinds = np.array([_class_of(chr(letter)) for letter in letters.tolist()], dtype=np.uint64)
        self.kind = kinds[number[is_kept]]
        n = len(self.code)
        at = np.arange(n)
        self.first: IntArray = np.maximum.accumulate(np.where(self.is_space, at + 1, 0))
        self.end: IntArray = np.minimum.accumulate(np.where(self.is_space, at, n)[::-1])[::-1]
        self._inverse = _powers(_INVERSE, n + 2)
        factor = _powers(_FACTOR, n + 2)
        self._sums = _sums((self.code.astype(np.uint64) + np.uint64(1)) * np.uint64(0x2545F4914F6CDD1D) * factor[:n])
        # Count the runs of equal classes before each place.
        is_new = np.append(True, (self.kind[1:] != self.kind[:-1]) | (self.first[1:] != self.first[:-1]))[:n]
        self._run = np.cumsum(is_new)
        self._shapes = _sums(np.where(is_new, self.kind * factor[self._run], np.uint64(0)))

    def hash(self, first: IntArray, end: IntArray) -> HashArray:
        """Hash parts of the text (n,); equal parts have equal hashes."""
        return np.asarray((self._sums[end] - self._sums[first]) * self._inverse[first])

    def shape(self, first: IntArray, end: IntArray) -> HashArray:
        """Hash the classes of characters of parts of the text (n,), without repetitions."""
        return np.asarray((self._shapes[end] - self._shapes[first]) * self._inverse[self._run[first]])


def _powers(base: int, n: int) -> HashArray:
    """Compute the first n powers of a number modulo 2^64."""
    factors = np.full(n, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _sums(numbers: HashArray) -> HashArray:
    """Sum numbers (n,) before each place modulo 2^64, (n + 1,)."""
    return np.append(np.zeros(1, dtype=np.uint64), np.cumsum(numbers, dtype=np.uint64))


@lru_cache(1 << 16)
def _class_of(letter: str) -> int:
    """Hash the class of a character; a mark is a class of its own."""
    category = unicodedata.category(letter)
    return hash_name(category if category[0] in "LNZC" else letter)


def _number_words(words: Iterable[str]) -> IntArray:
    """List words by the first half of the hashes that they have as parts of a text, sorted."""
    listed = list(words)
    sizes = np.array([len(word) for word in listed], dtype=np.int64)
    end = np.cumsum(sizes + 1) - 1
    hashes = _Characters(" ".join(listed)).hash(end - sizes, end)
    return np.unique((hashes >> np.uint64(32)).astype(np.int64))


def _are_among(hashes: HashArray, known: IntArray) -> BoolArray:
    """Tell which hashes (n,) belong to known words (W,), as `_number_words` lists them."""
    if not len(known):
        return np.zeros(len(hashes), dtype=np.bool_)
    numbers = (hashes >> np.uint64(32)).astype(np.int64)
    return np.asarray(known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)] == numbers)


def _gap_buckets(found: _Characters, before: IntArray, after: IntArray, known: IntArray) -> BucketArray:
    """Find the buckets of the features of gaps.

    before, after: (n,) the characters around each gap.
    known: (W,) the words, as `_number_words` lists them."""
    words = _known_words(found, known)
    buckets = [np.empty((0, len(_GAP_TEMPLATES)), dtype=np.int32)]
    for start in range(0, len(before), _CHUNK):  # the values take much more memory than the buckets
        some = slice(start, start + _CHUNK)
        space, columns = _gap_columns(found, before[some], after[some], known, words)
        buckets.append(hash_features(_GAP_TEMPLATES, space, columns, _SIZE))
    return np.concatenate(buckets)


def _gap_columns(
    found: _Characters, before: IntArray, after: IntArray, known: IntArray, words: tuple[IntArray, IntArray, IntArray]
) -> tuple[HashArray, dict[str, HashArray]]:
    """List whether gaps have white space, (n,), and their values by name, (n,) each."""
    size = len(found.code)
    start, middle, end = found.first[before], before + 1, found.end[after]
    # Letters are seen as far as the next white space, and classes beyond it.
    letters, classes = (np.pad(column.astype(np.uint64), _NEAR) for column in (found.code, found.kind))
    left, right, whole = found.hash(start, middle), found.hash(after, end), found.hash(start, end)
    ends, begins, spans = words
    columns = {
        "left": left,
        "right": right,
        "shape left": found.shape(start, middle),
        "shape right": found.shape(after, end),
        "class before": classes[start - 2 + _NEAR],
        "class after": classes[np.minimum(end + 1, size) + _NEAR],
        "ends": ends[middle],
        "begins": begins[after],
        "spans": spans[middle],
        "known left": _are_among(left, known),
        "known right": _are_among(right, known),
        "known whole": _are_among(whole, known),
    }
    for step in _STEPS:
        at = before + step + 1 if step < 0 else after + step - 1
        is_inside = at >= start if step < 0 else at < end
        columns[f"letter{step:+}"] = np.where(is_inside, letters[at + _NEAR], np.uint64(0))
        columns[f"class{step:+}"] = classes[at + _NEAR]
    return np.where(after > middle, 2, 1).astype(np.uint64), columns


def _known_words(found: _Characters, known: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Find the length of the longest known word (W,) that ends at, begins at, or spans each place, (n + 1,) each."""
    size = len(found.code)
    ends, begins, spans = (np.zeros(size + 1, dtype=np.int64) for _ in range(3))
    for length in range(1, min(_LONGEST, size) + 1):
        first = np.arange(size - length + 1)
        first = first[(first + length <= found.end[first]) & ~found.is_space[first]]
        first = first[_are_among(found.hash(first, first + length), known)]
        ends[first + length] = length
        begins[first] = length
        for inner in range(1, length):
            spans[first + inner] = length
    return ends, begins, spans


@lru_cache(1 << 16)
def _attributes(form: str) -> tuple[int, ...]:
    """Hash the attributes of a token, in the order of `_OF_TOKEN`."""
    lower = form.lower()
    shape = without_runs("".join(map(_class_letter, form)))
    parts = [lower[:length] for length in (1, 2, 3, 4)] + [lower[-length:] for length in (1, 2, 3, 4)]
    last = form[-1] if unicodedata.category(form[-1])[0] in "PS" else unicodedata.category(form[-1])
    names = (form, lower, shape, unicodedata.category(form[0]), last)
    return (*map(hash_name, names), len(form), FINAL.match(form[-1]) is not None, *map(hash_name, parts))


def _class_letter(letter: str) -> str:
    """Write the class of a character as one character; a mark stands for itself."""
    category = unicodedata.category(letter)
    if category[0] in "LN":
        return {"Lu": "A", "Ll": "a", "Nd": "0"}.get(category, "x")
    return letter


def _token_columns(forms: Sequence[str], spaces: BoolArray) -> dict[str, HashArray]:
    """List the values of the tokens of a paragraph by name, (n,) each.

    spaces: (n,) whether white space follows each token."""
    n = len(forms)
    own = np.array([_attributes(form) for form in forms], dtype=np.uint64)
    padded = np.zeros((n + 4, own.shape[1]), dtype=np.uint64)
    padded[2 : n + 2] = own
    column = {name: at for at, name in enumerate(_OF_TOKEN)}
    is_final = own[:, column["begins sentence"]] > 0
    at = np.arange(n)
    latest = np.maximum.accumulate(np.where(np.append(True, is_final[:-1]), at, 0))
    own[:, column["begins sentence"]] = np.append(True, is_final[:-1])

    columns = dict(zip(_OF_TOKEN, own.T, strict=True))
    near = (
        ("lower", -2),
        ("lower", -1),
        ("shape", -1),
        ("form", 1),
        ("lower", 1),
        ("shape", 1),
        ("first", 1),
        ("form", 2),
    )
    for name, step in near:
        columns[f"{name}{step:+}"] = padded[2 + step : 2 + step + n, column[name]]
    return columns | {"space": spaces.astype(np.uint64), "since": np.minimum(at - latest, 4).astype(np.uint64)}


def _token_buckets(templates: Templates, columns: dict[str, HashArray]) -> BucketArray:
    """Find the buckets (n, T) of the features of tokens."""
    return hash_features(templates, np.ones(len(columns["form"]), dtype=np.uint64), columns, _SIZE)


def _learn(parts: Iterable[tuple[BucketArray, BoolArray]]) -> FloatArray:
    """Learn the weights of a log-linear model of yes and no, (B,), rounded to two bytes.

    parts: the features of examples, (n, T), and whether the answer is yes."""
    rows: list[BucketArray] = []
    keys: list[HashArray] = []
    answers: list[BoolArray] = []
    for buckets, is_yes in parts:  # equal examples of a part are stored once
        key = np.zeros(len(buckets), dtype=np.uint64)
        for column in buckets.T:
            key = key * np.uint64(_FACTOR) + column.astype(np.uint64)
        rows.append(buckets)
        keys.append(key)
        answers.append(is_yes)
    if not keys or not any(map(np.any, answers)):
        return np.zeros(_SIZE)
    _, first, number = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    buckets = np.concatenate(rows)[first]
    times, yes = np.bincount(number).astype(np.float64), np.bincount(number, np.concatenate(answers))
    choices = Choices.alone(buckets, np.zeros(len(times)), yes / times, times)
    return learn(choices, _SIZE, _PENALTY, _ITERATIONS)[1]


class _Gaps:
    """The gaps between the characters of a text that are not white space.

    before, after: (n,) the characters around each gap.
    has_space: (n,) whether the gap has white space.
    is_paragraph: (n,) whether the gap has an empty line.
    is_open: (n,) whether the models are asked if a token ends in the gap; it does in all others."""

    def __init__(self, found: _Characters, may_join: bool) -> None:
        at = np.flatnonzero(~found.is_space)
        self.before, self.after = at[:-1], at[1:]
        self.has_space = self.after > self.before + 1
        self.is_paragraph = self.has_space & (found.code[self.before + 1] == _PARAGRAPH)
        self.is_open = ~self.is_paragraph if may_join else ~self.has_space

    def open_buckets(self, found: _Characters, known: IntArray) -> BucketArray:
        """Find the buckets (n, T) of the features of open gaps, with known words (W,)."""
        return _gap_buckets(found, self.before[self.is_open], self.after[self.is_open], known)


@dataclass(frozen=True, eq=False, repr=False)
class Segmenter:
    """Divides text into sentences, tokens and words.

    known: (W,) the words of training, as `_number_words` lists them.
    gaps, sentences, several: (B,) the weights of the models of the ends of tokens, of the ends of sentences, and of
    tokens of several words.
    may_join: whether tokens may have white space within.
    scripts: the edit scripts from tokens in lower case to their words, with a space between two words.
    by_beginning: whether scripts are found by the first letters of a token, rather than by the last ones.
    Raises ValueError for weights of another number or type."""

    known: Annotated[IntArray, Axes("W")]
    gaps: Annotated[FloatArray, Axes(_SIZE)]
    sentences: Annotated[FloatArray, Axes(_SIZE)]
    several: Annotated[FloatArray, Axes(_SIZE)]
    may_join: bool
    scripts: Lemmatiser
    by_beginning: bool

    def __post_init__(self) -> None:
        for name in ("gaps", "sentences", "several"):
            check_column(f"weights of {name}", getattr(self, name), (_SIZE,), np.float64)

    @staticmethod
    @on_one_thread()
    def train(texts: Iterable[DividedText]) -> Segmenter:
        """Learn from divided texts."""
        texts = [text for text in texts if text.tokens]
        forms = [_forms_of(text) for text in texts]
        counts = [Counter(chain.from_iterable(half)) for half in (forms[::2], forms[1::2])]
        may_join = any(" " in form for form in chain.from_iterable(counts))
        gaps = _learn(
            _gap_examples(block, _number_words(words), may_join)
            for half, words in zip((texts[::2], texts[1::2]), reversed(counts), strict=True)
            for block in _blocks_of(half)
        )
        spaces = [_spaces_after(text.tokens) for text in texts]
        columns = list(map(_token_columns, forms, spaces))
        sentences = _learn(
            (_token_buckets(_SENTENCE_TEMPLATES, of_text)[:-1], _marked(text.last, len(text.tokens))[:-1])
            for text, of_text in zip(texts, columns, strict=True)
        )
        several = _learn(
            (_token_buckets(_WORD_TEMPLATES, of_text), np.array([len(words) > 1 for _, _, words in text.tokens]))
            for text, of_text in zip(texts, columns, strict=True)
        )
        split = Counter(
            (form.lower(), " ".join(words).lower())
            for text, of_text in zip(texts, forms, strict=True)
            for form, (_, _, words) in zip(of_text, text.tokens, strict=True)
            if len(words) > 1
        )
        scripts, by_beginning = _learn_scripts(split)
        known = _number_words(sum(counts, Counter()))
        return Segmenter(known, gaps, sentences, several, may_join, scripts, by_beginning)

    def divide(self, text: str) -> Iterator[list[Token]]:
        """Divide a text into sentences of at least one word.

        The words of a token of several words have the same place and form."""
        for first, end in _paragraph_blocks(text):
            yield from self._divide_block(text[first:end], first)

    def _divide_block(self, text: str, offset: int) -> Iterator[list[Token]]:
        """Divide some paragraphs; `offset` is the place of their first character."""
        found = _Characters(text)
        if found.is_space.all():
            return
        gaps = _Gaps(found, self.may_join)
        is_end = ~gaps.is_open
        is_end[gaps.is_open] = sum_weights(gaps.open_buckets(found, self.known), self.gaps) > 0.0
        is_end &= ~_marked(_inside_clusters(text), len(text))[found.place[gaps.after]] | gaps.has_space
        solid = np.flatnonzero(~found.is_space)
        first = found.place[np.append(solid[0], gaps.after[is_end])]
        end = found.place[np.append(gaps.before[is_end], solid[-1])] + 1
        has_space = np.append(gaps.after[is_end] > gaps.before[is_end] + 1, True)
        places = list(zip(first.tolist(), end.tolist(), strict=True))
        paragraphs = [0, *(np.flatnonzero(gaps.is_paragraph[is_end]) + 1).tolist(), len(places)]
        for start, stop in pairwise(paragraphs):
            forms = [_unbroken(text[first:end]) for first, end in places[start:stop]]
            columns = _token_columns(forms, has_space[start:stop])
            is_last = sum_weights(_token_buckets(_SENTENCE_TEMPLATES, columns), self.sentences) > 0.0
            is_several = sum_weights(_token_buckets(_WORD_TEMPLATES, columns), self.several) > 0.0
            is_last[-1] = True
            sentence: list[Token] = []
            rows = zip(forms, places[start:stop], is_several.tolist(), is_last.tolist(), strict=True)
            for form, (at, _), may_split, ends in rows:
                words = self._words_of(form) if may_split else [form]
                part = int(len(words) > 1)
                sentence += [Token(word, form, offset + at, part * number) for number, word in enumerate(words, 1)]
                if ends:
                    yield sentence
                    sentence = []

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


def _forms_of(text: DividedText) -> list[str]:
    """List the tokens of a text."""
    return [_unbroken(text.text[first:end]) for first, end, _ in text.tokens]


def _spaces_after(tokens: Sequence[tuple[int, int, tuple[str, ...]]]) -> BoolArray:
    """Tell for each token of a paragraph whether white space follows it; after the last one it always does."""
    return np.array([*(one[1] < other[0] for one, other in pairwise(tokens)), True], dtype=np.bool_)


def _inside_clusters(text: str) -> list[int]:
    """List the places of a text at which a grapheme cluster goes on, so that no token can begin there."""
    starts = accumulate(map(len, clusters(text)), initial=0)
    return [] if text.isascii() else sorted(set(range(len(text))) - set(starts))


def _marked(places: Sequence[int], size: int) -> BoolArray:
    """Mark some places among `size` places."""
    marks = np.zeros(size, dtype=np.bool_)
    marks[list(places)] = True
    return marks


def _blocks_of(texts: Sequence[DividedText]) -> Iterator[list[DividedText]]:
    """Group texts so that the features of a group are computed at once."""
    block: list[DividedText] = []
    for text in texts:
        block.append(text)
        if sum(len(each.text) for each in block) >= _CHUNK:
            yield block
            block = []
    if block:
        yield block


def _paragraph_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Divide a text at empty lines into parts whose features are computed at once."""
    first = 0
    for line in _EMPTY_LINE.finditer(text):
        if line.end() - first >= _CHUNK:
            yield first, line.end()
            first = line.end()
    if first < len(text):
        yield first, len(text)


def _gap_examples(texts: Sequence[DividedText], known: IntArray, may_join: bool) -> tuple[BucketArray, BoolArray]:
    """List the features (n, T) of the open gaps of some texts, and whether a token ends there, (n,)."""
    joined = "\n\n".join(text.text for text in texts)
    is_end = np.zeros(len(joined) + 1, dtype=np.bool_)
    start = 0
    for text in texts:
        for first, end, _ in text.tokens:
            is_end[[start + first, start + end]] = True
        start += len(text.text) + 2
    found = _Characters(joined)
    gaps = _Gaps(found, may_join)
    return gaps.open_buckets(found, known), is_end[found.place[gaps.before[gaps.is_open]] + 1]


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

"""Predict the symbol of a word from its spelling, P(a | x), by a log-linear model trained on the words of a treebank.

Words are counted under symbols, separately for words that open a sentence, and classified by signatures, in any script.

| here | meaning |
| --- | --- |
| x | a word, and whether it opens a sentence |
| a, K | a symbol, such as a tag; the number of symbols |
| φ(x) | features (F,): 1 for each piece of the spelling, and the shares P(a \\| relative) of known relatives of x |
| W | `weights` (F, K) |
| P(a \\| x) = exp(φ(x)·W)_a / Σ_b exp(φ(x)·W)_b | `posterior` |
| q(x, a) = n(x, a) / n(x) | target: the numbers of each *type* of word sum to one over its symbols and positions |
| −Σ q(x, a) log P(a \\| x) + λ ‖W‖² / 2 | what `train` minimises; λ is `penalty` |

Every type has the same weight, not every token, because an unseen word is a new type.  A tagger's emission of an unseen
word is P(a | x) / P(a) (by Bayes' theorem, without the constant P(x)); that of a rare word is (n(x, a) + B P(a | x)) /
P(a), with B = 1.

Log-linear models of tags: Ratnaparkhi (1996), A maximum entropy model for part-of-speech tagging, table 1 and
section 2 for affixes, hyphens and capitals; Toutanova and Manning (2000), section 3, for capitals at a sentence's
start and for unknown words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent import _scipy as scipy
from spectral_latent._compiled import check_range
from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.files import TEXT, Axes, Given, are_distinct, are_sorted
from spectral_latent.lexicon.log_linear import log_linear_weights
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, Vocabulary, ranges

Signature = tuple[str, ...]

_LONGEST_SUFFIX = 3
DEPTH = _LONGEST_SUFFIX + 2  # the largest number of signatures of a word
_LONGEST_SHAPE = 6
_RUN = re.compile(r"(.)\1+", re.DOTALL)
# The greatest lengths of suffixes, prefixes, shapes and words that features distinguish.
_SUFFIX = 5
_PREFIX = 4
_SHAPE = 6
_LENGTH = 12
_ENDING = 2  # the most last characters in which relatives may differ
_STEM = 3  # the fewest first characters in which relatives must agree
_TINY = 1e-9  # a smaller share is the rounding error of a difference of equal numbers


def character_class(character: str) -> str:
    """Classify a character: `d` digit, `X` capital, `x` any other letter; other characters stand for themselves."""
    category = unicodedata.category(character)
    if category[0] == "N":
        return "d"
    if category in ("Lu", "Lt"):
        return "X"
    return "x" if category[0] in "LM" else character


class _Classes(dict[int, str]):
    """The class of each character, for `str.translate`, looked up once."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, character_class(chr(code)))


_CLASSES = _Classes()


def character_classes(word: str) -> str:
    """Classify each character of a word; see `character_class`."""
    return word.translate(_CLASSES)


@lru_cache(maxsize=1 << 12)
def without_runs(classes: str) -> str:
    """Shorten runs of equal classes to one class."""
    return _RUN.sub(r"\1", classes)


def signatures(word: str) -> tuple[Signature, ...]:
    """List a word's signatures, from shape with the longest suffix to the empty signature, which all words share.

    The shape is the sequence of the word's character classes, with runs of a class shortened to one.  Words that begin
    with a digit have no suffix.

    >>> signatures("Trading")
    (('Xx', 'ing'), ('Xx', 'ng'), ('Xx', 'g'), ('Xx',), ())
    >>> signatures("1,000"), signatures("東京")[0]
    ((('d,d',), ()), ('x', '東京'))
    """
    shape = without_runs(word.translate(_CLASSES))[:_LONGEST_SHAPE]
    ending = "" if shape.startswith("d") else word.lower()[-_LONGEST_SUFFIX:]
    return (*[(shape, ending[at:]) for at in range(len(ending))], (shape,), ())


def all_signatures(words: Sequence[str]) -> Iterator[Signature]:
    """List the signatures of words in turn; words of one shape and ending have theirs once.

    >>> list(all_signatures(["at", "eat", "1", "2"]))
    [('x', 'at'), ('x', 't'), ('x',), (), ('x', 'eat'), ('x', 'at'), ('x', 't'), ('x',), (), ('d',), ()]
    """
    _, which = Rules.distinct(_outlines(words))
    first = np.sort(np.unique(which, return_index=True)[1])
    return chain.from_iterable(signatures(words[at]) for at in first.tolist())


def count_signatures(words: Sequence[str]) -> int:
    """Count the different signatures of words, in a third of the time that it takes to list them.

    >>> count_signatures(["at", "eat", "1", "2"])
    6
    """
    outlines, _ = Rules.distinct(_outlines(words))
    # A signature is the beginning of rows that follow one another: it is new where a row has another beginning than the
    # row before.
    is_new = np.logical_or.accumulate(np.diff(outlines, axis=0, prepend=-1) != 0, axis=1)[:, _LONGEST_SHAPE - 1 :]
    has_it = np.insert(outlines[:, _LONGEST_SHAPE:] > 0, 0, True, axis=1)
    return 1 + int(np.count_nonzero(is_new & has_it))


def _outlines(words: Sequence[str]) -> IntArray:
    """Number what the signatures of n words depend on, (n, 6 + 3): the classes of the shape, and the last characters.

    The last character comes first; zeros stand for what a word lacks."""
    kind, length, kinds = _numbered_characters(words, character_class)
    start = np.cumsum(length) - length
    # Keep the first of each run of equal classes within a word; `first` is that of a word.
    begins = np.diff(kind, prepend=0) != 0
    begins[start[length > 0]] = True
    run = np.flatnonzero(begins)
    first = np.searchsorted(run, start)
    place = np.arange(_LONGEST_SHAPE)
    has_place = place < np.diff(first, append=len(run))[:, None]
    shape = np.where(has_place, np.append(kind[run], np.zeros_like(place))[first[:, None] + place], 0)
    character, length, _ = _numbered_characters([word.lower() for word in words], str)
    place = np.arange(_LONGEST_SUFFIX)
    has_place = (place < length[:, None]) & (shape[:, :1] != kinds.get("d") + 1)
    last = np.cumsum(length)[:, None] - 1 - place
    ending = np.where(has_place, np.append(character, np.zeros_like(place))[last], 0)
    return np.concatenate([shape, ending], axis=1)


def _numbered_characters(
    words: Sequence[str], name: Callable[[str], str]
) -> tuple[IntArray, IntArray, Vocabulary[str]]:
    """Number the names of all characters of n words from 1 on, and return the lengths of words, (n,), and the names."""
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    code = np.frombuffer(text, dtype="<u4").astype(np.int64)
    used = np.flatnonzero(np.bincount(code))
    names: Vocabulary[str] = Vocabulary()
    number = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int64)
    number[used] = [names.add(name(chr(each))) + 1 for each in used.tolist()]
    return number[code], np.fromiter(map(len, words), dtype=np.int64, count=len(words)), names


class WordCounts(NamedTuple):
    """The n distinct triples of a symbol, a word and its position, and the count of each; all columns are (n,).

    >>> seen = WordCounts.of(np.array([0, 0, 1]), np.array([7, 7, 8]), np.array([True, True, False]))
    >>> seen.word, seen.opens, seen.times
    (array([7, 8]), array([ True, False]), array([2., 1.]))
    """

    symbol: IntArray
    word: IntArray
    opens: BoolArray  # whether the word opens a sentence
    times: FloatArray

    @staticmethod
    def of(symbol: IntArray, word: IntArray, opens: BoolArray, times: FloatArray | None = None) -> WordCounts:
        """Count the triples of N tokens.

        symbol: (N,) the symbol over each token.
        word: (N,) the token's word.
        opens: (N,) whether the token opens a sentence.
        times: (N,) the weight of each token; 1 if not given."""
        return _add_equal(symbol, word, opens, np.ones(len(word)) if times is None else times)

    @staticmethod
    def total(parts: Iterable[WordCounts]) -> WordCounts:
        """Add counts.

        parts: the counts of several treebanks, in which symbols and words have the same numbers."""
        return _add_equal(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _add_equal(symbol: IntArray, word: IntArray, opens: BoolArray, count: FloatArray) -> WordCounts:
    """Add the counts (N,) of equal triples."""
    rows, which = Rules.distinct(np.stack([symbol, word, opens.astype(np.int64)], axis=1))
    total = np.bincount(which, count, minlength=len(rows)).astype(float)
    return WordCounts(rows[:, 0], rows[:, 1], rows[:, 2] == 1, total)


@dataclass(frozen=True)
class SpellingOptions(Options):
    """Settings of training.

    penalty: λ, the weight of the squared norm of W.
    iterations: the largest number of iterations of L-BFGS.
    min_count: the smallest number of words x that have a feature; rarer features are left out.  A word that was seen
    both at the beginning of a sentence and within a sentence counts twice.
    frequent: a feature whose values have a smaller sum has weights only for the symbols with which it was seen.
    least: smaller weights are left out; most weights are smaller than the default, and together change no tag."""

    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 2.0
    iterations: Annotated[int, AtLeast(1)] = 50
    min_count: Annotated[int, AtLeast(1)] = 2
    frequent: Annotated[float, AtLeast(0.0)] = 20.0
    least: Annotated[float, AtLeast(0.0)] = 0.03


@lru_cache(maxsize=10_000)
def _outline(classes: str, opens: bool) -> list[str]:
    """Name the features of a word's character classes, which are the same for many words."""
    shape = without_runs(classes)
    # b: any word; l: length; s: shape; f: first class; c: a class that occurs; O and o: an opening word and its shape.
    names = ["b", f"l{min(len(classes), _LENGTH)}", "s" + shape[:_SHAPE], "f" + shape[:1]]
    names += ["c" + kind for kind in dict.fromkeys(shape)]
    return [*names, "O", "o" + shape[:_SHAPE]] if opens else names


def _pieces(word: str, lower: str, opens: bool) -> list[str]:
    """Name the features of a spelling, each with the mark of its kind in front."""
    length = len(lower)
    last = ["-" + lower[start:] for start in range(max(length - _SUFFIX, 0), length)]
    first = ["^" + lower[:end] for end in range(1, min(_PREFIX, length) + 1)]
    return _outline(character_classes(word), opens) + last + first


class _Shares(NamedTuple):
    """The shares P(a | x) of words that were seen, in the order of words."""

    word: Annotated[IntArray, Axes("n"), AtLeast(0), are_sorted]
    symbol: Annotated[IntArray, Axes("n"), AtLeast(0)]
    share: Annotated[FloatArray, Axes("n"), Above(0.0), AtMost(1.0 + _TINY)]


class _Stems(NamedTuple):
    """The stems of W words, and the words that belong to each row of shares: a word, zeros, or a stem."""

    number: dict[str, int]  # the number of each of S stems
    sizes: list[int]  # (S,) the number of words with each stem
    member: IntArray  # (n,) the words of all rows: each word itself, and the words of stems
    start: IntArray  # (W + 1 + S + 1,) the first word of each row; there is none in the row of zeros


@dataclass(frozen=True, eq=False)
class _KnownWords:
    """Known words with their shares P(a | x), and the stems by which relatives of other words are found.

    Stems are listed when relatives are first looked up; most sentences have no unseen word, and need no relatives."""

    words: Sequence[str]  # (W,)
    shares: _Shares
    n_symbols: int  # K

    @property
    def zero_row(self) -> int:
        """The row of zeros, which follows the rows of words."""
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word that was seen."""
        return {self.words[number]: number for number in np.unique(self.shares.word).tolist()}

    @cached_property
    def stems(self) -> _Stems:
        """The stems of the words that were seen."""
        number: dict[str, int] = {}
        pairs = [(number.setdefault(stem, len(number)), i) for word, i in self.index.items() for stem in _stems(word)]
        stem, word = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        sizes = np.bincount(stem, minlength=len(number))
        every = np.arange(self.zero_row + 1)
        start = np.concatenate([every, self.zero_row + np.cumsum([0, *sizes])])
        member = np.concatenate([every[:-1], word[np.argsort(stem, kind="stable")]])
        return _Stems(number, sizes.tolist(), member, start)

    @cached_property
    def _first(self) -> IntArray:
        """The first share of each word, and the number of all shares, (W + 1,)."""
        return np.searchsorted(self.shares.word, np.arange(len(self.words) + 1))

    def relations(self, word: str, lower: str) -> list[tuple[str, int, int]]:
        """List a word's known relatives: the relation's name, the row of their shares, and the row to subtract."""
        own = self.index.get(word, self.zero_row)
        # The same word in the other case: `>` in lower case, `<` with a capital.
        is_capital = word != lower
        mark = ">" if is_capital else "<"
        other = self.index.get(lower if is_capital else word[:1].upper() + word[1:], own)
        relatives = [(mark, other, self.zero_row)] if other != own else []
        # Other words with the longest stem that is known: `~` for any ending, `=` with the ending of this word.
        for stem in _stems(lower):
            group = self.stems.number.get(stem, -1)
            if group >= 0 and self.stems.sizes[group] > (own != self.zero_row):
                relatives += [(mark, self.zero_row + 1 + group, own) for mark in ("~", "=" + lower[len(stem) :])]
                break
        return relatives

    def mean_shares(self, source: IntArray, own: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Compute the mean shares of n relations: the row `source` (n,) less the row `own` (n,), scaled to sum to 1.

        Returns three columns: the relation, the symbol and its share."""
        stems, k = self.stems, self.n_symbols
        # The shares of a stem are the sums of those of its words.
        rows, place = np.unique(np.concatenate([source, own]), return_inverse=True)
        at, of_row = ranges(stems.start[rows], stems.start[rows + 1])
        entry, of_word = ranges(self._first[stems.member[at]], self._first[stems.member[at] + 1])
        keys, part = np.unique(of_row[of_word] * k + self.shares.symbol[entry], return_inverse=True)
        sums = np.bincount(part, self.shares.share[entry])
        start = np.searchsorted(keys, np.arange(len(rows) + 1) * k)
        # The shares of row i + n are subtracted from the shares of row i.
        entry, which = ranges(start[place], start[place + 1])
        key, part = np.unique((which % len(source)) * k + keys[entry] % k, return_inverse=True)
        share = np.bincount(part, np.where(which < len(source), sums[entry], -sums[entry]))
        keep = share >= _TINY
        row, symbol = np.divmod(key[keep], k)
        return row, symbol, share[keep] / np.bincount(row, share[keep], minlength=len(source))[row]


def _stems(word: str) -> list[str]:
    """List the stems of a word, the longest first: the word in lower case, and without one or two last characters."""
    lower = word.lower()
    return [lower[:end] for end in range(len(lower), max(_STEM, len(lower) - _ENDING) - 1, -1)]


def _entries(
    words: Sequence[str], opens: Sequence[bool], known: _KnownWords, number: Callable[[str], int]
) -> tuple[IntArray, IntArray, FloatArray]:
    """List the features other than 0: the row, the key of name and symbol (below 0 for an unknown name), the value."""
    piece: list[int] = []
    length: list[int] = []
    relations: list[tuple[int, int, int, int]] = []
    for row, word in enumerate(words):
        lower = word.lower()
        pieces = _pieces(word, lower, opens[row])
        piece += map(number, pieces)
        length.append(len(pieces))
        relations += [(row, number(name), source, own) for name, source, own in known.relations(word, lower)]
    # Pieces have the value 1 and no symbol; a relation has a value for each symbol of the relatives.
    rows = np.repeat(np.arange(len(words)), np.array(length, dtype=np.int64))
    row_of, name, source, own = np.array(relations, dtype=np.int64).reshape(-1, 4).T
    relative, symbol, share = known.mean_shares(source, own)
    names = np.concatenate([np.array(piece, dtype=np.int64), name[relative]])
    symbols = np.concatenate([np.full(len(rows), -1), symbol])
    return (
        np.concatenate([rows, row_of[relative]]),
        names * (known.n_symbols + 1) + symbols + 1,
        np.concatenate([np.ones(len(rows)), share]),
    )


def _shares(words: int, symbols: int, word: IntArray, symbol: IntArray, count: FloatArray) -> _Shares:
    """Compute n(x, a) / n(x), in the order of words and symbols."""
    total = np.bincount(word, count, minlength=words)
    share = scipy.sparse.csr_array((count / total[word], (word, symbol)), shape=(words, symbols))
    share.sum_duplicates()
    return _Shares(np.repeat(np.arange(words), np.diff(share.indptr)), share.indices.astype(np.int64), share.data)


@dataclass(frozen=True, eq=False, repr=False)
class SpellingModel:
    """A log-linear model P(a | x) of the symbol of any word x, trained on the words of a treebank.

    names: the names of features, without symbols.
    keys: (F,) the key of each feature in ascending order: name (K + 1) + symbol + 1, with symbol -1 for a piece of the
        spelling.
    weights: (F, K) the weights W of the features.
    Raises ValueError if shares or keys do not fit the words, names and weights.

    >>> words = ["walking", "talking", "Anna", "Berta", "walked", "talked"]
    >>> options = SpellingOptions(penalty=0.1)
    >>> model = SpellingModel.train(words, np.arange(6), np.array([0, 0, 1, 1, 2, 2]), options=options)
    >>> model.posterior(["barking", "Carla", "barked"]).argmax(axis=1).tolist()
    [0, 1, 2]
    """

    words: Annotated[Sequence[str], Given("words")]
    shares: _Shares
    names: Annotated[Vocabulary[str], TEXT]
    keys: Annotated[IntArray, Axes("F"), AtLeast(0), are_sorted, are_distinct]
    weights: Annotated[NDArray[np.float32], Axes("F", "K")]

    def __post_init__(self) -> None:
        check_range("words of shares", self.shares.word, 0, len(self.words))
        check_range("symbols of shares", self.shares.symbol, 0, self.n_symbols)
        check_range("keys of features", self.keys, 0, len(self.names) * (self.n_symbols + 1))

    @cached_property
    def _known(self) -> _KnownWords:
        return _KnownWords(self.words, self.shares, self.n_symbols)

    @staticmethod
    def train(
        words: Sequence[str],
        word: IntArray,
        symbol: IntArray,
        count: FloatArray | None = None,
        opens: BoolArray | None = None,
        n_symbols: int | None = None,
        options: SpellingOptions | None = None,
    ) -> SpellingModel:
        """Learn from n observations of words with their symbols.

        words: W distinct words; words without observations are ignored.
        word: (n,) the word of each observation.
        symbol: (n,) the symbol of each observation.
        count: (n,) the number of times that each observation was made; 1 if not given.
        opens: (n,) whether the word opens a sentence; no word does if not given.
        n_symbols: K, the number of symbols; one more than the largest symbol if not given."""
        options = options or SpellingOptions()
        count = np.ones(len(word)) if count is None else np.asarray(count, dtype=np.float64)
        size = int(symbol.max(initial=0)) + 1 if n_symbols is None else n_symbols
        seen = np.flatnonzero(count > 0)
        first = np.zeros(len(seen), dtype=np.bool_) if opens is None else opens[seen]
        word = word[seen]
        symbol = symbol[seen]
        count = count[seen]
        shares = _shares(len(words), size, word, symbol, count)
        known = _KnownWords(words, shares, size)
        # The examples are the words within sentences (2 w for word w) and at the beginning of sentences (2 w + 1).
        places, row = np.unique(2 * word + first, return_inverse=True)
        total = np.bincount(word, count, minlength=len(words))
        target = scipy.sparse.csr_array((count / total[word], (row, symbol)), shape=(len(places), size))
        names: Vocabulary[str] = Vocabulary()
        examples = [words[place // 2] for place in places]
        at, key, value = _entries(examples, (places % 2 == 1).tolist(), known, names.add)
        keys, column, n_words = np.unique(key, return_inverse=True, return_counts=True)
        features = scipy.sparse.csr_array((value, (at, column)), shape=(len(places), len(keys)))
        # Leave out rare features, and number the names of the others anew.
        keep = np.flatnonzero(n_words >= options.min_count)
        learnt = log_linear_weights(
            scipy.sparse.csr_array(features[:, keep]), target, options.penalty, options.iterations, options.frequent
        )
        # Round the weights, so that a file holds each in two bytes, and leave out features that hardly weigh.
        weights = learnt.toarray()
        weights[np.abs(weights) < options.least] = 0.0
        weighs = weights.any(axis=1)
        keys, weights = keys[keep[weighs]], weights[weighs].astype(np.float16).astype(np.float32)
        used, number = np.unique(keys // (size + 1), return_inverse=True)
        renumbered = number * (size + 1) + keys % (size + 1)
        return SpellingModel(words, shares, Vocabulary(names.names[name] for name in used), renumbered, weights)

    @property
    def n_symbols(self) -> int:
        """The number of symbols, K."""
        return int(self.weights.shape[1])

    def features(
        self, words: Sequence[str], opens: Sequence[bool] | BoolArray | None = None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """List the features of words other than 0, in order: the word, the feature and its value.

        words: n words, which need not be known.
        opens: (n,) whether each word opens a sentence; no word does if not given."""
        first = [False] * len(words) if opens is None else [bool(flag) for flag in opens]
        row, key, value = _entries(words, first, self._known, self.names.get)
        column = np.searchsorted(self.keys, key)
        keep = np.flatnonzero(column < len(self.keys))
        keep = keep[self.keys[column[keep]] == key[keep]]
        keep = keep[np.lexsort((column[keep], row[keep]))]
        return row[keep], column[keep], value[keep]

    def posterior(self, words: Sequence[str], opens: Sequence[bool] | BoolArray | None = None) -> FloatArray:
        """Compute P(a | x) (n, K) of n words.

        words: n words, which need not be known.
        opens: (n,) whether each word opens a sentence; no word does if not given."""
        row, column, value = self.features(words, opens)
        sums = np.zeros((len(words), self.n_symbols), dtype=np.float32)
        np.add.at(sums, row, value.astype(np.float32)[:, None] * self.weights[column])
        scores = sums.astype(np.float64)
        share = np.exp(scores - scores.max(axis=1, keepdims=True))  # SciPy's functions take longer to import
        return np.asarray(share / share.sum(axis=1, keepdims=True))

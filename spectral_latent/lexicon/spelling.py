"""A log-linear model of the symbol of a word given its spelling, P(a | x), trained on the words of a treebank.

| here | meaning |
| --- | --- |
| x, a, K | a word that opens a sentence or not; a symbol, as a tag; their number |
| φ(x) | features (F,): pieces of the spelling are 0 or 1; a known relative gives its shares P(a \\| relative) |
| W | `weights` (F, K) |
| P(a \\| x) = exp(φ(x)·W)_a / Σ_b exp(φ(x)·W)_b | `posterior` |
| q(x, a) = n(x, a) / n(x) | target: each *type* counts once, its one unit spread over its symbols and positions |
| −Σ q(x, a) log P(a \\| x) + λ ‖W‖² / 2 | what `train` minimises; λ is `penalty` |

Types rather than tokens, because an unseen word is a new draw of a type.  A tagger's emission of an unseen word is
P(a | x) / P(a) (Bayes, without the constant P(x)), that of a rare one (n(x, a) + B P(a | x)) / P(a), with B = 1.

Log-linear models of tags: Ratnaparkhi (1996), A maximum entropy model for part-of-speech tagging, table 1 and
section 2 for affixes, hyphens and capitals; Toutanova and Manning (2000), section 3, for capitals at a sentence's
start and for unknown words.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from spectral_latent._options import Above, AtLeast, AtMost, Below, Options
from spectral_latent.lexicon.log_linear import Float32Array, log_linear_weights
from spectral_latent.lexicon.signatures import character_class
from spectral_latent.operators import Distinct, Sorted, array_from
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary, ranges

__all__ = ["SpellingModel", "SpellingOptions"]

# the longest of each that features tell apart
_SUFFIX = 5
_PREFIX = 4
_SHAPE = 6
_LENGTH = 12
_ENDING = 2  # relatives agree but for so many last characters
_STEM = 3  # and in at least so many first ones
_RUN = re.compile(r"(.)\1+", re.DOTALL)
_TINY = 1e-9  # of a share: less is a difference of equal numbers


@dataclass(frozen=True)
class SpellingOptions(Options):
    """Settings of training.

    penalty: λ.
    iterations: of L-BFGS at most.
    min_count: features that fewer words x have, opening a sentence and not counted apart, are left out.
    frequent: features of smaller values in all have weights for those symbols only that they were seen with.
    """

    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 2.0
    iterations: Annotated[int, AtLeast(1)] = 50
    min_count: Annotated[int, AtLeast(1)] = 2
    frequent: Annotated[float, AtLeast(0.0)] = 20.0


class _Classes(dict[int, str]):
    """The class of each character, for `str.translate`, looked up once."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, character_class(chr(code)))


_CLASSES = _Classes()


@functools.lru_cache(maxsize=10_000)
def _outline(classes: str, opens: bool) -> list[str]:
    """The names of features of a word's characters by class, the same for many words."""
    shape = _RUN.sub(r"\1", classes)
    names = ["b", f"l{min(len(classes), _LENGTH)}", "s" + shape[:_SHAPE], "f" + shape[:1]]
    names += ["c" + kind for kind in dict.fromkeys(shape)]
    return [*names, "O", "o" + shape[:_SHAPE]] if opens else names


def _pieces(word: str, lower: str, opens: bool) -> list[str]:
    """The names of the spelling's features, each with a mark of its own kind in front."""
    length = len(lower)
    last = ["-" + lower[start:] for start in range(max(length - _SUFFIX, 0), length)]
    first = ["^" + lower[:end] for end in range(1, min(_PREFIX, length) + 1)]
    return _outline(word.translate(_CLASSES), opens) + last + first


class _KnownWords:
    """Words with their shares P(a | x), and the stems by which others are found to be relatives of theirs."""

    def __init__(self, words: Sequence[str], share: sparse.csr_array) -> None:
        """The shares are (W, K), rows of words never seen are empty."""
        self.words = list(words)
        self.share = share
        self.nobody = len(self.words)
        seen = np.flatnonzero(np.diff(share.indptr)).tolist()
        self.index = {self.words[number]: number for number in seen}
        self.stems: dict[str, int] = {}
        pairs = [(self.stems.setdefault(stem, len(self.stems)), i) for w, i in self.index.items() for stem in _stems(w)]
        stem, member = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        self.members = np.bincount(stem, minlength=len(self.stems)).tolist()
        belongs = sparse.csr_array((np.ones(len(stem)), (stem, member)), shape=(len(self.stems), len(self.words)))
        none = sparse.csr_array((1, share.shape[1]))
        self._sources = sparse.csr_array(sparse.vstack([share, none, belongs @ share]))  # (W + 1 + S, K)

    def relations(self, word: str, lower: str) -> list[tuple[str, int, int]]:
        """A word's known relatives: the relation's name, whose shares, and whose are to be taken from them."""
        own = self.index.get(word, self.nobody)
        if word != lower:
            name, other = ">", self.index.get(lower, own)
        else:
            name, other = "<", self.index.get(word[:1].upper() + word[1:], own)
        found = [(name, other, self.nobody)] if other != own else []
        for stem in _stems(lower):
            at = self.stems.get(stem, -1)
            if at >= 0 and self.members[at] > (own != self.nobody):
                found += [(mark, self.nobody + 1 + at, own) for mark in ("~", "=" + lower[len(stem) :])]
                break
        return found

    def shares(self, source: IntArray, own: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The mean shares of each source (n,) without those of `own` (n,), as row, symbol and share.

        Those of a row sum to 1.
        """
        table = self._sources
        rows = np.concatenate([source, own])
        at, which = ranges(table.indptr[rows].astype(np.int64), table.indptr[rows + 1].astype(np.int64))
        key, part = np.unique((which % len(source)) * table.shape[1] + table.indices[at], return_inverse=True)
        share = np.bincount(part, np.where(which < len(source), table.data[at], -table.data[at]))
        keep = share >= _TINY
        row, symbol = np.divmod(key[keep], table.shape[1])
        return row, symbol, share[keep] / np.bincount(row, share[keep], minlength=len(source))[row]


def _stems(word: str) -> list[str]:
    """The word in lower case, then less its last characters, one by one."""
    lower = word.lower()
    return [lower[:end] for end in range(len(lower), max(_STEM, len(lower) - _ENDING) - 1, -1)]


class _Entries(NamedTuple):
    """Features that are not 0, row by row: the number of the name, the symbol (-1 for pieces) and the value."""

    row: IntArray  # (n,)
    name: IntArray  # (n,)
    symbol: IntArray  # (n,)
    value: FloatArray  # (n,)


def _entries(words: Sequence[str], opens: Sequence[bool], known: _KnownWords, number: Callable[[str], int]) -> _Entries:
    """The features of words, of names that `number` gives a number, or -1."""
    piece: list[int] = []
    length: list[int] = []
    relations: list[tuple[int, int, int, int]] = []
    for row, word in enumerate(words):
        lower = word.lower()
        pieces = _pieces(word, lower, opens[row])
        piece += map(number, pieces)
        length.append(len(pieces))
        relations += [(row, number(name), source, own) for name, source, own in known.relations(word, lower)]
    rows = np.repeat(np.arange(len(words)), np.array(length, dtype=np.int64))
    of, name, source, own = np.array(relations, dtype=np.int64).reshape(-1, 4).T
    relative, symbol, share = known.shares(source, own)
    return _Entries(
        np.concatenate([rows, of[relative]]),
        np.concatenate([np.array(piece, dtype=np.int64), name[relative]]),
        np.concatenate([np.full(len(rows), -1), symbol]),
        np.concatenate([np.ones(len(rows)), share]),
    )


def _shares(words: int, symbols: int, word: IntArray, symbol: IntArray, count: FloatArray) -> sparse.csr_array:
    """n(x, a) / n(x), sorted, (W, K)."""
    total = np.bincount(word, count, minlength=words)
    share = sparse.csr_array((count / total[word], (word, symbol)), shape=(words, symbols))
    share.sum_duplicates()
    return share


class SpellingModel:
    """P(a | x) for any word x, from a treebank's words.

    >>> words = ["walking", "talking", "Anna", "Berta", "walked", "talked"]
    >>> options = SpellingOptions(penalty=0.1)
    >>> model = SpellingModel.train(words, np.arange(6), np.array([0, 0, 1, 1, 2, 2]), options=options)
    >>> model.posterior(["barking", "Carla", "barked"]).argmax(axis=1).tolist()
    [0, 1, 2]
    """

    def __init__(self, known: _KnownWords, names: Iterable[str], keys: IntArray, weights: Float32Array) -> None:
        """Column i of φ is `keys[i]` = name (K + 1) + symbol + 1, ascending, where a piece has symbol -1."""
        self._known = known
        self._names = Vocabulary(names)
        self._keys = keys
        self.weights = weights

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
        """The model of n observations: words[word[i]] with symbol[i], count[i] times, opening a sentence or not.

        words: W distinct ones; those without observations take no part.
        word, symbol, count, opens: (n,) each; once each and inside of sentences if left out.
        """
        options = options or SpellingOptions()
        count = np.ones(len(word)) if count is None else np.asarray(count, dtype=np.float64)
        size = int(symbol.max(initial=0)) + 1 if n_symbols is None else n_symbols
        seen = np.flatnonzero(count > 0)
        first = np.zeros(len(seen), dtype=np.bool_) if opens is None else opens[seen]
        word, symbol, count = word[seen], symbol[seen], count[seen]
        known = _KnownWords(words, _shares(len(words), size, word, symbol, count))
        places, row = np.unique(2 * word + first, return_inverse=True)
        total = np.bincount(word, count, minlength=len(words))
        target = np.zeros((len(places), size))
        np.add.at(target, (row, symbol), count / total[word])
        names: Vocabulary[str] = Vocabulary()
        found = _entries([words[place // 2] for place in places], (places % 2 == 1).tolist(), known, names.add)
        keys, column, having = np.unique(
            found.name * (size + 1) + found.symbol + 1, return_inverse=True, return_counts=True
        )
        features = sparse.csr_array((found.value, (found.row, column)), shape=(len(places), len(keys)))
        keep = np.flatnonzero(having >= options.min_count)
        weights = log_linear_weights(
            sparse.csr_array(features[:, keep]), target, options.penalty, options.iterations, options.frequent
        )
        used, number = np.unique(keys[keep] // (size + 1), return_inverse=True)
        return SpellingModel(
            known, [names.names[name] for name in used], number * (size + 1) + keys[keep] % (size + 1), weights
        )

    @property
    def n_symbols(self) -> int:
        """K."""
        return int(self.weights.shape[1])

    def features(self, words: Sequence[str], opens: Sequence[bool] | BoolArray | None = None) -> sparse.csr_array:
        """φ (n, F) of words that open a sentence, or not (n,)."""
        first = [False] * len(words) if opens is None else [bool(flag) for flag in opens]
        found = _entries(words, first, self._known, self._names.get)
        wanted = found.name * (self.n_symbols + 1) + found.symbol + 1
        column = np.searchsorted(self._keys, wanted)
        keep = np.flatnonzero((found.name >= 0) & (column < len(self._keys)))
        keep = keep[self._keys[column[keep]] == wanted[keep]]
        shape = (len(words), len(self._keys))
        return sparse.csr_array((found.value[keep], (found.row[keep], column[keep])), shape=shape)

    def posterior(self, words: Sequence[str], opens: Sequence[bool] | BoolArray | None = None) -> FloatArray:
        """P(a | x) (n, K) of words, each opening a sentence or not (n,)."""
        scores = self.features(words, opens).astype(np.float32) @ self.weights
        return np.asarray(softmax(scores.astype(np.float64), axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model as arrays, from which and from its words `from_arrays` makes it again."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in self._names.names]
        share = self._known.share
        return {
            "names": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
            "keys": self._keys,
            "weights": self.weights,
            "share": share.data,
            "share_word": np.repeat(np.arange(share.shape[0]), np.diff(share.indptr)),
            "share_symbol": share.indices.astype(np.int64),
        }

    @staticmethod
    def from_arrays(words: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> SpellingModel:
        """The model of `arrays()` and the words that it was trained with; ValueError if they are of no model."""
        size = arrays["weights"].shape[-1]
        text = array_from("names", arrays, np.uint8, (None,))
        ends = array_from("ends", arrays, np.int64, (None,), AtLeast(0), Sorted())
        last = len(ends) * (size + 1) - 1
        keys = array_from("keys", arrays, np.int64, (None,), AtLeast(0), AtMost(last), Sorted(), Distinct())
        weights = array_from("weights", arrays, np.float32, (len(keys), size))
        word = array_from("share_word", arrays, np.int64, (None,), AtLeast(0), Below(len(words)), Sorted())
        symbol = array_from("share_symbol", arrays, np.int64, word.shape, AtLeast(0), Below(size))
        share = array_from("share", arrays, np.float64, word.shape, Above(0.0), AtMost(1.0 + _TINY))
        if len(text) != ends.max(initial=0):
            raise ValueError("the names of spellings have no end")
        pieces = (text[start:end].tobytes() for start, end in itertools.pairwise([0, *ends.tolist()]))
        names = [piece.decode("utf-8", "surrogatepass") for piece in pieces]
        matrix = sparse.csr_array((share, (word, symbol)), shape=(len(words), size))
        return SpellingModel(_KnownWords(words, matrix), names, keys, weights)

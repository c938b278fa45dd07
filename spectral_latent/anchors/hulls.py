"""Compute points for words, in the convex hull of the points of anchors (Stratos et al. 2016, Figure 3).

Assume that every state has an anchor, a word that no other state emits.  Then the expected contexts of a word are a
mixture of the expected contexts of the anchors: the point of the word is in a convex hull, whose corners are the points
of the anchors.

| here | paper | meaning |
| --- | --- | --- |
| C[x, c] | n P(Y = c, X = x) | the count of context c at type x; a context is a neighbouring word, and its place |
| "brown" | f(O), unit rows | C^½ / ((#x + κ)(#c + κ))^¼, left singular vectors times σ^p, rows of length one |
| "best-fit" | Ω = E[Y \\| X] Π | conditional probabilities, projected on the directions in which they vary most |

The point of a word is the weighted mean of the point of its contexts and the point that its spelling predicts.  The
weights are n, its number of tokens, and κ₀.  So spelling matters most for rare words, which have few contexts, and a
word that was never seen has a point, too.

Sentences are sequences of types.  A type is a word in lower case.  The share of its tokens that are capitalised is a
feature of its spelling.  Only tokens inside sentences count for this share, because any word may open a sentence with a
capital.  A type that never occurs inside a sentence has the share of all its tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Literal

import numpy as np
import scipy

from spectral_latent._compiled import TINY
from spectral_latent._options import Above, AtLeast, AtMost, Options
from spectral_latent.estimation.svd import truncated_svd
from spectral_latent.files import TEXT, Axes
from spectral_latent.model import check_sentences
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import FloatArray, Vocabulary


@dataclass(frozen=True)
class AnchorOptions(Options):
    """Settings of training.

    n_states: m, the largest number of states; there are fewer if the points of words have fewer dimensions.
    hull: the way to compute points from counts of neighbouring words.  "brown" is exact if every word has one tag, and
        the best on all corpora that were tried.  "best-fit" is consistent for all anchor models.
    window: the number of words before and after a word that are its context.
    smoothing: κ, tokens that are added to the counts by which "brown" divides.
    sigma_power: the power of the singular values in the points of "brown".
    spelling: whether a word's point is moved towards the point that its spelling predicts.
    prior: κ₀, the weight of the predicted point, in tokens (without spelling, of the mean of all points); with 0,
        points depend on contexts alone.
    penalty: the weight of the squared coefficients in the regression of points on spelling.
    candidates: the number of most frequent words among which anchors are searched.
    exchange: whether anchors are exchanged while the hull grows; see `choose_anchors`.
    sharpness: the power to which p(state | word) is raised; see `find_mixtures`.
    steps: the number of iterations of EM for the transitions; None to converge; see `maximise_likelihood`.
    added: the pseudo-count of the transitions of every state, and of sentences, so that no sequence is impossible."""

    n_states: Annotated[int, AtLeast(1)] = 12
    hull: Literal["brown", "best-fit"] = "brown"
    window: Annotated[int, AtLeast(1), AtMost(100)] = 1
    smoothing: Annotated[float, AtLeast(0.0)] = 50.0
    sigma_power: Annotated[float, AtLeast(0.0), AtMost(1.0)] = 0.5
    spelling: bool = True
    prior: Annotated[float, AtLeast(0.0)] = 30.0
    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 10.0
    candidates: Annotated[int, AtLeast(1)] = 300
    exchange: bool = True
    sharpness: Annotated[float, Above(0.0)] = 4.0
    steps: Annotated[int, AtLeast(1)] | None = 10
    added: Annotated[float, AtLeast(0.0)] = 1.0


# Types and their spelling


@dataclass(frozen=True, eq=False)
class WordTypes:
    """The n types of a corpus by falling frequency; equally frequent types are in order of appearance.

    names: the words in lower case.
    sequences: the sentences, in which terminal x is type x.
    tokens: (n,) the number of tokens of each type.
    capital: (n,) the share of its tokens that are capitalised."""

    names: list[str]
    sequences: Sequences
    tokens: FloatArray
    capital: FloatArray

    @staticmethod
    def of(sentences: Iterable[Sequence[str]]) -> WordTypes:
        """Number the types of sentences.

        Raises ValueError if a sentence is empty, and TypeError as `check_sentences` does.

        >>> types = WordTypes.of([["The", "cat", "saw", "the", "Nile"]])
        >>> types.names, types.tokens, types.capital
        (['the', 'cat', 'saw', 'nile'], array([2., 1., 1., 1.]), array([0., 0., 0., 1.]))
        """
        types: Vocabulary[str] = Vocabulary()
        rows = []
        capital: list[bool] = []
        for words in check_sentences(sentences):
            rows.append([types.add(word.lower()) for word in words])
            capital += [word[:1].isupper() for word in words]
        sequences = Sequences.of(rows)
        x = sequences.terminal
        n = len(types)
        count = np.bincount(x, minlength=n)
        # Number the types anew, by falling frequency.
        order = np.argsort(-count, kind="stable")
        rank = np.argsort(order, kind="stable")
        return WordTypes(
            [types.names[i] for i in order],
            Sequences(rank[x], sequences.tag, sequences.start, sequences.weight),
            count[order].astype(float),
            _capital_shares(sequences, np.array(capital, dtype=bool), n)[order],
        )


def _capital_shares(sequences: Sequences, is_capital: np.ndarray, n_types: int) -> FloatArray:
    """Compute the share of capitalised tokens of each type (n,), from whether each token (N,) is capitalised."""
    x = sequences.terminal
    is_within = np.ones(len(x), dtype=bool)
    is_within[sequences.start[:-1]] = False
    never_within = np.bincount(x, is_within, minlength=n_types) == 0
    counts = is_within | never_within[x]
    tokens = np.bincount(x, counts, minlength=n_types)
    capitalised = np.bincount(x, counts & is_capital, minlength=n_types)
    return np.asarray(capitalised / tokens)


_LONGEST = 3  # the largest number of characters of a suffix
_CAPITALS = ("capital", "no capital")


@dataclass(frozen=True, eq=False, repr=False)
class Spelling:
    """A linear prediction of points from spelling: mean + φ(x) weights; without features, the mean alone.

    The features are those of Berg-Kirkpatrick et al. (2010): capital, hyphen, digit, and suffixes of 1 to 3 characters.
    Capital, hyphen and digit each have a feature for yes and a feature for no.

    features: the names of the s features; the first two are those of capitals.
    mean: (d,) the weighted mean of the points of the corpus.
    weights: (s, d) the weights of the features.
    Raises ValueError if the first features are others."""

    features: Annotated[Vocabulary[str], TEXT]
    mean: Annotated[FloatArray, Axes("d")]
    weights: Annotated[FloatArray, Axes("s", "d")]

    def __post_init__(self) -> None:
        if len(self.features) and tuple(self.features.names[: len(_CAPITALS)]) != _CAPITALS:
            raise ValueError("the first features are not those of capitals")
        if len(self.weights) != len(self.features):
            raise ValueError("there are not as many weights as features of spelling")

    def predict(self, words: Sequence[str], capital: FloatArray) -> FloatArray:
        """Predict the points (n, d) of n words; capital: (n,)."""
        if not len(self.features):
            return np.tile(self.mean, (len(words), 1))
        return np.asarray(spelling_counts(self.features, words, capital) @ self.weights + self.mean)

    @staticmethod
    def train(points: FloatArray, types: WordTypes, options: AnchorOptions) -> Spelling:
        """Fit points (n, d) by ridge regression, in which a type with n tokens has the weight n / (n + κ₀)."""
        weight = types.tokens / (types.tokens + options.prior)
        mean = weight @ points / weight.sum()
        if not options.spelling:
            return Spelling(Vocabulary(), mean, np.zeros((0, points.shape[1])))
        features = spelling_features(types.names)
        phi = spelling_counts(features, types.names, types.capital)
        gram = scipy.sparse.csr_array(
            phi.T @ scipy.sparse.diags_array(weight) @ phi
        ) + options.penalty * scipy.sparse.eye_array(phi.shape[1])
        inverse_diagonal = scipy.sparse.diags_array(1.0 / gram.diagonal())
        targets = phi.T @ (weight[:, None] * (points - mean))
        solved = [
            scipy.sparse.linalg.cg(gram, target, rtol=1e-6, maxiter=500, M=inverse_diagonal)[0] for target in targets.T
        ]
        return Spelling(features, mean, np.stack(solved, axis=1))


def spelling_features(words: Iterable[str]) -> Vocabulary[str]:
    """Number the features of words in lower case."""
    return Vocabulary(chain(_CAPITALS, chain.from_iterable(map(_feature_names, words))))


def spelling_counts(features: Vocabulary[str], words: Sequence[str], capital: FloatArray) -> scipy.sparse.csr_array:
    """Compute the features (n, s) of n words; features that are not among the names are left out; capital: (n,)."""
    rows = [[features.get(name) for name in _feature_names(word)] for word in words]
    row = np.repeat(np.arange(len(words)), [len(columns) for columns in rows])
    column = np.array([c for columns in rows for c in columns], dtype=np.int64)
    is_known = column >= 0
    every = np.arange(len(words))
    first = np.zeros_like(every)  # the columns of "capital" and "no capital" are 0 and 1
    values = np.concatenate([capital, 1.0 - capital, np.ones(np.count_nonzero(is_known))])
    places = (np.concatenate([every, every, row[is_known]]), np.concatenate([first, first + 1, column[is_known]]))
    return scipy.sparse.csr_array((values, places), shape=(len(words), len(features)))


def _feature_names(word: str) -> list[str]:
    """Name the features of a word in lower case, except the two features of capitals."""
    has_digit = any(character.isdigit() for character in word)
    kinds = ["hyphen" if "-" in word else "no hyphen", "digit" if has_digit else "no digit"]
    return kinds + ["-" + word[-length:] for length in range(1, min(_LONGEST, len(word)) + 1)]


# Points


def with_spelling(points: FloatArray, types: WordTypes, options: AnchorOptions) -> tuple[FloatArray, Spelling]:
    """Move the points (n, d) of types towards those that spelling predicts; also return the prediction."""
    spelling = Spelling.train(points, types, options)
    if options.prior > 0:
        predicted = spelling.predict(types.names, types.capital)
        total = types.tokens[:, None] * points + options.prior * predicted
        points = total / (types.tokens + options.prior)[:, None]
    return to_unit_length(points) if options.hull == "brown" else points, spelling


def to_unit_length(rows: FloatArray) -> FloatArray:
    """Scale rows (n, d) to length one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))


def context_counts(sequences: Sequences, n_types: int, window: int) -> scipy.sparse.csr_array:
    """Count the contexts of every type: C (n, 2 window (n + 1)).

    The columns are the contexts at the place before, at the place after, two places before, and so on.  At each place,
    context n means that the place is beyond the end of the sentence."""
    x = sequences.terminal
    tables = []
    for distance in range(1, window + 1):
        for offset in (-distance, distance):
            y = sequences.shift(x, offset)
            y[y < 0] = n_types
            tables.append(scipy.sparse.coo_array((np.ones(len(x)), (x, y)), shape=(n_types, n_types + 1)))
    return scipy.sparse.csr_array(scipy.sparse.hstack(tables, format="csr"))


def canonical_svd(
    counts: scipy.sparse.csr_array,
    totals: tuple[FloatArray, FloatArray],
    rank: int,
    *,
    smoothing: float,
    power: float = 1.0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Decompose counts divided by the roots of their totals: C^p / ((#x + κ)(#c + κ))^(p/2) = U diag(σ) Vᵀ.

    With power 1 and κ = 0, σ are the canonical correlations of the indicators of rows and of columns, without centring.
    Returns U (n, k), σ (k,) and V (d, k).

    counts: (n, d) C, the joint counts of rows and columns.
    totals: #x (n,) and #c (d,), the counts of rows and of columns."""
    by_row, by_column = (np.maximum(total + smoothing, TINY) ** (-power / 2) for total in totals)  # some may be 0
    powers = counts.copy()
    powers.data = counts.data**power
    scaled = scipy.sparse.csr_array(scipy.sparse.diags_array(by_row) @ powers @ scipy.sparse.diags_array(by_column))
    return truncated_svd(scaled, rank)


def context_points(
    counts: scipy.sparse.csr_array, tokens: FloatArray, dimensions: int, options: AnchorOptions
) -> FloatArray:
    """Compute the points (n, d) of types from their contexts alone.

    counts: (n, c) C, the counts of contexts.
    tokens: (n,) the number of tokens of each type.
    dimensions: d, or fewer if C has a smaller rank."""
    if options.hull == "best-fit":
        n_places = 2 * options.window
        conditional = scipy.sparse.csr_array(scipy.sparse.diags_array(1.0 / (n_places * tokens)) @ counts)
        u, sigma, _ = truncated_svd(conditional, dimensions)
        return u * sigma
    totals = (tokens, counts.sum(axis=0).astype(float))
    u, sigma, _ = canonical_svd(counts, totals, dimensions, smoothing=options.smoothing, power=0.5)
    return to_unit_length(u * sigma**options.sigma_power)

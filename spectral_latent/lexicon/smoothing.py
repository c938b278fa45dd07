"""Smooth the emissions of rare and unseen words, for any number of states.

| here | meaning |
| --- | --- |
| v(a, x) = [Σ z, n] | sum of z over the nodes with rule a → x, and their count; for a plain PCFG both are the count |
| D(a, s) | Σ v(a, x) over rare words x with signature s |
| Q(a, s) = (D(a, s) + K Q(a, s')) / (n(s) + K) | v of an average word with signature s; s' is the next coarser one |
| K, B, C | `back_off_strength`, `signature_strength`, `tag_strength` of `LexiconOptions` |
| f | a tag; its symbols, such as `NN` and `NP\\|NN`, share one distribution over words |

If the lexicon has a model of spelling, Q(a, x) = Q(a, s(x)) P(f | x) / Q(f, s(x)), with the tag f of a, replaces
Q(a, s(x)).  The signature then gives the direction of the vectors, and the spelling gives the probability of f.

A rare word x with count n(x) gets (v(a, x) + B Q(a, s(x))) n(x) / (n(x) + B); an unseen word gets Q of its signature.
After that, a symbol a with n(a) leaves gets (v(a, x) + C p(x | f) z̄_a) n(a) / (n(a) + C).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent.estimation import LeafMoments
from spectral_latent.lexicon.lexicon import Lexicon, LexiconOptions
from spectral_latent.lexicon.spelling import DEPTH
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Rules, matches


class _Emissions(NamedTuple):
    """Hold v(a, x) of n pairs of a symbol and a terminal."""

    symbol: IntArray  # (n,)
    terminal: IntArray  # (n,)
    vectors: FloatArray  # (n, M + 1): Σ z, then the count

    @property
    def tokens(self) -> FloatArray:
        """The count of each pair, (n,)."""
        return self.vectors[:, -1]

    def select(self, keep: IntArray | BoolArray) -> _Emissions:
        """Select pairs by index or mask."""
        return _Emissions(self.symbol[keep], self.terminal[keep], self.vectors[keep])

    def scale(self, weights: FloatArray | float) -> _Emissions:
        """Multiply each pair's vector by its weight (n,), or by one weight for all."""
        return self._replace(vectors=self.vectors * np.reshape(weights, (-1, 1)))

    def merge(self, *others: _Emissions) -> _Emissions:
        """Add the emissions of equal pairs; the result is in order of symbol and terminal."""
        parts = (self, *others)
        pairs = np.concatenate([np.stack([part.symbol, part.terminal], axis=1) for part in parts])
        vectors = np.concatenate([part.vectors for part in parts])
        distinct, which = Rules.distinct(pairs)
        # The matrix has a row for each distinct pair, with a one for each of the pair's vectors.
        order = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[order], np.arange(len(distinct) + 1))
        members = scipy.sparse.csr_array((np.ones(len(order)), order, starts), shape=(len(distinct), len(pairs)))
        return _Emissions(distinct[:, 0], distinct[:, 1], members @ vectors)

    def copy_pairs(self, source: IntArray, target: IntArray) -> _Emissions:
        """Copy the pairs of each terminal source[i] to the terminal target[i]; source and target are (n,)."""
        order = np.argsort(self.terminal, kind="stable")
        rows, which = matches(self.terminal[order], source)
        rows = order[rows]
        return _Emissions(self.symbol[rows], target[which], self.vectors[rows])


def _leaf_means(moments: LeafMoments) -> tuple[FloatArray, FloatArray]:
    """Compute n(a), (S,), and z̄_a (S, M), the mean over the symbol's leaves and one average node of the symbol."""
    symbol = moments.rules[:, 0]
    n_symbols, m = moments.symbol_total.shape
    count = np.bincount(symbol, moments.count, minlength=n_symbols).astype(float)
    total = np.zeros((n_symbols, m))
    np.add.at(total, symbol, moments.total)
    average = moments.symbol_total / np.maximum(moments.symbol_count, 1.0)[:, None]
    return count, (total + average) / (count + 1.0)[:, None]


def _observe(moments: LeafMoments, mean_strength: float) -> _Emissions:
    """Compute v(a, x), in which the mean z of each rule is mixed with the mean z of its symbol.

    The mean of a rule with n nodes has the weight √n / (mean_strength + √n)."""
    symbol, terminal = moments.rules.T
    trust = (np.sqrt(moments.count) / (mean_strength + np.sqrt(moments.count)))[:, None]
    mean = _leaf_means(moments)[1][symbol]
    total = trust * moments.total + (1 - trust) * moments.count[:, None] * mean
    return _Emissions(symbol, terminal, np.concatenate([total, moments.count[:, None]], axis=1))


def _worth_keeping(terminal: IntArray, tokens: FloatArray, min_expected: float) -> BoolArray:
    """Tell which pairs have an expected count (n,) of at least `min_expected`, or are their terminal's likeliest."""
    most = np.zeros(int(terminal.max(initial=-1)) + 1)
    np.maximum.at(most, terminal, tokens)
    return np.asarray(tokens >= np.minimum(min_expected, most[terminal]))


def _posteriors(rare: _Emissions, chains: IntArray, options: LexiconOptions) -> _Emissions:
    """Compute Q(a, s) of every signature s, the coarsest first; shares below `min_expected` are left out."""
    levels: list[_Emissions] = []
    back_off = max(options.back_off_strength, 1e-9)  # a signature without rare words always backs off
    for level in range(DEPTH):
        evidence = rare._replace(terminal=chains[rare.terminal, level])
        evidence = evidence.select(evidence.terminal >= 0).merge()
        if level:
            here = np.unique(chains[chains[:, level] >= 0, level])
            evidence = evidence.merge(levels[-1].copy_pairs(chains[here, level - 1], here).scale(back_off))
        total = np.bincount(evidence.terminal, evidence.tokens, minlength=len(chains))  # n(s) + K
        posterior = evidence.scale(1.0 / total[evidence.terminal])
        keep = _worth_keeping(posterior.terminal, posterior.tokens, options.min_expected)
        levels.append(posterior.select(keep))
    return levels[0].merge(*levels[1:])


def _share(emissions: _Emissions, moments: LeafMoments, tag_of_symbol: IntArray, options: LexiconOptions) -> _Emissions:
    """Mix each symbol's emissions with C p(x | f) z̄_a, and keep the pairs that are likely enough.

    tag_of_symbol: (S,) the number of the tag of each symbol."""
    count, means = _leaf_means(moments)
    weight = np.divide(count, count + options.tag_strength, out=np.zeros_like(count), where=count > 0)
    tag = tag_of_symbol[emissions.symbol]
    pooled = emissions._replace(symbol=tag, vectors=emissions.vectors[:, -1:]).merge()
    # The number C p(x | f) that each pair of a tag f and a word x lends to every symbol with this tag.
    lent = options.tag_strength * pooled.tokens / np.bincount(pooled.symbol, pooled.tokens)[pooled.symbol]
    pairs = np.stack([emissions.symbol, emissions.terminal], axis=1)
    place = Rules.find(np.stack([pooled.symbol, pooled.terminal], axis=1), np.stack([tag, emissions.terminal], axis=1))
    # A pair is kept if its count is large enough, or the largest of its word.
    tokens = (emissions.tokens + lent[place]) * weight[emissions.symbol]
    largest = np.zeros(len(pooled.symbol) and int(tag.max()) + 1)
    np.maximum.at(largest, tag, weight[emissions.symbol])
    most = np.zeros(int(pooled.terminal.max(initial=-1)) + 1)
    np.maximum.at(most, emissions.terminal, tokens)
    np.maximum.at(most, pooled.terminal, lent * largest[pooled.symbol])
    least = np.minimum(options.min_expected, most)[pooled.terminal]
    is_kept = tokens >= least[place]
    is_kept |= Rules.find(moments.rules, pairs) >= 0  # trees with these pairs must keep a derivation
    # Each symbol may have all words of its tag, so that only those of one symbol are listed at a time.
    rows: list[tuple[IntArray, IntArray, IntArray]] = [(np.zeros(0, dtype=np.int64),) * 3]
    for a in np.unique(emissions.symbol).tolist():
        first, end = np.searchsorted(pooled.symbol, tag_of_symbol[a] + np.arange(2))
        own = np.arange(*np.searchsorted(emissions.symbol, [a, a + 1]))
        source = np.full(end - first, -1)
        source[place[own] - first] = own
        keep = lent[first:end] * weight[a] >= least[first:end]
        keep[place[own] - first] = is_kept[own]
        at = np.flatnonzero(keep)
        rows.append((np.full(len(at), a), first + at, source[at]))
    symbol, row, source = map(np.concatenate, zip(*rows, strict=True))
    # Add the smoothing and the emissions that were seen; in place, because there are many vectors.
    vectors = np.concatenate([means, np.ones((len(means), 1))], axis=1)[symbol]
    vectors *= lent[row, None]
    seen = source >= 0
    vectors[seen] += emissions.vectors[source[seen]]
    vectors *= weight[symbol, None]
    return _Emissions(symbol, pooled.terminal[row], vectors)


@dataclass(frozen=True, eq=False)
class EmissionSmoothing:
    """Make leaf rules (R, 2) and sums of z (R, M), also for rare and unseen words, from the moments of a treebank.

    The counts alone decide which rules there are, so that they are the same for grammars of any numbers of states.
    What depends on words alone is computed once for the grammars of a treebank.

    lexicon: the words with their signatures, and perhaps a spelling model.
    tag_of_symbol: (S,) the number of the tag of each symbol.

    >>> lexicon = Lexicon(["cat", "dog", "ran"])
    >>> moments = LeafMoments(
    ...     rules=np.array([[0, 0], [0, 1], [1, 2]]), count=np.ones(3), total=np.ones((3, 1)),
    ...     symbol_count=np.array([2.0, 1.0]), symbol_total=np.array([[2.0], [1.0]]))
    >>> rules, total = EmissionSmoothing(lexicon, LexiconOptions(), np.array([0, 1]))(moments)
    >>> unseen = lexicon.terminals_of(["bat"])[0]
    >>> total[(rules == [0, unseen]).all(axis=1)] > total[(rules == [1, unseen]).all(axis=1)]
    array([[ True]])
    """

    lexicon: Lexicon
    options: LexiconOptions
    tag_of_symbol: IntArray

    @cached_property
    def _chains(self) -> IntArray:
        return self.lexicon.signature_chains()

    @cached_property
    def _posteriors(self) -> dict[bytes, FloatArray]:
        return {}

    def _posterior(self, words: IntArray) -> FloatArray:
        """Compute P(f | x) (n, F) of words (n,) from their spelling."""
        key = words.tobytes()
        if self.lexicon.spelling is not None and key not in self._posteriors:
            self._posteriors[key] = self.lexicon.spelling.posterior([self.lexicon.words[word] for word in words])
        return self._posteriors[key]

    def _spell(self, lent: _Emissions) -> _Emissions:
        """Convert Q(a, s(x)) of words to Q(a, x)."""
        if self.lexicon.spelling is None:
            return lent
        words, which = np.unique(lent.terminal, return_inverse=True)
        posterior = self._posterior(words)
        key = which * posterior.shape[1] + self.tag_of_symbol[lent.symbol]
        share = np.bincount(key, lent.tokens, minlength=posterior.size)
        return lent.scale(posterior.ravel()[key] / share[key])

    def __call__(self, moments: LeafMoments) -> tuple[IntArray, FloatArray]:
        """Smooth the R0 leaf rules that were seen."""
        chains = self._chains
        options = self.options
        observed = _observe(moments, options.mean_strength)
        tokens = np.bincount(observed.terminal, observed.tokens, minlength=len(chains))
        # Words as rare as the rarest are always rare, so that signatures have some evidence.
        is_rare = (tokens > 0) & (tokens <= max(options.rare_count, tokens[tokens > 0].min()))
        posterior = _posteriors(observed.select(is_rare[observed.terminal]), chains, options)
        # Rare words get B Q(a, x) in addition, and words that were never seen get Q(a, x) alone.
        finest = chains[np.arange(len(chains)), (chains >= 0).sum(axis=1) - 1]
        rare = np.flatnonzero(is_rare)
        absent = np.flatnonzero(tokens[: len(self.lexicon.words)] == 0)
        borrowed = self._spell(posterior.copy_pairs(finest[rare], rare))
        known = observed.merge(borrowed.scale(options.signature_strength))
        trust = np.ones(len(tokens))
        trust[rare] = tokens[rare] / (tokens[rare] + options.signature_strength)
        unseen = self._spell(posterior.copy_pairs(finest[absent], absent))
        emissions = known.scale(trust[known.terminal]).merge(posterior, unseen)
        mixed = _share(emissions, moments, self.tag_of_symbol, options)
        return np.stack([mixed.symbol, mixed.terminal], axis=1), mixed.vectors[:, :-1]

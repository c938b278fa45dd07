"""Emissions of rare and unseen words against the formulas of the module, in dictionaries."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import LeafMoments
from spectral_latent.lexicon import EmissionSmoothing, Lexicon, LexiconOptions, SpellingModel, signatures

Vectors = dict[tuple[int, Any], np.ndarray]

WORDS = ["the", "a", "dog", "dogs", "Dog", "cat", "cats", "running", "ran", "1990", "1,000", "walking", "Anna", "東京"]
N_SYMBOLS = 4


def moments_of(count: dict[tuple[int, int], int], m: int, seed: int, inner: Sequence[int] = ()) -> LeafMoments:
    """Random Σ z for counts of (symbol, terminal); a plain PCFG if m = 0, where Σ z is the count itself.

    inner: nodes of each symbol that are no leaves.
    """
    rng = np.random.default_rng(seed)
    pairs = sorted(count)
    n = np.array([count[pair] for pair in pairs], dtype=float)
    total = rng.normal(size=(len(pairs), m)) * n[:, None] if m else n[:, None]
    extra = np.array([*inner, *[0] * (N_SYMBOLS - len(inner))])
    symbol_total = extra[:, None] * (rng.normal(size=(N_SYMBOLS, m)) if m else 1.0)
    symbol_count = extra.astype(float)
    for (a, _), k, vector in zip(pairs, n, total, strict=True):
        symbol_count[a] += k
        symbol_total[a] += vector
    return LeafMoments(np.array(pairs), n, total, symbol_count, symbol_total)


def by_dictionaries(
    lexicon: Lexicon, options: LexiconOptions, moments: LeafMoments, family: Sequence[int]
) -> dict[tuple[int, int], np.ndarray]:
    """The docstring of `lexicon.smoothing`, formula by formula."""
    leaves = {
        a: [k for k, (b, _) in enumerate(moments.rules.tolist()) if b == a]
        for a in range(N_SYMBOLS)
        if moments.symbol_count[a] > 0
    }
    n_leaves = {a: sum(moments.count[k] for k in rows) for a, rows in leaves.items()}
    mean = {
        a: (sum(moments.total[k] for k in rows) + moments.symbol_total[a] / moments.symbol_count[a]) / (n_leaves[a] + 1)
        for a, rows in leaves.items()
    }
    v: Vectors = {}
    tokens: dict[str, float] = defaultdict(float)
    for (a, x), n, total in zip(moments.rules.tolist(), moments.count, moments.total, strict=True):
        trust = np.sqrt(n) / (options.mean_strength + np.sqrt(n))
        v[a, lexicon.words[x]] = np.array([*(trust * total + (1 - trust) * n * mean[a]), n])
        tokens[lexicon.words[x]] += n
    most = max(options.rare_count, min(tokens.values()))
    rare = [word for word in lexicon.words if 0 < tokens[word] <= most]

    posterior: dict[tuple, dict[int, np.ndarray]] = {}
    known = sorted({s for word in lexicon.words for s in signatures(word)}, key=lambda s: (len(s), len("".join(s[1:]))))
    coarser = {s: t for word in lexicon.words for s, t in zip(signatures(word), signatures(word)[1:], strict=False)}
    for s in known:
        evidence: dict[int, np.ndarray] = defaultdict(lambda: np.zeros(moments.total.shape[1] + 1))
        for (a, word), vector in v.items():
            if word in rare and s in signatures(word):
                evidence[a] = evidence[a] + vector
        if s:
            for a, vector in posterior[coarser[s]].items():
                evidence[a] = evidence[a] + options.back_off_strength * vector
        size = sum(vector[-1] for vector in evidence.values())  # n(s) + K
        row = {a: vector / size for a, vector in evidence.items()}
        least = min(options.min_expected, max(vector[-1] for vector in row.values()))
        posterior[s] = {a: vector for a, vector in row.items() if vector[-1] >= least}
    kept = {(a, s): q for s, row in posterior.items() for a, q in row.items()}

    emissions: Vectors = defaultdict(lambda: np.zeros(moments.total.shape[1] + 1), kept)
    for word in lexicon.words:
        n, finest = tokens[word], signatures(word)[0]
        for a in range(N_SYMBOLS):
            own, lent = v.get((a, word)), kept.get((a, finest)) if word in rare else None
            if own is None and lent is None:
                continue
            value = (0.0 if own is None else own) + (0.0 if lent is None else options.signature_strength * lent)
            emissions[a, word] = value * (n / (n + options.signature_strength) if word in rare else 1.0)

    of_family: dict[int, dict[Any, float]] = defaultdict(lambda: defaultdict(float))
    for (a, x), vector in emissions.items():
        of_family[family[a]][x] += vector[-1]
    mixed = {}
    for a in {a for a, _ in emissions}:
        n, shared = n_leaves[a], of_family[family[a]]
        for x, amount in shared.items():
            lent = options.tag_strength * amount / sum(shared.values()) * np.array([*mean[a], 1.0])
            own = emissions.get((a, x), np.zeros_like(lent))
            mixed[a, lexicon.terminals[x]] = (own + lent) * n / (n + options.tag_strength)
    likeliest: dict[int, float] = defaultdict(float)
    for (_, x), vector in mixed.items():
        likeliest[x] = max(likeliest[x], vector[-1])
    seen = {(a, lexicon.terminals[word]) for a, word in v}
    least = {pair: 0.0 if pair in seen else min(options.min_expected, likeliest[pair[1]]) for pair in mixed}
    return {pair: q[:-1] for pair, q in mixed.items() if q[-1] >= least[pair]}


counts = st.dictionaries(
    st.tuples(st.integers(0, N_SYMBOLS - 1), st.integers(0, len(WORDS) - 1)),
    st.integers(1, 30),
    min_size=1,
    max_size=25,
)
option_sets = st.builds(
    LexiconOptions,
    rare_count=st.integers(0, 12),
    back_off_strength=st.floats(0.1, 5),
    signature_strength=st.sampled_from([0.0, 0.5, 4.0]),
    tag_strength=st.sampled_from([0.0, 1.0, 100.0]),
    mean_strength=st.floats(0, 3),
    min_expected=st.sampled_from([0.0, 1e-3, 0.05]),
)
families = st.lists(st.integers(0, N_SYMBOLS - 1), min_size=N_SYMBOLS, max_size=N_SYMBOLS)


def relabelled(count: dict[tuple[int, int], int]) -> tuple[list[str], dict[tuple[int, int], int]]:
    """Only the words that occur, numbered anew: a lexicon is made of the words of its treebank."""
    used = sorted({x for _, x in count})
    return [WORDS[x] for x in used], {(a, used.index(x)): n for (a, x), n in count.items()}


@given(counts, option_sets, families, st.sampled_from([0, 1, 3]), st.integers(0, 99))
def test_emissions_are_those_of_the_formulas(
    count: dict[tuple[int, int], int], options: LexiconOptions, family: list[int], m: int, seed: int
) -> None:
    words, count = relabelled(count)
    lexicon = Lexicon(words)
    moments = moments_of(count, m, seed, inner=[0, 3, 0, 50])
    rules, total = EmissionSmoothing(lexicon, options, np.array(family))(moments)
    expected = by_dictionaries(lexicon, options, moments, family)
    found = {tuple(rule): vector for rule, vector in zip(rules.tolist(), total, strict=True)}
    near = {pair for pair in expected.keys() ^ found.keys()}  # at the very threshold rounding decides
    assert not near or options.min_expected > 0
    assert len(near) <= 1
    for pair in expected.keys() & found.keys():
        assert found[pair] == pytest.approx(expected[pair], rel=1e-9, abs=1e-11)


def test_where_spellings_are_learnt_rare_words_borrow_from_families_by_them() -> None:
    """(n(f, x) + B P(f | x)) n(x) / (n(x) + B), within a family as the signature says."""
    count = {(0, 0): 30, (0, 1): 2, (1, 1): 1, (2, 2): 3, (1, 3): 4, (3, 3): 1, (0, 3): 1}
    words, family = ["the", "walking", "talking", "baking"], np.array([0, 1, 1, 2])
    pairs = np.array(sorted(count))
    n = np.array([count[pair] for pair in sorted(count)], dtype=float)
    spelling = SpellingModel.train(words, pairs[:, 1], family[pairs[:, 0]], n)
    options = LexiconOptions(signature_strength=2.0, tag_strength=0.0, mean_strength=0.0, min_expected=0.0)
    moments, n_words = moments_of(count, 0, 0), len(words)
    tables = []
    for known in (None, spelling):
        rules, total = EmissionSmoothing(Lexicon(words, known), options, family)(moments)
        table = np.zeros((N_SYMBOLS, rules[:, 1].max() + 1))
        table[rules[:, 0], rules[:, 1]] = total[:, 0]
        tables.append(table)
    by_signature, by_spelling = tables
    np.testing.assert_array_equal(by_signature[:, 0], by_spelling[:, 0])  # frequent
    np.testing.assert_array_equal(by_signature[:, n_words:], by_spelling[:, n_words:])  # signatures
    for x in range(1, n_words):
        seen = np.array([count.get((a, x), 0) for a in range(N_SYMBOLS)])
        size = seen.sum()
        lent, by = (table[:, x] * (size + 2.0) / size - seen for table in (by_spelling, by_signature))
        np.testing.assert_allclose(np.bincount(family, lent), 2.0 * spelling.posterior([words[x]])[0], rtol=1e-6)
        assert lent[1] / lent[2] == pytest.approx(by[1] / by[2])

"""Leaf rules of unseen words: their shares are those of spelling, their directions those of signatures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.lexicon import Lexicon, SpellingModel, UnseenLeaves, UnseenWords
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Rules

KNOWN = ["the", "walking", "talking", "walked", "talked", "Anna", "cat", "cats"]
FAMILY = np.array([0, 1, 1, 2, -1])  # of five symbols, the last of which is over no word
N_FAMILIES = 3

unseen = st.sampled_from(["barking", "barked", "Berta", "dog", "dogs", "X-1", "東京"])
sentences = st.lists(st.lists(st.one_of(unseen, st.sampled_from(KNOWN)), max_size=5), max_size=4)


def lexicon() -> Lexicon:
    symbols = np.array([0, 1, 1, 2, 2, 0, 1, 1])
    return Lexicon(KNOWN, spelling=SpellingModel.train(KNOWN, np.arange(8), symbols, n_symbols=N_FAMILIES))


def operators(rules: np.ndarray, seed: int = 0) -> ObservableOperators:
    """One-state operators of these leaf rules."""
    weight = np.random.default_rng(seed).uniform(0.01, 1, (len(rules), 1))
    table = Rules(rules, np.empty((0, 2), dtype=np.int64), np.empty((0, 3), dtype=np.int64))
    return ObservableOperators(table, np.ones(5, dtype=np.int64), np.ones((5, 1)), weight, np.empty((0, 1, 1)), [])


def all_pairs(words: Lexicon) -> np.ndarray:
    return np.array([(a, x) for a in range(4) for x in range(words.n_terminals)])


def of(words: Lexicon, rules: np.ndarray) -> tuple[UnseenWords, ObservableOperators, FloatArray]:
    """With random weights and shares of symbols."""
    model, prior = operators(rules), np.random.default_rng(1).dirichlet(np.ones(5))
    return UnseenWords(words, rules, model.leaf[:, 0], prior, FAMILY), model, prior


@settings(max_examples=50)
@given(sentences)
def test_unseen_words_have_terminals_of_their_own(rows: list[list[str]]) -> None:
    words = lexicon()
    reader, _, _ = of(words, all_pairs(words))
    terminal, leaves = reader.read(rows, least=0.0)
    flat = [(word, at == 0) for row in rows for at, word in enumerate(row)]
    number: dict[tuple[str, bool], int] = {}
    for (word, opens), x in zip(flat, terminal.tolist(), strict=True):
        signature = words.terminal(word, opens=opens)
        if signature < len(KNOWN):
            assert x == signature
        else:
            assert x == number.setdefault((word, opens), words.n_terminals + len(number))
    assert set(leaves.terminal.tolist()) == set(number.values())
    assert (np.diff(leaves.terminal) >= 0).all()


@settings(max_examples=50)
@given(unseen, st.booleans())
def test_families_have_the_shares_of_spelling_and_symbols_those_of_the_signature(word: str, opens: bool) -> None:
    """p(a, x) = p(a, s) P(f | x) / P(f | s): all in all, x is as probable as s."""
    words = lexicon()
    reader, model, prior = of(words, all_pairs(words))
    leaves = reader.leaves([word], [opens], 0.0)
    table = leaves.added_to(model)
    new = np.arange(len(model.leaf), len(table.leaf))
    symbol = table.rules.leaf[new, 0]
    assert symbol.tolist() == leaves.symbol.tolist()
    assert sorted(symbol) == [0, 1, 2, 3]
    joint = table.leaf[new, 0] * prior[symbol]
    at = model.rules.leaf[:, 1] == words.signature(word)
    at_signature = dict(zip(model.rules.leaf[at, 0], model.leaf[at, 0] * prior[model.rules.leaf[at, 0]], strict=True))
    total = sum(at_signature.values())
    assert words.spelling is not None
    share = np.bincount(FAMILY[symbol], joint) / total
    np.testing.assert_allclose(share, words.spelling.posterior([word], [opens])[0])
    within = dict(zip(symbol.tolist(), joint, strict=True))
    assert within[1] / within[2] == pytest.approx(at_signature[1] / at_signature[2])


def test_a_family_that_the_signature_lacks_takes_its_direction_from_all_words() -> None:
    words = lexicon()
    signature, pairs = words.signature("barking"), all_pairs(words)
    kept = pairs[~((pairs[:, 0] == 3) & (pairs[:, 1] == signature))]
    reader, model, _ = of(words, kept)
    leaves = reader.leaves(["barking"], [False], 0.0)
    source = dict(zip(leaves.symbol.tolist(), model.rules.leaf[leaves.source, 1].tolist(), strict=True))
    assert source == {0: signature, 1: signature, 2: signature, 3: words.unknown}


def test_a_family_without_any_rule_emits_nothing_and_a_word_always_has_one() -> None:
    """The likeliest family of those that can emit it is not left out, whatever `least` says."""
    words = lexicon()
    pairs = all_pairs(words)
    reader, _, _ = of(words, pairs[(pairs[:, 0] != 3) | (pairs[:, 1] < len(KNOWN))])
    for least in (0.0, 1.0):
        leaves = reader.leaves(["barked", "barking"], [False, False], least)
        assert 3 not in leaves.symbol
        assert set(leaves.terminal.tolist()) == {words.n_terminals, words.n_terminals + 1}


def test_unlikely_families_are_left_out() -> None:
    words = lexicon()
    reader, _, _ = of(words, all_pairs(words))
    assert words.spelling is not None
    p = words.spelling.posterior(["barking"])[0]
    leaves = reader.leaves(["barking"], [False], float(np.sort(p)[1]))
    assert set(FAMILY[leaves.symbol].tolist()) == set(np.argsort(p)[1:].tolist())


def test_rules_are_found_by_symbol_and_terminal() -> None:
    words = lexicon()
    reader, _, _ = of(words, all_pairs(words))
    _, leaves = reader.read([["dogs", "barking", "dogs"]], least=0.0)
    np.testing.assert_array_equal(leaves.find(leaves.symbol, leaves.terminal), np.arange(len(leaves.symbol)))
    absent = leaves.find(np.array([4, -1, 0]), np.array([words.n_terminals, words.n_terminals, 0]))
    assert absent.tolist() == [-1, -1, -1]
    assert UnseenLeaves.none().find(np.array([0]), np.array([0])).tolist() == [-1]


def test_no_rules_leave_operators_as_they_are() -> None:
    words = lexicon()
    reader, model, _ = of(words, all_pairs(words))
    terminal, leaves = reader.read([["the", "cat"]], least=0.0)
    assert terminal.tolist() == [0, 6]
    assert leaves.added_to(model) is model
    assert reader.read([], least=0.0)[0].tolist() == []


families = st.integers(-1, N_FAMILIES - 1)


@settings(max_examples=100)
@given(st.lists(st.lists(st.tuples(st.one_of(unseen, st.sampled_from(KNOWN)), families), max_size=5), max_size=4))
def test_words_of_a_known_family_have_rules_of_that_family_alone(rows: list[list[tuple[str, int]]]) -> None:
    """Also a known word that was never seen in it; without a family, words are read as they always are."""
    words = lexicon()
    seen = np.array([(0, 0), (0, 5), (1, 1), (2, 2), (1, 6), (2, 7), (3, 3), (3, 4)])
    signatures = all_pairs(words)[np.tile(np.arange(words.n_terminals), 4) >= len(KNOWN)]
    reader, _, _ = of(words, np.concatenate([seen, signatures]))
    given = np.array([family for row in rows for _, family in row], dtype=np.int64)
    spelt = [[word for word, _ in row] for row in rows]
    terminal, leaves = reader.read(spelt, 0.0, given)
    flat = [(word, at == 0) for row in spelt for at, word in enumerate(row)]
    number: dict[tuple[str, bool, int], int] = {}
    for (word, opens), family, x in zip(flat, given.tolist(), terminal.tolist(), strict=True):
        known = words.terminal(word, opens=opens)
        has = {int(FAMILY[a]) for a, y in seen if y == known}
        if known < len(KNOWN) and (family < 0 or family in has):
            assert x == known
            continue
        assert x == number.setdefault((word, opens, family), words.n_terminals + len(number))
        mine = set(FAMILY[leaves.symbol[leaves.terminal == x]].tolist())
        assert mine == ({family} if family >= 0 else set(range(N_FAMILIES)))
    for one, other in zip(reader.read(spelt, 0.0)[1], reader.read(spelt, 0.0, np.full_like(given, -1))[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_known_family_is_as_likely_as_its_spelling_makes_it() -> None:
    """p(a, x) = p(a, s) P(f | x) / P(f | s) still, and never zero."""
    words = lexicon()
    reader, model, prior = of(words, all_pairs(words))
    assert words.spelling is not None
    at = model.rules.leaf[:, 1] == words.signature("barking")
    total = (model.leaf[at, 0] * prior[model.rules.leaf[at, 0]]).sum()
    p = words.spelling.posterior(["barking"], [False])[0]
    for family in range(N_FAMILIES):
        leaves = reader.leaves(["barking"], [False], 1.0, np.array([family]))
        assert set(FAMILY[leaves.symbol].tolist()) == {family}
        joint = model.leaf[leaves.source, 0] * leaves.factor * prior[leaves.symbol]
        assert joint.sum() / total == pytest.approx(max(p[family], 1e-12))


def test_a_known_family_that_spelling_rules_out_is_unlikely_but_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    words = lexicon()
    reader, _, _ = of(words, all_pairs(words))
    monkeypatch.setattr(
        SpellingModel, "posterior", lambda _self, spelt, _opens=None: np.eye(N_FAMILIES)[np.zeros(len(spelt), int)]
    )
    for family, factor in ((0, 1.0), (1, 1e-12), (2, 1e-12)):
        leaves = reader.leaves(["barking"], [False], 0.0, np.array([family]))
        assert set(FAMILY[leaves.symbol].tolist()) == {family}
        np.testing.assert_allclose(leaves.factor * reader.share[leaves.source], factor)
    assert set(reader.leaves(["barking"], [False], 0.0).symbol.tolist()) == {0}


def test_a_known_family_that_no_signature_has_takes_its_direction_from_its_commonest_word() -> None:
    words = lexicon()
    pairs = all_pairs(words)
    reader, model, prior = of(words, pairs[(pairs[:, 0] != 3) | (pairs[:, 1] < len(KNOWN))])
    joint = model.leaf[:, 0] * prior[model.rules.leaf[:, 0]]
    mine = np.flatnonzero(model.rules.leaf[:, 0] == 3)
    commonest = model.rules.leaf[mine[np.argmax(joint[mine])], 1]
    _, leaves = reader.read([["the", "barking"]], 0.0, np.array([-1, 2]))
    assert model.rules.leaf[leaves.source].tolist() == [[3, commonest]]
    _, anything = reader.read([["the", "barking"]], 0.0, np.array([-1, -1]))
    assert 3 not in anything.symbol


def test_a_lexicon_without_spellings_is_refused() -> None:
    with pytest.raises(ValueError, match="no spellings"):
        UnseenWords(Lexicon(["a"]), np.array([[0, 0]]), np.ones(1), np.ones(1), np.zeros(1, dtype=np.int64))

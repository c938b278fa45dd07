"""Leaf rules of sentences: known words have theirs; unseen ones shares of spelling and directions of signatures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.lexicon import EncodedWords, Lexicon, SpellingModel, WordEncoder
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Rules

KNOWN = ["the", "walking", "talking", "walked", "talked", "Anna", "cat", "cats"]
TAG_OF_SYMBOL = np.array([0, 1, 1, 2, -1])  # of five symbols, the last of which is over no word
N_TAGS = 3

unseen = st.sampled_from(["barking", "barked", "Berta", "dog", "dogs", "X-1", "東京"])
sentences = st.lists(st.lists(st.one_of(unseen, st.sampled_from(KNOWN)), max_size=5), max_size=4)


def lexicon() -> Lexicon:
    symbols = np.array([0, 1, 1, 2, 2, 0, 1, 1])
    return Lexicon(KNOWN, SpellingModel.train(KNOWN, np.arange(8), symbols, n_symbols=N_TAGS))


def operators(rules: np.ndarray, seed: int = 0) -> ObservableOperators:
    """One-state operators of these leaf rules."""
    weight = np.random.default_rng(seed).uniform(0.01, 1, (len(rules), 1))
    table = Rules(rules, np.empty((0, 2), dtype=np.int64), np.empty((0, 3), dtype=np.int64))
    return ObservableOperators(table, np.ones(5, dtype=np.int64), np.ones((5, 1)), weight, np.empty((0, 1, 1)), [])


def all_pairs(words: Lexicon) -> np.ndarray:
    return np.array([(a, x) for a in range(4) for x in range(words.n_terminals)])


def of(words: Lexicon, rules: np.ndarray, least: float = 0.0) -> tuple[WordEncoder, ObservableOperators, FloatArray]:
    """With random weights and shares of symbols."""
    model, prior = operators(rules), np.random.default_rng(1).dirichlet(np.ones(5))
    return WordEncoder(words, model, prior, TAG_OF_SYMBOL, least), model, prior


def rows_of(found: EncodedWords, place: int) -> np.ndarray:
    """The rules over the word of a place."""
    return np.flatnonzero(found.rules[:, 1] == found.word[place])


def inside_of(encoder: WordEncoder, word: str, tag: int = -1) -> tuple[EncodedWords, np.ndarray]:
    """A word within a sentence, and the rules over it."""
    found = encoder.encode([["the", word]], np.array([-1, tag]))
    return found, rows_of(found, 1)


@given(sentences)
def test_equal_words_have_one_number_and_known_ones_their_own_rules(rows: list[list[str]]) -> None:
    """An unseen word is another where it opens a sentence."""
    words = lexicon()
    pairs = all_pairs(words)
    encoder, model, _ = of(words, pairs[pairs[:, 0] + pairs[:, 1] != 3])
    found = encoder.encode(rows)
    flat = [(word, at == 0) for row in rows for at, word in enumerate(row)]
    name: dict[int, object] = {}
    for place, (word, opens) in enumerate(flat):
        terminal = words.terminal(word, opens=opens)
        is_known = terminal < len(KNOWN)
        assert name.setdefault(int(found.word[place]), terminal if is_known else (word, opens)) == (
            terminal if is_known else (word, opens)
        )
        if is_known:
            mine = rows_of(found, place)
            theirs = np.flatnonzero(model.rules.leaf[:, 1] == terminal)
            assert found.source[mine].tolist() == theirs.tolist()
            assert (found.factor[mine] == 1.0).all() and found.likely[mine].all()
    assert len(set(name.values())) == len(name)
    assert sorted({*name, found.any_word}) == list(range(found.any_word + 1))


@given(sentences)
def test_rules_are_a_table_of_symbols_and_words(rows: list[list[str]]) -> None:
    """In lexicographic order, each once, and each with the symbol of its source."""
    words = lexicon()
    encoder, model, _ = of(words, all_pairs(words))
    found = encoder.encode(rows)
    np.testing.assert_array_equal(np.unique(found.rules, axis=0), found.rules)
    np.testing.assert_array_equal(model.rules.leaf[found.source, 0], found.rules[:, 0])
    restricted = found.restrict(model)
    np.testing.assert_array_equal(restricted.leaf[:, 0], model.leaf[found.source, 0] * found.factor)
    np.testing.assert_array_equal(restricted.rules.leaf, found.rules)
    any_word = found.rules[:, 1] == found.any_word
    of_unknown = model.rules.leaf[:, 1] == words.unknown
    np.testing.assert_array_equal(restricted.leaf[any_word], 1e-3 * model.leaf[of_unknown])


@given(sentences, st.integers(0, 10))
def test_rules_do_not_depend_on_what_was_looked_up_before(rows: list[list[str]], remembered: int) -> None:
    """However few words are remembered, each place has the rules that a new encoder finds for it."""
    words = lexicon()
    used, model, _ = of(words, all_pairs(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spectral_latent.lexicon.lexicon._REMEMBERED", remembered)
        for row in [*rows, *rows]:
            found, alone = used.encode([row]), of(words, all_pairs(words))[0].encode([row])
            for one, other in zip(found, alone, strict=True):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(found.restrict(model).leaf, alone.restrict(model).leaf)


@given(unseen, st.booleans())
def test_tags_have_the_shares_of_spelling_and_symbols_those_of_the_signature(word: str, opens: bool) -> None:
    """p(a, x) = p(a, s) P(f | x) / P(f | s): all in all, x is as probable as s."""
    words = lexicon()
    encoder, model, prior = of(words, all_pairs(words))
    found = encoder.encode([[word]] if opens else [["the", word]])
    mine = rows_of(found, -1)
    symbol = found.rules[mine, 0]
    assert symbol.tolist() == [0, 1, 2, 3]
    joint = found.restrict(model).leaf[mine, 0] * prior[symbol]
    at = model.rules.leaf[:, 1] == words.signature(word)
    at_signature = dict(zip(model.rules.leaf[at, 0], model.leaf[at, 0] * prior[model.rules.leaf[at, 0]], strict=True))
    total = sum(at_signature.values())
    assert words.spelling is not None
    share = np.bincount(TAG_OF_SYMBOL[symbol], joint) / total
    np.testing.assert_allclose(share, words.spelling.posterior([word], [opens])[0])
    within = dict(zip(symbol.tolist(), joint, strict=True))
    assert within[1] / within[2] == pytest.approx(at_signature[1] / at_signature[2])


def test_a_tag_that_the_signature_lacks_takes_its_direction_from_all_words() -> None:
    words = lexicon()
    signature, pairs = words.signature("barking"), all_pairs(words)
    kept = pairs[~((pairs[:, 0] == 3) & (pairs[:, 1] == signature))]
    encoder, model, _ = of(words, kept)
    found, mine = inside_of(encoder, "barking")
    source = dict(zip(found.rules[mine, 0].tolist(), model.rules.leaf[found.source[mine], 1].tolist(), strict=True))
    assert source == {0: signature, 1: signature, 2: signature, 3: words.unknown}


def test_a_tag_without_any_rule_emits_nothing_and_a_word_always_has_one() -> None:
    """The likeliest tag of those that can emit it is likely, whatever `least` says."""
    words = lexicon()
    pairs = all_pairs(words)
    for least in (0.0, 1.0):
        encoder, _, _ = of(words, pairs[(pairs[:, 0] != 3) | (pairs[:, 1] < len(KNOWN))], least)
        for word in ("barked", "barking"):
            found, mine = inside_of(encoder, word)
            assert 3 not in found.rules[mine, 0]
            assert found.likely[mine].any()


def test_unlikely_tags_are_marked() -> None:
    words = lexicon()
    assert words.spelling is not None
    p = words.spelling.posterior(["barking"])[0]
    encoder, _, _ = of(words, all_pairs(words), least=float(np.sort(p)[1]))
    found, mine = inside_of(encoder, "barking")
    likely = mine[found.likely[mine]]
    assert set(TAG_OF_SYMBOL[found.rules[mine, 0]].tolist()) == {0, 1, 2}
    assert set(TAG_OF_SYMBOL[found.rules[likely, 0]].tolist()) == set(np.argsort(p)[1:].tolist())


tags = st.integers(-1, N_TAGS - 1)


@given(st.lists(st.lists(st.tuples(st.one_of(unseen, st.sampled_from(KNOWN)), tags), max_size=5), max_size=4))
def test_words_of_a_known_tag_have_rules_of_that_tag_alone(rows: list[list[tuple[str, int]]]) -> None:
    """Also a known word that was never seen with it; without a tag, words have all their rules."""
    words = lexicon()
    seen = np.array([(0, 0), (0, 5), (1, 1), (2, 2), (1, 6), (2, 7), (3, 3), (3, 4)])
    signatures = all_pairs(words)[np.tile(np.arange(words.n_terminals), 4) >= len(KNOWN)]
    pairs = np.concatenate([seen, signatures])
    encoder, _, _ = of(words, pairs[np.lexsort(pairs.T[::-1])])
    given = np.array([tag for row in rows for _, tag in row], dtype=np.int64)
    spelt = [[word for word, _ in row] for row in rows]
    found = encoder.encode(spelt, given)
    flat = [(word, at == 0) for row in spelt for at, word in enumerate(row)]
    number: dict[object, int] = {}
    for place, ((word, opens), tag) in enumerate(zip(flat, given.tolist(), strict=True)):
        terminal = words.terminal(word, opens=opens)
        has = {int(TAG_OF_SYMBOL[a]) for a, y in seen if y == terminal}
        is_known = terminal < len(KNOWN) and (tag < 0 or tag in has)
        assert found.word[place] == number.setdefault((terminal if is_known else (word, opens), tag), found.word[place])
        mine = rows_of(found, place)
        expected = {tag} if tag >= 0 else has if is_known else set(range(N_TAGS))
        assert set(TAG_OF_SYMBOL[found.rules[mine, 0]].tolist()) == expected
        assert (found.factor[mine] == 1.0).all() or not is_known
    assert len(set(number.values())) == len(number)
    for one, other in zip(encoder.encode(spelt), encoder.encode(spelt, np.full_like(given, -1)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_known_tag_is_as_likely_as_its_spelling_makes_it() -> None:
    """p(a, x) = p(a, s) P(f | x) / P(f | s) still, and never zero."""
    words = lexicon()
    encoder, model, prior = of(words, all_pairs(words), least=1.0)
    assert words.spelling is not None
    at = model.rules.leaf[:, 1] == words.signature("barking")
    total = (model.leaf[at, 0] * prior[model.rules.leaf[at, 0]]).sum()
    p = words.spelling.posterior(["barking"], [False])[0]
    for tag in range(N_TAGS):
        found, mine = inside_of(encoder, "barking", tag)
        assert set(TAG_OF_SYMBOL[found.rules[mine, 0]].tolist()) == {tag}
        assert found.likely[mine].all()
        joint = found.restrict(model).leaf[mine, 0] * prior[found.rules[mine, 0]]
        assert joint.sum() / total == pytest.approx(max(p[tag], 1e-12))


def test_a_known_tag_that_no_signature_has_takes_its_direction_from_its_commonest_word() -> None:
    words = lexicon()
    pairs = all_pairs(words)
    encoder, model, prior = of(words, pairs[(pairs[:, 0] != 3) | (pairs[:, 1] < len(KNOWN))])
    joint = model.leaf[:, 0] * prior[model.rules.leaf[:, 0]]
    mine = np.flatnonzero(model.rules.leaf[:, 0] == 3)
    commonest = model.rules.leaf[mine[np.argmax(joint[mine])], 1]
    found, rows = inside_of(encoder, "barking", 2)
    assert model.rules.leaf[found.source[rows]].tolist() == [[3, commonest]]
    found, rows = inside_of(encoder, "barking")
    assert 3 not in found.rules[rows, 0]

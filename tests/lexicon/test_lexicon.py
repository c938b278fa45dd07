"""Signatures and chains against plain recursion, in several scripts."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.lexicon import Lexicon, signatures
from spectral_latent.lexicon.spelling import DEPTH

words = st.one_of(
    st.text(max_size=8),
    st.text(alphabet="aAbB1-.", max_size=6),
    st.from_regex(r"[A-Z]?[a-z]{1,6}(ing|ed|s)?", fullmatch=True),
)


@pytest.mark.parametrize(
    ("word", "shape", "suffix"),
    [
        ("walking", "x", "ing"),
        ("Walking", "Xx", "ing"),
        ("NASA", "X", "asa"),
        ("well-known", "x-x", "own"),
        ("U.S.", "X.X.", ".s."),
        ("'s", "'x", "'s"),
        ("x", "x", "x"),
        ("don't", "x'x", "n't"),
        ("Ωμέγα", "Xx", "έγα"),  # Greek
        ("السلام", "x", "لام"),  # Arabic has no capitals
        ("हिन्दी", "x", "्दी"),  # Devanagari: marks are parts of words
        ("東京", "x", "東京"),  # shorter than a suffix
        ("ǅ", "X", "ǆ"),  # titlecase
        ("😀", "😀", "😀"),
        ("COVID-19", "X-d", "-19"),
        ("a1b2c3d4e5", "xdxdxd", "4e5"),
        ("1990", "d", ""),
        ("1,000.5", "d,d.d", ""),
        ("٣٤", "d", ""),
        ("½", "d", ""),
        ("3rd", "dx", ""),
    ],
)
def test_signatures_are_a_shape_and_shorter_and_shorter_suffixes(word: str, shape: str, suffix: str) -> None:
    """A shape has up to six classes; what begins with a digit has no suffix."""
    assert list(signatures(word)) == [*((shape, suffix[at:]) for at in range(len(suffix))), (shape,), ()]


vocabularies = st.lists(words, max_size=12).map(lambda found: [*found, "seed"])


@given(vocabularies)
def test_terminals_are_words_then_signatures(vocabulary: list[str]) -> None:
    lexicon = Lexicon(vocabulary)
    distinct = list(dict.fromkeys(vocabulary))
    assert lexicon.words == lexicon.terminals.names[: len(distinct)] == distinct
    rest = lexicon.terminals.names[len(distinct) :]
    assert set(rest) == {signature for word in distinct for signature in signatures(word)}
    assert len(set(rest)) == len(rest)
    assert lexicon.n_terminals == len(lexicon.terminals)
    assert lexicon.terminals.names[lexicon.unknown] == ()
    for number, word in enumerate(distinct):
        assert lexicon.terminal(word) == lexicon.terminal(word, opens=True) == number


@given(vocabularies)
def test_ladders_are_signatures_from_the_coarsest_on(vocabulary: list[str]) -> None:
    lexicon = Lexicon(vocabulary)
    chains = lexicon.signature_chains()
    assert chains.shape == (len(lexicon.terminals), DEPTH)
    ladder_of: dict[object, list] = {}
    for word in lexicon.words:
        chain = list(signatures(word))[::-1]
        ladder_of[word] = chain
        for level, signature in enumerate(chain, start=1):
            ladder_of[signature] = chain[:level]
    for terminal, name in enumerate(lexicon.terminals):
        chain = [lexicon.terminals[signature] for signature in ladder_of[name]]
        assert chains[terminal].tolist() == chain + [-1] * (DEPTH - len(chain))


@given(vocabularies, words)
def test_an_unseen_word_is_the_finest_signature_that_a_known_word_has(vocabulary: list[str], word: str) -> None:
    lexicon = Lexicon(vocabulary)
    known = {signature for seen in lexicon.words for signature in signatures(seen)}
    marks = any(unicodedata.category(character)[0] == "P" for character in word)  # which may have other spellings
    if word not in lexicon.words and not marks:
        expected = next(signature for signature in signatures(word) if signature in known)
        assert lexicon.terminals.names[lexicon.terminal(word)] == expected
    assert lexicon.terminals_of([word, word]).tolist() == [lexicon.terminal(word, opens=True), lexicon.terminal(word)]


def test_the_first_word_of_a_sentence_may_be_known_in_lower_case() -> None:
    lexicon = Lexicon(["the", "dog", "Dog", "-LRB-", "]"])
    capitalised, shared = lexicon.terminals[("Xx",)], lexicon.terminals[()]
    assert lexicon.terminals_of(["The", "The", "DOG"]).tolist() == [0, capitalised, shared]
    assert lexicon.terminals_of(["Dog"]).tolist() == [2]  # as it was written comes first
    assert lexicon.terminals_of(["DOG"]).tolist() == [1]
    assert Lexicon(["the"]).are_known(["The", "zthe"]).tolist() == [True, False]


def test_brackets_are_known_in_either_spelling() -> None:
    lexicon = Lexicon(["-LRB-", "]", "a"])
    assert lexicon.terminals_of(["a", "(", "-LRB-", "]", "-RSB-"]).tolist() == [2, 0, 0, 1, 1]


def test_marks_are_known_in_other_spellings() -> None:
    lexicon = Lexicon(["``", '"', "--", "n't", "'"])
    assert lexicon.terminals_of(["“", "”", "''", "—", "–", "n’t", "’"]).tolist() == [0, 1, 1, 2, 2, 3, 4]
    assert lexicon.terminals_of(["x", "...", "`"]).tolist()[1:] == [lexicon.signature("..."), 4]
    assert Lexicon(["`", "’"]).terminals_of(["x", "'"])[1] == 1

"""Types and the features of their spelling, against counting and spelling by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.anchors.vocabulary import SpellingFeatures, Types

word = st.text(alphabet=st.one_of(st.sampled_from("aAbB1-'"), st.characters(exclude_categories=())), max_size=6)
texts = st.lists(st.lists(word, min_size=1, max_size=6), max_size=8)


# ---------------------------------------------------------------------------------------------------------------------
# Types


def capitalised(sentences: list[list[str]], name: str) -> float:
    """The share of capitalised tokens: of those within sentences, or of all where there are none."""
    within = [word for words in sentences for word in words[1:] if word.lower() == name]
    tokens = within or [words[0] for words in sentences if words[0].lower() == name]
    return sum(word[:1].isupper() for word in tokens) / len(tokens)


@given(texts)
def test_types_are_those_of_a_counter(sentences: list[list[str]]) -> None:
    types = Types.of(sentences)
    tally = Counter(word.lower() for words in sentences for word in words)
    assert list(zip(types.names, types.tokens.tolist(), strict=True)) == tally.most_common()  # ties as they appear
    assert types.capital.tolist() == [capitalised(sentences, name) for name in types.names]
    again = [[types.names[x] for x in row] for row in np.split(types.sequences.terminal, types.sequences.start[1:-1])]
    assert (again if sentences else []) == [[word.lower() for word in words] for words in sentences]


@given(texts.filter(len), st.data())
def test_an_empty_sentence_is_an_error(sentences: list[list[str]], data: st.DataObject) -> None:
    where = data.draw(st.integers(0, len(sentences)))
    with pytest.raises(ValueError, match=rf"{where + 1} is empty"):
        Types.of([*sentences[:where], [], *sentences[where:]])


def test_sentences_may_come_from_a_generator() -> None:
    types = Types.of(words.split() for words in ("b a", "a"))
    assert types.names == ["a", "b"]
    assert types.sequences.terminal.tolist() == [1, 0, 0]


def test_what_begins_a_sentence_tells_of_capitals_only_if_nothing_else_does() -> None:
    types = Types.of([["May", "may", "May", "Rome"], ["May", "I"], ["Oslo", "may"], ["oslo"]])
    found = dict(zip(types.names, types.capital.tolist(), strict=True))
    assert found == {"may": 1 / 3, "rome": 1.0, "i": 1.0, "oslo": 0.5}


def test_scripts_without_capitals_and_letters_that_become_two() -> None:
    types = Types.of([["我", "喜欢"], ["x", "İ", "ẞ", "٣", "ß"]])
    assert types.names == ["ß", "我", "喜欢", "x", "i̇", "٣"]
    assert types.capital.tolist() == [0.5, 0.0, 0.0, 0.0, 1.0, 0.0]


# ---------------------------------------------------------------------------------------------------------------------
# Spelling


def spelt(name: str, capital: float) -> dict[str, float]:
    """The features of a word in lower case that are not zero."""
    found = {"capital": capital, "no capital": 1.0 - capital}
    found["hyphen" if "-" in name else "no hyphen"] = 1.0
    found["digit" if any(c.isdigit() for c in name) else "no digit"] = 1.0
    found |= {"-" + name[i:]: 1.0 for i in range(max(len(name) - 3, 0), len(name))}
    return {feature: value for feature, value in found.items() if value}


@given(st.lists(word.map(str.lower), max_size=8), st.lists(word.map(str.lower), max_size=4), st.floats(0, 1))
def test_features_are_those_spelt_by_hand(known: list[str], unseen: list[str], share: float) -> None:
    features = SpellingFeatures.of(known)
    every = {name for word in known for name in spelt(word, 0.0)} | {"capital", "no capital"}
    assert set(features.names) == every
    assert len(features.names) == len(every)
    words = known + unseen
    matrix = features.matrix(words, np.full(len(words), share))
    assert matrix.shape == (len(words), len(every))
    for row, name in zip(matrix.toarray(), words, strict=True):
        found = {feature: value for feature, value in zip(features.names, row.tolist(), strict=True) if value}
        assert found == {feature: value for feature, value in spelt(name, share).items() if feature in every}


def test_names_of_features_are_all_there_is_to_save() -> None:
    words = ["a-1", "well-known", "42", "喜欢", "--", ""]
    features = SpellingFeatures.of(words)
    again = SpellingFeatures(features.names)
    capital = np.linspace(0, 1, 6)
    assert again.names == features.names
    assert (again.matrix(words, capital) != features.matrix(words, capital)).nnz == 0


def test_suffixes_that_look_like_the_names_of_other_features_do_not_collide() -> None:
    features = SpellingFeatures.of(["hyphen", "git", "-"])
    assert "hyphen" in features.names  # of "-"
    assert {"-hen", "-git", "--"} <= set(features.names)
    row = dict(zip(features.names, features.matrix(["hyphen"], np.zeros(1)).toarray()[0].tolist(), strict=True))
    assert row["hyphen"] == 0.0
    assert row["no hyphen"] == 1.0


def test_no_words_have_no_rows() -> None:
    assert SpellingFeatures.of(["a"]).matrix([], np.zeros(0)).shape == (0, 5)

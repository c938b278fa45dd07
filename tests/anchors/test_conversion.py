"""WordTypes and the features of their spelling, against counting and spelling by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.anchors.hulls import WordTypes

letters = st.one_of(st.sampled_from("aAbB1-'"), st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs")))
word = st.text(alphabet=letters, min_size=1, max_size=6)  # words that files can hold
texts = st.lists(st.lists(word, min_size=1, max_size=6), max_size=8)


# ---------------------------------------------------------------------------------------------------------------------
# WordTypes


def capitalised(sentences: list[list[str]], name: str) -> float:
    """The share of capitalised tokens: of those within sentences, or of all where there are none."""
    within = [word for words in sentences for word in words[1:] if word.lower() == name]
    tokens = within or [words[0] for words in sentences if words[0].lower() == name]
    return sum(word[:1].isupper() for word in tokens) / len(tokens)


@given(texts)
def test_types_are_those_of_a_counter(sentences: list[list[str]]) -> None:
    types = WordTypes.of(sentences)
    tally = Counter(word.lower() for words in sentences for word in words)
    assert list(zip(types.names, types.tokens.tolist(), strict=True)) == tally.most_common()  # ties as they appear
    assert types.capital.tolist() == [capitalised(sentences, name) for name in types.names]
    again = [[types.names[x] for x in row] for row in np.split(types.sequences.terminal, types.sequences.start[1:-1])]
    assert (again if sentences else []) == [[word.lower() for word in words] for words in sentences]


@given(texts.filter(len), st.data())
def test_an_empty_sentence_is_an_error(sentences: list[list[str]], data: st.DataObject) -> None:
    where = data.draw(st.integers(0, len(sentences)))
    with pytest.raises(ValueError, match=rf"{where + 1} is empty"):
        WordTypes.of([*sentences[:where], [], *sentences[where:]])


def test_what_begins_a_sentence_tells_of_capitals_only_if_nothing_else_does() -> None:
    types = WordTypes.of([["May", "may", "May", "Rome"], ["May", "I"], ["Oslo", "may"], ["oslo"]])
    found = dict(zip(types.names, types.capital.tolist(), strict=True))
    assert found == {"may": 1 / 3, "rome": 1.0, "i": 1.0, "oslo": 0.5}


def test_scripts_without_capitals_and_letters_that_become_two() -> None:
    types = WordTypes.of([["我", "喜欢"], ["x", "İ", "ẞ", "٣", "ß"]])
    assert types.names == ["ß", "我", "喜欢", "x", "i̇", "٣"]
    assert types.capital.tolist() == [0.5, 0.0, 0.0, 0.0, 1.0, 0.0]

"""Features of spelling, against spelling by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.anchors.hulls import spelling_counts, spelling_features

word = st.text(alphabet=st.one_of(st.sampled_from("aAbB1-'"), st.characters(exclude_categories=())), max_size=6)


def spelt(name: str, capital: float) -> dict[str, float]:
    """The features of a word in lower case that are not zero."""
    found = {"capital": capital, "no capital": 1.0 - capital}
    found["hyphen" if "-" in name else "no hyphen"] = 1.0
    found["digit" if any(c.isdigit() for c in name) else "no digit"] = 1.0
    found |= {"-" + name[i:]: 1.0 for i in range(max(len(name) - 3, 0), len(name))}
    return {feature: value for feature, value in found.items() if value}


@given(st.lists(word.map(str.lower), max_size=8), st.lists(word.map(str.lower), max_size=4), st.floats(0, 1))
def test_features_are_those_spelt_by_hand(known: list[str], unseen: list[str], share: float) -> None:
    features = spelling_features(known)
    every = {name for word in known for name in spelt(word, 0.0)} | {"capital", "no capital"}
    assert set(features.names) == every
    assert len(features.names) == len(every)
    words = known + unseen
    matrix = spelling_counts(features, words, np.full(len(words), share))
    assert matrix.shape == (len(words), len(every))
    for row, name in zip(matrix.toarray(), words, strict=True):
        found = {feature: value for feature, value in zip(features.names, row.tolist(), strict=True) if value}
        assert found == {feature: value for feature, value in spelt(name, share).items() if feature in every}


def test_suffixes_that_look_like_the_names_of_other_features_do_not_collide() -> None:
    features = spelling_features(["hyphen", "git", "-"])
    assert "hyphen" in features.names  # of "-"
    assert {"-hen", "-git", "--"} <= set(features.names)
    row = dict(
        zip(features.names, spelling_counts(features, ["hyphen"], np.zeros(1)).toarray()[0].tolist(), strict=True)
    )
    assert row["hyphen"] == 0.0
    assert row["no hyphen"] == 1.0

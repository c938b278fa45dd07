"""Universal tags of Universal Dependencies."""

from __future__ import annotations

import pytest

from spectral_latent.corpora import UNIVERSAL_TAGS, universal_tag

OWN = ["ADJ", "ADP", "ADV", "DET", "NOUN", "NUM", "PRON", "VERB", "X"]
UPOS = [*OWN, "AUX", "CCONJ", "INTJ", "PART", "PROPN", "PUNCT", "SCONJ", "SYM"]


def test_every_upos_has_a_universal_tag_and_every_universal_tag_an_upos() -> None:
    assert {universal_tag(tag) for tag in UPOS} == set(UNIVERSAL_TAGS)
    assert [universal_tag(tag) for tag in OWN] == OWN
    assert [universal_tag(tag) for tag in UNIVERSAL_TAGS] == list(UNIVERSAL_TAGS)


@pytest.mark.parametrize("tag", ["NNP", "_", "", "propn"])
def test_other_tags_are_an_error(tag: str) -> None:
    with pytest.raises(ValueError, match="neither a UPOS tag"):
        universal_tag(tag)

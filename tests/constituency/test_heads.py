"""Heads of phrases that the table does not know."""

from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency.conversion import find_head

PUNCTUATION = st.sampled_from([",", ".", "``", "-LRB-", ":"])
CHILDREN = st.lists(st.sampled_from(["sn", "S.F.C", "grup.nom.ms", "noun", "$"]) | PUNCTUATION, min_size=1, max_size=7)


@given(st.sampled_from(["S.F.C", "grup.nom.ms", "sn", "smain", "ppart"]), CHILDREN)
def test_an_unknown_phrase_is_headed_by_its_last_child_that_is_no_punctuation(label: str, children: list[str]) -> None:
    content = [at for at, child in enumerate(children) if child == "$" or any(map(str.isalnum, child))]
    content = [at for at in content if children[at] != "-LRB-"]
    assert find_head(label, children) == (content[-1] if content else 0)

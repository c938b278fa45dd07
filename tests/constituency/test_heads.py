"""Heads of phrases, by the table and without it."""

from itertools import combinations

import pytest
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


# The table of Collins (1999), appendix A, written out once more: where to begin, and labels of falling priority.
COLLINS = """
ADJP left NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP right RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP right CC RB IN
FRAG right
INTJ left
LST right LS :
NAC left NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
PP right IN TO VBG VBN RP FW
PRN left
PRT right RP
QP left $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC right VP NP ADVP ADJP PP
S left TO IN VP S SBAR ADJP UCP NP
SBAR left WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ left SQ S SINV SBARQ FRAG
SINV left VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ left VBZ VBD VBP VB MD VP SQ
UCP right
VP left TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP left CC WRB JJ ADJP
WHADVP right CC WRB
WHNP left WDT WP WP$ WHADJP WHPP WHNP
WHPP right IN TO FW
""".strip().splitlines()


@pytest.mark.parametrize("row", COLLINS, ids=lambda row: row.split()[0])
def test_the_table_is_that_of_collins(row: str) -> None:
    """Of two labels the earlier one is the head on either side, and of equal ones that of the side to begin with."""
    label, side, *labels = row.split()
    for better, worse in combinations(labels, 2):
        assert find_head(label, [better, worse]) == 0 and find_head(label, [worse, better]) == 1
    for name in [*labels, "ZZ"]:  # a label that no row has
        assert find_head(label, [name, "YY", name]) == (0 if side == "left" else 2)


@pytest.mark.parametrize(
    ("children", "head"),
    [
        (["NN", "NNS", "POS"], 2),
        (["JJR", "NP"], 0),
        (["NN", "NP", "NNS"], 2),
        (["NP", "JJ", "NP"], 0),
        (["ADJP", "PRN", "CD"], 1),
        (["CD", "JJ"], 0),
        (["QP", "DT", "RB"], 2),
    ],
)
def test_noun_phrases_have_steps_of_their_own(children: list[str], head: int) -> None:
    assert find_head("NP", children) == find_head("NX", children) == find_head("NML", children) == head


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("ADVP", ["RB", "CC", "RB"], 0),
        ("ADVP", ["RB", ",", "CC", "RB"], 3),  # no comma is a head
        ("NP", ["NN", "CC", "NN"], 0),
        ("VP", ["VBD", "CC", "VBD"], 0),
        ("ADVP", ["CC", "RB"], 1),
    ],
)
def test_the_first_of_two_coordinated_children_is_the_head(label: str, children: list[str], head: int) -> None:
    assert find_head(label, children) == head

"""Phrases of any depth, their binarisation and its inverse."""

import copy
import pickle
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Binarisation, Phrase, PhraseSymbol, clean
from spectral_latent.constituency.conversion import convert_trees, find_head, make_phrase
from spectral_latent.corpora import parse_brackets
from spectral_latent.trees import SkeletalTrees, Vocabulary

LABELS = st.sampled_from(["S", "NP", "VP", "PP", "@NP", "NP|NN", "@", "X^Y", "."])
WORDS = st.text(min_size=1, max_size=4)
PHRASES = st.recursive(
    st.builds(lambda label, word: Phrase(label, (word,)), LABELS, WORDS),
    lambda children: st.builds(
        lambda label, parts: Phrase(label, tuple(parts)), LABELS, st.lists(children, min_size=1, max_size=5)
    ),
    max_leaves=25,
)
BINARISATIONS = st.builds(
    Binarisation, st.sampled_from(["head", "first", "last"]), st.integers(0, 2), st.integers(0, 2)
)


class Encoded(NamedTuple):
    """s-trees, and the names of their symbols and terminals."""

    trees: SkeletalTrees
    symbols: list[PhraseSymbol]
    words: list[str]


def encoded(phrases: list[Phrase], binarisation: Binarisation) -> Encoded:
    symbols, words = Vocabulary[PhraseSymbol](), Vocabulary[str]()
    return Encoded(convert_trees(phrases, binarisation, symbols, words).trees, symbols.names, words.names)


@given(PHRASES, BINARISATIONS)
def test_binarisation_and_collapsing_are_undone_exactly(phrase: Phrase, binarisation: Binarisation) -> None:
    found = encoded([phrase], binarisation)
    assert make_phrase(found.trees, found.symbols, list(phrase.words())) == phrase
    converted = convert_trees([phrase], binarisation, Vocabulary(), Vocabulary())
    assert not converted.head_is_right[converted.trees.is_leaf].any()


def rules(text: str, binarisation: Binarisation) -> list[str]:
    """The binary rules of one tree's s-tree, top down, in a readable notation."""
    found = encoded(list(parse_brackets(text)), binarisation)
    trees = found.trees

    def name(number: int) -> str:
        symbol = found.symbols[number]
        memory = f"[{','.join(symbol.memory)}]" if symbol.memory else ""
        return "@" * symbol.bar + "+".join(symbol.chain) + memory

    return [
        f"{name(trees.symbol[node])} → {name(trees.symbol[trees.left[node]])} {name(trees.symbol[trees.right[node]])}"
        for node in range(trees.n_nodes - 1, -1, -1)
        if trees.is_binary[node]
    ]


TREE = "(VP (ADVP a) (VB b) (NP c) (PP d))"


def test_left_children_hang_above_right_ones() -> None:
    assert rules(TREE, Binarisation("head")) == ["VP → ADVP @VP", "@VP → @VP PP", "@VP → VB NP"]
    assert rules(TREE, Binarisation("first")) == ["VP → @VP PP", "@VP → @VP NP", "@VP → ADVP VB"]
    assert rules(TREE, Binarisation("last")) == ["VP → ADVP @VP", "@VP → VB @VP", "@VP → NP PP"]


def test_bars_remember_siblings_and_phrases_their_parents() -> None:
    assert rules(TREE, Binarisation("head", siblings=1)) == [
        "VP → ADVP @VP[PP]",
        "@VP[PP] → @VP[NP] PP",
        "@VP[NP] → VB NP",
    ]
    nested = "(S (NP (NN a) (PP (IN b) (NP (NN c) (NN d)))) (VP e))"
    assert rules(nested, Binarisation("head", parents=1)) == [
        "S[] → NP[S] VP[S]",
        "NP[S] → NN[NP] PP[NP]",
        "PP[NP] → IN[PP] NP[PP]",
        "NP[PP] → NN[NP] NN[NP]",
    ]
    chain = "(S (NP (NX (NN a) (NN b))) (VP c))"  # a phrase remembers the lowest label of the chain above
    assert rules(chain, Binarisation("head", parents=1)) == ["S[] → NP+NX[S] VP[S]", "NP+NX[S] → NN[NX] NN[NX]"]


def test_written_labels_have_no_white_space_of_any_script() -> None:
    for space in filter(str.isspace, map(chr, range(0x3001))):
        assert Phrase(f"N{space}P", ("a",)).bracketed() == "(N_P a)"


def test_trees_of_any_depth_are_copied_compared_cleaned_and_converted() -> None:
    def deep(word: str) -> Phrase:
        tree = Phrase("N", (word,))
        for _ in range(5_000):  # far beyond the depth of Python's calls
            tree = Phrase("S", (Phrase("N", ("a",)), tree))
        return tree

    tree = deep("b")
    assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == tree == clean(tree)
    assert len({tree, deep("b"), deep("c")}) == 2
    found = encoded([tree], Binarisation())
    assert make_phrase(found.trees, found.symbols, list(tree.words())) == tree


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

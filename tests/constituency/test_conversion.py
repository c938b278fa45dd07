"""Cleaning, binarisation and its inverse."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Binarisation, Phrase, PhraseSymbol, clean
from spectral_latent.constituency.conversion import convert_trees, make_phrase
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


def test_no_phrases_are_no_trees() -> None:
    found = encoded([], Binarisation())
    assert found.trees.n_nodes == len(found.trees.root) == len(found.symbols) == len(found.words) == 0


def one(text: str) -> Phrase:
    (phrase,) = parse_brackets(text)
    return phrase


def rules(text: str, binarisation: Binarisation) -> list[str]:
    """The binary rules of one tree's s-tree, top down, in a readable notation."""
    found = encoded([one(text)], binarisation)
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


def test_binarisation_from_the_first_and_last_child() -> None:
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


@pytest.mark.parametrize(
    ("annotated", "cleaned"),
    [
        (
            "( (S (NP-SBJ-1 (NNP A)) (VP (VBZ b) (S (NP-SBJ (-NONE- *-1)) (VP (VB c))))))",
            "(S (NP (NNP A)) (VP (VBZ b) (S (VP (VB c)))))",
        ),
        ("(TOP (S (NP (NP (NN a))) (VP (VB b))))", "(S (NP (NN a)) (VP (VB b)))"),
        ("(S (-LRB- -LRB-) (NP=2 (NN a)) (-RRB- -RRB-))", "(S (-LRB- -LRB-) (NP (NN a)) (-RRB- -RRB-))"),
        ("( (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))"),
        ("(NP (NP-LOC (NP (NN a))))", "(NP (NN a))"),
    ],
)
def test_cleaning(annotated: str, cleaned: str) -> None:
    result = clean(one(annotated))
    assert result is not None
    assert result.bracketed() == cleaned


def test_words_beside_phrases_are_refused() -> None:
    for children in (("x", "y"), (Phrase("A", ("a",)), "bare"), ("bare", Phrase("A", ("a",)))):
        with pytest.raises(ValueError, match="give each word a tag"):
            encoded([Phrase("S", children)], Binarisation())


@given(PHRASES)
def test_cleaning_twice_is_cleaning_once(phrase: Phrase) -> None:
    once = clean(phrase)
    assert once is not None
    assert clean(once) == once


def test_trees_thousands_deep() -> None:
    phrase = Phrase("NN", ("x",))
    for _ in range(5000):
        phrase = Phrase("NP", (Phrase("DT", ("the",)), phrase))
    assert clean(phrase) is not None
    found = encoded([phrase], Binarisation())
    back = make_phrase(found.trees, found.symbols, list(phrase.words()))
    assert back.bracketed() == phrase.bracketed()

"""Sentences whose trees are partly known, from brackets, CoNLL-U and NLTK's trees."""

import pytest
from nltk.tree import Tree

from spectral_latent.constituency import Bracket
from spectral_latent.corpora import CorpusError, parse_brackets, parse_conllu, parse_partial, parse_partial_conllu
from spectral_latent.corpora.brackets import parse_partial_with_lines
from spectral_latent.dependency import DependencyConstraints
from spectral_latent_nltk import partial_from_nltk, phrase_to_nltk
from tests.corpora.annotated import rows

TREE = "(S (NP (DT the) (NN man)) (VP (VBD slept)) (. .))"


def test_brackets_may_stand_anywhere_in_a_line() -> None:
    text = "She saw (NP the ((NN man))) ( with -LRB- it ) .\n\n(S (NP the\n man) slept)\nYes\n"
    found = list(parse_partial_with_lines(text))
    assert [line for line, _ in found] == [1, 3, 5]
    first, second, third = (tree for _, tree in found)
    assert first.sentence == ("She", "saw", "the", "man", "with", "-LRB-", "it", ".")
    assert set(first.constraints.required) == {
        Bracket(2, 4, "NP"),
        Bracket(3, 4),
        Bracket(3, 4, "NN"),
        Bracket(4, 7),
    }
    assert second.constraints.required == [Bracket(0, 3, "S"), Bracket(0, 2, "NP")]
    assert third.sentence == ("Yes",)
    assert not third.constraints.required


def test_brackets_may_be_forbidden() -> None:
    (partial,) = parse_partial("(S She saw (NP the man) (!PP-CLR with (!\n it)) (!NP (NN man) (-NONE- *T*)) .)")
    assert partial.sentence == ("She", "saw", "the", "man", "with", "it", "man", ".")
    assert partial.constraints.required == [Bracket(0, 8, "S"), Bracket(2, 4, "NP"), Bracket(6, 7, "NN")]
    assert partial.constraints.excluded == [Bracket(4, 6, "PP-CLR"), Bracket(5, 6), Bracket(6, 7, "NP")]
    assert partial == partial_from_nltk(
        Tree.fromstring("(S She saw (NP the man) (!PP-CLR with (! it)) (!NP (NN man)) .)")
    )


def test_whole_trees_and_nltks_trees_are_read_alike() -> None:
    (phrase,) = parse_brackets(TREE)
    (partial,) = parse_partial(TREE)
    assert partial == partial_from_nltk(phrase_to_nltk(phrase))
    assert partial.constraints.required[0] == Bracket(0, 4, "S")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb) c", "x, line 2: "),
        ("a\n(NP b\nc", "x, line 2: "),
        ("(NP a ())", r"x, line 1: .*\(\)"),
        ("a\n(NP (-NONE- *))", "x, line 2: "),
        ("a\n(NP (! b c))", r"x, line 2: .*\(0, 2, 'NP'\)"),
        (" \n", "x: no sentences"),
    ],
)
def test_brackets_that_break_the_rules_are_named(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        list(parse_partial(text, "x"))


def test_trees_of_nltk_need_words() -> None:
    with pytest.raises(TypeError, match=r"expected an nltk\.Tree of words, or of pairs"):
        partial_from_nltk(Tree("S", [("a", 1)]))
    with pytest.raises(TypeError, match=r"expected an nltk\.Tree, got"):
        partial_from_nltk("word")
    with pytest.raises(ValueError, match="has no words"):
        partial_from_nltk(Tree("S", []))


def test_heads_and_relations_may_be_missing() -> None:
    trees = list(parse_partial_conllu(rows("2", "_", "_", relations=("_", "root", "_")) + "\n" + rows("_")))
    assert [tree.constraints for tree in trees] == [DependencyConstraints({1: 2}, {2: "root"}), DependencyConstraints()]
    assert trees[0].sentence.forms == ("a", "b", "c")
    assert trees[0].sentence.heads is None


def test_heads_may_be_forbidden() -> None:
    (tree,) = parse_partial_conllu(rows("!3|0", "!0", "2"))
    assert tree.constraints == DependencyConstraints({3: 2}, forbidden=[(3, 1), (0, 1), (0, 2)])
    assert tree.sentence.heads is None
    with pytest.raises(CorpusError, match="x, line 1: the HEAD '!3' is not a number"):
        list(parse_conllu(rows("!3", "1", "0"), "x"))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (("!", "_", "_"), "x, line 1: the HEAD '' is not a number"),
        (("_", "!3|4", "_"), "x, line 2: the HEAD 4 in a sentence of 3 words"),
        (("0", "0", "_"), "x, line 1: the words 1 and 2 both have the head 0"),
        (("3", "1", "2"), "x, line 1: the heads of the words 1, 2, 3 are a cycle"),
        (("_", "4", "_"), "x, line 2: the HEAD 4 in a sentence of 3 words"),
    ],
)
def test_heads_that_no_tree_has_are_named(heads: tuple[str, ...], message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        list(parse_partial_conllu(rows(*heads), "x"))

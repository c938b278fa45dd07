"""NLTK's trees from and to phrases."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree

from spectral_latent.constituency.tree import Phrase
from spectral_latent.corpora import phrase_from_nltk
from spectral_latent_nltk import phrase_to_nltk

TOKEN = st.text(min_size=1, max_size=5)
TREES = st.recursive(
    st.builds(lambda tag, word: Tree(tag, [word]), TOKEN, TOKEN),
    lambda below: st.builds(Tree, TOKEN, st.lists(below, min_size=1, max_size=4)),
    max_leaves=20,
)


@given(TREES)
def test_there_and_back(tree: Tree) -> None:
    phrase = phrase_from_nltk(tree)
    assert phrase_to_nltk(phrase) == tree
    assert list(phrase.words()) == tree.leaves()
    assert [node.label for node in phrase.nodes() if isinstance(node, Phrase)] == [s.label() for s in tree.subtrees()]


def test_unlabelled_roots() -> None:
    inner = Tree("S", [Tree("NN", ["dog"])])
    assert phrase_from_nltk(Tree("", [inner])) == phrase_from_nltk(inner)
    assert phrase_from_nltk(Tree("", [inner, inner])).label == ""


def test_depth_is_limited_by_memory_alone() -> None:
    tree = Tree("NN", ["a"])
    for _ in range(5_000):
        tree = Tree("S", [tree])
    phrase = phrase_from_nltk(tree)
    assert sum(isinstance(node, Phrase) for node in phrase.nodes()) == 5_001
    back = phrase_to_nltk(phrase)
    assert back.label() == "S"
    while back.label() == "S":
        (back,) = back


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        ("(NN dog)", TypeError, "got str"),
        (Tree("NP", [("dog", "NN")]), TypeError, r"got tuple \('dog', 'NN'\)"),
        (Tree("NP", [Tree("NN", [3])]), TypeError, "got int 3"),
        (Tree(7, ["dog"]), TypeError, "label must be a string, got int 7"),
        (Tree("NP", []), ValueError, "constituent NP is empty"),
        (Tree("NN", [""]), ValueError, "constituent NN is empty"),
        (Tree("NP", ["the", "dog"]), ValueError, "NP has several words"),
        (Tree("NP", ["the", Tree("NN", ["dog"])]), ValueError, "or words beside phrases"),
        (Tree("S", [Tree("", [Tree("NN", ["dog"])])]), ValueError, "no label"),
    ],
)
def test_errors(tree: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        phrase_from_nltk(tree)

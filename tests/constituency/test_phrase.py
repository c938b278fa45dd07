"""Phrases are trees of any depth."""

from __future__ import annotations

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.tree import FlatPhrases

NAMES = st.text("ab( é", max_size=2)  # few, so that phrases are often equal
PHRASES = st.recursive(
    st.builds(lambda label, word: Phrase(label, (word,)), NAMES, NAMES),
    lambda children: st.builds(lambda label, parts: Phrase(label, tuple(parts)), NAMES, st.lists(children)),
    max_leaves=20,
)


def nested(node: Phrase | str) -> object:
    """The same tree as lists."""
    return node if isinstance(node, str) else [node.label, [nested(child) for child in node.children]]


@given(PHRASES, PHRASES)
def test_copies_are_equal_and_others_are_not(one: Phrase, other: Phrase) -> None:
    again = pickle.loads(pickle.dumps(one))
    assert isinstance(again, Phrase)
    assert nested(again) == nested(one)
    assert again == one and hash(again) == hash(one)
    assert (one == other) == (nested(one) == nested(other))
    assert (one != other) == (nested(one) != nested(other))


@given(st.lists(PHRASES, max_size=4))
def test_flat_lists_have_each_phrase_of_several_trees_once(trees: list[Phrase]) -> None:
    flat = FlatPhrases.of(trees + trees[:1])
    again = flat.trees()
    assert list(map(nested, again)) == list(map(nested, trees + trees[:1]))
    phrases = [node for tree in again for node in tree.nodes() if isinstance(node, Phrase)]
    assert len(set(phrases)) == len({id(phrase) for phrase in phrases}) == len(flat.labels)


def test_trees_of_any_depth_are_copied_compared_and_hashed() -> None:
    def deep(word: str) -> Phrase:
        tree = Phrase("N", (word,))
        for _ in range(5_000):  # far beyond the depth of Python's calls
            tree = Phrase("S", (Phrase("N", ("a",)), tree))
        return tree

    tree = deep("b")
    assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == tree
    assert tree != deep("c")
    assert len({tree, deep("b"), deep("c")}) == 2
    assert repr(tree) == f"<Phrase: {tree.bracketed()}>"

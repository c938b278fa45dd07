"""Convert NLTK's trees to phrases, without NLTK."""

from __future__ import annotations

from typing import Any, cast

from spectral_latent.constituency import Changes, Phrase
from spectral_latent.corpora.brackets import Markup, without_outer_bracket


def phrase_from_nltk(tree: Any) -> Phrase:
    """Make a phrase of an `nltk.Tree`; a root without a label is dropped if it has one child.

    Leaves may contain anything, also spaces and brackets.  Traces have the tag -NONE-, as `parse_brackets` gives it.

    tree: an `nltk.Tree`.

    Raises `TypeError` for leaves or labels that are not strings, and `ValueError` for an empty leaf, an empty label
    below the root, and a constituent that is empty, has several words, or words beside phrases.

    >>> from nltk.tree import Tree
    >>> phrase_from_nltk(Tree("NP", [Tree("NNS", ["dogs"])]))
    <Phrase: (NP (NNS dogs))>
    """
    phrase = plain_phrase_from_nltk(tree)
    return Markup.of_trees([phrase]).mark(phrase, Changes()) or phrase


def plain_phrase_from_nltk(tree: Any) -> Phrase:
    """Make a phrase as `phrase_from_nltk` does, but leave traces as they stand."""
    parents_first: list[Any] = []  # parents before children, siblings from right to left
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        parents_first.append(node)
        is_inner = node is not tree
        if not (is_inner and isinstance(node, str)):
            _check(node, is_inner)
            waiting.extend(node)
    done: list[Any] = []
    for node in reversed(parents_first):
        if isinstance(node, str):
            done.append(node[:])  # a plain string, also of a subclass
        else:
            first = len(done) - len(node)  # the children are the latest phrases, in order
            done[first:] = [Phrase(node.label(), tuple(done[first:]))]
    (root,) = done
    return without_outer_bracket(cast(Phrase, root))


def _is_pair(node: Any) -> bool:
    """Tell whether a node is a word with its tag."""
    return isinstance(node, tuple) and len(node) == 2 and all(isinstance(part, str) and part for part in node)


def _check(node: Any, inner: bool) -> None:
    """Raise TypeError or ValueError for a node that `phrase_from_nltk` does not take."""
    if isinstance(node, list | tuple) and not hasattr(node, "label") and all(map(_is_pair, node)) and len(node):
        raise TypeError(
            f"expected an nltk.Tree, got a list of words with their tags, {node!r:.60}; give parsed sentences, or "
            f"train a tagger such as LatentHMMTagger"
        )
    if not (isinstance(node, list) and hasattr(node, "label")):
        raise TypeError(f"expected an nltk.Tree whose leaves are strings, got {type(node).__name__} {node!r:.80}")
    label = node.label()
    if not isinstance(label, str):
        raise TypeError(f"a label must be a string, got {type(label).__name__} {label!r:.80}")
    has_word = any(isinstance(child, str) for child in node)
    if len(node) == 0 or "" in node:
        raise ValueError(f"the constituent {label} is empty; remove it, or give it a word")
    if has_word and len(node) > 1:
        raise ValueError(
            f"the constituent {label} has several words, or words beside phrases; give each word a tag of its own"
        )
    if not label and (inner or has_word):
        raise ValueError("a constituent has no label; only a root over phrases may lack one")

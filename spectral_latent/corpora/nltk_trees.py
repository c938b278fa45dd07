"""Convert NLTK's trees to phrases, and its dependency graphs to sentences, without NLTK.

| DependencySentence | node of an `nltk.parse.DependencyGraph` |
| --- | --- |
| `forms`, `lemmas`, `feats` | `word`, `lemma`, `feats` |
| `upos`, `xpos` | `ctag`, `tag` |
| `heads` | `head` |
| `relations` | `rel` |

A word's number is its node's `address`.  Missing annotation is `_` in a sentence, and None or "" in a graph.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, cast

from spectral_latent.constituency import Changes, PartialPhrase, Phrase, partial_phrase
from spectral_latent.corpora.brackets import Markup, without_outer_bracket
from spectral_latent.dependency import DependencySentence

__all__ = [
    "partial_from_nltk",
    "phrase_from_nltk",
    "plain_phrase_from_nltk",
    "sentence_from_nltk",
]


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

    def is_leaf(node: Any) -> bool:
        """Tell whether a node is a word.  Raises TypeError or ValueError unless it is one, or a constituent."""
        is_inner = node is not tree
        if is_inner and isinstance(node, str):
            return True
        _check(node, is_inner)
        return False

    return without_outer_bracket(_convert(tree, is_leaf))


def partial_from_nltk(tree: Any) -> PartialPhrase:
    """Make a sentence with constraints of an `nltk.Tree`, which is flat where nothing is known.

    tree: an `nltk.Tree`, such as a chunker's, whose leaves are words, or pairs of a word and its tag.

    Raises `TypeError` for other leaves, and `ValueError` for a tree without words.

    >>> from nltk.tree import Tree
    >>> chunked = Tree("S", [("She", "PRP"), ("saw", "VBD"), Tree("NP", [("the", "DT"), ("man", "NN")])])
    >>> partial_from_nltk(chunked).constraints.brackets[-3:]
    (Bracket(first=2, end=4, label='NP'), Bracket(first=2, end=3, label='DT'), Bracket(first=3, end=4, label='NN'))
    """
    if _is_leaf(tree):
        raise TypeError(f"expected an nltk.Tree, got {tree!r:.80}")
    partial = partial_phrase(_convert(tree, _is_leaf))
    if not partial.sentence:
        raise ValueError("the tree has no words")
    return partial


def _convert(tree: Any, is_leaf: Callable[[Any], bool]) -> Phrase:
    """Make a phrase of a tree, from the last node to the first; leaves are words, or pairs of a word and its tag."""
    parents_first: list[Any] = []  # parents before children, siblings from right to left
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        parents_first.append(node)
        if not is_leaf(node):
            waiting.extend(node)
    done: list[Any] = []
    for node in reversed(parents_first):
        if isinstance(node, str):
            done.append(node[:])  # a plain string, also of a `_BracketedWord`
        elif isinstance(node, tuple):
            done.append(Phrase(node[1], (node[0],)))
        else:
            first = len(done) - len(node)  # the children are the latest phrases, in order
            done[first:] = [Phrase(node.label(), tuple(done[first:]))]
    (root,) = done
    return cast(Phrase, root)


def _is_pair(node: Any) -> bool:
    """Tell whether a node is a word with its tag."""
    return isinstance(node, tuple) and len(node) == 2 and all(isinstance(part, str) and part for part in node)


def _is_leaf(node: Any) -> bool:
    """Tell whether a node is a word, or a word with its tag.  Raises TypeError unless it is one of these or a tree."""
    if _is_pair(node) or (isinstance(node, str) and node):
        return True
    if not (isinstance(node, list) and hasattr(node, "label") and isinstance(node.label(), str)):
        raise TypeError(f"expected an nltk.Tree of words, or of pairs of a word and its tag, got {node!r:.80}")
    return False


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


def sentence_from_nltk(graph: Any) -> DependencySentence:
    """Make a sentence of an `nltk.parse.DependencyGraph`; its heads need not be a tree, and may all be missing.

    graph: an `nltk.parse.DependencyGraph`.

    Raises `TypeError` for an object that is not a graph, annotation that is not a string and heads that are not
    integers. Raises `ValueError` for addresses other than 1, 2, 3, nodes without a word, and heads that are missing
    from some nodes only, are not in the graph, or are the node itself.

    >>> from nltk.parse import DependencyGraph
    >>> sentence = sentence_from_nltk(DependencyGraph("Dogs NNS 2 SUB\\nbark VBP 0 ROOT"))
    >>> sentence.forms, sentence.xpos, sentence.heads, sentence.relations
    (('Dogs', 'bark'), ('NNS', 'VBP'), (2, 0), ('SUB', 'ROOT'))
    """
    nodes = getattr(graph, "nodes", None)
    if not isinstance(nodes, dict):
        raise TypeError(f"expected an nltk DependencyGraph, got {type(graph).__name__} {graph!r:.80}")
    addresses = sorted(nodes.keys() - {0})
    if addresses != list(range(1, len(addresses) + 1)):
        raise ValueError(f"the words of the graph have the addresses {addresses}; number them 1, 2, 3")
    words = [nodes[address] for address in addresses]
    if not all(node.get("word") for node in words):
        raise ValueError("a node of the graph has no word; give it one, and let all heads be nodes with words")
    forms, lemmas, upos, xpos, feats, relations = (
        tuple(_string(node.get(key), key) for node in words) for key in ("word", "lemma", "ctag", "tag", "feats", "rel")
    )
    return DependencySentence(forms, lemmas, upos, xpos, feats, _heads(words), relations)


def _string(value: Any, key: str) -> str:
    """Return the annotation of a node, `_` if it is missing."""
    if value in (None, ""):
        return "_"
    if not isinstance(value, str):
        raise TypeError(f"the {key} of a node must be a string, got {type(value).__name__} {value!r:.80}")
    return str(value)


def _heads(words: list[Any]) -> tuple[int, ...] | None:
    """Return the heads of the nodes; None if all are missing."""
    if all(node.get("head") is None for node in words):
        return None
    heads = tuple(index(node.get("head")) for node in words)
    for address, head in enumerate(heads, start=1):
        if not 0 <= head <= len(words) or head == address:
            raise ValueError(
                f"the node {address} has the head {head}; give the address of another node, or 0 for the root"
            )
    return heads

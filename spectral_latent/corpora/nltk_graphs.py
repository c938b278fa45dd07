"""Convert NLTK's dependency graphs to sentences and back.  NLTK itself is imported only where its graphs are made.

| DependencySentence | node of an `nltk.parse.DependencyGraph` |
| --- | --- |
| `forms`, `lemmas`, `feats` | `word`, `lemma`, `feats` |
| `upos`, `xpos` | `ctag`, `tag` |
| `heads` | `head` |
| `relations` | `rel` |

A word's number is its node's `address`.  Missing annotation is `_` in a sentence, and None or "" in a graph.
"""

from __future__ import annotations

from operator import index
from typing import Any

from spectral_latent.dependency import DependencySentence

__all__ = ["sentence_from_nltk", "sentence_to_nltk"]

_TOP = "ROOT"  # the relation of a root for which no relation is given


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


def sentence_to_nltk(sentence: DependencySentence) -> Any:
    """Make an `nltk.parse.DependencyGraph` of a sentence, without its comments.

    A missing relation becomes "", as in a graph that NLTK reads from a table without relations.  The graph's
    `root` is the first word whose head is 0, and its `top_relation_label` is that word's relation, or ROOT.

    sentence: the sentence, with heads or without.

    >>> graph = sentence_to_nltk(DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"]).with_heads((2, 0)))
    >>> print(graph.tree(), graph.to_conll(3).split())
    (bark Dogs) ['Dogs', 'NNS', '2', 'bark', 'VBP', '0']
    """
    from nltk.parse import DependencyGraph

    graph = DependencyGraph()
    relations = ["" if relation == "_" else relation for relation in sentence.relations]
    heads = sentence.heads or (None,) * len(sentence.forms)
    keys = ("address", "word", "lemma", "ctag", "tag", "feats", "head", "rel")
    for address, values in enumerate(zip(*sentence[:5], heads, relations, strict=True), start=1):
        graph.nodes[address].update(zip(keys, (address, *values), strict=True))
    for head, dependants in enumerate(sentence.dependants()):
        for address in dependants:
            relation = relations[address - 1] or ("" if head else _TOP)
            graph.nodes[head]["deps"][relation].append(address)
    if sentence.roots:
        graph.root = graph.nodes[sentence.roots[0]]
        graph.top_relation_label = graph.root["rel"] or _TOP
    return graph


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

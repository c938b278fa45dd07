"""Make NLTK's trees and dependency graphs of phrases and sentences; `spectral_latent.corpora` reads them back."""

from __future__ import annotations

import re
from typing import Any

from nltk.parse import DependencyGraph
from nltk.tree import Tree

from spectral_latent.constituency import Phrase
from spectral_latent.dependency import DependencySentence

__all__ = ["phrase_to_nltk", "sentence_to_nltk"]

_TOP = "ROOT"  # the relation of a root for which no relation is given


class _BracketedWord(str):
    """A word that equals a token with brackets or white space, and is printed as treebanks write it.

    NLTK prints leaves as they are, so that its own readers would lose a bare bracket, and divide a word at a space."""

    __slots__ = ()

    def __str__(self) -> str:
        return _SPACE.sub("_", self.replace("(", "-LRB-").replace(")", "-RRB-"))


_SPACE = re.compile(r"\s")
_UNREADABLE = re.compile(r"[\s()]")


def phrase_to_nltk(phrase: Phrase) -> Tree:
    """Make an `nltk.Tree` of a phrase, which `Tree.fromstring` can read again as NLTK prints it.

    Leaves equal the words; those with brackets or white space are printed with -LRB-, -RRB- and _ in their place.

    >>> print(phrase_to_nltk(Phrase("NP", (Phrase("NNS", ("dogs",)),))))
    (NP (NNS dogs))
    >>> tree = phrase_to_nltk(Phrase("-LRB-", ("(",)))
    >>> print(tree, tree.leaves())
    (-LRB- -LRB-) ['(']
    """
    done: list[Any] = []  # trees whose parents are still to come, the leftmost on top
    for node in reversed(list(phrase.nodes())):
        if isinstance(node, str):
            done.append(_BracketedWord(node) if _UNREADABLE.search(node) else node)
        else:
            done.append(Tree(node.label, [done.pop() for _ in node.children]))
    (root,) = done
    return root


def sentence_to_nltk(sentence: DependencySentence) -> DependencyGraph:
    """Make an `nltk.parse.DependencyGraph` of a sentence, without its comments.

    A missing relation becomes "", as in a graph that NLTK reads from a table without relations.  The graph's
    `root` is the first word whose head is 0, and its `top_relation_label` is that word's relation, or ROOT.

    sentence: the sentence, with heads or without.

    >>> graph = sentence_to_nltk(DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"]).with_heads((2, 0)))
    >>> print(graph.tree(), graph.to_conll(3).split())
    (bark Dogs) ['Dogs', 'NNS', '2', 'bark', 'VBP', '0']
    """
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

"""Convert phrases and sentences to NLTK's trees and dependency graphs, and back.

| DependencySentence | node of an `nltk.parse.DependencyGraph` |
| --- | --- |
| `forms`, `lemmas`, `feats` | `word`, `lemma`, `feats` |
| `upos`, `xpos` | `ctag`, `tag` |
| `heads` | `head` |
| `relations` | `rel` |

A word's number is its node's `address`.  Missing annotation is `_` in a sentence, and None or "" in a graph.
"""

import re
from collections.abc import Iterable
from operator import index
from typing import Any

from nltk.parse import DependencyGraph
from nltk.tree import Tree

from spectral_latent.constituency import PartialPhrase, Phrase, partial_phrase
from spectral_latent.corpora import parse_brackets, phrase_from_nltk
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, NBest

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


def partial_from_nltk(tree: Any) -> PartialPhrase:
    """Make a sentence with constraints of an `nltk.Tree`, which is flat where nothing is known.

    tree: an `nltk.Tree`, such as a chunker's, whose leaves are words, or pairs of a word and its tag.

    Raises `TypeError` for other leaves, and `ValueError` for a tree without words.

    >>> from nltk.tree import Tree
    >>> chunked = Tree("S", [("She", "PRP"), ("saw", "VBD"), Tree("NP", [("the", "DT"), ("man", "NN")])])
    >>> partial_from_nltk(chunked).constraints.brackets[-3:]
    (Bracket(first=2, end=4, label='NP'), Bracket(first=2, end=3, label='DT'), Bracket(first=3, end=4, label='NN'))
    """
    phrase = _partial_phrase(tree)
    if not isinstance(phrase, Phrase) or isinstance(tree, tuple):
        raise TypeError(f"expected an nltk.Tree, got {tree!r:.80}")
    partial = partial_phrase(phrase)
    if not partial.sentence:
        raise ValueError("the tree has no words")
    return partial


def _partial_phrase(node: Any) -> Phrase | str:
    """Make a phrase of a tree, or of a word with its tag; a word stays a word."""
    if isinstance(node, str) and node:
        return node[:]
    if isinstance(node, tuple) and len(node) == 2 and all(isinstance(part, str) and part for part in node):
        word, tag = node
        return Phrase(tag, (word,))
    if isinstance(node, list) and hasattr(node, "label") and isinstance(node.label(), str):
        return Phrase(node.label(), tuple(map(_partial_phrase, node)))
    raise TypeError(f"expected an nltk.Tree of words, or of pairs of a word and its tag, got {node!r:.80}")


def sentence_from_nltk(graph: Any) -> DependencySentence:
    """Make a sentence of an `nltk.parse.DependencyGraph`; its heads need not be a tree, and may all be missing.

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


def to_nbest(items: Iterable[Any], id: str = "1", words: Iterable[str] | None = None) -> NBest:
    """Make a list of the trees that another parser returns in Python."""
    return NBest.of(map(_candidate, items), id, words)


def _candidate(item: Any) -> Candidate:
    """Make a candidate of an item of `to_nbest`."""
    if hasattr(item, "ptb_parse"):  # a `ScoredParse` of bllipparser
        scores = [item.reranker_score, item.parser_score]
        return Candidate.of(_tree(str(item.ptb_parse)), [float(score) for score in scores if score is not None])
    if hasattr(item, "logprob") and hasattr(item, "label"):  # a `ProbabilisticTree` of nltk
        return Candidate(phrase_from_nltk(item), float(item.logprob()))
    if not isinstance(item, tuple | list) or len(item) != 2 or hasattr(item, "label"):
        raise TypeError(f"expected a pair of score and tree, got {type(item).__name__} {item!r:.80}")
    scores, tree = item
    known = [] if scores is None else scores if isinstance(scores, tuple | list) else [scores]
    return Candidate.of(_tree(tree), map(float, known))


def _tree(tree: Any) -> Phrase | DependencySentence:
    """Make a tree of one of the kinds that `to_nbest` takes."""
    if isinstance(tree, Phrase | DependencySentence):
        return tree
    if isinstance(tree, str):
        (phrase,) = parse_brackets(tree)
        return phrase
    return sentence_from_nltk(tree) if hasattr(tree, "nodes") else phrase_from_nltk(tree)

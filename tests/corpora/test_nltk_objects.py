"""Trees and dependency graphs of NLTK from and to those of the library, and against NLTK's own readers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.parse import DependencyGraph
from nltk.parse.dependencygraph import conll_data2
from nltk.tree import Tree

from spectral_latent.constituency.tree import Phrase
from spectral_latent.corpora import parse_conllu, phrase_from_nltk, phrases_from_nltk
from spectral_latent.dependency import DependencySentence
from spectral_latent_nltk import phrase_to_nltk, sentence_from_nltk, sentence_to_nltk
from tests.corpora.annotated import lines_of, sentences

TOKEN = st.text(min_size=1, max_size=5)
TREES = st.recursive(
    st.builds(lambda tag, word: Tree(tag, [word]), TOKEN, TOKEN),
    lambda below: st.builds(Tree, TOKEN, st.lists(below, min_size=1, max_size=4)),
    max_leaves=20,
)


@given(TREES)
def test_trees_there_and_back(tree: Tree) -> None:
    phrase = phrase_from_nltk(tree)
    assert phrase_to_nltk(phrase) == tree
    assert list(phrase.words()) == tree.leaves()
    assert [node.label for node in phrase.nodes() if isinstance(node, Phrase)] == [s.label() for s in tree.subtrees()]


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


def test_only_trees_of_pairs_alone_were_flattened_by_nltk() -> None:
    mixed = Tree("S", [("It", "PRP"), Tree("VBZ", ["rains"])])
    with pytest.raises(TypeError, match=r"tree 1: .*tuple"):
        list(phrases_from_nltk([mixed]))


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
def test_trees_that_are_refused(tree: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        phrase_from_nltk(tree)


def graph_of(*heads: Any, **changes: Any) -> DependencyGraph:
    """A graph over the words a, b, c, made by hand; the changes are of the last node."""
    graph = DependencyGraph()
    for address, (word, head) in enumerate(zip("abc", heads, strict=False), start=1):
        graph.add_node({"address": address, "word": word, "head": head})
    graph.nodes[len(heads)].update(changes)
    return graph


@given(sentences())
def test_graphs_there_and_back(sentence: DependencySentence) -> None:
    graph = sentence_to_nltk(sentence)
    assert sentence_from_nltk(graph) == sentence._replace(comments=(), ranges=())
    assert bool(graph.contains_cycle()) == bool(sentence.cycle())
    assert (graph.root or {}).get("address") == (sentence.roots or (None,))[0]


def test_nodes_are_those_that_nltk_reads_from_a_table() -> None:
    for block in conll_data2.strip().split("\n\n"):
        text = "\n".join("\t".join(line.split()) for line in block.split("\n"))
        (sentence,) = parse_conllu(text)
        theirs, ours = DependencyGraph(text), sentence_to_nltk(sentence)
        assert ours.nodes == theirs.nodes
        assert ours.root == theirs.root and ours.top_relation_label == theirs.top_relation_label
        assert "\n".join(lines_of(sentence)) + "\n" == ours.to_conll(10) == theirs.to_conll(10)
        assert sentence_from_nltk(theirs) == sentence
        assert list(ours.triples()) == list(theirs.triples())


def test_sentences_without_heads() -> None:
    sentence = DependencySentence.of(["a", "b"], ["A", "B"])
    graph = sentence_to_nltk(sentence)
    assert graph.root is None and sorted(graph.nodes) == [0, 1, 2]
    assert sentence_from_nltk(graph) == sentence
    assert sentence_from_nltk(DependencyGraph()) == DependencySentence.of([]).with_heads(None)


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (Tree("S", ["a"]), TypeError, "expected an nltk DependencyGraph, got Tree"),
        (graph_of(0, 1, tag=7), TypeError, "the tag of a node must be a string, got int 7"),
        (graph_of(0, 1, word=["b"]), TypeError, "the word of a node must be a string, got list"),
        (graph_of(0, None), TypeError, "NoneType"),
        (graph_of(0, 3), ValueError, "the node 2 has the head 3"),
        (graph_of(0, 1, word=None), ValueError, "a node of the graph has no word"),
        (DependencyGraph("a A 0\nb B 3"), ValueError, "a node of the graph has no word"),  # NLTK makes a node 3
        (DependencyGraph("a A 0\nb B 5"), ValueError, r"the addresses \[1, 2, 5\]; number them 1, 2, 3"),
        (DependencyGraph("a A 0\nb B _\nc C 1"), ValueError, r"the addresses \[1, 3\]"),  # NLTK leaves b out
    ],
)
def test_graphs_that_are_refused(graph: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sentence_from_nltk(graph)

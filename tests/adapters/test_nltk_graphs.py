"""NLTK's dependency graphs from and to sentences, there and back and against NLTK's own reader."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from nltk.parse import DependencyGraph
from nltk.parse.dependencygraph import conll_data2
from nltk.tree import Tree

from spectral_latent.corpora import parse_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent_nltk import sentence_from_nltk, sentence_to_nltk
from tests.corpora.annotated import lines_of, sentences


def graph_of(*heads: Any, **changes: Any) -> DependencyGraph:
    """A graph over the words a, b, c, made by hand; the changes are of the last node."""
    graph = DependencyGraph()
    for address, (word, head) in enumerate(zip("abc", heads, strict=False), start=1):
        graph.add_node({"address": address, "word": word, "head": head})
    graph.nodes[len(heads)].update(changes)
    return graph


@given(sentences())
def test_there_and_back(sentence: DependencySentence) -> None:
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
def test_errors(graph: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sentence_from_nltk(graph)


def test_nltk_is_imported_only_when_needed() -> None:
    script = (
        "import sys; from spectral_latent.corpora import phrases_from_nltk, dependency_trees; "
        "sys.exit('nltk' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0

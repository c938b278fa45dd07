"""The latent dependency grammar as NLTK's parser."""

from collections.abc import Iterable
from typing import Any

import pytest
from nltk.parse import DependencyGraph

from spectral_latent_nltk import SpectralDependencyParser, sentence_to_nltk
from tests.conformance.parsers import DependencyGraphConformance
from tests.conformance.treebank import DEPENDENCIES
from tests.reranking.nbest_lists import last_first

TREEBANK = list(map(sentence_to_nltk, DEPENDENCIES[:12]))
SENTENCES = [list(tree.forms) for tree in DEPENDENCIES[:12:5]]


def heads_of(graph: DependencyGraph) -> list[int]:
    return [graph.nodes[address]["head"] for address in range(1, len(graph.nodes))]


class TestSpectralDependencyParser(DependencyGraphConformance):
    examples = TREEBANK
    sentences = SENTENCES

    @staticmethod
    def train(examples: Iterable[Any]) -> SpectralDependencyParser:
        return SpectralDependencyParser.train(examples, n_states=4)


@pytest.fixture(scope="module")
def parser() -> SpectralDependencyParser:
    return SpectralDependencyParser.train(TREEBANK, n_states=4)


def test_reranked() -> None:
    """A reranker that puts the last first, of the 50 best graphs, whatever the number asked for."""
    lines = "They PRP 2\nsee VBP 0\ndogs NNS 2\nwith IN {}\neyes NNS 4\n. . 2"
    parser = SpectralDependencyParser.train((DependencyGraph(lines.format(head)) for head in (2, 2, 3)), n_states=2)
    sentence = [tuple(line.split()[:2]) for line in lines.splitlines()]
    reranker = last_first(has_heads=True)
    heads = [heads_of(graph) for graph in parser.parse(sentence, 50)]
    assert len(heads) > 1
    assert [heads_of(graph) for graph in parser.parse(sentence, 50, reranker)] == heads[::-1]
    ((graph,),) = parser.parse_sents([sentence], rerank=reranker)
    assert heads_of(graph) == heads[-1]


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        (TREEBANK[0], TypeError, r"give \[graph\]"),
        ([TREEBANK[0], DependencyGraph("a A 0\nb B 5")], ValueError, "graph 2: the words of the graph have the addr"),
        ([TREEBANK[0], "graph"], TypeError, "graph 2: expected an nltk DependencyGraph"),
        ([DependencyGraph("a A 0\nb B 0")], ValueError, "2 roots"),
    ],
)
def test_what_cannot_be_learnt_from(graphs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SpectralDependencyParser.train(graphs)


def test_a_node_without_a_tag_is_counted() -> None:
    with pytest.warns(UserWarning, match="words without an upos tag: 1 of 2, such as 'b'"):
        parser = SpectralDependencyParser.train([DependencyGraph("a A 0"), DependencyGraph("b _ 0")])
    assert parser.model.grammar.tags == ["A", "X"]


def test_each_tag_that_the_parser_does_not_know_is_named_once(parser: SpectralDependencyParser) -> None:
    strange = [("she", "PRON"), ("sees", "VERB"), ("it", "PRP")]
    with pytest.warns(UserWarning, match="does not know the tags") as caught:
        assert len(list(parser.parse_sents([strange, [*strange, ("!", "PUNCT")]]))) == 2
    named = [str(warning.message).partition(";")[0] for warning in caught]
    assert named == [
        f"the parser does not know the tags {tags}, and does not use them" for tags in (["PRON", "VERB"], ["PUNCT"])
    ]

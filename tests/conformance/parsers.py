"""Check what NLTK and its users expect of a parser, for any `ParserI` of this library.

A test module inherits from `ParserConformance`, and defines `train`, `examples` and `sentences`.
"""

import copy
import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from nltk.grammar import PCFG
from nltk.parse import DependencyGraph

from tests.conformance.taggers import ODD


class ParserConformance:
    """Checks of a parser that `train` makes of `examples`."""

    examples: list[Any]  # the trees of a small treebank in NLTK's types
    sentences: list[list[str]]  # a few sentences of the treebank
    train: Callable[[Iterable[Any]], Any]  # learns a parser from examples

    @staticmethod
    def words(parse: Any) -> list[str]:
        return list(parse.leaves())

    @staticmethod
    def content(parse: Any) -> Any:
        """Return the parts of a parse that two equal parses share."""
        return parse

    @pytest.fixture(scope="class")
    @classmethod
    def parser(cls) -> Any:
        return cls.train(cls.examples)

    def test_learns_from_any_iterable(self, parser: Any) -> None:
        learnt = self.train(example for example in self.examples)
        assert self.all_parses(learnt) == self.all_parses(parser)

    def test_methods_agree(self, parser: Any) -> None:
        for sentence, parses in zip(self.sentences, parser.parse_sents(self.sentences), strict=True):
            expected = self.contents(parser.parse(sentence))
            assert self.contents(parses) == expected == self.contents(parser.parse_all(sentence))
            assert self.content(parser.parse_one(sentence)) == expected[0]

    def test_parse_sents_is_lazy(self, parser: Any) -> None:
        def sentences() -> Iterator[list[str]]:
            yield self.sentences[0]
            raise AssertionError("asked for a second sentence")

        parses = parser.parse_sents(sentences())
        assert iter(parses) is parses
        assert len(list(next(parses))) >= 1

    def test_parse_sents_on_two_processes(self, parser: Any) -> None:
        sentences = [*self.sentences, [], *ODD[:2]] * 4
        expected = [self.contents(parses) for parses in parser.parse_sents(sentences, n_best=2)]
        found = parser.parse_sents(iter(sentences), n_best=2, jobs=2)
        assert [self.contents(parses) for parses in found] == expected

    def test_raw_text(self, parser: Any) -> None:
        texts = ["They left.", '"Dogs" (cats)', "one two\nthree", ""]
        for text, parses in zip(texts, parser.raw_parse_sents(iter(texts)), strict=True):
            words = [token.word for token in parser.model.tokenisation.words(text)]
            expected = self.contents(parser.parse(words))
            assert self.contents(parses) == expected == self.contents(parser.raw_parse(text))
            assert self.contents(parser.parse_text(text)) == expected[:1]
        found = list(parser.parse_text("They left. Dogs (cats)?\n\nThree"))
        assert [len(self.words(parse)) for parse in found] == [3, 5, 1]
        assert self.contents(parser.raw_parse("They left.", n_best=2)) == self.contents(
            parser.parse(["They", "left", "."], n_best=2)
        )

    def test_an_empty_sentence_has_no_parse(self, parser: Any) -> None:
        assert next(parser.parse([]), None) is None
        assert parser.parse_one([]) is None
        assert parser.parse_all([]) == []
        first, second = parser.parse_sents([[], self.sentences[0]])
        assert (len(list(first)), len(list(second))) == (0, len(parser.parse_all(self.sentences[0])))

    def test_words_never_seen(self, parser: Any) -> None:
        for sentence in ODD:
            assert self.words(parser.parse_one(sentence)) == sentence

    def test_tokens_are_strings(self, parser: Any) -> None:
        for method in (parser.parse, parser.parse_one, parser.parse_all):
            for sentence in ("a string", [["word"]], [("a", "b", "c")], 5):
                with pytest.raises(TypeError):
                    method(sentence)

    def test_is_made_of_a_model_alone(self, parser: Any) -> None:
        name = type(parser).__name__
        for other in (PCFG.fromstring("S -> 'a' [1.0]"), 5, "model", None, parser):
            with pytest.raises(TypeError, match=rf"{name} is made of .*{name}\.train.*{name}\.load"):
                type(parser)(other)

    def test_parses_are_copied_compared_and_pickled_as_parsers_are(self, parser: Any) -> None:
        first, second = (parser.parse_one(sentence) for sentence in self.sentences[:2])
        for again in (
            copy.copy(first),
            copy.deepcopy(first),
            pickle.loads(pickle.dumps(first)),
            parser.parse_one(self.sentences[0]),
        ):
            assert again == first and again is not first and type(again) is type(first)
            assert again != second and again != "parse"
            assert self.content(again) == self.content(first)
        assert [copy.deepcopy(first), second].index(first) == 0
        again = pickle.loads(pickle.dumps(parser))
        assert again.parse_one(self.sentences[0]) == first and type(parser).__name__ in repr(again)

    def contents(self, parses: Iterable[Any]) -> list[Any]:
        return [self.content(parse) for parse in parses]

    def all_parses(self, parser: Any) -> list[list[Any]]:
        return [self.contents(parses) for parses in parser.parse_sents(self.sentences)]


class DependencyGraphConformance(ParserConformance):
    """Checks of a parser whose parses are dependency graphs."""

    @staticmethod
    def words(parse: Any) -> list[str]:
        return [parse.nodes[address]["word"] for address in range(1, len(parse.nodes))]

    @staticmethod
    def content(parse: Any) -> Any:
        return parse.to_conll(10), parse.logprob(), parse.is_fallback

    def test_graphs_are_sentences_too(self, parser: Any) -> None:
        for graph in self.examples:
            pairs = [
                (graph.nodes[address]["word"], graph.nodes[address]["tag"]) for address in range(1, len(graph.nodes))
            ]
            parse = parser.parse_one(graph)
            assert parse.to_conll(4) == parser.parse_one(pairs).to_conll(4)
            assert parse is not graph

    def test_score_is_the_log_probability(self, parser: Any) -> None:
        for graph in self.examples:
            for parse in parser.parse(graph, n_best=3):
                assert parser.score(parse) == parse.logprob() > -math.inf

    def test_what_has_no_score(self, parser: Any) -> None:
        for heads in ([2, 1], [0, 0], [None, None], [None, 0]):
            graph = DependencyGraph()
            for address, head in enumerate(heads, start=1):
                graph.add_node({"address": address, "word": "a", "tag": "A", "head": head})
            with pytest.raises((TypeError, ValueError)):
                parser.score(graph)
        for graph in (None, "a", self.words(self.examples[0])):
            with pytest.raises(TypeError):
                parser.score(graph)

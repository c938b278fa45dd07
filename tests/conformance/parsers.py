"""What NLTK and its users expect of a parser, as checks that any `ParserI` of this library must pass.

A test module inherits from `ParserConformance` and gives the three functions that come first.
"""

import copy
import math
import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from nltk.parse.api import ParserI

ODD = [
    ["xyzzy", "plugh"],
    ["(", ")", "-LRB-", "{", "[", "]"],
    ["10 000", "\u00a0", "a\tb", '"', "\\", "/"],
    ["日本語", "ÄÖÜ", "ﷺ", "👩\u200d👩\u200d👧", "\u0301"],
    ["-NONE-", "*T*-1", "FALLBACK", "TOP", "()"],
    ["!"],
    ["x" * 5000],
]


class ParserConformance:
    """Checks of a parser that `train` makes of `examples`."""

    @staticmethod
    def train(examples: Iterable[Any]) -> Any:
        """The parser learnt from examples."""
        raise NotImplementedError

    @staticmethod
    def examples() -> list[Any]:
        """A small treebank in NLTK's types."""
        raise NotImplementedError

    @staticmethod
    def sentences() -> list[list[str]]:
        """A few sentences of it."""
        raise NotImplementedError

    @staticmethod
    def words(parse: Any) -> list[str]:
        """The words of a parse."""
        return list(parse.leaves())

    @pytest.fixture(scope="class")
    @classmethod
    def parser(cls) -> Any:
        return cls.train(cls.examples())

    def test_is_a_parser(self, parser: Any) -> None:
        assert isinstance(parser, ParserI)

    def test_learns_from_any_iterable(self, parser: Any) -> None:
        learnt = self.train(example for example in self.examples())
        assert self.all_parses(learnt) == self.all_parses(parser)

    def test_nothing_to_learn_from(self) -> None:
        with pytest.raises(ValueError):
            self.train(iter(()))

    @pytest.mark.parametrize("examples", ["a string", [1, 2], [None], 5])
    def test_learns_from_treebanks_only(self, examples: Any) -> None:
        with pytest.raises(TypeError):
            self.train(examples)

    def test_parse_is_an_iterator(self, parser: Any) -> None:
        parses = parser.parse(self.sentences()[0])
        assert iter(parses) is parses
        assert self.words(next(parses)) == self.sentences()[0]

    def test_methods_agree(self, parser: Any) -> None:
        for sentence, parses in zip(self.sentences(), parser.parse_sents(self.sentences()), strict=True):
            expected = list(parser.parse(sentence))
            assert list(parses) == expected == parser.parse_all(sentence)
            assert parser.parse_one(sentence) == expected[0]

    def test_parse_sents_is_lazy(self, parser: Any) -> None:
        def sentences() -> Iterator[list[str]]:
            yield self.sentences()[0]
            raise AssertionError("asked for a second sentence")

        parses = parser.parse_sents(sentences())
        assert iter(parses) is parses
        assert len(list(next(parses))) >= 1

    def test_parse_sents_of_nothing(self, parser: Any) -> None:
        assert list(parser.parse_sents([])) == []

    def test_a_sentence_is_any_iterable_of_tokens(self, parser: Any) -> None:
        for sentence in self.sentences():
            expected = parser.parse_one(sentence)
            assert parser.parse_one(tuple(sentence)) == expected
            assert parser.parse_one(token for token in sentence) == expected

    def test_the_sentence_is_left_alone(self, parser: Any) -> None:
        sentence = list(self.sentences()[0])
        parser.parse_one(sentence)
        assert sentence == self.sentences()[0]

    def test_an_empty_sentence_has_no_parse(self, parser: Any) -> None:
        assert next(parser.parse([]), None) is None
        assert parser.parse_one([]) is None
        assert parser.parse_all([]) == []
        first, second = parser.parse_sents([[], self.sentences()[0]])
        assert (len(list(first)), len(list(second))) == (0, len(parser.parse_all(self.sentences()[0])))

    @pytest.mark.parametrize("sentence", ODD, ids=range(len(ODD)))
    def test_words_never_seen(self, parser: Any, sentence: list[str]) -> None:
        assert self.words(parser.parse_one(sentence)) == sentence

    def test_one_word(self, parser: Any) -> None:
        for word in self.sentences()[0]:
            assert self.words(parser.parse_one([word])) == [word]

    def test_a_long_sentence(self, parser: Any) -> None:
        sentence = (self.sentences()[0] * 250)[:250]
        assert self.words(parser.parse_one(sentence)) == sentence

    def test_words_in_a_strange_order(self, parser: Any) -> None:
        for sentence in self.sentences():
            assert self.words(parser.parse_one(sentence[::-1])) == sentence[::-1]

    @pytest.mark.parametrize("sentence", ["a string", b"bytes", [("word", "TAG")], [["word"]], [None], [1], 5, None])
    def test_tokens_are_strings(self, parser: Any, sentence: Any) -> None:
        for method in (parser.parse, parser.parse_one, parser.parse_all):
            with pytest.raises(TypeError):
                method(sentence)

    def test_the_same_sentence_has_the_same_parse(self, parser: Any) -> None:
        assert self.all_parses(parser) == self.all_parses(parser)

    def test_learning_again_gives_the_same_parser(self, parser: Any) -> None:
        assert self.all_parses(self.train(self.examples())) == self.all_parses(parser)

    def test_threads_share_a_parser(self, parser: Any) -> None:
        fresh, sentences = self.train(self.examples()), self.sentences() * 4
        with ThreadPoolExecutor(4) as pool:
            parses = list(pool.map(fresh.parse_one, sentences))
        assert parses == [parser.parse_one(sentence) for sentence in sentences]

    def test_save_and_load(self, parser: Any, tmp_path: Path) -> None:
        for path in (tmp_path / "model", str(tmp_path / "model.copy")):
            parser.save(path)
            assert self.all_parses(type(parser).load(path)) == self.all_parses(parser)

    def test_loading_what_is_not_a_model(self, parser: Any, tmp_path: Path) -> None:
        whole, broken = tmp_path / "whole", tmp_path / "broken"
        parser.save(whole)
        broken.write_bytes(whole.read_bytes()[:-100])
        (tmp_path / "text").write_text("not a model")
        for path in (broken, tmp_path / "text", tmp_path / "none", tmp_path):
            with pytest.raises(ValueError, match=path.name):
                type(parser).load(path)

    def test_objects_are_ordinary(self, parser: Any) -> None:
        assert parser in {parser}
        assert type(parser).__name__ in repr(parser)
        assert self.all_parses(pickle.loads(pickle.dumps(parser))) == self.all_parses(parser)

    def test_grammar(self, parser: Any) -> None:
        """A grammar, the same each time; or, as NLTK has it where there is none, NotImplementedError."""
        try:
            assert parser.grammar() is parser.grammar()
        except NotImplementedError:
            assert type(parser).grammar is ParserI.grammar

    def all_parses(self, parser: Any) -> list[list[Any]]:
        return [list(parses) for parses in parser.parse_sents(self.sentences())]


class ProbabilisticTreeConformance(ParserConformance):
    """Checks of a parser whose parses are probabilistic trees."""

    def test_log_probabilities(self, parser: Any) -> None:
        for parses in self.all_parses(parser):
            for tree in parses:
                assert tree.logprob() < math.inf
                assert tree.prob() == 2.0 ** tree.logprob()

    @pytest.mark.parametrize("repeats", [1, 250])
    def test_trees_can_be_used_as_trees(self, parser: Any, repeats: int) -> None:
        sentence = (self.sentences()[0] * repeats)[:250] if repeats > 1 else self.sentences()[0]
        tree = parser.parse_one(sentence)
        for other in (tree.copy(), tree.copy(deep=True), copy.copy(tree), copy.deepcopy(tree)):
            assert (other.leaves(), other.logprob()) == (sentence, tree.logprob())
        assert pickle.loads(pickle.dumps(tree)) == tree
        assert hash(tree.freeze()) == hash(tree.freeze())
        assert str(tree) and repr(tree) and tree.pformat() and tree.productions()
        assert tree.height() > 1
        tree.chomsky_normal_form()

    def test_pretty_print(self, parser: Any, capsys: pytest.CaptureFixture[str]) -> None:
        parser.parse_one(self.sentences()[0]).pretty_print()
        assert self.sentences()[0][0] in capsys.readouterr().out

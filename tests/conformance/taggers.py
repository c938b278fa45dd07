"""Check what NLTK and its users expect of a tagger, for any `TaggerI`, including NLTK's own.

A test module inherits from `TaggerConformance`, or from `LearntTaggerConformance` for a tagger of this library, and
defines `train`, `examples` and `sentences`.
"""

import itertools
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from nltk.tag import DefaultTagger
from nltk.tag.util import untag

ODD = [
    ["xyzzy", "plugh"],
    ["(", ")", "-LRB-", "{", "[", "]"],
    ["10 000", "\u00a0", "a\u2028b", '"', "\\", "/", "word/TAG"],
    ["日本語", "ÄÖÜ", "ﷺ", "👩\u200d👩\u200d👧", "\u0301", "हिन्दी", "ไทย", "ქართული", "\U00010330"],
    ["-NONE-", "*T*-1", "None", "\x00", "\ufeff"],
    ["!"],
    ["x" * 5000],
]
Tagged = list[tuple[str, Any]]


class TaggerConformance:
    """Checks of a tagger that `train` makes of `examples`."""

    examples: list[Tagged]  # the tagged sentences of a small corpus
    sentences: list[list[str]]  # a few sentences of the corpus, without tags; none is empty
    train: Callable[[Iterable[Any]], Any]  # learns a tagger from examples

    @pytest.fixture(scope="class")
    @classmethod
    def tagger(cls) -> Any:
        return cls.train(cls.examples)

    def test_methods_agree(self, tagger: Any) -> None:
        expected = [tagger.tag(sentence) for sentence in self.sentences]
        for sentences in (self.sentences, iter(self.sentences), tuple(self.sentences)):
            tagged = tagger.tag_sents(sentences)
            assert type(tagged) is list
            assert tagged == expected

    def test_empty_sentences(self, tagger: Any) -> None:
        first = self.sentences[0]
        assert tagger.tag([]) == []
        assert tagger.tag_sents([[], first, [], []]) == [[], tagger.tag(first), [], []]

    def test_words_never_seen(self, tagger: Any) -> None:
        for sentence in ODD:
            tagged = tagger.tag(sentence)
            assert untag(tagged) == sentence
            assert {tag for _, tag in tagged} <= self.tags(tagger)

    def test_a_long_sentence(self, tagger: Any) -> None:
        sentence = (list(itertools.chain(*self.sentences)) * 10_000)[:10_000]
        assert untag(tagger.tag(sentence)) == sentence

    def tags(self, tagger: Any) -> set[Any]:
        return {tag for sentence in self.examples for _, tag in sentence}


class LearntTaggerConformance(TaggerConformance):
    """Checks of a tagger that learns by itself, refuses what it cannot use, and can be saved."""

    def test_nothing_to_learn_from(self) -> None:
        for examples in ([], iter(()), [[]], [*self.examples, []]):
            with pytest.raises(ValueError, match=r"no sequences|no sentences|empty"):
                self.train(examples)

    def test_learns_from_sentences_only(self) -> None:
        for examples in ("a string", [1, 2], None, ["a", "b"], [[("word", "TAG", 1)]], [[(1, "TAG")]]):
            with pytest.raises((TypeError, ValueError)):
                self.train(examples)

    def test_tokens_are_strings(self, tagger: Any) -> None:
        for sentence in ("a string", [("word", "TAG")], [None], 5):
            with pytest.raises(TypeError):
                tagger.tag(sentence)
            with pytest.raises(TypeError):
                tagger.tag_sents([self.sentences[0], sentence])

    def test_save_and_load(self, tagger: Any, tmp_path: Path) -> None:
        self.train(self.examples).save(tmp_path / "again")
        tagger.save(tmp_path / "model")
        loaded = type(tagger).load(tmp_path / "model")
        assert loaded.tag_sents([*self.sentences, *ODD]) == tagger.tag_sents([*self.sentences, *ODD])
        assert repr(loaded) == repr(tagger)
        assert pickle.loads(pickle.dumps(tagger)).tag_sents(ODD) == tagger.tag_sents(ODD)
        assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()

    def test_is_made_of_a_model_alone(self, tagger: Any) -> None:
        name = type(tagger).__name__
        for other in (DefaultTagger("NN"), 5, "model", None, tagger):
            with pytest.raises(TypeError, match=rf"{name} is made of .*{name}\.train.*{name}\.load"):
                type(tagger)(other)

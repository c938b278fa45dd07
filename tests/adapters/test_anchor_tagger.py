"""The anchor hidden Markov model as NLTK's tagger."""

import itertools
from collections.abc import Hashable, Iterable
from typing import Any

import pytest
from nltk.tag.util import untag

from spectral_latent_nltk import AnchorTagger
from tests.conformance.taggers import LearntTaggerConformance, Tagged

DETERMINERS, NOUNS, VERBS = ["the", "a", "this"], ["dog", "cat", "bird"], ["sees", "hears", "likes"]
OBJECTS = [[], ["it"], ["the", "dog"], ["a", "bird"]]


def words() -> list[list[str]]:
    begins = itertools.product(DETERMINERS, NOUNS, VERBS)
    return [[*begin, *thing, "."] for begin, thing in itertools.product(begins, OBJECTS)]


class TestAnchorTagger(LearntTaggerConformance):
    """What is no pair is given to the tagger as it is."""

    @staticmethod
    def train(examples: Iterable[Any]) -> AnchorTagger:
        if isinstance(examples, Iterable) and not isinstance(examples, str | bytes):
            examples = map(_words_if_pairs, examples)
        return AnchorTagger.train(examples, n_states=4)

    @staticmethod
    def examples() -> list[Tagged]:
        return [[(word, "X") for word in sentence] for sentence in words()]

    @staticmethod
    def sentences() -> list[list[str]]:
        return words()[::9]

    def tags(self, tagger: Any) -> set[Any]:
        return set(tagger.anchors.values())


def _words_if_pairs(example: Any) -> Any:
    example = list(example) if isinstance(example, Iterable) and not isinstance(example, str | bytes) else example
    pairs = isinstance(example, list) and all(isinstance(t, tuple) and len(t) == 2 for t in example)
    return untag(example) if pairs else example


@pytest.fixture(scope="module")
def tagger() -> AnchorTagger:
    return AnchorTagger.train(words(), 4)


def test_tags_are_anchors_in_capitals(tagger: AnchorTagger) -> None:
    assert tagger.anchors == {word: word.upper() for word in tagger.model.anchors}
    assert len(tagger.anchors) == 4
    for sentence in words():
        for written in (sentence, [word.title() for word in sentence]):
            found = tagger.tag(written)
            assert untag(found) == written
            assert all(tagger.anchors.get(word.lower(), tag) == tag for word, tag in found)


def test_labels(tagger: AnchorTagger) -> None:
    before = dict(tagger.anchors)
    tags: dict[str, Hashable] = dict(zip(before, ("N", ("V", 1), 2, "N"), strict=True))
    labelled = tagger.label(tags)
    assert (labelled.anchors, tagger.anchors) == (tags, before)  # a new tagger
    own = {tag: tags[anchor] for anchor, tag in before.items()}
    for found, named in zip(tagger.tag_sents(words()), labelled.tag_sents(words()), strict=True):
        assert named == [(word, own[tag]) for word, tag in found]
    first = next(iter(before))
    again = labelled.label({**labelled.anchors, first: "D"})
    assert again.anchors == tags | {first: "D"}
    assert tagger.label(tagger.anchors).tag_sents(words()) == tagger.tag_sents(words())


def test_top_words(tagger: AnchorTagger) -> None:
    top = tagger.top_words(3)
    assert list(top) == list(tagger.anchors)
    assert all(len(row) == 3 and row == sorted(row, key=lambda pair: -pair[1]) for row in top.values())
    (determiners,) = ([word for word, _ in row] for row in top.values() if row[0][0] in DETERMINERS)
    assert set(determiners) == set(DETERMINERS)

"""The latent and the anchor hidden Markov model as NLTK's taggers."""

import math
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import pytest
from nltk.tag.util import untag

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import HMMOptions, LatentHMM
from spectral_latent_nltk import AnchorTagger, LatentHMMTagger
from tests.conformance.taggers import LearntTaggerConformance, TaggerConformance
from tests.conformance.treebank import SENTENCES, TAGGED


class _Corpus:
    examples = TAGGED
    sentences = SENTENCES[::9]


class TestLatentHMMTagger(_Corpus, LearntTaggerConformance):
    @staticmethod
    def train(examples: Iterable[Any]) -> LatentHMMTagger:
        return LatentHMMTagger.train(examples, n_states=2)


class TestWithoutTags(_Corpus, TaggerConformance):
    """States learnt from the same sentences."""

    @staticmethod
    def train(examples: Iterable[Any]) -> LatentHMMTagger:
        options = HMMOptions(EstimatorOptions("em", iterations=20))
        return LatentHMMTagger.train_unsupervised(map(untag, examples), 4, options=options)

    def tags(self, tagger: Any) -> set[Any]:
        return {"0", "1", "2", "3"}


class TestAnchorTagger(_Corpus, LearntTaggerConformance):
    """What is no pair is given to the tagger as it is."""

    @staticmethod
    def train(examples: Iterable[Any]) -> AnchorTagger:
        if isinstance(examples, Iterable) and not isinstance(examples, str | bytes):
            examples = map(_words_if_pairs, examples)
        return AnchorTagger.train(examples, n_states=4)

    def tags(self, tagger: Any) -> set[Any]:
        return set(tagger.anchors.values())


def _words_if_pairs(example: Any) -> Any:
    example = list(example) if isinstance(example, Iterable) and not isinstance(example, str | bytes) else example
    pairs = isinstance(example, list) and all(isinstance(t, tuple) and len(t) == 2 for t in example)
    return untag(example) if pairs else example


def test_models_that_cannot_tag() -> None:
    spectral = HMMOptions(EstimatorOptions("spectral", n_states=2), choose_states=False)
    for given in ({"options": spectral}, {"preset": "spectral"}, {"preset": "fast", "options": spectral}):
        with pytest.raises(ValueError, match=r"states|preset"):
            LatentHMMTagger.train_unsupervised(SENTENCES, 2, **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no states"):
        LatentHMMTagger(LatentHMM.train(SENTENCES, spectral))


@pytest.mark.parametrize("tags", [(1, ("V", None)), ("N(1)", "é")])
def test_tags_are_anything_hashable(tags: tuple[Hashable, Hashable], tmp_path: Path) -> None:
    sentences = [[("dogs", tags[0]), ("bark", tags[1])], [("cats", tags[0]), ("sleep", tags[1])]]
    tagger = LatentHMMTagger.train(sentences)
    tagger.save(tmp_path / "model")
    for each in (tagger, LatentHMMTagger.load(tmp_path / "model")):
        assert each.tag_sents(map(untag, sentences)) == sentences
        assert -math.inf < each.model.joint_log_probabilities(sentences)[0] < 0.0


@pytest.fixture(scope="module")
def anchored() -> AnchorTagger:
    return AnchorTagger.train(SENTENCES, 4)


def test_tags_are_anchors_in_capitals(anchored: AnchorTagger) -> None:
    assert anchored.anchors == {word: word.upper() for word in anchored.model.anchors}
    assert len(anchored.anchors) == 4
    for sentence in SENTENCES:
        for written in (sentence, [word.title() for word in sentence]):
            found = anchored.tag(written)
            assert untag(found) == written
            assert all(anchored.anchors.get(word.lower(), tag) == tag for word, tag in found)


def test_labels_are_tags(anchored: AnchorTagger) -> None:
    before = dict(anchored.anchors)
    tags: dict[str, Hashable] = dict(zip(before, ("N", ("V", 1), 2, "N"), strict=True))
    labelled = anchored.label(tags)
    assert (labelled.anchors, anchored.anchors) == (tags, before)  # a new tagger
    own = {tag: tags[anchor] for anchor, tag in before.items()}
    for found, named in zip(anchored.tag_sents(SENTENCES), labelled.tag_sents(SENTENCES), strict=True):
        assert named == [(word, own[tag]) for word, tag in found]
    first = next(iter(before))
    assert labelled.label({**labelled.anchors, first: "D"}).anchors == tags | {first: "D"}
    assert anchored.label(anchored.anchors).tag_sents(SENTENCES) == anchored.tag_sents(SENTENCES)

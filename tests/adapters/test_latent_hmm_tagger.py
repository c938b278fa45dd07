"""The latent hidden Markov model as NLTK's tagger."""

import itertools
import math
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import pytest
from nltk.tag.util import untag

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import HMMOptions, LatentHMM
from spectral_latent_nltk import LatentHMMTagger
from tests.conformance.taggers import (
    LearntTaggerConformance,
    Tagged,
    TaggerConformance,
)

SUBJECTS = ["They/PRP", "The/DT dogs/NNS", "Old/JJ dogs/NNS", "The/DT saw/NN", "It/PRP"]
VERBS = ["saw/VBD", "can/MD see/VB", "see/VBP", "left/VBD"]
OBJECTS = ["", "it/PRP", "the/DT old/JJ can/NN", "dogs/NNS with/IN the/DT saw/NN", "them/PRP"]
ENDS = ["", "./."]


def corpus() -> list[Tagged]:
    sentences = (" ".join(parts) for parts in itertools.product(SUBJECTS, VERBS, OBJECTS, ENDS))
    return [[tuple(token.split("/")) for token in sentence.split()] for sentence in sentences]


def words() -> list[list[str]]:
    return [untag(sentence) for sentence in corpus()[::7]]


class _Corpus:
    @staticmethod
    def examples() -> list[Tagged]:
        return corpus()

    @staticmethod
    def sentences() -> list[list[str]]:
        return words()


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


@pytest.fixture(scope="module")
def tagger() -> LatentHMMTagger:
    return LatentHMMTagger.train(corpus(), n_states=2)


def test_models_that_cannot_tag() -> None:
    with pytest.raises(ValueError, match="finds no states without tags"):
        LatentHMMTagger.train_unsupervised(words(), 2, options=HMMOptions())
    with pytest.raises(ValueError, match=r"the estimator Spectral\(.*\) finds no states"):
        LatentHMMTagger.train_unsupervised(words(), 2, preset="spectral")
    with pytest.raises(ValueError, match="preset='fast' chooses the options"):
        LatentHMMTagger.train_unsupervised(words(), 2, preset="fast", options=HMMOptions())
    with pytest.raises(ValueError, match="spectral operators have no states"):
        LatentHMMTagger(LatentHMM.train(words()))


def test_inconsistent_tagging() -> None:
    """One sentence with two taggings: the more frequent one is found, and the other has a smaller probability."""
    often, rarely = ([("saws", tag), ("saw", other)] for tag, other in (("NNS", "VBD"), ("VBZ", "NN")))
    tagger = LatentHMMTagger.train([often] * 6 + [rarely] * 3)
    assert tagger.tag(["saws", "saw"]) == often
    assert tagger.model.paths(["saws", "saw"])[0][0] == ["NNS", "VBD"]
    logs = tagger.model.joint_log_probabilities([often, rarely])
    assert logs[0] > logs[1] > -math.inf


@pytest.mark.parametrize("tags", [(1, ("V", None)), ("N(1)", "é")])
def test_tags_are_anything_hashable(tags: tuple[Hashable, Hashable], tmp_path: Path) -> None:
    sentences = [[("dogs", tags[0]), ("bark", tags[1])], [("cats", tags[0]), ("sleep", tags[1])]]
    tagger = LatentHMMTagger.train(sentences)
    tagger.save(tmp_path / "model")
    for each in (tagger, LatentHMMTagger.load(tmp_path / "model")):
        assert each.tag_sents(map(untag, sentences)) == sentences
        assert -math.inf < each.model.joint_log_probabilities(sentences)[0] < 0.0

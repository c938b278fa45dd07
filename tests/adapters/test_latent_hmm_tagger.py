"""The latent hidden Markov model as NLTK's tagger."""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

import pytest
from nltk.probability import LidstoneProbDist
from nltk.tag import HiddenMarkovModelTagger
from nltk.tag.util import untag

from spectral_latent.corpora import tagged_sentences
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import score_tags
from spectral_latent.files import ModelFileError
from spectral_latent.sequence import HMMOptions, LatentHMM, TaggerOptions, preset
from spectral_latent_nltk import AnchorTagger, LatentHMMTagger
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


def _lidstone(counts: Any, bins: int) -> LidstoneProbDist:
    return LidstoneProbDist(counts, 0.1, bins)


class TestHiddenMarkovModelTagger(_Corpus, TaggerConformance):
    """The control: NLTK's own tagger passes, but for what is overridden here."""

    @staticmethod
    def train(examples: Iterable[Any]) -> HiddenMarkovModelTagger:
        return HiddenMarkovModelTagger.train(examples, estimator=_lidstone)

    def test_many_sentences(self, tagger: Any) -> None:
        """NLTK tags one sentence after the other, and slowly, so that two are as good as thousands."""
        assert tagger.tag_sents(self.sentences()[:2]) == self.all_tags(tagger)[:2]

    def test_empty_sentences(self, tagger: Any) -> None:
        with pytest.raises(IndexError):
            tagger.tag([])


@pytest.fixture(scope="module")
def tagger() -> LatentHMMTagger:
    return LatentHMMTagger.train(corpus(), n_states=2)


def test_settings() -> None:
    options = TaggerOptions(back_off=2.0)
    assert LatentHMMTagger.train(corpus()).model.options == preset("fast")
    assert LatentHMMTagger.train(corpus(), preset="spectral").model.options == TaggerOptions()
    assert LatentHMMTagger.train(corpus(), options=options).model.options == options
    changed = LatentHMMTagger.train(corpus(), 3, jobs=2, options=options).model.options
    assert changed == TaggerOptions(EstimatorOptions(n_states=3), back_off=2.0)
    for n_states in (0, -1):
        for train in (LatentHMMTagger.train, LatentHMMTagger.train_unsupervised):
            with pytest.raises(ValueError, match=r"Clusters\.n_states must be an integer of at least 1"):
                train([], n_states)


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


def test_a_file_with_another_model_names_the_class_that_loads_it(tagger: LatentHMMTagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"AnchorTagger cannot use .*; load it with LatentHMMTagger\.load"):
        AnchorTagger.load(tmp_path / "model")


def test_treebank(require_corpus: Callable[[str], Any]) -> None:
    require_corpus("treebank")
    treebank_tagger = LatentHMMTagger.train(tagged_sentences("nltk:treebank:dev"))
    gold = list(tagged_sentences("nltk:treebank:test"))[::2]
    known = set(treebank_tagger.model.observations.known)
    score = score_tags(gold, treebank_tagger.tag_sents(map(untag, gold)), known)
    assert treebank_tagger.accuracy(gold) == pytest.approx(score.accuracy / 100)
    assert score.accuracy > 92.0
    assert score.unknown_accuracy > 80.0
    paths = [
        list(zip(words, treebank_tagger.model.paths(words)[0][0], strict=True)) for words in map(untag, gold[:100])
    ]
    assert score_tags(gold[:100], paths).accuracy > 91.0

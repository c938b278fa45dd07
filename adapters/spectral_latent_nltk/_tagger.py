"""The latent hidden Markov model as a tagger of NLTK's."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import LatentHMM, SequenceOptions
from spectral_latent_nltk._states import names_of_states, states_of_names
from spectral_latent_nltk._tokens import BatchTagger, Tag, each, pairs_of, tokens_of

__all__ = ["LatentHMMTagger"]


class _Random(Protocol):
    def random(self) -> float: ...


class LatentHMMTagger(BatchTagger):
    """A hidden Markov model with latent states behind NLTK's `TaggerI`; may be shared between threads.

    A sentence is a list of tokens, and every token gets a tag, also one that was never seen.  A tag is as it was in
    training: a string, mostly, but anything that can be hashed, but for None.  What NLTK's `HiddenMarkovModelTagger`
    has besides is here too, and means the same.

    >>> sents = [[("dogs", "N"), ("bark", "V")], [("cats", "N"), ("sleep", "V"), ("well", "R")]]
    >>> tagger = LatentHMMTagger.train(sents)
    >>> tagger.tag(["mice", "sleep"])
    [('mice', 'N'), ('sleep', 'V')]
    >>> round(tagger.accuracy(sents), 2)
    1.0
    """

    def __init__(self, model: LatentHMM) -> None:
        if not model.is_tagged:
            _ = model.hidden  # what has neither tags nor states cannot tag
        self.model = model

    @classmethod
    def train(
        cls,
        labeled_sequences: Iterable[Iterable[tuple[str, Tag]]],
        n_states: int | None = None,
        *,
        jobs: int = 1,
        options: SequenceOptions | None = None,
    ) -> LatentHMMTagger:
        """Learn from tagged sentences: any iterable, read once.  The same sentences give the same tagger.

        n_states: the most latent states of a tag; 8 if `options` do not say otherwise.
        jobs: processes; the result does not depend on it.
        options: everything else.

        Raises TypeError for what is not tagged sentences, and EstimationError, a ValueError, if a sentence is empty,
        a token has the tag None, or there is no sentence.
        """
        options = _with_states(options or SequenceOptions(), n_states)
        return cls(LatentHMM.fit_tagged(each(labeled_sequences, pairs_of), options, jobs=jobs))

    @classmethod
    def train_unsupervised(
        cls,
        unlabeled_sequences: Iterable[Iterable[str]],
        n_states: int,
        *,
        jobs: int = 1,
        options: SequenceOptions | None = None,
    ) -> LatentHMMTagger:
        """Learn from sentences without tags, each a list of tokens; the tags will be states: "0", "1" and so on.

        EM begins where clusters of spectral coordinates are, and may find fewer states than asked for.  For the rest
        see `train`; `options` may name another estimator, but not the spectral one: its operators have no states.
        """
        options = options or SequenceOptions(estimator=EstimatorOptions("hybrid"))
        if options.estimator.estimator == "spectral":
            raise ValueError("the spectral estimator finds no states without tags; name hybrid, clustering or em")
        options = _with_states(options, n_states)
        return cls(LatentHMM.fit(each(unlabeled_sequences, tokens_of), options, jobs=jobs))

    def _tags_of(self, sentences: list[list[str]]) -> list[list[Any]]:
        return [self._named(tags) for tags in self.model.tag(sentences)]

    def _named(self, tags: list[Any]) -> list[Any]:
        return tags if self.model.is_tagged else names_of_states(tags)

    def best_path(self, unlabeled_sequence: Iterable[str]) -> list[Any]:
        """The likeliest sequence of tags (Viterbi), of which single tags may differ from those of `tag`.

        Raises TypeError for a sentence that is not made of strings.
        """
        return self._named(self.model.paths(tokens_of(unlabeled_sequence))[0][0])

    def log_probability(self, sequence: Iterable[tuple[str, Tag]]) -> float:
        """The base-2 logarithm of the probability of words together with their tags.

        Where every tag is None, it is that of the words alone.  A sentence ends with a certain probability, which is
        counted; a word never seen counts as all words of its kind.  A tag never seen has probability 0: -inf.

        Raises TypeError for what is not pairs, ValueError for an empty sequence, or if only some tags are None.
        """
        pairs = pairs_of(sequence)
        words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
        if not words:
            raise ValueError("an empty sequence has no probability")
        if tags.count(None) == len(tags):
            log = self.model.log_probabilities([words])[0]
        elif None in tags:
            raise ValueError("some words have the tag None; give all words a tag, or none of them")
        else:
            known = tags if self.model.is_tagged else states_of_names(tags, self.model.hidden.n_states)
            log = self.model.joint_log_probabilities([zip(words, known, strict=True)])[0]
        return float(log) / math.log(2)

    def random_sample(self, rng: _Random, length: int) -> list[tuple[str, Any]]:
        """A sentence of the given length drawn at random, of words seen in training, with tags.

        rng: a `random.Random`, or anything else whose method `random` gives numbers between 0 and 1.

        Raises ValueError for a negative length.
        """
        if length < 0:
            raise ValueError(f"length must be at least 0, not {length}")
        if length == 0:
            return []
        generator = np.random.default_rng(int(rng.random() * 2**53))
        (drawn,) = self.model.sample(1, generator, length=length, max_length=length + 1)
        if self.model.is_tagged:
            return drawn
        return list(zip(drawn, names_of_states(self.model.draw(drawn, generator)), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tagger to one file, whole or not at all.

        Raises ValueError if a tag is not made of strings, numbers and tuples.
        """
        self.model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LatentHMMTagger:
        """Read a tagger.  Raises ModelFileError, a ValueError, for a file that is not a whole model."""
        return cls(LatentHMM.load(path))

    def __repr__(self) -> str:
        tags = f"{len(self.model.tags)} tags of up to " if self.model.is_tagged else ""
        words = len(self.model.observations.known)
        return f"<LatentHMMTagger: {tags}{self.model.latent.states.max()} states, {words} words>"


def _with_states(options: SequenceOptions, n_states: int | None) -> SequenceOptions:
    return options if n_states is None else replace(options, n_states=n_states)

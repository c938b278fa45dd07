"""Offer latent hidden Markov models and anchor hidden Markov models as taggers of NLTK's."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EM, shown
from spectral_latent.model import check_sentences
from spectral_latent.sequence import (
    HMMOptions,
    LatentHMM,
    LatentTagger,
    PresetName,
    StateTagger,
    TaggerOptions,
    hmm_preset,
)
from spectral_latent.sequence import preset as options_of_preset
from spectral_latent_nltk._adapters import Tag, TaggerAdapter, choose_options


class LatentHMMTagger(TaggerAdapter):
    """A hidden Markov model with latent states behind NLTK's `TaggerI`; may be shared between threads.

    A sentence is a list of tokens.  Every token gets a tag, also a token that was never seen.  A tag is an object of
    the training data: any hashable object but None, and mostly a string.  Paths and probabilities are those of
    `model`: `paths`, `posteriors`, `log_probabilities` and `joint_log_probabilities`.

    model: a model of tagged words; or a model without tags that has states, whose tags are then "0", "1" and so on.

    >>> sents = [[("dogs", "N"), ("bark", "V")], [("cats", "N"), ("sleep", "V"), ("well", "R")]]
    >>> tagger = LatentHMMTagger.train(sents)
    >>> tagger.tag(["mice", "sleep"])
    [('mice', 'N'), ('sleep', 'V')]
    >>> round(tagger.accuracy(sents), 2)
    1.0
    """

    models = (LatentTagger, LatentHMM)

    def __init__(self, model: LatentTagger | LatentHMM) -> None:
        super().__init__(model)
        self._tagger: LatentTagger | StateTagger
        if isinstance(model, LatentTagger):
            self._tagger = model
        else:  # NLTK's tags are strings
            self._tagger = replace(model.tagger, tags=[str(state) for state in model.tagger.tags])

    @classmethod
    def train(
        cls,
        labeled_sequences: Iterable[Sequence[tuple[str, Tag]]],
        n_states: int | None = None,
        *,
        preset: PresetName | None = None,
        progress: bool | None = None,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        options: TaggerOptions | None = None,
    ) -> LatentHMMTagger:
        """Learn from tagged sentences, with the preset `fast` if none is given.  The same ones give the same tagger.

        labeled_sequences: sentences of pairs of a word and its tag; any iterable, read once.

        Raises ValueError for a preset that does not exist or is given together with options, and EstimationError, a
        ValueError, for objects that are not tagged sentences, if a sentence is empty, a token has the tag None, or
        there is no sentence."""
        options = choose_options(options_of_preset, preset, options, n_states)
        with shown(progress) as listener:
            return cls(LatentTagger.train(labeled_sequences, options, weights=weights, jobs=jobs, listener=listener))

    @classmethod
    def train_unsupervised(
        cls,
        unlabeled_sequences: Iterable[Sequence[str]],
        n_states: int,
        *,
        preset: PresetName | None = None,
        jobs: int | None = 1,
        options: HMMOptions | None = None,
    ) -> LatentHMMTagger:
        """Learn from sentences without tags, as `train_unsupervised` of NLTK's `HiddenMarkovModelTrainer`.

        The tags are the numbers of the states: "0", "1" and so on.

        unlabeled_sequences: sentences, each a list of tokens; any iterable, read once.
        n_states: the number of states; EM that starts from clusters may find fewer.
        preset: the name of settings that go well together, "fast" or "accurate"; see
        `spectral_latent.sequence.hmm_preset`.
        options: all other settings, in the place of a preset; not those of the spectral estimator, whose operators have
        no states.  Without preset and options, EM starts from clusters.

        Raises ValueError for a preset that does not exist or is given together with options, and for a preset whose
        model has no states.

        >>> sents = [["dogs", "bark"], ["cats", "sleep"], ["dogs", "sleep"], ["cats", "bark"]] * 50
        >>> tagger = LatentHMMTagger.train_unsupervised(sents, 2, preset="fast")
        >>> (_, noun), (_, verb) = tagger.tag(["dogs", "bark"])
        >>> noun != verb, tagger.tag(["cats", "sleep"]) == [("cats", noun), ("sleep", verb)]
        (True, True)
        """
        if preset is not None:
            options = choose_options(hmm_preset, preset, options, None)
        options = options or HMMOptions(EM())
        if not options.estimator.probabilities:
            raise ValueError(
                f"the estimator {options.estimator!r} finds no states without tags; use EM, Clusters or Random"
            )
        options = replace(options, estimator=options.estimator.with_settings(n_states=n_states), choose_states=False)
        return cls(LatentHMM.train(check_sentences(unlabeled_sequences), options, jobs=jobs))

    def _tags_of(self, sentences: list[list[str]]) -> Iterator[list[Any]]:
        return self._tagger.tag_all(sentences)


class AnchorTagger(TaggerAdapter):
    """A tagger that learns parts of speech from words alone, behind NLTK's `TaggerI`; threads may share it.

    Each tag has an anchor, a word in lower case that has no other tag.  Until anchors are labelled, a tag is its
    anchor in capitals; with a label for each anchor, the labels are the tags.

    >>> sents = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["a", "dog", "sleeps"], ["a", "cat", "barks"]]
    >>> tagger = AnchorTagger.train(sents, n_states=3)
    >>> sorted(tagger.anchors.items())
    [('barks', 'BARKS'), ('dog', 'DOG'), ('the', 'THE')]
    >>> tagger.tag(["a", "cat", "sleeps"])
    [('a', 'THE'), ('cat', 'DOG'), ('sleeps', 'BARKS')]
    >>> tagger.label({"the": "DET", "dog": "NOUN", "barks": "VERB"}).tag(["a", "cat", "sleeps"])
    [('a', 'DET'), ('cat', 'NOUN'), ('sleeps', 'VERB')]
    """

    models = (AnchorHMM,)

    def __init__(self, model: AnchorHMM) -> None:
        super().__init__(model)
        self._named = replace(model, labels=tuple(model.names)) if model.labels is None else model

    @classmethod
    def train(
        cls,
        unlabeled_sequences: Iterable[Sequence[str]],
        n_states: int | None = None,
        *,
        options: AnchorOptions | None = None,
    ) -> AnchorTagger:
        """Learn from sentences without tags.  The same sentences give the same tagger.

        unlabeled_sequences: sentences, each a list of tokens; any iterable, read once.
        n_states: the largest number of states, each of which has a tag; 12 if `options` do not say otherwise.

        Raises TypeError for objects that are not sentences without tags, and EstimationError, a ValueError, if a
        sentence is empty, or if there is no sentence."""
        options = options or AnchorOptions()
        if n_states is not None:
            options = replace(options, n_states=n_states)
        return cls(AnchorHMM.train(unlabeled_sequences, options))

    @property
    def anchors(self) -> dict[str, Any]:
        """The tag of each anchor."""
        return dict(zip(self.model.anchors, self._named.labels or (), strict=True))

    def label(self, tags: Mapping[str, Tag]) -> AnchorTagger:
        """Make a tagger with other tags.  Several anchors may have the same tag.

        tags: the tag of each anchor; `{**tagger.anchors, "the": "DET"}` changes a single one.

        Raises ValueError if a word is not an anchor, or an anchor has no tag; TypeError if a tag cannot be hashed."""
        for word, tag in tags.items():
            if not isinstance(tag, Hashable):
                raise TypeError(f"expected a tag that can be hashed for {word!r}, got {tag!r:.60}")
        return AnchorTagger(self.model.label(tags))

    def top_words(self, n_words: int = 10) -> dict[str, list[tuple[str, float]]]:
        """List the likeliest words of each anchor's tag, with their probabilities.  They help to choose its label."""
        return dict(zip(self.model.anchors, self.model.top_words(n_words), strict=True))

    def _tags_of(self, sentences: list[list[str]]) -> Iterator[list[Any]]:
        return self._named.tag_all(sentences)

"""Models against gold: what they find, how good that is, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakSet

from spectral_latent.constituency import ConstituencyModel, Parse, Phrase, clean
from spectral_latent.dependency import DependencyModel, DependencyParse, DependencySentence
from spectral_latent.evaluation._ratios import percentage
from spectral_latent.evaluation.attachment import AttachmentScore, score_attachments
from spectral_latent.evaluation.brackets import BracketScores, score_brackets
from spectral_latent.evaluation.tagging import TaggingScore, score_tags
from spectral_latent.grammar.batches import map_sentences

__all__ = [
    "DependencyEvaluation",
    "GoldTree",
    "ParserEvaluation",
    "TaggerEvaluation",
    "evaluate_dependency_parser",
    "evaluate_parser",
    "evaluate_tagger",
]

_BATCH = 1000  # sentences tagged at once
_LEAST = 1e-9  # seconds
_Progress = Callable[[Sequence[Any]], Iterable[Any]]

_begun: WeakSet[Any] = WeakSet()  # the models that have parsed in this process


class GoldTree(NamedTuple):
    """A gold tree as the treebank has it, by which EVALB scores, and its words without traces."""

    tree: Phrase
    words: list[str]

    @staticmethod
    def of(tree: Phrase) -> GoldTree | None:
        """None if the tree has no words.

        >>> GoldTree.of(Phrase("S", (Phrase("NN", ("dog",)), Phrase("-NONE-", ("*",))))).words
        ['dog']
        """
        cleaned = clean(tree)
        return None if cleaned is None else GoldTree(tree, list(cleaned.words()))


class ParserEvaluation(NamedTuple):
    """The parses of gold trees' sentences, their scores, and the CPU seconds that they took."""

    parses: list[Parse]
    scores: BracketScores
    seconds: float

    @property
    def fallbacks(self) -> int:
        """How many sentences the grammar could not derive."""
        return sum(parse.is_fallback for parse in self.parses)

    @property
    def sentences_per_second(self) -> float:
        """Of CPU time."""
        return len(self.parses) / max(self.seconds, _LEAST)


class DependencyEvaluation(NamedTuple):
    """The parses of gold trees' sentences, their scores, and the CPU seconds that they took.

    has_relations: whether relations are annotated in gold and in parses; else labelled scores mean nothing.
    nonpositive: gold trees whose estimated probability is not positive; one with several roots has none.
    """

    parses: list[DependencyParse]
    score: AttachmentScore
    has_relations: bool
    nonpositive: int
    seconds: float

    @property
    def fallbacks(self) -> int:
        """How many sentences the grammar could not derive."""
        return sum(parse.is_fallback for parse in self.parses)

    @property
    def nonpositive_share(self) -> float:
        """100 nonpositive / sentences."""
        return percentage(self.nonpositive, len(self.parses))

    @property
    def sentences_per_second(self) -> float:
        """Of CPU time."""
        return len(self.parses) / max(self.seconds, _LEAST)


class TaggerEvaluation(NamedTuple):
    """The tags of gold sentences' words, their score, and the CPU seconds that they took."""

    tags: list[list[str]]
    score: TaggingScore
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Of CPU time."""
        return self.score.tokens / max(self.seconds, _LEAST)


def evaluate_parser(
    model: ConstituencyModel, gold: Sequence[GoldTree], *, jobs: int | None = 1, progress: _Progress = iter
) -> ParserEvaluation:
    """Parse and score the sentences of gold trees.

    jobs: processes, of which all count as time; a sentence is parsed in each before the clock starts, so that what is
    done once is not counted.  `progress` is given the sentences, and gives each on before it is parsed, or with more
    processes, before its parse is waited for.

    >>> tree = GoldTree.of(Phrase("S", (Phrase("A", ("a",)), Phrase("B", ("b",)))))
    >>> evaluate_parser(ConstituencyModel.train([tree.tree]), [tree]).scores.f1
    100.0
    """
    found = map_sentences(_timed_parse, model, (sentence.words for sentence in gold), jobs)
    parses, seconds = _together(found, progress(gold))
    pairs = ((sentence.tree, parse.tree) for sentence, parse in zip(gold, parses, strict=True))
    return ParserEvaluation(parses, score_brackets(pairs), seconds)


def evaluate_dependency_parser(
    model: DependencyModel,
    gold: Sequence[DependencySentence],
    *,
    projective: bool = True,
    jobs: int | None = 1,
    progress: _Progress = iter,
) -> DependencyEvaluation:
    """Parse and score the words of gold trees, with their tags.

    projective: whether only projective trees are looked for.
    jobs, progress: as for `evaluate_parser`.

    Raises ValueError if a sentence has no heads.

    >>> gold = [DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"])._replace(heads=(2, 0))]
    >>> found = evaluate_dependency_parser(DependencyModel.train(gold), gold)
    >>> found.score.uas, found.nonpositive_share, found.has_relations
    (100.0, 0.0, False)
    """
    sentences = [sentence.without_tree() for sentence in gold]
    parse = partial(_timed_parse, projective=projective)
    parses, seconds = _together(map_sentences(parse, model, sentences, jobs), progress(sentences))
    found = [parse.sentence for parse in parses]
    signs = model.score(sentence for sentence in gold if len(sentence.roots) == 1).sign
    nonpositive = len(gold) - int((signs > 0).sum())
    has_relations = _has_relations(gold) and _has_relations(found)
    return DependencyEvaluation(parses, score_attachments(gold, found), has_relations, nonpositive, seconds)


def _timed_parse(model: Any, sentence: Any, **options: bool) -> tuple[Any, float]:
    """Parse a sentence, and measure the seconds of CPU time that this takes."""
    if model not in _begun:
        model.parse(sentence, **options)
        _begun.add(model)
    start = time.process_time()
    return model.parse(sentence, **options), time.process_time() - start


def _together(found: Iterable[tuple[Any, float]], shown: Iterable[Any]) -> tuple[list[Any], float]:
    """All parses, and the sum of their seconds."""
    timed = [each for _, each in zip(shown, found, strict=True)]
    return [parse for parse, _ in timed], sum(seconds for _, seconds in timed)


def _has_relations(sentences: Iterable[DependencySentence]) -> bool:
    return any(relation != "_" for sentence in sentences for relation in sentence.relations)


def evaluate_tagger(
    tag: Callable[[list[list[str]]], Iterable[Iterable[str]]],
    gold: Sequence[Sequence[tuple[str, str]]],
    known: Iterable[str],
    *,
    progress: _Progress = iter,
) -> TaggerEvaluation:
    """Tag and score the words of gold sentences, by a function from sentences to their tags.

    known: the words that the tagger was trained on.  The first sentence is tagged before the clock starts, so that
    what is done once is not counted.  `progress` is given where each batch of sentences begins, and gives that on.

    >>> gold = [[("dogs", "N"), ("bark", "V")]]
    >>> found = evaluate_tagger(lambda sentences: [["N"] * len(words) for words in sentences], gold, known={"dogs"})
    >>> found.score.accuracy, found.score.unknown_accuracy, found.tags
    (50.0, 0.0, [['N', 'N']])
    """
    sentences = [[word for word, _ in sentence] for sentence in gold]
    list(tag(sentences[:1]))
    start = time.process_time()
    tags = [
        list(found) for at in progress(range(0, len(sentences), _BATCH)) for found in tag(sentences[at : at + _BATCH])
    ]
    seconds = time.process_time() - start
    predicted = (list(zip(words, found, strict=True)) for words, found in zip(sentences, tags, strict=True))
    return TaggerEvaluation(tags, score_tags(gold, predicted, frozenset(known)), seconds)

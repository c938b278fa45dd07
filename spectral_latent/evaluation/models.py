"""Evaluate models on gold annotation: their output, its score, and the time that it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.corpora import divided_texts
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.evaluation.scores import (
    AttachmentScore,
    BracketScores,
    TaggingScore,
    score_attachments,
    score_brackets,
    score_tags,
)
from spectral_latent.evaluation.universal import score_columns
from spectral_latent.model import Parse
from spectral_latent.model.batches import map_batches
from spectral_latent.reranking import words_of

_BATCH = 1000  # sentences tagged at once
_LEAST = 1e-9  # seconds, so that no speed is divided by zero
_Progress = Callable[[Sequence[Any]], Iterable[Any]]
_Tree = TypeVar("_Tree", Phrase, DependencySentence)
_AnyScore = TypeVar("_AnyScore", BracketScores, AttachmentScore, dict[str, float])


@dataclass(frozen=True)
class ParserEvaluation(Generic[_Tree, _AnyScore]):
    """The evaluation of a parser: its parses, their score, and the CPU seconds that they took.

    parses: the parses of the gold sentences, without their probabilities.
    seconds: the CPU time of parsing, in seconds.
    function_score: the score of phrases with their function labels; None if the model has no function labels.
    has_relations: whether dependency trees and parses have relations; if not, labelled scores have no meaning."""

    parses: list[Parse[_Tree]]
    score: _AnyScore
    seconds: float
    function_score: _AnyScore | None = None
    has_relations: bool = False

    @property
    def fallbacks(self) -> int:
        """The number of sentences that the grammar could not derive."""
        return sum(parse.is_fallback for parse in self.parses)

    @property
    def sentences_per_second(self) -> float:
        """Sentences per second of CPU time."""
        return len(self.parses) / max(self.seconds, _LEAST)


@dataclass(frozen=True)
class TaggerEvaluation:
    """The evaluation of a tagger.

    seconds: the CPU time of tagging, in seconds."""

    tags: list[list[str]]
    score: TaggingScore
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of CPU time."""
        return self.score.tokens / max(self.seconds, _LEAST)


def evaluate_parser(
    model: ConstituencyModel, gold: Sequence[Phrase], *, jobs: int | None = 1, progress: _Progress = iter
) -> ParserEvaluation[Phrase, BracketScores]:
    """Parse the words of gold trees without traces, and score the parses.

    The first sentence is parsed once more before the clock starts, so that the time for loading compiled code does not
    count in this process.

    jobs: the number of processes that parse; their CPU times are added up.
    progress: a wrapper for the sequence of sentences, such as `tqdm`; it advances when a parse is asked for.

    >>> tree = Phrase("S", (Phrase("A", ("a",)), Phrase("B", ("b",))))
    >>> evaluate_parser(ConstituencyModel.train([tree]), [tree]).score.f1
    100.0
    """
    parses, seconds = _parse_all(model, list(map(words_of, gold)), jobs, progress)
    pairs = [(tree, parse.tree) for tree, parse in zip(gold, parses, strict=True)]
    function_score = None if model.functions is None else score_brackets(pairs, function_labels=True)
    return ParserEvaluation(parses, score_brackets(pairs), seconds, function_score)


def evaluate_dependency_parser(
    model: DependencyModel,
    gold: Sequence[DependencySentence],
    *,
    projective: bool = True,
    jobs: int | None = 1,
    progress: _Progress = iter,
) -> ParserEvaluation[DependencySentence, AttachmentScore]:
    """Parse the words of gold trees with their tags, and score the parses; time is measured as by `evaluate_parser`.

    gold: the trees, which may have several roots.
    jobs, progress: as for `evaluate_parser`.

    Raises ValueError if a sentence has no heads.

    >>> gold = [DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"]).with_heads((2, 0))]
    >>> evaluation = evaluate_dependency_parser(DependencyModel.train(gold), gold)
    >>> evaluation.score.uas, evaluation.has_relations
    (100.0, False)
    """
    sentences = [each.without_tree() for each in gold]
    parses, seconds = _parse_all(model, sentences, jobs, progress, projective=projective)
    parsed = [parse.tree for parse in parses]
    has_relations = _has_relations(gold) and _has_relations(parsed)
    return ParserEvaluation(parses, score_attachments(gold, parsed), seconds, has_relations=has_relations)


def evaluate_columns(
    model: DependencyModel,
    gold: Sequence[DependencySentence],
    *,
    origin: Literal["words", "text"],
    projective: bool = True,
    jobs: int | None = 1,
    progress: _Progress = iter,
) -> ParserEvaluation[DependencySentence, dict[str, float]]:
    """Parse the words or the text of gold trees, and score all columns; time is measured as by `evaluate_parser`.

    origin: what the parser is given: the words alone, or the texts, which it divides; that time does not count.
    jobs, progress: as for `evaluate_parser`.

    Raises ValueError for another origin.

    >>> gold = [DependencySentence.of(["Dogs", "bark"]).with_heads((2, 0))]
    >>> round(evaluate_columns(DependencyModel.train(gold), gold, origin="text").score["uas"])
    100
    """
    if origin == "words":
        sentences = [DependencySentence.of(each.forms)._replace(ranges=each.ranges) for each in gold]
    elif origin == "text":
        text = "\n\n".join(paragraph.text for paragraph in divided_texts(gold))
        sentences = list(map(DependencySentence.of_tokens, model.tokenisation.sentences(text)))
    else:
        raise ValueError(f"the origin must be 'words' or 'text', not {origin!r}")
    parses, seconds = _parse_all(model, sentences, jobs, progress, projective=projective)
    return ParserEvaluation(parses, score_columns(gold, [parse.tree for parse in parses]), seconds)


def _parse_all(
    model: Any, sentences: Sequence[Any], jobs: int | None, progress: _Progress, **options: bool
) -> tuple[list[Any], float]:
    """Parse sentences, with options for `parse`, and add up the seconds of CPU time."""
    for _ in model.parse_all(sentences[:1], scored=False, **options):
        pass
    answered = map_batches(_timed_parses, model, sentences, jobs, options)
    timed = [answer for _, answer in zip(progress(sentences), answered, strict=True)]
    return [parse for parse, _ in timed], sum(seconds for _, seconds in timed)


def _timed_parses(model: Any, sentences: Sequence[Any], options: dict[str, bool]) -> list[tuple[Any, float]]:
    """Parse sentences, and measure the seconds of CPU time, of which each sentence has an equal share."""
    start = time.process_time()
    parses_of_each = list(model.parse_all(sentences, scored=False, **options))
    share = (time.process_time() - start) / len(sentences)
    return [(best, share) for best, *_ in parses_of_each]


def _has_relations(sentences: Iterable[DependencySentence]) -> bool:
    """Tell whether a word of the sentences has a relation."""
    return any(relation != "_" for sentence in sentences for relation in sentence.relations)


def measure_perplexity(log_probabilities: ArrayLike, lengths: ArrayLike) -> tuple[float, int]:
    """Compute exp(-log p / words) over the sentences whose probability is above zero; also count the other sentences.

    The perplexity is infinite if there is no such sentence.

    log_probabilities: (T,) the log-probability of each sentence; -inf if the probability is not above zero.
    lengths: (T,) the number of words of each sentence.

    >>> perplexity, impossible = measure_perplexity([np.log(1 / 8), np.log(1 / 4), -np.inf], [3, 2, 7])
    >>> round(perplexity, 6), impossible
    (2.0, 1)
    """
    log = np.asarray(log_probabilities, dtype=float)
    possible = log > -np.inf
    words = np.asarray(lengths)[possible].sum()
    return float(np.exp(-log[possible].sum() / words)) if words else np.inf, int((~possible).sum())


def evaluate_tagger(
    tag: Callable[[list[list[str]]], Iterable[Iterable[str]]],
    gold: Sequence[Sequence[tuple[str, str]]],
    known: Iterable[str] = (),
    *,
    progress: _Progress = iter,
) -> TaggerEvaluation:
    """Tag the words of gold sentences, and score the tags; time is measured as by `evaluate_parser`.

    tag: a function from sentences to their tags, such as a model's `tag_all`.
    known: the words that the tagger was trained on.
    progress: a wrapper for the sequence of batches of sentences, such as `tqdm`.

    >>> gold = [[("dogs", "N"), ("bark", "V")]]
    >>> evaluation = evaluate_tagger(lambda sentences: [["N"] * len(words) for words in sentences], gold, {"dogs"})
    >>> evaluation.score.accuracy, evaluation.score.unknown_accuracy, evaluation.tags
    (50.0, 0.0, [['N', 'N']])
    """
    sentences = [[word for word, _ in sentence] for sentence in gold]
    list(tag(sentences[:1]))
    tags: list[list[str]] = []
    start = time.process_time()
    for first in progress(range(0, len(sentences), _BATCH)):
        tags += map(list, tag(sentences[first : first + _BATCH]))
    seconds = time.process_time() - start
    predicted = (list(zip(words, row, strict=True)) for words, row in zip(sentences, tags, strict=True))
    return TaggerEvaluation(tags, score_tags(gold, predicted, frozenset(known)), seconds)

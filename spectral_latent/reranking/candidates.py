"""N-best lists: the trees that a parser gives for one sentence, the best first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.cleaning import is_empty
from spectral_latent.dependency import DependencySentence

__all__ = ["Candidate", "CandidateError", "NBest", "Tree", "words_of"]

Tree: TypeAlias = Phrase | DependencySentence


class CandidateError(ValueError):
    """A list that cannot be: the message names its sentence, says why, and what to do about it.

    number: that of the candidate, from 1.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class Candidate(NamedTuple):
    """A tree, and what the parser, or several of them, thinks of it.

    >>> Candidate(Phrase("UH", ("Yes",)), -1.5).rescored(0.25)
    Candidate(tree=Phrase(label='UH', children=('Yes',)), score=0.25, further=(-1.5,))
    """

    tree: Tree
    score: float | None = None
    """The larger the better, -inf for a tree that the parser holds impossible; None if not known."""
    further: tuple[float, ...] = ()
    """Earlier scores, such as the parser's where `score` is a reranker's; without a score there are none."""

    @property
    def scores(self) -> tuple[float, ...]:
        """`score`, if it is known, and the further ones."""
        return () if self.score is None else (self.score, *self.further)

    @staticmethod
    def of(tree: Tree, scores: Iterable[float] = ()) -> Candidate:
        """The inverse of `scores`.

        >>> Candidate.of(Phrase("UH", ("Yes",)), [2.0, 1.0]).further
        (1.0,)
        """
        score, further = None, tuple(scores)
        if further:
            score, *rest = further
            further = tuple(rest)
        return Candidate(tree, score, further)

    def rescored(self, score: float) -> Candidate:
        """The same tree with one more score, which comes first."""
        return Candidate.of(self.tree, (score, *self.scores))


def words_of(tree: Tree) -> tuple[str, ...]:
    """The words of a tree, left to right, without empty elements.

    >>> words_of(Phrase("VP", (Phrase("VB", ("go",)), Phrase("-NONE-", ("*",)))))
    ('go',)
    """
    if isinstance(tree, DependencySentence):
        return tree.forms
    phrases = (node for node in tree.nodes() if isinstance(node, Phrase))
    return tuple(
        child
        for phrase in phrases
        for child in phrase.children
        if isinstance(child, str) and not is_empty(phrase.label, child)
    )


@dataclass(frozen=True)
class NBest:
    """The candidates of one sentence in the parser's order, which need not be that of their scores.

    There may be any number of them; none where the parser failed.  Raises CandidateError for candidates of two
    formalisms, other words than the sentence's, as many scores for one candidate as not for another, a score that is
    no number or infinitely large, and heads that are not a tree.

    >>> trees = [Phrase("NN", ("run",)), Phrase("VB", ("run",))]
    >>> NBest.of([Candidate(tree, score) for tree, score in zip(trees, (-1.0, -2.0))]).words
    ('run',)
    """

    id: str
    words: tuple[str, ...]
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        for number, candidate in enumerate(self.candidates, start=1):
            if problem := self._problem(candidate):
                raise CandidateError(f"sentence {self.id}, candidate {number}: {problem}", number)

    @staticmethod
    def of(candidates: Iterable[Candidate], id: str = "1", words: Iterable[str] | None = None) -> NBest:
        """The list of a sentence whose words, if not given, are those of the first candidate.

        >>> NBest.of([], id="7", words=["run"])
        NBest(id='7', words=('run',), candidates=())
        """
        candidates = tuple(candidates)
        if words is None:
            words = words_of(candidates[0].tree) if candidates else ()
        return NBest(id, tuple(words), candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def n_scores(self) -> int:
        """How many scores each candidate has."""
        return len(self.candidates[0].scores) if self.candidates else 0

    def rescored(self, scores: Iterable[float]) -> NBest:
        """Every candidate with one more score, in the same order.

        >>> NBest.of([Candidate(Phrase("UH", ("Yes",)))]).rescored([0.5]).candidates[0].score
        0.5
        """
        pairs = zip(self.candidates, scores, strict=True)
        return replace(self, candidates=tuple(candidate.rescored(float(score)) for candidate, score in pairs))

    def _problem(self, candidate: Candidate) -> str | None:
        """What keeps a candidate from the list."""
        tree = candidate.tree
        first = self.candidates[0]
        if isinstance(tree, Phrase) != isinstance(first.tree, Phrase):
            return "phrases and dependencies in one list; give each formalism a list of its own"
        if (words := words_of(tree)) != self.words:
            return _difference(words, self.words)
        if len(candidate.scores) != self.n_scores:
            return (
                f"the candidate has {_counted(len(candidate.scores), 'score')}, the first one has "
                f"{_counted(self.n_scores, 'score')}; give each candidate of a list the same number, or none to all"
            )
        if any(math.isnan(score) or score == math.inf for score in candidate.scores):
            return "a score is not a number, or infinitely large; give a finite one, or -inf for an impossible tree"
        if isinstance(tree, DependencySentence) and not _is_tree(tree):
            return "the heads are no tree; give each word the number of its head, or 0 for the root, without cycles"
        return None


def _is_tree(sentence: DependencySentence) -> bool:
    n, heads = len(sentence.forms), sentence.heads
    return heads is not None and len(heads) == n and all(0 <= head <= n for head in heads) and sentence.is_tree()


def _difference(words: tuple[str, ...], expected: tuple[str, ...]) -> str:
    """Where the words of a candidate leave those of its sentence."""
    remedy = "give trees over the same words, or the list of another sentence a start of its own"
    for at, (word, other) in enumerate(zip(words, expected, strict=False), start=1):
        if word != other:
            return f"word {at} is {word!r} where the sentence has {other!r}; {remedy}"
    return f"{_counted(len(words), 'word')} where the sentence has {len(expected)}; {remedy}"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"

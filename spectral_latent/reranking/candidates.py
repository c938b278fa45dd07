"""Hold n-best lists: the trees that a parser gives for one sentence, and make them by the library's parsers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from spectral_latent._options import counted
from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.constituency.cleaning import clean_together, tagged_words
from spectral_latent.constituency.tree import FlatPhrases
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.drawing import captioned_html
from spectral_latent.model import Parse, check_kind
from spectral_latent.model.parts import jackknife

Tree: TypeAlias = Phrase | DependencySentence


class CandidateError(ValueError):
    """An error for an inconsistent n-best list; the message names the sentence and the candidate, and says what to do.

    number: the place of the candidate in its list, from 1."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class Candidate(NamedTuple):
    """A tree with the scores that one or several parsers gave it.

    score: the latest score, larger for better trees; -inf for a tree of probability zero, None if there is no score.
    other_scores: earlier scores, such as the parser's if `score` is a reranker's; none if there is no score.

    >>> Candidate(Phrase("UH", ("Yes",)), -1.5).rescore(0.25)
    Candidate(tree=<Phrase: (UH Yes)>, score=0.25, other_scores=(-1.5,))
    """

    tree: Tree
    score: float | None = None
    other_scores: tuple[float, ...] = ()

    @property
    def scores(self) -> tuple[float, ...]:
        """All scores, the latest first."""
        return () if self.score is None else (self.score, *self.other_scores)

    @staticmethod
    def of(tree: Tree, scores: Iterable[float] = ()) -> Candidate:
        """Make a candidate from a tree and all its scores, the latest first.

        >>> Candidate.of(Phrase("UH", ("Yes",)), [2.0, 1.0]).other_scores
        (1.0,)
        """
        score, *other_scores = tuple(scores) or (None,)
        return Candidate(tree, score, tuple(other_scores))

    def rescore(self, score: float) -> Candidate:
        """Return the tree with one more score, which comes first."""
        return Candidate.of(self.tree, (score, *self.scores))


def words_of(tree: Tree) -> tuple[str, ...]:
    """Return the words of a tree from left to right, without empty elements.

    >>> words_of(Phrase("VP", (Phrase("VB", ("go",)), Phrase("-NONE-", ("*",)))))
    ('go',)
    """
    if isinstance(tree, DependencySentence):
        return tree.forms
    return tuple(word for _, word in tagged_words(tree))


@dataclass(frozen=True)
class NBest:
    """The candidates of one sentence in the parser's order, which need not be the order of their scores.

    A list may have any number of candidates; it has none if the parser failed.

    candidates: trees over these words, all of one formalism and with the same number of scores.

    Raises CandidateError for a candidate with a word or a label that no file can hold, of another formalism than the
    first one, with other words than the sentence or without words, with another number of scores than the first one,
    with a score that is not a number or is infinitely large, or with heads that are not a tree.

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
        """Make the list of a sentence.

        candidates: trees over the words of the sentence, the best first.
        words: the words of the sentence; if not given, the words of the first candidate.

        >>> NBest.of([], id="7", words=["run"])
        NBest(id='7', words=('run',), candidates=())
        """
        candidates = _with_shared_phrases(tuple(candidates))
        if words is None:
            words = words_of(candidates[0].tree) if candidates else ()
        return NBest(id, tuple(words), candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def _repr_html_(self) -> str:
        """Draw the candidates with their scores, for notebooks."""
        return captioned_html(
            (f"Tree {rank}: {', '.join(f'{score:.2f}' for score in candidate.scores) or 'no score'}", svg)
            for rank, candidate in enumerate(self.candidates, start=1)
            if (svg := candidate.tree._repr_svg_()) is not None
        )

    @property
    def has_heads(self) -> bool:
        """Whether the candidates are dependency trees."""
        return bool(self.candidates) and isinstance(self.candidates[0].tree, DependencySentence)

    @property
    def n_scores(self) -> int:
        """The number of scores of each candidate."""
        return len(self.candidates[0].scores) if self.candidates else 0

    @cached_property
    def cleaned(self) -> list[Tree]:
        """The trees from which features are computed: cleaned phrases, or unchanged dependency trees.

        Phrases lose top brackets, function labels and empty elements (`constituency.clean`).  A part that several
        phrases share is one object.

        >>> tree = Phrase("S1", (Phrase("NP-SBJ", (Phrase("PRP", ("it",)),)),))
        >>> NBest.of([Candidate(tree)]).cleaned
        [<Phrase: (NP (PRP it))>]
        """
        trees = [candidate.tree for candidate in self.candidates]
        phrases = [tree for tree in trees if isinstance(tree, Phrase)]
        # Either all trees are phrases, or none is; each phrase has a word after cleaning.
        return [tree for tree in clean_together(phrases) if tree is not None] if phrases else trees

    def rescore(self, scores: Iterable[float]) -> NBest:
        """Return the list with one more score for every candidate, in the same order.

        >>> NBest.of([Candidate(Phrase("UH", ("Yes",)))]).rescore([0.5]).candidates[0].score
        0.5
        """
        pairs = zip(self.candidates, scores, strict=True)
        return replace(self, candidates=tuple(candidate.rescore(float(score)) for candidate, score in pairs))

    def _problem(self, candidate: Candidate) -> str | None:
        """Describe why a candidate cannot be in the list; None if it can."""
        tree = candidate.tree
        try:
            tree.check_names()
        except (TypeError, ValueError) as error:
            return str(error)
        first = self.candidates[0]
        if isinstance(tree, Phrase) != isinstance(first.tree, Phrase):
            return "phrases and dependencies in one list; give each formalism a list of its own"
        words = words_of(tree)
        if not words:
            return "the tree has no words; leave it out"
        if words != self.words:
            return _difference(words, self.words)
        if len(candidate.scores) != self.n_scores:
            return (
                f"the candidate has {counted(len(candidate.scores), 'score')}, the first one has "
                f"{counted(self.n_scores, 'score')}; give each candidate of a list the same number, or none to all"
            )
        if any(math.isnan(score) or score == math.inf for score in candidate.scores):
            return "a score is not a number, or infinitely large; give a finite one, or -inf for an impossible tree"
        if isinstance(tree, DependencySentence) and not _is_tree(tree):
            return "the heads are no tree; give each word the number of its head, or 0 for the root, without cycles"
        return None


def check_formalism(lists: Sequence[NBest], has_heads: bool, user: str) -> None:
    """Raise ValueError for an n-best list of another formalism, and TypeError for an object that is not a list."""
    needed, others = ("dependency trees", "phrases") if has_heads else ("phrases", "dependency trees")
    for nbest in lists:
        check_kind(nbest, NBest)
        if len(nbest) and nbest.has_heads != has_heads:
            raise ValueError(f"{others} for a {user} of {needed}; give it n-best lists of {needed}")


def _with_shared_phrases(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return the candidates with trees whose equal phrases are one object."""
    shared = iter(FlatPhrases.of([tree for tree, _, _ in candidates if isinstance(tree, Phrase)]).trees())
    return tuple(
        candidate._replace(tree=next(shared)) if isinstance(candidate.tree, Phrase) else candidate
        for candidate in candidates
    )


def _is_tree(sentence: DependencySentence) -> bool:
    """Tell whether there are heads, in range, that form a tree."""
    n = len(sentence.forms)
    heads = sentence.heads
    return heads is not None and len(heads) == n and all(0 <= head <= n for head in heads) and sentence.is_tree()


def _difference(words: tuple[str, ...], expected: tuple[str, ...]) -> str:
    """Describe how the words of a candidate differ from the words of its sentence."""
    remedy = "give trees over the same words, or the list of another sentence a start of its own"
    for place, (word, other) in enumerate(zip(words, expected, strict=False), start=1):
        if word != other:
            return f"word {place} is {word!r} where the sentence has {other!r}; {remedy}"
    return f"{counted(len(words), 'word')} where the sentence has {len(expected)}; {remedy}"


Parser: TypeAlias = ConstituencyModel | DependencyModel


def parses_to_nbest(parses: Sequence[Parse[Phrase]] | Sequence[Parse[DependencySentence]], id: str = "1") -> NBest:
    """Make the n-best list of a sentence from its parses; scores are log |p̂|.

    parses: the parses of one sentence, the best first.

    >>> model = ConstituencyModel.train([Phrase("S", (Phrase("NN", ("dogs",)), Phrase("VB", ("run",))))])
    >>> nbest = parses_to_nbest(model.parse_nbest(["dogs", "run"], 5))
    >>> nbest.words, len(nbest)
    (('dogs', 'run'), 1)
    """
    return NBest.of((Candidate(parse.tree, parse.log) for parse in parses), id)


def parser_nbest(model: Parser, trees: Iterable[Tree], n_best: int, *, jobs: int | None = 1) -> Iterator[NBest]:
    """Parse the sentences of gold trees to n-best lists, which are numbered from 1.

    Raises ValueError for a tree of another formalism or without words, and for n_best < 1.

    >>> gold = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs")]
    >>> [(nbest.id, nbest.words) for nbest in parser_nbest(ConstituencyModel.train(gold), gold, 5)]
    [('1', ('cats', 'run')), ('2', ('dogs', 'run'))]
    """
    sentences = (_bare_sentence(model, tree) for tree in trees)
    parses_of_each: Iterator[Any] = model.parse_all(sentences, n_best, jobs=jobs)
    for number, parses in enumerate(parses_of_each, start=1):
        yield parses_to_nbest(parses, str(number))


def jackknifed_nbest(
    model: Parser, trees: Sequence[Tree], n_best: int, folds: int = 10, *, jobs: int | None = 1
) -> list[NBest]:
    """Parse the sentences of a parser's training trees by parsers that learnt from the trees of the other folds.

    On its own training trees a parser is better and more certain than on other trees, and a reranker that learns from
    such lists would trust the parser too much.  The parser itself must not be a latent model of that reranker, because
    it learnt from the sentences.  The trees of a fold are neighbours, so that an article is seldom in two folds.

    model: a parser; the other parsers have its options.

    Raises ValueError for fewer than two folds or fewer trees than folds.

    >>> gold = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs", "men")]
    >>> lists = jackknifed_nbest(ConstituencyModel.train(gold), gold, n_best=5, folds=3)
    >>> [(nbest.id, nbest.words) for nbest in lists][1:]
    [('2', ('dogs', 'run')), ('3', ('men', 'run'))]
    """

    if not 2 <= folds <= len(trees):
        raise ValueError(f"{folds} folds of {len(trees)} trees; give at least two folds, and as many trees as folds")
    parts = jackknife(
        [(tree, 1.0) for tree in trees],
        folds,
        lambda others, _: _train_like(model, others, jobs),
        folds=[at * folds // len(trees) for at in range(len(trees))],
    )
    lists = (nbest for other, held_out, _ in parts for nbest in parser_nbest(other, held_out, n_best, jobs=jobs))
    return [replace(nbest, id=str(number)) for number, nbest in enumerate(lists, start=1)]


def _bare_sentence(model: Parser, tree: Tree) -> Any:
    """Return the sentence of a gold tree as the model's `parse_all` takes it."""
    if isinstance(model, ConstituencyModel) != isinstance(tree, Phrase):
        raise ValueError("phrases for a parser of dependencies, or the other way round; give it trees of its own kind")
    words = words_of(tree)
    if not words:
        raise ValueError("a tree without words has no parse; leave it out")
    return words if isinstance(tree, Phrase) else tree.without_tree()


def _train_like(model: Parser, trees: Sequence[Tree], jobs: int | None) -> Parser:
    """Train a parser with the options of another one."""
    if isinstance(model, ConstituencyModel):
        options = [member.options for member in model.members]
        return ConstituencyModel.train((tree for tree in trees if isinstance(tree, Phrase)), options, jobs=jobs)
    sentences = (tree for tree in trees if isinstance(tree, DependencySentence))
    return DependencyModel.train(sentences, [member.options for member in model.members], jobs=jobs)

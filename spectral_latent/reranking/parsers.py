"""Make n-best lists with the library's own parsers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.model import Parse
from spectral_latent.reranking.candidates import Candidate, NBest, Tree, words_of

__all__ = ["Parser", "jackknife", "jackknifed_nbest", "parser_nbest", "parses_to_nbest"]

Parser: TypeAlias = ConstituencyModel | DependencyModel
_Item = TypeVar("_Item")


def parses_to_nbest(parses: Sequence[Parse[Phrase]] | Sequence[Parse[DependencySentence]], id: str = "1") -> NBest:
    """Make the n-best list of a sentence from its parses; scores are log |p̂|.

    parses: the parses of one sentence, the best first.
    id: the name of the sentence.

    >>> model = ConstituencyModel.train([Phrase("S", (Phrase("NN", ("dogs",)), Phrase("VB", ("run",))))])
    >>> nbest = parses_to_nbest(model.parse_nbest(["dogs", "run"], 5))
    >>> nbest.words, len(nbest)
    (('dogs', 'run'), 1)
    """
    return NBest.of((Candidate(parse.tree, parse.log) for parse in parses), id)


def parser_nbest(model: Parser, trees: Iterable[Tree], n_best: int, *, jobs: int | None = 1) -> Iterator[NBest]:
    """Parse the sentences of gold trees to n-best lists, which are numbered from 1.

    model: the parser that makes the lists.
    trees: trees of the model's formalism.
    n_best: the largest number of candidates of a list.
    jobs: the number of processes.

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
    """Parse the sentences of a parser's training trees by parsers that learnt from other trees; see `jackknife`.

    A reranker can learn from such lists if there are no trees besides the parser's training trees.  The parser itself
    must not be a latent model of that reranker, because it learnt from the sentences.

    model: a parser; the other parsers have its options.
    trees: the training trees of the parser.
    n_best: the largest number of candidates of a list.
    folds: the number of other parsers.
    jobs: the number of threads that train, and of processes that parse.

    >>> gold = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs", "men")]
    >>> lists = jackknifed_nbest(ConstituencyModel.train(gold), gold, n_best=5, folds=3)
    >>> [(nbest.id, nbest.words) for nbest in lists][1:]
    [('2', ('dogs', 'run')), ('3', ('men', 'run'))]
    """

    def parse_fold(train: list[Tree], held_out: list[Tree]) -> Iterator[NBest]:
        """Parse a fold by a parser that is trained on the other folds."""
        return parser_nbest(_train_like(model, train, jobs), held_out, n_best, jobs=jobs)

    return [replace(nbest, id=str(number)) for number, nbest in enumerate(jackknife(trees, parse_fold, folds), start=1)]


def jackknife(
    trees: Sequence[_Item], parse_fold: Callable[[list[_Item], list[_Item]], Iterable[NBest]], folds: int = 10
) -> list[NBest]:
    """Make the n-best list of every tree's sentence by a parser that learnt from the trees of the other folds.

    On its own training trees a parser is better and more certain than on other trees.  A reranker that learns from such
    lists would trust the parser too much.  The trees of a fold are neighbours, so that an article is seldom in two
    folds.

    trees: gold trees, or anything else that a parser learns from.
    parse_fold: a function of the trees to learn from and the trees whose sentences are to be parsed, which returns the
        lists of the latter in their order.
    folds: the number of parsers.

    Raises ValueError for fewer than two folds or fewer trees than folds, and if lists are missing.

    >>> def parse_fold(train, held_out):
    ...     return [NBest(f"{item} by {train}", (), ()) for item in held_out]
    >>> [nbest.id for nbest in jackknife([1, 2, 3], parse_fold, folds=2)]
    ['1 by [3]', '2 by [3]', '3 by [1, 2]']
    """
    if not 2 <= folds <= len(trees):
        raise ValueError(f"{folds} folds of {len(trees)} trees; give at least two folds, and as many trees as folds")
    lists: list[NBest] = []
    bounds = [-(-len(trees) * fold // folds) for fold in range(folds + 1)]
    for begin, end in pairwise(bounds):
        lists += parse_fold([*trees[:begin], *trees[end:]], list(trees[begin:end]))
        if len(lists) != end:
            n_lists = len(lists) - begin
            raise ValueError(f"{n_lists} lists for the {end - begin} trees of a fold; give one for each, even empty")
    return lists


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
    return DependencyModel.train(sentences, model.options, jobs=jobs)

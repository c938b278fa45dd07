"""The library's own parsers as base parsers: what they find for a sentence as n-best lists, and in another order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from spectral_latent.constituency import ConstituencyModel, Parse, Phrase
from spectral_latent.dependency import DependencyModel, DependencyParse, DependencySentence
from spectral_latent.reranking.candidates import Candidate, NBest, Tree, words_of
from spectral_latent.reranking.jackknife import jackknifed
from spectral_latent.reranking.perceptron import PerceptronReranker
from spectral_latent.reranking.reranker import LATENT, LatentModels, Reranker, models_needed

__all__ = [
    "CANDIDATES",
    "Parser",
    "all_best_parses",
    "best_parses",
    "jackknifed_lists",
    "load_reranker",
    "nbest_of_parses",
    "own_lists",
]

CANDIDATES = 50  # so many are looked at, if nothing is said
Parser: TypeAlias = ConstituencyModel | DependencyModel
_Parse = TypeVar("_Parse", Parse, DependencyParse)


def nbest_of_parses(parses: Sequence[Parse] | Sequence[DependencyParse], id: str = "1") -> NBest:
    """The parses of a sentence as an n-best list; the scores are log |p̂|.

    >>> from spectral_latent.constituency import ConstituencyModel, Phrase
    >>> model = ConstituencyModel.train([Phrase("S", (Phrase("NN", ("dogs",)), Phrase("VB", ("run",))))])
    >>> nbest = nbest_of_parses(model.parse_nbest(["dogs", "run"], 5))
    >>> nbest.words, len(nbest)
    (('dogs', 'run'), 1)
    """
    trees = ((parse.tree if isinstance(parse, Parse) else parse.sentence, parse.log) for parse in parses)
    return NBest.of((Candidate(tree, log) for tree, log in trees), id)


def best_parses(
    search: Callable[[int], Sequence[_Parse]], n: int, reranker: Reranker | None = None, candidates: int = CANDIDATES
) -> Sequence[_Parse]:
    """The n best parses of a sentence, by a search that gives the k best ones of a parser.

    With a reranker they are those of the largest scores among so many candidates, the best first.  Raises ValueError
    as the search does, and as `Reranker.table`.

    >>> import numpy as np
    >>> from spectral_latent.constituency import ConstituencyModel, Phrase
    >>> from spectral_latent.reranking.perceptron import PerceptronOptions, PerceptronReranker
    >>> trees = [Phrase("S", (Phrase(tag, ("dogs",)),)) for tag in ("NN", "NN", "VB")]
    >>> model = ConstituencyModel.train(trees)
    >>> names, weights = ("base:rank", "base:score"), np.array([1.0, 0.0])
    >>> last_first = Reranker(PerceptronReranker(PerceptronOptions(), names, weights, np.zeros(21), 1, 1.0))
    >>> (first,) = best_parses(lambda k: model.parse_nbest(["dogs"], k), 1, last_first)
    >>> first.tree.bracketed()
    '(S (VB dogs))'
    """
    return _chosen(search(_looked_at(n, reranker, candidates)), n, reranker)


def all_best_parses(
    parser: Parser,
    sentences: Iterable[Any],
    n: int,
    reranker: Reranker | None = None,
    candidates: int = CANDIDATES,
    *,
    jobs: int | None = 1,
) -> Iterator[Sequence[Any]]:
    """The n best parses of each sentence, in order, as `best_parses` gives them; an empty sentence has none.

    sentences: of the parser's kind; see its `parse_all`.
    jobs: processes that parse; the reranker is at work in this one.

    >>> model = ConstituencyModel.train([Phrase("S", (Phrase("NN", ("dogs",)), Phrase("VB", ("run",))))])
    >>> [len(parses) for parses in all_best_parses(model, [["dogs", "run"], []], 5)]
    [1, 0]
    """
    for parses in parser.parse_all(sentences, _looked_at(n, reranker, candidates), jobs=jobs):
        yield _chosen(parses, n, reranker)


def _looked_at(n: int, reranker: Reranker | None, candidates: int) -> int:
    """How many parses to search for n of them; a wrong n is left for the search to tell."""
    return n if reranker is None or n < 1 else max(n, candidates)


def _chosen(parses: Sequence[_Parse], n: int, reranker: Reranker | None) -> Sequence[_Parse]:
    if reranker is None or not parses:
        return parses
    return [parses[i] for i in reranker.ranking(nbest_of_parses(parses))[:n]]


def load_reranker(path: str | os.PathLike[str], parser: Parser, models: LatentModels | None = None) -> Reranker:
    """A reranker of a parser's own lists: the parser is its latent model `latent`, unless another is given.

    Raises ModelFileError as `Reranker.load`.
    """
    given = dict(models or {})
    if LATENT in models_needed(PerceptronReranker.load(path)):
        given.setdefault(LATENT, parser)
    return Reranker.load(path, given)


def own_lists(model: Parser, trees: Iterable[Tree], k: int, *, jobs: int = 1) -> Iterator[NBest]:
    """The k best trees of each gold tree's sentence, which are numbered from 1, by falling expected accuracy.

    jobs: processes.
    Raises ValueError for trees of another formalism than the model's, or without words, and for k < 1.

    >>> gold = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs")]
    >>> [(nbest.id, nbest.words) for nbest in own_lists(ConstituencyModel.train(gold), gold, 5)]
    [('1', ('cats', 'run')), ('2', ('dogs', 'run'))]
    """
    sentences = (_sentence(model, tree) for tree in trees)
    found: Iterator[Any] = model.parse_all(sentences, k, jobs=jobs)
    for number, parses in enumerate(found, start=1):
        yield nbest_of_parses(parses, str(number))


def jackknifed_lists(model: Parser, trees: Sequence[Tree], k: int, folds: int, *, jobs: int = 1) -> list[NBest]:
    """The same by models that did not learn from the sentences, with the options of this one; see `jackknifed`.

    What a reranker can be trained on where there are no trees but those that the parser learnt from.  The model itself
    is then no latent model of that reranker, for it did learn from them; log |p̂| of the others is among the features.
    jobs: processes that train and parse.

    >>> gold = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs", "men")]
    >>> found = jackknifed_lists(ConstituencyModel.train(gold), gold, k=5, folds=3)
    >>> [(nbest.id, nbest.words) for nbest in found][1:]
    [('2', ('dogs', 'run')), ('3', ('men', 'run'))]
    """

    def lists_of(train: list[Tree], held_out: list[Tree]) -> Iterator[NBest]:
        return own_lists(_retrained(model, train, jobs), held_out, k, jobs=jobs)

    return [replace(nbest, id=str(number)) for number, nbest in enumerate(jackknifed(trees, lists_of, folds), start=1)]


def _sentence(model: Parser, tree: Tree) -> Any:
    """What the model parses of a gold tree."""
    if isinstance(model, ConstituencyModel) != isinstance(tree, Phrase):
        raise ValueError("phrases for a parser of dependencies, or the other way round; give it trees of its own kind")
    if not (words := words_of(tree)):
        raise ValueError("a tree without words has no parse; leave it out")
    return words if isinstance(tree, Phrase) else tree.without_tree()


def _retrained(model: Parser, trees: Sequence[Tree], jobs: int) -> Parser:
    if isinstance(model, ConstituencyModel):
        options = [member.options for member in model.members]
        return ConstituencyModel.train((tree for tree in trees if isinstance(tree, Phrase)), options, jobs=jobs)
    sentences = (tree for tree in trees if isinstance(tree, DependencySentence))
    return DependencyModel.train(sentences, model.options, jobs=jobs)

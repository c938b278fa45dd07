"""Read n-best lists and latent models, and score lists against gold trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spectral_latent.tasks.inputs import read_text
from spectral_latent.tasks.kinds import load_parser
from spectral_latent.tasks.sources import dependency_entries, gold_trees, rooted_sentences, treebank
from spectral_latent.tasks.watch import RequestError, users_errors

if TYPE_CHECKING:
    from spectral_latent.constituency import Changes
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.nbest import NBestFormat
    from spectral_latent.evaluation.reranking import CandidateScores
    from spectral_latent.reranking import LatentModels, NBest, Reranker

__all__ = [
    "Lists",
    "evaluate_reranker",
    "load_models",
    "load_reranker",
    "nbest_lists",
    "read_lists",
    "score_lists",
]

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


class Lists(NamedTuple):
    """N-best lists, and the format of their file."""

    lists: list[NBest]
    form: NBestFormat

    @property
    def has_heads(self) -> bool:
        """Tell whether the candidates are dependency trees."""
        return any(nbest.has_heads for nbest in self.lists)


def read_lists(file: str, form: NBestFormat | None = None) -> Lists:
    """Read the lists of a file, or of standard input for `-`.

    form: the format of the lists; None to guess it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.trees")
    ...     _ = file.write_text("-1.5\\t(NN run)\\n-2.0\\t(VB run)\\n")
    ...     found = read_lists(str(file))
    >>> [len(each) for each in found.lists], found.form, found.has_heads
    ([2], 'trees', False)
    """
    from spectral_latent.corpora import CorpusError
    from spectral_latent.corpora.nbest import nbest_format, parse_nbest

    text, source = read_text(file)
    if not text.strip():
        raise CorpusError(f"{source}: no n-best lists")
    return Lists(list(parse_nbest(text, source, form)), form or nbest_format(text, source))


def score_lists(given: Lists, gold: Sequence[str]) -> CandidateScores:
    """Score the candidates against the trees of gold sources; both must have the same sentences.

    given: the n-best lists to score."""
    from spectral_latent.evaluation.reranking import score_dependency_lists, score_phrase_lists

    with users_errors():
        if given.has_heads:
            return score_dependency_lists(given.lists, [entry.tree().sentence for entry in dependency_entries(gold)])
        return score_phrase_lists(given.lists, list(gold_trees(gold)))


def load_models(given: Iterable[str]) -> LatentModels:
    """Load parsers by name, each of which is given as `FILE` or `NAME=FILE`."""
    from spectral_latent.reranking import LATENT

    models: dict[str, Any] = {}
    for each in given:
        named = None if Path(each).exists() else _NAMED.fullmatch(each)
        name, file = (named[1], named[2]) if named else (LATENT, each)
        if name in models:
            raise RequestError(f"--model {each}: there is a model named {name} already; give NAME=FILE")
        models[name] = load_parser(file)
    return models


def load_reranker(file: str, models: Iterable[str], parser: Any = None) -> Reranker:
    """Load a reranker and its latent models."""
    from spectral_latent.reranking import Reranker

    return Reranker.load(file, load_models(models), parser=parser)


def evaluate_reranker(reranker: Reranker, given: Lists, gold: Sequence[str]) -> dict[str, float | int]:
    """Compare the first, the chosen and the best tree of each list with the right one."""
    scores = score_lists(given, gold)
    with users_errors():
        difference, oracle = scores.evaluate(reranker.rerank(given.lists))
    return {
        "base": difference.base,
        "reranked": difference.other,
        "oracle": oracle,
        "error_reduction": difference.error_reduction,
        "low": difference.low,
        "high": difference.high,
        "sentences": len(given.lists),
        "candidates": len(scores.gains),
        "empty_lists": sum(not len(each) for each in given.lists),
    }


def nbest_lists(
    parser: Any,
    sources: Sequence[str],
    n_best: int,
    folds: int | None = None,
    jobs: int = 1,
    form: Format | None = None,
    skip_bad: bool = False,
    changes: Changes | None = None,
) -> tuple[Iterator[NBest], int]:
    """Parse the sentences of gold trees to n-best lists, with folds by parsers that learnt from the other trees.

    n_best: the largest number of trees of a sentence.
    folds: the number of parts of the trees; None to parse all by the parser itself.
    jobs: the number of processes.
    form: the format of the sources; None to guess it.
    skip_bad: whether to leave out trees in brackets that cannot be read.
    changes: counts what is changed in the trees."""
    from spectral_latent.reranking import jackknifed_nbest, parser_nbest

    if parser.kind == "constituency":
        trees: list[Any] = list(treebank(sources, changes, form, skip_bad))
    elif skip_bad:
        raise RequestError("--skip-bad is for trees in brackets")
    elif folds is None:
        trees = [entry.tree().sentence for entry in dependency_entries(sources, changes, form)]
    else:
        trees = list(rooted_sentences(sources, changes, form))
    if folds is None:
        return parser_nbest(parser, trees, n_best, jobs=jobs), len(trees)
    with users_errors():
        return iter(jackknifed_nbest(parser, trees, n_best, folds, jobs=jobs)), len(trees)

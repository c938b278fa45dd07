"""`spectral-latent rerank`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import click

from spectral_latent.cli.command import CommandGroup
from spectral_latent.cli.inputs import load_for, of_each, rooted_sentences
from spectral_latent.cli.options import (
    DEPENDENCY_SOURCES,
    PARTS,
    SOURCES,
    AsJson,
    Command,
    Count,
    Jobs,
    Output,
    SourceFormat,
    Sources,
    Value,
    function_for,
)
from spectral_latent.cli.outputs import OutputFile, bar, figures_table, message, results, table, users_errors
from spectral_latent.cli.sentences import read_text

if TYPE_CHECKING:
    from spectral_latent.evaluation.reranking import CandidateScores
    from spectral_latent.reranking import LatentModels, NBest, NBestFormat, Reranker

_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
_LISTS = "LISTS: blocks of BLLIP, lines `score TAB tree`, CoNLL-U with comments # score, or JSON lines."
_GOLD = (_LISTS, f"GOLD {SOURCES}", f"GOLD {DEPENDENCY_SOURCES}", PARTS)

_Format: TypeAlias = Annotated[
    Literal["bllip", "trees", "conllu", "json"] | None,
    Value("The format of LISTS.  [default: guessed]"),
]
_Gold: TypeAlias = Annotated[tuple[str, ...], Value("The right trees, in the order of the lists.", None, "GOLD")]
_Models: TypeAlias = Annotated[
    tuple[str, ...],
    Value("A parser that scores trees; its name is latent if none is given.", None, "[NAME=]FILE"),
]
_RerankerFile: TypeAlias = Annotated[Any, Value("The file to write.", OutputFile(), "RERANKER", ("-o", "--output"))]


def train(lists: str, *, output: _RerankerFile, gold: _Gold, model: _Models = (), format_: _Format = None) -> None:
    """Train a reranker on n-best lists and the right trees.

    Use lists of sentences that neither the parser nor the models learnt from.  RERANKER does not contain the models:
    give the same --model to the commands that use it.

    \b
    Example:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model"""
    from spectral_latent.reranking import Reranker

    begun = time.perf_counter()
    latent = _load_models(model)
    nbest = _read_lists(lists, format_)
    scores = _score_lists(nbest, gold)
    message(f"Training on {len(nbest)} lists of {len(scores.gains)} candidates")
    with users_errors():
        reranker = Reranker.train(nbest, scores.gains, latent)
    reranker.save(output)
    if not reranker.choice.is_learnt:
        message("Held-out lists showed no gain: the reranker chooses the first tree of each list")
    message(f"{output}: {len(reranker.choice.names)} features, {time.perf_counter() - begun:.1f} s")


def apply(
    reranker: str,
    lists: str = "-",
    *,
    model: _Models = (),
    format_: _Format = None,
    lists_: bool = False,
    output: Output | None = None,
) -> None:
    """Choose the best tree of each list.

    The output is a line of brackets for each sentence, or a sentence of CoNLL-U.  For a list without trees it is (()),
    or the words without heads.  With --lists, the output is the lists in JSON.

    \b
    Example:
      spectral-latent rerank apply reranker.model new.nbest --model wsj.model -o new.trees

    lists_: write all trees, each with the reranker's score first."""
    from spectral_latent.reranking import best_trees, write_nbest

    loaded = _load_reranker(reranker, model)
    nbest = _read_lists(lists, format_)
    with users_errors(), results(output) as write:
        if lists_:
            texts: Iterable[str] = write_nbest(loaded.rescore(nbest))
        else:
            texts = best_trees(nbest, loaded.rerank(nbest))
        for text in texts:
            write(text)


def evaluate(
    reranker: str,
    lists: str,
    *,
    gold: _Gold,
    model: _Models = (),
    format_: _Format = None,
    json_: AsJson = False,
) -> None:
    """Compare the first, the chosen and the best tree of each list with the right one.

    The measure is F1 as in EVALB, or the percentage of right heads of words that are not punctuation: for the first
    trees (base), for the chosen ones (reranked), and for the best ones (oracle).  The error reduction is in percent of
    the base's error; the difference lies between low and high with 95 % confidence, by the paired bootstrap.

    \b
    Example:
      spectral-latent rerank evaluate reranker.model test.nbest --gold test.mrg --model wsj.model"""
    loaded = _load_reranker(reranker, model)
    nbest = _read_lists(lists, format_)
    scores = _score_lists(nbest, gold)
    with users_errors():
        difference, oracle = scores.evaluate(loaded.rerank(nbest))
    figures = {
        "base": difference.base,
        "reranked": difference.other,
        "oracle": oracle,
        "error_reduction": difference.error_reduction,
        "low": difference.low,
        "high": difference.high,
        "sentences": len(nbest),
        "candidates": len(scores.gains),
        "empty_lists": sum(not len(each) for each in nbest),
    }
    click.echo(json.dumps(figures) if json_ else figures_table(figures))


def lists(
    model: str,
    sources: Sources,
    *,
    n_best: Count = 50,
    folds: Annotated[int | None, Value(type=click.IntRange(2), metavar="N")] = None,
    format_: SourceFormat = None,
    output: Output | None = None,
    jobs: Jobs = 1,
) -> None:
    """Write the n-best lists of a parser of this library, for the sentences of gold trees.

    The output is lines of JSON, with scores log |p|.  With --folds, MODEL may have learnt
    from the trees; do not give it as --model when you train on such lists, because it knows their sentences.

    \b
    Example:
      spectral-latent rerank lists wsj.model dev.mrg -o dev.nbest

    n_best: the largest number of trees of a sentence.
    folds: parse each of N parts of the trees by a model of the other parts."""
    from spectral_latent.constituency import Changes
    from spectral_latent.reranking import jackknifed_nbest, parser_nbest, write_nbest

    parser = load_for(model)
    changes = Changes()
    trees = function_for(parser.kind, model, {})(sources, changes, format_, folds is not None)
    table("Changed in the trees:", changes.table())
    with users_errors(), results(output) as write:
        if folds is None:
            found = parser_nbest(parser, trees, n_best, jobs=jobs)
        else:
            found = iter(jackknifed_nbest(parser, trees, n_best, folds, jobs=jobs))
        for text in write_nbest(bar(found, "Parsing", len(trees))):
            write(text)


def read_phrases(sources: Sequence[str], changes: Any, form: Any, _: bool) -> list[Any]:
    """Read trees in brackets."""
    from spectral_latent.corpora import constituency_trees

    return list(of_each(constituency_trees, sources, changes=changes, form=form))


def read_arcs(sources: Sequence[str], changes: Any, form: Any, trains: bool) -> list[Any]:
    """Read dependency trees, of one root each if parsers learn from them."""
    from spectral_latent.corpora import dependency_trees

    return list(of_each(rooted_sentences if trains else dependency_trees, sources, changes=changes, form=form))


def _read_lists(file: str, form: NBestFormat | None) -> list[NBest]:
    """Read the lists of a file, or of standard input for `-`."""
    from spectral_latent.corpora import CorpusError
    from spectral_latent.reranking import parse_nbest

    text, source = read_text(file)
    if not text.strip():
        raise CorpusError(f"{source}: no n-best lists")
    return list(parse_nbest(text, source, form))


def _score_lists(given: Sequence[NBest], gold: Sequence[str]) -> CandidateScores:
    """Score the candidates against the trees of gold sources; both must have the same sentences."""
    from spectral_latent.corpora import constituency_trees, dependency_trees
    from spectral_latent.evaluation.reranking import score_dependency_lists, score_phrase_lists

    with users_errors():
        if any(nbest.has_heads for nbest in given):
            return score_dependency_lists(given, list(of_each(dependency_trees, gold)))
        return score_phrase_lists(given, list(of_each(constituency_trees, gold)))


def _load_models(given: Iterable[str]) -> LatentModels:
    """Load parsers by name, each of which is given as `FILE` or `NAME=FILE`."""
    from spectral_latent.reranking import LATENT

    models: dict[str, Any] = {}
    for each in given:
        named = None if Path(each).exists() else _NAMED.fullmatch(each)
        name, file = (named[1], named[2]) if named else (LATENT, each)
        if name in models:
            raise click.UsageError(f"--model {each}: there is a model named {name} already; give NAME=FILE")
        models[name] = load_for(file, "constituency", "dependency")
    return models


def _load_reranker(file: str, models: Iterable[str]) -> Reranker:
    """Load a reranker and its latent models."""
    from spectral_latent.reranking import Reranker

    return Reranker.load(file, _load_models(models))


COMMAND = CommandGroup(
    "rerank",
    help="""Choose among the trees that a parser lists for each sentence.

    Any parser that writes n-best lists will do.  The choice is by the score and the place of each tree in its list, and
    by the probabilities that latent models of this library (--model) give to it and its parts.

    \b
    A reranker of another parser's trees:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model
      spectral-latent rerank evaluate reranker.model test.nbest --gold test.mrg --model wsj.model
      spectral-latent rerank apply reranker.model new.nbest --model wsj.model

    \b
    A reranker of the trees of a parser of this library:
      spectral-latent rerank lists wsj.model dev.mrg > dev.nbest
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model
      spectral-latent parse wsj.model new.txt --rerank reranker.model""",
)
COMMAND.add_command(Command(train, sources=_GOLD))
COMMAND.add_command(Command(apply, sources=(_LISTS,)))
COMMAND.add_command(Command(evaluate, sources=_GOLD))
COMMAND.add_command(
    Command(
        lists,
        {"constituency": read_phrases, "dependency": read_arcs},
        sources=(f"SOURCE {SOURCES}", f"SOURCE {DEPENDENCY_SOURCES}", PARTS),
    )
)

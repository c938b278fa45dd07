"""`spectral-latent rerank`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.lists import (
    CANDIDATES,
    LISTS,
    load_models,
    models_option,
    read_lists,
    score_lists,
    users_errors,
)
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.options import jobs_option, quiet_option
from spectral_latent.cli.outputs import OutputFile, figures_table, refuse_inputs
from spectral_latent.cli.sources import DEPENDENCY_SOURCES, SOURCES, dependency_entries, treebank

if TYPE_CHECKING:
    from spectral_latent.reranking import Reranker

__all__ = ["rerank"]

_GOLD = f"{LISTS}\n\n{SOURCES}\n\n{DEPENDENCY_SOURCES}".replace("SOURCE", "GOLD")

_gold_option = click.option(
    "--gold", metavar="GOLD", multiple=True, required=True, help="The right trees, in the order of the lists."
)
_templates_option = click.option(
    "--no-templates", is_flag=True, help="Leave out the features that count rules, or arcs by their tags."
)


def _output_option(metavar: str, help: str, *names: str, required: bool = False) -> Any:
    return click.option(*names, metavar=metavar, type=OutputFile(), required=required, help=help)


@click.group()
def rerank() -> None:
    """Choose among the trees that a parser gives for each sentence.

    Any parser that writes n-best lists will do.  The choice is by the score and the place of each tree in its list, by
    its rules or arcs, and by the probabilities that latent models of this library (--model) give to it and its parts.

    \b
    A reranker of another parser's trees:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.safetensors -o reranker.safetensors
      spectral-latent rerank evaluate reranker.safetensors test.nbest --gold test.mrg --model wsj.safetensors
      spectral-latent rerank apply reranker.safetensors new.nbest --model wsj.safetensors

    \b
    One of a parser's own trees:
      spectral-latent rerank lists wsj.safetensors dev.mrg > dev.nbest
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.safetensors -o reranker.safetensors
      spectral-latent parse wsj.safetensors new.txt --rerank reranker.safetensors
    """


@rerank.command(epilog=_GOLD)
@click.argument("lists")
@_gold_option
@models_option
@_templates_option
@_output_option("RERANKER", "The file to write.", "-o", "--output", required=True)
@click.option(
    "--seed",
    metavar="N",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Seed of the order in which lists are visited.",
)
@quiet_option
def train(
    lists: str,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    no_templates: bool,
    output: Path,
    seed: int,
    quiet: bool,
) -> None:
    """Train a reranker, an averaged perceptron, on n-best lists and the right trees.

    Give lists of sentences that neither their parser nor the models learnt from: on training sentences, parsers are
    surer than on any others.

    Trees in brackets are scored by F1 as in EVALB; dependency trees by their right heads, punctuation left out.
    RERANKER does not hold the models: give the same --model to the commands that use it.
    """
    from spectral_latent.reranking import PerceptronOptions, Reranker

    console = Console(quiet)
    begun = time.perf_counter()
    refuse_inputs(output, [lists, *gold, *models])
    latent = load_models(models)
    nbest = read_lists(lists)
    scores = score_lists(nbest, gold)
    console.message(f"Training on {len(nbest.lists)} lists of {len(scores.gains)} candidates")
    options = PerceptronOptions(seed=seed)
    with users_errors():
        reranker = Reranker.train(nbest.lists, scores.gains, latent, templates=not no_templates, options=options)
    reranker.save(output)
    perceptron = reranker.perceptron
    if not perceptron.epochs:
        console.message("Held-out lists showed no gain: the reranker chooses the first tree of each list")
    console.message(f"{output}: {len(perceptron.names)} features, {time.perf_counter() - begun:.1f} s")


@rerank.command(epilog=LISTS)
@click.argument("reranker")
@click.argument("lists", default="-")
@models_option
@click.option("--lists", "with_lists", is_flag=True, help="Write all trees, with the reranker's score before others.")
def apply(reranker: str, lists: str, models: tuple[str, ...], with_lists: bool) -> None:
    """Choose the best tree of each list.

    The output is a line of brackets for each sentence, or a sentence of CoNLL-U.  For a list without trees it is (()),
    or the words without heads.  With --lists, the output is the lists in their format and order.
    """
    from spectral_latent.corpora.nbest_output import best_trees, write_nbest

    loaded = _loaded(reranker, models)
    nbest = read_lists(lists)
    with users_errors():
        if with_lists:
            _echo(write_nbest(loaded.rescore(nbest.lists), nbest.form))
        else:
            _echo(best_trees(nbest.lists, loaded.rerank(nbest.lists)))


@rerank.command(epilog=_GOLD)
@click.argument("reranker")
@click.argument("lists")
@_gold_option
@models_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(
    reranker: str,
    lists: str,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare the first, the chosen and the best tree of each list with the right one.

    The measure is F1 as in EVALB, or the percentage of right heads of words that are not punctuation.  It is printed
    for the first trees (base), for the chosen trees (reranked), and for the best trees, which no reranker can exceed
    (oracle).  The error reduction is the share of the base's error that is gone, in percent.  The difference of
    reranked and base lies between low and high with 95 % confidence, by the paired bootstrap.  A list without trees
    counts as a flat tree labelled FALLBACK, or as words without a right head.
    """
    loaded = _loaded(reranker, models)
    nbest = read_lists(lists)
    scores = score_lists(nbest, gold)
    with users_errors():
        difference, oracle = scores.evaluate(loaded.rerank(nbest.lists))
    figures = {
        "base": difference.base,
        "reranked": difference.other,
        "oracle": oracle,
        "error_reduction": difference.error_reduction,
        "low": difference.low,
        "high": difference.high,
        "sentences": len(nbest.lists),
        "candidates": len(scores.gains),
        "empty_lists": sum(not len(each) for each in nbest.lists),
    }
    click.echo(json.dumps(figures) if as_json else figures_table(figures))


@rerank.command(epilog=_GOLD)
@click.argument("lists", default="-")
@models_option
@_templates_option
@click.option(
    "--gold",
    metavar="GOLD",
    multiple=True,
    help="The right trees, by which gains are computed; without them, gains are 0.",
)
@click.option("--like", metavar="RERANKER", help="Write the features of a reranker, under its numbers.")
@_output_option("FILE", "Write the names of features: number TAB name.", "--map", "names")
def features(
    lists: str,
    models: tuple[str, ...],
    no_templates: bool,
    gold: tuple[str, ...],
    like: str | None,
    names: Path | None,
) -> None:
    """Write the features of all candidates in the format of SVMlight and LETOR, for other learners.

    A line is `gain qid:N FEATURE:VALUE ... # NAME CANDIDATE`.  The gain is the number of right heads, or F1 times the
    number of words.  The lists decide which rules and arcs are features; for test lists, --like takes the features of a
    reranker that was trained on other lists.
    """
    from spectral_latent.corpora.nbest_output import feature_map, svmlight
    from spectral_latent.reranking import CandidateFeatures

    if like is not None and no_templates:
        raise click.UsageError("--like names the features; leave out --no-templates")
    if names is not None:
        refuse_inputs(names, [lists, *gold, *models, *filter(None, [like])])
    nbest = read_lists(lists)
    with users_errors():
        if like is not None:
            chosen = _loaded(like, models).features
        else:
            chosen = CandidateFeatures.train(nbest.lists, load_models(models), templates=not no_templates)
        table = chosen.table(nbest.lists)
    gains = score_lists(nbest, gold).gains if gold else None
    if names is not None:
        names.write_text("".join(feature_map(table)), encoding="utf-8")
    _echo(svmlight(table, gains))


@rerank.command(epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}")
@click.argument("model")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--n-best",
    metavar="N",
    default=CANDIDATES,
    show_default=True,
    type=click.IntRange(min=1),
    help="Trees per sentence, at most.",
)
@click.option(
    "--folds",
    metavar="N",
    type=click.IntRange(min=2),
    help="Parse each of N parts of the trees by a model that is trained on the others, with the options of MODEL.",
)
@jobs_option
@quiet_option
def lists(model: str, sources: tuple[str, ...], n_best: int, folds: int | None, jobs: int, quiet: bool) -> None:
    """Write the n-best lists of a parser of this library, for the sentences of gold trees.

    The output has lines `score TAB tree`, or is CoNLL-U.  The scores are log |p|.  With --folds, MODEL may have learnt
    from the trees; do not give it as --model when you train on such lists, because it knows their sentences.
    """
    from spectral_latent.corpora.nbest_output import write_nbest
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.reranking import jackknifed_nbest, parser_nbest

    parser = load_parser(model)
    is_dependency = isinstance(parser, DependencyModel)
    trees = _trees(sources, is_dependency, folds is not None)
    if folds is None:
        nbest = Console(quiet).bar(parser_nbest(parser, trees, n_best, jobs=jobs), "Parsing", len(trees))
    else:
        with users_errors():
            nbest = iter(jackknifed_nbest(parser, trees, n_best, folds, jobs=jobs))
    _echo(write_nbest(nbest, "conllu" if is_dependency else "trees"))


def _trees(sources: tuple[str, ...], is_dependency: bool, are_learnt: bool) -> list[Any]:
    """Read gold trees; dependency trees to learn from must have one root each."""
    if is_dependency:
        return [(entry.rooted() if are_learnt else entry.tree()).sentence for entry in dependency_entries(sources)]
    return list(treebank(sources))


def _loaded(reranker: str, models: tuple[str, ...]) -> Reranker:
    from spectral_latent.reranking import Reranker

    return Reranker.load(reranker, load_models(models))


def _echo(texts: Iterable[str]) -> None:
    for text in texts:
        click.echo(text, nl=False)

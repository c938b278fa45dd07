"""`spectral-latent rerank`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Commands
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
from spectral_latent.cli.options import (
    jobs_option,
    json_option,
    made_file_option,
    number_option,
    quiet_option,
    results_option,
    seed_option,
    sources_argument,
)
from spectral_latent.cli.outputs import OutputFile, figures_table, results
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


@click.group(cls=Commands)
def rerank() -> None:
    """Choose among the trees that a parser gives for each sentence.

    Any parser that writes n-best lists will do.  The choice is by the score and the place of each tree in its list, by
    its rules or arcs, and by the probabilities that latent models of this library (--model) give to it and its parts.

    \b
    A reranker of another parser's trees:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model
      spectral-latent rerank evaluate reranker.model test.nbest --gold test.mrg --model wsj.model
      spectral-latent rerank apply reranker.model new.nbest --model wsj.model

    \b
    A reranker of the trees of a parser of this library:
      spectral-latent rerank lists wsj.model dev.mrg > dev.nbest
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model
      spectral-latent parse wsj.model new.txt --rerank reranker.model
    """


@rerank.command(epilog=_GOLD)
@click.argument("lists")
@_gold_option
@models_option
@_templates_option
@made_file_option("RERANKER", "The file to write.")
@seed_option("The seed of the order in which lists are visited.")
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

    Give lists of sentences that neither their parser nor the models learnt from.  On sentences that a parser has learnt
    from, its scores are better than on others.

    Trees in brackets are scored by F1 as in EVALB; dependency trees by their right heads, punctuation left out.
    RERANKER does not hold the models, and knows them by their fingerprints: give the same --model to the commands that
    use it.

    \b
    Example:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model
    """
    from spectral_latent.reranking import PerceptronOptions, Reranker

    console = Console(quiet)
    begun = time.perf_counter()
    latent = load_models(models)
    nbest = read_lists(lists, console)
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
@click.option("--lists", "with_lists", is_flag=True, help="Write all trees, each with the reranker's score first.")
@results_option
@quiet_option
def apply(
    reranker: str, lists: str, models: tuple[str, ...], with_lists: bool, output: Path | None, quiet: bool
) -> None:
    """Choose the best tree of each list.

    The output is a line of brackets for each sentence, or a sentence of CoNLL-U.  For a list without trees it is (()),
    or the words without heads.  With --lists, the output is the lists in their format and order.

    \b
    Example:
      spectral-latent rerank apply reranker.model new.nbest --model wsj.model -o new.trees
    """
    from spectral_latent.corpora.nbest_output import best_trees, write_nbest

    loaded = _loaded(reranker, models)
    nbest = read_lists(lists, Console(quiet))
    with users_errors(), results(output) as write:
        if with_lists:
            texts = write_nbest(loaded.rescore(nbest.lists), nbest.form)
        else:
            texts = best_trees(nbest.lists, loaded.rerank(nbest.lists))
        for text in texts:
            write(text)


@rerank.command(epilog=_GOLD)
@click.argument("reranker")
@click.argument("lists")
@_gold_option
@models_option
@json_option
@quiet_option
def evaluate(
    reranker: str,
    lists: str,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare the first, the chosen and the best tree of each list with the right one.

    The measure is F1 as in EVALB, or the percentage of right heads of words that are not punctuation.  It is printed
    for the first trees (base), for the chosen trees (reranked), and for the best trees, which no reranker can exceed
    (oracle).  The error reduction is the share of the base's error that is gone, in percent.  The difference of
    reranked and base lies between low and high with 95 % confidence, by the paired bootstrap.  A list without trees
    counts as a flat tree labelled FALLBACK, or as words without a right head.

    \b
    Example:
      spectral-latent rerank evaluate reranker.model test.nbest --gold test.mrg --model wsj.model
    """
    loaded = _loaded(reranker, models)
    nbest = read_lists(lists, Console(quiet))
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
@click.option("--map", "names", metavar="FILE", type=OutputFile(), help="Write the names of features: number TAB name.")
@results_option
@quiet_option
def features(
    lists: str,
    models: tuple[str, ...],
    no_templates: bool,
    gold: tuple[str, ...],
    like: str | None,
    names: Path | None,
    output: Path | None,
    quiet: bool,
) -> None:
    """Write the features of all candidates in the format of SVMlight and LETOR, for other learners.

    A line is `gain qid:N FEATURE:VALUE ... # NAME CANDIDATE`.  The gain is the number of right heads, or F1 times the
    number of words.  The lists decide which rules and arcs are features; for test lists, --like takes the features of a
    reranker that was trained on other lists.

    \b
    Example:
      spectral-latent rerank features dev.nbest --gold dev.mrg --model wsj.model --map names.txt -o dev.svm
    """
    from spectral_latent.corpora.nbest_output import feature_map, svmlight
    from spectral_latent.reranking import CandidateFeatures

    if like is not None and no_templates:
        raise click.UsageError("--like names the features; leave out --no-templates")
    nbest = read_lists(lists, Console(quiet))
    with users_errors():
        if like is not None:
            chosen = _loaded(like, models).features
        else:
            chosen = CandidateFeatures.train(nbest.lists, load_models(models), templates=not no_templates)
        table = chosen.table(nbest.lists)
    gains = score_lists(nbest, gold).gains if gold else None
    if names is not None:
        with results(names) as write:
            write("".join(feature_map(table)))
    with results(output) as write:
        for text in svmlight(table, gains):
            write(text)


@rerank.command(epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}")
@click.argument("model")
@sources_argument
@number_option("--n-best", "N", "Trees per sentence, at most.", default=CANDIDATES)
@number_option(
    "--folds",
    "N",
    "Parse each of N parts of the trees by a model that is trained on the others, with the options of MODEL.",
    least=2,
)
@results_option
@jobs_option
@quiet_option
def lists(
    model: str,
    sources: tuple[str, ...],
    n_best: int,
    folds: int | None,
    output: Path | None,
    jobs: int,
    quiet: bool,
) -> None:
    """Write the n-best lists of a parser of this library, for the sentences of gold trees.

    The output has lines `score TAB tree`, or is CoNLL-U.  The scores are log |p|.  With --folds, MODEL may have learnt
    from the trees; do not give it as --model when you train on such lists, because it knows their sentences.

    \b
    Example:
      spectral-latent rerank lists wsj.model dev.mrg -o dev.nbest
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
    with results(output) as write:
        for text in write_nbest(nbest, "conllu" if is_dependency else "trees"):
            write(text)


def _trees(sources: tuple[str, ...], is_dependency: bool, are_learnt: bool) -> list[Any]:
    """Read gold trees; dependency trees to learn from must have one root each."""
    if is_dependency:
        return [(entry.rooted() if are_learnt else entry.tree()).sentence for entry in dependency_entries(sources)]
    return list(treebank(sources))


def _loaded(reranker: str, models: tuple[str, ...]) -> Reranker:
    """Load a reranker and its latent models."""
    from spectral_latent.reranking import Reranker

    return Reranker.load(reranker, load_models(models))

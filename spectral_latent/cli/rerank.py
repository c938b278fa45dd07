"""`spectral-latent rerank`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectral_latent.cli.inputs import SOURCES, treebank
from spectral_latent.cli.lists import (
    CANDIDATES,
    LISTS,
    load_models,
    models_option,
    read_lists,
    scored,
    sentences_option,
    users_errors,
)
from spectral_latent.cli.models import load
from spectral_latent.cli.notes import Notes, quiet_option
from spectral_latent.cli.outputs import can_be_written, figures_table, refuse_inputs
from spectral_latent.cli.parse import jobs_option
from spectral_latent.cli.tables import DEPENDENCY_SOURCES, dependency_entries

if TYPE_CHECKING:
    from spectral_latent.reranking import Reranker

__all__ = ["rerank"]

_GOLD = f"{LISTS}\n\n{SOURCES}\n\n{DEPENDENCY_SOURCES}".replace("SOURCE", "GOLD")

_gold_option = click.option(
    "--gold", metavar="GOLD", multiple=True, required=True, help="The right trees, in the order of the lists."
)
_templates_option = click.option(
    "--no-templates", is_flag=True, help="Leave out the features that count rules and arcs by their labels and tags."
)


def _output_option(metavar: str, help: str, *names: str, required: bool = False) -> Any:
    return click.option(
        *names, metavar=metavar, type=click.Path(path_type=Path), required=required, callback=can_be_written, help=help
    )


@click.group()
def rerank() -> None:
    """Choose among the trees that a parser gives for each sentence.

    Any parser that writes n-best lists will do.  What is known of a tree: its score and its place in the list, which
    rules or arcs it has, and what latent models of this library (--model) think of it and its parts.

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
@sentences_option
@_templates_option
@_output_option("RERANKER", "The file to write.", "-o", "--output", required=True)
@click.option(
    "--seed",
    metavar="N",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Of the order in which lists are visited.",
)
@quiet_option
def train(
    lists: str,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    sentences: tuple[str, ...],
    no_templates: bool,
    output: Path,
    seed: int,
    quiet: bool,
) -> None:
    """Train a reranker, an averaged perceptron, on n-best lists and the right trees.

    Neither the parser that wrote the lists nor the models should have learnt from their sentences: on these they are
    surer than on any others.

    Trees in brackets are scored by F1, as of EVALB; dependency trees by their right heads, punctuation left out.
    RERANKER does not hold the models: give the same --model to the commands that use it.
    """
    from spectral_latent.reranking import PerceptronOptions, Reranker

    notes, begun = Notes(quiet), time.perf_counter()
    refuse_inputs(output, [lists, *gold, *models, *sentences])
    latent = load_models(models)
    found = read_lists(lists, sentences or gold)
    scores = scored(found, gold)
    notes.say(f"Training on {len(found.lists)} lists of {len(scores.gains)} candidates")
    options = PerceptronOptions(seed=seed)
    with users_errors():
        reranker = Reranker.train(found.lists, scores.gains, latent, templates=not no_templates, options=options)
    reranker.save(output)
    perceptron = reranker.perceptron
    if not perceptron.epochs:
        notes.say("Nothing was learnt that holds on other lists: the first tree of each list is chosen")
    notes.say(f"{output}: {len(perceptron.names)} features, {time.perf_counter() - begun:.1f} s")


@rerank.command(epilog=LISTS)
@click.argument("reranker")
@click.argument("lists", default="-")
@models_option
@sentences_option
@click.option("--lists", "with_lists", is_flag=True, help="Write all trees, with the reranker's score before others.")
def apply(reranker: str, lists: str, models: tuple[str, ...], sentences: tuple[str, ...], with_lists: bool) -> None:
    """Choose the best tree of each list.

    The output is a line of brackets for each sentence, or a sentence of CoNLL-U; for a list without trees it is (()),
    or the words without heads.  With --lists it is the lists themselves, in their format and order.
    """
    from spectral_latent.corpora.nbest_output import best_trees, write_nbest

    loaded, found = _loaded(reranker, models), read_lists(lists, sentences)
    with users_errors():
        if with_lists:
            _echo(write_nbest(loaded.rescored(found.lists), found.form))
        else:
            _echo(best_trees(found.lists, loaded.rerank(found.lists)))


@rerank.command(epilog=_GOLD)
@click.argument("reranker")
@click.argument("lists")
@_gold_option
@models_option
@sentences_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(
    reranker: str,
    lists: str,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    sentences: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare the first, the chosen and the best tree of each list with the right one.

    The measure is F1 as of EVALB, or the share of right heads of words that are not punctuation, in percent: of the
    first trees (base), of those chosen (reranked), and of the best ones, which no reranker can exceed (oracle); how
    much of the base's error is gone (error reduction, in percent); and between which bounds (low, high) lies the
    difference of reranked and base, with 95 % confidence, by the paired bootstrap.  In place of a list without trees
    is a flat tree labelled FALLBACK, or words without a right head.
    """
    loaded, found = _loaded(reranker, models), read_lists(lists, sentences or gold)
    scores = scored(found, gold)
    with users_errors():
        difference, oracle = scores.evaluate(loaded.rerank(found.lists))
    figures = {
        "base": difference.base,
        "reranked": difference.other,
        "oracle": oracle,
        "error_reduction": difference.error_reduction,
        "low": difference.low,
        "high": difference.high,
        "sentences": len(found.lists),
        "candidates": len(scores.gains),
        "empty_lists": sum(not len(each) for each in found.lists),
    }
    click.echo(json.dumps(figures) if as_json else figures_table(figures))


@rerank.command(epilog=_GOLD)
@click.argument("lists", default="-")
@models_option
@sentences_option
@_templates_option
@click.option("--gold", metavar="GOLD", multiple=True, help="The right trees: of these are the gains, otherwise 0.")
@click.option("--like", metavar="RERANKER", help="Write the features of a reranker, under its numbers.")
@_output_option("FILE", "Write the names of features: number TAB name.", "--map", "names")
def features(
    lists: str,
    models: tuple[str, ...],
    sentences: tuple[str, ...],
    no_templates: bool,
    gold: tuple[str, ...],
    like: str | None,
    names: Path | None,
) -> None:
    """Write the features of all candidates in the format of SVMlight and LETOR, for other learners.

    A line is `gain qid:N FEATURE:VALUE ... # NAME CANDIDATE`.  The gain is the number of right heads, or F1 times
    the number of words.  Which rules and arcs are features depends on the lists; --like makes test data fit.
    """
    from spectral_latent.corpora.nbest_output import feature_map, svmlight
    from spectral_latent.reranking import feature_table

    if like is not None and no_templates:
        raise click.UsageError("--like says which features there are; leave out --no-templates")
    if names is not None:
        refuse_inputs(names, [lists, *gold, *models, *sentences, *filter(None, [like])])
    found = read_lists(lists, sentences or gold)
    with users_errors():
        if like is not None:
            table = _loaded(like, models).table(found.lists)
        else:
            table = feature_table(found.lists, load_models(models), templates=not no_templates)
    gains = scored(found, gold).gains if gold else None
    if names is not None:
        names.write_text("".join(feature_map(table)), encoding="utf-8")
    _echo(svmlight(table, gains))


@rerank.command(epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}")
@click.argument("model")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--n-best",
    metavar="K",
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

    The output has lines `score TAB tree`, or is CoNLL-U; the scores are log |p|.  With --folds, the trees may be those
    that MODEL learnt from.  Train on such lists without --model, which would have learnt from them: the score is there.
    """
    from spectral_latent.corpora.nbest_output import write_nbest
    from spectral_latent.reranking import jackknifed_lists, own_lists

    loaded = load(model)
    parser, is_dependency = loaded.parser(), loaded.is_dependency_parser
    trees = _trees(sources, is_dependency, folds is not None)
    if folds is None:
        found = Notes(quiet).progress(own_lists(parser, trees, n_best, jobs=jobs), "Parsing", len(trees))
    else:
        with users_errors():
            found = iter(jackknifed_lists(parser, trees, n_best, folds, jobs=jobs))
    _echo(write_nbest(found, "conllu" if is_dependency else "trees"))


def _trees(sources: tuple[str, ...], is_dependency: bool, are_learnt: bool) -> list[Any]:
    """Gold trees; dependency trees that are learnt have one root each."""
    if is_dependency:
        return [(entry.rooted() if are_learnt else entry.tree()).sentence for entry in dependency_entries(sources)]
    return list(treebank(sources))


def _loaded(reranker: str, models: tuple[str, ...]) -> Reranker:
    from spectral_latent.reranking import Reranker

    return Reranker.load(reranker, load_models(models))


def _echo(texts: Iterable[str]) -> None:
    for text in texts:
        click.echo(text, nl=False)

"""`spectral-latent rerank`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Commands
from spectral_latent.cli.options import (
    BRACKETS,
    CANDIDATES,
    DEPENDENCY_SOURCES,
    LIST_FORMATS,
    LISTS,
    SOURCES,
    TABLES,
    epilog_of,
    format_option,
    jobs_option,
    json_option,
    made_file_option,
    models_option,
    number_option,
    quiet_option,
    results_option,
    skip_bad_option,
    sources_argument,
)
from spectral_latent.cli.outputs import figures_table, results

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.nbest import NBestFormat

__all__ = ["rerank"]

_AWAITED = "from the terminal; Ctrl-D ends"
_LISTS = f"\b\nLISTS: {LISTS}.\n"
_GOLD = _LISTS + epilog_of(SOURCES, DEPENDENCY_SOURCES, name="GOLD").removeprefix("\b\n")

_gold_option = click.option(
    "--gold", metavar="GOLD", multiple=True, required=True, help="The right trees, in the order of the lists."
)
_lists_format_option = format_option(*LIST_FORMATS, of="LISTS")


@click.group(cls=Commands)
def rerank() -> None:
    """Choose among the trees that a parser gives for each sentence.

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
      spectral-latent parse wsj.model new.txt --rerank reranker.model"""


@rerank.command(epilog=_GOLD)
@click.argument("lists")
@_lists_format_option
@_gold_option
@models_option
@made_file_option("RERANKER", "The file to write.")
@quiet_option
def train(
    lists: str,
    form: NBestFormat | None,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    output: Path,
    quiet: bool,
) -> None:
    """Train a reranker on n-best lists and the right trees.

    Give lists of sentences that neither their parser nor the models learnt from.  RERANKER does not hold the models:
    give the same --model to the commands that use it.

    \b
    Example:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model"""
    from spectral_latent.reranking import Reranker
    from spectral_latent.tasks.reranking import load_models, read_lists, score_lists
    from spectral_latent.tasks.watch import users_errors

    console = Console(quiet)
    begun = time.perf_counter()
    latent = load_models(models)
    console.awaits(lists, _AWAITED)
    nbest = read_lists(lists, form)
    scores = score_lists(nbest, gold)
    console.message(f"Training on {len(nbest.lists)} lists of {len(scores.gains)} candidates")
    with users_errors():
        reranker = Reranker.train(nbest.lists, scores.gains, latent)
    reranker.save(output)
    if not reranker.choice.is_learnt:
        console.message("Held-out lists showed no gain: the reranker chooses the first tree of each list")
    console.message(f"{output}: {len(reranker.choice.names)} features, {time.perf_counter() - begun:.1f} s")


@rerank.command(epilog=_LISTS)
@click.argument("reranker")
@click.argument("lists", default="-")
@_lists_format_option
@models_option
@click.option("--lists", "with_lists", is_flag=True, help="Write all trees, each with the reranker's score first.")
@results_option
@quiet_option
def apply(
    reranker: str,
    lists: str,
    form: NBestFormat | None,
    models: tuple[str, ...],
    with_lists: bool,
    output: Path | None,
    quiet: bool,
) -> None:
    """Choose the best tree of each list.

    The output is a line of brackets for each sentence, or a sentence of CoNLL-U.  For a list without trees it is (()),
    or the words without heads.  With --lists, the output is the lists in their format and order.

    \b
    Example:
      spectral-latent rerank apply reranker.model new.nbest --model wsj.model -o new.trees"""
    from spectral_latent.corpora.nbest_output import best_trees, write_nbest
    from spectral_latent.tasks.reranking import load_reranker, read_lists
    from spectral_latent.tasks.watch import users_errors

    loaded = load_reranker(reranker, models)
    Console(quiet).awaits(lists, _AWAITED)
    nbest = read_lists(lists, form)
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
@_lists_format_option
@_gold_option
@models_option
@json_option
@quiet_option
def evaluate(
    reranker: str,
    lists: str,
    form: NBestFormat | None,
    gold: tuple[str, ...],
    models: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare the first, the chosen and the best tree of each list with the right one.

    The measure is F1 as in EVALB, or the percentage of right heads of words that are not punctuation: for the first
    trees (base), for the chosen ones (reranked), and for the best ones (oracle).  The error reduction is in percent of
    the base's error; the difference lies between low and high with 95 % confidence, by the paired bootstrap.

    \b
    Example:
      spectral-latent rerank evaluate reranker.model test.nbest --gold test.mrg --model wsj.model"""
    from spectral_latent.tasks.reranking import evaluate_reranker, load_reranker, read_lists

    loaded = load_reranker(reranker, models)
    Console(quiet).awaits(lists, _AWAITED)
    figures = evaluate_reranker(loaded, read_lists(lists, form), gold)
    click.echo(json.dumps(figures) if as_json else figures_table(figures))


@rerank.command(epilog=epilog_of(SOURCES, DEPENDENCY_SOURCES))
@click.argument("model")
@sources_argument
@format_option(*BRACKETS, *TABLES, of="files of SOURCE")
@skip_bad_option
@number_option("--n-best", "N", "Trees per sentence, at most.", default=CANDIDATES)
@number_option("--folds", "N", "Parse each of N parts of the trees by a model of the other parts.", least=2)
@results_option
@jobs_option
@quiet_option
def lists(
    model: str,
    sources: tuple[str, ...],
    form: Format | None,
    skip_bad: bool,
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
      spectral-latent rerank lists wsj.model dev.mrg -o dev.nbest"""
    from spectral_latent.constituency import Changes
    from spectral_latent.corpora.nbest_output import write_nbest
    from spectral_latent.tasks.kinds import KINDS, load_parser
    from spectral_latent.tasks.reranking import nbest_lists

    parser = load_parser(model)
    console = Console(quiet)
    changes = Changes()
    nbest, length = nbest_lists(parser, sources, n_best, folds, jobs, form, skip_bad, changes)
    console.table("Changed in the trees:", changes.table())
    written: Literal["conllu", "trees"] = "conllu" if KINDS[parser.kind].trees == "conllu" else "trees"
    with results(output) as write:
        for text in write_nbest(console.bar(nbest, "Parsing", length), written):
            write(text)

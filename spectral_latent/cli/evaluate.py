"""`spectral-latent evaluate`."""

from __future__ import annotations

import json
from typing import Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.options import (
    BRACKETS,
    DEPENDENCY_SOURCES,
    SOURCES,
    TABLES,
    TAGGED_SOURCES,
    column_option,
    epilog_of,
    format_option,
    jobs_option,
    json_option,
    non_projective_option,
    number_option,
    quiet_option,
    skip_bad_option,
)
from spectral_latent.cli.outputs import figures_table

__all__ = ["evaluate"]


@click.command(epilog=epilog_of(SOURCES, DEPENDENCY_SOURCES, TAGGED_SOURCES, name="GOLD"))
@click.argument("model")
@click.argument("gold", metavar="GOLD...", nargs=-1, required=True)
@format_option(*BRACKETS, *TABLES, "tagged", of="files of GOLD")
@skip_bad_option
@number_option("--max-length", "N", "Leave out sentences of more than N words.")
@column_option
@click.option("--universal", is_flag=True, help="Map gold tags to the twelve universal ones.")
@click.option("--perplexity", is_flag=True, help="Also compute the perplexity per word.")
@click.option("--unsupervised", is_flag=True, help="Compare states that have no names with gold tags.")
@non_projective_option
@click.option(
    "--from",
    "origin",
    type=click.Choice(["tags", "words", "text"]),
    default="tags",
    show_default=True,
    help="What a dependency parser is given; without tags, all columns are scored.",
)
@jobs_option
@json_option
@quiet_option
def evaluate(model: str, gold: tuple[str, ...], unsupervised: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Compare the output of a model with gold trees or gold tags.

    A constituency parser gets precision, recall and F1 as EVALB counts them, a dependency parser attachment scores, and
    a tagger accuracies, in percent; docs/command_line.md explains all figures.

    \b
    Examples:
      spectral-latent evaluate wsj.model nltk:treebank:dev
      spectral-latent evaluate tagger.model dev.conllu --json"""
    if options["column"] is not None and options["universal"]:
        raise click.UsageError("--universal chooses the column; leave out --column")
    from spectral_latent.tasks import KINDS, Gold, load_model

    def able(kind: str) -> Any:
        return KINDS[kind].by_states if unsupervised else KINDS[kind].evaluate

    kinds = sorted(filter(able, KINDS), key=lambda kind: kind != ("hmm" if unsupervised else "tagger"))
    loaded = load_model(model, *kinds)
    figures = able(loaded.kind)(loaded, Gold(model, gold, Console(quiet), **options))
    click.echo(json.dumps(figures) if as_json else figures_table(figures))

"""`spectral-latent check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent._texts import printable
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import (
    BRACKETS,
    format_option,
    jobs_option,
    number_option,
    output_option,
    quiet_option,
    skip_bad_option,
    sources_argument,
)
from spectral_latent.cli.outputs import results

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["check"]

_COLUMNS = ("tree", "words", "label", "posterior", "instead", "of words", "posterior", "text")


@click.command(cls=Command)
@sources_argument
@format_option(*BRACKETS, of="files of SOURCE")
@skip_bad_option
@number_option("--folds", "N", "The number of parts that are judged by a parser of the others.", default=4)
@number_option("--first", "N", "The largest number of labels to list.", default=100)
@output_option
@jobs_option
@quiet_option
def check(
    sources: tuple[str, ...],
    form: Format | None,
    skip_bad: bool,
    folds: int,
    first: int,
    output: Path | None,
    jobs: int,
    quiet: bool,
) -> None:
    """List the labels of trees that the rest of the trees makes unlikely.

    Each SOURCE is a treebank of phrases.  The output is a table with a header and tabs, the most doubtful label first:
    the number of the tree, from 1, the words of the constituent, its label and posterior, and the likeliest constituent
    that would stand in its place.

    \b
    Examples:
      spectral-latent check trees.mrg
      spectral-latent check sections/ --first 20 -o doubts.tsv"""
    from spectral_latent.constituency import Changes, check_trees
    from spectral_latent.constituency.cleaning import tagged_words
    from spectral_latent.estimation.progress import ProgressLine, silent
    from spectral_latent.tasks.sources import treebank
    from spectral_latent.tasks.writing import table_row

    console = Console(quiet)
    changes = Changes()
    trees = list(treebank(sources, changes, form, skip_bad))
    console.table("Changed in the trees:", changes.table())
    doubts = check_trees(trees, n_folds=folds, jobs=jobs, listener=ProgressLine() if console.shows_progress else silent)
    with results(output) as write:
        write(table_row(_COLUMNS))
        for doubt in doubts[:first]:
            words = [word for _, word in tagged_words(trees[doubt.tree])]
            part, (instead, p) = doubt.constituent, doubt.instead
            text = printable(" ".join(words[part.first : part.end]))
            cells = (doubt.tree + 1, f"{part.first + 1}-{part.end}", part.label, f"{doubt.posterior:.3f}")
            other = (instead.label, f"{instead.first + 1}-{instead.end}", f"{p:.3f}")
            write(table_row((*cells, *other, text)))
    console.message(f"{len(doubts)} doubtful labels in {len(trees)} trees")

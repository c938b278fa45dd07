"""`spectral-latent score`."""

from __future__ import annotations

import sys

import click

from spectral_latent.cli.inputs import trees_of
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.notes import Notes, quiet_option

__all__ = ["score"]

_BATCH = 1000  # trees scored at once


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@quiet_option
def score(model: str, file: str, quiet: bool) -> None:
    """Score the bracketed trees of FILE or of standard input.

    For each tree a line `log|p| TAB sign`: the natural logarithm of its estimated probability's size, and 1, -1 or 0.
    An estimate may be negative; it is zero, with logarithm -inf, if the tree has a rule that was never seen.  Trees
    are cleaned as for training.
    """
    scorer = load_parser(model)
    trees = list(trees_of(file))
    for first in Notes(quiet or sys.stdout.isatty()).progress(range(0, len(trees), _BATCH), "Scoring"):
        weight = scorer.score(trees[first : first + _BATCH])
        for log, sign in zip(weight.log, weight.sign, strict=True):
            click.echo(f"{log:.6f}\t{sign:.0f}")

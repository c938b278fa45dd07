"""`spectral-latent score`."""

from __future__ import annotations

import sys
from typing import Any

import click

from spectral_latent.cli.inputs import trees_of
from spectral_latent.cli.models import load
from spectral_latent.cli.notes import Notes, quiet_option
from spectral_latent.cli.tables import dependency_trees_of

__all__ = ["score"]

_BATCH = 1000  # trees scored at once


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@quiet_option
def score(model: str, file: str, quiet: bool) -> None:
    """Score the bracketed trees of FILE or of standard input; of a dependency parser, trees in CoNLL-U or its like.

    For each tree a line `log|p| TAB sign`: the natural logarithm of its estimated probability's size, and 1, -1 or 0.
    An estimate may be negative; it is zero, with logarithm -inf, if the tree has a rule that was never seen.  Trees
    in brackets are cleaned as for training.  Dependency trees have one root each, and may be non-projective.
    """
    loaded = load(model)
    scorer: Any = loaded.parser()
    trees: list[Any] = list(dependency_trees_of(file) if loaded.is_dependency_parser else trees_of(file))
    for first in Notes(quiet or sys.stdout.isatty()).progress(range(0, len(trees), _BATCH), "Scoring"):
        weight = scorer.score(trees[first : first + _BATCH])
        for log, sign in zip(weight.log, weight.sign, strict=True):
            click.echo(f"{log:.6f}\t{sign:.0f}")

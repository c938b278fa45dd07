"""`spectral-latent score`."""

from __future__ import annotations

from typing import Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import read_text
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.options import quiet_option

__all__ = ["score"]

_BATCH = 1000  # trees scored at once


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@quiet_option
def score(model: str, file: str, quiet: bool) -> None:
    """Score the trees of FILE or of standard input.

    A constituency parser scores trees in brackets, which are cleaned as for training; a dependency parser scores trees
    in CoNLL-U, CoNLL-X or Malt-TAB, which have one root each and may have arcs that cross.

    The output has a line `log|p| TAB sign` for each tree: the natural logarithm of the absolute value of its estimated
    probability, and the sign of that estimate, 1, -1 or 0.  An estimate may be negative.  It is zero, with logarithm
    -inf, if the tree has a rule that the grammar does not have.

    \b
    Example:
      spectral-latent score wsj.safetensors trees.mrg
    """
    from spectral_latent.corpora import parse_brackets
    from spectral_latent.corpora.dependencies import entries_of_text
    from spectral_latent.dependency import DependencyModel

    parser: Any = load_parser(model)
    trees: list[Any]
    if isinstance(parser, DependencyModel):
        trees = [entry.rooted().sentence for entry in entries_of_text(*read_text(file, "conllu", "malt-tab"))]
    else:
        trees = list(parse_brackets(*read_text(file, "brackets")))
    for first in Console(quiet).beside_output.bar(range(0, len(trees), _BATCH), "Scoring"):
        weight = parser.score(trees[first : first + _BATCH])
        for log, sign in zip(weight.log, weight.sign, strict=True):
            click.echo(f"{log:.6f}\t{sign:.0f}")

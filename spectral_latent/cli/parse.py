"""`spectral-latent parse`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.inputs import sentences
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.notes import Notes, quiet_option

if TYPE_CHECKING:
    from spectral_latent.constituency import Parse

__all__ = ["parse"]


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@click.option(
    "--nbest",
    metavar="K",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Trees per sentence, at most.",
)
@quiet_option
def parse(model: str, file: str, nbest: int, quiet: bool) -> None:
    """Parse tokenised sentences, one per line of FILE or of standard input.

    Line by line, the output is one tree in brackets for each sentence, and an empty line for an empty one.  Brackets
    in sentences may be written ( ) or -LRB- -RRB-; in trees they are written -LRB- -RRB-.

    With --nbest above 1, the output is one block for each sentence: a line `score TAB tree` for each tree, the best
    first, and an empty line that ends the block.  The score is log |p|, the natural logarithm of the tree's estimated
    probability; the best tree is the one with the most constituents that are expected to be right, so the scores
    need not fall.

    A sentence that the grammar cannot derive gets a flat tree labelled FALLBACK, with score -inf; the numbers of
    such lines are told on standard error.
    """
    parser = load_parser(model)
    lines = sentences(file) if file == "-" else list(sentences(file))
    fallbacks: list[str] = []
    try:
        for number, words in enumerate(Notes(quiet or sys.stdout.isatty()).progress(lines, "Parsing"), start=1):
            parses = parser.parse_nbest(words, nbest) if words else []
            fallbacks += [str(number) for parse in parses if parse.is_fallback]
            click.echo(_written(parses, nbest))
    finally:
        if fallbacks:
            Notes(quiet).say(f"No parse, but a flat tree labelled FALLBACK: line {', '.join(fallbacks)}")


def _written(parses: Sequence[Parse], nbest: int) -> str:
    """The one tree, or a block of scored trees."""
    if nbest == 1:
        return "".join(parse.tree.bracketed() for parse in parses)
    return "".join(f"{parse.log:.6f}\t{parse.tree.bracketed()}\n" for parse in parses)

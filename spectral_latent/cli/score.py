"""`spectral-latent score`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.inputs import read_text
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.options import jobs_option, json_option, quiet_option, results_option
from spectral_latent.cli.outputs import results

__all__ = ["score"]

_BATCH = 100  # the number of trees that are scored at once


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@jobs_option
@json_option
@results_option
@quiet_option
def score(model: str, file: str, jobs: int, as_json: bool, output: Path | None, quiet: bool) -> None:
    """Score the trees of FILE or of standard input.

    A constituency parser scores trees in brackets, which are cleaned as for training; a dependency parser scores trees
    in CoNLL-U, CoNLL-X or Malt-TAB, which have one root each and may have arcs that cross.

    The output has a line `log|p| TAB sign` for each tree: the natural logarithm of the absolute value of its estimated
    probability, and the sign of that estimate, 1, -1 or 0.  An estimate may be negative.  It is zero, with logarithm
    -inf, if the model does not derive the tree, for example because of a label that was never seen.

    With --json, each line is a tree: its number, log and sign; the log of zero is null.

    \b
    Example:
      spectral-latent score wsj.model trees.mrg
    """
    from spectral_latent.corpora import parse_brackets
    from spectral_latent.corpora.sources import entries_of_text
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.model.batches import map_sentences

    console = Console(quiet)
    parser: Any = load_parser(model)
    trees: list[Any]
    if isinstance(parser, DependencyModel):
        trees = [entry.rooted().sentence for entry in entries_of_text(*read_text(file, console, "conllu", "malt-tab"))]
    else:
        trees = list(parse_brackets(*read_text(file, console, "brackets")))
    with results(output) as write:
        starts = console.beside_output.bar(range(0, len(trees), _BATCH), "Scoring")
        batches = (trees[first : first + _BATCH] for first in starts)
        weights = map_sentences(type(parser).score, parser, batches, jobs)
        scores = (pair for weight in weights for pair in zip(weight.log.tolist(), weight.sign.tolist(), strict=True))
        for number, (log, sign) in enumerate(scores, start=1):
            write(_json(number, log, sign) if as_json else f"{log:.6f}\t{sign:.0f}\n")


def _json(number: int, log: float, sign: float) -> str:
    """Write the score of a tree as a line of JSON, which has no infinite numbers.

    >>> _json(1, -2.5, 1), _json(2, -math.inf, 0)
    ('{"tree": 1, "log": -2.5, "sign": 1}\\n', '{"tree": 2, "log": null, "sign": 0}\\n')
    """
    return json.dumps({"tree": number, "log": log if math.isfinite(log) else None, "sign": int(sign)}) + "\n"

"""`spectral-latent score`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import jobs_option, json_option, quiet_option, results_option
from spectral_latent.cli.outputs import results

__all__ = ["score"]


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@jobs_option
@json_option
@results_option
@quiet_option
def score(model: str, file: str, jobs: int, as_json: bool, output: Path | None, quiet: bool) -> None:
    """Score the trees of FILE or of standard input.

    A constituency parser scores trees in brackets, a dependency parser trees in CoNLL-U, CoNLL-X or Malt-TAB.  The
    output has a line `log|p| TAB sign` for each tree: the natural logarithm of the absolute value of its estimated
    probability, and the sign of the estimate, 1, -1 or 0.  It is -inf (null in JSON) for a tree that the model does not
    derive.

    \b
    Example:
      spectral-latent score wsj.model trees.mrg
    """
    from spectral_latent.tasks.answers import score as score_trees
    from spectral_latent.tasks.inputs import FORMATS
    from spectral_latent.tasks.kinds import KINDS, load_parser

    console = Console(quiet)
    parser: Any = load_parser(model)
    kind = KINDS[parser.kind]
    assert kind.to_score and kind.trees  # of all parsers
    console.awaits(file, FORMATS[kind.trees].awaited)
    trees = kind.to_score(file)
    with results(output) as write:
        scores = console.beside_output.bar(score_trees(parser, trees, jobs), "Scoring", len(trees))
        for number, (log, sign) in enumerate(scores, start=1):
            write(_json(number, log, sign) if as_json else f"{log:.6f}\t{sign:.0f}\n")


def _json(number: int, log: float, sign: float) -> str:
    """Write the score of a tree as a line of JSON, which has no infinite numbers.

    >>> _json(1, -2.5, 1), _json(2, -math.inf, 0)
    ('{"tree": 1, "log": -2.5, "sign": 1}\\n', '{"tree": 2, "log": null, "sign": 0}\\n')
    """
    return json.dumps({"tree": number, "log": log if math.isfinite(log) else None, "sign": int(sign)}) + "\n"

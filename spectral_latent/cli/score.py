"""`spectral-latent score`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import (
    errors_option,
    groups_option,
    jobs_option,
    json_option,
    quiet_option,
    results_option,
)
from spectral_latent.cli.outputs import results

if TYPE_CHECKING:
    from spectral_latent.tasks.answers import Score

__all__ = ["score"]


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@errors_option
@groups_option
@jobs_option
@json_option
@results_option
@quiet_option
def score(
    model: str,
    file: str,
    errors: tuple[str, ...],
    groups: int,
    jobs: int,
    as_json: bool,
    output: Path | None,
    quiet: bool,
) -> None:
    """Score the trees of FILE or of standard input.

    A constituency parser scores trees in brackets, a dependency parser trees in CoNLL-U, CoNLL-X or Malt-TAB.  The
    output has a line `log|p| TAB sign` for each tree: the natural logarithm of the absolute value of its estimated
    probability, and the sign of the estimate, 1, -1 or 0.  It is -inf (null in JSON) for a tree that the model does not
    derive.

    With --errors, a line goes on with `TAB error TAB zero`: the standard error of the estimate as a share of its
    absolute value, and 1 if its 95 % interval contains zero.

    \b
    Example:
      spectral-latent score wsj.model trees.mrg
    """
    from spectral_latent._options import counted
    from spectral_latent.tasks.answers import score as score_trees
    from spectral_latent.tasks.inputs import FORMATS
    from spectral_latent.tasks.kinds import KINDS, load_parser
    from spectral_latent.tasks.verification import train_without_groups

    console = Console(quiet)
    parser: Any = load_parser(model)
    kind = KINDS[parser.kind]
    assert kind.to_score and kind.trees  # of all parsers
    console.awaits(file, FORMATS[kind.trees].awaited)
    trees = kind.to_score(file)
    parts = train_without_groups(model, errors, groups, jobs, console) if errors else []
    fewer = 0
    with results(output) as write:
        scores = console.beside_output.bar(score_trees(parser, trees, jobs, parts), "Scoring", len(trees))
        for number, found in enumerate(scores, start=1):
            fewer += found.n_groups < len(parts)
            write(_json(number, found, bool(parts)) if as_json else _line(found, bool(parts)))
    if fewer:
        console.message(
            f"Errors of {counted(fewer, 'tree')} are computed from fewer than {groups} groups: without the others, "
            f"their estimate is not finite"
        )


def _line(found: Score, has_errors: bool) -> str:
    """Write the score of a tree as a line.

    >>> from spectral_latent.tasks.answers import Score
    >>> _line(Score(-2.5, 1.0, 0.25, False, 20), True)
    '-2.500000\\t1\\t0.250000\\t0\\n'
    """
    more = f"\t{found.error:.6f}\t{found.is_zero:d}" if has_errors else ""
    return f"{found.log:.6f}\t{found.sign:.0f}{more}\n"


def _json(number: int, found: Score, has_errors: bool) -> str:
    """Write the score of a tree as a line of JSON, which has no infinite numbers.

    >>> from spectral_latent.tasks.answers import Score
    >>> _json(1, Score(-2.5, 1.0), False), _json(2, Score(-math.inf, 0.0), False)
    ('{"tree": 1, "log": -2.5, "sign": 1}\\n', '{"tree": 2, "log": null, "sign": 0}\\n')
    """
    entry: dict[str, Any] = {"tree": number, "log": _finite(found.log), "sign": int(found.sign)}
    if has_errors:
        entry |= {"error": _finite(found.error), "zero": found.is_zero}
    return json.dumps(entry) + "\n"


def _finite(number: float) -> float | None:
    """Return a number as JSON has it."""
    return number if math.isfinite(number) else None

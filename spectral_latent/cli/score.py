"""`spectral-latent score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import (
    BRACKETS,
    TABLES,
    errors_options,
    files_argument,
    format_option,
    jobs_option,
    json_option,
    quiet_option,
    results_option,
    skip_bad_option,
    tell_of_fewer,
)
from spectral_latent.cli.outputs import results

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["score"]


@click.command(cls=Command)
@click.argument("model")
@files_argument
@format_option(*BRACKETS, *TABLES, of="FILE")
@skip_bad_option
@errors_options
@jobs_option
@json_option
@results_option
@quiet_option
def score(
    model: str,
    files: tuple[str, ...],
    form: Format | None,
    skip_bad: bool,
    errors: tuple[str, ...],
    groups: int,
    jobs: int,
    as_json: bool,
    output: Path | None,
    quiet: bool,
) -> None:
    """Score the trees of FILE or of standard input.

    A constituency parser scores trees in brackets, a dependency parser trees in CoNLL-U or CoNLL-X.  The
    output has a line `log|p| TAB sign` for each tree: the natural logarithm of the absolute value of its estimated
    probability, and the sign of the estimate, 1, -1 or 0.  It is -inf (null in JSON) for a tree that the model does not
    derive, and nan (null in JSON) for a tree beyond the limit of words, of which a warning tells.  JSON has the number
    of each tree, after the name of its file if there are several.

    With --errors, a line goes on with `TAB error TAB zero`: the standard error of the estimate as a share of its
    absolute value, and 1 if its 95 % interval contains zero.

    \b
    Example:
      spectral-latent score wsj.model trees.mrg"""
    from spectral_latent.constituency import Changes
    from spectral_latent.tasks.answers import score as score_trees
    from spectral_latent.tasks.inputs import FORMATS
    from spectral_latent.tasks.kinds import KINDS, load_parser
    from spectral_latent.tasks.verification import train_without_groups
    from spectral_latent.tasks.writing import score_text

    console = Console(quiet)
    parser: Any = load_parser(model)
    kind = KINDS[parser.kind]
    assert kind.to_score and kind.trees  # of all parsers
    changes = Changes()
    trees: list[Any] = []
    numbers: list[int | str] = []
    for file in files:
        console.awaits(file, FORMATS[kind.trees].awaited)
        of_file = list(kind.to_score(file, changes, form, skip_bad))
        trees += of_file
        numbers += [f"{Path(file).name}:{n}" if len(files) > 1 else n for n in range(1, len(of_file) + 1)]
    console.table("Changed in the trees:", changes.table())
    parts = train_without_groups(model, errors, groups, jobs, console) if errors else []
    fewer = 0
    with results(output) as write:
        scores = console.beside_output.bar(score_trees(parser, trees, jobs, parts), "Scoring", len(trees))
        for number, found in zip(numbers, scores, strict=True):
            fewer += found.n_groups < len(parts)
            write(score_text(number, found, "json" if as_json else "text", bool(parts)))
    tell_of_fewer(console, fewer, "tree", groups, "estimate")

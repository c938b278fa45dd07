"""Options that several commands share."""

from __future__ import annotations

import click

__all__ = ["column_option", "jobs_option", "json_option", "n_best_option", "non_projective_option", "quiet_option"]

column_option = click.option(
    "--column",
    type=click.Choice(["upos", "xpos", "universal"]),
    help="The tags to read: the column upos or xpos of CoNLL-U, or universal tags of a corpus of NLTK.  [default: "
    "upos; to evaluate, the column of training]",
)
jobs_option = click.option(
    "--jobs",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="The number of processes; the result is the same for any number.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
n_best_option = click.option(
    "--n-best",
    metavar="K",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="The largest number of trees for a sentence.",
)
non_projective_option = click.option(
    "--non-projective", is_flag=True, help="Find dependency trees whose arcs may cross.  [default: arcs do not cross]"
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print no messages and progress bars.")

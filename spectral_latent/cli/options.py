"""Options that several commands share."""

from __future__ import annotations

import logging
import warnings

import click

from spectral_latent.cli.outputs import OutputFile

__all__ = [
    "column_option",
    "jobs_option",
    "json_option",
    "non_projective_option",
    "quiet_option",
    "results_option",
]

column_option = click.option(
    "--column",
    type=click.Choice(["upos", "xpos", "universal"]),
    help="The tags to read: the column upos or xpos of CoNLL-U, the other one if it is empty; or universal tags of a "
    "corpus of NLTK.  [default: upos; to evaluate, the column of training]",
)
jobs_option = click.option(
    "--jobs",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="The number of processes; the result is the same for any number.",
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: an object on one line, for each sentence or tree if there are many.",
)
non_projective_option = click.option(
    "--non-projective", is_flag=True, help="Find dependency trees whose arcs may cross.  [default: arcs do not cross]"
)


def _with_quiet_library(context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    """Let the library log nothing but errors, and give no warnings, during a command that is to print no messages."""
    if quiet:
        log = logging.getLogger("spectral_latent")
        level = log.level
        log.setLevel(logging.ERROR)
        context.call_on_close(lambda: log.setLevel(level))
        warnings.simplefilter("ignore", UserWarning)  # until `CommandGroup.invoke` ends
    return quiet


quiet_option = click.option(
    "--quiet", "-q", is_flag=True, callback=_with_quiet_library, help="Print no messages and progress bars."
)
results_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputFile(),
    help="The file to write, whole or not at all, and compressed if its name ends in .gz.  [default: standard output, "
    "as results come]",
)

"""Options that several commands share."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import click

from spectral_latent.cli.outputs import OutputFile

__all__ = [
    "answers_options",
    "column_option",
    "jobs_option",
    "json_option",
    "non_projective_option",
    "quiet_option",
    "results_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])

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


def _shard(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Read the number of a part, and that of all parts."""
    if value is None:
        return None
    number, _, n_parts = value.partition("/")
    if not (number.isdecimal() and n_parts.isdecimal() and 1 <= int(number) <= int(n_parts)):
        raise click.BadParameter(f"{value!r} is not such as 1/4, the first of four parts")
    return int(number), int(n_parts)


_RESUME = click.option(
    "--resume", is_flag=True, help="Go on with the unfinished --output of the same command, if there is one."
)
_SHARD = click.option(
    "--shard",
    metavar="I/N",
    callback=_shard,
    help="Read the sentences of FILE in N parts of the same size, and answer those of the I-th.",
)
_ANSWERS = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputFile(),
    help="The file to write, whole or not at all: JSON if its name ends in .jsonl, Parquet if in .parquet, and "
    "compressed if in .gz.  [default: standard output, as results come]",
)


def answers_options(command: _Command) -> _Command:
    """Add the options of a command that answers sentence by sentence.

    They are `as_json`, `output`, `shard`, `resume`, `jobs` and `quiet`.

    command: the function of the command.
    """
    for option in reversed((json_option, _ANSWERS, _SHARD, _RESUME, jobs_option, quiet_option)):
        command = option(command)
    return command

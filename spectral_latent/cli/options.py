"""Make the options that several commands share."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from spectral_latent.cli.outputs import OutputFile

__all__ = [
    "column_option",
    "jobs_option",
    "json_option",
    "made_file_option",
    "non_projective_option",
    "number_option",
    "quiet_option",
    "results_option",
    "seed_option",
    "sources_argument",
    "with_values",
]

_Values = TypeVar("_Values", bound=NamedTuple)
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def number_option(
    name: str, metavar: str, text: str, *, default: int | None = None, least: int = 1, most: int | None = None
) -> _Decorator:
    """Make an option that takes an integer.

    name: the name of the option, such as `--top`.
    metavar: the letter that stands for the integer in the help.
    text: the help of the option.
    default: the integer if the option is not given.
    least: the smallest integer that is accepted.
    most: the largest integer that is accepted; None for no limit.
    """
    is_shown = default is not None
    kind = click.IntRange(least, most)
    return click.option(name, metavar=metavar, default=default, show_default=is_shown, type=kind, help=text)


def seed_option(text: str) -> _Decorator:
    """Make the option `--seed`.

    text: the help of the option.
    """
    return number_option("--seed", "N", text, default=0, least=0)


def made_file_option(metavar: str, text: str) -> _Decorator:
    """Make the option `--output` of a command that makes a file of one kind, and needs its name.

    metavar: the name of the file in the help.
    text: the help of the option.
    """
    return click.option("-o", "--output", metavar=metavar, required=True, type=OutputFile(), help=text)


sources_argument = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
column_option = click.option(
    "--column",
    type=click.Choice(["upos", "xpos", "universal"]),
    help="The tags to read: the column upos or xpos of CoNLL-U, the other one if it is empty; or universal tags of a "
    "corpus of NLTK.  [default: upos; to evaluate, the column of training]",
)
jobs_option = number_option(
    "--jobs",
    "N",
    "The number of threads that learn, or of processes that parse and tag; the result is the same for any number.",
    default=1,
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON, an object on each line: one object for each sentence or tree, or a single one.",
)
non_projective_option = click.option(
    "--non-projective", is_flag=True, help="Find dependency trees whose arcs may cross.  [default: arcs do not cross]"
)


def _with_quiet_library(_context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    """Let the library log only errors, and give no warnings, until `CommandGroup.invoke` ends."""
    if quiet:
        logging.getLogger("spectral_latent").setLevel(logging.ERROR)
        warnings.simplefilter("ignore", UserWarning)
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


def with_values(values: type[_Values], *options: _Decorator) -> _Decorator:
    """Add options to a command, which gets their values as one object in its first argument.

    values: the named tuple of the values; its fields are the names of the options.
    options: the options, in the order of the help.

    >>> class Size(NamedTuple):
    ...     width: int
    ...     height: int
    >>> sides = [number_option(f"--{side}", "N", "", default=2) for side in Size._fields]
    >>> @click.command()
    ... @with_values(Size, *sides)
    ... def draw(size): print(size)
    >>> draw.main(["--width", "3"], standalone_mode=False)
    Size(width=3, height=2)
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_object(**given: Any) -> Any:
            return command(values(*map(given.pop, values._fields)), **given)

        decorated: Callable[..., Any] = with_object
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate

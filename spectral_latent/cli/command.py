"""Run the commands, and print messages for errors that a user can put right.

A command is imported when the command line names it, and it imports the library when it runs.  Therefore help and usage
errors come at once.
"""

import errno
import io
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from spectral_latent._names import alike, printable
from spectral_latent._version import __version__

_COMMANDS = ("parse", "tag", "surprisal", "score", "train", "evaluate", "info", "rerank", "label", "demo")
# The exit statuses that shells give for Ctrl-C and for a closed pipe: 128 and the number of the signal.
_INTERRUPTED = 130
_UNREAD = 141


class CommandGroup(click.Group):
    """A group whose commands end with a message, not a traceback, for errors that a user can put right.

    names: lists the commands that are imported or made when they are needed.
    make: imports or makes one of these; None if there is no such command."""

    def __init__(
        self,
        *args: Any,
        names: Callable[[], Iterable[str]] = tuple,
        make: Callable[[str], click.Command | None] = lambda _: None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self._names = names
        self._make = make

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands, in the order of use."""
        return [*self.commands, *self._names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; None if it does not exist."""
        return super().get_command(ctx, cmd_name) or self._make(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for one that does not exist names what to use, similar commands, or all."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}; {alike(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; --quiet holds no longer than this."""
        log = logging.getLogger("spectral_latent")
        level = log.level
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _show_warning
                return super().main(*args, **extra)
        finally:
            log.setLevel(level)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the options before the name of a command."""
        with _users_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _users_errors():
            return super().invoke(ctx)


@contextmanager
def _users_errors() -> Iterator[None]:
    """Turn errors that a user can put right into messages that a terminal can show; end if nobody reads the output."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Interrupted", err=True)
        raise click.exceptions.Exit(_INTERRUPTED) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is lost without an error
        raise click.exceptions.Exit(_UNREAD) from None
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)  # final, and shown by several methods
        raise
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        is_folder = isinstance(error, IsADirectoryError)
        text = "a folder, where a file is needed" if is_folder else str(error.strerror or error)
        raise click.ClickException(printable(f"{where}{text}")) from error
    except ValueError as error:
        from spectral_latent.corpora import CorpusError
        from spectral_latent.estimation import EstimationError
        from spectral_latent.files import ModelFileError

        if isinstance(error, CorpusError):
            raise click.ClickException(str(error)) from error  # can be printed, perhaps on several lines
        if isinstance(error, EstimationError | ModelFileError):
            raise click.ClickException(printable(str(error))) from error
        raise


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    click.echo(printable(f"Warning: {message}"), err=True)


def _import(_context: click.Context, _option: click.Parameter, modules: tuple[str, ...]) -> None:
    """Import modules, of the working folder too, as `python -m` does."""
    if modules and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise click.BadParameter(f"{module}: {error}", param_hint="'--import'") from None


def _import_command(name: str) -> click.Command | None:
    """Import the module of a command."""
    return import_module(f"spectral_latent.cli.{name}").COMMAND if name in _COMMANDS else None


@click.group(
    cls=CommandGroup,
    names=lambda: _COMMANDS,
    make=_import_command,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--import",
    metavar="MODULE",
    multiple=True,
    expose_value=False,
    callback=_import,
    help="Import a module first, such as one with estimators of your own that models name.",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def main() -> None:
    """Latent-variable grammars and taggers by spectral learning.

    \b
    Parse now, or train a parser of your own:
      echo "The cat sat on the mat." | spectral-latent parse en --text
      spectral-latent train constituency nltk:treebank:train -o wsj.model
      spectral-latent evaluate wsj.model nltk:treebank:dev

    Exit status: 0 for success; 1 for data or models that cannot be used; 2 for a wrong command line, such as an unknown
    option or a file that cannot be written; 130 for a command that was interrupted; 141 if nobody reads its
    output to the end.  Input and output are UTF-8; input may be compressed by gzip."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


class _Closed(io.TextIOBase):
    """Standard output that was closed before the command began: only to write to it fails."""

    def write(self, _text: str) -> int:
        raise OSError(errno.EBADF, "closed", "standard output")


def _replace_closed_streams() -> None:
    """Replace standard streams that are closed: the input is empty, and messages are lost."""
    # Each takes the number of its stream, which another file would get otherwise.
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)
        closed: Any = _Closed()
        sys.stdout = closed
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def run() -> None:
    """Run the command line of this process, and leave no worker processes behind."""
    _replace_closed_streams()
    try:
        main(prog_name="spectral-latent")
    finally:
        if "joblib" in sys.modules:
            from spectral_latent.estimation import dismiss_workers

            dismiss_workers()

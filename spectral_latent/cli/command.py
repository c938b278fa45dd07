"""Run the commands, and print messages for errors that a user can put right.

A command is imported when the command line names it, and the command imports the library when it runs.  Therefore help
and usage errors come at once.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from spectral_latent._texts import printable
from spectral_latent._version import __version__
from spectral_latent.cli.groups import Commands
from spectral_latent.cli.outputs import LEFT

__all__ = ["CommandGroup", "main", "run"]

_COMMANDS = {  # each command is a function in a module of its name; the help of all is shown without importing them
    "models": "List the models that come with the library.",
    "train": "Train a model.",
    "parse": "Parse the sentences of FILE or of standard input.",
    "tag": "Tag the sentences of FILE or of standard input.",
    "anchors": "Show the states of an anchor model, and label them.",
    "score": "Score the trees of FILE or of standard input.",
    "surprisal": "Compute the surprisal of the words of FILE or of standard input.",
    "evaluate": "Compare the output of a model with gold trees or gold tags.",
    "info": "Show what is in a model file.",
    "inspect": "Show what the latent states or directions of a model stand for.",
    "verify": "Train a model again, and compare it with its file to the last bit.",
    "rerank": "Choose among the trees that a parser gives for each sentence.",
    "demo": "Parse English with a ready model, then train a parser and compare it with the truth.",
}
# The exit statuses that shells give for Ctrl-C and for a closed pipe: 128 and the number of the signal.
_INTERRUPTED = 130
_UNREAD = 141


class CommandGroup(Commands):
    """A group whose commands end with a message, not a traceback, for errors that a user can put right."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options before the name of a command."""
        with _users_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        log = logging.getLogger("spectral_latent")
        level = log.level  # --quiet raises it, even where a later option is refused
        with _users_errors(), warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo("Interrupted", err=True)
                ctx.exit(_INTERRUPTED)
            finally:
                log.setLevel(level)


class _ImportedCommands(CommandGroup):
    """The group of all commands of the library; a command is imported when the command line names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands, in the order of use."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if it does not exist."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"spectral_latent.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first line of the help of each command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@contextmanager
def _users_errors() -> Iterator[None]:
    """Turn errors that a user can put right into messages that a terminal can show; end if nobody reads the output."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is lost without an error
        raise click.exceptions.Exit(_UNREAD) from None
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.option_name in LEFT:
            raise click.UsageError(f"{error.option_name} left; {LEFT[error.option_name]}", error.ctx) from None
        vars(error)["message"] = printable(error.message)  # final, and shown by several methods
        raise
    except Exception as error:
        refusal = _users_error(error)
        if refusal is None:
            raise
        raise refusal from error


def _users_error(error: Exception) -> click.ClickException | None:
    """Make the message for an error; None for a bug of the library, and for an error that click handles."""
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        if isinstance(error, IsADirectoryError):
            return click.ClickException(printable(f"{where}a folder, where a file is needed"))
        return click.ClickException(printable(f"{where}{error.strerror or error}"))
    if not isinstance(error, ValueError):
        return None
    from spectral_latent.corpora import CorpusError
    from spectral_latent.estimation import EstimationError
    from spectral_latent.files import ModelFileError
    from spectral_latent.tasks import RequestError

    if isinstance(error, RequestError):
        return click.UsageError(printable(str(error)))
    if isinstance(error, CorpusError):
        return click.ClickException(str(error))  # can be printed, perhaps on several lines
    is_told = isinstance(error, EstimationError | ModelFileError)
    return click.ClickException(printable(str(error))) if is_told else None


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


@click.group(cls=_ImportedCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    output to the end.  Input is UTF-8, or UTF-16 with a byte order mark, and may be compressed by gzip; output is
    UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


class _ClosedStream(io.RawIOBase):
    """A standard stream that was closed before the command began: its number is taken, and to use it is an error."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        os.open(os.devnull, os.O_RDWR)  # takes the smallest free number, which another file would get otherwise

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _buffer: Any) -> int:
        raise OSError(errno.EBADF, "closed", self._name)

    def write(self, _data: Any) -> int:
        raise OSError(errno.EBADF, "closed", self._name)


def _replace_closed_streams() -> None:
    """Replace standard input and output if they are closed; messages on a closed standard error are lost."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedStream("standard input")), "utf-8")
    if sys.stdout is None:
        closed: Any = _ClosedStream("standard output")
        sys.stdout = io.TextIOWrapper(closed, "utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def run() -> None:
    """Run the command line of this process, and leave no worker processes behind."""
    _replace_closed_streams()
    try:
        main(prog_name="spectral-latent")
    finally:
        if "joblib" in sys.modules:
            from spectral_latent.estimation import dismiss_workers

            dismiss_workers()

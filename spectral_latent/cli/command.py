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

__all__ = ["CommandGroup", "main", "run"]

_COMMANDS = (
    "train",
    "parse",
    "tag",
    "anchors",
    "score",
    "surprisal",
    "evaluate",
    "info",
    "inspect",
    "verify",
    "rerank",
    "demo",
)  # each command is a function in a module of the same name
_INTERRUPTED = 130  # the exit status that shells give for Ctrl-C: 128 and the number of the signal


class CommandGroup(Commands):
    """A group whose commands end with a message, not a traceback, for errors that a user can put right."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the options before the name of a command.

        info_name: the name of the program.
        args: the words after it.
        parent: the command line around this one, if there is one.
        extra: further settings of the context.
        """
        with _users_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        ctx: the command line.
        """
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
        """List the names of all commands, in the order of use.

        ctx: the command line.
        """
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if it does not exist.

        ctx: the command line.
        cmd_name: the name of the command.
        """
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"spectral_latent.cli.{cmd_name}"), cmd_name)
        return command


@contextmanager
def _users_errors() -> Iterator[None]:
    """Turn errors that a user can put right into messages that a terminal can show."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)  # final, and shown by several methods
        raise
    except Exception as error:
        message = _users_error(error)
        if message is None:
            raise
        raise click.ClickException(printable(message)) from error


def _users_error(error: Exception) -> str | None:
    """Write the message for an error; None for a bug of the library, and for an error that click handles."""
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        if isinstance(error, IsADirectoryError):
            return f"{where}a folder, where a file is needed"
        return None if error.errno == errno.EPIPE else f"{where}{error.strerror or error}"
    if not isinstance(error, ValueError):
        return None
    from spectral_latent.corpora import CorpusError
    from spectral_latent.estimation import EstimationError
    from spectral_latent.files import ModelFileError

    return str(error) if isinstance(error, CorpusError | EstimationError | ModelFileError) else None


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    click.echo(printable(f"Warning: {message}"), err=True)


@click.group(cls=_ImportedCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def main() -> None:
    """Latent-variable grammars and taggers by spectral learning.

    \b
    A parser in three lines:
      spectral-latent train constituency nltk:treebank:train -o wsj.model
      echo "The cat sat on the mat ." | spectral-latent parse wsj.model
      spectral-latent evaluate wsj.model nltk:treebank:dev

    \b
    A dependency parser:
      spectral-latent train dependency nltk:dependency_treebank:train -o deps.model
      echo "The cat sat on the mat ." | spectral-latent parse deps.model

    \b
    A tagger:
      spectral-latent train tagger nltk:treebank:train -o tagger.model
      echo "The cat sat on the mat ." | spectral-latent tag tagger.model

    \b
    Parts of speech from words alone:
      spectral-latent train anchor nltk:brown -o anchors.model
      spectral-latent anchors anchors.model

    \b
    A reranker of the trees of any parser:
      spectral-latent rerank train dev.nbest --gold dev.mrg --model wsj.model -o reranker.model
      spectral-latent rerank apply reranker.model new.nbest --model wsj.model

    Exit status: 0 for success; 1 for data or models that cannot be used; 2 for a wrong command line, such as an unknown
    option or a file that cannot be written; 130 for a command that was interrupted.  Input is UTF-8, or UTF-16 with a
    byte order mark, and may be compressed by gzip; output is UTF-8.
    """
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

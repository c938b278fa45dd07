"""Print messages and progress bars on standard error, so that results can be piped; write results and files."""

import gzip
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any, TypeVar

import click

from spectral_latent._names import printable

_T = TypeVar("_T")
_QUIET = "spectral_latent.quiet"  # tells in the context of a command whether it prints no messages


def be_quiet(context: click.Context, _option: click.Parameter, quiet: bool) -> None:
    """Print no messages, and only errors of the library, until the command ends."""
    if quiet:
        context.meta[_QUIET] = True
        logging.getLogger("spectral_latent").setLevel(logging.ERROR)
        warnings.simplefilter("ignore", UserWarning)


def _is_quiet() -> bool:
    """Tell whether the command that runs prints no messages."""
    context = click.get_current_context(silent=True)
    return context is None or _QUIET in context.meta


def message(text: str) -> None:
    """Print one or several lines; names of files, models and corpora may stand in them as they are."""
    if not _is_quiet():
        click.echo("\n".join(map(printable, text.split("\n"))), err=True)


def table(title: str, rows: str) -> None:
    """Print a table below its title, if it has a line."""
    if rows:
        message(f"{title}\n{indent(rows, '  ')}")


def shows_progress() -> bool:
    """Tell whether standard error is a terminal that can move its cursor, as progress bars need it."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not _is_quiet()


def bar(items: Iterable[_T], label: str, length: int | None = None, *, beside_output: bool = False) -> Iterator[_T]:
    """Return the items, with a progress bar on a terminal; with no bar if output to this terminal is between them."""
    if not shows_progress() or (beside_output and sys.stdout.isatty()):
        yield from items
        return
    with click.progressbar(items, length, label, file=sys.stderr) as shown:
        yield from shown


@contextmanager
def users_errors(source: str = "") -> Iterator[None]:
    """Turn a ValueError about the user's data into a CorpusError, which has its message after the source."""
    try:
        yield
    except ValueError as error:
        from spectral_latent.corpora import CorpusError

        raise error if isinstance(error, CorpusError) else CorpusError(f"{source}{error}") from error


# Files and tables of figures

Write = Callable[[str], object]


class OutputFile(click.Path):
    """The type of an option that names a file to write; a file that cannot be written is refused before work begins.

    may_be_read: whether the file may be one that the command reads.
    ending: how the name of the file must end; empty for any name."""

    def __init__(self, *, may_be_read: bool = False, ending: str = "") -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.may_be_read = may_be_read
        self.ending = ending

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that a file can be written."""
        path: Path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.name.lower().endswith(self.ending):
            self.fail(f"{path}: name a file that ends in {self.ending}", param, ctx)
        if path.exists() and not path.is_file():
            self.fail(f"{path}: not a file; name a file", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path}: the folder does not exist; create it first", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"{path}: the folder may not be written to; give another", param, ctx)
        return path


@contextmanager
def results(output: Path | None) -> Iterator[Write]:
    """Return the function that writes results to standard output, or to a file, which appears whole or not at all.

    Temporary files of killed processes are removed from its folder."""
    if output is None:
        yield partial(click.echo, nl=False)
        return
    from spectral_latent.files.storage import temporary_file

    part = temporary_file(output)
    try:
        with part.open("xb") as file:
            opened: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if output.suffix.lower() == ".gz" else file
            yield lambda text: opened.write(text.encode())
            opened.close()
        part.replace(output)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename not in (None, str(part)):
            raise
        raise OSError(error.errno, error.strerror, str(output)) from None  # such as that of a full disk
    finally:
        part.unlink(missing_ok=True)


def refuse_inputs(context: click.Context) -> None:
    """Raise ClickException if a command would write a file that it reads, perhaps as one of the files of a folder.

    It may read what all texts on its command line name: files, folders, `NAME=FILE`, and standard input.  A model may
    be written again in the folder that it learns from."""
    texts: list[str] = []
    outputs: list[Path] = []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter.type, OutputFile):
            outputs += [value] if value is not None and value.exists() and not parameter.type.may_be_read else []
        elif isinstance(parameter.type, type(click.STRING)) and value:
            texts += value if isinstance(value, tuple) else [value]
    paths = [path for text in texts for path in ("/dev/stdin" if text == "-" else text, text.partition("=")[2])]
    for output in outputs:
        for path in filter(os.path.exists, paths):
            is_within = os.path.isdir(path) and output.resolve().is_relative_to(Path(path).resolve())
            if os.path.samefile(path, output) or (is_within and not _may_be_model(output)):
                raise click.ClickException(f"{output}: a file to read, which would be lost; name another output")


def _may_be_model(path: Path) -> bool:
    """Tell whether a file begins as model files do: with the length of a header in braces."""
    with path.open("rb") as file:
        begin = file.read(9)
    return begin[8:] == b"{" and int.from_bytes(begin[:8], "little") <= path.stat().st_size


def figures_table(figures: Mapping[str, float | int | None]) -> str:
    """Write a line for each figure; the decimal points of all lines stand below each other."""
    texts = [(name.replace("_", " "), *_digits(value).partition(".")) for name, value in figures.items()]
    width = max(5, *(len(whole) for _, whole, _, _ in texts))
    return "\n".join(f"{name:<24}{whole:>{width}}{point}{rest}" for name, whole, point, rest in texts)


def _digits(value: float | int | None) -> str:
    """Write a figure: a ratio with two decimals, a count with none, and a dash for None."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)

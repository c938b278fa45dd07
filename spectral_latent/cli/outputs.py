"""Write the files and tables of figures that commands make."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

__all__ = [
    "LEFT",
    "OutputFile",
    "Write",
    "figures_table",
    "refuse_inputs",
    "require",
    "results",
]

Write = Callable[[str], object]

LEFT = {  # what to use in the place of commands, options and formats that left
    "recipe": "type the commands `train` and `evaluate`, which docs/command_line.md lists",
    "papers": "run `python -m benchmarks.papers` in a checkout of the project",
    **{
        name: f"use `spectral-latent-annotate {name}`, which is installed with this command"
        for name in ("suggest", "check", "repair", "annotate")
    },
    "features": "write `reranker.features.table(lists)` in Python; scikit-learn's dump_svmlight_file takes its values",
    "--no-templates": "rerankers have no such features any more",
    "--resume": "divide the input by `split`, and give the command only the parts that have no answers yet",
    "--shard": "divide the input, as by `split --number=l/4`, and give each part to a command of its own",
    ".parquet": "write JSON lines to a name in .jsonl; pandas converts: read_json(FILE, lines=True).to_parquet(NEW)",
}


class OutputFile(click.Path):
    """The type of an option that names a file to write; a file that cannot be written is refused before work begins.

    may_be_read: whether the file may be one that the command reads.
    ending: how the name of the file must end; empty for any name.
    needs: the package that writes it and the extra that installs this package; None for a file that needs none."""

    def __init__(self, *, may_be_read: bool = False, ending: str = "", needs: tuple[str, str] | None = None) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.needs = needs
        self.may_be_read = may_be_read
        self.ending = ending

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that a file can be written."""
        path: Path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if self.needs is not None:
            require(*self.needs)
        if path.suffix.lower() in LEFT:
            self.fail(f"{path}: Parquet left; {LEFT[path.suffix.lower()]}", param, ctx)
        if not path.name.lower().endswith(self.ending):
            self.fail(f"{path}: name a file that ends in {self.ending}", param, ctx)
        if path.exists() and not path.is_file():
            self.fail(f"{path}: not a file; name a file", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path}: the folder does not exist; create it first", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"{path}: the folder may not be written to; give another", param, ctx)
        return path


def require(package: str, extra: str) -> None:
    """Raise ClickException, before any work, if a package that an extra of the library installs is missing."""
    if find_spec(package) is None:
        raise click.ClickException(
            f"{package} is missing; run `pip install {package}`, or install spectral-latent with the extra `{extra}`"
        )


class _NamedFile(io.FileIO):
    """A file that the errors of writing to it name, such as that of a full disk."""

    def write(self, data: Any) -> Any:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.name
            raise


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
        with io.BufferedWriter(_NamedFile(part, "xb")) as file:
            if output.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
                    yield lambda text: compressed.write(text.encode())
            else:
                yield lambda text: file.write(text.encode())
        part.replace(output)
    except OSError as error:
        if error.filename not in (part, str(part)):
            raise
        raise OSError(error.errno, error.strerror, str(output)) from None
    finally:
        part.unlink(missing_ok=True)


def refuse_inputs(context: click.Context) -> None:
    """Raise ClickException if a command would write a file that it reads, or write a file twice.

    It writes what its parameters of type `OutputFile` name.  It may read what the texts and paths among its other
    parameters name: files, `NAME=FILE`, standard input, and folders with all their files, except that a model may be
    written again in the folder that it learns from."""
    outputs: dict[Any, tuple[click.Parameter, Path]] = {}
    inputs: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter.type, OutputFile):
            if value is not None and outputs.setdefault(_identity(value), (parameter, value))[0] is not parameter:
                raise click.UsageError(f"{value}: a file to write twice; give different names")
        elif isinstance(parameter.type, type(click.STRING) | click.Path):
            given = value if isinstance(value, tuple) else (value,)
            inputs += [str(each) for each in given if isinstance(each, str | Path)]
    paths = [path for each in inputs for path in ("/dev/stdin" if each == "-" else each, each.partition("=")[2])]
    read = set(map(_identity, filter(os.path.exists, paths)))
    folders = [Path(os.path.realpath(path)) for path in paths if os.path.isdir(path)]
    for identity, (parameter, path) in outputs.items():
        if not path.exists() or getattr(parameter.type, "may_be_read", False):
            continue
        is_within = any(map(Path(os.path.realpath(path)).is_relative_to, folders))
        if identity in read or (is_within and not _may_be_model(path)):
            raise click.ClickException(f"{path}: a file to read, which would be lost; name another output")


def _identity(path: str | Path) -> Any:
    """Return what all names of a file have in common; the file need not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


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

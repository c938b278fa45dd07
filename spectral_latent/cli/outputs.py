"""Write the files and tables of figures that commands make."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click

__all__ = [
    "Figures",
    "OutputFile",
    "OutputForm",
    "Write",
    "figures_table",
    "refuse_inputs",
    "results",
]

Figures = Mapping[str, float | int | None]
OutputForm: TypeAlias = Literal["text", "json", "parquet"]
Write = Callable[[str], object]


class OutputFile(click.Path):
    """The type of an option that names a file to write; a file that cannot be written is refused before work begins."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that a file can be written.

        value: the path as given on the command line.
        param: the option that names the file.
        ctx: the command that is run.
        """
        path: Path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists() and not path.is_file():
            self.fail(f"{path}: not a file; name a file", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{path}: the folder does not exist; create it first", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"{path}: the folder may not be written to; give another", param, ctx)
        return path


@contextmanager
def results(output: Path | None, inputs: Iterable[str] = ()) -> Iterator[Write]:
    """Return the function that writes results to standard output, or to a file, which appears whole or not at all.

    output: the file, which is compressed if its name ends in .gz; None for standard output.
    inputs: all files that the command reads, as `refuse_inputs` takes them.

    Raises ClickException if the file would replace a file that the command reads.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.txt")
    ...     with results(file) as write:
    ...         _ = write("dogs")
    ...         is_there = file.exists()
    ...     is_there, file.read_text()
    (False, 'dogs')
    """
    if output is None:
        yield partial(click.echo, nl=False)
        return
    refuse_inputs(output, inputs)
    part = output.with_name(f".{output.name}-{os.getpid()}")
    try:
        with part.open("xb") as file:
            if output.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
                    yield lambda text: compressed.write(text.encode())
            else:
                yield lambda text: file.write(text.encode())
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)


def refuse_inputs(output: Path, inputs: Iterable[str]) -> None:
    """Raise ClickException if a file to write is also read, or if it is in a folder that is read and is not a model.

    output: the file to write.
    inputs: files or folders to read, `NAME=FILE`, or sources of other kinds.
    """
    if not output.exists():
        return
    for given in inputs:
        for path in (Path(given), Path(given.partition("=")[2] or given)):
            is_input = path.exists() and output.samefile(path)
            is_within = path.is_dir() and output.resolve().is_relative_to(path.resolve()) and not _may_be_model(output)
            if is_input or is_within:
                raise click.ClickException(f"{output}: a file to read, which would be lost; give another name")


def _may_be_model(path: Path) -> bool:
    """Tell whether a file begins as model files do: with the length of a header in braces."""
    with path.open("rb") as file:
        begin = file.read(9)
    return begin[8:] == b"{" and int.from_bytes(begin[:8], "little") <= path.stat().st_size


def figures_table(figures: Figures) -> str:
    """Write a line for each figure; the decimal points of all lines stand below each other.

    figures: the figures by their names; None for a figure that is not known.

    >>> print(figures_table({"some_ratio": 97.5, "no_ratio": None, "tokens": 13676}))
    some ratio                 97.50
    no ratio                    -
    tokens                  13676
    """
    texts = [(name.replace("_", " "), *_digits(value).partition(".")) for name, value in figures.items()]
    width = max(5, *(len(whole) for _, whole, _, _ in texts))
    return "\n".join(f"{name:<24}{whole:>{width}}{point}{rest}" for name, whole, point, rest in texts)


def _digits(value: float | int | None) -> str:
    """Write a figure: a ratio with two decimals, a count with none, and a dash for None."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)

"""Where commands write, and how they show figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

__all__ = ["Figures", "can_be_written", "figures_table", "refuse_inputs"]

Figures = Mapping[str, float | int | None]


def can_be_written(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """The path, unless it is clear before all work that no file can be written there."""
    if path is None:
        return None
    if path.exists() and not path.is_file():
        raise click.ClickException(f"{path}: a folder or a device; name a file")
    if not path.parent.is_dir():
        raise click.ClickException(f"{path}: the folder does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise click.ClickException(f"{path}: the folder may not be written to; give another")
    return path


def refuse_inputs(output: Path, inputs: Iterable[str]) -> None:
    """Raise ClickException if a file to write is one of those to read, or lies in a folder to read and is no model.

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
    """A line for each figure; decimal points and integers' ends stand below each other.

    >>> print(figures_table({"some_ratio": 97.5, "no_ratio": None, "tokens": 13676}))
    some ratio                 97.50
    no ratio                    -
    tokens                  13676
    """
    texts = [(name.replace("_", " "), *_digits(value).partition(".")) for name, value in figures.items()]
    width = max(5, *(len(whole) for _, whole, _, _ in texts))
    return "\n".join(f"{name:<24}{whole:>{width}}{point}{rest}" for name, whole, point, rest in texts)


def _digits(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)

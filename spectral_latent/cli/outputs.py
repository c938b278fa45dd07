"""The files that commands write, and tables of figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

__all__ = ["Figures", "OutputFile", "figures_table"]

Figures = Mapping[str, float | int | None]


class OutputFile(click.Path):
    """The type of an option that names a file to write; what cannot be written is refused before all work."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that a file can be written.

        value: the path as given on the command line.
        param: the option.
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


def figures_table(figures: Figures) -> str:
    """Write a line for each figure, with decimal points below each other.

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

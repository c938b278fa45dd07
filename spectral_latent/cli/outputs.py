"""Where commands write."""

from __future__ import annotations

import os
from pathlib import Path

import click

__all__ = ["can_be_written"]


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

"""Read a corpus that is a file, or a folder of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeVar

from spectral_latent.corpora.text import CorpusError, ending_of

__all__ = ["items_of_files"]

_T = TypeVar("_T")


def items_of_files(
    name: str, kind: str, read: Callable[[Path], Iterator[_T]], *endings: tuple[str, ...]
) -> Iterator[_T]:
    """Read a file, or the files beneath a folder, in sorted order, without hidden files and hidden folders.

    endings: groups of endings of file names; the first group that names a file in the folder is used.  Capital letters
        and a further .gz make no difference.

    Raises `CorpusError` if there are no such files in the folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.txt", "a.TXT", ".hidden.tagged"):
    ...         Path(folder, name).touch()
    ...     list(items_of_files(folder, "text", lambda file: iter([file.name]), (".tagged",), (".txt",)))
    ['a.TXT', 'b.txt']
    """
    folder = Path(name)
    if not folder.is_dir():
        return read(folder)
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts) and path.is_file()
    ]
    for group in endings:
        if chosen := [path for path in files if ending_of(path) in group]:
            return chain.from_iterable(map(read, chosen))
    names = ", ".join(f"*{ending}" for group in endings for ending in group)
    raise CorpusError(f"{folder}: no {kind} files here; give a folder with files named {names}")

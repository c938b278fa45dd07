"""List the files of a corpus that is a folder."""

from __future__ import annotations

from pathlib import Path

from spectral_latent.corpora.text import CorpusError, ending_of

__all__ = ["files_beneath"]


def files_beneath(folder: Path, kind: str, *endings: tuple[str, ...]) -> list[Path]:
    """List the files beneath a folder, in sorted order, without hidden files and hidden folders.

    folder: the folder of the corpus.
    kind: the kind of files, for errors.
    endings: groups of endings of names, in any case, without .gz; the first group for which there are files is used.

    Raises `CorpusError` if there are no files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.txt", "a.TXT", ".hidden.tagged"):
    ...         Path(folder, name).touch()
    ...     [file.name for file in files_beneath(Path(folder), "text", (".tagged",), (".txt",))]
    ['a.TXT', 'b.txt']
    """
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts) and path.is_file()
    ]
    for group in endings:
        if chosen := [path for path in files if ending_of(path) in group]:
            return chosen
    names = ", ".join(f"*{ending}" for group in endings for ending in group)
    raise CorpusError(f"{folder}: no {kind} files here; give a folder with files named {names}")

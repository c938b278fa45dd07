"""Find and read the files of NLTK's treebanks without NLTK, whose import takes longer than reading them."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Literal, NamedTuple

Annotation = Literal["brackets", "dependencies", "other"]

# The folder, the names of the files, their encoding and their annotation, as in `nltk.corpus`.
_CORPORA: dict[str, tuple[str, str, str, Annotation]] = {
    "cess_cat": ("cess_cat", r"(?!\.).*\.tbf", "ISO-8859-15", "brackets"),
    "cess_esp": ("cess_esp", r"(?!\.).*\.tbf", "ISO-8859-15", "brackets"),
    "dependency_treebank": ("dependency_treebank", r".*\.dp", "ascii", "dependencies"),
    "treebank": ("treebank/combined", r"wsj_.*\.mrg", "ascii", "brackets"),
}


class CorpusFiles(NamedTuple):
    """The files of a treebank in a folder or a zip file, with the methods of NLTK's readers that need no more."""

    paths: dict[str, Path | zipfile.Path]
    encoding: str
    annotation: Annotation

    @staticmethod
    def find(corpus: str) -> CorpusFiles | None:
        """Find the files where NLTK looks for them: folders before zip files; None if it must look for itself.

        NLTK does so once it is imported, because a program may then have changed its paths and its readers."""
        if corpus not in _CORPORA or "nltk" in sys.modules:
            return None
        folder, names, encoding, annotation = _CORPORA[corpus]
        data = [Path(place, "corpora") for place in _data_folders()]
        for root in (*(place / folder for place in data), *(place / f"{corpus}.zip" for place in data)):
            try:
                if root.exists():
                    within = zipfile.Path(root, f"{folder}/") if root.suffix == ".zip" else root
                    paths = {path.name: path for path in within.iterdir() if re.fullmatch(names, path.name)}
                    return CorpusFiles(paths, encoding, annotation) if paths else None
            except (OSError, ValueError, zipfile.BadZipFile):
                return None
        return None

    def fileids(self) -> list[str]:
        """List the names of the files."""
        return list(self.paths)

    def raw(self, file: str) -> str:
        """Read the text of a file."""
        return self.paths[file].read_bytes().decode(self.encoding)


def _data_folders() -> list[str]:
    """List the folders of NLTK's data in the order in which NLTK looks into them."""
    given = [os.path.expanduser(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [] if os.path.expanduser("~/") == "~/" else [os.path.expanduser("~/nltk_data")]
    if sys.platform == "win32":
        return [*given, *own]
    of_python = [os.path.join(sys.prefix, *part, "nltk_data") for part in ((), ("share",), ("lib",))]
    of_system = [f"{place}/{part}/nltk_data" for part in ("share", "lib") for place in ("/usr", "/usr/local")]
    return [*given, *own, *of_python, *of_system]

"""Read constituency treebanks by name: a file, a folder, or a corpus of NLTK."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from spectral_latent.constituency.cleaning import Changes
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.corpora._folders import items_of_files
from spectral_latent.corpora._nltk import items_of_corpus, phrases_of_file
from spectral_latent.corpora.brackets import read_brackets
from spectral_latent.corpora.formats import ENDINGS

__all__ = ["constituency_trees"]


def constituency_trees(source: str | os.PathLike[str], changes: Changes | None = None) -> Iterator[Phrase]:
    """Read the trees of a treebank.

    source: one of

    - a file in Penn Treebank brackets, or in the Penn format of historical corpora; see `parse_brackets`;
    - a folder: all files beneath it, in sorted order, that end in .mrg, .parse, .psd, .ptb, .tree or .trees and are
      not hidden;
    - `nltk:NAME`, a corpus of NLTK that has `parsed_sents`, or a part of one: `nltk:NAME:train`, `:dev`, `:test`.
      The sorted files, or the sentences if there is one file, are numbered from 1.  Those whose number ends in 9 are
      test, those whose number ends in 8 are dev, all others are train.

    Raises `CorpusError` for a source that does not exist and for trees that break the rules of `parse_brackets`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.mrg", "a.mrg", ".hidden.mrg", "notes.txt"):
    ...         _ = Path(folder, name).write_text(f"(X (Y {name}))")
    ...     for tree in constituency_trees(folder):
    ...         print(tree.bracketed())
    (X (Y a.mrg))
    (X (Y b.mrg))
    """
    name = os.fspath(source)
    if name.startswith("nltk:"):
        return items_of_corpus(name, "parsed_sents", "treebank", partial(phrases_of_file, changes))
    return items_of_files(name, "treebank", partial(read_brackets, changes=changes), ENDINGS["brackets"])

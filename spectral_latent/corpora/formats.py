"""Tell the format of a text by the name of its file, or by its first line; find the files of a folder.

| format | ending of the name | first line that is neither empty nor begins with # |
| --- | --- | --- |
| `brackets` | .mrg, .parse, .psd, .ptb, .tree, .trees | opens a tree: `( (S`, `(S (NP`, `(NN dog)` |
| `conllu`, also for CoNLL-X | .conllu, .conll, .conllx | ten columns |
| `malt-tab` | .dp, .tab | three or four columns |
| `tagged` | .pos, .tagged | every word has a slash within: `the/DT dog/NN` |
| `json` | .jsonl, .ndjson | opens an object: `{"words": ["dogs", "bark"]}` |
| `tokens` | | any other line: one tokenised sentence on each line |
| `text` | | no line tells it: raw text, not divided into sentences and words |

Tabs divide columns.  A name may have a further ending .gz.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from spectral_latent.corpora.conllu import CONLLU, MALT_TAB, parse_tab_with_lines, parse_with_lines
from spectral_latent.corpora.text import CorpusError, ending_of

__all__ = ["ENDINGS", "TABLE_ENDINGS", "TABLE_READERS", "Format", "items_of_files", "sniff_format"]

Format: TypeAlias = Literal["brackets", "conllu", "malt-tab", "tagged", "json", "tokens", "text"]

ENDINGS: MappingProxyType[Format, tuple[str, ...]] = MappingProxyType(
    {
        "brackets": (".mrg", ".parse", ".psd", ".ptb", ".tree", ".trees"),
        "conllu": CONLLU,
        "malt-tab": MALT_TAB,
        "tagged": (".pos", ".tagged"),
        "json": (".jsonl", ".ndjson"),
        "tokens": (".tok", ".txt"),  # these endings decide nothing: such a file may hold any format
    }
)
TABLE_ENDINGS = (*CONLLU, *MALT_TAB)
TABLE_READERS = MappingProxyType({"conllu": parse_with_lines, "malt-tab": parse_tab_with_lines})
# the format of a line by its number of columns
_COLUMNS: MappingProxyType[int, Format] = MappingProxyType({3: "malt-tab", 4: "malt-tab", 10: "conllu"})
_LINE = re.compile(r"^[ \t]*\S.*", re.MULTILINE | re.ASCII)
_LINE_NOT_COMMENT = re.compile(r"^(?!#)[ \t]*\S.*", re.MULTILINE | re.ASCII)
# `( (S` or `(` alone, `(S (NP` or `(S` alone, `(NN dog)`
_OPENS_TREE = re.compile(r"\s*\((?:\s*\([^\s]|\s*$|[^\s()]+\s*(?:\(|$)|[^\s()]+\s+[^\s()]+\s*\))", re.ASCII)
_OPENS_OBJECT = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:', re.ASCII)
_WORD = re.compile(r"\S+", re.ASCII)
_WORD_AND_TAG = re.compile(r".+/[^/]+")


def sniff_format(name: str, beginning: str) -> Format:
    """Tell the format of a text.

    name: the name of the text's file; its ending decides if the table of this module lists it.  Three or four columns
        are Malt-TAB also in a file with an ending of CoNLL-U, because treebanks with such names have both formats.
    beginning: the text, or its lines up to the first one that is neither empty nor begins with #.

    >>> [sniff_format(name, "") for name in ("wsj_0001.mrg", "ewt.conllu", "wsj.dp", "brown.pos", "-")]
    ['brackets', 'conllu', 'malt-tab', 'tagged', 'tokens']
    >>> texts = ("( (S (NP", "# sent_id = 1\\n1" + 9 * "\\t_", "Dogs\\tNNS\\t2", "the/DT dog/NN", "either/or , but")
    >>> [sniff_format("-", text) for text in texts]
    ['brackets', 'conllu', 'malt-tab', 'tagged', 'tokens']
    """
    beginning = beginning.removeprefix("\ufeff")
    match = _LINE_NOT_COMMENT.search(beginning) or _LINE.search(beginning)
    line = match[0] if match else ""
    by_columns = _COLUMNS.get(line.count("\t") + 1)
    by_name = _format_of_ending(ending_of(name))
    if by_name and not (by_name == "conllu" and by_columns):
        return by_name
    if by_columns:
        return by_columns
    if _OPENS_OBJECT.match(line):
        return "json"
    words = _WORD.findall(line)
    if words and all(map(_WORD_AND_TAG.fullmatch, words)):
        return "tagged"
    return "brackets" if _OPENS_TREE.match(line) else "tokens"


def _format_of_ending(ending: str) -> Format | None:
    """Return the format that the ending of a file's name decides, if it decides one."""
    return next((form for form, endings in ENDINGS.items() if form != "tokens" and ending in endings), None)


_T = TypeVar("_T")


def items_of_files(
    name: str, kind: str, read: Callable[[Path], Iterator[_T]], *endings: tuple[str, ...]
) -> Iterator[_T]:
    """Read a file, or the files beneath a folder, in sorted order, without hidden files and hidden folders.

    endings: groups of endings of file names; the first group that names a file in the folder is used.  Capital letters
        and a further .gz make no difference.

    Raises `CorpusError` if there are no such files in the folder.
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

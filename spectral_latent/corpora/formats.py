"""Tell the format of a text by the name of its file, or by its first line; find the files of a folder; read rows.

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

A line of JSON is a row, an object with these fields:

| field | what it holds |
| --- | --- |
| `words`, or `tokens` | the words of a sentence: a list of strings |
| `text` | raw text, in place of words |
| `tags` | the tag of each word, if words have tags: a list of strings |
| `sent_id`, or `id` | the name of the row, if it has one: a string or an integer |

Other fields are not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from spectral_latent.corpora.conllu import CONLLU, MALT_TAB, parse_tab_with_lines, parse_with_lines
from spectral_latent.corpora.text import CorpusError, ending_of

__all__ = [
    "ENDINGS",
    "TABLE_ENDINGS",
    "TABLE_READERS",
    "Format",
    "Row",
    "items_of_files",
    "parse_json_rows",
    "sniff_format",
]

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


# Folders


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


_FIELDS = ("words", "tokens", "text")  # a row has exactly one of these
_NAMES = ("sent_id", "id")
_SPACE = re.compile(r"\s", re.ASCII)
_LINE_END = re.compile(r"[\r\n]")
_SHOWN = 40  # characters of a value in a message


# Rows


class Row(NamedTuple):
    """A sentence or a raw text.

    words: the words of the sentence; None for a raw text.
    tags: the tags of the words; None if the words have no tags.
    text: the raw text; None for a sentence.
    name: the name of the row; None if the row has no name.
    """

    words: tuple[str, ...] | None
    tags: tuple[str, ...] | None
    text: str | None
    name: str | None

    @staticmethod
    def of(entry: object, place: str) -> Row:
        """Make a row of an object.

        Raises `CorpusError` for an object that is neither a sentence nor a text.

        >>> Row.of({"id": 7, "tokens": ["Dogs", "bark"]}, "a.jsonl, line 1")
        Row(words=('Dogs', 'bark'), tags=None, text=None, name='7')
        >>> Row.of({"id": 7}, "a.jsonl, line 1")
        Traceback (most recent call last):
        spectral_latent.corpora.text.CorpusError: a.jsonl, line 1: none of the fields words, tokens and text; give one
        """
        if not isinstance(entry, Mapping):
            raise CorpusError(f'{place}: {_shown(entry)} is not an object; give one such as {{"text": "Dogs bark."}}')
        given = [field for field in _FIELDS if entry.get(field) is not None]
        if len(given) != 1:
            fault = f"the fields {' and '.join(given)}" if given else "none of the fields words, tokens and text"
            raise CorpusError(f"{place}: {fault}; give one")
        field = given[0]
        if field == "text":
            return Row(None, None, _string(entry["text"], "text", place), _name(entry, place))
        words = _strings(entry[field], field, place)
        tags = None if entry.get("tags") is None else _strings(entry["tags"], "tags", place)
        if tags is not None and len(tags) != len(words):
            raise CorpusError(f"{place}: {len(tags)} tags of {len(words)} words; give one for each word")
        return Row(words, tags, None, _name(entry, place))


def _shown(value: object) -> str:
    """Write a value as JSON has it, cut short."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _string(value: object, field: str, place: str) -> str:
    """Return a value that is a string of Unicode characters."""
    if not isinstance(value, str):
        raise CorpusError(f"{place}: {field} is {_shown(value)}, which is not a string; give a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = ascii(value[error.start])[1:-1]
            raise CorpusError(f"{place}: {field} has {half}, half a character; give whole characters") from None
    return value


def _strings(value: object, field: str, place: str) -> tuple[str, ...]:
    """Return the entries of a list of strings, none of them empty or with white space."""
    if not isinstance(value, list):
        raise CorpusError(f"{place}: {field} is {_shown(value)}, which is not a list; give a list of strings")
    for entry in value:
        if not _string(entry, field, place) or _SPACE.search(entry):
            fault = "with white space" if entry else "without characters"
            raise CorpusError(f"{place}: {field} has {_shown(entry)}, a string {fault}; divide or remove it")
    return tuple(value)


def _name(entry: Mapping[str, Any], place: str) -> str | None:
    """Return the name of a row."""
    for field in _NAMES:
        value = entry.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None:
            name = _string(value, field, place)
            if not name.strip() or _LINE_END.search(name):
                raise CorpusError(f"{place}: {field} is {_shown(name)}; give a name on one line")
            return name
    return None


def parse_json_rows(lines: Iterable[tuple[int, str]], source: str) -> Iterator[tuple[int, Row]]:
    """Read the row of each line, with the number of the line; empty lines are left out.

    Raises `CorpusError`, which names the line, for a line that is not the object of a row.

    >>> list(parse_json_rows([(1, '{"words": ["Yes"], "tags": ["UH"]}')], "a.jsonl"))
    [(1, Row(words=('Yes',), tags=('UH',), text=None, name=None))]
    """
    for number, line in lines:
        if not line.strip():
            continue
        place = f"{source}, line {number}"
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise CorpusError(
                f"{place}, column {error.colno}: not JSON ({error.msg}); give an object on each line"
            ) from None
        except (RecursionError, ValueError) as error:
            raise CorpusError(f"{place}: not JSON that can be read ({error}); give an object on each line") from None
        yield number, Row.of(entry, place)

"""Read lines of JSON, of which each is an object, and tables of separated values (CSV and TSV).

A row of JSON that parsers and taggers read has these fields; others are not read:

| field | what it holds |
| --- | --- |
| `words`, or `tokens` | the words of a sentence: a list of strings |
| `text` | raw text, in place of words |
| `tags` | the tag of each word, if words have tags: a list of strings |
| `sent_id`, or `id` | the name of the row, if it has one: a string or an integer |
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from typing import Any, NamedTuple

from spectral_latent.corpora.text import CorpusError, Line

_CONTENTS = ("words", "tokens", "text")  # a row has exactly one of these
_SPACE = re.compile(r"\s", re.ASCII)
_LINE_END = re.compile(r"[\r\n]")
_SHOWN = 40  # characters of a value in a message


class Row(NamedTuple):
    """A sentence or a raw text.

    words: the words of the sentence; None for a raw text.
    tags: the tags of the words; None if the words have no tags.
    text: the raw text; None for a sentence.
    name: the name of the row; None if the row has no name."""

    words: tuple[str, ...] | None
    tags: tuple[str, ...] | None
    text: str | None
    name: str | None


def parse_objects(lines: Iterable[tuple[int, str]], source: str) -> Iterator[tuple[Line, Mapping[str, Any]]]:
    """Read the object of each line, whose number comes before it; empty lines are left out.

    Raises CorpusError, which names the line, for what is no object, and for half a character."""
    for number, text in lines:
        if not text.strip():
            continue
        line = Line(source, number)
        try:
            entry = json.loads(text)
            if "\\u" in text:  # an escape may stand for half a character, which cannot be encoded
                json.dumps(entry, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])[1:-1]
            raise line.error(f"{half} is half a character; give whole characters") from None
        except (RecursionError, ValueError) as error:
            raise line.error(f"not JSON that can be read ({error}); give an object on each line") from None
        if not isinstance(entry, Mapping):
            raise line.error(f'{_shown(entry)} is not an object; give one such as {{"text": "Dogs bark."}}')
        yield line, entry


def parse_rows(lines: Iterable[tuple[int, str]], source: str) -> Iterator[tuple[int, Row]]:
    """Read the row of each line, with the number of the line; empty lines are left out."""
    for line, entry in parse_objects(lines, source):
        given = [field for field in _CONTENTS if entry.get(field) is not None]
        if len(given) != 1:
            fault = f"the fields {' and '.join(given)}" if given else "none of the fields words, tokens and text"
            raise line.error(f"{fault}; give one")
        name = _name(entry, line)
        if given == ["text"]:
            yield line.number, Row(None, None, _string(entry, "text", line), name)
            continue
        words = _strings(entry, given[0], line)
        tags = None if entry.get("tags") is None else _strings(entry, "tags", line)
        if tags is not None and len(tags) != len(words):
            raise line.error(f"{len(tags)} tags of {len(words)} words; give one for each word")
        yield line.number, Row(words, tags, None, name)


def _shown(value: object) -> str:
    """Write a value as JSON has it, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _string(entry: Mapping[str, Any], field: str, line: Line) -> str:
    """Return the string of a field."""
    if not isinstance(value := entry[field], str):
        raise line.error(f"{field} is {_shown(value)}, which is not a string; give a string")
    return value


def _strings(entry: Mapping[str, Any], field: str, line: Line) -> tuple[str, ...]:
    """Return the strings of a field, none of them empty or with white space."""
    if not isinstance(entry[field], list):
        raise line.error(f"{field} is {_shown(entry[field])}, which is not a list; give a list of strings")
    for value in entry[field]:
        if not _string({field: value}, field, line) or _SPACE.search(value):
            fault = "with white space" if value else "without characters"
            raise line.error(f"{field} has {_shown(value)}, a string {fault}; divide or remove it")
    return tuple(entry[field])


def _name(entry: Mapping[str, Any], line: Line) -> str | None:
    """Return the name of a row."""
    field = next((field for field in ("sent_id", "id") if entry.get(field) is not None), None)
    if field is None:
        return None
    value = entry[field]
    name = str(value) if type(value) is int else _string(entry, field, line)
    if not name.strip() or _LINE_END.search(name):
        raise line.error(f"{field} is {_shown(name)}; give a name on one line")
    return name


# Tables

_SEPARATORS = (",", "\t", ";")


def parse_table(text: str, source: str = "<string>") -> tuple[str, Iterator[dict[str, str]]]:
    r"""Read a table: its separator, which is the most frequent of comma, tab and semicolon in the first line, and rows.

    Cells with a separator, a quotation mark or a line end are quoted, as `csv`, pandas and R write them.

    Raises `CorpusError`, which names `source` and the line, for a text without a row of names, for a column without a
    name or with that of another, and for a row with more or fewer cells than names.

    >>> separator, rows = parse_table('item;text\n1;"He left; she stayed."\n')
    >>> separator, list(rows)
    (';', [{'item': '1', 'text': 'He left; she stayed.'}])
    """
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    return separator, _rows(csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True), source)


def _rows(reader: csv._reader, source: str) -> Iterator[dict[str, str]]:  # type: ignore[name-defined]
    """Read rows after a row of names."""
    try:
        names: list[str] = next(reader, [])
        if not all(names) or len(set(names)) < len(names) or not names:
            found = f"the names {names!r:.200} do not" if names else "the table is empty"
            raise Line(source, 1).error(f"the first line must name each column, once; {found}")
        for cells in filter(None, reader):
            if len(cells) != len(names):
                raise Line(source, reader.line_num).error(
                    f"{len(cells)} cells, but {len(names)} columns; quote cells that have a separator"
                )
            yield dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise CorpusError(f"{source}, line {reader.line_num}: {error}; quote each cell as a whole") from error

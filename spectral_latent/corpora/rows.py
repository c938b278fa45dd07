"""Read sentences from rows, the objects of JSON lines.

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
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from spectral_latent.corpora.text import CorpusError

__all__ = ["Row", "parse_json_rows"]

_FIELDS = ("words", "tokens", "text")  # a row has exactly one of these
_NAMES = ("sent_id", "id")
_SPACE = re.compile(r"\s", re.ASCII)
_LINE_END = re.compile(r"[\r\n]")
_SHOWN = 40  # characters of a value in a message


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

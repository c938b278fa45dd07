"""Classify words by their spelling, in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["DEPTH", "Signature", "character_class", "character_classes", "signatures", "without_runs"]

Signature = tuple[str, ...]

_LONGEST_SUFFIX = 3
DEPTH = _LONGEST_SUFFIX + 2  # the largest number of signatures of a word
_LONGEST_SHAPE = 6
_RUN = re.compile(r"(.)\1+", re.DOTALL)


def character_class(character: str) -> str:
    """Classify a character: `d` digit, `X` capital, `x` any other letter; other characters stand for themselves.

    >>> [character_class(character) for character in "Ab-9"]
    ['X', 'x', '-', 'd']
    """
    category = unicodedata.category(character)
    if category[0] == "N":
        return "d"
    if category in ("Lu", "Lt"):
        return "X"
    return "x" if category[0] in "LM" else character


class _Classes(dict[int, str]):
    """The class of each character, for `str.translate`, looked up once."""

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, character_class(chr(code)))


_CLASSES = _Classes()


def character_classes(word: str) -> str:
    """Classify each character of a word; see `character_class`.

    >>> character_classes("Trading")
    'Xxxxxxx'
    """
    return word.translate(_CLASSES)


@lru_cache(maxsize=1 << 12)
def without_runs(classes: str) -> str:
    """Shorten runs of equal classes to one class.

    >>> without_runs("Xxxx-dd")
    'Xx-d'
    """
    return _RUN.sub(r"\1", classes)


def signatures(word: str) -> tuple[Signature, ...]:
    """List a word's signatures, from shape with the longest suffix to the empty signature, which all words share.

    The shape is the sequence of the word's character classes, with runs of a class shortened to one.  Words that begin
    with a digit have no suffix.

    word: the word, known or not.

    >>> signatures("Trading")
    (('Xx', 'ing'), ('Xx', 'ng'), ('Xx', 'g'), ('Xx',), ())
    >>> signatures("1,000"), signatures("東京")[0]
    ((('d,d',), ()), ('x', '東京'))
    """
    shape = without_runs(character_classes(word))[:_LONGEST_SHAPE]
    if shape.startswith("d"):
        return (shape,), ()
    ending = word.lower()[-_LONGEST_SUFFIX:]
    return (*((shape, ending[at:]) for at in range(len(ending))), (shape,), ())

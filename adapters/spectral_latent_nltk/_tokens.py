"""Check the sentences and trees that NLTK's users give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from spectral_latent.model import check_words

__all__ = ["Tag", "each", "pairs_of", "raw_text", "raw_texts", "tokens_of"]

Tag = Hashable
_Example = TypeVar("_Example")


def tokens_of(sentence: Iterable[str]) -> list[str]:
    """List the tokens of a sentence.  Raises TypeError for a string, and for a token that is not a string.

    >>> tokens_of(token for token in ("It", "rains"))
    ['It', 'rains']
    """
    tokens: Any = sentence if isinstance(sentence, Collection) else list(sentence)
    return list(check_words(tokens))


def raw_text(text: str) -> str:
    """Return a raw text.  Raises TypeError for anything but a string.

    >>> raw_text("It rains.")
    'It rains.'
    """
    if not isinstance(text, str):
        raise TypeError(f"expected a string of raw text, got {text!r:.60}; for a list of tokens, call parse")
    return text


def raw_texts(sentences: Iterable[str]) -> Iterable[str]:
    """Return the raw texts of sentences.  Raises TypeError for a single string.

    >>> raw_texts(["It rains."])
    ['It rains.']
    """
    if isinstance(sentences, str | bytes):
        raise TypeError(f"expected an iterable of sentences, got {sentences!r:.60}; for a text, call parse_text")
    return sentences


def pairs_of(sentence: Iterable[tuple[str, Tag]]) -> list[tuple[str, Tag]]:
    """List the tokens of a sentence with their tags.  Raises TypeError for anything but pairs of a word and a tag.

    >>> pairs_of([("It", "PRP"), ["rains", None]])
    [('It', 'PRP'), ('rains', None)]
    """
    if isinstance(sentence, str | bytes):
        raise TypeError(f"expected a list of pairs of a word and its tag, got {sentence!r:.60}")
    pairs = list(sentence)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"expected pairs of a word and its tag, got {pair!r:.60}")
        try:
            hash(pair[1])
        except TypeError:
            raise TypeError(f"expected a tag that can be hashed, got {pair[1]!r:.60}") from None
    return [(word, tag) for word, tag in pairs]


def each(examples: Iterable[Any], read: Callable[[Any], _Example], kind: str) -> Iterator[_Example]:
    """Read the examples of a corpus one by one.

    Raises the TypeError or ValueError of `read`, with the number of the example.

    >>> list(each([["It", "rains"]], tokens_of, "sentence"))
    [['It', 'rains']]
    """
    if isinstance(examples, str | bytes):
        raise TypeError(f"expected an iterable of {kind}s, got {examples!r:.60}")
    for number, example in enumerate(examples, start=1):
        try:
            yield read(example)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{kind} {number}: {error}") from None

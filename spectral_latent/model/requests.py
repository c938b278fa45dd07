"""Check the sentences and the trees that models are given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from types import UnionType
from typing import Any, TypeVar, get_args

__all__ = ["check_kind", "check_sentences", "check_trees", "check_words"]

Tree = TypeVar("Tree")


def check_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a sentence; raise TypeError for a string instead of words, or for a word that is no string.

    words: the words of one sentence.

    >>> check_words(["dogs", "run"])
    ['dogs', 'run']
    >>> check_words("dogs run")
    Traceback (most recent call last):
    TypeError: a sentence is a sequence of words, not the string 'dogs run'; give 'dogs run'.split()
    >>> check_words([("dogs", "NNS")])
    Traceback (most recent call last):
    TypeError: a word is a string, not ('dogs', 'NNS'); give the words of one sentence alone, without tags
    """
    if isinstance(words, str):
        text = words if len(words) <= 60 else words[:57] + "..."
        raise TypeError(f"a sentence is a sequence of words, not the string {text!r}; give {text!r}.split()")
    if isinstance(words, bytes) or not isinstance(words, Collection):
        raise TypeError(f"a sentence is a sequence of words, not {words!r:.60}; give a list of words")
    try:
        "".join(words)  # fails unless all are strings, and takes a quarter of the time of a loop
    except TypeError:
        wrong = next(word for word in words if not isinstance(word, str))
        raise TypeError(
            f"a word is a string, not {wrong!r:.60}; give the words of one sentence alone, without tags"
        ) from None
    return words


def check_sentences(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield sentences one by one; raise TypeError as `check_words` does, with the number of the sentence.

    sentences: the words of each sentence.

    >>> list(check_sentences([["dogs", "run"], "cats"]))
    Traceback (most recent call last):
    TypeError: sentence 2: a sentence is a sequence of words, not the string 'cats'; give 'cats'.split()
    """
    for number, words in enumerate(sentences, start=1):
        try:
            check_words(words)
        except TypeError as error:
            raise TypeError(f"sentence {number}: {error}") from None
        yield words


def check_trees(trees: Iterable[Tree], kind: type[Tree]) -> Iterator[Tree]:
    """Yield trees one by one; raise TypeError for an object of another class.

    trees: several trees.
    kind: the class of the trees.

    >>> list(check_trees("NP", int))
    Traceback (most recent call last):
    TypeError: tree 1 is 'N', a str; give a sequence of int, such as spectral_latent.corpora reads
    """
    for number, tree in enumerate(trees, start=1):
        if not isinstance(tree, kind):
            raise TypeError(
                f"tree {number} is {tree!r:.60}, a {type(tree).__name__}; give a sequence of {kind.__name__}, such as "
                f"spectral_latent.corpora reads"
            )
        yield tree


def check_kind(given: object, expected: type | UnionType) -> None:
    """Raise TypeError unless an object is of a class.

    given: the object to check.
    expected: the class that it must have, or several of which it must have one.

    >>> check_kind(1.0, int)
    Traceback (most recent call last):
    TypeError: expected int, got float
    """
    if not isinstance(given, expected):
        kinds: tuple[Any, ...] = get_args(expected) or (expected,)
        raise TypeError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, got {type(given).__name__}")

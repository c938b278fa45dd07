"""Check the arguments of models: sentences, trees, and numbers of analyses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

__all__ = ["check_kind", "check_n_best", "check_trees", "check_words"]

Tree = TypeVar("Tree")


def check_words(words: Sequence[str]) -> None:
    """Raise TypeError if a string is given instead of the words of a sentence.

    words: the words of one sentence.

    >>> check_words(["dogs", "run"])
    >>> check_words("dogs run")
    Traceback (most recent call last):
    TypeError: a sentence is a sequence of words, not the string 'dogs run'; give 'dogs run'.split()
    """
    if isinstance(words, str):
        text = words if len(words) <= 60 else words[:57] + "..."
        raise TypeError(f"a sentence is a sequence of words, not the string {text!r}; give {text!r}.split()")


def check_trees(trees: Iterable[Tree], kind: type[Tree]) -> Iterator[Tree]:
    """Pass trees on one by one, and raise TypeError at an object of another type.

    trees: the trees of a treebank.
    kind: their class.

    >>> list(check_trees("NP", int))
    Traceback (most recent call last):
    TypeError: tree 1 is 'N', a str; a treebank is a sequence of int
    """
    for number, tree in enumerate(trees, start=1):
        if not isinstance(tree, kind):
            raise TypeError(
                f"tree {number} is {tree!r:.60}, a {type(tree).__name__}; a treebank is a sequence of {kind.__name__}"
            )
        yield tree


def check_n_best(n_best: int) -> None:
    """Raise ValueError if fewer than one analysis of a sentence is asked for.

    n_best: the largest number of analyses of each sentence.

    >>> check_n_best(0)
    Traceback (most recent call last):
    ValueError: n_best must be at least 1, not 0
    """
    if n_best < 1:
        raise ValueError(f"n_best must be at least 1, not {n_best}")


def check_kind(given: object, expected: type) -> None:
    """Raise TypeError unless an object is of a class; packages have classes of the same name.

    given: the object.
    expected: the class.

    >>> check_kind(1.0, int)
    Traceback (most recent call last):
    TypeError: expected builtins.int, got builtins.float
    """
    if not isinstance(given, expected):
        own = type(given)
        raise TypeError(f"expected {expected.__module__}.{expected.__name__}, got {own.__module__}.{own.__name__}")

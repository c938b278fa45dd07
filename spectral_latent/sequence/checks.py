"""Check the sequences that users give; an error names the sequence and the position."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import TypeVar

from spectral_latent.estimation import EstimationError

__all__ = ["Tag", "check_sequence", "observations_of", "pairs_of"]

Tag = Hashable
_Observed = TypeVar("_Observed")


def pairs_of(
    sentence: Iterable[tuple[_Observed, Tag]], number: int, kind: type[_Observed]
) -> list[tuple[_Observed, Tag]]:
    """Return the tokens of a sentence.  Raises EstimationError if a token is not a pair of an observation and a tag.

    >>> pairs_of([("it", "P"), ["rains", 3]], number=1, kind=str)
    [('it', 'P'), ('rains', 3)]
    """
    tokens = list(sentence)
    for place, token in enumerate(tokens, start=1):
        pair = isinstance(token, tuple | list) and len(token) == 2 and isinstance(token[0], kind)
        if not pair or token[1] is None or not _is_hashable(token[1]):
            raise EstimationError(
                f"sentence {number}, token {place}: {token!r:.80} is not a pair of a word and its tag"
            )
    return [(observed, tag) for observed, tag in tokens]


def observations_of(sequence: Iterable[Hashable], number: int) -> list[Hashable]:
    """Return the observations of a sequence.  Raises EstimationError if an observation is not hashable, or is NaN.

    sequence: the observations of the sequence.
    number: the number of the sequence, for the error.

    >>> observations_of("abca", number=1)
    ['a', 'b', 'c', 'a']
    """
    row = list(sequence)
    for place, x in enumerate(row, start=1):
        if not _is_hashable(x) or x != x:
            raise EstimationError(f"sequence {number}, observation {place}: {x!r:.80} is not hashable, or is NaN")
    return row


def check_sequence(sequence: object) -> None:
    """Raise TypeError for an object that is not a sequence of hashable observations, such as an iterator.

    >>> check_sequence([["a", "b"]])
    Traceback (most recent call last):
    TypeError: an observation is a hashable object, not ['a', 'b']; give the observations of one sequence alone
    """
    if not isinstance(sequence, Collection):
        raise TypeError(f"a sequence is a list of observations, not {sequence!r:.60}; give a list")
    for observation in sequence:
        if not _is_hashable(observation):
            raise TypeError(
                f"an observation is a hashable object, not {observation!r:.60}; give the observations of one sequence "
                f"alone"
            )


def _is_hashable(value: object) -> bool:
    """Tell whether an object can be hashed."""
    try:
        hash(value)
    except TypeError:
        return False
    return True

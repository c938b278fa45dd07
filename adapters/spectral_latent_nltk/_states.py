"""The states of a model without tags, as tags."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

__all__ = ["names_of_states", "states_of_names"]


def names_of_states(states: Iterable[int]) -> list[str]:
    """Strings, for so NLTK wants tags to be.

    >>> names_of_states([0, 12])
    ['0', '12']
    """
    return [str(state) for state in states]


def states_of_names(names: Iterable[Hashable], n_states: int) -> list[int]:
    """The inverse; -1, which is no state, for what is no name of one.

    >>> states_of_names(["0", "2", "N", 1], n_states=2)
    [0, -1, -1, -1]
    """
    known: dict[Hashable, int] = {name: state for state, name in enumerate(names_of_states(range(n_states)))}
    return [known.get(name, -1) for name in names]

"""The states of a model without tags, as tags."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from spectral_latent.inference import tree_weights
from spectral_latent.sequence import LatentHMM, Sequences
from spectral_latent.sequence.decoding import Decoder
from spectral_latent.trees import Forest

__all__ = ["drawn_states", "log_with_states", "names_of_states"]


def names_of_states(states: Iterable[int]) -> list[str]:
    """Strings, for so NLTK wants tags to be.

    >>> names_of_states([0, 12])
    ['0', '12']
    """
    return [str(state) for state in states]


def log_with_states(model: LatentHMM, words: Sequence[str], states: Sequence[Hashable]) -> float:
    """The natural logarithm of the probability of words together with named states; -inf for a name that is none.

    Raises ValueError for a model without states.
    """
    m, operators = model.hidden.n_states, model.hidden.with_states_as_tags()
    known: dict[Hashable, int] = {name: state for state, name in enumerate(names_of_states(range(m)))}
    columns = Sequences.of([model.observations.terminals_of(words)], [[known.get(state, -1) for state in states]])
    forest = Forest.of_trees(columns.trees(m), operators.rules)
    return float(tree_weights(operators, forest).log[0])


def drawn_states(model: LatentHMM, words: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Named states of words, drawn from their distribution given the words.

    Raises ValueError for a model without states.
    """
    operators = model.hidden.with_states_as_tags()
    decoder = Decoder.of(operators, operators, np.ones(model.hidden.n_states), beam=0.0, threshold=0.0)
    return names_of_states(decoder.draw(model.observations.terminals_of(words), rng).tolist())

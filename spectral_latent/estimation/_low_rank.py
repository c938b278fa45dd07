"""Reduce the tensors of operators to a few terms, some rules at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.operators import ObservableOperators, Tensor, Tensors, low_rank_tensor

__all__ = ["RULES_OF_TASK", "low_rank_operators"]

RULES_OF_TASK = 64  # the number of tensors of one task, which takes some hundredths of a second


def _reduced(tensors: Sequence[Tensor], rank: int) -> list[Tensor]:
    """Reduce some tensors to at most `rank` terms."""
    return [low_rank_tensor(tensor, rank) for tensor in tensors]


def low_rank_operators(operators: ObservableOperators, rank: int, jobs: int | None = 1) -> ObservableOperators:
    """Reduce every tensor as `low_rank_tensor` does; probabilities still sum to one.

    Raises ValueError for a rank below 1 and for negative numbers, such as spectral operators have.

    >>> import numpy as np
    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0]]), np.empty((0, 2), int), np.array([[0, 0, 0]]))
    >>> full = ObservableOperators(
    ...     rules, np.array([4]), np.full((1, 4), 0.25), np.full((1, 4), 0.36), np.empty((0, 4, 4)),
    ...     [Tensor.of_dense(np.full((4, 4, 4), 0.04))])
    >>> low_rank_operators(full, 1).binary[0].n_terms
    1
    """
    tensors = operators.binary
    parts = [tensors[at : at + RULES_OF_TASK] for at in range(0, len(tensors), RULES_OF_TASK)]
    reduced = chain.from_iterable(parallel_map(_reduced, parts, jobs, rank))
    return replace(operators, binary=Tensors.of(reduced))
